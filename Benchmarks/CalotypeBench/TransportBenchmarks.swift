import Calotype
import Foundation
import Synchronization
import TestSupport

struct TransportBenchmarks: Benchmark {
  static let name = "transport"
  static let summary = "requests a second and processor time from nginx on loopback"

  private static let requestCount = 5000
  private static let width = 16

  func run(_ context: BenchmarkContext) async throws -> [BenchmarkRow] {
    try await requestRows(context) + [operationRow(context)]
  }

  // MARK: Requests

  private struct Sample {
    var seconds: Double
    var processorSeconds: Double
  }

  /// Many small bodies, turn by turn with curl's own tool.
  private func requestRows(_ context: BenchmarkContext) async throws -> [BenchmarkRow] {
    let folder = try TemporaryFolder()
    try folder.write(Data((0..<4096).map { UInt8(truncatingIfNeeded: $0 &* 7) }), to: "4k")
    let server = try NginxServer(serving: folder.url)
    let url = server.url.appendingPathComponent("4k")
    let config = try folder.write(
      String(
        repeating: "url = \"\(url.absoluteString)\"\noutput = \"/dev/null\"\n", count: Self.requestCount),
      to: "curl.config")
    var configuration = CurlTransport.Configuration()
    configuration.maximumConcurrentTransfers = Self.width
    configuration.maximumTransfersPerHost = Self.width
    let transport = CurlTransport(configuration: configuration)
    var ours: [Sample] = []
    var theirs: [Sample] = []
    let runs = context.isQuick ? 3 : 15
    for turn in 0...runs {
      let our = try await fetch(url, transport)
      let their = try curl(config.path)
      // The first turn warms up.
      if turn > 0 {
        ours.append(our)
        theirs.append(their)
      }
    }
    func ratio(_ part: KeyPath<Sample, Double>) -> Double {
      zip(ours, theirs).map { $0[keyPath: part] / $1[keyPath: part] }.median
    }
    let count = Double(Self.requestCount)
    return [
      BenchmarkRow(
        title: "GETs of 4 KB, \(Self.width) at once", value: ours.map { count / $0.seconds }.median,
        unit: "requests/s", peer: "curl --parallel", peerValue: theirs.map { count / $0.seconds }.median,
        ratio: 1 / ratio(\.seconds), goal: 1, runs: runs),
      BenchmarkRow(
        title: "processor time of \(Self.requestCount) of them",
        value: ours.map(\.processorSeconds).median * 1e3, unit: "ms", peer: "curl --parallel",
        peerValue: theirs.map(\.processorSeconds).median * 1e3, ratio: ratio(\.processorSeconds), goal: 1,
        runs: runs, note: "curl's includes its start"),
    ]
  }

  private func fetch(_ url: URL, _ transport: CurlTransport) async throws -> Sample {
    let processor = ProcessUsage.processorSeconds
    let start = ContinuousClock.now
    let failures = await withCheckedContinuation { continuation in
      let counter = CompletionCounter(Self.requestCount) { continuation.resume(returning: $0) }
      for _ in 0..<Self.requestCount {
        _ = transport.send(
          HTTPRequest(url: url, decodesContentEncoding: false), to: CountingReceiver(counter))
      }
    }
    guard failures == 0 else { throw RequestsFailed(description: "\(failures) requests failed") }
    return Sample(
      seconds: (ContinuousClock.now - start).seconds,
      processorSeconds: ProcessUsage.processorSeconds - processor)
  }

  private func curl(_ config: String) throws -> Sample {
    func childSeconds() -> Double {
      var usage = rusage()
      getrusage(-1, &usage)  // RUSAGE_CHILDREN, which is imported as another type than is asked for
      func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) * 1e-6 }
      return seconds(usage.ru_utime) + seconds(usage.ru_stime)
    }
    let processor = childSeconds()
    let start = ContinuousClock.now
    let result = try runProcess(
      "/usr/bin/curl", ["-s", "--fail", "--parallel", "--parallel-max", "\(Self.width)", "-K", config])
    guard result.status == 0 else { throw RequestsFailed(description: "curl: \(result.errorText)") }
    return Sample(
      seconds: (ContinuousClock.now - start).seconds, processorSeconds: childSeconds() - processor)
  }

  // MARK: Operations

  private func operationRow(_ context: BenchmarkContext) async -> BenchmarkRow {
    let request = ImageRequest(url: URL(fileURLWithPath: "/"))
    let transport = InstantTransport()
    return await context.measure(
      "a download operation: made, started, completed", operations: 1000, goal: 5,
      note: "no queue, an instant transport"
    ) {
      for _ in 0..<1000 {
        let operation = DownloadOperation(downloading: request, transport: transport)
        operation.start()
        keep(operation.original)
      }
    }
  }
}

private struct RequestsFailed: Error, CustomStringConvertible { var description: String }

/// Says when so many have completed, and how many of them failed.
private final class CompletionCounter: Sendable {
  private let left: Atomic<Int>
  private let failures = Atomic<Int>(0)
  private let onEnd: @Sendable (Int) -> Void

  init(_ count: Int, onEnd: @escaping @Sendable (Int) -> Void) {
    left = Atomic(count)
    self.onEnd = onEnd
  }

  func complete(isWhole: Bool) {
    if !isWhole { failures.add(1, ordering: .relaxed) }
    if left.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 {
      onEnd(failures.load(ordering: .relaxed))
    }
  }
}

private final class CountingReceiver: HTTPReceiver {
  private let counter: CompletionCounter
  private let byteCount = Atomic<Int>(0)

  init(_ counter: CompletionCounter) { self.counter = counter }

  func didReceive(_ head: HTTPResponseHead) {}
  func didReceive(_ bytes: UnsafeRawBufferPointer) { byteCount.add(bytes.count, ordering: .relaxed) }
  func didComplete(_ result: Result<HTTPTransferMetrics, HTTPTransportError>) {
    guard case .success = result else { return counter.complete(isWhole: false) }
    counter.complete(isWhole: byteCount.load(ordering: .relaxed) == 4096)
  }
}

/// Answers within the call.
private final class InstantTransport: HTTPTransport {
  private final class Done: HTTPTransfer {
    func cancel() {}
    func setPriority(_ priority: ImageRequest.Priority) {}
  }
  private let done = Done()
  private let body = [UInt8](repeating: 1, count: 4096)

  func send(_ request: HTTPRequest, to receiver: any HTTPReceiver) -> any HTTPTransfer {
    receiver.didReceive(HTTPResponseHead(url: request.url, status: 200, headers: ["Content-Length": "4096"]))
    body.withUnsafeBytes { receiver.didReceive($0) }
    receiver.didComplete(.success(HTTPTransferMetrics()))
    return done
  }
}
