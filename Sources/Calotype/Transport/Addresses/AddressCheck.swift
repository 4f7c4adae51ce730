import Foundation
import Synchronization

/// Where a chain of redirects began, shared by all of its hops.
package final class RedirectChain: Sendable {
  enum Beginning: UInt8 { case unknown, publicAddress, privateAddress }

  // There is one for each load that waits: a lock would be four times as large.
  private let state = Atomic<UInt8>(Beginning.unknown.rawValue)

  package init() {}

  /// Unknown where nothing was asked for the first hop yet, as it was answered by the cache.
  var beginning: Beginning {
    get { Beginning(rawValue: state.load(ordering: .acquiring)) ?? .unknown }
    set { state.store(newValue.rawValue, ordering: .releasing) }
  }
}

/// What one transfer may reach.
struct AddressCheck {
  let policy: AddressPolicy
  let target: HTTPTarget
  /// The proxy that the transfer goes through, if any.
  let proxy: String?
  let chain: RedirectChain?
  /// Which hop of the chain it is, from 0.
  let hop: Int

  init(_ request: HTTPRequest, _ target: HTTPTarget, policy: AddressPolicy, environment: (String) -> String?)
  {
    self.policy = policy
    self.target = target
    proxy =
      policy.usesEnvironmentProxies ? EnvironmentProxy.address(for: target, environment: environment) : nil
    chain = request.redirectChain
    hop = request.redirectHop
  }

  /// Why the transfer may not begin; `nil` where it may.
  func refusalToBegin() -> String? {
    if let ports = policy.ports, !(target.port.map(ports.contains) ?? false) {
      let allowed = ports.sorted().map(String.init).joined(separator: ", ")
      let port = target.port.map { "port \($0)" } ?? "the port"
      return "\(port) of \(target.host) may not be reached, only \(allowed.isEmpty ? "none" : allowed)"
    }
    guard proxy != nil else { return nil }
    // The proxy looks the name up; the socket's address says nothing.
    let kind = kindBehindProxy
    if hop == 0 { chain?.beginning = kind == nil ? .publicAddress : .privateAddress }
    return kind.flatMap { refusal(of: target.host, $0) }
  }

  /// Why an address may not be connected to; `nil` where it may.
  func refusal(of address: NetworkAddress) -> String? {
    guard proxy == nil, let kind = policy.specialKind(of: address) else { return nil }
    let spelled = address.description
    return refusal(of: target.host.contains(spelled) ? spelled : "\(target.host) (\(spelled))", kind)
  }

  /// Notes the address that a request is sent to.
  func note(_ address: NetworkAddress) {
    guard proxy == nil, hop == 0, let chain else { return }
    chain.beginning = policy.specialKind(of: address) == nil ? .publicAddress : .privateAddress
  }

  private func refusal(of name: String, _ kind: String) -> String? {
    switch policy.scope {
    case .unrestricted: return nil
    case .publicOnly: return "\(name) is \(kind), and only public addresses may be reached"
    case .asAsked:
      guard hop > 0, let chain, chain.beginning != .privateAddress else { return nil }
      return "a redirect from a public address leads to \(name), \(kind)"
    }
  }

  private var kindBehindProxy: String? {
    let host = target.host
    if let address = NetworkAddress(host: host) { return policy.specialKind(of: address) }
    var name = host
    while name.hasSuffix(".") { name.removeLast() }
    return name == "localhost" || name.hasSuffix(".localhost") ? "a name of this machine" : nil
  }
}

/// The proxy that the environment names for an address, by libcurl's rules. They are followed here, so that it
/// is known which transfers go through one.
enum EnvironmentProxy {
  /// The proxy's address, or `nil` for a direct connection.
  static func address(for target: HTTPTarget, environment: (String) -> String?) -> String? {
    // HTTP_PROXY in capitals is not heeded: a server's CGI programs get it from a request's header "Proxy".
    let names =
      (target.isSecure ? ["https_proxy", "HTTPS_PROXY"] : ["http_proxy"]) + ["all_proxy", "ALL_PROXY"]
    guard let proxy = names.compactMap({ environment($0) }).first(where: { !$0.isEmpty }) else { return nil }
    let exceptions = environment("no_proxy") ?? environment("NO_PROXY") ?? ""
    return isExcepted(target.host, exceptions) ? nil : proxy
  }

  private static func isExcepted(_ host: String, _ exceptions: String) -> Bool {
    let entries = exceptions.split { $0 == "," || $0.isWhitespace }
    if entries == ["*"] { return true }
    guard !entries.isEmpty else { return false }
    if let address = NetworkAddress(host: host) {
      return entries.contains { entry in
        let text = entry.hasPrefix("[") ? String(entry.dropFirst().prefix { $0 != "]" }) : String(entry)
        return AddressPolicy.Network(text)?.contains(address) ?? false
      }
    }
    let host = bare(host[...])
    return entries.contains { entry in
      let name = bare(entry)
      return !name.isEmpty && (host == name || host.hasSuffix("." + name))
    }
  }

  /// In lower case, without dots around it.
  private static func bare(_ name: Substring) -> String {
    var name = name.lowercased()[...]
    while name.hasPrefix(".") { name.removeFirst() }
    while name.hasSuffix(".") { name.removeLast() }
    return String(name)
  }
}
