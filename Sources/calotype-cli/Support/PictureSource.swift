import Calotype
import Foundation

/// A picture that an operand names: a file, an address, or standard input.
struct PictureSource {
  var operand: String

  /// The most bytes of a file that is read.
  static let maximumFileSize = 1 << 30

  /// The operand as people and reports are to see it.
  var shown: String { Escaping.address(operand) }

  /// A name for a file made from it, without an extension.
  var title: String {
    if operand == "-" { return "standard-input" }
    if Escaping.isDataAddress(operand) { return Escaping.dataAddressName(operand) }
    if Arguments.isAddress(operand) || operand.lowercased().hasPrefix("file:"), let url = URL(string: operand)
    {
      let last = url.path.split(separator: "/").last.map(String.init) ?? url.host ?? operand
      return PictureFile.stem(of: last)
    }
    return PictureFile.stem(of: URL(fileURLWithPath: operand).lastPathComponent)
  }

  /// The original's bytes; an address's through the pipeline.
  func data(_ session: Session) async throws -> Data {
    if let url = try address() {
      return try await session.pipeline.data(for: request(url, session)).data
    }
    return try fileData()
  }

  /// The operand's address, where it is one: a server's, or one of `file:` or `data:`.
  private func address() throws -> URL? {
    if Arguments.isAddress(operand) { return try Arguments.address(operand) }
    let scheme = operand.prefix(5).lowercased()
    guard scheme == "file:" || scheme == "data:" else { return nil }
    guard let url = URL(string: operand) else { throw UsageError("\(shown) is no address") }
    return url
  }

  /// A request for an address's print, as the options want it.
  func request(_ url: URL, _ session: Session, output: PictureOutput? = nil) -> ImageRequest {
    ImageRequest(
      url: url, targetSize: output?.targetSize, processors: output?.processors ?? [],
      isStill: output?.isStill ?? false, isDeep: output?.isDeep ?? false, headers: session.headers,
      cachePolicy: session.cachePolicy, addressPolicy: session.addressPolicy)
  }

  /// The bytes of a file or of standard input.
  func fileData() throws -> Data {
    var handle = FileHandle.standardInput
    if operand != "-" {
      let file = open(operand, O_RDONLY | O_CLOEXEC)
      guard file >= 0 else { throw Failure(OutputFolder.message(errno), code: "not_read") }
      handle = FileHandle(fileDescriptor: file, closeOnDealloc: true)
      var status = stat()
      if fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFDIR {
        throw Failure("is a folder", code: "not_read")
      }
    }
    // A pipe or a device does not say how much it will give.
    let data = try handle.read(upToCount: Self.maximumFileSize + 1) ?? Data()
    guard data.count <= Self.maximumFileSize else {
      throw Failure("is larger than \(Format.bytes(Self.maximumFileSize))", code: "not_read")
    }
    if operand == "-", data.isEmpty { throw Failure("there is nothing on standard input", code: "not_read") }
    return data
  }

  /// The picture, as the options want it.
  func picture(_ session: Session, _ output: PictureOutput) async throws -> ImageContainer {
    // The pipeline's prints are sRGB.
    if !output.keepsProfile, let url = try address() {
      return try await session.pipeline.task(for: request(url, session, output: output)).response.container
    }
    return try output.picture(of: try await data(session), session.decoder)
  }
}
