import CSandbox
import Foundation
import Testing

/// The filters of system calls of both processors, evaluated step by step as the kernel would: the one of the other
/// processor cannot be entered here, but what it answers can be seen.
@Suite(.enabled(if: FileManager.default.fileExists(atPath: "/proc/self"), "the filters are Linux's"))
struct FilterTests {
  enum Processor: CaseIterable {
    case x86_64, arm64

    /// What the kernel calls it (`AUDIT_ARCH_…` in linux/audit.h).
    var code: UInt32 { self == .x86_64 ? 0xC000_003E : 0xC000_00B7 }
    var filter: calotype_sandbox_processor {
      self == .x86_64 ? CALOTYPE_SANDBOX_X86_64 : CALOTYPE_SANDBOX_ARM64
    }
    /// The kernel's own table of numbers; the C library brings it. Only that of arm64 is on every machine.
    var headers: [String] {
      self == .x86_64
        ? ["/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm/unistd_64.h"]
        : ["/usr/include/asm-generic/unistd.h"]
    }
  }

  private static let own: UInt32 = 4711
  private static let kill: UInt32 = 0x8000_0000, allow: UInt32 = 0x7FFF_0000, failure: UInt32 = 0x0005_0000

  private static func filter(_ processor: Processor) -> [calotype_filter_step] {
    var steps = [calotype_filter_step](
      repeating: calotype_filter_step(), count: Int(CALOTYPE_SANDBOX_MOST_STEPS))
    let count = calotype_sandbox_filter(processor.filter, own, &steps, steps.count)
    return Array(steps.prefix(count))
  }

  /// A number for each name that a processor's kernel has.
  private static func numbers(_ processor: Processor) throws -> [String: UInt32] {
    guard let path = processor.headers.first(where: { FileManager.default.fileExists(atPath: $0) }) else {
      return [:]
    }
    var numbers: [String: UInt32] = [:], aliases: [(String, String)] = []
    for line in try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n") {
      let words = line.split(whereSeparator: \.isWhitespace).map(String.init)
      guard words.count >= 3, words[0] == "#define", words[1].hasPrefix("__NR") else { continue }
      // The generic table has names for calls that are of 32 or 64 bits, and then says which they are.
      let name = words[1].replacing("__NR3264_", with: "__NR_").dropFirst(5)
      if let number = UInt32(words[2]) {
        numbers[String(name)] = number
      } else if words[1].hasPrefix("__NR_"), words[2].hasPrefix("__NR3264_") {
        aliases.append((String(name), String(words[2].dropFirst(9))))
      }
    }
    for (name, other) in aliases where numbers[name] == nil { numbers[name] = numbers[other] }
    return numbers
  }

  /// Runs a filter as the kernel does (Documentation/networking/filter.rst, "classic BPF"); `nil` where it would
  /// not take the program.
  private static func run(
    _ filter: [calotype_filter_step], arch: UInt32, number: UInt32, arguments: [UInt64] = [0, 0, 0]
  ) -> UInt32? {
    func load(_ offset: UInt32) -> UInt32? {
      switch offset {
      case 0: return number
      case 4: return arch
      case 16..<64 where offset % 4 == 0:
        let index = Int(offset - 16) / 8
        let argument = index < arguments.count ? arguments[index] : 0
        return UInt32(truncatingIfNeeded: offset % 8 == 0 ? argument : argument >> 32)
      default: return nil
      }
    }
    var at = 0, value: UInt32 = 0
    while at < filter.count {
      let step = filter[at]
      at += 1
      var holds = false
      switch step.code {
      case 0x20:  // load a word
        guard let word = load(step.value) else { return nil }
        value = word
        continue
      case 0x06: return step.value
      case 0x15: holds = value == step.value
      case 0x35: holds = value >= step.value
      case 0x45: holds = value & step.value != 0
      default: return nil
      }
      at += Int(holds ? step.if_true : step.if_false)
    }
    return nil
  }

  private static let allowed = [
    "recvmsg", "sendmsg", "close", "mmap", "mprotect", "munmap", "mremap", "madvise", "brk", "futex",
    "clock_gettime", "gettimeofday", "sched_yield", "getrandom", "getpid", "gettid", "sysinfo",
    "sched_getaffinity", "exit_group", "exit", "rt_sigreturn", "rt_sigprocmask", "rt_sigaction", "write",
    "writev",
  ]
  private static let answered = [
    "ioctl": ENOTTY, "fstat": EPERM, "newfstatat": EPERM, "prctl": EPERM, "clone3": ENOSYS, "rseq": ENOSYS,
  ]

  /// Each call that a kernel of the processor has is answered as it should be, and all other numbers end the worker.
  @Test(arguments: Processor.allCases)
  func everyCallIsAnsweredAsItShould(processor: Processor) throws {
    let filter = Self.filter(processor)
    let numbers = try Self.numbers(processor)
    try #require(processor == .x86_64 || numbers.count > 250, "the kernel's headers tell too little")
    if numbers.isEmpty { return }
    var expected: [UInt32: UInt32] = [:]
    for name in Self.allowed { expected[try #require(numbers[name], "\(name)")] = Self.allow }
    for (name, error) in Self.answered {
      expected[try #require(numbers[name], "\(name)")] = Self.failure | UInt32(error)
    }
    let names = Dictionary(numbers.map { ($1, $0) }, uniquingKeysWith: { name, _ in name })
    for number in Array(0..<2000) + [0x4000_0000, 0x4000_0009, 0x4000_002F, .max] as [UInt32] {
      let answer = Self.run(filter, arch: processor.code, number: number)
      #expect(
        answer == expected[number] ?? Self.kill, "\(names[number] ?? "no call") (\(number)) on \(processor)")
    }
  }

  /// A call's arguments count where they can do harm.
  @Test(arguments: Processor.allCases)
  func argumentsCount(processor: Processor) throws {
    let filter = Self.filter(processor)
    let numbers = try Self.numbers(processor)
    if numbers.isEmpty { return }
    func answer(_ name: String, _ arguments: [UInt64]) throws -> UInt32? {
      Self.run(filter, arch: processor.code, number: try #require(numbers[name]), arguments: arguments)
    }
    for name in ["mmap", "mprotect"] {
      for protection in 0...7 as ClosedRange<UInt64> {
        let expected = protection & 4 == 0 ? Self.allow : Self.kill
        #expect(try answer(name, [0, 4096, protection]) == expected)
        #expect(try answer(name, [4, 4, protection | 1 << 32]) == expected)
      }
    }
    #expect(try answer("tgkill", [UInt64(Self.own), 1, 6]) == Self.allow)
    for other in [0, 1, UInt64(Self.own) + 1, UInt64(UInt32.max)] {
      #expect(try answer("tgkill", [other, 1, 6]) == Self.kill)
    }
  }

  /// Calls of another processor, such as the 32-bit ones of the same machine, have other numbers.
  @Test(arguments: Processor.allCases)
  func otherProcessorsEndIt(processor: Processor) {
    let filter = Self.filter(processor)
    for arch in [0x4000_0003, 0x4000_0028, 0, .max] + Processor.allCases.map(\.code)
    where arch != processor.code {
      for number in 0..<500 as Range<UInt32> {
        #expect(Self.run(filter, arch: arch, number: number) == Self.kill)
      }
    }
  }

  /// What the kernel checks before it takes a program: its length, its jumps, and that it ends with an answer.
  @Test(arguments: Processor.allCases)
  func theKernelWouldTakeIt(processor: Processor) {
    let filter = Self.filter(processor)
    #expect(filter.count > 50 && filter.count <= Int(CALOTYPE_SANDBOX_MOST_STEPS))
    for (index, step) in filter.enumerated() where step.code & 7 == 5 {
      #expect(index + 1 + Int(max(step.if_true, step.if_false)) < filter.count)
    }
    #expect(filter.last?.code == 0x06 && filter.last?.value == Self.kill)
  }
}
