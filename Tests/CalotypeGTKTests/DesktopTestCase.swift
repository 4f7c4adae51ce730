import CGtk
import Calotype
import CalotypeGTK
import Foundation
import TestSupport
import XCTest

/// A test of what is on a screen. It runs on the main thread, where GTK is at home, and lets GLib's loop run
/// while it waits.
class DesktopTestCase: XCTestCase {
  /// One screen serves all tests of the process: GTK cannot change its screen.
  static let desktop = Result { () throws -> DesktopSession in
    let desktop = try DesktopSession()
    desktop.adopt()
    return desktop
  }

  override func setUpWithError() throws {
    continueAfterFailure = false
    _ = try Self.desktop.get()
    try onMain {
      guard gtk_init_check() != 0 else { throw Failure(description: "GTK finds no screen") }
      MainLoopBridge.start()
    }
  }

  struct Failure: Error, CustomStringConvertible { let description: String }

  func onMain<Value>(_ body: @MainActor () throws -> Value) rethrows -> Value {
    nonisolated(unsafe) var result: Value?
    try MainActor.assumeIsolated { result = try body() }
    return result!
  }
}

/// Lets the loop run until something holds.
@MainActor
func pump(
  _ what: String, seconds: Double = 20, file: StaticString = #filePath, line: UInt = #line,
  until isMet: @MainActor () -> Bool
) throws {
  var isLate = false
  let limit = after(milliseconds: Int(seconds * 1000)) {
    isLate = true
    return false
  }
  // What is asked may come from elsewhere, such as another program, and then nothing here wakes the loop.
  let look = after(milliseconds: 20) { true }
  defer { look.cancel() }
  while !isMet() {
    guard !isLate else {
      XCTFail("waited \(seconds) s for \(what)", file: file, line: line)
      throw DesktopTestCase.Failure(description: "waited for \(what)")
    }
    g_main_context_iteration(nil, 1)
  }
  if !isLate { limit.cancel() }
}

/// Lets the loop run until a task has ended, and gives what it gave.
@MainActor
func pump<Value: Sendable>(
  _ what: String, seconds: Double = 20, file: StaticString = #filePath, line: UInt = #line,
  for body: @escaping @Sendable () async throws -> Value
) throws -> Value {
  let result = Lock<Result<Value, any Error>?>(nil)
  Task {
    let ended: Result<Value, any Error>
    do { ended = .success(try await body()) } catch { ended = .failure(error) }
    result.withLock { $0 = ended }
    await MainActor.run {}
  }
  try pump(what, seconds: seconds, file: file, line: line) { result.withLock { $0 != nil } }
  return try result.withLock { $0 }!.get()
}
