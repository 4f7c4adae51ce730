import Foundation

// Where an original is not a server's, the load reads it and goes on as with any other: it is shared, held to the
// limits, and its prints are kept. The original itself is not copied into the disk cache.
extension ImagePipeline {
  /// Reads a local original, or waits for a place to ask for it.
  func read(_ source: LocalSource, for load: OriginalLoad, isOnWorkThread: Bool) {
    if case .closure = source {
      return ask([], for: load)
    }
    let work: @Sendable () -> Void = { [self] in
      do throws(LocalSourceError) {
        let (data, isKeysVersion) = try source.read(
          key: load.key.address, limit: configuration.maximumOriginalSize)
        deliver(data, isKeysVersion: isKeysVersion, to: load)
      } catch {
        finish(load, with: Error(url: load.request.url, stage: .read, cause: .unreadable(error.reason)))
      }
    }
    if isOnWorkThread { work() } else { submit(load, work) }
  }

  /// Runs the program's closure, which has been given a place.
  func run(_ body: @escaping @Sendable () async throws -> Data, for load: OriginalLoad) {
    let limit = configuration.maximumOriginalSize
    let hook = Task { [self] in
      let result: Result<Data, Error.Cause.Failure>
      do {
        result = .success(try LocalSource.check(try await body(), limit: limit))
      } catch {
        let reason = (error as? LocalSourceError)?.reason ?? "\(error)"
        result = .failure(.init(cause: error is CancellationError ? .cancelled : .unreadable(reason)))
      }
      guard release(load) else { return }
      submit(load) { [self] in
        switch result {
        case .success(let data): deliver(data, isKeysVersion: true, to: load)
        case .failure(let failure):
          finish(load, with: Error(url: load.request.url, stage: .read, cause: failure.cause))
        }
      }
    }
    core.withLock { _ in if case .downloading = load.phase { load.hook = hook } }
  }

  private func deliver(_ data: Data, isKeysVersion: Bool, to load: OriginalLoad) {
    let now = wallClockSeconds()
    // Its prints hold for as long as their key does.
    let headers: HTTPHeaders = ["Cache-Control": "max-age=315360000"]
    let metadata = DataCacheMetadata(
      kind: .original, url: load.request.url.absoluteString, headers: headers, requestTime: now,
      responseTime: now)
    var outcome = CachedExchange.Outcome(
      head: HTTPResponseHead(url: load.request.url, status: 200, headers: headers), body: data,
      metadata: metadata, source: .local, freshUntil: isKeysVersion ? .infinity : 0)
    outcome.isOfAnotherVersion = !isKeysVersion
    finish(load, with: outcome, isOnWorkThread: true)
  }
}

extension ImagePipeline.Error.Cause {
  /// A cause as what a result can fail with.
  fileprivate struct Failure: Swift.Error { let cause: ImagePipeline.Error.Cause }
}

extension ImageCacheKey {
  /// Whether the key means the same in another process.
  var isLasting: Bool { !address.hasPrefix(LocalSource.volatilePrefix) }
}
