#include <gtk/gtk.h>
#include <glib-unix.h>
#include <libintl.h>

// libdispatch exports these two for whoever runs the main thread's event loop in its place, and Foundation's own
// run loop uses them, but no public header has them.
extern int _dispatch_get_main_queue_handle_4CF(void);
extern void _dispatch_main_queue_callback_4CF(void *ignored);
