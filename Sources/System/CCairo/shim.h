#if defined(__linux__)
#include <cairo/cairo.h>
#else
#include <cairo.h>
#endif
