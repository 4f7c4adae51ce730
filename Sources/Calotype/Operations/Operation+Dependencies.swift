import Foundation

extension Operation {
  /// Takes a cancelled operation out of what it waited for, so that it may be let go before that has ended.
  ///
  /// Foundation on Linux keeps in each operation the addresses, and no more, of those that depend on it. One
  /// that is cancelled ends without waiting; once it is let go, what it depended on would end with the
  /// address of freed memory in its hand.
  func leaveDependencies() {
    withExtendedLifetime(self) {
      for dependency in dependencies { removeDependency(dependency) }
    }
  }
}
