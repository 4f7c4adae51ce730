import Foundation

/// A numeric network address, without its port.
struct NetworkAddress: Hashable, Sendable, CustomStringConvertible {
  /// 4 or 16 bytes, the most significant first.
  let bytes: [UInt8]

  init(bytes: [UInt8]) { self.bytes = bytes }

  /// The address in a socket address; `nil` where it is of another family.
  init?(_ address: UnsafePointer<sockaddr>) {
    switch Int32(address.pointee.sa_family) {
    case AF_INET:
      let four = UnsafeRawPointer(address).loadUnaligned(as: sockaddr_in.self).sin_addr
      bytes = withUnsafeBytes(of: four) { Array($0) }
    case AF_INET6:
      let six = UnsafeRawPointer(address).loadUnaligned(as: sockaddr_in6.self).sin6_addr
      bytes = withUnsafeBytes(of: six) { Array($0) }
    default: return nil
    }
  }

  /// The address that a text in the usual form stands for, such as `10.0.0.1` or `fe80::1`.
  init?(canonical text: String) {
    var four = in_addr(), six = in6_addr()
    if inet_pton(AF_INET, text, &four) == 1 {
      bytes = withUnsafeBytes(of: four) { Array($0) }
    } else if inet_pton(AF_INET6, text, &six) == 1 {
      bytes = withUnsafeBytes(of: six) { Array($0) }
    } else {
      return nil
    }
  }

  /// The address that a host in an address stands for, in any spelling that a name look-up takes for a number:
  /// also `2130706433`, `0177.1`, `0x7f000001`, `[::1]` and `[fe80::1%25eth0]`. `nil` for a name.
  init?(host: String) {
    var text = host
    if text.hasPrefix("["), text.hasSuffix("]") { text = String(text.dropFirst().dropLast()) }
    if let zone = text.firstIndex(of: "%") { text = String(text[..<zone]) }
    while text.hasSuffix(".") { text.removeLast() }
    var hints = addrinfo()
    hints.ai_flags = AI_NUMERICHOST
    var found: UnsafeMutablePointer<addrinfo>?
    guard !text.isEmpty, getaddrinfo(text, nil, &hints, &found) == 0, let found else { return nil }
    defer { freeaddrinfo(found) }
    guard let address = found.pointee.ai_addr else { return nil }
    self.init(address)
  }

  /// Such as `127.0.0.1` or `fe80::1`.
  var description: String {
    var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    let family = bytes.count == 4 ? AF_INET : AF_INET6
    guard inet_ntop(family, bytes, &text, socklen_t(text.count)) != nil else { return "?" }
    return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// What kind of address it is where it is not a public one, such as `a loopback address`; `nil` for a public
  /// one. After the registries of special-purpose addresses (RFC 6890, as IANA keeps them): what is not known
  /// to be public is not.
  var specialKind: String? { bytes.count == 4 ? Self.kind(ofFour: bytes[...]) : kindOfSix }

  private static func kind(ofFour bytes: ArraySlice<UInt8>) -> String? {
    let value = bytes.reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
    return fours.first { value >> (32 - $0.length) == $0.prefix >> (32 - $0.length) }?.kind
  }

  private var kindOfSix: String? {
    // An IPv6-only network reaches the whole of the old Internet under this prefix (RFC 6052), so the address
    // within decides.
    if Self.has(bytes, [0x00, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0], 96) {
      return Self.kind(ofFour: bytes[12...]).map { "a translated address (NAT64) of \($0)" }
    }
    for range in Self.sixes where Self.has(bytes, range.prefix, range.length) { return range.kind }
    // Global unicast is what begins with the bits 001 (RFC 4291); the rest is reserved.
    return bytes[0] >> 5 == 1 ? nil : "a reserved address"
  }

  /// Whether the first bits are those of a prefix.
  static func has(_ bytes: [UInt8], _ prefix: [UInt8], _ length: Int) -> Bool {
    for at in 0..<(length + 7) / 8 {
      let bits = min(8, length - at * 8)
      let mask = UInt8(truncatingIfNeeded: 0xFF << (8 - bits))
      guard at < bytes.count, bytes[at] & mask == (at < prefix.count ? prefix[at] & mask : 0) else {
        return false
      }
    }
    return true
  }

  private static let fours: [(prefix: UInt32, length: UInt32, kind: String)] = [
    (0x0000_0000, 8, "an unspecified address"),
    (0x0A00_0000, 8, "a private address"),
    (0x6440_0000, 10, "a shared address of a provider (CGNAT)"),
    (0x7F00_0000, 8, "a loopback address"),
    (0xA9FE_0000, 16, "a link-local address"),
    (0xAC10_0000, 12, "a private address"),
    (0xC000_0000, 24, "a reserved address"),
    (0xC000_0200, 24, "a documentation address"),
    (0xC058_6300, 24, "a translated address (6to4 relay)"),
    (0xC0A8_0000, 16, "a private address"),
    (0xC612_0000, 15, "a benchmarking address"),
    (0xC633_6400, 24, "a documentation address"),
    (0xCB00_7100, 24, "a documentation address"),
    (0xE000_0000, 4, "a multicast address"),
    (0xF000_0000, 4, "a reserved address"),
  ]

  private static let sixes: [(prefix: [UInt8], length: Int, kind: String)] = [
    ([], 128, "an unspecified address"),
    ([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], 128, "a loopback address"),
    ([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF], 96, "a mapped address (IPv4 in IPv6)"),
    ([0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF], 96, "a translated address (SIIT)"),
    ([], 96, "an IPv4-compatible address"),
    ([0x00, 0x64, 0xFF, 0x9B, 0x00, 0x01], 48, "a translated address (local NAT64)"),
    ([0x01, 0x00], 64, "a discard address"),
    ([0x20, 0x01, 0x00, 0x00], 32, "a tunnelled address (Teredo)"),
    ([0x20, 0x01, 0x0D, 0xB8], 32, "a documentation address"),
    ([0x20, 0x01, 0x00], 23, "a reserved address"),
    ([0x20, 0x02], 16, "a translated address (6to4)"),
    ([0x3F, 0xFF, 0x00], 20, "a documentation address"),
    ([0xFC], 7, "a unique-local address"),
    ([0xFE, 0x80], 10, "a link-local address"),
    ([0xFE, 0xC0], 10, "a site-local address"),
    ([0xFF], 8, "a multicast address"),
  ]
}
