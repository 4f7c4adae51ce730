import Foundation
import Testing

@testable import Calotype

/// A worker that lies, dies or hangs costs its picture a typed error, and the next picture nothing.
@Suite struct FakeWorkerTests {
  private let workers = IsolationFixture.fakeWorkers()
  private var decoder: IsolatedImageDecoder { IsolatedImageDecoder(.required, workers: workers) }

  private func expectTheNextWorks(_ decoder: IsolatedImageDecoder) {
    let next = decoder.result("red")
    #expect(next.value?.bitmap[0, 0] == Bitmap.Pixel(red: 255, green: 0, blue: 0), "\(next)")
  }

  /// The picture's sizes are checked before a byte of it is read.
  @Test(arguments: [
    "sized 0 1 0", "sized 1 0 0", "sized 100000 100000 0", "sized 4294967296 4294967296 0",
    "sized 4294967295 1 0", "sized 1 1 99999999", "sized 1 1 1099511627776", "sized 400 400 400000",
    "original 0 5", "info", "sequence", "hello", "cancelled", "noise 1", "noise 40", "noise 2000",
    "noise 5000",
    "wants-twice", "flood",
  ])
  func liesAreFoundOut(lie: String) async {
    let decoder = decoder
    let error = await onThread { decoder.result(lie).error }
    #expect(error?.code == "decoder_died", "\(lie): \(String(describing: error))")
    await onThread { expectTheNextWorks(decoder) }
  }

  /// Frames are checked as pictures are.
  @Test(arguments: [
    "frames 0 0 1", "frames 1 1 99999999999", "frames 100000 100000 1", "frames 500 400 5",
    "frames 1 1 2000000",
    "animation 1", "over-alpha", "info",
  ])
  func liesAboutFramesAreFoundOut(lie: String) async {
    let decoder = decoder
    let error = await onThread {
      Result { () throws(ImageDecodingError) in
        try decoder.frames(
          of: Data(lie.utf8), options: .init(), token: 1, first: 0, cancellation: CancellationFlag())
      }.error
    }
    #expect(error?.code == "decoder_died", "\(lie): \(String(describing: error))")
    await onThread { expectTheNextWorks(decoder) }
  }

  @Test(arguments: [
    "animation 0", "animation 1", "animation 1000000000", "animation 1099511627776", "over-alpha", "die 11",
  ])
  func liesAboutAnimationsAreFoundOut(lie: String) async {
    let decoder = decoder
    #expect(await onThread { decoder.animation(of: Data(lie.utf8)) == nil })
    await onThread { expectTheNextWorks(decoder) }
  }

  @Test func framesComeOver() async {
    let decoder = decoder
    let frames = await onThread {
      try? decoder.frames(
        of: Data("frames 3 2 4".utf8), options: .init(), token: 1, first: 0, cancellation: CancellationFlag())
    }
    #expect(frames?.map(\.size) == Array(repeating: PixelSize(width: 3, height: 2), count: 4))
  }

  /// A picture larger than was asked for is none, even where it fits.
  @Test func aPictureLargerThanItsTargetIsNone() async {
    let decoder = decoder
    let options = ImageDecodingOptions(targetSize: TargetSize(width: 2, height: 2))
    let error = await onThread { decoder.result(Data("sized 3 2 0".utf8), options: options).error }
    #expect(error?.code == "decoder_died")
    let small = await onThread { decoder.result(Data("sized 2 2 0".utf8), options: options).value }
    #expect(small?.bitmap.size == PixelSize(width: 2, height: 2))
  }

  /// A worker may ask for as much memory as the limits allow a picture, and no more.
  @Test func tooMuchMemoryIsRefused() async {
    let decoder = decoder
    let error = await onThread { decoder.result("wants 1099511627776").error }
    #expect(error?.code == "out_of_memory")
    await onThread { expectTheNextWorks(decoder) }
  }

  /// Colours over their alpha would break what comes after; they are brought down to it.
  @Test func pixelsAreMadeSound() async {
    let decoder = decoder
    let bitmap = await onThread { decoder.result("over-alpha").value?.bitmap }
    #expect(bitmap?[0, 0] == Bitmap.Pixel(red: 50, green: 50, blue: 50, alpha: 50))
    #expect(bitmap?.isOpaque == false, "the worker said that it is")
  }

  @Test func errorsComeOver() async {
    let decoder = decoder
    let error = await onThread { decoder.result("error").error }
    guard case .corrupt(.gif, let reason) = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(reason.utf8.count <= MessageReader.longestText)
  }

  @Test(arguments: [
    ("die 11", "signal 11"), ("die 9", "signal 9"), ("die 6", "signal 6"), ("leave 3", "status 3"),
    ("die 31", "forbids"), ("hang-up", ""),
  ])
  func deathsAreTold(death: String, text: String) async {
    let decoder = decoder
    let error = await onThread { decoder.result(death).error }
    guard case .decoderDied(let reason) = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(text.isEmpty || reason.contains(text), "\(reason)")
    await onThread { expectTheNextWorks(decoder) }
  }

  @Test func aPictureThatKilledIsNotTriedAgain() async {
    let decoder = decoder
    #expect(await onThread { decoder.result("die 11").error?.code } == "decoder_died")
    await onThread { expectTheNextWorks(decoder) }
    let pids = workers.idleProcessIdentifiers
    #expect(await onThread { decoder.result("die 11").error } == .decoderDiedBefore)
    #expect(await onThread { decoder.result("die 6").error?.code } == "decoder_died", "another picture is")
    #expect(!pids.isEmpty)
  }

  @Test func aKillerIsForgottenAfterItsTime() async {
    let decoder = IsolatedImageDecoder(
      .required, workers: IsolationFixture.fakeWorkers { $0.killerMemory = 0 })
    for _ in 0..<2 { #expect(await onThread { decoder.result("die 11").error?.code } == "decoder_died") }
  }

  @Test func aHungWorkerIsEndedAtTheDeadline() async {
    let decoder = IsolatedImageDecoder(.required, workers: IsolationFixture.fakeWorkers { $0.deadline = 0.1 })
    #expect(await onThread { decoder.result("hang").error } == .timedOut(seconds: 0.1))
    #expect(await onThread { decoder.result("hang").error } == .decoderDiedBefore)
    await onThread { expectTheNextWorks(decoder) }
  }

  @Test func aWorkerThatHeedsNoCancelIsEnded() async {
    let decoder = decoder, flag = CancellationFlag()
    async let error = onThread { decoder.result(Data("hang".utf8), cancellation: flag).error }
    flag.cancel()
    #expect(await error == .cancelled)
    await onThread { expectTheNextWorks(decoder) }
    let again = CancellationFlag()
    again.cancel()
    #expect(
      await onThread { decoder.result(Data("hang".utf8), cancellation: again).error } == .cancelled,
      "it is not remembered: it may be a good picture")
  }

  /// Descriptors that a worker sends go nowhere.
  @Test func descriptorsAreNotTaken() async throws {
    let decoder = decoder
    await onThread { expectTheNextWorks(decoder) }
    func count() throws -> Int { try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count }
    let before = try count()
    for _ in 0..<50 { _ = await onThread { decoder.result("descriptors") } }
    // Other tests' threads may open a few of their own.
    #expect(try count() < before + 40)
  }

  @Test func theSharedMemoryCannotBeShrunk() async {
    let decoder = decoder
    #expect(await onThread { decoder.result("shrink").value?.bitmap.size } == PixelSize(width: 1, height: 1))
  }

  // MARK: What is believed of an introduction

  @Test(arguments: [["0.0.1", "0", "0", "0", "0"], ["nonsense"]])
  func aStrangerIsNoWorker(introduction: [String]) async {
    let workers = IsolationFixture.fakeWorkers(introduction)
    let decoder = IsolatedImageDecoder(.required, workers: workers)
    #expect(await onThread { decoder.result("red").error?.code } == "isolation_unavailable")
    #expect(await onThread { !workers.status(for: .required).isIsolated })
  }

  @Test func withoutItsFilterAWorkerIsNotUsed() async throws {
    let workers = IsolationFixture.fakeWorkers([CalotypeVersion.string, "0", "0", "0", "\(ENOSYS)"])
    let reasons = Lock<[String]>([])
    let decoder = IsolatedImageDecoder(.whenAvailable, workers: workers) { reason in
      reasons.withLock { $0.append(reason) }
    }
    let picture = try DecodingFixtures.data("rgb.png")
    for _ in 0..<2 { #expect(await onThread { decoder.result(picture).value != nil }) }
    #expect(reasons.withLock { $0.count } == 1, "said once")
    #expect(reasons.withLock { $0.first?.contains("filter") } == true)
    #expect(decoder.decodesInProcess)
    let status = await onThread { workers.status(for: .whenAvailable) }
    #expect(!status.isIsolated && status.reason?.contains("filter") == true && status.holding.isEmpty)
    let required = IsolatedImageDecoder(.required, workers: workers)
    #expect(await onThread { required.result(picture).error?.code } == "isolation_unavailable")
  }

  /// Without one of the other layers it is used, and said, but not where all are required.
  @Test func withoutLandlockAWorkerIsUsedWhereItMay() async {
    let workers = IsolationFixture.fakeWorkers([CalotypeVersion.string, "0", "0", "\(EOPNOTSUPP)", "0"])
    let some = IsolatedImageDecoder(.whenAvailable, workers: workers)
    await onThread { expectTheNextWorks(some) }
    let status = await onThread { some.status }
    #expect(status.isIsolated && status.holding == [.privileges, .limits, .seccomp])
    #expect(status.summary.contains("no landlock"))
    let all = IsolatedImageDecoder(.required, workers: workers)
    #expect(await onThread { all.result("red").error?.code } == "isolation_unavailable")
    #expect(await onThread { all.status.reason?.contains("landlock") } == true)
  }
}
