import Calotype

/// What an option's argument may be, where that is one of a few words. The words are the type's own cases, so
/// that what is parsed, the help, the man page, the completions and the messages say the same.
protocol Choice: CaseIterable {
  /// The word for a case.
  var word: String { get }
  /// The case that a word stands for, or `nil`.
  static func named(_ word: String) -> Self?
}

extension Choice {
  /// A case's own name.
  var word: String { "\(self)" }

  static func named(_ word: String) -> Self? { allCases.first { $0.word == word } }

  /// All words, in the order of the cases.
  static var words: [String] { allCases.map(\.word) }
}

extension Choice where Self: RawRepresentable, RawValue == String {
  /// The name that the library gives it.
  var word: String { rawValue }
}

extension TargetSize.Mode: Choice {}
extension ImageProcessors.Resize.Anchor: Choice {}
extension ImageEncodingOptions.Effort: Choice {}
extension ImageRequest.CachePolicy: Choice {}
extension ImageListFormat: Choice {}
extension DecodingIsolation: Choice {}

extension ImageEncodingOptions.Chroma: Choice {
  var word: String { self == .automatic ? "auto" : "\(self)" }
}

extension PictureOutput.Format: Choice {
  /// Those that can be asked for by name: ``automatic`` is what no name asks for.
  static var allCases: [PictureOutput.Format] { [.original] + ImageEncoder.formats.map(fixed) }

  var word: String {
    switch self {
    case .original: "original"
    case .automatic: "automatic"
    case .fixed(let format): format.rawValue
    }
  }

  static func named(_ word: String) -> Self? {
    if word == "original" { return .original }
    // JPEG goes by the name of its files too.
    guard let format = PictureFile.format(of: "." + word), ImageEncoder.formats.contains(format) else {
      return nil
    }
    return .fixed(format)
  }
}

extension Arguments {
  /// An option's word as the case that it stands for; `nil` where the option was not given.
  func choice<Value: Choice>(_ name: String, _ type: Value.Type = Value.self) throws -> Value? {
    guard let text = self[name] else { return nil }
    guard let value = Value.named(text) else {
      throw UsageError("--\(name) is \(Self.alternatives(Value.words)), not \(text)")
    }
    return value
  }

  /// For example `fit, fill or exact`.
  static func alternatives(_ words: [String]) -> String {
    guard let last = words.last, words.count > 1 else { return words.first ?? "" }
    return words.dropLast().joined(separator: ", ") + " or " + last
  }
}
