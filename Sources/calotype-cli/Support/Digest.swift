import CCrypto
import CXXHash
import Foundation

/// Checksums.
enum Digest {
  /// SHA-256: 32 bytes; nil where ``ToolLibrary/crypto`` cannot be loaded.
  static func sha256(_ data: Data) -> [UInt8]? {
    guard (try? ToolLibrary.crypto.load()) != nil else { return nil }
    var digest = [UInt8](repeating: 0, count: 32)
    data.withUnsafeBytes { bytes in
      _ = SHA256(bytes.bindMemory(to: UInt8.self).baseAddress, bytes.count, &digest)
    }
    return digest
  }

  /// Bytes in hexadecimal.
  static func hexadecimal(_ bytes: [UInt8]) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(
      decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }

  /// A number for a text that is the same in every run.
  static func stableHash(_ text: String) -> UInt64 {
    var text = text
    return text.withUTF8 { XXH3_64bits($0.baseAddress, $0.count) }
  }
}
