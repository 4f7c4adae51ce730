#ifndef CALOTYPE_CHEIF_SHIM_H
#define CALOTYPE_CHEIF_SHIM_H
#include <libheif/heif.h>
#endif
