import Calotype
import Foundation

/// `calotype fetch`.
enum FetchCommand {
  static func command() -> Command {
    Command(
      name: "fetch", summary: "Download the pictures of lists, once each, and resize them",
      operands: "LIST...",
      details: """
        A LIST is a file, an address or - for standard input: a property list of dictionaries, JSON (an array, or rows under a key path), JSON Lines, CSV or TSV with a header, or a text file with an address a line. Its format and its fields' names are found out or given. A list of millions is read as it goes.
        The same address is downloaded once, however often it is listed. Run again, the same command does only what is missing. Without --output the pictures go into the cache alone.
        """,
      groups: [
        OptionGroup(
          title: "Output",
          options: [
            Option(
              "output", "o", "DIR", isPath: true,
              "The folder to write the pictures into, named as in the list"),
            Option(
              "report", nil, "FILE.jsonl", isPath: true, "Write a line of JSON for each row of the lists"),
            Option(
              "sheet", nil, "FILE", isPath: true,
              "Write a contact sheet: one HTML file (.html, .htm), or one picture where FILE ends in .png"),
            Option(
              "har", nil, "FILE", isPath: true,
              "Write what went over the network, and how long each phase took, as an HTTP Archive (HAR 1.2)"),
            Option("json", help: "Write the report's lines to standard output"),
            Option("quiet", help: "Show failures and warnings only"),
          ]),
        SharedOptions.picture, SharedOptions.processors, SharedOptions.list, SharedOptions.network,
        SharedOptions.addresses,
        SharedOptions.cache, SharedOptions.safety,
      ],
      examples: [
        ("calotype fetch apps.plist -o icons --size 48", "Icons of 48 pixels of every app in the list"),
        (
          "calotype fetch --page-url 'https://example.com/apps?page={page}' --items data.list -o icons",
          "A service that gives its list in pages"
        ),
        (
          "cut -f2 table.tsv | calotype fetch - --sheet sheet.html",
          "Addresses from a pipe, and what they show on one page"
        ),
      ],
      run: run)
  }

  @Sendable private static func run(_ arguments: Arguments) async throws -> Int32 {
    // All that can be wrong with the command line is found before anything is written.
    let options = try arguments.listOptions()
    let output = try PictureOutput(arguments)
    let session = try Session(arguments)
    let lists = try lists(arguments, options, session)
    let isQuiet = arguments.has("quiet"), isJSON = arguments.has("json")
    // For the checksums in the report.
    if isJSON || arguments.has("report") { try ToolLibrary.crypto.load() }
    let files = try FetchFiles(arguments, title: lists.count == 1 ? lists[0].name : "\(lists.count) lists")
    let interruption = Interruption()
    let progress = ProgressBar(isQuiet: isQuiet || isJSON)
    let job = FetchJob(
      FetchJob.Parts(
        session: session, output: output, files: files,
        jsonLines: isJSON ? LineWriter(standardOutput: .standardOutput) : nil, progress: progress,
        nameKey: options.titleKey))
    progress.start()
    let work = Task { await job.run(lists) }
    interruption.whenInterrupted {
      job.cancel()
      work.cancel()
    }
    await work.value
    progress.stop()
    let unwritten = files.finishLines()
    job.parts.jsonLines?.flush()
    let summary = summary(job.totals, seconds: progress.elapsed)
    if interruption.isInterrupted {
      Terminal.standardError.line("interrupted: \(summary); run the same command again for the rest")
      return Interruption.exitStatus
    }
    await session.pipeline.flush()
    session.diskCache?.flush()
    try files.sheet?.finish(summary)
    if !isQuiet, !isJSON { Terminal.standardOutput.line(summary) }
    if let unwritten { throw Failure("the \(unwritten) could not be written whole") }
    return job.totals.failed > 0 ? 1 : 0
  }

  private static func lists(
    _ arguments: Arguments, _ options: ImageListOptions, _ session: Session
  ) throws -> [ImageList] {
    let tries = session.pipeline.configuration.retry.maximumTries
    var lists = try arguments.operands.map { operand -> ImageList in
      if operand == "-" { return ImageList(fileDescriptor: 0, options: options) }
      if Arguments.isAddress(operand) {
        return ImageList(
          url: try Arguments.address(operand), headers: session.headers, maximumTries: tries,
          transport: session.transport, options: options)
      }
      if operand.lowercased().hasPrefix("file:") {
        guard let list = URL(string: operand).flatMap({ ImageList(fileURL: $0, options: options) }) else {
          throw UsageError("\(Escaping.address(operand)) is no file of this machine: file:///path")
        }
        return list
      }
      return ImageList(path: operand, options: options)
    }
    let first = try arguments.integer("first-page", in: 0...1_000_000_000)
    let last = try arguments.integer("last-page", in: 0...1_000_000_000)
    if let address = arguments["page-url"] {
      guard address.contains("{page}"), Arguments.isAddress(address) else {
        throw UsageError("--page-url takes an address with {page} in it, not \(Escaping.address(address))")
      }
      if let last, last < first ?? 1 {
        throw UsageError("--last-page \(last) comes before the first, \(first ?? 1): there would be no page")
      }
      let pages = ImageListPages(
        address: address, firstPage: first ?? 1, lastPage: last, maximumTries: tries,
        headers: session.headers)
      lists.append(ImageList(pages: pages, transport: session.transport, options: options))
    } else if first != nil || last != nil {
      throw UsageError("--first-page and --last-page need a --page-url")
    }
    if lists.isEmpty {
      throw UsageError("a LIST is missing: a file, an address, - for standard input, or --page-url")
    }
    return lists
  }

  private static func summary(_ totals: FetchJob.Totals, seconds: Double) -> String {
    var parts: [String] = []
    let sources = totals.sources
    let fromDisk = (sources[.disk] ?? 0) - totals.alreadyThere
    for (count, what) in [
      (sources[.network] ?? 0, "downloaded"), (sources[.revalidated] ?? 0, "revalidated"),
      (fromDisk, "from the cache"),
      (totals.alreadyThere, "already there"), (totals.doubles, "listed again"),
    ] where count > 0 {
      parts.append("\(count) \(what)")
    }
    let details = parts.isEmpty ? "" : " (\(parts.joined(separator: ", ")))"
    let rate = Format.decimal(Double(totals.done) / max(seconds, 0.001), 0)
    return
      "\(totals.done) of \(Format.count(totals.rows, "picture", "pictures"))\(details), \(totals.failed) failed, "
      + "\(Format.bytes(totals.bytes)) in \(Format.decimal(seconds, 1)) s, \(rate) images/s"
  }
}
