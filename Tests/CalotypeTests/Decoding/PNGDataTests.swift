import Foundation
import Testing

@testable import Calotype

/// A PNG's picture data are unpacked and packed whole where they are not large, in pieces where they are; nobody can
/// tell the difference.
@Suite struct PNGDataTests {
  private typealias Chunk = (type: Int, body: [UInt8])
  private static let dataType = 0x4944_4154

  private func chunks(of file: Data) throws -> [Chunk] {
    var chunks: [Chunk] = []
    try file.withUnsafeBytes { bytes in
      let view = ByteView(bytes)
      var at = 8
      while at < view.count {
        let length = try #require(view.uint32(at: at)), type = try #require(view.uint32(at: at + 4))
        chunks.append((type, Array(try #require(view.slice(at: at + 8, count: length)).bytes)))
        at += length + 12
      }
    }
    return chunks
  }

  private func file(_ chunks: [Chunk]) -> Data {
    var file: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
    for chunk in chunks { PNGChunk.append(chunk.type, chunk.body, to: &file) }
    return Data(file)
  }

  private func png(width: Int = 40, height: Int = 30) throws -> (file: Data, picture: Bitmap) {
    let picture = try noise(width: width, height: height, isOpaque: false)
    let file = try ImageEncoder().encode(picture, options: .init(format: .png, effort: .fast))
    return (file, try ImageDecoder().decode(file).bitmap)
  }

  /// Of sizes on both sides of the limit of 4 MB, and of those that fill the blocks they are stored in.
  @Test(arguments: [(1, 1), (127, 129), (128, 128), (255, 257), (1023, 1025), (1100, 1000)])
  func whatIsWrittenIsReadBack(width: Int, height: Int) throws {
    let picture = try noise(width: width, height: height, isOpaque: true)
    let file = try ImageEncoder().encode(picture, options: .init(format: .png, effort: .fast))
    #expect(try ImageDecoder().decode(file).bitmap == picture)
  }

  @Test(arguments: [ImageEncodingOptions.Effort.fast, .balanced, .small])
  func whatIsWrittenIsPacked(effort: ImageEncodingOptions.Effort) throws {
    let picture = try bitmap(width: 200, height: 200) { x, y in
      .init(red: UInt8(x), green: UInt8(y), blue: UInt8(x ^ y))
    }
    let file = try ImageEncoder().encode(picture, options: .init(format: .png, effort: effort))
    #expect(file.count < 200 * 200)
    #expect(try ImageDecoder().decode(file).bitmap == picture)
  }

  @Test(arguments: [1, 7, 1000])
  func dataInManyChunksReadTheSame(length: Int) throws {
    let (whole, picture) = try png()
    let split = try chunks(of: whole).flatMap { chunk -> [Chunk] in
      guard chunk.type == Self.dataType else { return [chunk] }
      return stride(from: 0, to: chunk.body.count, by: length).map {
        (chunk.type, Array(chunk.body[$0..<min($0 + length, chunk.body.count)]))
      }
    }
    #expect(split.count > 3)
    #expect(try ImageDecoder().decode(file(split)).bitmap == picture)
  }

  /// An empty chunk among the data, and one behind the last byte that counts, are allowed.
  @Test func emptyChunksReadTheSame() throws {
    let (whole, picture) = try png()
    var parts = try chunks(of: whole)
    let at = try #require(parts.firstIndex { $0.type == Self.dataType })
    parts.insert((Self.dataType, []), at: at)
    #expect(try ImageDecoder().decode(file(parts)).bitmap == picture)
    parts.insert((Self.dataType, []), at: at + 2)
    #expect(try ImageDecoder().decode(file(parts)).bitmap == picture)
  }

  @Test func everyDamagedByteOfTheDataIsFound() throws {
    let (whole, _) = try png(width: 9, height: 7)
    let start = try #require(whole.firstRange(of: Data("IDAT".utf8))).upperBound
    let end = try #require(whole.firstRange(of: Data("IEND".utf8))).lowerBound - 4
    for at in start..<end {
      var damaged = whole
      damaged[at] ^= 0x10
      #expect(throws: ImageDecodingError.self, "byte \(at)") { try ImageDecoder().decode(damaged) }
    }
  }

  /// Fewer rows than the header promises, with checksums that are right.
  @Test func dataThatEndEarlyAreFound() throws {
    let parts = try chunks(of: png(width: 40, height: 30).file)
    let other = try chunks(of: png(width: 40, height: 29).file)
    let short = parts.map { part in
      part.type == Self.dataType ? other.first { $0.type == Self.dataType } ?? part : part
    }
    #expect(throws: ImageDecodingError.self) { try ImageDecoder().decode(file(short)) }
  }
}
