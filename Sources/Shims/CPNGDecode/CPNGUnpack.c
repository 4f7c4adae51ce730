#include "CPNGUnpack.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <late_deflate.h>
#include <libdeflate.h>

// Above this the rows would be a burden in memory; zlib needs a few of them at a time.
static const size_t maximum_unpacked = 4u << 20;
// The most that a stored block can hold (RFC 1951, section 3.2.4), and what stands before it.
enum { block_size = 65535, block_head = 5, signature_size = 8, chunk_frame = 12 };

static uint32_t number(const uint8_t *bytes) {
  return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static void put_number(uint8_t *into, uint32_t value) {
  for (int at = 0; at < 4; at++) into[at] = (uint8_t)(value >> (24 - at * 8));
}

// The bytes of a pass of that many pixels: each row has one for its filter before it (PNG, section 7.2).
static uint64_t pass_size(uint64_t width, uint64_t height, uint64_t bits) {
  return width == 0 ? 0 : ((width * bits + 7) / 8 + 1) * height;
}

// The bytes that the picture's data unpack to, or 0 where the header is not one that is known (PNG, section 11.2.1).
static size_t unpacked_size(const uint8_t *header) {
  static const uint8_t channels[7] = {1, 0, 3, 1, 2, 0, 4};
  uint32_t width = number(header), height = number(header + 4);
  uint8_t depth = header[8], type = header[9], interlaced = header[12];
  if (width == 0 || height == 0 || width > 1u << 20 || height > 1u << 20) return 0;
  if (type > 6 || channels[type] == 0 || header[10] != 0 || header[11] != 0 || interlaced > 1) return 0;
  if (depth != 1 && depth != 2 && depth != 4 && depth != 8 && depth != 16) return 0;
  uint64_t bits = (uint64_t)channels[type] * depth, size = 0;
  if (!interlaced) {
    size = pass_size(width, height, bits);
  } else {
    // Adam7 (PNG, section 8.2): where each pass begins and its steps.
    static const uint8_t passes[7][4] = {{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4},
                                         {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}};
    for (int at = 0; at < 7; at++) {
      const uint8_t *pass = passes[at];
      uint64_t columns = (width + pass[2] - 1u - pass[0]) / pass[2];
      uint64_t rows = (height + pass[3] - 1u - pass[1]) / pass[3];
      size += pass_size(columns, rows, bits);
    }
  }
  return size <= maximum_unpacked ? (size_t)size : 0;
}

typedef struct data_run {
  // Where the first of the chunks with picture data begins, and where what follows the last.
  size_t start, end;
  size_t packed_size;
  size_t chunk_count;
} data_run;

// Finds the picture's data. False where the file ends before they do.
static bool find_data(const uint8_t *bytes, size_t count, data_run *run) {
  memset(run, 0, sizeof *run);
  size_t at = signature_size;
  while (count - at >= chunk_frame) {
    size_t length = number(bytes + at);
    if (length > count - at - chunk_frame) return false;
    if (memcmp(bytes + at + 4, "IDAT", 4) == 0) {
      if (run->chunk_count == 0) run->start = at;
      run->chunk_count++;
      run->packed_size += length;
    } else if (run->chunk_count > 0) {
      run->end = at;
      return true;
    }
    at += length + chunk_frame;
  }
  return false;
}

// Checks the chunks of the picture's data and joins what is in them. The answer may lie in the file itself.
static const uint8_t *join_data(const uint8_t *bytes, const data_run *run, uint8_t **owned) {
  uint8_t *joined = NULL;
  const uint8_t *packed = NULL;
  size_t filled = 0;
  if (run->chunk_count > 1 && (*owned = joined = malloc(run->packed_size + 1)) == NULL) return NULL;
  for (size_t at = run->start; at < run->end;) {
    size_t length = number(bytes + at);
    if (libdeflate_crc32(0, bytes + at + 4, length + 4) != number(bytes + at + 8 + length)) return NULL;
    packed = bytes + at + 8;
    if (joined != NULL) {
      memcpy(joined + filled, packed, length);
      filled += length;
    }
    at += length + chunk_frame;
  }
  return joined != NULL ? joined : packed;
}

static bool unpack_rows(const uint8_t *packed, size_t packed_size, uint8_t *rows, size_t size) {
  struct libdeflate_decompressor *decompressor = libdeflate_alloc_decompressor();
  if (decompressor == NULL) return false;
  size_t read = 0, written = 0;
  enum libdeflate_result result =
    libdeflate_zlib_decompress_ex(decompressor, packed, packed_size, rows, size, &read, &written);
  libdeflate_free_decompressor(decompressor);
  return result == LIBDEFLATE_SUCCESS && read == packed_size && written == size;
}

// Puts the file together: what came before the data, one chunk of stored blocks, what comes behind.
static bool lay_out(
  calotype_png_unpacked *unpacked, const uint8_t *bytes, size_t count, const data_run *run, size_t size,
  const uint8_t *checksum) {
  size_t blocks = (size + block_size - 1) / block_size;
  uint8_t *frame = unpacked->frames = malloc(8 + 2 + blocks * block_head + 4 + 4);
  calotype_png_piece *piece = unpacked->pieces = malloc((blocks * 2 + 4) * sizeof *piece);
  if (frame == NULL || piece == NULL) return false;
  *piece++ = (calotype_png_piece){bytes, run->start};
  put_number(frame, (uint32_t)(2 + blocks * block_head + size + 4));
  // Not packed, the largest window (RFC 1950, section 2.2).
  memcpy(frame + 4, "IDAT\x78\x01", 6);
  *piece++ = (calotype_png_piece){frame, 10};
  frame += 10;
  for (size_t at = 0; at < size; at += block_size) {
    size_t length = size - at < block_size ? size - at : block_size;
    frame[0] = at + length == size;
    frame[1] = (uint8_t)length;
    frame[2] = (uint8_t)(length >> 8);
    frame[3] = (uint8_t)~frame[1];
    frame[4] = (uint8_t)~frame[2];
    *piece++ = (calotype_png_piece){frame, block_head};
    *piece++ = (calotype_png_piece){unpacked->rows + at, length};
    frame += block_head;
  }
  // The data's own checksum; that of the chunk is not looked at.
  memcpy(frame, checksum, 4);
  memset(frame + 4, 0, 4);
  *piece++ = (calotype_png_piece){frame, 8};
  *piece++ = (calotype_png_piece){bytes + run->end, count - run->end};
  unpacked->piece_count = (size_t)(piece - unpacked->pieces);
  return true;
}

calotype_png_unpacked *calotype_png_unpack(const uint8_t *bytes, size_t count) {
  data_run run;
  if (count < signature_size + chunk_frame + 13 || number(bytes + 8) != 13) return NULL;
  if (memcmp(bytes + 12, "IHDR", 4) != 0) return NULL;
  size_t size = unpacked_size(bytes + 16);
  if (size == 0 || !find_data(bytes, count, &run) || run.packed_size < 6) return NULL;
  if (calotype_load_deflate() != NULL) return NULL;

  calotype_png_unpacked *unpacked = calloc(1, sizeof *unpacked);
  if (unpacked == NULL) return NULL;
  uint8_t *joined = NULL;
  unpacked->rows = malloc(size);
  const uint8_t *packed = unpacked->rows == NULL ? NULL : join_data(bytes, &run, &joined);
  bool is_done = packed != NULL && unpack_rows(packed, run.packed_size, unpacked->rows, size)
                 && lay_out(unpacked, bytes, count, &run, size, packed + run.packed_size - 4);
  free(joined);
  if (is_done) return unpacked;
  calotype_png_unpacked_destroy(unpacked);
  return NULL;
}

void calotype_png_unpacked_destroy(calotype_png_unpacked *unpacked) {
  if (unpacked == NULL) return;
  free(unpacked->rows);
  free(unpacked->frames);
  free(unpacked->pieces);
  free(unpacked);
}
