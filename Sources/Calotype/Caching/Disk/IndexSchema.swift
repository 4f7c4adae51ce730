import CSQLite

/// The tables of the index, and what keeps their totals.
enum IndexSchema {
  /// Word by word as SQLite keeps them.
  private static let statements = [
    """
    CREATE TABLE entries (
      id INTEGER PRIMARY KEY, low INTEGER NOT NULL, size INTEGER NOT NULL, used INTEGER NOT NULL,
      expires INTEGER, stored INTEGER NOT NULL, kind INTEGER NOT NULL, address INTEGER NOT NULL,
      key TEXT NOT NULL, url TEXT)
    """,
    "CREATE INDEX entries_used ON entries (used)",
    "CREATE INDEX entries_expires ON entries (expires) WHERE expires IS NOT NULL",
    "CREATE INDEX entries_address ON entries (address)",
    "CREATE TABLE totals (id INTEGER PRIMARY KEY CHECK (id = 0), count INTEGER NOT NULL, bytes INTEGER NOT NULL)",
    """
    CREATE TRIGGER entries_insert AFTER INSERT ON entries BEGIN
      UPDATE totals SET count = count + 1, bytes = bytes + NEW.size; END
    """,
    """
    CREATE TRIGGER entries_delete AFTER DELETE ON entries BEGIN
      UPDATE totals SET count = count - 1, bytes = bytes - OLD.size; END
    """,
    """
    CREATE TRIGGER entries_size AFTER UPDATE OF size ON entries WHEN OLD.size <> NEW.size BEGIN
      UPDATE totals SET bytes = bytes + NEW.size - OLD.size; END
    """,
    "CREATE TABLE state (name TEXT PRIMARY KEY, value INTEGER)",
  ]

  /// Makes them in an empty database.
  static func make(_ connection: SQLiteConnection) throws(SQLiteError) {
    try connection.execute(
      statements.joined(separator: ";\n") + "; INSERT INTO totals VALUES (0, 0, 0); PRAGMA user_version = 1")
  }

  /// Throws damage where the database holds anything but this program's own tables and triggers: what somebody
  /// else has laid there is not run, and not added to.
  ///
  /// - Parameter isMade: Whether the database says that it was made; otherwise it has to be empty.
  static func check(_ connection: SQLiteConnection, isMade: Bool) throws(SQLiteError) {
    var texts: [String] = []
    // Of the indexes that SQLite makes for itself there is no text.
    try connection.rows("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL") { row in
      texts.append(row.text(0) ?? "")
    }
    guard texts.sorted() == (isMade ? statements.sorted() : []) else {
      throw SQLiteError(code: SQLITE_CORRUPT, message: "the index is not one that this program has made")
    }
  }
}
