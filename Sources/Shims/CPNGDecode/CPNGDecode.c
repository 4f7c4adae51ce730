#include "CPNGDecode.h"
#include "CPNGUnpack.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <png.h>
#include <zlib.h>

struct calotype_png_reader {
  png_structp png;
  png_infop info;
  calotype_png_unpacked *unpacked;
  // What is read: the file, or the pieces of it that stand for it unpacked; where in the first of them.
  calotype_png_piece file;
  const calotype_png_piece *pieces;
  size_t piece_count;
  size_t position;
  bool reached_end;
  bool no_memory;
  jmp_buf escape;
  char message[128];
};

static void on_error(png_structp png, png_const_charp text) {
  calotype_png_reader *reader = png_get_error_ptr(png);
  snprintf(reader->message, sizeof reader->message, "%s", text);
  longjmp(reader->escape, 1);
}

static void on_warning(png_structp png, png_const_charp text) {
  (void)png;
  (void)text;
}

static png_voidp allocate(png_structp png, png_alloc_size_t size) {
  calotype_png_reader *reader = png_get_mem_ptr(png);
  void *memory = malloc(size);
  if (memory == NULL) reader->no_memory = true;
  return memory;
}

static void release(png_structp png, png_voidp memory) {
  (void)png;
  free(memory);
}

static void read_bytes(png_structp png, png_bytep into, size_t count) {
  calotype_png_reader *reader = png_get_io_ptr(png);
  while (count > 0) {
    if (reader->piece_count == 0) {
      reader->reached_end = true;
      png_error(png, "the bytes end early");
    }
    size_t length = reader->pieces->count - reader->position;
    if (length > count) length = count;
    memcpy(into, reader->pieces->bytes + reader->position, length);
    into += length;
    count -= length;
    reader->position += length;
    if (reader->position == reader->pieces->count) {
      reader->pieces++;
      reader->piece_count--;
      reader->position = 0;
    }
  }
}

calotype_png_reader *calotype_png_create(const uint8_t *bytes, size_t count, size_t maximum_profile) {
  calotype_png_reader *reader = calloc(1, sizeof *reader);
  if (reader == NULL) return NULL;
  reader->unpacked = calotype_png_unpack(bytes, count);
  reader->file = (calotype_png_piece){bytes, count};
  reader->pieces = reader->unpacked ? reader->unpacked->pieces : &reader->file;
  reader->piece_count = reader->unpacked ? reader->unpacked->piece_count : 1;
  if (setjmp(reader->escape)) {
    calotype_png_destroy(reader);
    return NULL;
  }
  reader->png = png_create_read_struct_2(
    PNG_LIBPNG_VER_STRING, reader, on_error, on_warning, reader, allocate, release);
  if (reader->png != NULL) reader->info = png_create_info_struct(reader->png);
  if (reader->info == NULL) {
    calotype_png_destroy(reader);
    return NULL;
  }
  png_set_read_fn(reader->png, reader, read_bytes);
  // The size was judged before; texts and the like are never unpacked.
  png_set_user_limits(reader->png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  png_set_chunk_malloc_max(reader->png, maximum_profile);
  png_set_keep_unknown_chunks(reader->png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
  png_set_keep_unknown_chunks(reader->png, PNG_HANDLE_CHUNK_AS_DEFAULT, (png_const_bytep) "iCCP", 1);
  return reader;
}

void calotype_png_destroy(calotype_png_reader *reader) {
  if (reader == NULL) return;
  if (reader->png != NULL) png_destroy_read_struct(&reader->png, &reader->info, NULL);
  calotype_png_unpacked_destroy(reader->unpacked);
  free(reader);
}

static calotype_png_status failure(const calotype_png_reader *reader) {
  if (reader->no_memory) return CALOTYPE_PNG_NO_MEMORY;
  return reader->reached_end ? CALOTYPE_PNG_TRUNCATED : CALOTYPE_PNG_CORRUPT;
}

static calotype_png_status start(calotype_png_reader *reader, bool is_deep, int *passes) {
  if (setjmp(reader->escape)) return failure(reader);
  png_structp png = reader->png;
  png_infop info = reader->info;
  png_read_info(png, info);
  if (reader->unpacked != NULL) {
    // The data's checksums were compared when they were unpacked.
    png_set_crc_action(png, PNG_CRC_QUIET_USE, PNG_CRC_NO_CHANGE);
    png_set_option(png, PNG_IGNORE_ADLER32, PNG_OPTION_ON);
  }
  png_set_expand(png);
  if (is_deep) {
    png_set_expand_16(png);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    png_set_swap(png);
#endif
  } else {
    png_set_scale_16(png);
  }
  png_set_gray_to_rgb(png);
  // Adds the channel only where there is no alpha yet.
  png_set_add_alpha(png, is_deep ? 0xFFFF : 0xFF, PNG_FILLER_AFTER);
  *passes = png_set_interlace_handling(png);
  png_read_update_info(png, info);
  if (png_get_rowbytes(png, info) != (size_t)png_get_image_width(png, info) * (is_deep ? 8 : 4)) {
    png_error(png, "rows are not RGBA");
  }
  return CALOTYPE_PNG_OK;
}

calotype_png_status calotype_png_start(calotype_png_reader *reader, int *passes) {
  return start(reader, false, passes);
}

calotype_png_status calotype_png_start_deep(calotype_png_reader *reader, int *passes) {
  return start(reader, true, passes);
}

const uint8_t *calotype_png_profile(calotype_png_reader *reader, size_t *count) {
  png_charp name;
  png_bytep profile = NULL;
  png_uint_32 length = 0;
  int compression;
  *count = 0;
  if (setjmp(reader->escape)) return NULL;
  if (!png_get_iCCP(reader->png, reader->info, &name, &compression, &profile, &length)) return NULL;
  *count = length;
  return profile;
}

calotype_png_status calotype_png_read_rows(
  calotype_png_reader *reader, uint8_t *rows, size_t stride, uint32_t count) {
  if (setjmp(reader->escape)) return failure(reader);
  for (uint32_t row = 0; row < count; row++) png_read_row(reader->png, rows + row * stride, NULL);
  return CALOTYPE_PNG_OK;
}

uint32_t calotype_png_checksum(const uint8_t *bytes, size_t count) {
  return (uint32_t)crc32_z(0, bytes, count);
}

const char *calotype_png_message(const calotype_png_reader *reader) { return reader->message; }
