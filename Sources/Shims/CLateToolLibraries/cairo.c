#include "CLateToolLibraries.h"
#include "late_library.h"

#define NAMES(X)                                                                                       \
  X(cairo_arc) X(cairo_close_path) X(cairo_create) X(cairo_destroy) X(cairo_fill_preserve)             \
  X(cairo_get_scaled_font) X(cairo_glyph_free) X(cairo_image_surface_create)                           \
  X(cairo_image_surface_get_data) X(cairo_image_surface_get_stride) X(cairo_move_to)                   \
  X(cairo_new_sub_path) X(cairo_paint) X(cairo_scaled_font_text_to_glyphs) X(cairo_select_font_face)   \
  X(cairo_set_font_size) X(cairo_set_line_width) X(cairo_set_source_rgb) X(cairo_set_source_surface)   \
  X(cairo_show_text) X(cairo_status) X(cairo_stroke) X(cairo_surface_destroy) X(cairo_surface_flush)   \
  X(cairo_surface_mark_dirty) X(cairo_text_extents) X(cairo_version_string)

LATE_LIBRARY(calotype_load_cairo, NAMES, "libcairo.so.2")
