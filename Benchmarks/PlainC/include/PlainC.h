// What a C program does that decodes a picture and nothing else: the codecs' own examples, written down
// straight. The decode benchmarks run beside it.
#ifndef CALOTYPE_PLAINC_H
#define CALOTYPE_PLAINC_H

#include <stddef.h>
#include <stdint.h>

// Decodes a JPEG at `scale`/8 of its size to RGBA; the caller frees the pixels. NULL where it fails.
uint8_t *plain_decode_jpeg(const uint8_t *bytes, size_t count, unsigned scale, int *width, int *height);

// Decodes a PNG to RGBA, not premultiplied; the caller frees the pixels. NULL where it fails.
uint8_t *plain_decode_png(const uint8_t *bytes, size_t count, int *width, int *height);

// Premultiplies and resizes with a box filter; the caller frees the pixels.
uint8_t *plain_resize(const uint8_t *pixels, int width, int height, int new_width, int new_height);

#endif
