import CSandbox
import Foundation

/// Where pictures are decoded: in this process, or in a sandboxed worker that has nothing but the picture.
///
/// The codecs of pictures are large programs in C that read what strangers send. A worker has no files, no
/// network and no privileges, may make a few system calls only, and dies with this process; a hole in a codec
/// then costs one picture.
public enum DecodingIsolation: String, Hashable, Sendable, CaseIterable {
  /// In a worker with all of its sandbox; where that cannot be had, nothing is decoded and every picture
  /// ends with ``ImageDecodingError/isolationUnavailable(reason:)``.
  case required
  /// In a worker, where the system and the build allow at least its filter of system calls; else in this
  /// process. Which of the two it is, and why, is in ``DecodingIsolationStatus``. Once a worker has been had,
  /// no picture is decoded in this process any more. That the system lacks something for the moment, such as
  /// descriptors or memory, is no reason to decode in this process either.
  case whenAvailable = "when-available"
  /// In this process.
  case inProcess = "in-process"
}

/// What holds of the isolation that was asked for.
public struct DecodingIsolationStatus: Hashable, Sendable {
  /// A part of the sandbox.
  public enum Layer: String, Hashable, Sendable, CaseIterable {
    /// No new privileges, no capabilities, no core dumps, death with the parent.
    case privileges
    /// Limits on memory, files, processes and processor time.
    case limits
    /// No file system and, where the kernel can, no network and no signals to others.
    case landlock
    /// A filter that ends the worker at any system call but a few.
    case seccomp
  }

  /// What was asked for.
  public var isolation: DecodingIsolation
  /// Whether pictures are decoded in a worker.
  public var isIsolated: Bool
  /// The parts that do not hold in the worker, and why.
  public var missing: [Layer: String]
  /// Why no worker is used, or `nil` where one is.
  public var reason: String?

  /// Creates a status.
  public init(
    isolation: DecodingIsolation, isIsolated: Bool, missing: [Layer: String] = [:], reason: String? = nil
  ) {
    self.isolation = isolation
    self.isIsolated = isIsolated
    self.missing = missing
    self.reason = reason
  }

  /// The parts that hold, in their order.
  public var holding: [Layer] { isIsolated ? Layer.allCases.filter { missing[$0] == nil } : [] }

  /// A sentence for people and reports.
  public var summary: String {
    if isIsolated {
      let lacks = Layer.allCases.compactMap { layer in missing[layer].map { "; no \(layer.rawValue): \($0)" }
      }
      return "sandboxed worker (\(holding.map(\.rawValue).joined(separator: ", ")))\(lacks.joined())"
    }
    let cause = reason.map { ": \($0)" } ?? ""
    return isolation == .required ? "nothing is decoded\(cause)" : "in this process\(cause)"
  }
}

extension DecodingIsolationStatus {
  /// The parts that do not hold, from what the worker says of its lock-down.
  static func missing(_ errors: [Int32]) -> [Layer: String] {
    var missing: [Layer: String] = [:]
    for (layer, error) in zip(Layer.allCases, errors) where error != 0 { missing[layer] = text(error) }
    for layer in Layer.allCases.dropFirst(errors.count) { missing[layer] = "the worker says nothing of it" }
    return missing
  }

  private static func text(_ error: Int32) -> String {
    switch Int(error) {
    case CALOTYPE_SANDBOX_SANITIZER: "the build has a sanitizer, which needs more than the sandbox allows"
    case CALOTYPE_SANDBOX_THREADS: "the worker has threads that it would not hold for"
    case CALOTYPE_SANDBOX_PROCESSOR: "there is no filter for this processor"
    case CALOTYPE_SANDBOX_NOT_ASKED: "it was not asked for"
    case Int(ENOSYS), Int(EOPNOTSUPP): "this kernel does not have it, or it is turned off"
    default: String(cString: strerror(error))
    }
  }
}
