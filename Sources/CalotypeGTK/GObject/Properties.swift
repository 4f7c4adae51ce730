package import CGtk

/// GLib's fundamental types, which its headers have only as macros.
package enum GTypes {
  package static let invalid = fundamental(0)
  package static let boolean = fundamental(5)
  package static let int = fundamental(6)
  package static let uint = fundamental(7)
  package static let double = fundamental(15)
  package static let string = fundamental(16)
  package static let object = fundamental(20)

  private static func fundamental(_ number: GType) -> GType { number << 2 }
}

/// What a property can be set to and read as.
package protocol GValueConvertible {
  /// The type of the value that holds it.
  static var gType: GType { get }
  /// Puts it into a value of that type.
  func store(in value: inout GValue)
  /// Takes it out of a value of that type.
  init(loading value: inout GValue)
}

extension Bool: GValueConvertible {
  package static var gType: GType { GTypes.boolean }
  package func store(in value: inout GValue) { g_value_set_boolean(&value, self ? 1 : 0) }
  package init(loading value: inout GValue) { self = g_value_get_boolean(&value) != 0 }
}

extension Int: GValueConvertible {
  package static var gType: GType { GTypes.int }
  package func store(in value: inout GValue) { g_value_set_int(&value, Int32(clamping: self)) }
  package init(loading value: inout GValue) { self = Int(g_value_get_int(&value)) }
}

extension Double: GValueConvertible {
  package static var gType: GType { GTypes.double }
  package func store(in value: inout GValue) { g_value_set_double(&value, self) }
  package init(loading value: inout GValue) { self = g_value_get_double(&value) }
}

extension String: GValueConvertible {
  package static var gType: GType { GTypes.string }
  package func store(in value: inout GValue) { g_value_set_string(&value, self) }
  package init(loading value: inout GValue) {
    self = g_value_get_string(&value).map { String(cString: $0) } ?? ""
  }
}

/// Sets a property. GLib brings the value to the property's own type where it can.
@MainActor
package func setProperty(_ object: some GPointer, _ name: String, to newValue: some GValueConvertible) {
  var value = GValue()
  g_value_init(&value, type(of: newValue).gType)
  newValue.store(in: &value)
  g_object_set_property(object.cast(), name, &value)
  g_value_unset(&value)
}

/// Reads a property, brought to the type asked for where GLib can.
@MainActor
package func property<Value: GValueConvertible>(
  _ object: some GPointer, _ name: String, as type: Value.Type = Value.self
) -> Value {
  var value = GValue()
  g_value_init(&value, Value.gType)
  g_object_get_property(object.cast(), name, &value)
  defer { g_value_unset(&value) }
  return Value(loading: &value)
}
