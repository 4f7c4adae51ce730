import Foundation
import Testing

/// Keeps the documentation's table of requirements and the tests together.
///
/// Run with `CALOTYPE_UPDATE_DOCUMENTATION=1` in the environment, it writes the table.
@Suite struct CachingRequirementsTests {
  private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
  private static let page = folder.appendingPathComponent(
    "../../../../Sources/Calotype/Calotype.docc/HTTPCaching.md"
  ).standardizedFileURL

  @Test func everyTestThatIsNamedExists() throws {
    var functions: Set<String> = []
    for file in try FileManager.default.contentsOfDirectory(at: Self.folder, includingPropertiesForKeys: nil)
    where file.pathExtension == "swift" {
      var suite = ""
      for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") {
        if let match = line.firstMatch(of: /struct (\w+)/) { suite = String(match.output.1) }
        if let match = line.firstMatch(of: /^ +(?:@Test )?func (\w+)/) {
          functions.insert("\(suite)/\(match.output.1)")
        }
      }
    }
    for requirement in CachingRequirement.all {
      #expect(!requirement.tests.isEmpty)
      for test in requirement.tests { #expect(functions.contains(test), "\(test)") }
    }
  }

  @Test func theDocumentationHoldsTheTable() throws {
    let text = Self.text()
    if ProcessInfo.processInfo.environment["CALOTYPE_UPDATE_DOCUMENTATION"] != nil {
      try FileManager.default.createDirectory(
        at: Self.page.deletingLastPathComponent(), withIntermediateDirectories: true)
      try text.write(to: Self.page, atomically: true, encoding: .utf8)
    }
    let stored = try? String(contentsOf: Self.page, encoding: .utf8)
    #expect(stored == text, "run this test with CALOTYPE_UPDATE_DOCUMENTATION=1 and look at what changes")
  }

  private static func text() -> String {
    var lines = [
      "# HTTP caching", "",
      "What the standards ask of a private cache, what Calotype does, and the tests that show it.", "",
      "## Overview", "",
      """
      The disk cache keeps to HTTP's own rules: RFC 9111 (caching), RFC 9110 (semantics), RFC 5861 (stale
      responses), RFC 8246 (immutable responses) and the Fetch standard's cache modes. Requirements for shared
      caches alone are left out. Where the standard allows several ways, the one is taken that asks the server
      once more, unless asking can do no good.
      """, "",
      "The table is made from the tests' own list by `CachingRequirementsTests`; do not edit it here.", "",
      "| Section | Level | Requirement | Calotype | Tests |", "|---|---|---|---|---|",
    ]
    for requirement in CachingRequirement.all {
      let section =
        requirement.section.first?.isNumber == true ? "RFC " + requirement.section : requirement.section
      let tests = requirement.tests.map { "`\($0)`" }.joined(separator: ", ")
      lines.append(
        "| \(section) | \(requirement.level.rawValue) | \(requirement.requirement) | \(requirement.behaviour) | \(tests) |"
      )
    }
    lines += ["", "## What is left out", ""] + leftOut.map { "- " + $0 } + [""]
    return lines.joined(separator: "\n")
  }

  private static let leftOut = [
    "The tags of other variants are not sent along (RFC 9111 §4.3.1 allows it): a server that gives two variants "
      + "one tag would have the wrong picture shown.",
    "A response chosen by one Accept-Language is not used for another request that its Content-Language would "
      + "satisfy: RFC 9111 §4.1 forbids it.",
    "A stored part without a strong tag is not completed: RFC 9111 §3.4 forbids joining it, so that asking for the "
      + "rest would be a request for nothing.",
    "Several ranges in one request pass through to the server.",
    "The cache modes `force-cache` and `only-if-cached`, and the freshness policies `immutable` and "
      + "`staleWhileRevalidate`, are a program's own wish, and go before what a response says of its staleness.",
  ]
}
