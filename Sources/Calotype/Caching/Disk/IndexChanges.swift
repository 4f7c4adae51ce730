import Synchronization

/// What the index knows of an entry.
struct IndexRow: Sendable {
  var name: EntryName
  var key: String
  var url: String
  var kind: DataCacheMetadata.Kind
  /// Bytes on disk.
  var size: Int
  /// Microseconds since 1970, as all times here.
  var used: Int64
  var expires: Int64?
  var stored: Int64
}

/// What has happened since the index was written last, merged by entry.
struct IndexChanges: Sendable {
  enum Change: Sendable {
    case stored(IndexRow, claim: WriterClaim?, marks: Int)
    case used(Int64)
    case removed
  }

  private(set) var byName: [EntryName: Change] = [:]
  /// Bytes stored since the last batch.
  private(set) var storedBytes = 0

  var isEmpty: Bool { byName.isEmpty }
  var count: Int { byName.count }

  func willStore(_ name: EntryName) -> Bool {
    if case .stored = byName[name] { true } else { false }
  }

  mutating func store(_ row: IndexRow, claim: WriterClaim?) {
    var marks = claim == nil ? 0 : 1
    if case .stored(_, let oldClaim, let oldMarks) = byName[row.name] {
      if oldClaim === claim { marks += oldMarks } else { oldClaim?.unmark(row.name.shard, count: oldMarks) }
    }
    byName[row.name] = .stored(row, claim: claim, marks: marks)
    storedBytes += row.size
  }

  mutating func use(_ name: EntryName, at time: Int64) {
    switch byName[name] {
    case .stored(var row, let claim, let marks):
      row.used = max(row.used, time)
      byName[name] = .stored(row, claim: claim, marks: marks)
    case .removed: break
    case .used, nil: byName[name] = .used(time)
    }
  }

  mutating func remove(_ name: EntryName) {
    if case .stored(_, let claim, let marks) = byName[name] { claim?.unmark(name.shard, count: marks) }
    byName[name] = .removed
  }

  /// Takes all changes out.
  mutating func take() -> [EntryName: Change] {
    let changes = byName
    byName = [:]
    storedBytes = 0
    return changes
  }

  /// Puts changes back that could not be written; what came since wins.
  mutating func restore(_ changes: [EntryName: Change]) {
    for (name, change) in changes {
      switch (change, byName[name]) {
      case (.used, _): break
      case (_, nil): byName[name] = change
      case (.stored(let row, let claim, let marks), .used(let time)):
        var row = row
        row.used = max(row.used, time)
        byName[name] = .stored(row, claim: claim, marks: marks)
      case (.stored(_, let claim, let marks), .stored(let row, let newClaim, let newMarks)):
        if claim === newClaim {
          byName[name] = .stored(row, claim: newClaim, marks: newMarks + marks)
        } else {
          claim?.unmark(name.shard, count: marks)
        }
      case (.stored(_, let claim, let marks), .removed): claim?.unmark(name.shard, count: marks)
      case (.removed, _): break
      }
    }
  }

  /// Takes out the newest quarter of what was stored, or at least four.
  static func removeNewest(from changes: inout [EntryName: Change]) -> [EntryName: Change] {
    var stored: [(name: EntryName, used: Int64)] = []
    for (name, change) in changes {
      if case .stored(let row, _, _) = change { stored.append((name, row.used)) }
    }
    stored.sort { $0.used > $1.used }
    var removed: [EntryName: Change] = [:]
    for (name, _) in stored.prefix(max(4, stored.count / 4)) {
      removed[name] = changes.removeValue(forKey: name)
    }
    return removed
  }

  /// Says to the writers' claims that the changes are settled.
  static func settle(_ changes: [EntryName: Change]) {
    for (name, change) in changes {
      if case .stored(_, let claim, let marks) = change { claim?.unmark(name.shard, count: marks) }
    }
  }
}
