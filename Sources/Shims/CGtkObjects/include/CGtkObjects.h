// The two GObject classes that CalotypeGTK needs of its own. Everything that they do is done by functions that
// are handed in; here is only what a GObject class cannot be without.
#ifndef CALOTYPE_CGTKOBJECTS_H
#define CALOTYPE_CGTKOBJECTS_H

// GTK's own types are left out: Swift would take what this header includes for something other than what its GTK
// module has. Pointers are to GtkWidget, GtkSnapshot and GListModel.

// A widget without children that is measured and drawn by its owner.
typedef struct {
  void (*measure)(void *owner, int is_horizontal, int for_size, int *minimum, int *natural);
  void (*allocate)(void *owner, int width, int height);
  void (*snapshot)(void *owner, void *snapshot);
} CalotypeDrawingFunctions;

// The functions must live as long as the program.
void *calotype_drawing_new(
  const char *css_name, int role, const CalotypeDrawingFunctions *functions, void *owner);
// Nothing is called any more once the owner is NULL.
void calotype_drawing_set_owner(void *widget, void *owner);

// A list of so many items that are made when they are asked for: a place in the list is all that they are.
void *calotype_list_model_new(unsigned count);
// Tells that at a position some were taken away and some put in their place.
void calotype_list_model_splice(void *model, unsigned position, unsigned removed, unsigned added);

#endif
