import Foundation
import TestSupport
import XCTest

@testable import CalotypeGTK

/// What a screen reader finds of a program, with all that is in it.
struct AccessibleNode: Decodable, Sendable {
  var role: String
  var name: String
  var description: String
  var states: [String]
  var text: String?
  var value: Double?
  var actions: [String]?
  var children: [AccessibleNode]?

  /// The tree of a program; of this one by default.
  @MainActor
  static func tree(of process: Int32 = getpid()) throws -> AccessibleNode {
    let output = try ask(process, ["tree"])
    return try JSONDecoder().decode(AccessibleNode.self, from: output)
  }

  /// Presses what has a role and a name.
  @MainActor
  static func press(_ role: String, _ name: String, in process: Int32 = getpid()) throws {
    _ = try ask(process, ["press", role, name])
  }

  @MainActor
  private static func ask(_ process: Int32, _ words: [String]) throws -> Data {
    let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("accessibility.py").path
    let environment = try DesktopTestCase.desktop.get().environment
    let result = try pump("the accessibility tree", seconds: 30) {
      // Debian's own Python is the one that has the bindings.
      try await runProcess("/usr/bin/python3", [script, "\(process)"] + words, environment: environment)
    }
    guard result.status == 0 else {
      throw DesktopTestCase.Failure(description: "accessibility.py \(words): \(result.errorText)")
    }
    return result.output
  }

  /// The first node of which something holds, itself or below.
  func first(where isWanted: (AccessibleNode) -> Bool) -> AccessibleNode? {
    if isWanted(self) { return self }
    for child in children ?? [] { if let found = child.first(where: isWanted) { return found } }
    return nil
  }
}
