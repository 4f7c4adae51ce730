import Calotype

/// Gives every item a file name of its own. The same list gives the same names in every run.
struct NameTable {
  /// The number to try next for a name that is taken, by the name's key.
  private var next: [UInt64: UInt32] = [:]

  /// A free name, without its extension, for a title: the title made safe, with `-2`, `-3` … behind it
  /// where it is taken on some file system.
  mutating func reserve(_ title: String) -> String {
    let name = Escaping.fileName(title)
    let key = Self.key(name)
    guard var number = next[key] else {
      next[key] = 2
      return name
    }
    while true {
      let candidate = "\(name)-\(number)"
      number += 1
      let candidateKey = Self.key(candidate)
      if next[candidateKey] == nil {
        next[candidateKey] = 2
        next[key] = number
        return candidate
      }
    }
  }

  /// Two names with one key count as one name: a number too many does no harm.
  private static func key(_ name: String) -> UInt64 { Digest.stableHash(Escaping.fileNameCollisionKey(name)) }
}
