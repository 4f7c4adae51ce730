#ifndef CALOTYPE_CPNG_SHIM_H
#define CALOTYPE_CPNG_SHIM_H
#include <png.h>
#endif
