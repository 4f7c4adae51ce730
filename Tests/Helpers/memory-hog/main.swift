import Calotype
import Foundation

// Fills memory inside a control group until it is warned.
//
//   memory-hog MEBIBYTES FILE
//
// Says which sources it watches, takes so much memory, and then writes a file again and again, as a disk cache
// does, so that the kernel has to find pages. Says "warned" and ends with 0 once it is; ends with 1 where
// 400 MiB have been written without a warning.

guard CommandLine.arguments.count == 3, let mebibytes = Int(CommandLine.arguments[1]) else {
  FileHandle.standardError.write(Data("usage: memory-hog MEBIBYTES FILE\n".utf8))
  exit(2)
}

let warned = DispatchSemaphore(value: 0)
let cache = MemoryCache(configuration: .init(costLimit: 1 << 30, largestEntryShare: 1))
// The group's own word only: what the whole system feels is none of this.
let monitor = MemoryPressureMonitor {
  MemoryPressureMonitor.systemSources().filter {
    if case .pressureStall = $0.source { false } else { true }
  }
}
let observation = monitor.observe {
  cache.removeAll()
  warned.signal()
}
for source in monitor.sources { print("watches \(source)") }
var isWarned = false
for number in 0..<mebibytes where !isWarned {
  let bitmap = try Bitmap(size: PixelSize(width: 512, height: 512), isOpaque: true) { pixels in
    for at in pixels.indices { pixels[at] = UInt8(truncatingIfNeeded: at &* 31 &+ number) }
  }
  cache.store(ImageContainer(bitmap: bitmap), for: ImageCacheKey(address: "a", variant: "\(number)"))
  isWarned = warned.wait(timeout: .now()) == .success
}
let block = [UInt8](repeating: 7, count: 1 << 20)
let file = open(CommandLine.arguments[2], O_RDWR | O_CREAT, 0o600)
var written = 0
while written < 400, !isWarned {
  if written % 64 == 0 { lseek(file, 0, SEEK_SET) }
  _ = write(file, block, block.count)
  if written % 16 == 15 { fsync(file) }
  written += 1
  isWarned = warned.wait(timeout: .now()) == .success
}
// The kernel may be a little late.
isWarned = isWarned || warned.wait(timeout: .now() + 3) == .success
print(isWarned ? "warned, holds \(cache.statistics.cost >> 20) MiB" : "not warned")
withExtendedLifetime(observation) {}
exit(isWarned ? 0 : 1)
