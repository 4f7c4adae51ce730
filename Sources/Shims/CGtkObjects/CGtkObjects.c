#include "CGtkObjects.h"

#include <gtk/gtk.h>

// MARK: The drawing

typedef struct {
  GtkWidget parent;
  const CalotypeDrawingFunctions *functions;
  void *owner;
} CalotypeDrawing;

typedef struct {
  GtkWidgetClass parent;
} CalotypeDrawingClass;

G_DEFINE_TYPE(CalotypeDrawing, calotype_drawing, GTK_TYPE_WIDGET)

static void calotype_drawing_measure(
  GtkWidget *widget, GtkOrientation orientation, int for_size, int *minimum, int *natural,
  int *minimum_baseline, int *natural_baseline) {
  CalotypeDrawing *self = (CalotypeDrawing *)widget;
  *minimum_baseline = *natural_baseline = -1;
  if (self->owner) {
    self->functions->measure(
      self->owner, orientation == GTK_ORIENTATION_HORIZONTAL, for_size, minimum, natural);
  }
}

static void calotype_drawing_allocate(GtkWidget *widget, int width, int height, int baseline) {
  CalotypeDrawing *self = (CalotypeDrawing *)widget;
  if (self->owner) self->functions->allocate(self->owner, width, height);
}

static void calotype_drawing_snapshot(GtkWidget *widget, GtkSnapshot *snapshot) {
  CalotypeDrawing *self = (CalotypeDrawing *)widget;
  if (self->owner) self->functions->snapshot(self->owner, snapshot);
}

static void calotype_drawing_class_init(CalotypeDrawingClass *class) {
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS(class);
  widget_class->measure = calotype_drawing_measure;
  widget_class->size_allocate = calotype_drawing_allocate;
  widget_class->snapshot = calotype_drawing_snapshot;
}

static void calotype_drawing_init(CalotypeDrawing *self) {}

void *calotype_drawing_new(
  const char *css_name, int role, const CalotypeDrawingFunctions *functions, void *owner) {
  CalotypeDrawing *self =
    g_object_new(calotype_drawing_get_type(), "css-name", css_name, "accessible-role", role, NULL);
  self->functions = functions;
  self->owner = owner;
  return self;
}

void calotype_drawing_set_owner(void *widget, void *owner) { ((CalotypeDrawing *)widget)->owner = owner; }

// MARK: The list model

typedef struct {
  GObject parent;
  guint count;
} CalotypeListModel;

typedef struct {
  GObjectClass parent;
} CalotypeListModelClass;

static void calotype_list_model_interface(GListModelInterface *interface);

G_DEFINE_TYPE_WITH_CODE(
  CalotypeListModel, calotype_list_model, G_TYPE_OBJECT,
  G_IMPLEMENT_INTERFACE(G_TYPE_LIST_MODEL, calotype_list_model_interface))

static GType calotype_list_model_item_type(GListModel *model) { return G_TYPE_OBJECT; }

static guint calotype_list_model_count(GListModel *model) { return ((CalotypeListModel *)model)->count; }

static gpointer calotype_list_model_item(GListModel *model, guint position) {
  return position < ((CalotypeListModel *)model)->count ? g_object_new(G_TYPE_OBJECT, NULL) : NULL;
}

static void calotype_list_model_interface(GListModelInterface *interface) {
  interface->get_item_type = calotype_list_model_item_type;
  interface->get_n_items = calotype_list_model_count;
  interface->get_item = calotype_list_model_item;
}

static void calotype_list_model_class_init(CalotypeListModelClass *class) {}
static void calotype_list_model_init(CalotypeListModel *self) {}

void *calotype_list_model_new(unsigned count) {
  CalotypeListModel *self = g_object_new(calotype_list_model_get_type(), NULL);
  self->count = count;
  return self;
}

void calotype_list_model_splice(void *model, unsigned position, unsigned removed, unsigned added) {
  CalotypeListModel *self = (CalotypeListModel *)model;
  self->count = self->count - removed + added;
  g_list_model_items_changed(model, position, removed, added);
}
