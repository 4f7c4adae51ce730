// Packs the picture data of a PNG file that libpng has written bare: libdeflate packs all of it at once, as tightly as
// zlib and in a fraction of its time. The filters are libpng's.
#ifndef CALOTYPE_CPNGPACK_H
#define CALOTYPE_CPNGPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Whether a file with so many bytes of rows can be written bare and packed at the end.
bool calotype_png_may_pack(size_t size);

// Puts the packed file in the place of the bare one. Where there is no memory for it, or the file is not as expected,
// the bare one stays, which is whole too.
void calotype_png_pack(uint8_t **bytes, size_t *count, int level);

#endif
