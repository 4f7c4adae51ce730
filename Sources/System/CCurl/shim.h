// libcurl's variadic functions, one typed wrapper per argument type, since Swift imports none of them.
#ifndef CALOTYPE_CCURL_SHIM_H
#define CALOTYPE_CCURL_SHIM_H
#include <curl/curl.h>
#endif
