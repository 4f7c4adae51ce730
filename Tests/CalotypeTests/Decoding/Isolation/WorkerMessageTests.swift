import Foundation
import Testing

@testable import Calotype

/// The language of workers, both ways: whatever the bytes are, they are a message or none.
@Suite struct WorkerMessageTests {
  private static let requests: [WorkerRequest] = [
    .useInput(byteCount: 1 << 20), .useOutput(byteCount: 7), .refuseOutput,
    .decode(sequence: 7, byteCount: 99, options: ImageDecodingOptions()),
    .decode(
      sequence: .max, byteCount: 0,
      options: ImageDecodingOptions(
        targetSize: TargetSize(width: 48.5, height: 1e9, scale: 2, mode: .fill, allowsUpscaling: true),
        limits: .init(maximumPixelCount: 5))),
    .readAnimation(sequence: 4, byteCount: 1, limits: .init(maximumPixelCount: 1)),
    .decodeFrames(
      sequence: 5, byteCount: 2,
      options: ImageDecodingOptions(targetSize: TargetSize(width: 1, height: 2), isDeep: true), token: .max,
      first: 7),
    .preview(
      sequence: 6, byteCount: 3, limits: .init(maximumPixelCount: 4), token: 9,
      targets: [nil, TargetSize(width: 5, height: 6, mode: .fill)]),
    .preview(sequence: 6, byteCount: 3, limits: .init(), token: 9, targets: []),
    .inspect(sequence: 3, byteCount: 12, limits: .init(maximumPixelCount: 6, maximumSeconds: 0.5)),
  ]

  private static let errors: [ImageDecodingError] = [
    .empty, .unrecognized(looksLike: "HTML"), .unsupported(format: "SVG", reason: "it holds drawings"),
    .truncated(.webp), .corrupt(.gif, reason: "a\u{0}b é"),
    .limitExceeded(size: PixelSize(width: 0x7FFF_FFFF, height: 1), frames: 3, maximumPixelCount: 9),
    .invalidTargetSize(width: -1, height: 0.5), .outOfMemory(PixelSize(width: 4, height: 5)), .cancelled,
    .timedOut(seconds: 2.5),
  ]

  private static var replies: [WorkerReply] {
    var deep = WorkerPicture(
      size: PixelSize(width: 3, height: 4), offset: 64, isOpaque: false, format: .avif,
      originalSize: PixelSize(width: 300, height: 400), frameCount: 12)
    deep.deep = WorkerPicture.Deep(offset: 128, isOpaque: true, colorSpace: .displayP3)
    return [
      .picture(sequence: 4, deep), .frames(sequence: 5, size: PixelSize(width: 4, height: 5), count: 6),
      .animation(
        sequence: 6, ImageInfo(format: .gif, storedSize: PixelSize(width: 8, height: 9), frameCount: 7),
        delayCount: 7),
      .hello(WorkerHello(version: "1.2.3", layers: [0, -1, 38, 0])),
      .picture(
        sequence: 5,
        WorkerPicture(
          size: PixelSize(width: 3, height: 4), offset: 64, isOpaque: false, format: .avif,
          originalSize: PixelSize(width: 300, height: 400), frameCount: 12)),
      .info(
        sequence: 6,
        ImageInfo(
          format: .jpeg, storedSize: PixelSize(width: 8, height: 9), orientation: .leftMirrored,
          frameCount: 2,
          loopCount: 0, hasAlpha: true, bitsPerChannel: 16, profile: "Display P3")),
      .info(sequence: 6, ImageInfo(format: .png, storedSize: PixelSize(width: 8, height: 9))),
      .needsOutput(sequence: 8, byteCount: 1 << 30),
      .rows(sequence: 9, size: PixelSize(width: 5, height: 6), offset: 64, count: 3),
      .previews(sequence: 9, isHopeless: false, [deep, deep]), .previews(sequence: 9, isHopeless: true, []),
    ] + errors.map { .failure(sequence: 9, $0) }
  }

  private static func request(_ bytes: some Collection<UInt8>) -> WorkerRequest? {
    Array(bytes).withUnsafeBytes { WorkerRequest($0) }
  }

  private static func reply(_ bytes: some Collection<UInt8>) -> WorkerReply? {
    Array(bytes).withUnsafeBytes { WorkerReply($0) }
  }

  @Test func requestsComeOverWhole() {
    for request in Self.requests {
      #expect(Self.request(request.bytes) == request)
    }
  }

  @Test func repliesComeOverWhole() {
    for reply in Self.replies { #expect(Self.reply(reply.bytes) == reply) }
  }

  @Test func whatIsTooMuchIsBroughtIntoRange() throws {
    let huge = WorkerRequest.inspect(sequence: 1, byteCount: 1, limits: .init(maximumPixelCount: .max))
    let read = try #require(Self.request(huge.bytes))
    guard case .inspect(1, 1, let limits) = read else {
      Issue.record("\(read)")
      return
    }
    #expect(limits.maximumPixelCount == 1 << 40)
    let long = WorkerReply.failure(
      sequence: 1, .corrupt(.png, reason: String(repeating: "é", count: 4000)))
    #expect(long.bytes.count < WorkerMessageKind.largestMessage)
    #expect(Self.reply(long.bytes) != nil)
  }

  @Test func listsHaveTheirLimit() throws {
    let picture = WorkerPicture(
      size: PixelSize(width: 3, height: 4), offset: 64, isOpaque: false, format: .png,
      originalSize: PixelSize(width: 3, height: 4), frameCount: 1)
    let reply = WorkerReply.previews(sequence: 1, isHopeless: false, Array(repeating: picture, count: 20))
    #expect(reply.bytes.count < WorkerMessageKind.largestMessage)
    guard case .previews(1, false, let pictures) = Self.reply(reply.bytes) else {
      Issue.record("it cannot be read")
      return
    }
    #expect(pictures.count == MessageReader.longestList)
    let targets = Array(repeating: TargetSize(width: 1, height: 1) as TargetSize?, count: 20)
    let request = WorkerRequest.preview(
      sequence: 1, byteCount: 1, limits: .init(), token: 1, targets: targets)
    #expect(request.bytes.count < WorkerMessageKind.largestMessage)
    #expect(Self.request(request.bytes) != nil)
    var tooMany = WorkerReply.previews(sequence: 1, isHopeless: false, []).bytes
    tooMany[tooMany.count - 1] = UInt8(MessageReader.longestList + 1)
    #expect(Self.reply(tooMany) == nil)
  }

  @Test func aMessageCutShortOrTooLongIsNone() {
    for bytes in Self.requests.map(\.bytes) {
      for count in 0..<bytes.count { #expect(Self.request(bytes[..<count]) == nil) }
      #expect(Self.request(bytes + [0]) == nil)
    }
    for bytes in Self.replies.map(\.bytes) {
      for count in 0..<bytes.count { #expect(Self.reply(bytes[..<count]) == nil) }
      #expect(Self.reply(bytes + [0]) == nil)
    }
  }

  /// Neither direction's messages are ever taken for the other's.
  @Test func theDirectionsAreApart() {
    for request in Self.requests { #expect(Self.reply(request.bytes) == nil) }
    for reply in Self.replies { #expect(Self.request(reply.bytes) == nil) }
  }

  @Test func changedMessagesAreNoneOrKeepToTheirBounds() {
    var random = SeededGenerator(seed: 5)
    for bytes in Self.replies.map(\.bytes) + Self.requests.map(\.bytes) {
      for _ in 0..<200 {
        var changed = bytes
        for _ in 0..<Int.random(in: 1...4, using: &random) {
          changed[Int.random(in: 0..<changed.count, using: &random)] = UInt8.random(
            in: 0...255, using: &random)
        }
        _ = Self.request(changed)
        guard let reply = Self.reply(changed) else { continue }
        if case .picture(_, let picture) = reply {
          #expect(picture.offset >= 0 && picture.offset <= 1 << 40)
          #expect(picture.size.width >= 0 && picture.size.width <= 1 << 32)
        }
      }
    }
  }

  @Test func killersAreRememberedForAWhile() {
    var table = KillerTable()
    table.note(Data("abc".utf8), until: 100)
    #expect(table.contains(Data("abc".utf8), now: 99))
    #expect(!table.contains(Data("abd".utf8), now: 99))
    #expect(!table.contains(Data("abc".utf8), now: 100))
    for number in 0..<1000 { table.note(Data("\(number)".utf8), until: 200) }
    #expect(!table.contains(Data("0".utf8), now: 150), "the oldest are forgotten")
    #expect(table.contains(Data("999".utf8), now: 150))
  }
}
