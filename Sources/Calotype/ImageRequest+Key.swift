import Foundation

extension ImageRequest {
  /// The key of the original that a request's print is made from.
  static func addressKey(for url: URL, headers: HTTPHeaders, addressPolicy: AddressPolicy? = nil) -> String {
    let text = url.absoluteString
    if LocalSource.isLocal(text) { return LocalSource.addressKey(for: url, addressPolicy: addressPolicy) }
    // A line break cannot stand in an address either.
    let address = normalizedAddress(text) + (addressPolicy?.cachePartition ?? "")
    if headers.isEmpty { return address }
    // A space cannot stand in an address, so no address can be taken for one with headers.
    let secrets = headers.namesOfPossibleSecrets
    let fields = headers.fields.map { field in
      let name = field.name.lowercased()
      // Keys are written to the disk and listed, and no secret is to be found there.
      return "\(name):\(secrets.contains(name) ? EntryName(key: field.value).path : field.value)"
    }.sorted()
    return address + " {" + fields.joined(separator: "\n") + "}"
  }

  /// The address in the form under which it is stored: scheme and host in lower case, no default port, no
  /// fragment, an empty path as `/` (RFC 9110, section 4.2.3). All else is left as it is written, since a
  /// server may tell it apart.
  static func normalizedAddress(_ text: String) -> String {
    var text = text
    return text.withUTF8 { bytes in
      isNormalAddress(bytes) ? nil : String(decoding: normalize(bytes), as: UTF8.self)
    } ?? text
  }

  /// The host and port in a normalised address.
  static func host(ofAddress address: String) -> String {
    let bytes = address.utf8
    guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")),
      let start = bytes.index(colon, offsetBy: 3, limitedBy: bytes.endIndex)
    else { return "" }
    let end =
      bytes[start...].firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: " ") } ?? bytes.endIndex
    return String(address[start..<end])
  }

  /// The print's size and processors as a text, empty for a picture at its own size.
  static func variant(
    targetSize: TargetSize?, processors: [any ImageProcessing], isStill: Bool = false, isDeep: Bool = false
  ) -> String {
    guard targetSize != nil || !processors.isEmpty || isStill || isDeep else { return "" }
    var text = ""
    if let targetSize {
      if let size = targetSize.pixelSize {
        text = "\(size.width)x\(size.height)"
      } else {
        text = "invalid"
      }
      switch targetSize.mode {
      case .fit: break
      case .fill: text += ",fill"
      case .exact: text += ",exact"
      }
      if targetSize.allowsUpscaling { text += ",up" }
    }
    if isStill { text += ",still" }
    if isDeep { text += ",deep" }
    for processor in processors {
      text += "|"
      text += processor.identifier
    }
    return text
  }

  /// Whether an address is in the stored form already, as almost all are, so that it need not be built anew.
  private static func isNormalAddress(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    var at: Int
    if bytes.starts(with: "https://".utf8) {
      at = 8
    } else if bytes.starts(with: "http://".utf8) {
      at = 7
    } else {
      return !bytes.contains(UInt8(ascii: "#")) && !hasUppercaseScheme(bytes)
    }
    // Host: no capitals; a user, or a port that may be the scheme's own, means the long way.
    while at < bytes.count, bytes[at] != UInt8(ascii: "/") {
      switch bytes[at] {
      case UInt8(ascii: ":"):
        let port = bytes[(at + 1)...].prefix { $0 != UInt8(ascii: "/") }
        guard port.count > 3, port.allSatisfy({ (0x30...0x39).contains($0) }) else { return false }
        at = port.endIndex
      case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "@"), UInt8(ascii: "?"), UInt8(ascii: "#"):
        return false
      default: at += 1
      }
    }
    guard at < bytes.count else { return false }
    return !bytes[at...].contains(UInt8(ascii: "#"))
  }

  private static func hasUppercaseScheme(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    bytes.prefix { $0 != UInt8(ascii: ":") }.contains { (0x41...0x5A).contains($0) }
  }

  private static func normalize(_ bytes: UnsafeBufferPointer<UInt8>) -> [UInt8] {
    let lower: (UInt8) -> UInt8 = { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
    let whole = bytes.prefix { $0 != UInt8(ascii: "#") }
    guard let colon = whole.firstIndex(of: UInt8(ascii: ":")) else { return Array(whole) }
    let scheme = whole[..<colon].map(lower)
    var result = scheme
    let rest = whole[colon...]
    guard rest.starts(with: "://".utf8) else { return result + rest }
    result += "://".utf8
    let afterSlashes = rest.dropFirst(3)
    let authorityEnd =
      afterSlashes.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? afterSlashes.endIndex
    var authority = afterSlashes[..<authorityEnd]
    if let at = authority.lastIndex(of: UInt8(ascii: "@")) {
      result += authority[...at]
      authority = authority[(at + 1)...]
    }
    var host = authority.map(lower)
    let defaultPort = scheme == Array("https".utf8) ? ":443" : scheme == Array("http".utf8) ? ":80" : nil
    // Of what is no address there may be several; the stored form has none, so that it is a form of itself.
    while true {
      if host.last == UInt8(ascii: ":") {
        host.removeLast()
      } else if let defaultPort, host.reversed().starts(with: defaultPort.utf8.reversed()) {
        host.removeLast(defaultPort.utf8.count)
      } else {
        break
      }
    }
    result += host
    let path = afterSlashes[authorityEnd...]
    if path.first != UInt8(ascii: "/"), defaultPort != nil { result.append(UInt8(ascii: "/")) }
    return result + path
  }
}

extension HTTPHeaders {
  /// What tells the prints that are shown to whoever has these headers from those of others; empty where no field
  /// may hold a secret. The secrets themselves are not in it.
  var credentialsKey: String {
    let names = namesOfPossibleSecrets
    guard !names.isEmpty else { return "" }
    let secrets = fields.map { ($0.name.lowercased(), $0.value) }.filter { names.contains($0.0) }
    let text = secrets.map { "\($0):\($1)" }.sorted().joined(separator: "\n")
    // A line break cannot stand in an address.
    return "\nfor \(EntryName(key: text).path)"
  }
}
