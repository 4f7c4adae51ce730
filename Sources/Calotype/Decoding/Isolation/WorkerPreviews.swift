import Foundation

/// Makes previews in sandboxed workers.
///
/// All that has come goes to a worker each time, so that any may go on with it: one that has been at it before reads
/// on where it was, another catches up.
final class IsolatedPreviewMaker: PreviewMaking {
  private let decoder: IsolatedImageDecoder
  private let limits: ImageDecodingLimits
  private let cancellation: CancellationFlag
  private let token = WorkerFrames.newToken()
  private var bytes = Data()
  private(set) var isHopeless = false
  /// Makes them in this process, where no worker was to be had from the beginning.
  private var own: PreviewMaker?

  init(_ decoder: IsolatedImageDecoder, _ limits: ImageDecodingLimits, _ cancellation: CancellationFlag) {
    self.decoder = decoder
    self.limits = limits
    self.cancellation = cancellation
  }

  func append(_ new: Data, targets: [TargetSize?]) -> [PreviewMaker.Preview]? {
    if let own { return append(new, targets, to: own) }
    if isHopeless { return nil }
    bytes.append(new)
    switch PreviewMaker.Kind(bytes) {
    case .unknown: return nil
    case .other: return giveUp()
    case .jpeg, .interlacedPNG: break
    }
    // Those who are too many see the print.
    let some = Array(targets.prefix(MessageReader.longestList))
    switch decoder.previews(of: bytes, limits: limits, token: token, targets: some, cancellation) {
    case .value(let made):
      if made.isHopeless { return giveUp() }
      return made.previews.isEmpty ? nil : made.previews
    // Whether the file is damaged, and how, is told by the decode of the whole.
    case .failure, .unavailable(_, mayDecodeHere: false): return giveUp()
    case .unavailable(_, mayDecodeHere: true):
      let here = PreviewMaker(limits: limits, colors: ColorConversionCache(), cancellation: cancellation)
      own = here
      let all = bytes
      bytes = Data()
      return append(all, targets, to: here)
    }
  }

  private func append(
    _ new: Data, _ targets: [TargetSize?], to maker: PreviewMaker
  ) -> [PreviewMaker.Preview]? {
    let previews = maker.append(new, targets: targets)
    isHopeless = maker.isHopeless
    return previews
  }

  private func giveUp() -> [PreviewMaker.Preview]? {
    isHopeless = true
    bytes = Data()
    return nil
  }
}

extension IsolatedImageDecoder: PreviewDecoding {
  func makePreviewMaker(_ limits: ImageDecodingLimits, _ cancellation: CancellationFlag) -> any PreviewMaking
  {
    isolation == .inProcess
      ? ImageDecoder().makePreviewMaker(limits, cancellation)
      : IsolatedPreviewMaker(self, limits, cancellation)
  }
}

/// What a worker made of the beginning of a file.
struct WorkerPreviews {
  /// One for each target, or none where there is nothing new to be seen.
  var previews: [PreviewMaker.Preview]
  /// Whether there will be none later either.
  var isHopeless: Bool
}

extension DecodingWorker {
  /// Has it make previews of the beginning of a file.
  func previews(
    of data: Data, limits: ImageDecodingLimits, token: UInt64, targets: [TargetSize?],
    cancellation: CancellationFlag, deadline: UInt64
  ) throws(Failure) -> WorkerPreviews {
    let reply = try ask(data, cancellation, deadline, mostOutput: mostOutput(limits)) { sequence in
      .preview(sequence: sequence, byteCount: data.count, limits: limits, token: token, targets: targets)
    }
    guard case .previews(_, let isHopeless, let pictures) = reply,
      pictures.isEmpty || pictures.count == targets.count
    else { throw .confused("it answers something else") }
    var previews: [PreviewMaker.Preview] = []
    for (picture, target) in zip(pictures, targets) {
      let options = ImageDecodingOptions(targetSize: target, limits: limits)
      try check(picture.format, of: data)
      let container = try accept(picture, options)
      guard let format = container.format else { throw .confused("its picture has no format") }
      previews.append(
        .init(bitmap: container.bitmap, format: format, originalSize: container.originalSize))
    }
    return WorkerPreviews(previews: previews, isHopeless: isHopeless)
  }
}
