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

  /// Why a list was not downloaded.
  struct Failure: Swift.Error {
    var error: ImageListError
    /// How the try ended, where that was for the server or the way to it to say.
    var outcome: RetryPolicy.Outcome?
  }

  /// Downloads a list, or a page of one, and asks again where that may help.
  ///
  /// - Parameters:
  ///   - place: What failures name beside the list.
  ///   - maximumTries: How often it is asked for before it is given up.
  static func download(
    _ url: URL, name: String, place: ImageListPlace = .init(), headers: HTTPHeaders = [],
    transport: any HTTPTransport, limit: Int, maximumTries: Int
  ) async throws(ImageListError) -> ImageListDownload {
    let retry = RetryPolicy(maximumTries: maximumTries)
    var tries = 0, generator = JitterGenerator()
    while true {
      do throws(Failure) {
        return try await download(url, name: name, headers: headers, transport: transport, limit: limit)
      } catch {
        tries += 1
        let decision = error.outcome.map {
          retry.decision(
            after: $0, method: "GET", tries: tries, now: wallClockSeconds(), using: &generator)
        }
        guard case .retry(let seconds) = decision, !Task.isCancelled else {
          let times = tries > 1 ? " (tried \(tries) times)" : ""
          throw ImageListError(list: name, place: place, reason: error.error.reason + times)
        }
        _ = await Timers.shared.sleep(seconds)
      }
    }
  }

  /// Downloads a list. Redirects are followed, up to 10; the headers given stay with the first origin, since
  /// they may hold secrets.
  private static func download(
    _ url: URL, name: String, headers: HTTPHeaders = [], transport: any HTTPTransport, limit: Int
  ) async throws(Failure) -> ImageListDownload {
    let receiver = try ListReceiver(name: name)
    var request = HTTPRequest(url: url, headers: headers, priority: .high, maximumResponseSize: limit)
    if request.headers["Accept"] == nil { request.headers["Accept"] = "*/*" }
    var options = HTTPClient.Options()
    options.secretHeaderNames = headers.namesOfPossibleSecrets
    let head = try await receiver.receive(request, options: options, client: HTTPClient(transport: transport))
    guard (200...299).contains(head.status) else {
      throw Failure(
        error: ImageListError(list: name, reason: "the server answered \(head.status)"),
        outcome: .response(status: head.status, headers: head.headers))
    }
    return ImageListDownload(url: head.url, source: try receiver.takeSource())
  }
}

/// Writes a list to a file as it comes.
private final class ListReceiver: HTTPReceiver {
  private struct State {
    var head: HTTPResponseHead?
    var failure: ImageListDownload.Failure?
    var continuation: UnsafeContinuation<Void, Never>?
    var transfer: (any HTTPTransfer)?
    var isCancelled = false
  }

  private let name: String
  private let descriptor: Int32
  private let state = Lock(State())

  init(name: String) throws(ImageListDownload.Failure) {
    self.name = name
    var file: UnsafeMutablePointer<FILE>?
    let number = DescriptorShortage.waiting {
      file = tmpfile()
      return file == nil ? -1 : 0
    }
    guard number >= 0, let file else { throw Self.noFile(name) }
    defer { fclose(file) }
    descriptor = fcntl(fileno(file), F_DUPFD_CLOEXEC, 0)
    guard descriptor >= 0 else { throw Self.noFile(name) }
  }

  private static func noFile(_ name: String) -> ImageListDownload.Failure {
    ImageListDownload.Failure(
      error: ImageListError(list: name, reason: "no temporary file for the list: \(systemMessage(errno))"))
  }

  deinit { close(descriptor) }

  func receive(
    _ request: HTTPRequest, options: HTTPClient.Options, client: HTTPClient
  ) async throws(ImageListDownload.Failure) -> HTTPResponseHead {
    await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in
        state.withLock { $0.continuation = continuation }
        let transfer = client.load(request, options: options, receiver: self)
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
    guard let head else {
      throw ImageListDownload.Failure(
        error: ImageListError(list: name, reason: "the server gave no response"))
    }
    return head
  }

  /// The file from its start.
  func takeSource() throws(ImageListDownload.Failure) -> FileDescriptorSource {
    let copy = dup(descriptor)
    guard copy >= 0, lseek(copy, 0, SEEK_SET) == 0 else {
      throw ImageListDownload.Failure(error: ImageListError(list: name, reason: systemMessage(errno)))
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
          state.failure = ImageListDownload.Failure(error: error)
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
        state.failure = ImageListDownload.Failure(
          error: ImageListError(list: name, reason: error.message), outcome: .failure(error.code))
      }
      defer { state.continuation = nil }
      return state.continuation
    }
    continuation?.resume()
  }
}
