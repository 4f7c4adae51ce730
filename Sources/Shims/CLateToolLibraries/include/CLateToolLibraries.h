// The libraries that only some of the tool's commands need.
#ifndef CALOTYPE_CLATETOOLLIBRARIES_H
#define CALOTYPE_CLATETOOLLIBRARIES_H

// Each makes a library's functions callable and gives NULL, or says why it cannot; it comes before any of them.
const char *_Nullable calotype_load_cairo(void);
const char *_Nullable calotype_load_crypto(void);

#endif
