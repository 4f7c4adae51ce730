// Parts of the C library that Swift's own module leaves out.
#include <getopt.h>
#include <sys/xattr.h>
#ifdef __linux__
#include <malloc.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#endif
