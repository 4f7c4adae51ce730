// libtiff's variadic calls, one typed wrapper each, and handlers that keep it from writing to standard error.
#ifndef CALOTYPE_CTIFF_SHIM_H
#define CALOTYPE_CTIFF_SHIM_H
#include <stdarg.h>
#include <stdint.h>
#include <tiffio.h>

static inline int calotype_tiff_get_uint32(TIFF *tiff, uint32_t tag, uint32_t *value) {
  return TIFFGetField(tiff, tag, value);
}

// Also answers with the standard's default where the file has no such tag.
static inline int calotype_tiff_get_uint16(TIFF *tiff, uint32_t tag, uint16_t *value) {
  return TIFFGetFieldDefaulted(tiff, tag, value);
}

static inline int calotype_tiff_get_profile(TIFF *tiff, uint32_t *count, const void **bytes) {
  return TIFFGetField(tiff, TIFFTAG_ICCPROFILE, count, bytes);
}

static inline int calotype_tiff_be_quiet(TIFF *tiff, void *data, const char *module, const char *format, va_list list) {
  (void)tiff; (void)data; (void)module; (void)format; (void)list;
  return 1;
}

static inline TIFF *calotype_tiff_open(
  void *data, tmsize_t maximum_allocation, TIFFReadWriteProc read, TIFFReadWriteProc write, TIFFSeekProc seek,
  TIFFCloseProc close, TIFFSizeProc size) {
  TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
  if (options == NULL) return NULL;
  TIFFOpenOptionsSetMaxSingleMemAlloc(options, maximum_allocation);
  TIFFOpenOptionsSetErrorHandlerExtR(options, calotype_tiff_be_quiet, NULL);
  TIFFOpenOptionsSetWarningHandlerExtR(options, calotype_tiff_be_quiet, NULL);
  // "m": through the functions, never through a mapping of a file.
  TIFF *tiff = TIFFClientOpenExt("", "rm", (thandle_t)data, read, write, seek, close, size, NULL, NULL, options);
  TIFFOpenOptionsFree(options);
  return tiff;
}
#endif
