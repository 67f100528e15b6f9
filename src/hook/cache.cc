#include "hook/cache.h"

#include "support/file.h"
#include "support/log.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/Support/SHA256.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <set>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace luthier::hook {

namespace {

constexpr std::string_view kMagic = "luthier hooks 2\n";
constexpr size_t kDigestDigits = 64;

void warnOnce(const std::string &folder, const std::string &why) {
  static std::mutex mutex;
  [[clang::no_destroy]] static std::set<std::string> warned;
  std::lock_guard lock(mutex);
  if (warned.insert(folder).second)
    log::warn(
        "the cache {} is not used, hooks are compiled in every run: it {}; make it your own (chown, chmod 700), or "
        "name another folder with LUTHIER_CACHE (\"off\" for none)",
        folder, why);
}

/// The folder, opened and found to be the user's alone; created when that is wanted.
class Folder {
public:
  Folder(const std::filesystem::path &path, bool create) {
    if (path.empty())
      return;
    if (create) {
      std::error_code error;
      std::filesystem::create_directories(path.parent_path(), error);
      ::mkdir(path.c_str(), 0700);
    }
    const int folder = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat status;
    if (folder < 0 || ::fstat(folder, &status) != 0) {
      if (create || errno != ENOENT)
        log::debug("the cache {} is not used: {}", path.string(), std::strerror(errno));
      if (folder >= 0)
        ::close(folder);
      return;
    }
    if (const std::string why = whoElseCouldWrite(status); !why.empty()) {
      warnOnce(path.string(), why);
      ::close(folder);
      return;
    }
    number_ = folder;
  }
  ~Folder() {
    if (number_ >= 0)
      ::close(number_);
  }
  Folder(const Folder &) = delete;
  Folder &operator=(const Folder &) = delete;

  explicit operator bool() const { return number_ >= 0; }
  int number() const { return number_; }

private:
  int number_ = -1;
};

std::string fileOf(const std::string &key) { return key + ".fragment"; }

Result<std::string> readOwn(int folder, const std::string &name) {
  // O_NONBLOCK: a fifo would be waited for.
  const int file = ::openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0)
    return makeErrorCode(errno, "{}", errno == ELOOP ? "it is a symbolic link" : std::strerror(errno));
  struct stat status;
  Result<std::string> result = std::string();
  if (::fstat(file, &status) != 0)
    result = makeErrorCode(errno, "{}", std::strerror(errno));
  else if (!S_ISREG(status.st_mode))
    result = makeError("it is not a regular file");
  else if (const std::string why = whoElseCouldWrite(status); !why.empty())
    result = makeError("it {}", why);
  else
    result = readAll(file);
  ::close(file);
  return result;
}

} // namespace

const std::string_view kHookVersion = LUTHIER_HOOK_VERSION " " LLVM_VERSION_STRING;

std::string digestOf(std::span<const std::byte> bytes) {
  const auto digest = llvm::SHA256::hash(llvm::ArrayRef(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()));
  return llvm::toHex(digest, /*LowerCase=*/true);
}

Cache::Cache(std::filesystem::path folder) : folder_(std::move(folder)) {
  if (!folder_.empty() && !folder_.has_filename())
    folder_ = folder_.parent_path(); // "folder/"
}

bool Cache::load(const std::string &key, const std::function<Result<void>(std::string_view)> &decode) const {
  const Folder folder(folder_, /*create=*/false);
  if (!folder)
    return false;
  const auto useless = [&](std::string_view why) {
    log::debug("{} will be replaced: {}", (folder_ / fileOf(key)).string(), why);
    return false;
  };
  const auto text = readOwn(folder.number(), fileOf(key));
  if (!text)
    return text.error().code() == ENOENT ? false : useless(text.error().message());
  const std::string_view all = *text;
  const size_t headBytes = kMagic.size() + kDigestDigits;
  if (all.size() < headBytes || !all.starts_with(kMagic) ||
      all.substr(kMagic.size(), kDigestDigits) != digestOf(key + std::string(all.substr(headBytes))))
    return useless("it is damaged");
  if (const auto decoded = decode(all.substr(headBytes)); !decoded)
    return useless(decoded.error().message());
  return true;
}

void Cache::store(const std::string &key, std::string_view text) const {
  const Folder folder(folder_, /*create=*/true);
  if (!folder)
    return;
  const std::string all = std::string(kMagic) + digestOf(key + std::string(text)) + std::string(text);
  if (const auto stored = replaceFileAt(folder.number(), fileOf(key), all, 0600); !stored)
    log::debug("{} is not kept: {}", (folder_ / fileOf(key)).string(), stored.error().message());
}

} // namespace luthier::hook
