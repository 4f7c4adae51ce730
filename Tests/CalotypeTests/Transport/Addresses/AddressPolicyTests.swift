import Foundation
import TestSupport
import Testing

@testable import Calotype

/// The address guard between real connections. `127.0.0.2` is told to count as public; `127.0.0.1` is private.
@Suite struct AddressPolicyTests {
  private static let publicHost = "127.0.0.2"

  private func policy(
    _ scope: AddressPolicy.Scope = .publicOnly, proxies: Bool = false, ports: Set<Int>? = nil
  ) throws -> AddressPolicy {
    AddressPolicy(
      scope: scope, ports: ports,
      allowedNetworks: [try #require(AddressPolicy.Network(Self.publicHost))],
      usesEnvironmentProxies: proxies)
  }

  private func transport(
    _ policy: AddressPolicy, lookup: CurlTransport.Lookup? = nil
  ) -> CurlTransport {
    var configuration = CurlTransport.Configuration()
    configuration.addressPolicy = policy
    return CurlTransport(configuration: configuration, lookup: lookup)
  }

  private func outcome(
    _ address: String, on transport: any HTTPTransport
  ) async throws -> Result<Data, HTTPTransportError> {
    let request = HTTPRequest(url: try #require(URL(string: address)))
    do throws(HTTPTransportError) {
      return .success(try await HTTPClient(transport: transport).data(for: request).data)
    } catch {
      return .failure(error)
    }
  }

  private func refusal(_ outcome: Result<Data, HTTPTransportError>) -> String? {
    guard case .failure(let error) = outcome, error.code == .addressRefused else { return nil }
    return error.message
  }

  @Test func everySpellingIsRefusedBeforeAConnectionIsMade() async throws {
    let server = try ScriptedServer { _ in .ok([1]) }
    let transport = transport(.init(scope: .publicOnly))
    for host in [
      "127.0.0.1", "2130706433", "0x7f000001", "0177.0.0.1", "127.1", "localhost", "0.0.0.0", "0",
      "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]",
      "[2002:7f00:1::]", "[fe80::1%25lo]",
    ] {
      let outcome = try await outcome("http://\(host):\(server.port)/", on: transport)
      let message = refusal(outcome)
      #expect(message?.contains("only public addresses") == true, "\(host): \(outcome)")
    }
    #expect(server.connections.isEmpty)
    let message = refusal(try await outcome("http://127.0.0.1:\(server.port)/", on: transport))
    #expect(message == "127.0.0.1 is a loopback address, and only public addresses may be reached")
  }

  @Test func whatAPersonNamedIsAllowed() async throws {
    let server = try ScriptedServer(routes: ["/": [.redirect("/b")], "/b": [.ok([7])]])
    let outcome = try await outcome("http://localhost:\(server.port)/", on: transport(.default))
    #expect(try outcome.get() == Data([7]))
  }

  @Test func aPublicPageDoesNotLeadToAPrivateOne() async throws {
    let hidden = try ScriptedServer { _ in .ok([9]) }
    let open = try ScriptedServer(host: Self.publicHost) { request in
      request.path == "/b" ? .redirect(hidden.url("/").absoluteString) : .redirect("/b")
    }
    for scope in [AddressPolicy.Scope.asAsked, .publicOnly] {
      let outcome = try await outcome(open.url("/").absoluteString, on: transport(try policy(scope)))
      #expect(refusal(outcome)?.contains("127.0.0.1") == true, "\(outcome)")
    }
    #expect(hidden.connections.isEmpty)
    let free = try await outcome(open.url("/").absoluteString, on: transport(try policy(.unrestricted)))
    #expect(try free.get() == Data([9]))
  }

  @Test func whatBeganPrivateMayGoOnToPrivateAndPublicOnes() async throws {
    let other = try ScriptedServer { _ in .ok([9]) }
    let open = try ScriptedServer(host: Self.publicHost) { _ in .redirect(other.url("/").absoluteString) }
    let first = try ScriptedServer { request in
      .redirect((request.path == "/a" ? other.url("/") : open.url("/")).absoluteString)
    }
    let transport = transport(try policy(.asAsked))
    #expect(try await outcome(first.url("/a").absoluteString, on: transport).get() == Data([9]))
    #expect(try await outcome(first.url("/b").absoluteString, on: transport).get() == Data([9]))
  }

  /// The name leads to the public server the first time, and to a private one from then on.
  @Test func aNameThatChangesWhereItLeadsIsRefused() async throws {
    let hidden = try ScriptedServer { _ in .ok([9]) }
    let open = try ScriptedServer(host: Self.publicHost) { _ in [.response(200, body: [1]), .close] }
    let count = Lock(0)
    let transport = transport(try policy()) { host in
      guard host == "changing.test" else { return nil }
      return count.withLock { count in
        count += 1
        return [count == 1 ? Self.publicHost : "127.0.0.1"]
      }
    }
    // The port is the same in both, so that only the address differs.
    #expect(try await outcome("http://changing.test:\(open.port)/", on: transport).get() == Data([1]))
    let second = try await outcome("http://changing.test:\(hidden.port)/", on: transport)
    #expect(refusal(second)?.contains("changing.test (127.0.0.1) is a loopback address") == true, "\(second)")
    #expect(hidden.connections.isEmpty)
  }

  @Test func aNameWithAPrivateAddressAmongOthersIsRefused() async throws {
    let open = try ScriptedServer(host: Self.publicHost) { _ in .ok([1]) }
    let transport = transport(try policy()) { _ in ["127.0.0.1", Self.publicHost] }
    let outcome = try await outcome("http://mixed.test:\(open.port)/", on: transport)
    #expect(refusal(outcome) != nil, "\(outcome)")
    #expect(open.requests.isEmpty)
  }

  /// A connection that a request with more rights has opened is no way around.
  @Test func anOpenConnectionIsNotUsedAgainByWhoMayNot() async throws {
    let server = try ScriptedServer { _ in .ok([1]) }
    let transport = transport(.default)
    #expect(try await outcome(server.url("/").absoluteString, on: transport).get() == Data([1]))
    var request = HTTPRequest(url: server.url("/"))
    request.addressPolicy = .init(scope: .publicOnly)
    let error = await #expect(throws: HTTPTransportError.self) { try await transport.data(for: request) }
    #expect(error?.code == .addressRefused)
    #expect(server.requests.count == 1)
  }

  @Test func onlyTheNamedPortsAreReached() async throws {
    let server = try ScriptedServer(host: Self.publicHost) { _ in .ok([1]) }
    let refused = try await outcome(
      server.url("/").absoluteString, on: transport(try policy(ports: [80, 443])))
    #expect(refusal(refused)?.contains("only 80, 443") == true, "\(refused)")
    #expect(server.connections.isEmpty)
    let allowed = try await outcome(
      server.url("/").absoluteString, on: transport(try policy(ports: [Int(server.port)])))
    #expect(try allowed.get() == Data([1]))
  }

  /// The check of what goes through a proxy, which hides the address.
  @Test(
    arguments: [
      ("http://192.168.1.1/", 0, "a private address"), ("http://0xc0a80101/", 0, "a private address"),
      ("http://localhost/", 0, "a name of this machine"),
      ("http://a.LOCALHOST./", 0, "a name of this machine"),
      ("http://example.com/", 0, nil), ("http://8.8.8.8/", 0, nil),
    ] as [(String, Int, String?)])
  func behindAProxyWhatCanBeToldIsRefused(address: String, hop: Int, reason: String?) throws {
    let request = HTTPRequest(url: try #require(URL(string: address)))
    let check = AddressCheck(
      request, try HTTPTarget.parse(request.url).get(), policy: try policy(proxies: true),
      environment: { $0 == "http_proxy" ? "http://127.0.0.1:3128" : nil })
    #expect(check.proxy != nil)
    let refusal = check.refusalToBegin()
    #expect((refusal == nil) == (reason == nil), "\(refusal ?? "allowed")")
    if let reason { #expect(refusal?.contains(reason) == true) }
    // The proxy itself may be anywhere.
    #expect(check.refusal(of: NetworkAddress(bytes: [127, 0, 0, 1])) == nil)
  }

  @Test func aChainThatBeganBehindAProxyStaysPublic() throws {
    var request = HTTPRequest(url: try #require(URL(string: "http://example.com/")))
    request.redirectChain = RedirectChain()
    func check() throws -> AddressCheck {
      AddressCheck(
        request, try HTTPTarget.parse(request.url).get(), policy: .default,
        environment: { $0 == "http_proxy" ? "p" : nil })
    }
    #expect(try check().refusalToBegin() == nil)
    request.url = try #require(URL(string: "http://169.254.169.254/"))
    request.redirectHop = 1
    #expect(try check().refusalToBegin()?.contains("a redirect from a public address leads to") == true)
  }

  @Test func noProxyIsAskedUnlessThePolicySaysSo() throws {
    let request = HTTPRequest(url: try #require(URL(string: "http://example.com/")))
    let target = try HTTPTarget.parse(request.url).get()
    #expect(AddressCheck(request, target, policy: .untrusted, environment: { _ in "p" }).proxy == nil)
    #expect(AddressCheck(request, target, policy: .default, environment: { _ in "p" }).proxy == "p")
  }

  // MARK: Through the pipeline

  /// A redirect that the cache answers tells nothing of the address that gave it, so the way is asked anew.
  @Test func aStoredRedirectDoesNotLeadToAPrivateAddress() async throws {
    let hidden = try HTTPFixture { _ in .ok([9]) }
    let open = try ScriptedServer(host: Self.publicHost) { _ in
      .redirect(hidden.url("/secret").absoluteString, headers: [("Cache-Control", "max-age=600")])
    }
    let policy = try policy(.asAsked)
    for round in 1...2 {
      let pipeline = hidden.pipeline { $0.addressPolicy = policy }
      let task = pipeline.task(for: open.url("/"))
      #expect(await task.outcome.errorCode == "address_refused")
      await pipeline.flush()
      hidden.cache().flush()
      #expect(open.requests.count >= round)
    }
    #expect(hidden.server.connections.isEmpty)
    // From a private address it goes on, also when the redirect is stored.
    let inside = try ScriptedServer { _ in
      .redirect(hidden.url("/x").absoluteString, headers: [("Cache-Control", "max-age=600")])
    }
    for _ in 1...2 {
      let pipeline = hidden.pipeline { $0.addressPolicy = policy }
      _ = await pipeline.task(for: inside.url("/")).outcome
      await pipeline.flush()
    }
    #expect(hidden.server.requests.count == 2)
    #expect(inside.requests.count == 1)
  }

  /// Each hop has its own caching, also where addresses are private: what is stored is not asked for again.
  @Test func aStoredRedirectOfTheSameHostIsFollowed() async throws {
    let fixture = try HTTPFixture { request in
      switch request.path {
      case "/a": .redirect("/b", headers: [("Cache-Control", "max-age=600")])
      case "/b": .redirect("/c")
      default: .ok([9], headers: [("Cache-Control", "max-age=600")])
      }
    }
    // What the last leads to is known only once it is asked.
    let lookup: CurlTransport.Lookup = { $0 == "named.test" ? ["127.0.0.1"] : nil }
    for host in ["127.0.0.1", "localhost", "named.test"] {
      let address = "http://\(host):\(fixture.server.port)/a"
      for round in 1...2 {
        let before = fixture.server.requests.count
        let exchange = CachedExchange(
          request: HTTPRequest(url: try #require(URL(string: address))), mode: .default,
          cache: fixture.cache())
        var effort = CachedExchange.Effort()
        let outcome = try await exchange.run(
          on: transport(try policy(.asAsked), lookup: lookup), effort: &effort)
        #expect(outcome?.body == Data([9]))
        let asked = fixture.server.requests.dropFirst(before).map(\.path)
        #expect(asked == (round == 1 ? ["/a", "/b", "/c"] : ["/b"]), "\(address)")
      }
    }
  }

  @Test func whatIsStoredForOthersIsNotShownToWhoMayReachPublicAddressesOnly() async throws {
    let picture = try ServedPicture.png()
    let fixture = try HTTPFixture { _ in .ok(picture, headers: [("Cache-Control", "max-age=600")]) }
    let pipeline = fixture.pipeline(memory: true) { $0.diskStorage = .all }
    let size = TargetSize(width: 8, height: 8)
    _ = try await pipeline.image(for: ImageRequest(url: fixture.url("/a"), targetSize: size))
    await pipeline.flush()
    for strict in [pipeline, fixture.pipeline { $0.addressPolicy = .init(scope: .publicOnly) }] {
      let request = ImageRequest(
        url: fixture.url("/a"), targetSize: size, addressPolicy: .init(scope: .publicOnly))
      #expect(await strict.task(for: request).outcome.errorCode == "address_refused")
    }
    let strict = fixture.pipeline { $0.addressPolicy = .init(scope: .publicOnly) }
    #expect(
      await strict.task(for: ImageRequest(url: fixture.url("/a"), targetSize: size)).outcome.errorCode
        == "address_refused")
    #expect(fixture.server.requests.count == 1)
  }

  /// Each policy has what it fetched to itself, but for the order and the spelling of the same.
  @Test func policiesThatReachDifferentPlacesShareNothing() throws {
    let local = try #require(AddressPolicy.Network("127.0.0.0/8"))
    let other = try #require(AddressPolicy.Network("10.0.0.0/8"))
    let policies = [
      AddressPolicy.default, .untrusted, .init(scope: .unrestricted), .init(scope: .publicOnly),
      .init(scope: .publicOnly, ports: [443]), .init(scope: .publicOnly, allowedNetworks: [local]),
      .init(scope: .publicOnly, allowedNetworks: [local, other]), .init(allowedNetworks: [local]),
      .init(ports: [80]),
    ]
    #expect(Set(policies.map(\.cachePartition)).count == policies.count)
    #expect(AddressPolicy.default.cachePartition.isEmpty)
    let spelled = try #require(AddressPolicy.Network("127.1.2.3/8"))
    #expect(
      AddressPolicy(allowedNetworks: [other, spelled, local]).cachePartition
        == AddressPolicy(allowedNetworks: [local, other]).cachePartition)
  }

  @Test func whatAWiderPolicyFetchedIsNotShownToANarrowerOne() async throws {
    let picture = try ServedPicture.png()
    let fixture = try HTTPFixture { _ in .ok(picture, headers: [("Cache-Control", "max-age=600")]) }
    let network = try #require(AddressPolicy.Network("127.0.0.0/8"))
    let pipeline = fixture.pipeline(memory: true)
    let size = TargetSize(width: 8, height: 8)
    func outcome(_ policy: AddressPolicy) async -> String? {
      let request = ImageRequest(url: fixture.url("/a"), targetSize: size, addressPolicy: policy)
      return await pipeline.task(for: request).outcome.errorCode
    }
    #expect(await outcome(.init(scope: .publicOnly, allowedNetworks: [network])) == nil)
    await pipeline.flush()
    #expect(await outcome(.init(scope: .publicOnly)) == "address_refused")
    #expect(await outcome(.untrusted) == "address_refused")
    #expect(fixture.server.requests.count == 1)
  }

  /// A file keeps its version in its key whatever the policy, and is found again.
  @Test func aFileIsKeptUnderEachPolicyThatMayReadIt() async throws {
    let fixture = try HTTPFixture { _ in .status(404) }
    let file = try fixture.folder.write(Data(try ServedPicture.png()), to: "picture.png")
    let pipeline = fixture.pipeline(memory: true)
    for policy in [AddressPolicy.default, .init(scope: .unrestricted), .init(ports: [80])] {
      let request = ImageRequest(url: file, addressPolicy: policy)
      for expected in [ImageResponse.Source.local, .memory] {
        let source = try await pipeline.task(for: request).outcome.get().source
        #expect(source == expected, "\(policy)")
      }
    }
  }

  /// A list may name a file as well as an address.
  @Test func aFileOfThisMachineIsRefused() async throws {
    let fixture = try HTTPFixture { _ in .status(404) }
    let file = try fixture.folder.write(Data(try ServedPicture.png()), to: "picture.png")
    let trusted = fixture.pipeline()
    #expect(await trusted.task(for: file).outcome.errorCode == nil)
    await trusted.flush()
    for strict in [fixture.pipeline { $0.addressPolicy = .untrusted }, trusted] {
      let request = ImageRequest(url: file, addressPolicy: .untrusted)
      #expect(await strict.task(for: request).outcome.errorCode == "address_refused")
      await #expect(throws: ImagePipeline.Error.self) { try await strict.data(for: request) }
    }
  }

  /// Whoever signs requests may make them anew; they stay hops of their chain.
  @Test func aDelegatesNewRequestKeepsThePolicy() async throws {
    final class Renewing: ImagePipelineDelegate {
      func imagePipeline(
        _ pipeline: ImagePipeline, willSend request: HTTPRequest, for imageRequest: ImageRequest
      ) async throws -> HTTPRequest { HTTPRequest(url: request.url) }
    }
    let fixture = try HTTPFixture { _ in .ok([9]) }
    let open = try ScriptedServer(host: Self.publicHost) { _ in .redirect(fixture.url("/").absoluteString) }
    let policy = try policy(.asAsked)
    let pipeline = fixture.pipeline { $0.addressPolicy = policy }
    let delegate = Renewing()
    pipeline.delegate = delegate
    #expect(await pipeline.task(for: open.url("/")).outcome.errorCode == "address_refused")
    withExtendedLifetime(delegate) {}
    #expect(fixture.server.connections.isEmpty)
  }
}
