/// Reads the one EXIF tag that decides which way up a picture is (CIPA DC-008, 4.6.5).
enum EXIFOrientation {
  /// - Parameter view: EXIF data, starting at the TIFF header or at `Exif\0\0` before it.
  /// - Returns: The orientation of the main picture, upright where there is none or the data is damaged.
  static func read(_ view: ByteView) -> ImageOrientation {
    let tiff = view.matches("Exif\0\0") ? view.dropFirst(6) : view
    let littleEndian = tiff.matches("II*\0")
    guard littleEndian || tiff.matches("MM\0*"),
      let directory = tiff.uint32(at: 4, littleEndian: littleEndian),
      let count = tiff.uint16(at: directory, littleEndian: littleEndian)
    else { return .up }
    for index in 0..<count {
      let entry = directory + 2 + index * 12
      guard let tag = tiff.uint16(at: entry, littleEndian: littleEndian) else { break }
      guard tag == 0x0112 else { continue }
      // A SHORT by the standard; some writers store a LONG.
      let type = tiff.uint16(at: entry + 2, littleEndian: littleEndian)
      let value =
        type == 4
        ? tiff.uint32(at: entry + 8, littleEndian: littleEndian)
        : tiff.uint16(at: entry + 8, littleEndian: littleEndian)
      guard let value, let raw = UInt8(exactly: value) else { return .up }
      return ImageOrientation(rawValue: raw) ?? .up
    }
    return .up
  }
}
