import CCrypto
import CXXHash
import Foundation

/// Checksums.
enum Digest {
  /// SHA-256 in hexadecimal.
  static func sha256(_ data: Data) -> String {
    var digest = [UInt8](repeating: 0, count: 32)
    data.withUnsafeBytes { bytes in
      _ = SHA256(bytes.bindMemory(to: UInt8.self).baseAddress, bytes.count, &digest)
    }
    let digits = Array("0123456789abcdef".utf8)
    var text: [UInt8] = []
    for byte in digest {
      text.append(digits[Int(byte >> 4)])
      text.append(digits[Int(byte & 15)])
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// A number for a text that is the same in every run.
  static func stableHash(_ text: String) -> UInt64 {
    var text = text
    return text.withUTF8 { XXH3_64bits($0.baseAddress, $0.count) }
  }
}
