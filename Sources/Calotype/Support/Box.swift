/// A value behind a reference: copied by one word, and shared by all who hold it.
final class Box<Value: Sendable>: Sendable {
  let value: Value
  init(_ value: Value) { self.value = value }
}
