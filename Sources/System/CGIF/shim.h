#ifndef CALOTYPE_CGIF_SHIM_H
#define CALOTYPE_CGIF_SHIM_H
#include <gif_lib.h>
#endif
