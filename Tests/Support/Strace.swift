/// The program that follows another one's system calls, and has them fail.
public enum Strace {
  /// Whether it may follow programs here: not in every container, nor beside a sanitizer's own tricks.
  public static let canFollow: Bool = {
    guard !Sanitizer.isOn, let program = try? SpawnedProgram("strace", ["-f", "-o", "/dev/null", "true"])
    else {
      return false
    }
    return program.wait() == 0
  }()
  /// Why tests are left out where it may not.
  public static let why = "strace may not follow programs here, or a sanitizer is on"
}
