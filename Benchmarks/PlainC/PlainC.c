#include "PlainC.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <png.h>

struct jpeg_escape {
  struct jpeg_error_mgr errors;
  jmp_buf jump;
};

static void leave(j_common_ptr info) { longjmp(((struct jpeg_escape *)info->err)->jump, 1); }

uint8_t *plain_decode_jpeg(const uint8_t *bytes, size_t count, unsigned scale, int *width, int *height) {
  struct jpeg_decompress_struct info;
  struct jpeg_escape escape;
  uint8_t *volatile pixels = NULL;
  info.err = jpeg_std_error(&escape.errors);
  escape.errors.error_exit = leave;
  if (setjmp(escape.jump)) {
    jpeg_destroy_decompress(&info);
    free(pixels);
    return NULL;
  }
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, bytes, count);
  jpeg_read_header(&info, TRUE);
  info.scale_num = scale;
  info.scale_denom = 8;
  info.out_color_space = JCS_EXT_RGBA;
  jpeg_start_decompress(&info);
  *width = (int)info.output_width;
  *height = (int)info.output_height;
  pixels = malloc((size_t)info.output_width * info.output_height * 4);
  while (info.output_scanline < info.output_height) {
    JSAMPROW row = pixels + (size_t)info.output_scanline * info.output_width * 4;
    jpeg_read_scanlines(&info, &row, 1);
  }
  jpeg_finish_decompress(&info);
  jpeg_destroy_decompress(&info);
  return pixels;
}

struct png_source {
  const uint8_t *bytes;
  size_t left;
};

static void read_bytes(png_structp png, png_bytep into, size_t count) {
  struct png_source *source = png_get_io_ptr(png);
  if (count > source->left) png_error(png, "end");
  memcpy(into, source->bytes, count);
  source->bytes += count;
  source->left -= count;
}

uint8_t *plain_decode_png(const uint8_t *bytes, size_t count, int *width, int *height) {
  png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
  png_infop info = png_create_info_struct(png);
  struct png_source source = {bytes, count};
  uint8_t *volatile pixels = NULL;
  if (setjmp(png_jmpbuf(png))) {
    png_destroy_read_struct(&png, &info, NULL);
    free(pixels);
    return NULL;
  }
  png_set_read_fn(png, &source, read_bytes);
  png_read_info(png, info);
  png_set_expand(png);
  png_set_strip_16(png);
  png_set_gray_to_rgb(png);
  png_set_add_alpha(png, 0xFF, PNG_FILLER_AFTER);
  png_read_update_info(png, info);
  *width = (int)png_get_image_width(png, info);
  *height = (int)png_get_image_height(png, info);
  pixels = malloc((size_t)*width * *height * 4);
  for (int row = 0; row < *height; row++) png_read_row(png, pixels + (size_t)row * *width * 4, NULL);
  png_destroy_read_struct(&png, &info, NULL);
  return pixels;
}

uint8_t *plain_resize(const uint8_t *pixels, int width, int height, int new_width, int new_height) {
  float *wide = malloc(sizeof(float) * 4 * new_width * height);
  uint8_t *result = malloc((size_t)new_width * new_height * 4);
  float step = (float)width / new_width;
  for (int y = 0; y < height; y++) {
    for (int x = 0; x < new_width; x++) {
      float from = x * step, to = from + step, sum[4] = {0, 0, 0, 0};
      for (int source = (int)from; source < to && source < width; source++) {
        float start = source > from ? source : from, end = source + 1 < to ? source + 1 : to;
        const uint8_t *pixel = pixels + ((size_t)y * width + source) * 4;
        float weight = (end - start) * pixel[3] / 255;
        for (int channel = 0; channel < 3; channel++) sum[channel] += weight * pixel[channel];
        sum[3] += weight * 255;
      }
      for (int channel = 0; channel < 4; channel++) wide[((size_t)y * new_width + x) * 4 + channel] = sum[channel] / step;
    }
  }
  step = (float)height / new_height;
  for (int y = 0; y < new_height; y++) {
    float from = y * step, to = from + step;
    for (int x = 0; x < new_width * 4; x++) {
      float sum = 0;
      for (int source = (int)from; source < to && source < height; source++) {
        float start = source > from ? source : from, end = source + 1 < to ? source + 1 : to;
        sum += (end - start) * wide[(size_t)source * new_width * 4 + x];
      }
      result[(size_t)y * new_width * 4 + x] = (uint8_t)(sum / step + 0.5f);
    }
  }
  free(wide);
  return result;
}
