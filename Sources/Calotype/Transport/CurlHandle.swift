import CCurl
import Foundation

/// One easy handle of libcurl's with what its callbacks need. Handles are used again for other transfers;
/// they live on the engine's thread alone.
final class CurlHandle {
  let easy: UnsafeMutableRawPointer
  private unowned let loop: CurlLoop
  private var addressCheck: AddressCheck?
  private var lookupList: UnsafeMutablePointer<curl_slist>?
  private let errorText: UnsafeMutablePointer<CChar>
  private var headerList: UnsafeMutablePointer<curl_slist>?

  /// The transfer under way.
  private(set) var transfer: CurlTransfer?
  /// Where the handle is in the loop's list of running ones.
  var position = 0
  private var queued = 0.0
  private var startedAt: UInt64 = 0
  private var lastActivity: UInt64 = 0
  private var bytesSent: Int = 0

  private var head = CurlResponseHeadParser()
  private var bodyByteCount = 0
  private var headerByteCount = 0
  /// Why a callback ended the transfer, where one did.
  private var failure: HTTPTransportError?
  /// Why there was no socket for a connection, where there was no descriptor left for one.
  private var shortage: Int32?

  init?(loop: CurlLoop) {
    guard let easy = curl_easy_init() else { return nil }
    self.easy = easy
    self.loop = loop
    errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
    errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
  }

  deinit {
    curl_easy_cleanup(easy)
    curl_slist_free_all(headerList)
    curl_slist_free_all(lookupList)
    errorText.deallocate()
  }

  // MARK: Setting up

  func begin(_ transfer: CurlTransfer, at now: UInt64, queued: Double) {
    self.transfer = transfer
    self.queued = queued
    startedAt = now
    lastActivity = now
    bytesSent = 0
    bodyByteCount = 0
    headerByteCount = 0
    failure = nil
    shortage = nil
    errorText[0] = 0
    head.reset()
  }

  /// Lets go of the transfer, so that the handle can wait for another.
  func clear() {
    transfer = nil
    failure = nil
    head.reset()
    // Also closes nothing: connections belong to the multi handle.
    curl_easy_reset(easy)
    curl_slist_free_all(headerList)
    headerList = nil
    curl_slist_free_all(lookupList)
    lookupList = nil
    addressCheck = nil
  }

  func prepare(
    configuration: CurlTransport.Configuration, lookup: CurlTransport.Lookup?
  ) throws(HTTPTransportError) {
    guard let transfer else { return }
    let request = transfer.request
    let target = try transfer.target.get()
    let check = AddressCheck(
      request, target, policy: request.addressPolicy ?? configuration.addressPolicy,
      environment: { getenv($0).map { String(cString: $0) } })
    if let refusal = check.refusalToBegin() {
      throw HTTPTransportError(.addressRefused, url: request.url, message: refusal)
    }
    addressCheck = check
    let context = Unmanaged.passUnretained(self).toOpaque()
    set(CURLOPT_ERRORBUFFER, errorText)
    set(CURLOPT_PRIVATE, context)
    set(CURLOPT_NOSIGNAL, 1)
    // Without it, a cancel during a slow name look-up waits for the look-up.
    set(CURLOPT_QUICK_EXIT, 1)
    set(CURLOPT_PROTOCOLS_STR, "http,https")
    set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
    set(CURLOPT_BUFFERSIZE, 64 << 10)
    set(CURLOPT_CONNECTTIMEOUT_MS, max(1, Int(clampedMilliseconds: configuration.connectTimeout)))
    if target.isSecure {
      set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS)
      // Waits to learn whether a new connection can carry several requests. Not for cleartext, where it
      // never can and the wait would make the first requests to a host go one after the other.
      set(CURLOPT_PIPEWAIT, 1)
      if let path = configuration.certificateAuthoritiesPath { set(CURLOPT_CAINFO, path) }
    } else {
      set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1)
    }
    // The empty text asks for every coding that this libcurl can undo.
    if request.decodesContentEncoding { set(CURLOPT_ACCEPT_ENCODING, "") }
    calotype_curl_set_data_function(easy, CURLOPT_HEADERFUNCTION, CurlHandle.headerFunction)
    set(CURLOPT_HEADERDATA, context)
    calotype_curl_set_data_function(easy, CURLOPT_WRITEFUNCTION, CurlHandle.writeFunction)
    set(CURLOPT_WRITEDATA, context)
    setSocketFunctions(context)
    // Which proxy it is, has been decided already: whoever decides has to be one.
    set(CURLOPT_PROXY, check.proxy ?? "")
    set(CURLOPT_NOPROXY, "")
    if let lookup { setLookup(lookup, target) }
    setMethod(request)
    setHeaders(request)
    guard calotype_curl_set_string(easy, CURLOPT_URL, target.address) == CURLE_OK else {
      throw HTTPTransportError(.invalidAddress, url: request.url, message: "the address cannot be used")
    }
  }

  func attach(to multi: UnsafeMutableRawPointer?) throws(HTTPTransportError) {
    let code = curl_multi_add_handle(multi, easy)
    guard code != CURLM_OK, let transfer else { return }
    throw HTTPTransportError(
      .other, url: transfer.request.url, message: String(cString: curl_multi_strerror(code)))
  }

  private func set(_ option: CURLoption, _ value: Int) { _ = calotype_curl_set_long(easy, option, value) }
  private func set(_ option: CURLoption, _ value: String) {
    _ = calotype_curl_set_string(easy, option, value)
  }
  private func set(_ option: CURLoption, _ value: UnsafeMutableRawPointer) {
    _ = calotype_curl_set_pointer(easy, option, value)
  }

  private func setMethod(_ request: HTTPRequest) {
    if let body = request.body {
      set(CURLOPT_POST, 1)
      _ = calotype_curl_set_offset(easy, CURLOPT_POSTFIELDSIZE_LARGE, body.count)
      body.withUnsafeBytes { bytes in
        // An empty body has no address; libcurl then wants any text.
        _ = calotype_curl_set_bytes(
          easy, CURLOPT_COPYPOSTFIELDS, bytes.baseAddress ?? UnsafeRawPointer(errorText))
      }
      if request.method != "POST" { set(CURLOPT_CUSTOMREQUEST, request.method) }
    } else if request.method == "HEAD" {
      set(CURLOPT_NOBODY, 1)
    } else if request.method == "POST" {
      set(CURLOPT_POST, 1)
      _ = calotype_curl_set_offset(easy, CURLOPT_POSTFIELDSIZE_LARGE, 0)
    } else if request.method != "GET" {
      set(CURLOPT_CUSTOMREQUEST, request.method)
    }
  }

  private func setHeaders(_ request: HTTPRequest) {
    var hasAccept = false
    var hasContentType = false
    for field in request.headers.fields {
      if field.name.equalsIgnoringASCIICase("Accept") { hasAccept = true }
      if field.name.equalsIgnoringASCIICase("Content-Type") { hasContentType = true }
      // How the body is framed is HTTP's own business: a wrong length would break the connection for
      // whoever uses it next.
      if field.name.equalsIgnoringASCIICase("Content-Length") { continue }
      if field.name.equalsIgnoringASCIICase("Transfer-Encoding") { continue }
      addHeaderLine(field.value.isEmpty ? "\(field.name);" : "\(field.name): \(field.value)")
    }
    // A name and nothing else takes out what libcurl would send by itself.
    if !hasAccept { addHeaderLine("Accept:") }
    if request.body != nil || request.method == "POST" {
      if !hasContentType { addHeaderLine("Content-Type:") }
      addHeaderLine("Expect:")
    }
    _ = calotype_curl_set_list(easy, CURLOPT_HTTPHEADER, headerList)
  }

  private func addHeaderLine(_ line: String) {
    if let list = curl_slist_append(headerList, line) { headerList = list }
  }

  /// Checks what libcurl would pass on as it is.
  static func validate(_ request: HTTPRequest) throws(HTTPTransportError) {
    guard !request.method.isEmpty, request.method.utf8.allSatisfy(\.isHTTPTokenByte) else {
      throw HTTPTransportError(.invalidHeader, url: request.url, message: "the method is not a token")
    }
    for field in request.headers.fields {
      guard !field.name.isEmpty, field.name.utf8.allSatisfy(\.isHTTPTokenByte) else {
        throw HTTPTransportError(
          .invalidHeader, url: request.url,
          message: "the header name “\(field.name.debugDescription.dropFirst().dropLast())” is not a token")
      }
      if field.value.utf8.contains(where: { $0 == 0 || $0 == 10 || $0 == 13 }) {
        throw HTTPTransportError(
          .invalidHeader, url: request.url,
          message: "the value of the header \(field.name) holds a line break or a NUL")
      }
    }
  }

  // MARK: Callbacks

  private static let headerFunction:
    @convention(c) (
      UnsafeMutablePointer<CChar>?, Int, Int, UnsafeMutableRawPointer?
    ) -> Int = { bytes, size, count, context in
      guard let bytes, let context else { return 0 }
      let handle = Unmanaged<CurlHandle>.fromOpaque(context).takeUnretainedValue()
      return handle.receiveHeaderLine(UnsafeRawBufferPointer(start: bytes, count: size * count))
        ? size * count : -1
    }

  private static let writeFunction:
    @convention(c) (
      UnsafeMutablePointer<CChar>?, Int, Int, UnsafeMutableRawPointer?
    ) -> Int = { bytes, size, count, context in
      guard let bytes, let context else { return 0 }
      let handle = Unmanaged<CurlHandle>.fromOpaque(context).takeUnretainedValue()
      return handle.receiveBody(UnsafeRawBufferPointer(start: bytes, count: size * count)) ? size * count : -1
    }

  private func receiveHeaderLine(_ line: UnsafeRawBufferPointer) -> Bool {
    guard let transfer, !transfer.isCancelled else { return false }
    lastActivity = loop.now
    headerByteCount += line.count
    let request = transfer.request
    guard headerByteCount <= loop.maximumHeaderSize else {
      return fail(.badResponse, "the response's headers are larger than \(loop.maximumHeaderSize) bytes")
    }
    switch head.consume(line) {
    case .more: return true
    case .notHTTP: return fail(.badResponse, "the response does not start with an HTTP status")
    case .complete(let status, let headers):
      let head = HTTPResponseHead(url: request.url, status: status, headers: headers)
      if request.method != "HEAD", status != 304, head.hasConflictingLengths {
        return fail(.badResponse, "the response names more than one length")
      }
      if let length = head.decodedLength(for: request), length > request.maximumResponseSize,
        request.method != "HEAD", status != 304
      {
        return failTooLarge()
      }
      transfer.receiver?.didReceive(head)
      return true
    }
  }

  private func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let transfer, !transfer.isCancelled else { return false }
    lastActivity = loop.now
    bodyByteCount += bytes.count
    guard bodyByteCount <= transfer.request.maximumResponseSize else { return failTooLarge() }
    transfer.receiver?.didReceive(bytes)
    return true
  }

  private func failTooLarge() -> Bool {
    fail(.responseTooLarge, "the response is larger than \(transfer?.request.maximumResponseSize ?? 0) bytes")
  }

  private func fail(_ code: HTTPTransportError.Code, _ message: String) -> Bool {
    if let transfer { failure = HTTPTransportError(code, url: transfer.request.url, message: message) }
    return false
  }

  // MARK: Address guard

  private func setSocketFunctions(_ context: UnsafeMutableRawPointer) {
    // libcurl's own sockets would be inherited by every program that this one starts, which would keep a
    // cancelled transfer's connection open.
    _ = calotype_curl_set_open_socket_function(easy) { context, _, address in
      guard let context, let address else { return -1 }
      let handle = Unmanaged<CurlHandle>.fromOpaque(context).takeUnretainedValue()
      // More than a `sockaddr` is behind the address, so a pointer into the whole is needed.
      let start = UnsafeRawPointer(address)
      let offset = MemoryLayout<curl_sockaddr>.offset(of: \.addr) ?? 0
      let isAllowed = handle.allows(
        NetworkAddress((start + offset).assumingMemoryBound(to: sockaddr.self)))
      guard isAllowed else { return -1 }
      let type = address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue)
      return handle.accept(socket(address.pointee.family, type, address.pointee.protocol))
    }
    set(CURLOPT_OPENSOCKETDATA, context)
    guard addressCheck?.policy.scope != .unrestricted else { return }
    // The address is looked at again before each request, since an open connection is used again without a new
    // socket.
    _ = calotype_curl_set_prerequest_function(easy) { context, remote, _, _, _ in
      guard let context, let remote else { return Int32(CURL_PREREQFUNC_ABORT) }
      let handle = Unmanaged<CurlHandle>.fromOpaque(context).takeUnretainedValue()
      let isAllowed = handle.allowsRequest(to: NetworkAddress(canonical: String(cString: remote)))
      return Int32(isAllowed ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT)
    }
    set(CURLOPT_PREREQDATA, context)
  }

  /// Takes a new socket, or closes it: the last descriptors are for files and decoders, as long as there are other
  /// transfers that go on.
  private func accept(_ socket: Int32) -> Int32 {
    if socket < 0 {
      if DescriptorShortage.isMeant(by: errno) { shortage = errno }
    } else if loop.hasOthersRunning, DescriptorShortage.isAmongTheLast(socket) {
      close(socket)
      shortage = EMFILE
      return -1
    }
    return socket
  }

  private func allows(_ address: NetworkAddress?) -> Bool {
    guard let addressCheck, let transfer, addressCheck.policy.scope != .unrestricted else { return true }
    let refusal =
      address.map { addressCheck.refusal(of: $0) }
      ?? "what \(addressCheck.target.host) leads to is no address of the Internet"
    guard let refusal else { return true }
    failure = HTTPTransportError(.addressRefused, url: transfer.request.url, message: refusal)
    return false
  }

  private func allowsRequest(to address: NetworkAddress?) -> Bool {
    // A name with several addresses of which one was refused is refused: it may lead to another the next time.
    guard failure == nil, allows(address) else { return false }
    if let address { addressCheck?.note(address) }
    return true
  }

  private func setLookup(_ lookup: CurlTransport.Lookup, _ target: HTTPTarget) {
    guard let addresses = lookup(target.host), let port = target.port else { return }
    lookupList = curl_slist_append(nil, "\(target.host):\(port):\(addresses.joined(separator: ","))")
    _ = calotype_curl_set_list(easy, CURLOPT_RESOLVE, lookupList)
  }

  // MARK: Time limits

  /// When ``expire(at:_:)`` is to be asked at the latest.
  func deadline(_ configuration: CurlTransport.Configuration) -> UInt64 {
    let stall = lastActivity &+ UInt64(clampedNanoseconds: configuration.stallTimeout)
    guard let total = configuration.totalTimeout else { return stall }
    return min(stall, startedAt &+ UInt64(clampedNanoseconds: total))
  }

  /// The error to end with where a limit has run out.
  func expire(at now: UInt64, _ configuration: CurlTransport.Configuration) -> HTTPTransportError? {
    guard let transfer else { return nil }
    let url = transfer.request.url
    let host = (try? transfer.target.get())?.host ?? ""
    if let total = configuration.totalTimeout, now >= startedAt &+ UInt64(clampedNanoseconds: total) {
      return HTTPTransportError(
        .timedOut, url: url, message: "\(host) was not done after \(total.formattedSeconds)")
    }
    let connectedAfter = calotype_curl_get_offset(easy, CURLINFO_PRETRANSFER_TIME_T)
    guard connectedAfter > 0 else {
      // Connecting has a limit of its own.
      lastActivity = now
      return nil
    }
    lastActivity = max(lastActivity, startedAt &+ UInt64(connectedAfter) &* 1000)
    let sent = calotype_curl_get_offset(easy, CURLINFO_SIZE_UPLOAD_T)
    if sent != bytesSent {
      bytesSent = sent
      lastActivity = now
    }
    guard now >= lastActivity &+ UInt64(clampedNanoseconds: configuration.stallTimeout) else { return nil }
    return HTTPTransportError(
      .timedOut, url: url, message: "\(host) sent nothing for \(configuration.stallTimeout.formattedSeconds)")
  }

  // MARK: Result

  func result(_ code: CURLcode) -> Result<HTTPTransferMetrics, HTTPTransportError> {
    guard let transfer else { preconditionFailure("a transfer ended that was not under way") }
    if let failure { return .failure(failure) }
    guard code == CURLE_OK else {
      if let number = shortage ?? hiddenShortage(code) {
        return .failure(
          HTTPTransportError(.tooManyOpenFiles, url: transfer.request.url, message: systemMessage(number)))
      }
      let libraryText =
        errorText[0] == 0 ? String(cString: curl_easy_strerror(code)) : String(cString: errorText)
      return .failure(
        CurlFailure(
          code: code, systemError: Int32(calotype_curl_get_long(easy, CURLINFO_OS_ERRNO)),
          host: (try? transfer.target.get())?.host ?? "", libraryText: libraryText
        ).error(url: transfer.request.url))
    }
    guard head.isComplete else {
      return .failure(
        HTTPTransportError(
          .connectionLost, url: transfer.request.url,
          message: "the connection closed before the response's headers were whole"))
    }
    return .success(metrics())
  }

  /// The system's error number where a failure before the response may well have come of want of a descriptor:
  /// libcurl then says that a name was not found, or that certificates cannot be read.
  private func hiddenShortage(_ code: CURLcode) -> Int32? {
    switch code {
    case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_CONNECT,
      CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CONNECT_ERROR, CURLE_OUT_OF_MEMORY:
      DescriptorShortage.isThere ? EMFILE : nil
    default: nil
    }
  }

  private func metrics() -> HTTPTransferMetrics {
    func seconds(_ info: CURLINFO) -> Double { Double(calotype_curl_get_offset(easy, info)) / 1e6 }
    var metrics = HTTPTransferMetrics()
    metrics.queued = queued
    metrics.reusedConnection = calotype_curl_get_long(easy, CURLINFO_NUM_CONNECTS) == 0
    if !metrics.reusedConnection {
      metrics.nameLookup = seconds(CURLINFO_NAMELOOKUP_TIME_T)
      metrics.connect = seconds(CURLINFO_CONNECT_TIME_T)
      metrics.secureConnect = seconds(CURLINFO_APPCONNECT_TIME_T)
    }
    metrics.firstByte = seconds(CURLINFO_STARTTRANSFER_TIME_T)
    metrics.total = seconds(CURLINFO_TOTAL_TIME_T)
    metrics.bytesReceived =
      calotype_curl_get_offset(easy, CURLINFO_SIZE_DOWNLOAD_T)
      + calotype_curl_get_long(easy, CURLINFO_HEADER_SIZE)
    switch calotype_curl_get_long(easy, CURLINFO_HTTP_VERSION) {
    case CURL_HTTP_VERSION_1_0: metrics.protocolVersion = "1.0"
    case CURL_HTTP_VERSION_2_0: metrics.protocolVersion = "2"
    case CURL_HTTP_VERSION_3: metrics.protocolVersion = "3"
    default: metrics.protocolVersion = "1.1"
    }
    if let address = calotype_curl_get_string(easy, CURLINFO_PRIMARY_IP), address[0] != 0 {
      metrics.remoteAddress = String(cString: address)
    }
    return metrics
  }
}

extension UInt8 {
  /// Whether the byte may stand in a token (RFC 9110, section 5.6.2).
  var isHTTPTokenByte: Bool {
    switch self {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    case 0x21, 0x23...0x27, 0x2A, 0x2B, 0x2D, 0x2E, 0x5E...0x60, 0x7C, 0x7E: true
    default: false
    }
  }
}

extension Int {
  fileprivate init(clampedMilliseconds seconds: Double) {
    self = seconds.isNaN ? 0 : Int(Swift.min(Swift.max(seconds * 1000, 0), 2e9))
  }
}

extension UInt64 {
  /// At most a year, so that sums do not overflow.
  fileprivate init(clampedNanoseconds seconds: Double) {
    self = seconds.isNaN ? 0 : UInt64(Swift.min(Swift.max(seconds * 1e9, 0), 3.2e16))
  }
}

extension Double {
  fileprivate var formattedSeconds: String { self == rounded() ? "\(Int(self)) s" : "\(self) s" }
}
