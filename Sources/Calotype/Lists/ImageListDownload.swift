import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// A list that has been downloaded, in a temporary file without a name.
struct ImageListDownload {
  /// Where it was found.
  var url: URL
  /// Its bytes.
  var source: FileDescriptorSource

  /// Downloads a list. Redirects are followed, up to 10.
  static func download(
    _ url: URL, name: String, headers: HTTPHeaders = [], transport: any HTTPTransport, limit: Int
  ) async throws(ImageListError) -> ImageListDownload {
    var url = url
    for _ in 0...10 {
      let receiver = try ListReceiver(name: name)
      var request = HTTPRequest(url: url, headers: headers, priority: .high, maximumResponseSize: limit)
      if request.headers["Accept"] == nil { request.headers["Accept"] = "*/*" }
      let head = try await receiver.receive(request, transport: transport)
      if (300...399).contains(head.status), head.status != 304, let location = head.headers["Location"] {
        guard let next = URL(string: location, relativeTo: head.url)?.absoluteURL, next.scheme != nil,
          !(head.url.scheme == "https" && next.scheme == "http")
        else {
          throw ImageListError(list: name, reason: "the server redirects to \(location.prefix(200)): refused")
        }
        url = next
        continue
      }
      guard (200...299).contains(head.status) else {
        throw ImageListError(list: name, reason: "the server answered \(head.status)")
      }
      return ImageListDownload(url: head.url, source: try receiver.takeSource())
    }
    throw ImageListError(list: name, reason: "the server redirects more than 10 times")
  }
}

/// Writes a list to a file as it comes.
private final class ListReceiver: HTTPReceiver {
  private struct State {
    var head: HTTPResponseHead?
    var failure: ImageListError?
    var continuation: UnsafeContinuation<Void, Never>?
    var transfer: (any HTTPTransfer)?
    var isCancelled = false
  }

  private let name: String
  private let descriptor: Int32
  private let state = Lock(State())

  init(name: String) throws(ImageListError) {
    self.name = name
    guard let file = tmpfile() else {
      throw ImageListError(list: name, reason: "no temporary file for the list: \(systemMessage(errno))")
    }
    descriptor = dup(fileno(file))
    fclose(file)
  }

  deinit { close(descriptor) }

  func receive(_ request: HTTPRequest, transport: any HTTPTransport) async throws(ImageListError)
    -> HTTPResponseHead
  {
    await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in
        state.withLock { $0.continuation = continuation }
        let transfer = transport.send(request, to: self)
        let isCancelled = state.withLock { state in
          state.transfer = transfer
          return state.isCancelled
        }
        if isCancelled { transfer.cancel() }
      }
    } onCancel: {
      state.withLock { state in
        state.isCancelled = true
        return state.transfer
      }?.cancel()
    }
    let (head, failure) = state.withLock { state in
      state.transfer = nil
      return (state.head, state.failure)
    }
    if let failure { throw failure }
    guard let head else { throw ImageListError(list: name, reason: "the server gave no response") }
    return head
  }

  /// The file from its start.
  func takeSource() throws(ImageListError) -> FileDescriptorSource {
    let copy = dup(descriptor)
    guard copy >= 0, lseek(copy, 0, SEEK_SET) == 0 else {
      throw ImageListError(list: name, reason: systemMessage(errno))
    }
    return FileDescriptorSource(descriptor: copy, closes: true, name: name)
  }

  func didReceive(_ head: HTTPResponseHead) { state.withLock { $0.head = head } }

  func didReceive(_ bytes: UnsafeRawBufferPointer) {
    guard state.withLock({ $0.failure == nil }) else { return }
    var at = 0
    while at < bytes.count {
      let count = write(descriptor, bytes.baseAddress.map { $0 + at }, bytes.count - at)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else {
        let error = ImageListError(list: name, reason: "the list could not be kept: \(systemMessage(errno))")
        state.withLock { state in
          state.failure = error
          return state.transfer
        }?.cancel()
        return
      }
      at += count
    }
  }

  func didComplete(_ result: Result<HTTPTransferMetrics, HTTPTransportError>) {
    let continuation = state.withLock { state in
      if case .failure(let error) = result, state.failure == nil {
        state.failure = ImageListError(list: name, reason: error.message)
      }
      defer { state.continuation = nil }
      return state.continuation
    }
    continuation?.resume()
  }
}
