/// Lets each warning through once.
final class WarningGate: Sendable {
  private let hook: (@Sendable (DiskCache.Warning) -> Void)?
  private let told = Lock<Set<DiskCache.Warning>>([])

  init(_ hook: (@Sendable (DiskCache.Warning) -> Void)?) { self.hook = hook }

  func tell(_ warning: DiskCache.Warning) {
    guard let hook, told.withLock({ $0.insert(warning).inserted }) else { return }
    hook(warning)
  }
}
