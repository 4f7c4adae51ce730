import Calotype
import Foundation

/// Keeps the lists that came from servers as they were last seen, for when those cannot be reached.
actor StoredLists {
  /// A list as it was.
  struct Stored: Sendable {
    var items: [ImageListItem]
    var date: Date
  }

  private struct Row: Codable {
    var title: String
    var subtitle: String?
    var url: String
    var fields: [[String]]?
  }

  private struct File: Codable {
    var source: String
    var date: Double
    var rows: [Row]
  }

  /// Rows kept of one list; a longer one is kept as far as that.
  private static let maximumRows = 20_000
  /// Lists kept; the oldest goes for a new one.
  private static let maximumLists = 50

  private let folder: URL

  init(folder: URL = UserFolders.cache.appendingPathComponent("gallery-lists", isDirectory: true)) {
    self.folder = folder
  }

  /// Keeps a list. What cannot be kept is not: a list that can be had again is not worth a word.
  func store(_ items: [ImageListItem], of source: GallerySource) {
    let rows = items.prefix(Self.maximumRows).map { item in
      Row(
        title: item.title, subtitle: item.subtitle, url: item.url.absoluteString,
        fields: item.fields.isEmpty ? nil : item.fields.map { [$0.name, $0.value] })
    }
    let file = File(source: source.text, date: Date().timeIntervalSince1970, rows: Array(rows))
    guard let data = try? JSONEncoder().encode(file) else { return }
    try? writeAtomically(data, to: place(of: source))
    dropOldest()
  }

  /// A list as it was last seen.
  func load(_ source: GallerySource) -> Stored? {
    guard let data = try? Data(contentsOf: place(of: source)),
      let file = try? JSONDecoder().decode(File.self, from: data), file.source == source.text
    else { return nil }
    let items = file.rows.enumerated().compactMap { index, row -> ImageListItem? in
      guard let url = URL(string: row.url), !url.isFileURL else { return nil }
      let fields = (row.fields ?? []).compactMap { pair in
        pair.count == 2 ? ImageListItem.Field(name: pair[0], value: pair[1]) : nil
      }
      return ImageListItem(
        title: row.title, subtitle: row.subtitle, url: url, fields: fields,
        place: ImageListPlace(row: index + 1))
    }
    return items.isEmpty ? nil : Stored(items: items, date: Date(timeIntervalSince1970: file.date))
  }

  private func place(of source: GallerySource) -> URL {
    // Any two addresses have names of their own; the file says whose it is all the same.
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in source.text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    return folder.appendingPathComponent(String(hash, radix: 16) + ".json")
  }

  private func dropOldest() {
    let keys: Set<URLResourceKey> = [.contentModificationDateKey]
    guard
      let files = try? FileManager.default.contentsOfDirectory(
        at: folder, includingPropertiesForKeys: Array(keys)), files.count > Self.maximumLists
    else { return }
    func date(_ file: URL) -> Date {
      (try? file.resourceValues(forKeys: keys).contentModificationDate) ?? .distantPast
    }
    for file in files.sorted(by: { date($0) < date($1) }).dropLast(Self.maximumLists) {
      try? FileManager.default.removeItem(at: file)
    }
  }
}
