import Foundation
import Testing

import func TestSupport.runProcess

@testable import Calotype

/// What a worker that was taken over can do: nothing.
@Suite(.enabled(if: IsolationFixture.isSandboxOn, "the sandbox is off in builds with a sanitizer"))
struct SandboxTests {
  private let all = Int(DecodingWorkerProcess.allLayers)
  private static let privileges = 1, limits = 2, landlock = 4, seccomp = 8

  /// What came of an attempt: 0 where it succeeded, an error's number, or 128 and the signal that ended it.
  private func attempt(_ what: String, _ layers: Int) async throws -> Int32 {
    let result = try await runProcess(
      IsolationFixture.helper("sandbox-probe"), ["\(layers)", what],
      environment: ["SWIFT_BACKTRACE": "enable=no"])
    #expect(result.text == "", "a layer does not hold: \(result.text)")
    return result.status
  }

  @Test func everyLayerHoldsHere() async throws {
    #expect(try await attempt("nothing", all) == 0)
  }

  /// Forbidden system calls end the process before they do anything.
  @Test(arguments: [
    "open", "create", "list", "unlink", "socket", "socketpair", "execute", "fork", "thread", "trace", "kill",
    "tgkill", "run-memory", "make-runnable", "large-file", "raise-limit", "mount", "bpf", "ring",
  ])
  func theFilterEnds(what: String) async throws {
    for layers in [all, Self.seccomp | Self.privileges] {
      #expect(try await attempt(what, layers) == 128 + SIGSYS, "\(what) with the layers \(layers)")
    }
  }

  /// A path cannot even be asked about.
  @Test func pathsCannotBeLookedAt() async throws {
    #expect(try await attempt("stat", all) == EPERM)
    #expect(try await attempt("stat", Self.landlock | Self.privileges) == 0, "it is the filter that answers")
  }

  /// Should the filter have a hole, there are still no files.
  @Test(arguments: ["open", "create", "list", "execute"])
  func withoutTheFilterThereAreStillNoFiles(what: String) async throws {
    #expect(try await attempt(what, all & ~Self.seccomp) == EACCES)
    #expect(try await attempt(what == "create" ? "open" : what, 0) == 0, "without a sandbox it works")
  }

  @Test func memoryHasALimit() async throws {
    #expect(try await attempt("memory", Self.limits) == ENOMEM)
    #expect(try await attempt("memory", all) == ENOMEM)
  }

  @Test func filesHaveALimit() async throws {
    #expect(try await attempt("large-file", Self.limits) == 128 + SIGXFSZ)
  }

  @Test func nothingCanBeDumpedOrGained() async throws {
    #expect(try await attempt("dumpable", Self.privileges) == EPERM)
    #expect(try await attempt("privileges", Self.privileges) == EPERM)
  }

  /// A crash is told as what it is.
  @Test func crashesKeepTheirSignals() async throws {
    #expect(try await attempt("crash", all) == 128 + SIGSEGV)
    #expect(try await attempt("abort", all) == 128 + SIGABRT)
  }
}
