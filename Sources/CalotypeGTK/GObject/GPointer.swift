package import CGtk

/// A pointer to a GObject, whether Swift knows the type behind it or not.
///
/// GTK's widgets come as typed pointers where their structure is public (`GtkWidget`, `GtkWindow`) and as
/// opaque ones where it is private (`GtkLabel`, `GtkListView`); functions that take any object take both.
package protocol GPointer {
  /// The address.
  var address: UnsafeMutableRawPointer { get }
}

extension UnsafeMutablePointer: GPointer {
  package var address: UnsafeMutableRawPointer { UnsafeMutableRawPointer(self) }
}

extension UnsafeMutableRawPointer: GPointer {
  package var address: UnsafeMutableRawPointer { self }
}

extension OpaquePointer: GPointer {
  package var address: UnsafeMutableRawPointer { UnsafeMutableRawPointer(self) }
}

extension GPointer {
  /// The same object as a pointer to a structure that it begins with. Nothing checks that it does.
  package func cast<Structure>(to type: Structure.Type = Structure.self) -> UnsafeMutablePointer<Structure> {
    address.assumingMemoryBound(to: type)
  }

  /// The same object as a widget.
  package var asWidget: UnsafeMutablePointer<GtkWidget> { cast() }

  /// The same object where GTK keeps the structure to itself.
  package var opaque: OpaquePointer { OpaquePointer(address) }
}
