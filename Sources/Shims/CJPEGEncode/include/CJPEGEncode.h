// libjpeg reports errors by longjmp, which must not cross Swift frames. Each function here catches it and
// answers with a status; nothing else is added.
#ifndef CALOTYPE_CJPEGENCODE_H
#define CALOTYPE_CJPEGENCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct calotype_jpeg_writer calotype_jpeg_writer;

// NULL where there is no memory.
calotype_jpeg_writer *calotype_jpeg_writer_create(void);
void calotype_jpeg_writer_destroy(calotype_jpeg_writer *writer);

// With a profile where its size is not 0. The sampling factors are those of the brightness: 1×1 for 4:4:4, 2×1 for 4:2:2, 2×2 for 4:2:0.
bool calotype_jpeg_writer_start(
  calotype_jpeg_writer *writer, uint32_t width, uint32_t height, int quality, bool progressive,
  bool optimized, int horizontal_sampling, int vertical_sampling, const uint8_t *profile, uint32_t profile_size);

// One row of RGBX pixels.
bool calotype_jpeg_writer_write(calotype_jpeg_writer *writer, const uint8_t *row);

// The bytes belong to the writer.
bool calotype_jpeg_writer_finish(calotype_jpeg_writer *writer, const uint8_t **bytes, size_t *count);

// What libjpeg said of the last failure.
const char *calotype_jpeg_writer_message(const calotype_jpeg_writer *writer);

#endif
