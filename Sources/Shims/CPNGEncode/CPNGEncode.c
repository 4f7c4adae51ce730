#include "CPNGEncode.h"
#include "CPNGPack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <png.h>

struct calotype_png_writer {
  png_structp codec;
  png_infop info;
  uint8_t *bytes;
  size_t count;
  size_t capacity;
  // The level at which what libpng left bare is packed at the end; negative where it has packed it itself.
  int level;
  char message[128];
};

static void fail(png_structp codec, png_const_charp message) {
  calotype_png_writer *writer = png_get_error_ptr(codec);
  snprintf(writer->message, sizeof writer->message, "%s", message);
  png_longjmp(codec, 1);
}

static void ignore(png_structp codec, png_const_charp message) {
  (void)codec;
  (void)message;
}

static void collect(png_structp codec, png_bytep bytes, size_t count) {
  calotype_png_writer *writer = png_get_io_ptr(codec);
  if (count > writer->capacity - writer->count) {
    size_t capacity = writer->capacity ? writer->capacity * 2 : 16384;
    while (capacity - writer->count < count) capacity *= 2;
    uint8_t *grown = realloc(writer->bytes, capacity);
    if (!grown) png_error(codec, "out of memory");
    writer->bytes = grown;
    writer->capacity = capacity;
  }
  memcpy(writer->bytes + writer->count, bytes, count);
  writer->count += count;
}

static void flush(png_structp codec) { (void)codec; }

calotype_png_writer *calotype_png_writer_create(void) {
  calotype_png_writer *writer = calloc(1, sizeof *writer);
  if (!writer) return NULL;
  writer->codec = png_create_write_struct(PNG_LIBPNG_VER_STRING, writer, fail, ignore);
  if (writer->codec) writer->info = png_create_info_struct(writer->codec);
  if (!writer->info) {
    calotype_png_writer_destroy(writer);
    return NULL;
  }
  png_set_write_fn(writer->codec, writer, collect, flush);
  return writer;
}

void calotype_png_writer_destroy(calotype_png_writer *writer) {
  if (!writer) return;
  png_destroy_write_struct(&writer->codec, &writer->info);
  free(writer->bytes);
  free(writer);
}

static bool start(
  calotype_png_writer *writer, uint32_t width, uint32_t height, bool has_alpha, int level, int filters,
  int depth, const uint8_t *profile, uint32_t profile_size) {
  if (setjmp(png_jmpbuf(writer->codec))) return false;
  png_set_user_limits(writer->codec, 0x7FFFFFFF, 0x7FFFFFFF);
  png_set_IHDR(
    writer->codec, writer->info, width, height, depth, has_alpha ? PNG_COLOR_TYPE_RGBA : PNG_COLOR_TYPE_RGB,
    PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  size_t row_size = (size_t)width * (has_alpha ? 4 : 3) * depth / 8 + 1;
  bool packs_at_end = row_size <= SIZE_MAX / height && calotype_png_may_pack(row_size * height);
  writer->level = packs_at_end ? level : -1;
  png_set_compression_level(writer->codec, packs_at_end ? 0 : level);
  png_set_filter(writer->codec, PNG_FILTER_TYPE_DEFAULT, filters);
  if (profile_size > 0) {
    png_set_iCCP(writer->codec, writer->info, "ICC profile", PNG_COMPRESSION_TYPE_BASE, profile, profile_size);
  }
  png_write_info(writer->codec, writer->info);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  if (depth == 16) png_set_swap(writer->codec);
#endif
  if (!has_alpha) png_set_filler(writer->codec, 0, PNG_FILLER_AFTER);
  return true;
}

bool calotype_png_writer_start(
  calotype_png_writer *writer, uint32_t width, uint32_t height, bool has_alpha, int level, int filters,
  const uint8_t *profile, uint32_t profile_size) {
  return start(writer, width, height, has_alpha, level, filters, 8, profile, profile_size);
}

bool calotype_png_writer_start_deep(
  calotype_png_writer *writer, uint32_t width, uint32_t height, bool has_alpha, int level, int filters,
  const uint8_t *profile, uint32_t profile_size) {
  return start(writer, width, height, has_alpha, level, filters, 16, profile, profile_size);
}

bool calotype_png_writer_write(calotype_png_writer *writer, const uint8_t *row) {
  if (setjmp(png_jmpbuf(writer->codec))) return false;
  png_write_row(writer->codec, row);
  return true;
}

bool calotype_png_writer_finish(calotype_png_writer *writer, const uint8_t **bytes, size_t *count) {
  if (setjmp(png_jmpbuf(writer->codec))) return false;
  png_write_end(writer->codec, NULL);
  if (writer->level >= 0) calotype_png_pack(&writer->bytes, &writer->count, writer->level);
  *bytes = writer->bytes;
  *count = writer->count;
  return true;
}

const char *calotype_png_writer_message(const calotype_png_writer *writer) { return writer->message; }
