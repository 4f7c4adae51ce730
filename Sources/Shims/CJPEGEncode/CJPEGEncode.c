#include "CJPEGEncode.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>
#include <jerror.h>

struct calotype_jpeg_writer {
  struct jpeg_compress_struct codec;
  struct jpeg_error_mgr errors;
  jmp_buf back;
  struct jpeg_destination_mgr destination;
  unsigned char *bytes;
  size_t count;
  size_t capacity;
  char message[JMSG_LENGTH_MAX];
};

static void fail(j_common_ptr codec) {
  calotype_jpeg_writer *writer = codec->client_data;
  codec->err->format_message(codec, writer->message);
  longjmp(writer->back, 1);
}

static void ignore(j_common_ptr codec) { (void)codec; }

// libjpeg's own destination in memory says where its bytes are only at the end: whoever gives up before that
// cannot free them.
static boolean grow(j_compress_ptr codec) {
  calotype_jpeg_writer *writer = codec->client_data;
  size_t capacity = writer->capacity ? writer->capacity * 2 : 16384;
  unsigned char *grown = capacity > writer->capacity ? realloc(writer->bytes, capacity) : NULL;
  if (!grown) ERREXIT1(codec, JERR_OUT_OF_MEMORY, 0);
  // It is called with all of the memory full, whatever the fields say (jdatadst.c's contract).
  writer->destination.next_output_byte = grown + writer->capacity;
  writer->destination.free_in_buffer = capacity - writer->capacity;
  writer->bytes = grown;
  writer->capacity = capacity;
  return TRUE;
}

static void begin(j_compress_ptr codec) { grow(codec); }

static void end(j_compress_ptr codec) {
  calotype_jpeg_writer *writer = codec->client_data;
  writer->count = writer->capacity - writer->destination.free_in_buffer;
}

calotype_jpeg_writer *calotype_jpeg_writer_create(void) {
  calotype_jpeg_writer *writer = calloc(1, sizeof *writer);
  if (!writer) return NULL;
  writer->codec.err = jpeg_std_error(&writer->errors);
  writer->errors.error_exit = fail;
  writer->errors.output_message = ignore;
  writer->codec.client_data = writer;
  if (setjmp(writer->back)) {
    free(writer);
    return NULL;
  }
  jpeg_create_compress(&writer->codec);
  return writer;
}

void calotype_jpeg_writer_destroy(calotype_jpeg_writer *writer) {
  if (!writer) return;
  jpeg_destroy_compress(&writer->codec);
  free(writer->bytes);
  free(writer);
}

bool calotype_jpeg_writer_start(
  calotype_jpeg_writer *writer, uint32_t width, uint32_t height, int quality, bool progressive,
  bool optimized, int horizontal_sampling, int vertical_sampling, const uint8_t *profile, uint32_t profile_size) {
  if (setjmp(writer->back)) return false;
  struct jpeg_compress_struct *codec = &writer->codec;
  writer->destination.init_destination = begin;
  writer->destination.empty_output_buffer = grow;
  writer->destination.term_destination = end;
  codec->dest = &writer->destination;
  codec->image_width = width;
  codec->image_height = height;
  codec->input_components = 4;
  codec->in_color_space = JCS_EXT_RGBX;
  jpeg_set_defaults(codec);
  jpeg_set_quality(codec, quality, TRUE);
  codec->comp_info[0].h_samp_factor = horizontal_sampling;
  codec->comp_info[0].v_samp_factor = vertical_sampling;
  codec->optimize_coding = optimized;
  if (progressive) jpeg_simple_progression(codec);
  jpeg_start_compress(codec, TRUE);
  if (profile_size > 0) jpeg_write_icc_profile(codec, profile, profile_size);
  return true;
}

bool calotype_jpeg_writer_write(calotype_jpeg_writer *writer, const uint8_t *row) {
  if (setjmp(writer->back)) return false;
  JSAMPROW rows[1] = {(JSAMPROW)row};
  return jpeg_write_scanlines(&writer->codec, rows, 1) == 1;
}

bool calotype_jpeg_writer_finish(calotype_jpeg_writer *writer, const uint8_t **bytes, size_t *count) {
  if (setjmp(writer->back)) return false;
  jpeg_finish_compress(&writer->codec);
  *bytes = writer->bytes;
  *count = writer->count;
  return true;
}

const char *calotype_jpeg_writer_message(const calotype_jpeg_writer *writer) { return writer->message; }
