internal import CGtk
internal import Calotype

extension RemotePicture {
  /// Tells assistive technology what is shown and what goes on.
  func describe() {
    var description = accessibleDescription
    func putBefore(_ text: String) { description = description.isEmpty ? text : "\(text). \(description)" }
    var isBusy = false
    if case .failed(let error) = picture {
      let texts = WidgetTexts.current
      putBefore("\(texts.failed): \(Escaping.displaySafe(error.message)). \(texts.tryAgain)")
    } else if texture == nil, loading?.isLoading == true {
      isBusy = true
      putBefore(WidgetTexts.current.loading)
    }
    // Each telling goes to the session's bus; in a list it would go there for every row that passes.
    let accessible = widget.opaque
    if told?.name != accessibleName || told?.description != description {
      setAccessible(accessible, label: accessibleName, description: description)
    }
    if isBusy != (told?.isBusy ?? false) { setAccessible(accessible, busy: isBusy) }
    told = (accessibleName, description, isBusy)
  }

  /// Makes a failed picture something that can be clicked and reached by the keyboard, and no other.
  func offerRetry() {
    let error: ImagePipeline.Error? = if case .failed(let error) = picture { error } else { nil }
    guard error != nil || hasRetryControls else { return }
    if !hasRetryControls { addRetryControls() }
    gtk_widget_set_focusable(widget, error != nil ? 1 : 0)
    gtk_widget_set_cursor_from_name(widget, error != nil ? "pointer" : nil)
    let texts = WidgetTexts.current
    let tip = error.map { "\(texts.failed): \(Escaping.displaySafe($0.message))\n\(texts.tryAgain)" }
    gtk_widget_set_tooltip_text(widget, tip)
  }

  private func addRetryControls() {
    hasRetryControls = true
    let click = gtk_gesture_click_new()!
    connect(click, "pressed") { [weak self] in
      guard let self, picture.hasFailed else { return }
      // Otherwise a row would take the click for its own.
      gtk_gesture_set_state(click, GTK_EVENT_SEQUENCE_CLAIMED)
      retry()
    }
    gtk_widget_add_controller(widget, click)
    let keys = gtk_event_controller_key_new()!
    connectAnswering(keys, "key-pressed") { [weak self] arguments in
      let enterAndSpace = [GDK_KEY_Return, GDK_KEY_KP_Enter, GDK_KEY_space].map { Int($0) }
      guard let self, picture.hasFailed, enterAndSpace.contains(arguments.uint(0)) else { return false }
      retry()
      return true
    }
    gtk_widget_add_controller(widget, keys)
  }
}

/// Names and describes something for assistive technology.
@MainActor
package func setAccessible(_ accessible: OpaquePointer, label: String?, description: String? = nil) {
  for (property, text) in [
    (GTK_ACCESSIBLE_PROPERTY_LABEL, label), (GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, description),
  ] {
    guard let text else { continue }
    var (kind, value) = (property, GValue())
    gtk_accessible_property_init_value(property, &value)
    g_value_set_string(&value, text)
    gtk_accessible_update_property_value(accessible, 1, &kind, &value)
    g_value_unset(&value)
  }
}

/// Says that something is at work, or no longer.
@MainActor
package func setAccessible(_ accessible: OpaquePointer, busy: Bool) {
  var (kind, value) = (GTK_ACCESSIBLE_STATE_BUSY, GValue())
  gtk_accessible_state_init_value(kind, &value)
  g_value_set_boolean(&value, busy ? 1 : 0)
  gtk_accessible_update_state_value(accessible, 1, &kind, &value)
  g_value_unset(&value)
}
