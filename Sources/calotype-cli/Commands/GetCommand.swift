import Calotype
import Foundation

/// `calotype get`.
enum GetCommand {
  static func command() -> Command {
    Command(
      name: "get", summary: "Make one request through the transport and the cache, as they are",
      operands: "URL",
      details: """
        The response's body is written to standard output, whatever its status and type. Nothing is added to the request but what HTTP itself needs: no Accept-Encoding, no retry. The exit status is 0 where a response came.
        """,
      groups: [
        OptionGroup(
          title: "Request",
          options: [
            Option("method", "X", "METHOD", "The method; GET by default, POST with a --body"),
            Option("header", "H", "'NAME: VALUE'", "A header to send; may be given several times"),
            Option("body", nil, "FILE", isPath: true, "Send a file as the body; - for standard input"),
            Option("no-follow", help: "Show a redirect instead of following it"),
            Option("retries", nil, "N", "How often a failure that may pass is tried again, 0 by default"),
            Option("timeout", nil, "SECONDS", "The most time for the request, 300 by default"),
          ]),
        OptionGroup(
          title: "Response",
          options: [
            Option(
              "output", "o", "FILE", isPath: true,
              "Write the body to a file; - for standard output, as without it"),
            Option("include", "i", help: "Write the status and the headers before the body"),
            Option(
              "json", help: "Write one line of JSON: status, headers in order, the body in Base64, the source"
            ),
          ]),
        SharedOptions.addresses, SharedOptions.cache,
      ],
      examples: [
        (
          "calotype get https://example.com/icon.png -o icon.png",
          "One file, from the cache while it is fresh"
        ),
        (
          "calotype get --json --cache-mode only-if-cached https://example.com/icon.png",
          "What the cache holds"
        ),
      ],
      run: run)
  }

  @Sendable private static func run(_ arguments: Arguments) async throws -> Int32 {
    guard arguments.operands.count == 1 else { throw UsageError("get takes one URL") }
    if arguments["output"] == "-", arguments.has("json") {
      throw UsageError("-o - and --json exclude each other: both write to standard output")
    }
    if let path = file(arguments) { try OutputFolder.prepare(path) }
    let request = try request(arguments, url: try Arguments.address(arguments.operands[0]))
    let exchange = SingleRequest(
      transport: CurlTransport(configuration: try Session.transportConfiguration(arguments)),
      cache: try Session.diskCache(arguments), mode: try arguments.cachePolicy(),
      followsRedirects: !arguments.has("no-follow"),
      retries: try arguments.integer("retries", in: 0...100) ?? 0)
    let begun = exchange.begin(request)
    if let response = begun.response {
      // A hit needs no other thread, and leaves nothing to be written.
      try write(response, arguments)
      return 0
    }
    let interruption = Interruption()
    let work = Task { try await exchange.finish(begun) }
    interruption.whenInterrupted { work.cancel() }
    let response: SingleRequest.Response
    do {
      response = try await work.value
    } catch let error as HTTPTransportError {
      if interruption.isInterrupted { return Interruption.exitStatus }
      throw Failure(error.description)
    }
    try write(response, arguments)
    if let revalidate = response.revalidate {
      // Who reads the answer need not wait for what is asked behind it.
      if file(arguments) == nil { close(1) }
      let work = Task { await revalidate() }
      interruption.whenInterrupted { work.cancel() }
      await work.value
    }
    exchange.cache?.flush()
    return 0
  }

  /// The file to write the body to; `nil` for standard output.
  private static func file(_ arguments: Arguments) -> String? {
    arguments["output"].flatMap { $0 == "-" ? nil : $0 }
  }

  private static func request(_ arguments: Arguments, url: URL) throws -> HTTPRequest {
    var request = HTTPRequest(url: url, headers: try arguments.headers(), decodesContentEncoding: false)
    request.addressPolicy = try arguments.addressPolicy()
    if let path = arguments["body"] {
      request.method = "POST"
      if path == "-" {
        request.body = try FileHandle.standardInput.readToEnd() ?? Data()
      } else {
        guard let body = FileManager.default.contents(atPath: path) else {
          throw Failure("\(path) cannot be read")
        }
        request.body = body
      }
    }
    if let method = arguments["method"] {
      guard !method.isEmpty,
        method.utf8.allSatisfy({ (0x21...0x7E).contains($0) && !"\"(),/:;<=>?@[\\]{}".utf8.contains($0) })
      else { throw UsageError("--method takes a word such as GET, not \(method)") }
      request.method = method
    }
    return request
  }

  private static func write(_ response: SingleRequest.Response, _ arguments: Arguments) throws {
    if let path = file(arguments) {
      try OutputFolder.write(response.body, toPath: path)
    }
    if arguments.has("json") {
      Terminal.standardOutput.line(json(response))
      return
    }
    if arguments.has("include") {
      Terminal.standardOutput.line("\(response.head.status) (\(response.source.rawValue))")
      for field in response.head.headers.fields {
        Terminal.standardOutput.line(Escaping.displaySafe("\(field.name): \(field.value)"))
      }
      Terminal.standardOutput.line("")
    }
    if file(arguments) == nil { Terminal.standardOutput.write(bytes: Array(response.body)) }
  }

  private static func json(_ response: SingleRequest.Response) -> String {
    let headers = response.head.headers.fields.map {
      "[\(JSONText.quoted($0.name)),\(JSONText.quoted($0.value))]"
    }
    var json = JSONText()
    json.add("status", response.head.status)
    json.add("headers", json: "[\(headers.joined(separator: ","))]")
    json.add("body_base64", response.body.base64EncodedString())
    json.add("source", response.source.rawValue)
    if response.isStale { json.add("stale", true) }
    json.add("requests", response.effort.requests)
    if let transfer = response.effort.transfers.last {
      json.add("transfer", json: TransferText.json(transfer))
    }
    return json.object
  }
}
