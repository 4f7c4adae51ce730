#if DEBUG
  import Foundation

  @testable import Calotype

  extension Trial {
    private static let now = 1_800_000_000.0

    /// Bytes that are an entry by chance or by a writer's mistake; and the metadata behind a checksum that holds.
    mutating func cacheEntry(_ bytes: [UInt8]) {
      bytes.withUnsafeBytes { bytes in
        if case .entry(_, let body) = EntryFormat.read(bytes, key: nil) {
          expect(body.lowerBound >= 0 && body.upperBound <= bytes.count, "the body \(body) lies outside")
        }
        guard let metadata = MetadataCoding.decode(bytes) else { return }
        let again = MetadataCoding.encode(metadata).withUnsafeBytes { MetadataCoding.decode($0) }
        // What is no number is unequal to itself.
        if metadata.requestTime == metadata.requestTime, metadata.responseTime == metadata.responseTime,
          metadata.expires == metadata.expires
        {
          expect(again == metadata, "metadata are others after writing and reading")
        }
      }
      // The checksums made right, so that what is behind them is reached.
      guard bytes.count > 3 else { return }
      let key = Int(bytes[0]) % bytes.count, length = Int(bytes[1]) % bytes.count
      let body = bytes.suffix(from: min(2 + key, bytes.count))
      let trailer = Array(bytes[2..<min(2 + key, bytes.count)])
      let header = EntryFormat.Header(
        keyLength: min(length, trailer.count), metadataLength: trailer.count - min(length, trailer.count),
        bodyLength: body.count, bodyHash: Array(body).withUnsafeBytes { EntryFormat.hash($0) },
        trailerHash: trailer.withUnsafeBytes { EntryFormat.hash($0) })
      let file = EntryFormat.encode(header) + body + trailer
      file.withUnsafeBytes { _ = EntryFormat.read($0, key: nil) }
    }

    mutating func cacheControl(_ bytes: [UInt8]) {
      let text = String(decoding: bytes, as: UTF8.self)
      _ = CacheControl(text)
      if let seconds = HTTPDate.parse(text, now: Self.now) {
        expect(
          HTTPDate.parse(HTTPDate.format(seconds), now: Self.now) == seconds,
          "\(seconds) is another date when read")
      }
      let fields = headers(bytes)
      let caching = HTTPCachingFields(fields)
      for status in [200, 404, 206, 304] {
        let lifetime = caching.lifetime(
          status: status, responseTime: Self.now, now: Self.now, heuristicFraction: 0.1,
          maximumHeuristicLifetime: 86_400)
        expect(lifetime.seconds >= 0, "a lifetime of \(lifetime.seconds)")
        expect(lifetime.seconds <= 2_147_483_648, "a lifetime of \(lifetime.seconds)")
      }
      for later in [0, 1, 1e9] {
        let age = caching.currentAge(requestTime: Self.now - 1, responseTime: Self.now, now: Self.now + later)
        expect(age >= later, "an age of \(age) after \(later) s")
      }
      expect(
        caching.currentAge(requestTime: Self.now, responseTime: Self.now, now: Self.now - 1) == .infinity,
        "an age before its time")
      if let wait = RetryPolicy.retryAfter(fields, now: Self.now) { expect(wait >= 0, "a wait of \(wait)") }
      let vary = HTTPVary(fields)
      _ = vary.variantKey(for: fields)
      expect(
        vary.matches(fields, stored: fields) || vary == .anything, "a request that does not match itself")
      var request = HTTPRequest(url: URL(fileURLWithPath: "/"), headers: fields)
      if let url = URL(string: "http://h/a") { request.url = url }
      let policy = HTTPCachePolicy()
      let head = HTTPResponseHead(url: request.url, status: 200, headers: fields)
      let storage = policy.storage(
        of: head, for: request, mode: .default, requestTime: Self.now, responseTime: Self.now,
        body: .init(length: 10))
      guard let metadata = storage.metadata else { return }
      expect(!CacheControl(fields).flags.contains(.noStore), "no-store is stored")
      let stored = StoredHTTPResponse(metadata: metadata, bodyLength: 10)
      for mode in ImageRequest.CachePolicy.allCases {
        _ = policy.decision(for: request, stored: [stored], mode: mode, now: Self.now + 5)
      }
    }

    mutating func contentRange(_ bytes: [UInt8]) {
      let text = String(decoding: bytes, as: UTF8.self)
      if let range = ContentRange(text) {
        expect(ContentRange(range.text) == range, "\(range.text) is another range when read")
        if let bytes = range.bytes, let total = range.total {
          expect(bytes.upperBound <= total, "\(range.text) reaches over its end")
        }
      }
      if case .single(let range) = ByteRange.request(text) {
        for length in [0, 1, 1000, Int.max] {
          guard let resolved = range.resolve(length: length) else { continue }
          expect(
            resolved.lowerBound >= 0 && resolved.upperBound <= length && !resolved.isEmpty,
            "\(resolved) of \(length)")
        }
      }
      _ = EntityTag(text)
      _ = EntityTag.list([text])
      let fields = headers(bytes)
      _ = ByteRange.request(in: fields)
      for kind in [DataCacheMetadata.Kind.partial, .original] {
        let metadata = DataCacheMetadata(
          kind: kind, url: "http://h/a", status: 206, headers: fields, requestTime: 1, responseTime: 1)
        let stored = StoredHTTPResponse(metadata: metadata, bodyLength: 500)
        guard let base = ResumePolicy.Base(stored) else { continue }
        expect(base.offset > 0 && base.offset <= 500, "it goes on at \(base.offset) of 500")
        if let url = URL(string: "http://h/a") {
          let head = HTTPResponseHead(url: url, status: 206, headers: fields)
          if case .append(let end, let total) = ResumePolicy.answer(head, to: base) {
            expect(total.map { end <= $0 } ?? true, "an end behind the whole")
          }
        }
      }
    }

    mutating func responseHead(_ bytes: [UInt8]) {
      var parser = CurlResponseHeadParser()
      parser.reset()
      var count = 0
      for line in bytes.split(separator: 0x0A, omittingEmptySubsequences: false) {
        let step = Array(line + [0x0A]).withUnsafeBytes { parser.consume($0) }
        switch step {
        case .more: continue
        case .notHTTP: return
        case .complete(let status, let headers):
          count += 1
          expect(count == 1, "two heads of one response")
          expect(status >= 0 && status < 1_000_000, "status \(status)")
          for field in headers.fields {
            expect(!field.name.utf8.contains(0x0A), "a name with a line break")
            expect(!field.value.utf8.contains(0x0A), "a value with a line break")
          }
          guard let url = URL(string: "https://h/a/b?c") else { return }
          let head = HTTPResponseHead(url: url, status: status, headers: headers)
          _ = head.contentLength
          _ = try? HTTPRedirect.next(after: HTTPRequest(url: url), response: head, options: .init())
        }
      }
    }

    mutating func address(_ bytes: [UInt8]) {
      let text = String(decoding: bytes, as: UTF8.self)
      let normal = ImageRequest.normalizedAddress(text)
      expect(ImageRequest.normalizedAddress(normal) == normal, "normalised again it is another: \(normal)")
      _ = ImageRequest.host(ofAddress: normal)
      if let address = NetworkAddress(host: text) {
        expect(NetworkAddress(canonical: address.description) == address, "\(address) is another when read")
        _ = address.specialKind
      }
      if let network = AddressPolicy.Network(text) {
        expect(
          NetworkAddress(canonical: String(text.prefix { $0 != "/" })).map(network.contains) == true,
          "\(text) does not hold its own address")
      }
      guard let url = URL(string: text) else { return }
      let key = ImageRequest.addressKey(for: url, headers: [])
      if !LocalSource.isLocal(text) {
        let normal = ImageRequest.normalizedAddress(url.absoluteString)
        if let same = URL(string: normal) {
          expect(ImageRequest.addressKey(for: same, headers: []) == key, "another key for the same address")
        }
      }
      if case .success(let target) = HTTPTarget.parse(url) {
        expect(!target.host.isEmpty, "an address without a host")
        _ = target.port
        _ = HTTPRedirect.origin(url)
        _ = EnvironmentProxy.address(for: target) { $0 == "no_proxy" ? text : "p" }
      }
      guard let base = URL(string: "http://127.0.0.1:80/a") else { return }
      let head = HTTPResponseHead(url: base, status: 302, headers: ["Location": text])
      if let next = try? HTTPRedirect.next(after: HTTPRequest(url: base), response: head, options: .init()) {
        expect(["http", "https"].contains(next.url.scheme?.lowercased()), "a redirect to \(next.url)")
      }
    }
  }
#endif
