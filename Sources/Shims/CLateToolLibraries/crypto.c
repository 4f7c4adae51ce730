#include "CLateToolLibraries.h"
#include "late_library.h"

#define NAMES(X) X(SHA256)

LATE_LIBRARY(calotype_load_crypto, NAMES, "libcrypto.so.3")
