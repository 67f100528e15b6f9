#include "report/sqlite.h"

#include <dlfcn.h>
#include <sqlite3.h>

namespace luthier::report {

struct SqliteFunctions {
  decltype(&sqlite3_open) open;
  decltype(&sqlite3_close) close;
  decltype(&sqlite3_exec) exec;
  decltype(&sqlite3_prepare_v2) prepare;
  decltype(&sqlite3_bind_int64) bindInteger;
  decltype(&sqlite3_bind_double) bindNumber;
  decltype(&sqlite3_bind_text) bindText;
  decltype(&sqlite3_bind_null) bindNull;
  decltype(&sqlite3_step) step;
  decltype(&sqlite3_reset) reset;
  decltype(&sqlite3_finalize) finalize;
  decltype(&sqlite3_errmsg) message;
  decltype(&sqlite3_serialize) serialize;
  decltype(&sqlite3_free) free;
};

namespace {

constexpr const char *kLibrary = "libsqlite3.so.0";

Result<SqliteFunctions> load() {
  void *library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return makeError("a database (-f db) needs SQLite's library: {}; Debian's package is libsqlite3-0", dlerror());
  SqliteFunctions functions = {};
  std::string missing;
  const auto find = [&](auto &function, const char *name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    if (!function)
      missing = name;
  };
  find(functions.open, "sqlite3_open");
  find(functions.close, "sqlite3_close");
  find(functions.exec, "sqlite3_exec");
  find(functions.prepare, "sqlite3_prepare_v2");
  find(functions.bindInteger, "sqlite3_bind_int64");
  find(functions.bindNumber, "sqlite3_bind_double");
  find(functions.bindText, "sqlite3_bind_text");
  find(functions.bindNull, "sqlite3_bind_null");
  find(functions.step, "sqlite3_step");
  find(functions.reset, "sqlite3_reset");
  find(functions.finalize, "sqlite3_finalize");
  find(functions.message, "sqlite3_errmsg");
  find(functions.serialize, "sqlite3_serialize");
  find(functions.free, "sqlite3_free");
  if (!missing.empty())
    return makeError("a database (-f db) needs a newer SQLite: {} has no {}", kLibrary, missing);
  return functions;
}

} // namespace

Result<Database> Database::create() {
  static const auto *functions = new Result<SqliteFunctions>(load()); // threads may outlive static objects
  if (!*functions)
    return functions->error();
  sqlite3 *handle = nullptr;
  if ((*functions)->open(":memory:", &handle) != SQLITE_OK) {
    (*functions)->close(handle);
    return makeError("SQLite cannot make a database in memory");
  }
  return Database(**functions, handle);
}

Database::Database(Database &&other) noexcept
    : functions_(other.functions_), handle_(std::exchange(other.handle_, nullptr)) {}

Database::~Database() {
  if (handle_)
    functions_->close(handle_);
}

Error Database::failure(std::string_view what) const {
  return makeError("SQLite: {}: {}", what, functions_->message(handle_));
}

Result<void> Database::execute(const std::string &statements) {
  if (functions_->exec(handle_, statements.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
    return failure(statements);
  return {};
}

Result<void> Database::insert(const std::string &statement, const std::vector<std::vector<SqlValue>> &rows) {
  sqlite3_stmt *prepared = nullptr;
  if (functions_->prepare(handle_, statement.c_str(), -1, &prepared, nullptr) != SQLITE_OK)
    return failure(statement);
  struct Bind {
    const SqliteFunctions &functions;
    sqlite3_stmt *statement;
    int n;
    int operator()(std::monostate) const { return functions.bindNull(statement, n); }
    int operator()(int64_t value) const { return functions.bindInteger(statement, n, value); }
    int operator()(double value) const { return functions.bindNumber(statement, n, value); }
    // The text outlives the step.
    int operator()(const std::string &value) const {
      return functions.bindText(statement, n, value.data(), static_cast<int>(value.size()), nullptr);
    }
  };
  bool good = true;
  for (const std::vector<SqlValue> &row : rows) {
    for (size_t n = 0; good && n < row.size(); ++n)
      good = std::visit(Bind{*functions_, prepared, static_cast<int>(n) + 1}, row[n]) == SQLITE_OK;
    good = good && functions_->step(prepared) == SQLITE_DONE && functions_->reset(prepared) == SQLITE_OK;
    if (!good)
      break;
  }
  const Result<void> done = good ? Result<void>() : failure(statement);
  functions_->finalize(prepared);
  return done;
}

Result<std::string> Database::bytes() const {
  sqlite3_int64 size = 0;
  unsigned char *file = functions_->serialize(handle_, "main", &size, 0);
  if (!file)
    return failure("the database cannot be written");
  std::string bytes(reinterpret_cast<const char *>(file), static_cast<size_t>(size));
  functions_->free(file);
  return bytes;
}

} // namespace luthier::report
