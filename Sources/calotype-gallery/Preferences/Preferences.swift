import Calotype
import Foundation

/// What a person has chosen, kept between runs.
struct Preferences: Codable, Equatable, Sendable {
  /// Which of the desktop's appearances is used.
  enum Appearance: String, Codable, CaseIterable, Sendable {
    /// What the desktop's settings say.
    case system
    case light
    case dark
  }

  /// How rows are laid out.
  enum Layout: String, Codable, CaseIterable, Sendable {
    case list
    case grid
  }

  /// Downloads under way at once.
  var downloadsAtOnce = 16 { didSet { downloadsAtOnce = Self.downloadRange.clamp(downloadsAtOnce) } }
  /// Megabytes (2²⁰ bytes) that the disk cache may take; 0 for what the library finds right for the disk.
  var cacheMegabytes = 0
  /// What counts as fresh in the caches.
  var freshness = FreshnessPolicy.http
  /// Whether downloads are held back while the list is flung.
  var pausesWhileScrolling = true
  /// Whether a badge on each picture says where it came from.
  var showsSource = false
  var appearance = Appearance.system
  var layout = Layout.list
  var order = RowOrder.list
  var isDescending = false
  var windowWidth = 760
  var windowHeight = 820
  var isMaximized = false

  static let downloadRange = 1...64
  /// What the disk cache can be set to; 0 is the library's own choice.
  static let cacheSizes = [0, 64, 128, 256, 512, 1024, 2048, 4096]

  init() {}

  private enum Key: String, CodingKey {
    case downloadsAtOnce, cacheMegabytes, freshness, pausesWhileScrolling, showsSource, appearance, layout
    case order, isDescending, windowWidth, windowHeight, isMaximized
  }

  /// Takes what is there and makes sense; a file from another version, or one that was edited, loses only what does
  /// not.
  init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: Key.self)
    func take<Value: Decodable>(_ key: Key, _ place: inout Value) {
      if let value = try? values.decodeIfPresent(Value.self, forKey: key) { place = value }
    }
    take(.downloadsAtOnce, &downloadsAtOnce)
    take(.cacheMegabytes, &cacheMegabytes)
    var name = freshness.rawValue
    take(.freshness, &name)
    freshness = FreshnessPolicy(rawValue: name) ?? freshness
    take(.pausesWhileScrolling, &pausesWhileScrolling)
    take(.showsSource, &showsSource)
    take(.appearance, &appearance)
    take(.layout, &layout)
    take(.order, &order)
    take(.isDescending, &isDescending)
    take(.windowWidth, &windowWidth)
    take(.windowHeight, &windowHeight)
    take(.isMaximized, &isMaximized)
    downloadsAtOnce = Self.downloadRange.clamp(downloadsAtOnce)
    cacheMegabytes = (0...1 << 20).clamp(cacheMegabytes)
    windowWidth = (360...8000).clamp(windowWidth)
    windowHeight = (400...8000).clamp(windowHeight)
  }

  func encode(to encoder: any Encoder) throws {
    var values = encoder.container(keyedBy: Key.self)
    try values.encode(downloadsAtOnce, forKey: .downloadsAtOnce)
    try values.encode(cacheMegabytes, forKey: .cacheMegabytes)
    try values.encode(freshness.rawValue, forKey: .freshness)
    try values.encode(pausesWhileScrolling, forKey: .pausesWhileScrolling)
    try values.encode(showsSource, forKey: .showsSource)
    try values.encode(appearance, forKey: .appearance)
    try values.encode(layout, forKey: .layout)
    try values.encode(order, forKey: .order)
    try values.encode(isDescending, forKey: .isDescending)
    try values.encode(windowWidth, forKey: .windowWidth)
    try values.encode(windowHeight, forKey: .windowHeight)
    try values.encode(isMaximized, forKey: .isMaximized)
  }

  /// Whether a pipeline that was made for the one will do for the other.
  func sharesPipeline(with other: Preferences) -> Bool {
    (downloadsAtOnce, cacheMegabytes, freshness) == (
      other.downloadsAtOnce, other.cacheMegabytes, other.freshness
    )
  }
}

extension ClosedRange {
  func clamp(_ value: Bound) -> Bound { Swift.min(Swift.max(value, lowerBound), upperBound) }
}

/// Reads and writes the preferences, and tells who wants to know that they changed.
@MainActor
final class PreferencesStore {
  private let file: URL
  private var observers: [Int: @MainActor (_ old: Preferences, _ new: Preferences) -> Void] = [:]
  private var lastObserver = 0

  /// What is chosen. A change is written at once: nothing is lost however the program ends.
  var value: Preferences {
    didSet {
      guard value != oldValue else { return }
      save()
      for observer in observers.values { observer(oldValue, value) }
    }
  }

  init(file: URL = UserFolders.config.appendingPathComponent("gallery.json")) {
    self.file = file
    value =
      (try? Data(contentsOf: file)).flatMap { try? JSONDecoder().decode(Preferences.self, from: $0) }
      ?? Preferences()
  }

  /// Tells of changes from now on, until the number given is handed to ``forget(_:)``.
  func observe(_ body: @escaping @MainActor (_ old: Preferences, _ new: Preferences) -> Void) -> Int {
    lastObserver += 1
    observers[lastObserver] = body
    return lastObserver
  }

  func forget(_ observer: Int) { observers[observer] = nil }

  private func save() {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    do {
      try writeAtomically(try encoder.encode(value), to: file)
    } catch {
      // The choice holds for this run; the next begins with the old one.
      FileHandle.standardError.write(
        Data(
          "calotype-gallery: settings cannot be kept in \(file.path): \(error.localizedDescription)\n".utf8))
    }
  }
}
