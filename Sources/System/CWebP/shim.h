#ifndef CALOTYPE_CWEBP_SHIM_H
#define CALOTYPE_CWEBP_SHIM_H
#include <webp/decode.h>
#include <webp/encode.h>
#include <webp/demux.h>
#include <webp/mux.h>
#endif
