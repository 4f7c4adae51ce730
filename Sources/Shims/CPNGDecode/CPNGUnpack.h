// A PNG file whose picture data lies there unpacked: libdeflate unpacks all of it at once, in a third of the time
// that zlib takes to do so piece by piece, and libpng is given the same file with the data stored bare.
#ifndef CALOTYPE_CPNGUNPACK_H
#define CALOTYPE_CPNGUNPACK_H

#include <stddef.h>
#include <stdint.h>

typedef struct calotype_png_piece {
  const uint8_t *bytes;
  size_t count;
} calotype_png_piece;

typedef struct calotype_png_unpacked {
  // What the file consists of, one after the other.
  calotype_png_piece *pieces;
  size_t piece_count;
  // Owned: the rows, and what stands between them.
  uint8_t *rows;
  uint8_t *frames;
} calotype_png_unpacked;

// NULL where the file is better read as it is: it is large, damaged, cut, anything is out of the ordinary, or there
// is no libdeflate. Whatever is wrong with it is then for libpng to say. The bytes must outlive the answer.
calotype_png_unpacked *calotype_png_unpack(const uint8_t *bytes, size_t count);
void calotype_png_unpacked_destroy(calotype_png_unpacked *unpacked);

#endif
