// libpng reports errors by longjmp, which must not cross Swift frames. Each function here catches it and
// answers with a status; nothing else is added.
#ifndef CALOTYPE_CPNGDECODE_H
#define CALOTYPE_CPNGDECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct calotype_png_reader calotype_png_reader;

typedef enum calotype_png_status {
  CALOTYPE_PNG_OK = 0,
  CALOTYPE_PNG_TRUNCATED,
  CALOTYPE_PNG_CORRUPT,
  CALOTYPE_PNG_NO_MEMORY,
} calotype_png_status;

// The bytes must outlive the reader. Only the header, palette, transparency, profile and picture data are
// looked at; a profile may unpack to at most `maximum_profile` bytes. NULL where there is no memory.
calotype_png_reader *calotype_png_create(const uint8_t *bytes, size_t count, size_t maximum_profile);
void calotype_png_destroy(calotype_png_reader *reader);

// Reads up to the picture data and arranges for rows of 8-bit RGBA, alpha not premultiplied, 255 where the
// picture has none.
calotype_png_status calotype_png_start(calotype_png_reader *reader, int *passes);

// The same with rows of 16-bit RGBA in the machine's order of bytes.
calotype_png_status calotype_png_start_deep(calotype_png_reader *reader, int *passes);

// The embedded profile, or NULL; owned by the reader.
const uint8_t *calotype_png_profile(calotype_png_reader *reader, size_t *count);

// Reads the next `count` rows of the current pass. In an interlaced file each pass adds its pixels to rows
// that hold the passes before.
calotype_png_status calotype_png_read_rows(
  calotype_png_reader *reader, uint8_t *rows, size_t stride, uint32_t count);

// An interlaced picture that comes in pieces, to be shown before it is whole.
typedef struct calotype_png_pusher calotype_png_pusher;

calotype_png_pusher *calotype_png_pusher_create(size_t maximum_profile);
void calotype_png_pusher_destroy(calotype_png_pusher *pusher);

// Reads the next piece. False where the file is damaged or there is no memory; nothing may be pushed then.
bool calotype_png_push(calotype_png_pusher *pusher, const uint8_t *bytes, size_t count);

// The rows as they are known, RGBA without gaps and alpha not premultiplied, each pixel of a pass filling the place
// of those that are to come; NULL before the picture data. Of seven passes, those that are there whole.
const uint8_t *calotype_png_pushed_rows(const calotype_png_pusher *pusher, int *complete_passes);

// The checksum that ends a chunk (PNG, section 5.5), of its type and its data.
uint32_t calotype_png_checksum(const uint8_t *bytes, size_t count);

// What the codec said of the last error.
const char *calotype_png_message(const calotype_png_reader *reader);

#endif
