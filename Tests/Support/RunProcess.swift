import Foundation

/// What a program left behind.
public struct ProcessResult: Sendable {
  /// The exit status; the signal's number plus 128 where a signal ended it.
  public var status: Int32
  /// Its standard output.
  public var output: Data
  /// Its standard error.
  public var errorOutput: Data
  /// Its standard output as text.
  public var text: String { String(decoding: output, as: UTF8.self) }
  /// Its standard error as text.
  public var errorText: String { String(decoding: errorOutput, as: UTF8.self) }
}

/// Runs a program to its end. No thread of Swift's waits for it.
///
/// - Parameters:
///   - program: Its path, or a name that the PATH finds.
///   - arguments: Its arguments.
///   - input: Its standard input; nothing by default.
///   - environment: Variables to add to this process's own.
///   - folder: Where it runs; here by default.
public func runProcess(
  _ program: String, _ arguments: [String], input: Data = Data(), environment: [String: String] = [:],
  folder: URL? = nil
) async throws -> ProcessResult {
  // Files, not pipes: no amount of output can block the program, and nothing has to read while it runs.
  let files = try TemporaryFolder()
  let standardInput = try FileHandle(forReadingFrom: files.write(input, to: "input"))
  let output = try files.write("", to: "output")
  let errorOutput = try files.write("", to: "error")
  let standardOutput = try FileHandle(forWritingTo: output)
  let standardError = try FileHandle(forWritingTo: errorOutput)
  let process = try SpawnedProgram(
    program, arguments, environment: environment, folder: folder?.path, input: standardInput.fileDescriptor,
    output: standardOutput.fileDescriptor, errorOutput: standardError.fileDescriptor)
  let status = await process.ended()
  return ProcessResult(
    status: status, output: try Data(contentsOf: output), errorOutput: try Data(contentsOf: errorOutput))
}
