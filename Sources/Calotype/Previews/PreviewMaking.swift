import Foundation

/// Makes pictures of the beginning of a file, again and again while more of it comes. What has been read is
/// not read again.
///
/// For use by one thread at a time.
protocol PreviewMaking: AnyObject {
  /// Whether no preview will come of this file any more.
  var isHopeless: Bool { get }

  /// Takes the next bytes.
  ///
  /// - Returns: A preview for each target, in their order, or `nil` where there is nothing new to be seen.
  func append(_ bytes: Data, targets: [TargetSize?]) -> [PreviewMaker.Preview]?
}

/// A decoder that can also make previews of what is still coming.
protocol PreviewDecoding: ImageDecoding {
  func makePreviewMaker(_ limits: ImageDecodingLimits, _ cancellation: CancellationFlag) -> any PreviewMaking
}

extension ImageDecoder: PreviewDecoding {
  func makePreviewMaker(_ limits: ImageDecodingLimits, _ cancellation: CancellationFlag) -> any PreviewMaking
  {
    PreviewMaker(limits: limits, colors: colors, cancellation: cancellation)
  }
}
