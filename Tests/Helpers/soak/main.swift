import Calotype
import Foundation
import TestSupport

// Loads, cancels, evicts, breaks and begins anew at random for so many minutes, against a server that misbehaves.
//
//   calotype-soak MINUTES [SEED]
//
// At the end every load has ended exactly once, memory and open files are where they began, and the cache is in
// order; else the exit status is 1.

guard let minutes = CommandLine.arguments.dropFirst().first.flatMap(Double.init), minutes > 0 else {
  print("usage: calotype-soak MINUTES [SEED]")
  exit(2)
}
let seed = CommandLine.arguments.dropFirst(2).first.flatMap(UInt64.init) ?? UInt64.random(in: 1 ... .max)
let soak = try Soak(seed: seed)
Task { exit(await soak.run(seconds: minutes * 60) ? 0 : 1) }
dispatchMain()
