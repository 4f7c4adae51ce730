import Foundation
import Testing

@testable import Calotype

@Suite struct ImageRequestTests {
  @Test func anotherSizeChangesNothingElse() {
    var request = ImageRequest(
      url: url("/a"), processors: [.circle], isStill: true, isDeep: true, headers: ["X-Who": "me"],
      priority: .high, cachePolicy: .noCache, storage: .disk, freshness: .immutable, addressPolicy: .untrusted
    )
    request.alternatives = [url("/b")]
    let size = TargetSize(width: 40, height: 30, mode: .fill)
    let resized = request.resized(to: size)
    let before = Mirror(reflecting: request).children
    let after = Mirror(reflecting: resized).children
    for (old, new) in zip(before, after) where old.label != "targetSize" && old.label != "cacheKey" {
      #expect("\(old.value)" == "\(new.value)", "\(old.label ?? "")")
    }
    #expect(resized.targetSize == size)
    let made = ImageRequest(
      url: url("/a"), targetSize: size, processors: [.circle], isStill: true, isDeep: true,
      headers: ["X-Who": "me"], addressPolicy: .untrusted)
    #expect(resized.cacheKey == made.cacheKey)
    #expect(request.targetSize == nil)
  }

  @Test func whatAProgramGivesKeepsItsBytesAtAnotherSize() {
    let size = TargetSize(width: 40, height: 30)
    let resized = ImageRequest(data: Data([1]), key: "one").resized(to: size)
    let made = ImageRequest(data: Data([1]), key: "one", targetSize: size)
    #expect(resized.cacheKey == made.cacheKey)
    guard case .bytes(Data([1])) = resized.localSource else {
      Issue.record("without its bytes")
      return
    }
  }
}
