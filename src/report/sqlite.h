// SQLite, as much of it as a report needs: makes a database in memory and gives its file's bytes.
//
// The library is opened when the first database is made, and not linked to: what is loaded into applications must not
// bring another library into all of them, which some have in a version of their own.
#pragma once

#include "support/result.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace luthier::report {

/// NULL, an integer, a number, or text.
using SqlValue = std::variant<std::monostate, int64_t, double, std::string>;

struct SqliteFunctions;

class Database {
public:
  /// An error if there is no SQLite.
  static Result<Database> create();
  Database(Database &&other) noexcept;
  ~Database();

  Result<void> execute(const std::string &statements);
  /// `statement` has as many parameters as each row has values.
  Result<void> insert(const std::string &statement, const std::vector<std::vector<SqlValue>> &rows);
  /// The file.
  Result<std::string> bytes() const;

private:
  Database(const SqliteFunctions &functions, sqlite3 *handle) : functions_(&functions), handle_(handle) {}
  Error failure(std::string_view what) const;

  const SqliteFunctions *functions_;
  sqlite3 *handle_;
};

} // namespace luthier::report
