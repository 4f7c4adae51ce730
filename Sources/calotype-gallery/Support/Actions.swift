import CGtk
import CalotypeGTK

/// Actions with names, which menus, keys and buttons share. A window's and the application's differ in their prefix.
@MainActor
struct Actions {
  /// A `GActionMap`.
  let map: OpaquePointer

  /// Something that is done.
  @discardableResult
  func add(_ name: String, _ body: @escaping @MainActor () -> Void) -> OpaquePointer {
    let action = g_simple_action_new(name, nil)!
    connect(action, "activate") { body() }
    return put(action)
  }

  /// Something that is on or off.
  @discardableResult
  func add(_ name: String, isOn: Bool, _ body: @escaping @MainActor (Bool) -> Void) -> OpaquePointer {
    let action = g_simple_action_new_stateful(name, nil, g_variant_new_boolean(isOn ? 1 : 0))!
    connect(action, "change-state") { arguments in
      guard let value = arguments.value(0).flatMap({ g_value_get_variant($0) }) else { return }
      g_simple_action_set_state(action, value)
      body(g_variant_get_boolean(value) != 0)
    }
    return put(action)
  }

  /// One of several.
  @discardableResult
  func add(_ name: String, choice: String, _ body: @escaping @MainActor (String) -> Void) -> OpaquePointer {
    let type = g_variant_type_new("s")
    defer { g_variant_type_free(type) }
    let action = g_simple_action_new_stateful(name, type, g_variant_new_string(choice))!
    connect(action, "change-state") { arguments in
      guard let value = arguments.value(0).flatMap({ g_value_get_variant($0) }),
        let text = g_variant_get_string(value, nil)
      else { return }
      g_simple_action_set_state(action, value)
      body(String(cString: text))
    }
    return put(action)
  }

  private func put(_ action: OpaquePointer) -> OpaquePointer {
    g_action_map_add_action(map, action)
    // The map has it now.
    g_object_unref(action.address)
    return action
  }

  func enable(_ name: String, _ isEnabled: Bool) {
    if let action = g_action_map_lookup_action(map, name) {
      g_simple_action_set_enabled(action, isEnabled ? 1 : 0)
    }
  }

  /// Sets what an action of choice or of on and off says, as if it had been chosen.
  func change(_ name: String, to state: OpaquePointer?) {
    if let action = g_action_map_lookup_action(map, name) { g_action_change_state(action, state) }
  }
}

/// A menu, written as a list.
@MainActor
struct Menu {
  enum Entry {
    case item(String, action: String)
    case section(String?, [Entry])
  }

  static func model(_ entries: [Entry]) -> OpaquePointer {
    let menu = g_menu_new()!
    for entry in entries {
      switch entry {
      case .item(let text, let action): g_menu_append(menu, text, action)
      case .section(let title, let entries):
        let section = model(entries)
        g_menu_append_section(menu, title, section.cast())
        g_object_unref(section.address)
      }
    }
    return menu
  }

  /// A button that opens a menu.
  static func button(icon: String, name: String, _ entries: [Entry], isPrimary: Bool = false) -> Widget {
    let button = gtk_menu_button_new()!
    gtk_menu_button_set_icon_name(button.opaque, icon)
    let menu = model(entries)
    gtk_menu_button_set_menu_model(button.opaque, menu.cast())
    g_object_unref(menu.address)
    gtk_menu_button_set_primary(button.opaque, isPrimary ? 1 : 0)
    gtk_widget_set_tooltip_text(button, name)
    setAccessible(button.opaque, label: name)
    return button
  }
}
