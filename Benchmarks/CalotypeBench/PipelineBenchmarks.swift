import Calotype
import Foundation
import TestSupport

struct PipelineBenchmarks: Benchmark {
  static let name = "pipeline"
  static let summary = "what the pipeline itself costs, on an instant transport and an instant decoder"

  func run(_ context: BenchmarkContext) async throws -> [BenchmarkRow] {
    let requests = (0..<1000).compactMap { URL(string: "http://pictures.test/icons/48/\($0).png") }.map {
      ImageRequest(url: $0)
    }
    return [
      await memoryHit(context, requests),
      await synchronousHit(context, requests),
      await miss(context, requests),
      await cancel(context, requests),
      await identical(context, requests[0]),
      await pendingSize(requests),
    ]
  }

  private func pipeline(_ answer: StubTransport.Answer, memory: (any ImageCaching)? = nil) -> ImagePipeline {
    ImagePipeline(
      configuration: .init(
        transport: InstantTransport(answer), memoryCache: memory, diskCache: nil, decoder: InstantDecoder(),
        encoder: StubEncoder()))
  }

  private func warm(_ requests: [ImageRequest]) async -> ImagePipeline {
    let pipeline = pipeline(.respond(body: Data([1])), memory: MemoryCache())
    for request in requests { _ = try? await pipeline.image(for: request) }
    return pipeline
  }

  private func memoryHit(_ context: BenchmarkContext, _ requests: [ImageRequest]) async -> BenchmarkRow {
    let pipeline = await warm(requests)
    return await context.measure(
      "memory hit, try await image(for:)", unit: .nanoseconds, operations: requests.count, goal: 1000,
      note: "on the memory cache"
    ) {
      for request in requests { keep(try? await pipeline.image(for: request)) }
    }
  }

  private func synchronousHit(_ context: BenchmarkContext, _ requests: [ImageRequest]) async -> BenchmarkRow {
    let pipeline = await warm(requests)
    let urls = requests.map(\.url)
    return await context.measure(
      "memory hit, synchronous, request and key built", unit: .nanoseconds, operations: requests.count,
      note: "on the memory cache"
    ) {
      for url in urls { keep(pipeline.cachedImage(for: ImageRequest(url: url))) }
    }
  }

  private func miss(_ context: BenchmarkContext, _ requests: [ImageRequest]) async -> BenchmarkRow {
    let pipeline = pipeline(.respond(body: Data([1])))
    return await context.measure(
      "miss, 1,000 at once, a task each", operations: requests.count, goal: 8
    ) {
      let tasks = requests.map { pipeline.task(for: $0) }
      for task in tasks { keep(try? await task.response) }
    }
  }

  private func cancel(_ context: BenchmarkContext, _ requests: [ImageRequest]) async -> BenchmarkRow {
    let pipeline = pipeline(.hold)
    return await context.measure("start and cancel", operations: requests.count, goal: 5) {
      for request in requests { pipeline.task(for: request).cancel() }
    }
  }

  private func identical(_ context: BenchmarkContext, _ request: ImageRequest) async -> BenchmarkRow {
    let pipeline = pipeline(.respond(body: Data([1])))
    return await context.measure("1,000 identical at once", unit: .milliseconds, goal: 3) {
      let tasks = (0..<1000).map { _ in pipeline.task(for: request) }
      for task in tasks { keep(try? await task.response) }
    }
  }

  private func pendingSize(_ requests: [ImageRequest]) async -> BenchmarkRow {
    let pipeline = pipeline(.hold)
    pipeline.isSuspended = true
    let urls = (0..<50_000).compactMap { URL(string: "http://pictures.test/pending/\($0).png") }
    let requests = urls.map { ImageRequest(url: $0) }
    let before = ProcessUsage.residentBytes?.now ?? 0
    let tasks = requests.map { pipeline.task(for: $0) }
    let bytes = (ProcessUsage.residentBytes?.now ?? 0) - before
    pipeline.cancelAll()
    return BenchmarkRow(
      title: "heap for a pending task", value: Double(bytes) / Double(tasks.count), unit: "bytes", goal: 1500,
      note: "growth of resident memory over 50,000 pending tasks")
  }
}

/// Answers in the same turn and keeps no record.
private final class InstantTransport: HTTPTransport {
  private let answer: StubTransport.Answer

  init(_ answer: StubTransport.Answer) { self.answer = answer }

  func send(_ request: HTTPRequest, to receiver: any HTTPReceiver) -> any HTTPTransfer {
    if case .respond(let status, let headers, let body) = answer {
      receiver.didReceive(HTTPResponseHead(url: request.url, status: status, headers: headers))
      body.withUnsafeBytes { receiver.didReceive($0) }
      receiver.didComplete(.success(HTTPTransferMetrics()))
    }
    return Transfer(answer, request.url, receiver)
  }

  private final class Transfer: HTTPTransfer {
    private let receiver: Lock<(any HTTPReceiver)?>
    private let url: URL

    init(_ answer: StubTransport.Answer, _ url: URL, _ receiver: any HTTPReceiver) {
      self.url = url
      if case .hold = answer { self.receiver = Lock(receiver) } else { self.receiver = Lock(nil) }
    }

    func cancel() {
      let receiver = receiver.withLock { receiver in
        defer { receiver = nil }
        return receiver
      }
      receiver?.didComplete(.failure(HTTPTransportError(.cancelled, url: url, message: "cancelled")))
    }

    func setPriority(_ priority: ImageRequest.Priority) {}
  }
}

/// Gives the same pixel for everything.
private struct InstantDecoder: ImageDecoding {
  private let container: ImageContainer?

  init() {
    let bitmap = try? Bitmap(size: PixelSize(width: 1, height: 1), isOpaque: true) {
      $0.copyBytes(from: [1, 2, 3, 255])
    }
    container = bitmap.map { ImageContainer(bitmap: $0, format: .png) }
  }

  func inspect(_ data: Data, limits: ImageDecodingLimits) throws(ImageDecodingError) -> ImageInfo {
    throw .empty
  }

  func decode(
    _ data: Data, options: ImageDecodingOptions, cancellation: CancellationFlag
  ) throws(ImageDecodingError) -> ImageContainer {
    guard let container else { throw .empty }
    return container
  }
}
