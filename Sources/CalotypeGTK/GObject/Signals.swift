package import CGtk

/// What a signal hands over: first the object that sends it, then the signal's own arguments.
package struct SignalArguments {
  fileprivate let values: UnsafeBufferPointer<GValue>

  /// The argument after the sender, counted from 0.
  private func pointer(_ index: Int) -> UnsafePointer<GValue>? {
    values.indices.contains(index + 1) ? values.baseAddress.map { $0 + index + 1 } : nil
  }

  package func int(_ index: Int) -> Int { pointer(index).map { Int(g_value_get_int($0)) } ?? 0 }
  package func uint(_ index: Int) -> Int { pointer(index).map { Int(g_value_get_uint($0)) } ?? 0 }
  package func double(_ index: Int) -> Double { pointer(index).map { g_value_get_double($0) } ?? 0 }
  package func flags(_ index: Int) -> UInt32 { pointer(index).map { g_value_get_flags($0) } ?? 0 }
  package func string(_ index: Int) -> String? {
    pointer(index).flatMap { g_value_get_string($0) }.map { String(cString: $0) }
  }
  /// An object, an interface's or a boxed value's address.
  package func address(_ index: Int) -> UnsafeMutableRawPointer? {
    pointer(index).flatMap { g_value_peek_pointer($0) }
  }
  /// The value itself, where none of the others is right.
  package func value(_ index: Int) -> UnsafePointer<GValue>? { pointer(index) }
}

/// A handler that is connected. Dropping it changes nothing: a handler goes with its object.
@MainActor
package struct SignalHandler {
  fileprivate let object: UnsafeMutableRawPointer
  fileprivate let identifier: gulong

  /// Ends it. The object must still be there.
  package func disconnect() { g_signal_handler_disconnect(object, identifier) }
  /// Keeps it from being called until ``unblock()``.
  package func block() { g_signal_handler_block(object, identifier) }
  package func unblock() { g_signal_handler_unblock(object, identifier) }
}

private final class HandlerBox {
  let body: @MainActor (SignalArguments) -> Bool
  init(_ body: @escaping @MainActor (SignalArguments) -> Bool) { self.body = body }
}

/// Connects a handler that answers, such as whether a key was used.
///
/// One closure type serves every signal: arguments come as GLib's values, so that a wrong guess about a
/// signal's arguments gives a wrong value and not a crash.
@MainActor
@discardableResult
package func connectAnswering(
  _ object: some GPointer, _ signal: String, after: Bool = false,
  _ body: @escaping @MainActor (SignalArguments) -> Bool
) -> SignalHandler {
  let box = Unmanaged.passRetained(HandlerBox(body)).toOpaque()
  let closure = g_closure_new_simple(guint(MemoryLayout<GClosure>.size), box)
  g_closure_add_finalize_notifier(closure, box) { data, _ in
    if let data { Unmanaged<HandlerBox>.fromOpaque(data).release() }
  }
  g_closure_set_marshal(closure) { closure, result, count, values, _, _ in
    guard let data = closure?.pointee.data else { return }
    nonisolated(unsafe) let box = Unmanaged<HandlerBox>.fromOpaque(data).takeUnretainedValue()
    nonisolated(unsafe) let arguments = SignalArguments(
      values: UnsafeBufferPointer(start: values, count: Int(count)))
    let answer = MainActor.assumeIsolated { box.body(arguments) }
    if let result, result.pointee.g_type == GTypes.boolean { g_value_set_boolean(result, answer ? 1 : 0) }
  }
  let address = object.address
  return SignalHandler(
    object: address, identifier: g_signal_connect_closure(address, signal, closure, after ? 1 : 0))
}

/// Connects a handler that wants the signal's arguments.
@MainActor
@discardableResult
package func connect(
  _ object: some GPointer, _ signal: String, after: Bool = false,
  _ body: @escaping @MainActor (SignalArguments) -> Void
) -> SignalHandler {
  connectAnswering(object, signal, after: after) { arguments in
    body(arguments)
    return false
  }
}

/// Connects a handler that wants nothing but the moment.
@MainActor
@discardableResult
package func connect(
  _ object: some GPointer, _ signal: String, after: Bool = false, _ body: @escaping @MainActor () -> Void
) -> SignalHandler {
  connectAnswering(object, signal, after: after) { _ in
    body()
    return false
  }
}
