import Foundation
import Testing

@testable import Calotype

/// How soon a decode ends that is cancelled on its way is measured by the decode benchmark.
@Suite struct DecodeCancellationTests {
  /// A decode that was cancelled before it began does nothing.
  @Test(arguments: DecodingFixtures.names())
  func cancelledBefore(name: String) throws {
    let flag = CancellationFlag()
    flag.cancel()
    let data = try DecodingFixtures.data(name)
    #expect(throws: ImageDecodingError.cancelled) {
      try ImageDecoder().decode(data, options: ImageDecodingOptions(), cancellation: flag)
    }
  }
}
