import Foundation
import FuzzTargets

// Gives bytes to a target: those of the files named, or, built by scripts/fuzz, those that libFuzzer makes up.
//
//   calotype-fuzz TARGET FILE…

#if DEBUG
  private let target: FuzzTarget? = {
    let environment = ProcessInfo.processInfo.environment["CALOTYPE_FUZZ_TARGET"]
    return FuzzTarget(rawValue: environment ?? CommandLine.arguments.dropFirst().first ?? "")
  }()

  #if FUZZING
    /// What libFuzzer calls with the bytes that it has made up.
    @_cdecl("LLVMFuzzerTestOneInput")
    public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
      guard let target else { fatalError("CALOTYPE_FUZZ_TARGET names no target") }
      let problems = target.problems(Array(UnsafeBufferPointer(start: start, count: count)))
      if !problems.isEmpty { fatalError(problems.joined(separator: "\n")) }
      return 0
    }
  #endif
#endif

// libFuzzer has a main of its own.
#if !FUZZING
  @main
  enum CalotypeFuzz {
    static func main() {
      #if DEBUG
        guard let target else {
          print("usage: calotype-fuzz TARGET FILE…\ntargets:")
          for target in FuzzTarget.allCases { print("  \(target.rawValue)") }
          exit(2)
        }
        var isGood = true
        for path in CommandLine.arguments.dropFirst(2) {
          guard let data = FileManager.default.contents(atPath: path) else {
            print("\(path): cannot be read")
            exit(2)
          }
          for problem in target.problems(Array(data)) {
            print("\(path): \(problem)")
            isGood = false
          }
        }
        exit(isGood ? 0 : 1)
      #else
        print("calotype-fuzz works in a debug build only")
        exit(2)
      #endif
    }
  }
#endif
