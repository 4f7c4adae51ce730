// The library's own libraries that only some programs, and those not at once, need.
#ifndef CALOTYPE_CLATELIBRARIES_H
#define CALOTYPE_CLATELIBRARIES_H

// Each makes a library's functions callable and gives NULL, or says why it cannot; it comes before any of them.
const char *_Nullable calotype_load_avif(void);
const char *_Nullable calotype_load_curl(void);

#endif
