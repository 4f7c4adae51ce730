#include <libdeflate.h>

#include "late_deflate.h"
#include "late_library.h"

#define NAMES(X)                                                                                        \
  X(libdeflate_alloc_compressor) X(libdeflate_alloc_decompressor) X(libdeflate_crc32)                   \
  X(libdeflate_free_compressor) X(libdeflate_free_decompressor) X(libdeflate_zlib_compress)             \
  X(libdeflate_zlib_compress_bound) X(libdeflate_zlib_decompress_ex)

LATE_LIBRARY(calotype_load_deflate, NAMES, "libdeflate.so.0")
