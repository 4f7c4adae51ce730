import Foundation

extension OperationQueue {
  /// Returns when all operations that are in the queue now have finished, without holding a thread meanwhile,
  /// as `waitUntilAllOperationsAreFinished()` does. Operations added later wait for those before them. On a
  /// suspended queue it returns after the queue has been resumed.
  public nonisolated(nonsending) func allOperationsFinished() async {
    await withUnsafeContinuation { continuation in addBarrierBlock { continuation.resume() } }
  }
}
