// libjpeg reports errors by longjmp, which must not cross Swift frames. Each function here catches it and
// answers with a status; nothing else is added.
#ifndef CALOTYPE_CJPEGDECODE_H
#define CALOTYPE_CJPEGDECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct calotype_jpeg_reader calotype_jpeg_reader;

typedef enum calotype_jpeg_status {
  CALOTYPE_JPEG_OK = 0,
  CALOTYPE_JPEG_TRUNCATED,
  CALOTYPE_JPEG_CORRUPT,
  CALOTYPE_JPEG_UNSUPPORTED,
  CALOTYPE_JPEG_NO_MEMORY,
} calotype_jpeg_status;

typedef struct calotype_jpeg_header {
  uint32_t width;
  uint32_t height;
  // 1 grey, 3 colour, 4 CMYK or YCCK.
  int components;
  // Whether an Adobe marker says that CMYK is stored inverted.
  bool has_adobe_marker;
  bool has_multiple_scans;
} calotype_jpeg_header;

// The bytes must outlive the reader. NULL where there is no memory.
calotype_jpeg_reader *calotype_jpeg_create(const uint8_t *bytes, size_t count);
void calotype_jpeg_destroy(calotype_jpeg_reader *reader);

calotype_jpeg_status calotype_jpeg_read_header(calotype_jpeg_reader *reader, calotype_jpeg_header *header);

// Starts the decode at `scale`/8 of the stored size. Rows come as RGBA with an alpha of 255, or as CMYK as
// stored where the file has four components. A file with several scans must then be read by
// `calotype_jpeg_consume` until it is done.
calotype_jpeg_status calotype_jpeg_start(
  calotype_jpeg_reader *reader, unsigned scale, bool fancy_upsampling, uint32_t *width, uint32_t *height);

// Reads one row of blocks of a file with several scans; `done` once the file is read and rows can be had.
calotype_jpeg_status calotype_jpeg_consume(calotype_jpeg_reader *reader, int maximum_scans, bool *done);

// Reads at most `count` rows.
calotype_jpeg_status calotype_jpeg_read_rows(
  calotype_jpeg_reader *reader, uint8_t *rows, size_t stride, uint32_t count, uint32_t *read);

// A file that comes in pieces, to be shown before it is whole: push what has come, read the header until it is
// done, start, consume until more is wanted, then start the rows and read them, as often as there are new scans.
calotype_jpeg_reader *calotype_jpeg_create_push(void);

// Takes a copy of the next piece. False where there is no memory.
bool calotype_jpeg_push(calotype_jpeg_reader *reader, const uint8_t *bytes, size_t count);

calotype_jpeg_status calotype_jpeg_push_header(
  calotype_jpeg_reader *reader, calotype_jpeg_header *header, bool *done);

typedef struct calotype_jpeg_progress {
  // Whether all that was pushed has been read.
  bool wants_more;
  // The scans that are there whole; and the last of them after which the brightness was known only as each
  // block's mean.
  int complete_scans;
  int coarse_scans;
} calotype_jpeg_progress;

// Reads a row of blocks, or a marker.
calotype_jpeg_status calotype_jpeg_push_consume(
  calotype_jpeg_reader *reader, int maximum_scans, calotype_jpeg_progress *progress);

// Makes ready for the rows of what the complete scans show; not `started` where more has to be pushed first.
calotype_jpeg_status calotype_jpeg_push_start_rows(calotype_jpeg_reader *reader, bool *started);

// What the codec said of the last error.
const char *calotype_jpeg_message(const calotype_jpeg_reader *reader);

#endif
