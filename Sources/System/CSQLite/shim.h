// What Swift cannot import of SQLite: a variadic function, and a macro that is a cast function pointer.
#ifndef CALOTYPE_CSQLITE_SHIM_H
#define CALOTYPE_CSQLITE_SHIM_H
#include <sqlite3.h>

static inline int calotype_sqlite_no_checkpoint_on_close(sqlite3 *database) {
  return sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)0);
}

// What a file holds that somebody else has made is data: views are not looked through, functions not called from
// its schema, and the schema cannot be written to.
static inline int calotype_sqlite_distrust_schema(sqlite3 *database) {
  int code = sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)0);
  if (code == SQLITE_OK) code = sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, (int *)0);
  if (code == SQLITE_OK) code = sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_VIEW, 0, (int *)0);
  return code;
}

static inline int calotype_sqlite_bind_text(sqlite3_stmt *statement, int index, const char *text, int count) {
  return sqlite3_bind_text(statement, index, text ? text : "", count, SQLITE_TRANSIENT);
}
#endif
