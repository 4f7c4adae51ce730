// The two GObject classes that CalotypeGTK needs of its own. Everything that they do is done by functions that
// are handed in; here is only what a GObject class cannot be without.
#ifndef CALOTYPE_CGTKOBJECTS_H
#define CALOTYPE_CGTKOBJECTS_H

#include <gtk/gtk.h>

// A widget without children that is measured and drawn by its owner.
typedef struct {
  void (*measure)(void *owner, GtkOrientation orientation, int for_size, int *minimum, int *natural);
  void (*allocate)(void *owner, int width, int height);
  void (*snapshot)(void *owner, GtkSnapshot *snapshot);
} CalotypeDrawingFunctions;

// The functions must live as long as the program.
GtkWidget *calotype_drawing_new(
  const char *css_name, GtkAccessibleRole role, const CalotypeDrawingFunctions *functions, void *owner);
// Nothing is called any more once the owner is NULL.
void calotype_drawing_set_owner(GtkWidget *widget, void *owner);

// A list of so many items that are made when they are asked for: a place in the list is all that they are.
GListModel *calotype_list_model_new(guint count);
// Tells that at a position some were taken away and some put in their place.
void calotype_list_model_splice(GListModel *model, guint position, guint removed, guint added);

#endif
