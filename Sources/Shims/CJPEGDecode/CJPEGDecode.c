#include "CJPEGDecode.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <jerror.h>

struct calotype_jpeg_reader {
  struct jpeg_decompress_struct info;
  struct jpeg_error_mgr errors;
  struct jpeg_source_mgr source;
  jmp_buf escape;
  // The code of the first warning that means lost pixels, or 0.
  int damage;
  bool reached_end;
  bool is_buffered;
  bool is_output_started;
  bool too_many_scans;
  // Of a file that comes in pieces: what came and was not read yet, and how much of what will come is passed over.
  uint8_t *pending;
  size_t pending_capacity;
  size_t to_skip;
  int complete_scans;
  int coarse_scans;
  char message[JMSG_LENGTH_MAX];
};

static const JOCTET end_of_image[2] = {0xFF, JPEG_EOI};

static calotype_jpeg_reader *owner(j_common_ptr info) { return (calotype_jpeg_reader *)info->client_data; }

static void error_exit(j_common_ptr info) {
  calotype_jpeg_reader *reader = owner(info);
  info->err->format_message(info, reader->message);
  longjmp(reader->escape, 1);
}

static void emit_message(j_common_ptr info, int level) {
  if (level >= 0) return;
  calotype_jpeg_reader *reader = owner(info);
  switch (info->err->msg_code) {
  case JWRN_HIT_MARKER:
  case JWRN_HUFF_BAD_CODE:
  case JWRN_ARITH_BAD_CODE:
  case JWRN_MUST_RESYNC:
  case JWRN_JPEG_EOF:
    if (reader->damage == 0) {
      reader->damage = info->err->msg_code;
      info->err->format_message(info, reader->message);
    }
    break;
  default:  // Stray bytes between markers, odd versions: every pixel is there.
    break;
  }
}

static void output_message(j_common_ptr info) { (void)info; }

static void init_source(j_decompress_ptr info) { (void)info; }
static void term_source(j_decompress_ptr info) { (void)info; }

// The end of the bytes reads as the end of the picture; whether pixels are missing is judged afterwards.
static boolean fill_input_buffer(j_decompress_ptr info) {
  owner((j_common_ptr)info)->reached_end = true;
  info->src->next_input_byte = end_of_image;
  info->src->bytes_in_buffer = sizeof end_of_image;
  return TRUE;
}

static void skip_input_data(j_decompress_ptr info, long count) {
  if (count <= 0) return;
  if ((size_t)count > info->src->bytes_in_buffer) {
    fill_input_buffer(info);
  } else {
    info->src->next_input_byte += count;
    info->src->bytes_in_buffer -= (size_t)count;
  }
}

// Nothing more for now: libjpeg goes back to where it can take up again.
static boolean suspend(j_decompress_ptr info) {
  (void)info;
  return FALSE;
}

static void skip_pushed_data(j_decompress_ptr info, long count) {
  if (count <= 0) return;
  size_t there = info->src->bytes_in_buffer;
  size_t now = (size_t)count < there ? (size_t)count : there;
  info->src->next_input_byte += now;
  info->src->bytes_in_buffer -= now;
  owner((j_common_ptr)info)->to_skip += (size_t)count - now;
}

static calotype_jpeg_reader *create(const uint8_t *bytes, size_t count, bool is_pushed) {
  calotype_jpeg_reader *reader = calloc(1, sizeof *reader);
  if (reader == NULL) return NULL;
  reader->info.err = jpeg_std_error(&reader->errors);
  reader->errors.error_exit = error_exit;
  reader->errors.emit_message = emit_message;
  reader->errors.output_message = output_message;
  reader->info.client_data = reader;
  if (setjmp(reader->escape)) {
    calotype_jpeg_destroy(reader);
    return NULL;
  }
  // Keeps err and client_data, clears the rest.
  jpeg_create_decompress(&reader->info);
  reader->source.init_source = init_source;
  reader->source.fill_input_buffer = is_pushed ? suspend : fill_input_buffer;
  reader->source.skip_input_data = is_pushed ? skip_pushed_data : skip_input_data;
  reader->source.resync_to_restart = jpeg_resync_to_restart;
  reader->source.term_source = term_source;
  reader->source.next_input_byte = bytes;
  reader->source.bytes_in_buffer = count;
  reader->info.src = &reader->source;
  return reader;
}

calotype_jpeg_reader *calotype_jpeg_create(const uint8_t *bytes, size_t count) {
  return create(bytes, count, false);
}

void calotype_jpeg_destroy(calotype_jpeg_reader *reader) {
  if (reader == NULL) return;
  jpeg_destroy_decompress(&reader->info);
  free(reader->pending);
  free(reader);
}

// After a longjmp: what kind of error it was.
static calotype_jpeg_status failure(const calotype_jpeg_reader *reader) {
  switch (reader->errors.msg_code) {
  case JERR_OUT_OF_MEMORY:
  case JERR_NO_BACKING_STORE:
    return CALOTYPE_JPEG_NO_MEMORY;
  case JERR_SOF_UNSUPPORTED:
  case JERR_BAD_PRECISION:
  case JERR_ARITH_NOTIMPL:
  case JERR_CONVERSION_NOTIMPL:
  case JERR_FRACT_SAMPLE_NOTIMPL:
  case JERR_CCIR601_NOTIMPL:
  case JERR_NOTIMPL:
  case JERR_NOT_COMPILED:
    return CALOTYPE_JPEG_UNSUPPORTED;
  default:
    return reader->reached_end ? CALOTYPE_JPEG_TRUNCATED : CALOTYPE_JPEG_CORRUPT;
  }
}

static calotype_jpeg_status damage_status(const calotype_jpeg_reader *reader) {
  if (reader->damage == 0) return CALOTYPE_JPEG_OK;
  return reader->reached_end ? CALOTYPE_JPEG_TRUNCATED : CALOTYPE_JPEG_CORRUPT;
}

calotype_jpeg_status calotype_jpeg_read_header(calotype_jpeg_reader *reader, calotype_jpeg_header *header) {
  if (setjmp(reader->escape)) return failure(reader);
  jpeg_read_header(&reader->info, TRUE);
  header->width = reader->info.image_width;
  header->height = reader->info.image_height;
  header->components = reader->info.num_components;
  header->has_adobe_marker = reader->info.saw_Adobe_marker;
  header->has_multiple_scans = jpeg_has_multiple_scans(&reader->info);
  return damage_status(reader);
}

calotype_jpeg_status calotype_jpeg_start(
  calotype_jpeg_reader *reader, unsigned scale, bool fancy_upsampling, uint32_t *width, uint32_t *height) {
  if (setjmp(reader->escape)) return failure(reader);
  struct jpeg_decompress_struct *info = &reader->info;
  info->scale_num = scale;
  info->scale_denom = 8;
  info->do_fancy_upsampling = fancy_upsampling;
  info->out_color_space = info->num_components == 4 ? JCS_CMYK : JCS_EXT_RGBA;
  reader->is_buffered = jpeg_has_multiple_scans(info);
  info->buffered_image = reader->is_buffered;
  jpeg_start_decompress(info);
  *width = info->output_width;
  *height = info->output_height;
  return damage_status(reader);
}

// Whether every coefficient has come in full.
static bool is_complete(const struct jpeg_decompress_struct *info) {
  for (int component = 0; component < info->num_components; component++) {
    if (!info->progressive_mode || info->coef_bits == NULL) return false;
    for (int coefficient = 0; coefficient < DCTSIZE2; coefficient++) {
      if (info->coef_bits[component][coefficient] != 0) return false;
    }
  }
  return true;
}

calotype_jpeg_status calotype_jpeg_consume(calotype_jpeg_reader *reader, int maximum_scans, bool *done) {
  *done = false;
  if (!reader->is_buffered || reader->is_output_started) {
    *done = true;
    return CALOTYPE_JPEG_OK;
  }
  if (setjmp(reader->escape)) return failure(reader);
  int result = jpeg_consume_input(&reader->info);
  if (reader->damage != 0) return damage_status(reader);
  if (reader->info.input_scan_number > maximum_scans) {
    snprintf(reader->message, sizeof reader->message, "more than %d scans", maximum_scans);
    return CALOTYPE_JPEG_CORRUPT;
  }
  if (result != JPEG_REACHED_EOI) return CALOTYPE_JPEG_OK;
  if (reader->reached_end && !is_complete(&reader->info)) return CALOTYPE_JPEG_TRUNCATED;
  jpeg_start_output(&reader->info, reader->info.input_scan_number);
  reader->is_output_started = true;
  *done = true;
  return damage_status(reader);
}

calotype_jpeg_status calotype_jpeg_read_rows(
  calotype_jpeg_reader *reader, uint8_t *rows, size_t stride, uint32_t count, uint32_t *read) {
  *read = 0;
  if (setjmp(reader->escape)) return failure(reader);
  // Volatile-free: nothing changed here is looked at after a longjmp.
  while (*read < count && reader->info.output_scanline < reader->info.output_height) {
    JSAMPROW row = rows + (size_t)*read * stride;
    JDIMENSION got = jpeg_read_scanlines(&reader->info, &row, 1);
    if (reader->damage != 0) return damage_status(reader);
    if (got == 0) return CALOTYPE_JPEG_TRUNCATED;
    *read += got;
  }
  return CALOTYPE_JPEG_OK;
}

calotype_jpeg_reader *calotype_jpeg_create_push(void) { return create(NULL, 0, true); }

bool calotype_jpeg_push(calotype_jpeg_reader *reader, const uint8_t *bytes, size_t count) {
  size_t skipped = reader->to_skip < count ? reader->to_skip : count;
  reader->to_skip -= skipped;
  bytes += skipped;
  count -= skipped;
  size_t left = reader->source.bytes_in_buffer;
  if (left > 0) memmove(reader->pending, reader->source.next_input_byte, left);
  if (left + count > reader->pending_capacity) {
    uint8_t *grown = realloc(reader->pending, left + count);
    if (grown == NULL) {
      reader->source.next_input_byte = reader->pending;
      return false;
    }
    reader->pending = grown;
    reader->pending_capacity = left + count;
  }
  if (count > 0) memcpy(reader->pending + left, bytes, count);
  reader->source.next_input_byte = reader->pending;
  reader->source.bytes_in_buffer = left + count;
  return true;
}

calotype_jpeg_status calotype_jpeg_push_header(
  calotype_jpeg_reader *reader, calotype_jpeg_header *header, bool *done) {
  *done = false;
  if (setjmp(reader->escape)) return failure(reader);
  if (jpeg_read_header(&reader->info, TRUE) != JPEG_HEADER_OK) return damage_status(reader);
  *done = true;
  header->width = reader->info.image_width;
  header->height = reader->info.image_height;
  header->components = reader->info.num_components;
  header->has_adobe_marker = reader->info.saw_Adobe_marker;
  header->has_multiple_scans = jpeg_has_multiple_scans(&reader->info);
  return damage_status(reader);
}

// Notes how many scans are there whole, and whether they have more than each block's mean.
static void count_scans(calotype_jpeg_reader *reader) {
  struct jpeg_decompress_struct *info = &reader->info;
  bool is_whole = jpeg_input_complete(info) || info->input_iMCU_row >= info->total_iMCU_rows;
  int complete = info->input_scan_number - (is_whole ? 0 : 1);
  if (complete <= reader->complete_scans) return;
  reader->complete_scans = complete;
  if (info->progressive_mode && info->coef_bits != NULL && info->coef_bits[0][1] < 0) {
    reader->coarse_scans = complete;
  }
}

calotype_jpeg_status calotype_jpeg_push_consume(
  calotype_jpeg_reader *reader, int maximum_scans, calotype_jpeg_progress *progress) {
  progress->wants_more = true;
  if (setjmp(reader->escape)) return failure(reader);
  int result = jpeg_consume_input(&reader->info);
  if (reader->damage != 0) return damage_status(reader);
  if (reader->info.input_scan_number > maximum_scans) {
    snprintf(reader->message, sizeof reader->message, "more than %d scans", maximum_scans);
    return CALOTYPE_JPEG_CORRUPT;
  }
  count_scans(reader);
  progress->wants_more = result == JPEG_SUSPENDED || result == JPEG_REACHED_EOI;
  progress->complete_scans = reader->complete_scans;
  progress->coarse_scans = reader->coarse_scans;
  return CALOTYPE_JPEG_OK;
}

calotype_jpeg_status calotype_jpeg_push_start_rows(calotype_jpeg_reader *reader, bool *started) {
  *started = false;
  if (setjmp(reader->escape)) return failure(reader);
  struct jpeg_decompress_struct *info = &reader->info;
  if (reader->is_output_started) {
    if (!jpeg_finish_output(info)) return damage_status(reader);
    reader->is_output_started = false;
  }
  count_scans(reader);
  if (reader->complete_scans < 1) return CALOTYPE_JPEG_OK;
  // Smoothing across blocks wants to see more of the file than the scan itself.
  info->do_block_smoothing = info->input_scan_number > reader->complete_scans || jpeg_input_complete(info);
  if (!jpeg_start_output(info, reader->complete_scans)) return damage_status(reader);
  reader->is_output_started = true;
  *started = true;
  return damage_status(reader);
}

const char *calotype_jpeg_message(const calotype_jpeg_reader *reader) { return reader->message; }
