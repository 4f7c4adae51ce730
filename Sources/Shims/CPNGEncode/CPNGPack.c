#include "CPNGPack.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <late_deflate.h>
#include <libdeflate.h>

enum { signature_size = 8, chunk_frame = 12, most_level = 12 };
// Above this many bytes, to hold all rows would be a burden in memory.
static const size_t most_size = 4u << 20;

static uint32_t number(const uint8_t *bytes) {
  return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static void put_number(uint8_t *into, uint32_t value) {
  for (int at = 0; at < 4; at++) into[at] = (uint8_t)(value >> (24 - at * 8));
}

// A compressor has tables of hundreds of kilobytes: one of each level is kept for the next picture.
static _Atomic(struct libdeflate_compressor *) spare[most_level + 1];

static struct libdeflate_compressor *take(int level) {
  struct libdeflate_compressor *compressor = atomic_exchange(&spare[level], NULL);
  return compressor != NULL ? compressor : libdeflate_alloc_compressor(level);
}

static void give_back(struct libdeflate_compressor *compressor, int level) {
  struct libdeflate_compressor *none = NULL;
  if (!atomic_compare_exchange_strong(&spare[level], &none, compressor)) {
    libdeflate_free_compressor(compressor);
  }
}

// Joins what is in the chunks with picture data, in place; where they begin and what follows them.
static size_t join_data(uint8_t *bytes, size_t count, size_t *start, size_t *end, uint8_t **joined) {
  size_t at = signature_size, filled = 0;
  *start = *end = 0;
  while (count - at >= chunk_frame) {
    size_t length = number(bytes + at);
    if (length > count - at - chunk_frame) return 0;
    if (memcmp(bytes + at + 4, "IDAT", 4) == 0) {
      if (*start == 0) {
        *start = at;
        *joined = bytes + at + 8;
      }
      memmove(*joined + filled, bytes + at + 8, length);
      filled += length;
    } else if (*start != 0) {
      *end = at;
      return filled;
    }
    at += length + chunk_frame;
  }
  return 0;
}

// Takes the rows out of stored blocks (RFC 1950, RFC 1951, section 3.2.4), in place. 0 where anything else is there.
static size_t unstore(uint8_t *data, size_t count) {
  size_t at = 2, filled = 0;
  bool is_last = false;
  while (!is_last) {
    if (at > count || count - at < 5 || data[at] > 1) return 0;
    is_last = data[at] == 1;
    size_t length = data[at + 1] | (size_t)data[at + 2] << 8;
    size_t inverse = data[at + 3] | (size_t)data[at + 4] << 8;
    at += 5;
    if ((length ^ inverse) != 0xFFFF || length > count - at) return 0;
    memmove(data + filled, data + at, length);
    filled += length;
    at += length;
  }
  return at + 4 == count ? filled : 0;
}

bool calotype_png_may_pack(size_t size) {
  return size <= most_size && calotype_load_deflate() == NULL;
}

void calotype_png_pack(uint8_t **bytes, size_t *count, int level) {
  if (level < 0 || level > most_level) return;
  // The bare file is taken apart in a copy, so that it is still there should that fail.
  uint8_t *copy = malloc(*count), *rows = NULL, *packed = NULL;
  if (copy == NULL) return;
  memcpy(copy, *bytes, *count);
  size_t start, end;
  size_t size = join_data(copy, *count, &start, &end, &rows);
  if (size > 0) size = unstore(rows, size);
  struct libdeflate_compressor *compressor = size > 0 ? take(level) : NULL;
  if (compressor != NULL) {
    size_t bound = libdeflate_zlib_compress_bound(compressor, size), tail = *count - end;
    packed = malloc(start + chunk_frame + bound + tail);
    size_t length =
      packed == NULL ? 0 : libdeflate_zlib_compress(compressor, rows, size, packed + start + 8, bound);
    give_back(compressor, level);
    if (length > 0 && length <= 0x7FFFFFFF) {
      memcpy(packed, *bytes, start);
      put_number(packed + start, (uint32_t)length);
      memcpy(packed + start + 4, "IDAT", 4);
      put_number(packed + start + 8 + length, libdeflate_crc32(0, packed + start + 4, length + 4));
      memcpy(packed + start + chunk_frame + length, *bytes + end, tail);
      free(*bytes);
      *bytes = packed;
      *count = start + chunk_frame + length + tail;
      packed = NULL;
    }
  }
  free(packed);
  free(copy);
}
