// libpng reports errors by longjmp, which must not cross Swift frames. Each function here catches it and
// answers with a status; nothing else is added.
#ifndef CALOTYPE_CPNGENCODE_H
#define CALOTYPE_CPNGENCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct calotype_png_writer calotype_png_writer;

// NULL where there is no memory.
calotype_png_writer *calotype_png_writer_create(void);
void calotype_png_writer_destroy(calotype_png_writer *writer);

// 8 bits a channel; with a profile where its size is not 0. The level is zlib's, 0 to 9; `filters` are libpng's
// PNG_FILTER bits.
bool calotype_png_writer_start(
  calotype_png_writer *writer, uint32_t width, uint32_t height, bool has_alpha, int level, int filters,
  const uint8_t *profile, uint32_t profile_size);

// 16 bits a channel, rows in the machine's order of bytes; with a profile where its size is not 0.
bool calotype_png_writer_start_deep(
  calotype_png_writer *writer, uint32_t width, uint32_t height, bool has_alpha, int level, int filters,
  const uint8_t *profile, uint32_t profile_size);

// One row of straight RGBA pixels; where the file has no alpha, of RGBX pixels.
bool calotype_png_writer_write(calotype_png_writer *writer, const uint8_t *row);

// The bytes belong to the writer.
bool calotype_png_writer_finish(calotype_png_writer *writer, const uint8_t **bytes, size_t *count);

// What libpng said of the last failure.
const char *calotype_png_writer_message(const calotype_png_writer *writer);

#endif
