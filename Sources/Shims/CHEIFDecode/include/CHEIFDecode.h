// Keeps libheif on one thread: see CHEIFDecode.c.
#ifndef CALOTYPE_CHEIFDECODE_H
#define CALOTYPE_CHEIFDECODE_H

int de265_start_worker_threads(void *context, int count);

#endif
