#include <avif/avif.h>

#include "CLateLibraries.h"
#include "late_library.h"

// The number changes with the layout of libavif's structures, which callers know from its header.
#if AVIF_VERSION >= 1000000
#define SONAME "libavif.so.16"
#elif AVIF_VERSION >= 110000
#define SONAME "libavif.so.15"
#else
#error "Calotype needs libavif 0.11 or later"
#endif

#define NAMES(X)                                                                                        \
  X(avifColorPrimariesGetValues) X(avifDecoderCreate) X(avifDecoderDestroy) X(avifDecoderNextImage)     \
  X(avifDecoderNthImageTiming) X(avifDecoderParse) X(avifDecoderSetIOMemory) X(avifEncoderAddImage)     \
  X(avifEncoderCreate) X(avifEncoderDestroy) X(avifEncoderFinish) X(avifEncoderWrite)                   \
  X(avifImageCreate) X(avifImageDestroy) X(avifImageRGBToYUV) X(avifImageSetProfileICC)                 \
  X(avifImageYUVToRGB) X(avifRGBImageSetDefaults) X(avifRWDataFree) X(avifResultToString)

LATE_LIBRARY(calotype_load_avif, NAMES, SONAME)
