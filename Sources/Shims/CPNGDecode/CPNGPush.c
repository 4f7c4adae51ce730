#include "CPNGDecode.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <png.h>

struct calotype_png_pusher {
  png_structp png;
  png_infop info;
  uint8_t *canvas;
  uint32_t width;
  uint32_t height;
  int complete_passes;
  jmp_buf escape;
};

static void on_error(png_structp png, png_const_charp text) {
  (void)text;
  calotype_png_pusher *pusher = png_get_error_ptr(png);
  longjmp(pusher->escape, 1);
}

static void on_warning(png_structp png, png_const_charp text) {
  (void)png;
  (void)text;
}

static void on_info(png_structp png, png_infop info) {
  calotype_png_pusher *pusher = png_get_progressive_ptr(png);
  png_set_expand(png);
  png_set_scale_16(png);
  png_set_gray_to_rgb(png);
  png_set_add_alpha(png, 0xFF, PNG_FILLER_AFTER);
  png_set_interlace_handling(png);
  png_read_update_info(png, info);
  pusher->width = png_get_image_width(png, info);
  pusher->height = png_get_image_height(png, info);
  if (png_get_rowbytes(png, info) != (size_t)pusher->width * 4) png_error(png, "rows are not RGBA");
  pusher->canvas = calloc(pusher->height, (size_t)pusher->width * 4);
  if (pusher->canvas == NULL) png_error(png, "out of memory");
}

static void on_row(png_structp png, png_bytep pixels, png_uint_32 row, int pass) {
  calotype_png_pusher *pusher = png_get_progressive_ptr(png);
  if (pass > pusher->complete_passes) pusher->complete_passes = pass;
  if (pixels != NULL && row < pusher->height) {
    png_progressive_combine_row(png, pusher->canvas + (size_t)row * pusher->width * 4, pixels);
  }
  if (row + 1 == pusher->height) pusher->complete_passes = pass + 1;
}

static void on_end(png_structp png, png_infop info) {
  (void)png;
  (void)info;
}

calotype_png_pusher *calotype_png_pusher_create(size_t maximum_profile) {
  calotype_png_pusher *pusher = calloc(1, sizeof *pusher);
  if (pusher == NULL) return NULL;
  if (setjmp(pusher->escape)) {
    calotype_png_pusher_destroy(pusher);
    return NULL;
  }
  pusher->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, pusher, on_error, on_warning);
  if (pusher->png != NULL) pusher->info = png_create_info_struct(pusher->png);
  if (pusher->info == NULL) {
    calotype_png_pusher_destroy(pusher);
    return NULL;
  }
  png_set_user_limits(pusher->png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  png_set_chunk_malloc_max(pusher->png, maximum_profile);
  png_set_keep_unknown_chunks(pusher->png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
  png_set_keep_unknown_chunks(pusher->png, PNG_HANDLE_CHUNK_AS_DEFAULT, (png_const_bytep) "iCCP", 1);
  png_set_progressive_read_fn(pusher->png, pusher, on_info, on_row, on_end);
  return pusher;
}

void calotype_png_pusher_destroy(calotype_png_pusher *pusher) {
  if (pusher == NULL) return;
  if (pusher->png != NULL) png_destroy_read_struct(&pusher->png, &pusher->info, NULL);
  free(pusher->canvas);
  free(pusher);
}

bool calotype_png_push(calotype_png_pusher *pusher, const uint8_t *bytes, size_t count) {
  if (setjmp(pusher->escape)) return false;
  // libpng does not change them, but says so of nothing.
  png_process_data(pusher->png, pusher->info, (png_bytep)bytes, count);
  return true;
}

const uint8_t *calotype_png_pushed_rows(const calotype_png_pusher *pusher, int *complete_passes) {
  *complete_passes = pusher->complete_passes;
  return pusher->canvas;
}
