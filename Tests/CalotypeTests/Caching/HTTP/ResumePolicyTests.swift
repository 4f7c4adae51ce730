import Foundation
import Testing

@testable import Calotype

/// Going on with a broken download: case H7 of the field, and all answers that there are.
@Suite struct ResumePolicyTests {
  private func stored(_ headers: HTTPHeaders, status: Int = 200, length: Int = 500) -> StoredHTTPResponse {
    StoredHTTPResponse(
      metadata: DataCacheMetadata(
        kind: .partial, url: "http://example.test/", status: status, headers: headers),
      bodyLength: length)
  }

  private func head(_ status: Int, _ headers: HTTPHeaders) throws -> HTTPResponseHead {
    HTTPResponseHead(url: try #require(URL(string: "http://example.test/")), status: status, headers: headers)
  }

  @Test func asksForTheRestByAStrongTag() throws {
    let base = try #require(ResumePolicy.Base(stored(["ETag": "\"a\"", "Content-Length": "1000"])))
    #expect(base.offset == 500)
    #expect(base.total == 1000)
    #expect(
      base.headers(addingTo: ["A": "1", "range": "bytes=0-"])
        == ["A": "1", "Range": "bytes=500-", "If-Range": "\"a\""])
  }

  @Test(
    arguments: [
      (["ETag": "W/\"a\"", "Content-Length": "1000"], 200, 500),
      (["ETag": "a", "Content-Length": "1000"], 200, 500),
      (["Content-Length": "1000", "Last-Modified": "Wed, 01 Jan 2020 00:00:00 GMT"], 200, 500),
      (["ETag": "W/\"a\"", "Last-Modified": "Wed, 01 Jan 2020 00:00:00 GMT"], 200, 500),
      (["ETag": "\"a\"", "Accept-Ranges": "none"], 200, 500), (["ETag": "\"a\""], 200, 0),
      // Nothing is missing, or more is there than there should be (H6).
      (["ETag": "\"a\"", "Content-Length": "500"], 200, 500),
      (["ETag": "\"a\"", "Content-Length": "499"], 200, 500),
      // Not the beginning; and numbers that are not those of the bytes.
      (["ETag": "\"a\"", "Content-Range": "bytes 100-599/1000"], 206, 500),
      (["ETag": "\"a\"", "Content-Range": "bytes 0-599/1000"], 206, 500), (["ETag": "\"a\""], 206, 500),
      (["ETag": "\"a\""], 404, 500),
    ] as [(HTTPHeaders, Int, Int)])
  func doesNotGoOnWithWhatIsNotSure(headers: HTTPHeaders, status: Int, length: Int) {
    #expect(ResumePolicy.Base(stored(headers, status: status, length: length)) == nil)
  }

  @Test func goesOnWithAStoredFirstPart() throws {
    let base = try #require(
      ResumePolicy.Base(stored(["ETag": "\"a\"", "Content-Range": "bytes 0-499/1000"], status: 206)))
    #expect(base.offset == 500)
    #expect(base.total == 1000)
  }

  @Test(
    arguments: [
      (206, ["Content-Range": "bytes 500-999/1000", "ETag": "\"a\""], .append(end: 1000, total: 1000)),
      (206, ["Content-Range": "bytes 500-599/1000", "ETag": "\"a\""], .append(end: 600, total: 1000)),
      (206, ["Content-Range": "bytes 500-999/*", "ETag": "\"a\""], .append(end: 1000, total: 1000)),
      // H7 (a): another version; (b): from the beginning, whole or in part.
      (206, ["Content-Range": "bytes 500-999/1000", "ETag": "\"b\""], .askWhole(.otherVersion)),
      (206, ["Content-Range": "bytes 500-999/1000", "ETag": "W/\"a\""], .askWhole(.otherVersion)),
      (206, ["Content-Range": "bytes 500-999/1000"], .askWhole(.otherVersion)),
      (206, ["Content-Range": "bytes 0-999/1000", "ETag": "\"b\""], .replace),
      (206, ["Content-Range": "bytes 0-499/1000", "ETag": "\"a\""], .askWhole(.otherStart)),
      (206, ["Content-Range": "bytes 499-999/1000", "ETag": "\"a\""], .askWhole(.otherStart)),
      (206, ["Content-Range": "bytes 501-999/1000", "ETag": "\"a\""], .askWhole(.otherStart)),
      (206, ["Content-Range": "bytes 500-999/1001", "ETag": "\"a\""], .askWhole(.otherLength)),
      (206, ["Content-Range": "bytes 500-1000/*", "ETag": "\"a\""], .askWhole(.otherLength)),
      (206, ["ETag": "\"a\""], .askWhole(.noContentRange)),
      (206, ["Content-Range": "bytes 999-500/1000", "ETag": "\"a\""], .askWhole(.noContentRange)),
      (206, ["Content-Range": "bytes */1000", "ETag": "\"a\""], .askWhole(.noContentRange)),
      (
        206, ["Content-Type": "multipart/byteranges; boundary=x", "ETag": "\"a\""], .askWhole(.noContentRange)
      ),
      (
        206, ["Content-Range": "bytes 500-999/1000", "ETag": "\"a\"", "Content-Encoding": "gzip"],
        .askWhole(.otherEncoding)
      ),
      (200, ["ETag": "\"b\""], .replace), (200, [:], .replace),
      (416, ["Content-Range": "bytes */400"], .askWhole(.rangeNotSatisfiable)),
      (416, [:], .askWhole(.rangeNotSatisfiable)),
      (304, ["ETag": "\"a\""], .askWhole(.unexpectedStatus)), (412, [:], .askWhole(.unexpectedStatus)),
      (404, [:], .askWhole(.gone)), (410, [:], .askWhole(.gone)), (302, [:], .askWhole(.gone)),
      (500, [:], .failed), (503, [:], .failed), (401, [:], .failed), (429, [:], .failed),
    ] as [(Int, HTTPHeaders, ResumePolicy.Answer)])
  func judgesAnAnswer(status: Int, headers: HTTPHeaders, answer: ResumePolicy.Answer) throws {
    let base = try #require(ResumePolicy.Base(stored(["ETag": "\"a\"", "Content-Length": "1000"])))
    #expect(ResumePolicy.answer(try head(status, headers), to: base) == answer)
  }

  @Test func knowsWhenAllIsThere() {
    #expect(ResumePolicy.progress(received: 500, offset: 500, end: 1000, total: 1000) == .complete)
    #expect(
      ResumePolicy.progress(received: 499, offset: 500, end: 1000, total: 1000) == .incomplete(offset: 999))
    #expect(
      ResumePolicy.progress(received: 100, offset: 500, end: 600, total: 1000) == .incomplete(offset: 600))
    #expect(ResumePolicy.progress(received: 501, offset: 500, end: 1000, total: 1000) == .broken)
    #expect(ResumePolicy.progress(received: .max, offset: 500, end: 1000, total: 1000) == .broken)
    #expect(
      ResumePolicy.progress(received: 500, offset: 500, end: 1000, total: nil) == .incomplete(offset: 1000))
  }

  @Test(arguments: [
    // What is there, what came: the pieces, and the range of the whole; `nil` where they are not joined.
    ("bytes 0-4/10", "bytes 5-9/10", 5, "s0-5 r0-5", nil),
    ("bytes 0-4/10", "bytes 3-9/10", 7, "s0-5 r2-7", nil),
    ("bytes 5-9/10", "bytes 0-4/10", 5, "r0-5 s0-5", nil),
    ("bytes 3-5/10", "bytes 0-9/10", 10, "r0-3 s0-3 r6-10", nil),
    ("bytes 0-4/10", "bytes 5-9/10", 2, "s0-5 r0-2", "bytes 0-6/10"),
    ("bytes 2-4/10", "bytes 5-9/10", 5, "s0-3 r0-5", "bytes 2-9/10"),
    ("bytes 0-4/*", "bytes 5-9/10", 5, "s0-5 r0-5", nil),
    ("bytes 0-4/*", "bytes 5-9/*", 5, "s0-5 r0-5", "bytes 0-9/*"),
  ])
  func joinsParts(held: String, incoming: String, length: Int, pieces: String, contentRange: String?) throws {
    let range = try #require(ContentRange(held)?.bytes)
    let stored = stored(
      ["ETag": "\"a\"", "Content-Range": held, "A": "1", "B": "1"], status: 206, length: range.count)
    let combination = try #require(
      HTTPCachePolicy().combination(
        of: head(206, ["ETag": "\"a\"", "Content-Range": incoming, "A": "2"]), receivedLength: length,
        with: stored,
        requestTime: 5, responseTime: 6))
    let text = combination.pieces.map { piece in
      switch piece {
      case .stored(let range): "s\(range.lowerBound)-\(range.upperBound)"
      case .received(let range): "r\(range.lowerBound)-\(range.upperBound)"
      }
    }.joined(separator: " ")
    #expect(text == pieces)
    let metadata = combination.metadata
    #expect(metadata.kind == (contentRange == nil ? .original : .partial))
    #expect(metadata.status == (contentRange == nil ? 200 : 206))
    #expect(metadata.headers["Content-Range"] == contentRange)
    #expect(metadata.headers["A"] == "2")
    #expect(metadata.headers["B"] == "1")
    #expect(metadata.responseTime == 6)
  }

  @Test(arguments: [
    ("\"a\"", "\"b\"", "bytes 0-4/10", "bytes 5-9/10"),
    ("W/\"a\"", "W/\"a\"", "bytes 0-4/10", "bytes 5-9/10"),
    ("\"a\"", "", "bytes 0-4/10", "bytes 5-9/10"), ("", "\"a\"", "bytes 0-4/10", "bytes 5-9/10"),
    ("\"a\"", "\"a\"", "bytes 0-4/10", "bytes 6-9/10"), ("\"a\"", "\"a\"", "bytes 0-4/10", "bytes 5-9/11"),
    ("\"a\"", "\"a\"", "bytes 0-4/10", "bytes 5-9"), ("\"a\"", "\"a\"", "bytes 0-5/10", "bytes 5-9/10"),
  ])
  func doesNotJoinWhatDoesNotBelongTogether(oldTag: String, newTag: String, held: String, incoming: String)
    throws
  {
    let stored = stored(["ETag": oldTag, "Content-Range": held], status: 206, length: 5)
    let combination = HTTPCachePolicy().combination(
      of: try head(206, ["ETag": newTag, "Content-Range": incoming]), receivedLength: 4, with: stored,
      requestTime: 5,
      responseTime: 6)
    #expect(combination == nil)
  }
}
