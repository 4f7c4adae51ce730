// libdeflate, for the shims that are written in C.
#ifndef CALOTYPE_LATE_DEFLATE_H
#define CALOTYPE_LATE_DEFLATE_H

// As those of CLateLibraries.h: NULL once libdeflate's functions may be called, else why they may not.
const char *calotype_load_deflate(void);

#endif
