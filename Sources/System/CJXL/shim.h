#ifndef CALOTYPE_CJXL_SHIM_H
#define CALOTYPE_CJXL_SHIM_H
#include <jxl/decode.h>
#endif
