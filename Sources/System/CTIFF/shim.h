#ifndef CALOTYPE_CTIFF_SHIM_H
#define CALOTYPE_CTIFF_SHIM_H
#include <tiffio.h>
#endif
