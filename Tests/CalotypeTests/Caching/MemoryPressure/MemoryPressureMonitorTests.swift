import Foundation
import Testing

@testable import Calotype

/// A source that a test makes ready.
private final class PipeSource: MemoryPressureWatching {
  let source = MemoryPressureMonitor.Source.pressureStall(path: "a pipe")
  let descriptor: Int32
  let pollEvents = Int16(POLLIN)
  private let looks: Recorder<UInt8?>

  init(descriptor: Int32, looks: Recorder<UInt8?>) {
    self.descriptor = descriptor
    self.looks = looks
  }

  deinit { close(descriptor) }

  /// "!" means that memory is short, all else does not.
  func takeEvent() -> Bool {
    var byte: UInt8 = 0
    let news = read(descriptor, &byte, 1) == 1 ? byte : nil
    looks.record(news)
    return news == UInt8(ascii: "!")
  }
}

/// A monitor with one source, whose writing end is in the test's hands.
private struct Rig {
  let monitor: MemoryPressureMonitor
  let ends: (read: Int32, write: Int32)
  let looks = Recorder<UInt8?>()

  init(interval: Int32) {
    var ends: [Int32] = [-1, -1]
    _ = pipe(&ends)
    let (reader, looks) = (ends[0], looks)
    monitor = MemoryPressureMonitor(interval: interval) { [PipeSource(descriptor: reader, looks: looks)] }
    self.ends = (ends[0], ends[1])
  }

  func say(_ text: String) { _ = write(ends.write, text, text.utf8.count) }
}

@Suite struct MemoryPressureMonitorTests {
  @Test func whoObservesIsToldOfEachEvent() async {
    let rig = Rig(interval: 0)
    let (events, teller) = AsyncStream.makeStream(of: Void.self)
    let observation = rig.monitor.observe { teller.yield() }
    var told = events.makeAsyncIterator()
    for _ in 0..<3 {
      rig.say("-!")
      await told.next()
    }
    await rig.monitor.stop()
    teller.finish()
    // Told thrice, and never of what does not mean that memory is short.
    #expect(await told.next() == nil)
    withExtendedLifetime(observation) {}
    close(rig.ends.write)
  }

  @Test func betweenTwoWarningsThereIsTime() async {
    let rig = Rig(interval: 3_600_000)
    let (events, teller) = AsyncStream.makeStream(of: Void.self)
    let count = Recorder<Int>()
    let observation = rig.monitor.observe {
      count.record(1)
      teller.yield()
    }
    var told = events.makeAsyncIterator()
    rig.say("!!!")
    rig.monitor.warn()
    await told.next()
    rig.say("!!!")
    rig.monitor.warn()
    // The thread rests, and wakes for its end all the same.
    await rig.monitor.stop()
    #expect(count.all.count == 1)
    withExtendedLifetime(observation) {}
    close(rig.ends.write)
  }

  @Test func aProgramsOwnWordCounts() async {
    let rig = Rig(interval: 0)
    let (events, teller) = AsyncStream.makeStream(of: Void.self)
    let observation = rig.monitor.observe { teller.yield() }
    var told = events.makeAsyncIterator()
    rig.monitor.warn()
    await told.next()
    #expect(rig.monitor.sources == [.pressureStall(path: "a pipe")])
    await rig.monitor.stop()
    withExtendedLifetime(observation) {}
    close(rig.ends.write)
  }

  @Test func whoHasGoneIsNotTold() async {
    let rig = Rig(interval: 0)
    let (events, teller) = AsyncStream.makeStream(of: Void.self)
    let gone = Recorder<Int>()
    var dropped: MemoryPressureMonitor.Observation? = rig.monitor.observe { gone.record(1) }
    let observation = rig.monitor.observe { teller.yield() }
    withExtendedLifetime(dropped) {}
    dropped = nil
    var told = events.makeAsyncIterator()
    rig.say("!")
    await told.next()
    await rig.monitor.stop()
    #expect(gone.all.isEmpty)
    withExtendedLifetime(observation) {}
    close(rig.ends.write)
  }

  @Test func aBrokenSourceIsLeftAlone() async {
    let rig = Rig(interval: 0)
    let (events, teller) = AsyncStream.makeStream(of: Void.self)
    let observation = rig.monitor.observe { teller.yield() }
    var told = events.makeAsyncIterator()
    // The reader sees the end of the pipe, as of a control group that has been removed.
    close(rig.ends.write)
    rig.monitor.warn()
    await told.next()
    for _ in 0..<5 {
      rig.monitor.warn()
      await told.next()
    }
    await rig.monitor.stop()
    // It is ready for ever: looking at it again and again would keep a processor busy.
    #expect(rig.looks.all == [nil])
    withExtendedLifetime(observation) {}
  }

  @Test func aMonitorWithoutSourcesSaysSo() {
    #expect(MemoryPressureMonitor { [] }.sources.isEmpty)
  }
}
