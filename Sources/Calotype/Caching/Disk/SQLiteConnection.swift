import CSQLite

/// A failure that SQLite reports.
struct SQLiteError: Error, Hashable {
  /// The primary result code.
  var code: Int32
  var message: String

  /// Whether the file is not a database that can be used.
  var isDamage: Bool { code == SQLITE_CORRUPT || code == SQLITE_NOTADB }
  /// Whether there is no room on the disk.
  var isFull: Bool { code == SQLITE_FULL }
  /// Whether it may be for want of room that a file could not be made or made longer.
  var mayBeFull: Bool { code == SQLITE_CANTOPEN || code == SQLITE_IOERR }
  /// Whether others held the database for too long.
  var isBusy: Bool { code == SQLITE_BUSY || code == SQLITE_LOCKED }
}

/// A connection to a database. Used from one thread at a time.
final class SQLiteConnection {
  /// What a parameter can be.
  enum Value {
    case integer(Int64)
    case text(String)
    case null

    static func optional(_ value: Int64?) -> Value { value.map(Value.integer) ?? .null }
    static func optional(_ value: String?) -> Value { value.map(Value.text) ?? .null }
  }

  /// A row while it is being read.
  struct Row {
    fileprivate let statement: OpaquePointer

    func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(statement, column) }

    func optionalInteger(_ column: Int32) -> Int64? {
      sqlite3_column_type(statement, column) == SQLITE_NULL ? nil : integer(column)
    }

    func text(_ column: Int32) -> String? {
      guard let bytes = sqlite3_column_text(statement, column) else { return nil }
      let count = Int(sqlite3_column_bytes(statement, column))
      return String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
    }
  }

  private let database: OpaquePointer
  private var statements: [String: OpaquePointer] = [:]

  /// Opens a database file.
  ///
  /// - Parameters:
  ///   - path: The file, which has to be there; no part of the path may be a link.
  ///   - busyTimeout: Milliseconds to wait for others.
  init(path: String, busyTimeout: Int32) throws(SQLiteError) {
    var database: OpaquePointer?
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX
    var code = sqlite3_open_v2(path, &database, flags, nil)
    if code == SQLITE_OK { code = calotype_sqlite_distrust_schema(database) }
    guard code == SQLITE_OK, let database else {
      let message = database.map { String(cString: sqlite3_errmsg($0)) } ?? "out of memory"
      sqlite3_close_v2(database)
      throw SQLiteError(code: code & 0xFF, message: message)
    }
    self.database = database
    sqlite3_busy_timeout(database, busyTimeout)
  }

  deinit {
    for statement in statements.values { sqlite3_finalize(statement) }
    sqlite3_close_v2(database)
  }

  /// Rows changed by the latest statement.
  var changes: Int { Int(sqlite3_changes(database)) }

  /// Runs statements that have no parameters and whose rows are of no interest.
  func execute(_ sql: String) throws(SQLiteError) {
    let code = sqlite3_exec(database, sql, nil, nil, nil)
    guard code == SQLITE_OK else { throw error(code) }
  }

  /// Runs a statement, prepared once, with parameters.
  func run(_ sql: String, _ values: Value...) throws(SQLiteError) {
    try rows(sql, values) { _ in }
  }

  /// Runs a statement, prepared once, and gives each row to a closure.
  func rows(_ sql: String, _ values: [Value] = [], _ body: (Row) -> Void) throws(SQLiteError) {
    let statement = try prepared(sql)
    defer {
      sqlite3_reset(statement)
      sqlite3_clear_bindings(statement)
    }
    for (index, value) in values.enumerated() { try bind(value, to: Int32(index + 1), of: statement) }
    while true {
      switch sqlite3_step(statement) {
      case SQLITE_ROW: body(Row(statement: statement))
      case SQLITE_DONE: return
      case let code: throw error(code)
      }
    }
  }

  /// The first column of the first row, or `nil`.
  func integer(_ sql: String, _ values: Value...) throws(SQLiteError) -> Int64? {
    var result: Int64?
    try rows(sql, values) { row in
      if result == nil { result = row.integer(0) }
    }
    return result
  }

  /// Runs a closure in a transaction that writes; undoes it where the closure throws.
  func transaction(_ body: () throws(SQLiteError) -> Void) throws(SQLiteError) {
    try execute("BEGIN IMMEDIATE")
    do throws(SQLiteError) {
      try body()
      try execute("COMMIT")
    } catch {
      try? execute("ROLLBACK")
      throw error
    }
  }

  /// Leaves the log alone when the last connection closes: that would wait for the disk.
  func keepLogOnClose() {
    calotype_sqlite_no_checkpoint_on_close(database)
  }

  private func prepared(_ sql: String) throws(SQLiteError) -> OpaquePointer {
    if let statement = statements[sql] { return statement }
    var statement: OpaquePointer?
    let code = sqlite3_prepare_v3(database, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
    guard code == SQLITE_OK, let statement else { throw error(code) }
    statements[sql] = statement
    return statement
  }

  private func bind(_ value: Value, to index: Int32, of statement: OpaquePointer) throws(SQLiteError) {
    let code: Int32
    switch value {
    case .integer(let number): code = sqlite3_bind_int64(statement, index, number)
    case .null: code = sqlite3_bind_null(statement, index)
    case .text(var text):
      code = text.withUTF8 { bytes in
        bytes.withMemoryRebound(to: CChar.self) { characters in
          calotype_sqlite_bind_text(statement, index, characters.baseAddress, Int32(characters.count))
        }
      }
    }
    guard code == SQLITE_OK else { throw error(code) }
  }

  private func error(_ code: Int32) -> SQLiteError {
    SQLiteError(code: code & 0xFF, message: String(cString: sqlite3_errmsg(database)))
  }
}
