// What Swift cannot import of SQLite: a variadic function, and a macro that is a cast function pointer.
#ifndef CALOTYPE_CSQLITE_SHIM_H
#define CALOTYPE_CSQLITE_SHIM_H
#include <sqlite3.h>

static inline int calotype_sqlite_no_checkpoint_on_close(sqlite3 *database) {
  return sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)0);
}

static inline int calotype_sqlite_bind_text(sqlite3_stmt *statement, int index, const char *text, int count) {
  return sqlite3_bind_text(statement, index, text ? text : "", count, SQLITE_TRANSIENT);
}
#endif
