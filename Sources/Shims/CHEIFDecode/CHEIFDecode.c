#include "CHEIFDecode.h"

// libheif has libde265 start a thread for each picture, whatever number of threads it is told to use. A sandboxed
// worker may start none and would be ended for it, and elsewhere a codec is to keep to its caller's thread. This stands
// in for libde265's own, as a program's symbols go before those of its libraries; without threads libde265 decodes
// where it is called.
int de265_start_worker_threads(void *context, int count) {
  (void)context;
  (void)count;
  return 0;  // DE265_OK
}
