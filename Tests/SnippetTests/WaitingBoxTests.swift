import Calotype
import Foundation
import TestSupport
import Testing

@Suite struct WaitingBoxTests {
  private let picture: [UInt8]
  private var half: Int { (picture.count + 1) / 2 }

  init() throws { picture = Array(try Picture.png(width: 200, height: 100)) }

  @Test func aKnownLengthShowsABarAndAPercentage() async throws {
    let gate = Gate()
    let (picture, half) = (picture, half)
    let server = try ScriptedServer { _ in
      [
        .head(200, [("Content-Length", "\(picture.count)")]), .body(Array(picture[..<half])), .wait(gate),
        .body(Array(picture[half...])),
      ]
    }
    let box = try Snippet("WaitingBox").start(server.url("/large.png").absoluteString)
    let waiting = await box.output(until: " 50 %")
    #expect(waiting.contains("large.png [###############---------------] \(half / 1024) KB, 50 %"))
    gate.open()
    let end = await box.end()
    #expect(end.status == 0)
    #expect(end.text.hasSuffix("\r\u{1B}[Klarge.png: 200×100, from the network\n"))
  }

  @Test func anUnknownLengthPulses() async throws {
    let gate = Gate()
    let (picture, half) = (picture, half)
    let server = try ScriptedServer { _ in
      [
        .head(200, [("Transfer-Encoding", "chunked")]), .chunk(Array(picture[..<half])), .wait(gate),
        .chunk(Array(picture[half...])), .lastChunk,
      ]
    }
    let box = try Snippet("WaitingBox").start(server.url("/large.png").absoluteString)
    // Twice, so that the bar is seen to move.
    let first = await box.output(until: "\(half / 1024) KB\r")
    let drawn = first.split(separator: "\r").map { $0.drop { $0 != "[" } }.filter { $0.contains("#####") }
    #expect(Set(drawn.map { $0.prefix { $0 != "]" } }).count >= 2)
    gate.open()
    let end = await box.end()
    #expect(end.status == 0)
    #expect(!end.text.contains("%"))
    #expect(end.text.hasSuffix("large.png: 200×100, from the network\n"))
  }

  @Test func anErrorEndsTheWaitWithItsMessage() async throws {
    let server = try ScriptedServer()
    let address = server.url("/none.png").absoluteString
    let end = await (try Snippet("WaitingBox").start(address)).end()
    #expect(end.status == 1)
    let last = try #require(end.text.split(separator: "\r").last)
    #expect(last.contains(address) && last.contains("404"), "\(last)")
  }

  @Test func interruptedItCancels() async throws {
    let (picture, half) = (picture, half)
    let server = try ScriptedServer { _ in
      [.head(200, [("Content-Length", "\(picture.count)")]), .body(Array(picture[..<half])), .hang]
    }
    let box = try Snippet("WaitingBox").start(server.url("/large.png").absoluteString)
    _ = await box.output(until: " 50 %")
    box.signal(SIGINT)
    let end = await box.end()
    #expect(end.status == 130)
    #expect(end.text.hasSuffix("\r\u{1B}[Kcancelled\n"))
    try await server.waitForClose()
  }
}
