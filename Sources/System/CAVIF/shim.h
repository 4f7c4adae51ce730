#ifndef CALOTYPE_CAVIF_SHIM_H
#define CALOTYPE_CAVIF_SHIM_H
#include <avif/avif.h>
#endif
