import Foundation

/// Tells whether the tests run under the thread or the address sanitizer, which need far more memory and
/// system calls than the program itself does.
public enum Sanitizer {
  /// Whether one is at work in this process.
  public static let isOn = dlsym(nil, "__tsan_init") != nil || dlsym(nil, "__asan_init") != nil
}
