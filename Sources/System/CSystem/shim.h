// Parts of the C library that Swift's own module leaves out.
#include <getopt.h>
#include <sys/xattr.h>
