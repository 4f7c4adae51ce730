import Foundation
import TestSupport
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
    "wants-twice", "flood", "rows 3 3 0 4", "rows 3 3 0 0", "rows 3 3 0 2 2", "rows 3 3 0 2 1",
    "red svg", "red png", "rows 3 3 1099511627776 1", "rows 100000 100000 0 1", "rows 0 3 0 1",
    "rows-of-two",
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
          of: IsolationFixture.order(lie), options: .init(), token: 1, first: 0,
          cancellation: CancellationFlag())
      }.error
    }
    #expect(error?.code == "decoder_died", "\(lie): \(String(describing: error))")
    await onThread { expectTheNextWorks(decoder) }
  }

  @Test(arguments: [
    "animation 0", "animation 1", "animation 2 svg", "animation 1000000000", "animation 1099511627776",
    "over-alpha", "die 11",
  ])
  func liesAboutAnimationsAreFoundOut(lie: String) async {
    let decoder = decoder
    #expect(await onThread { decoder.animation(of: IsolationFixture.order(lie)) == nil })
    await onThread { expectTheNextWorks(decoder) }
  }

  @Test func framesComeOver() async {
    let decoder = decoder
    let frames = await onThread {
      try? decoder.frames(
        of: IsolationFixture.order("frames 3 2 4"), options: .init(), token: 1, first: 0,
        cancellation: CancellationFlag())
    }
    #expect(frames?.map(\.size) == Array(repeating: PixelSize(width: 3, height: 2), count: 4))
  }

  /// Rows that come before their picture are taken as they come.
  @Test func rowsComeOver() async {
    let decoder = decoder
    let size = PixelSize(width: 3, height: 9)
    #expect(await onThread { decoder.result("rows 3 9 64 2 7").value?.bitmap.size } == size)
    #expect(await onThread { decoder.result("rows 3 9 64 9").value?.bitmap.size } == size)
    let another = await onThread { decoder.result("rows-of-another").value?.bitmap }
    #expect(another?.size == PixelSize(width: 1, height: 1))
    #expect(another?[0, 0] == Bitmap.Pixel(red: 255, green: 0, blue: 0))
  }

  /// Nor do rows come that nobody has asked for.
  @Test func noRowsComeOfAHeader() async {
    let decoder = decoder
    let code = await onThread {
      Result { () throws(ImageDecodingError) in try decoder.inspect(IsolationFixture.order("rows 3 3 0 1")) }
        .error?.code
    }
    #expect(code == "decoder_died")
  }

  /// A header is believed only where it is of the file's own format: what is stored is named by that.
  @Test func aHeaderOfAnotherFormatIsNone() async {
    let decoder = decoder
    func code(_ order: String) async -> String? {
      await onThread {
        Result { () throws(ImageDecodingError) in try decoder.inspect(IsolationFixture.order(order)) }
          .error?.code
      }
    }
    #expect(await code("info") == nil)
    #expect(await code("info svg") == "decoder_died")
    await onThread { expectTheNextWorks(decoder) }
  }

  /// A picture larger than was asked for is none, even where it fits.
  @Test func aPictureLargerThanItsTargetIsNone() async {
    let decoder = decoder
    let options = ImageDecodingOptions(targetSize: TargetSize(width: 2, height: 2))
    let error = await onThread {
      decoder.result(IsolationFixture.order("sized 3 2 0"), options: options).error
    }
    #expect(error?.code == "decoder_died")
    let small = await onThread {
      decoder.result(IsolationFixture.order("sized 2 2 0"), options: options).value
    }
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

  /// Whoever ends or stops a worker, a person or a system without memory, does not mean the picture.
  @Test(arguments: [SIGKILL, SIGTERM, SIGSTOP])
  func aWorkerEndedFromOutsideCostsNothing(signal: Int32) async throws {
    let folder = try TemporaryFolder()
    let decoder = decoder
    let result = await onThread { decoder.result("first \(folder.path)/done \(signal)") }
    #expect(result.value?.bitmap[0, 0] == Bitmap.Pixel(red: 255, green: 0, blue: 0), "\(result)")
    #expect(FileManager.default.fileExists(atPath: folder.path + "/done"), "it was not met the first time")
  }

  /// A crash is the picture's own, and is not tried again.
  @Test func aCrashIsNotForgiven() async throws {
    let folder = try TemporaryFolder()
    let decoder = decoder
    let text = "first \(folder.path)/done \(SIGSEGV)"
    #expect(await onThread { decoder.result(text).error?.code } == "decoder_died")
    #expect(await onThread { decoder.result(text).error } == .decoderDiedBefore)
  }

  /// A picture whose workers are ended from outside time and again may do it itself.
  @Test(arguments: ["die 9", "die 15", "die 19"])
  func theSecondEndFromOutsideIsThePictures(death: String) async {
    let decoder = decoder
    #expect(await onThread { decoder.result(death).error?.code } == "decoder_died")
    #expect(await onThread { decoder.result(death).error } == .decoderDiedBefore)
    await onThread { expectTheNextWorks(decoder) }
  }

  /// Workers that were killed while they had nothing to do cost nothing either, however many.
  @Test func idleWorkersThatWereKilledCostNothing() async {
    let decoder = decoder
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<4 { group.addTask { await onThread { expectTheNextWorks(decoder) } } }
    }
    for worker in workers.idleProcessIdentifiers {
      kill(worker, SIGKILL)
      // Until it has closed its connection.
      while let status = try? String(contentsOfFile: "/proc/\(worker)/stat", encoding: .utf8),
        !status.contains(") Z ")
      {
        await Task.yield()
      }
    }
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
    async let error = onThread { decoder.result(IsolationFixture.order("hang"), cancellation: flag).error }
    flag.cancel()
    #expect(await error == .cancelled)
    await onThread { expectTheNextWorks(decoder) }
    let again = CancellationFlag()
    again.cancel()
    #expect(
      await onThread { decoder.result(IsolationFixture.order("hang"), cancellation: again).error }
        == .cancelled,
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

/// A picture's rows, taken one part after the other.
@Suite struct IncomingPictureTests {
  private let size = PixelSize(width: 2, height: 3)

  /// Pixels of one value in a worker's memory.
  private func memory(_ pixel: UInt32) -> [UInt32] { [UInt32](repeating: pixel, count: size.pixelCount) }

  private func copy(_ count: Int, of memory: [UInt32], into picture: inout IncomingPicture) -> Bool {
    memory.withUnsafeBytes { picture.copy(rows: count, from: $0) }
  }

  /// What a worker changes after it was copied does not count; what has not been copied does.
  @Test func whatIsCopiedStays() throws {
    var picture = try IncomingPicture(size: size, offset: 0)
    let isCopied = copy(1, of: memory(0xFF00_0001), into: &picture)
    #expect(isCopied)
    let bitmap = memory(0xFF00_0002).withUnsafeBytes { picture.finish(from: $0, isOpaque: true) }
    #expect(bitmap.isOpaque)
    #expect((0..<3).map { bitmap[1, $0].red } == [1, 2, 2])
  }

  @Test func colorsAreBroughtDownToTheirAlphaInEveryPart() throws {
    var picture = try IncomingPicture(size: size, offset: 0)
    let isCopied = copy(2, of: memory(0x10FF_FFFF), into: &picture)
    #expect(isCopied)
    let bitmap = memory(0x10FF_FFFF).withUnsafeBytes { picture.finish(from: $0, isOpaque: true) }
    #expect(!bitmap.isOpaque, "the worker said that it is")
    for y in 0..<3 { #expect(bitmap[0, y] == Bitmap.Pixel(red: 16, green: 16, blue: 16, alpha: 16)) }
  }

  @Test func rowsThatAreNoneAreNotCopied() throws {
    var picture = try IncomingPicture(size: size, offset: 0)
    let tried = [0, 4, 2, 2, 1].map { copy($0, of: memory(.max), into: &picture) }
    #expect(tried == [false, false, true, false, false])
    let isCopied = copy(3, of: Array(memory(.max).dropLast()), into: &picture)
    #expect(!isCopied)
  }
}
