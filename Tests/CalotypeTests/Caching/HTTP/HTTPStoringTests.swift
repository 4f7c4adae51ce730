import Foundation
import Testing

@testable import Calotype

/// RFC 9111, section 3: what may be stored, and with what.
@Suite struct HTTPStoringTests {
  private static let now: Double = 1_800_000_000

  private func storage(
    _ headers: HTTPHeaders, status: Int = 200, method: String = "GET", request: HTTPHeaders = [],
    mode: ImageRequest.CachePolicy = .default, body: HTTPCachePolicy.ReceivedBody = .init(length: 3)
  ) throws -> HTTPCachePolicy.Storage {
    let url = try #require(URL(string: "HTTP://Example.test:80/a#b"))
    return HTTPCachePolicy().storage(
      of: HTTPResponseHead(url: url, status: status, headers: headers),
      for: HTTPRequest(method: method, url: url, headers: request), mode: mode, requestTime: Self.now,
      responseTime: Self.now + 1, body: body)
  }

  @Test(
    arguments: [
      ("GET", 200, [:], [:], nil), ("GET", 200, ["Cache-Control": "private"], [:], nil),
      ("GET", 200, ["Cache-Control": "private=\"a\""], ["Authorization": "x"], nil),
      ("HEAD", 200, [:], [:], .method), ("POST", 200, ["Cache-Control": "max-age=9"], [:], .method),
      ("PUT", 200, ["Cache-Control": "max-age=9"], [:], .method), ("get", 200, [:], [:], .method),
      ("GET", 304, ["Cache-Control": "max-age=9"], [:], .status),
      ("GET", 101, ["Cache-Control": "max-age=9"], [:], .status),
      ("GET", 599, ["Cache-Control": "max-age=9, must-understand"], [:], .status),
      ("GET", 200, ["Cache-Control": "no-store"], [:], .responseForbids),
      ("GET", 200, ["Cache-Control": "no-store, must-understand"], [:], nil),
      ("GET", 200, [:], ["Cache-Control": "no-store"], .requestForbids),
      ("GET", 201, [:], [:], .noPermission), ("GET", 302, [:], [:], .noPermission),
      ("GET", 500, [:], [:], .noPermission),
      ("GET", 201, ["Cache-Control": "s-maxage=9"], [:], .noPermission),
      ("GET", 201, ["Cache-Control": "public"], [:], nil),
      ("GET", 201, ["Cache-Control": "private"], [:], nil),
      ("GET", 201, ["Cache-Control": "max-age=9"], [:], nil),
      ("GET", 201, ["Expires": "0"], [:], nil), ("GET", 404, [:], [:], .staleError),
      ("GET", 404, ["Cache-Control": "max-age=2"], [:], nil),
      ("GET", 500, ["Cache-Control": "max-age=0"], [:], .staleError),
      ("GET", 200, ["Vary": "*"], [:], .variesOnAnything),
      ("GET", 206, ["Content-Range": "bytes 0-2/9"], [:], nil), ("GET", 206, [:], [:], .unusablePart),
      ("GET", 206, ["Content-Range": "items 0-2/9"], [:], .unusablePart),
      ("GET", 206, ["Content-Type": "multipart/byteranges; boundary=x"], [:], .unusablePart),
      ("GET", 200, ["Connection": "Vary"], [:], .connectionListsCachingFields),
    ] as [(String, Int, HTTPHeaders, HTTPHeaders, HTTPCachePolicy.Refusal?)])
  func decides(
    method: String, status: Int, headers: HTTPHeaders, request: HTTPHeaders, refusal: HTTPCachePolicy.Refusal?
  ) throws {
    let storage = try storage(headers, status: status, method: method, request: request)
    if let refusal {
      #expect(storage == .refuse(refusal))
    } else {
      #expect(storage.metadata?.status == status)
    }
  }

  @Test func theModeNoStoreStoresNothing() throws {
    #expect(try storage([:], mode: .noStore) == .refuse(.requestForbids))
    #expect(try storage([:], mode: .reload).metadata != nil)
  }

  @Test func keepsWhatIsNeededLater() throws {
    let metadata = try #require(
      storage(
        ["Vary": "Accept", "X": "1"], request: ["accept": " 1,2", "Bar": "3"]
      ).metadata)
    #expect(metadata.kind == .original)
    #expect(metadata.url == "http://example.test/a")
    #expect(metadata.requestTime == Self.now)
    #expect(metadata.responseTime == Self.now + 1)
    #expect(metadata.requestHeaders == ["accept": " 1,2"])
    #expect(metadata.headers["X"] == "1")
    #expect(metadata.headers["Date"] == HTTPDate.format(Self.now + 1))
  }

  /// A server that varies on a secret does not get it written to the disk, and it still tells requests apart.
  @Test func aSecretThatIsVariedOnIsKeptAsADigest() throws {
    let secret: HTTPHeaders = ["Cookie": "sid=alice", "X-Api-Key": "geheim", "Accept": "image/*"]
    let metadata = try #require(
      storage(["Vary": "Cookie, Accept, X-Api-Key, X-Missing"], request: secret).metadata)
    let vary = HTTPVary(metadata.headers)
    let kept = metadata.requestHeaders
    #expect(kept["Accept"] == "image/*")
    #expect(kept.fields.count == 3)
    for text in [kept.fields.map(\.value).joined(), vary.variantKey(for: secret)] {
      #expect(!text.contains("alice") && !text.contains("geheim"))
    }
    #expect(vary.variantKey(for: secret) == vary.variantKey(for: kept))
    #expect(vary.matches(secret, stored: kept))
    for other: HTTPHeaders in [
      ["Cookie": "sid=bob", "X-Api-Key": "geheim", "Accept": "image/*"],
      ["Cookie": "sid=alice", "Accept": "image/*"],
      ["Cookie": "sid=alice", "X-Api-Key": "geheim", "Accept": "image/*", "X-Missing": "1"],
    ] {
      #expect(!vary.matches(other, stored: kept))
      #expect(vary.variantKey(for: other) != vary.variantKey(for: kept))
    }
  }

  @Test func anIncompleteResponseIsKeptOnlyAsAPartThatCanBeGoneOnWith() throws {
    let strong: HTTPHeaders = ["ETag": "\"a\"", "Content-Length": "9"]
    let cut = HTTPCachePolicy.ReceivedBody(length: 3, isComplete: false)
    #expect(try storage(strong, body: cut).metadata?.kind == .partial)
    for headers: HTTPHeaders in [
      [:], ["ETag": "W/\"a\""], ["ETag": "a"], ["ETag": "\"a\"", "Accept-Ranges": "none"],
      ["Last-Modified": HTTPDate.format(Self.now - 1e6)],
    ] {
      #expect(try storage(headers, body: cut) == .refuse(.unusablePart))
    }
    #expect(try storage(strong, body: .init(length: 0, isComplete: false)) == .refuse(.unusablePart))
    #expect(
      try storage(strong, body: .init(length: 3, isComplete: false, wasDecoded: true))
        == .refuse(.unusablePart))
    #expect(
      try storage(["ETag": "\"a\"", "Cache-Control": "max-age=9"], status: 404, body: cut)
        == .refuse(.unusablePart))
    #expect(
      try storage(["ETag": "\"a\"", "Cache-Control": "no-store"], body: cut) == .refuse(.responseForbids))
  }

  @Test func fieldsThatDescribeCodedBytesAreNotKeptWithDecodedOnes() throws {
    let headers: HTTPHeaders = [
      "Content-Encoding": "gzip", "Content-Length": "2", "Content-Type": "image/svg+xml",
    ]
    let metadata = try #require(storage(headers, body: .init(length: 3, wasDecoded: true)).metadata)
    #expect(metadata.headers["Content-Encoding"] == nil)
    #expect(metadata.headers["Content-Length"] == "3")
    #expect(metadata.headers["Content-Type"] == "image/svg+xml")
    let coded = try #require(storage(headers, body: .init(length: 2)).metadata)
    #expect(coded.headers["Content-Encoding"] == "gzip")
  }
}
