import CGtk
import CalotypeGTK
import Foundation
import XCTest

/// What has run so far.
@MainActor
private final class Diary {
  var seen: Set<String> = []
}

final class MainLoopTests: DesktopTestCase {
  func testWhateverIsSentToTheMainThreadRuns() throws {
    try onMain {
      let diary = Diary()
      Task { diary.seen.insert("task") }
      Task {
        try await Task.sleep(for: .milliseconds(5))
        diary.seen.insert("sleep")
      }
      Task.detached { await MainActor.run { _ = diary.seen.insert("run") } }
      DispatchQueue.main.async { MainActor.assumeIsolated { _ = diary.seen.insert("async") } }
      DispatchQueue.main.asyncAfter(deadline: .now() + 0.005) {
        MainActor.assumeIsolated { _ = diary.seen.insert("after") }
      }
      OperationQueue.main.addOperation { MainActor.assumeIsolated { _ = diary.seen.insert("operation") } }
      DispatchQueue.global().async {
        DispatchQueue.main.sync {
          dispatchPrecondition(condition: .onQueue(.main))
          XCTAssertTrue(Thread.isMainThread)
          MainActor.assumeIsolated { _ = diary.seen.insert("sync") }
        }
      }
      try pump("all seven") { diary.seen.count == 7 }
    }
  }

  func testNothingTurnsWhileThereIsNothingToDo() {
    onMain {
      var isOver = false
      var turns = 0
      Task {}
      after(milliseconds: 200) {
        isOver = true
        return false
      }
      while !isOver {
        g_main_context_iteration(nil, 1)
        turns += 1
      }
      // A busy loop would turn many thousand times.
      XCTAssertLessThan(turns, 50)
    }
  }

  /// A dialog's own loop, opened by a task: what is sent to the main thread meanwhile closes the dialog.
  func testADialogOpenedFromATaskDoesNotStallTheQueue() throws {
    try onMain {
      var answer: String?
      Task {
        answer = await MainLoopBridge.outsideMainQueue {
          let loop = g_main_loop_new(nil, 0)
          defer { g_main_loop_unref(loop) }
          var said = "nobody said anything"
          Task {
            try? await Task.sleep(for: .milliseconds(1))
            said = "yes"
            g_main_loop_quit(loop)
          }
          let limit = after(milliseconds: 10_000) {
            g_main_loop_quit(loop)
            return false
          }
          g_main_loop_run(loop)
          if said == "yes" { limit.cancel() }
          return said
        }
      }
      try pump("the dialog's end") { answer != nil }
      XCTAssertEqual(answer, "yes")
    }
  }

  func testAHandlerMayRunALoopAsItIs() throws {
    try onMain {
      var isDone = false
      onIdle {
        let diary = Diary()
        DispatchQueue.main.async { MainActor.assumeIsolated { _ = diary.seen.insert("inside") } }
        while diary.seen.isEmpty { g_main_context_iteration(nil, 1) }
        isDone = true
      }
      try pump("the inner loop") { isDone }
    }
  }
}
