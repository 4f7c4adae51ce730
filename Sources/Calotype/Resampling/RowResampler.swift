/// Resizes a picture while its rows arrive, so that the whole of it is never in memory.
///
/// A separable filter on premultiplied pixels: each row is brought to the output's width as it comes, and
/// each output row is finished as soon as the last of its source rows is there. Memory is the output and as
/// many rows of its width as the filter is high. A picture that is much larger than the output is reduced by
/// whole numbers first: see ``RowReducer``.
///
/// Not for use from two threads at once.
final class RowResampler {
  /// The rows of the source that count. Those before it need not be decoded, only counted through
  /// ``skipRows(_:)``; after it the decode may end.
  let neededRows: Range<Int>
  /// The next row that ``append(row:)`` takes.
  private(set) var nextRow = 0

  private let sourceSize: PixelSize
  private let outputSize: PixelSize
  private let isOpaque: Bool
  private let storage: Bitmap.Storage
  private let reducer: RowReducer?
  private let columns: ResamplingWeights
  private let rows: ResamplingWeights
  private let isCopy: Bool
  private let kernel: ResamplingKernel
  private var nextOutputRow = 0

  /// Prepares a resize.
  ///
  /// - Parameters:
  ///   - sourceSize: The size of the rows that will come, and their number.
  ///   - crop: The part of the source that is shown, in its pixels; fractions are meant. It is cut to
  ///     the source.
  ///   - outputSize: The size of the result.
  ///   - isOpaque: Whether every source pixel is opaque; then so is every pixel of the result.
  ///   - filter: The filter.
  init(
    sourceSize: PixelSize, crop: (x: Double, y: Double, width: Double, height: Double),
    outputSize: PixelSize, isOpaque: Bool, filter: ResamplingFilter = .lanczos3
  ) throws(BitmapError) {
    guard sourceSize.width > 0, sourceSize.height > 0 else { throw .invalidSize(sourceSize) }
    guard let horizontal = Self.clip(crop.x, crop.width, to: sourceSize.width),
      let vertical = Self.clip(crop.y, crop.height, to: sourceSize.height)
    else { throw .invalidSize(PixelSize(width: 0, height: 0)) }
    self.sourceSize = sourceSize
    self.outputSize = outputSize
    self.isOpaque = isOpaque
    storage = try Bitmap.Storage(size: outputSize)

    let factorX = RowReducer.factor(for: horizontal.length / Double(outputSize.width))
    let factorY = RowReducer.factor(for: vertical.length / Double(outputSize.height))
    func weights(_ count: Int, _ part: (origin: Double, length: Double), _ factor: Int, _ output: Int)
      -> ResamplingWeights
    {
      ResamplingWeights(
        sourceCount: (count + factor - 1) / factor, origin: part.origin / Double(factor),
        length: part.length / Double(factor), outputCount: output, filter: filter,
        lastShare: count % factor == 0 ? 1 : Float(count % factor) / Float(factor))
    }
    columns = weights(sourceSize.width, horizontal, factorX, outputSize.width)
    let isSquare =
      sourceSize.width == sourceSize.height && outputSize.width == outputSize.height
      && horizontal == vertical
    rows = isSquare ? columns : weights(sourceSize.height, vertical, factorY, outputSize.height)
    isCopy = columns.isCopy && rows.isCopy && factorX == 1 && factorY == 1
    neededRows =
      rows.needed.lowerBound * factorY..<min(sourceSize.height, rows.needed.upperBound * factorY)
    reducer =
      factorX == 1 && factorY == 1
      ? nil
      : RowReducer(
        sourceSize: sourceSize, factorX: factorX, factorY: factorY, neededColumns: columns.needed)
    kernel = ResamplingKernel(
      columns: columns, rows: rows, outputSize: outputSize, isUsed: !isCopy)
  }

  /// Takes the next row, top first: at least `sourceSize.width` premultiplied RGBA8 pixels.
  ///
  /// A row that does not count costs nothing.
  func append(row: UnsafeRawBufferPointer) {
    let index = nextRow
    nextRow += 1
    guard neededRows.contains(index), let pixels = row.baseAddress else { return }
    precondition(row.count >= sourceSize.width * 4, "a row of \(row.count) bytes is too short")
    if isCopy {
      copy(pixels, row: index - neededRows.lowerBound)
    } else if let reducer {
      if let (reducedRow, fractionBits) = reducer.append(pixels, row: index, into: kernel.sourcePairs) {
        finishRow(reducedRow, fractionBits: fractionBits)
      }
    } else {
      kernel.load(pixels, columns: columns.needed)
      finishRow(index, fractionBits: 0)
    }
  }

  /// Counts rows as passed that were not decoded since they do not count.
  func skipRows(_ count: Int) { nextRow += count }

  /// The finished picture. Rows that never came are clear, or black in an opaque picture.
  func finish() -> Bitmap {
    if nextRow < neededRows.upperBound {
      let clear = UnsafeMutableRawBufferPointer.allocate(byteCount: sourceSize.width * 4, alignment: 16)
      defer { clear.deallocate() }
      clear.initializeMemory(as: UInt8.self, repeating: 0)
      if isOpaque { for pixel in 0..<sourceSize.width { clear[pixel * 4 + 3] = 255 } }
      while nextRow < neededRows.upperBound { append(row: UnsafeRawBufferPointer(clear)) }
    }
    return Bitmap(storage: storage, size: outputSize, isOpaque: isOpaque)
  }

  private func copy(_ pixels: UnsafeRawPointer, row: Int) {
    let rowBytes = outputSize.width * 4
    storage.buffer.baseAddress?.advanced(by: row * rowBytes)
      .copyMemory(from: pixels + columns.needed.lowerBound * 4, byteCount: rowBytes)
  }

  /// Filters the row that the kernel holds, and finishes the output rows that it completes.
  private func finishRow(_ index: Int, fractionBits: Int32) {
    kernel.filterColumns(columns, row: index, fractionBits: fractionBits)
    while nextOutputRow < outputSize.height, Int(rows.lastPixels[nextOutputRow]) <= index {
      if let pixels = storage.buffer.baseAddress {
        kernel.filterRows(
          rows, outputRow: nextOutputRow, isOpaque: isOpaque,
          into: pixels + nextOutputRow * outputSize.width * 4)
      }
      nextOutputRow += 1
    }
  }

  /// The part of an axis that is inside of the source, or `nil` where nothing is.
  private static func clip(_ origin: Double, _ length: Double, to count: Int) -> (
    origin: Double, length: Double
  )? {
    guard origin.isFinite, length.isFinite, length > 0 else { return nil }
    let lower = max(0, origin)
    let upper = min(Double(count), origin + length)
    return upper > lower ? (lower, upper - lower) : nil
  }
}
