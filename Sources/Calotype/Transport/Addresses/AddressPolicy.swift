import Foundation

/// Which network addresses requests may reach: what keeps an address from a stranger from leading into the
/// network that the program stands in.
///
/// It is asked of the numeric address that a connection is made to, whatever spelling or name led there, before
/// connecting, and again before each request on an open connection, on every hop of a chain of redirects. A
/// refusal is ``HTTPTransportError/Code/addressRefused``.
///
/// ``CurlTransport`` keeps to it; a program's own ``HTTPTransport`` has to by itself
/// (``HTTPRequest/addressPolicy``).
public struct AddressPolicy: Hashable, Sendable {
  /// Where requests may go.
  public enum Scope: String, Hashable, Sendable, CaseIterable {
    /// Anywhere, also by redirects.
    case unrestricted
    /// Anywhere, as the address may be one that a person typed; but a redirect from a public address leads to
    /// public ones only. What began at a private address may go on to private ones. The default.
    case asAsked = "as-asked"
    /// To public addresses only. For addresses from strangers.
    case publicOnly = "public-only"
  }

  /// A range of addresses, such as `10.1.0.0/16`.
  public struct Network: Hashable, Sendable {
    let prefix: [UInt8]
    let length: Int

    /// Creates a range from its text: a numeric address, and behind a slash how many of its first bits count;
    /// without, all do. `nil` where the text is none.
    public init?(_ text: String) {
      let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
      guard let first = parts.first, let address = NetworkAddress(canonical: String(first)) else {
        return nil
      }
      prefix = address.bytes
      guard parts.count == 2 else {
        length = prefix.count * 8
        return
      }
      guard let count = Int(parts[1]), (0...prefix.count * 8).contains(count) else { return nil }
      length = count
    }

    /// The same for the same range, whatever it was made from.
    var description: String {
      let kept = prefix.enumerated().map { index, byte in
        let bits = min(max(0, length - index * 8), 8)
        return byte & UInt8(truncatingIfNeeded: 0xFF00 >> bits)
      }
      return "\(kept.map(String.init).joined(separator: "."))/\(length)"
    }

    func contains(_ address: NetworkAddress) -> Bool {
      address.bytes.count == prefix.count && NetworkAddress.has(address.bytes, prefix, length)
    }
  }

  /// Where requests may go, ``Scope/asAsked`` by default.
  public var scope: Scope
  /// The ports that requests may go to; `nil`, the default, for all.
  public var ports: Set<Int>?
  /// Ranges that count as public although they are not, such as that of the program's own picture server; none
  /// by default.
  public var allowedNetworks: [Network]
  /// Whether proxies that the environment names are used (`http_proxy`, `https_proxy`, `all_proxy`,
  /// `no_proxy`); on by default, off in ``untrusted``. A proxy looks names up itself: behind one, only hosts
  /// that are written as numbers, and `localhost`, can be told to be private.
  public var usesEnvironmentProxies: Bool

  /// Creates a policy.
  public init(
    scope: Scope = .asAsked, ports: Set<Int>? = nil, allowedNetworks: [Network] = [],
    usesEnvironmentProxies: Bool = true
  ) {
    self.scope = scope
    self.ports = ports
    self.allowedNetworks = allowedNetworks
    self.usesEnvironmentProxies = usesEnvironmentProxies
  }

  /// Whatever was asked for, but no redirect from a public address to a private one: the default.
  public static let `default` = AddressPolicy()

  /// For addresses from strangers: public addresses only, ports 80 and 443, no proxy.
  public static let untrusted = AddressPolicy(
    scope: .publicOnly, ports: [80, 443], usesEnvironmentProxies: false)

  /// What an address is where it does not count as public.
  func specialKind(of address: NetworkAddress) -> String? {
    guard let kind = address.specialKind, !allowedNetworks.contains(where: { $0.contains(address) }) else {
      return nil
    }
    return kind
  }

  /// What is put behind a cache's key for what was fetched under this policy: whoever may reach less must not
  /// be shown what somebody else fetched from further. Empty for ``default``, with whatever proxies.
  var cachePartition: String {
    var text =
      switch scope {
      case .asAsked: ""
      case .unrestricted: "\nunrestricted"
      case .publicOnly: "\npublic"
      }
    if let ports { text += "\nports \(ports.sorted().map(String.init).joined(separator: ","))" }
    // With the scope `unrestricted` they change nothing.
    if scope != .unrestricted, !allowedNetworks.isEmpty {
      text += "\nwith \(Set(allowedNetworks.map(\.description)).sorted().joined(separator: ","))"
    }
    return text
  }
}
