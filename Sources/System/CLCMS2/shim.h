#ifndef CALOTYPE_CLCMS2_SHIM_H
#define CALOTYPE_CLCMS2_SHIM_H
#include <lcms2.h>
#endif
