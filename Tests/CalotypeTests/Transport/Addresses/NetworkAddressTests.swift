import Foundation
import Testing

@testable import Calotype

@Suite struct NetworkAddressTests {
  /// A row a range: an address in it, at both of its ends where they differ.
  @Test(arguments: [
    ("0.0.0.0", "unspecified"), ("0.255.255.255", "unspecified"),
    ("10.0.0.0", "private"), ("10.255.255.255", "private"),
    ("100.64.0.0", "CGNAT"), ("100.127.255.255", "CGNAT"),
    ("127.0.0.1", "loopback"), ("127.255.255.254", "loopback"),
    ("169.254.0.0", "link-local"), ("169.254.169.254", "link-local"),
    ("172.16.0.0", "private"), ("172.31.255.255", "private"),
    ("192.0.0.8", "reserved"), ("192.0.2.1", "documentation"), ("192.88.99.1", "6to4"),
    ("192.168.0.0", "private"), ("192.168.255.255", "private"),
    ("198.18.0.0", "benchmarking"), ("198.19.255.255", "benchmarking"),
    ("198.51.100.7", "documentation"), ("203.0.113.255", "documentation"),
    ("224.0.0.1", "multicast"), ("239.255.255.255", "multicast"),
    ("240.0.0.1", "reserved"), ("255.255.255.255", "reserved"),
    ("::", "unspecified"), ("::1", "loopback"), ("::2", "IPv4-compatible"), ("::7f00:1", "IPv4-compatible"),
    ("::ffff:127.0.0.1", "mapped"), ("::ffff:8.8.8.8", "mapped"), ("::ffff:0:127.0.0.1", "translated"),
    ("64:ff9b::7f00:1", "NAT64"), ("64:ff9b::10.1.2.3", "NAT64"), ("64:ff9b:1::1", "NAT64"),
    ("100::1", "discard"), ("2001::1", "Teredo"), ("2001:0:53aa:64c::1", "Teredo"),
    ("2001:10::1", "reserved"), ("2001:db8::1", "documentation"), ("2002:7f00:1::", "6to4"),
    ("2002:808:808::1", "6to4"), ("3fff::1", "documentation"), ("4000::1", "reserved"),
    ("5f00::1", "reserved"), ("fc00::1", "unique-local"), ("fdff:ffff::1", "unique-local"),
    ("fe80::1", "link-local"), ("febf::1", "link-local"), ("fec0::1", "site-local"), ("ff02::1", "multicast"),
    ("ffff::1", "multicast"), ("8000::1", "reserved"),
  ])
  func isNotPublic(text: String, kind: String) throws {
    let address = try #require(NetworkAddress(canonical: text))
    #expect(address.specialKind?.contains(kind) == true, "\(text): \(address.specialKind ?? "public")")
  }

  @Test(arguments: [
    "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255",
    "128.0.0.1", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.0.3.0",
    "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255", "2000::1",
    "2001:200::1", "2001:4860:4860::8888", "2003::1", "2606:4700::1111", "2a00:1450::1", "3ffe::1",
    "64:ff9b::8.8.8.8",
  ])
  func isPublic(text: String) throws {
    #expect(try #require(NetworkAddress(canonical: text)).specialKind == nil, "\(text)")
  }

  @Test(arguments: [
    ("127.0.0.1", "127.0.0.1"), ("2130706433", "127.0.0.1"), ("0x7f000001", "127.0.0.1"),
    ("0x7F.1", "127.0.0.1"), ("0177.0.0.1", "127.0.0.1"), ("017700000001", "127.0.0.1"),
    ("127.1", "127.0.0.1"), ("127.0.1", "127.0.0.1"), ("0", "0.0.0.0"), ("10.1", "10.0.0.1"),
    ("127.0.0.1.", "127.0.0.1"), ("[::1]", "::1"), ("[0:0:0:0:0:0:0:1]", "::1"),
    ("[::ffff:7f00:1]", "::ffff:127.0.0.1"), ("[fe80::1%25eth0]", "fe80::1"), ("[FE80::1%1]", "fe80::1"),
  ])
  func everySpellingIsRead(host: String, canonical: String) {
    #expect(NetworkAddress(host: host)?.description == canonical)
  }

  @Test(arguments: ["localhost", "example.com", "1.2.3.4.5", "0x", "a.1", "", ".", "[", "[::1", "1e3"])
  func aNameIsNoNumber(host: String) { #expect(NetworkAddress(host: host) == nil) }

  @Test func networksAreReadAndCompared() throws {
    let network = try #require(AddressPolicy.Network("10.1.0.0/15"))
    #expect(network.contains(try #require(NetworkAddress(canonical: "10.0.255.255"))))
    #expect(network.contains(try #require(NetworkAddress(canonical: "10.1.255.255"))))
    #expect(!network.contains(try #require(NetworkAddress(canonical: "10.2.0.0"))))
    #expect(!network.contains(try #require(NetworkAddress(canonical: "a01::"))))
    let one = try #require(AddressPolicy.Network("fd00::1"))
    #expect(one.contains(try #require(NetworkAddress(canonical: "fd00::1"))))
    #expect(!one.contains(try #require(NetworkAddress(canonical: "fd00::2"))))
    for text in ["", "/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/", "10/8", "::/129", "name/8"] {
      #expect(AddressPolicy.Network(text) == nil, "\(text)")
    }
  }

  @Test(
    arguments: [
      ("http://a.test/", ["http_proxy": "p"], "p"), ("http://a.test/", ["HTTP_PROXY": "p"], nil),
      ("https://a.test/", ["HTTPS_PROXY": "p"], "p"), ("https://a.test/", ["http_proxy": "p"], nil),
      ("http://a.test/", ["all_proxy": "p"], "p"),
      ("http://a.test/", ["http_proxy": "", "ALL_PROXY": "q"], "q"),
      ("http://a.test/", ["http_proxy": "p", "no_proxy": "*"], nil),
      ("http://a.test/", ["http_proxy": "p", "no_proxy": "b.test, .TEST"], nil),
      ("http://a.test./", ["http_proxy": "p", "NO_PROXY": "a.test"], nil),
      ("http://xa.test/", ["http_proxy": "p", "no_proxy": "a.test"], "p"),
      ("http://10.1.2.3/", ["http_proxy": "p", "no_proxy": "10.0.0.0/8"], nil),
      ("http://11.1.2.3/", ["http_proxy": "p", "no_proxy": "10.0.0.0/8"], "p"),
      ("http://[fd00::1]:8080/", ["http_proxy": "p", "no_proxy": "[fd00::1]"], nil),
    ] as [(String, [String: String], String?)])
  func theEnvironmentsProxyIsFound(address: String, environment: [String: String], proxy: String?) throws {
    let target = try HTTPTarget.parse(try #require(URL(string: address))).get()
    #expect(EnvironmentProxy.address(for: target, environment: { environment[$0] }) == proxy)
  }

  @Test(arguments: [
    ("http://a/", 80), ("https://a/", 443), ("http://a:8080/", 8080), ("http://[::1]/", 80),
    ("http://[::1]:81/", 81), ("http://u:p@a:82/", 82), ("http://a:/", 80),
  ])
  func thePortIsRead(address: String, port: Int) throws {
    #expect(try HTTPTarget.parse(try #require(URL(string: address))).get().port == port)
  }
}
