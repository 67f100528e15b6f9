#include "hook/cache.h"

#include "support/file.h"
#include "support/log.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/SHA256.h>

#include <cstdio>
#include <cstring>
#include <type_traits>

namespace luthier::hook {

namespace {

constexpr std::string_view kMagic = "luthier fragment 1\n";
constexpr size_t kDigestDigits = 64;

class Writer {
public:
  template <class T>
    requires std::is_trivially_copyable_v<T>
  void put(const T &value) {
    text_.append(reinterpret_cast<const char *>(&value), sizeof value);
  }
  void put(const Port &port) {
    put(port.kind);
    put(port.index);
    put(port.part);
    put(port.guest.first);
    put(port.guest.count);
    put(port.launch);
    put(port.regs.first);
    put(port.regs.count);
  }
  void put(const FragmentRelocation &relocation) {
    put(relocation.offset);
    put(relocation.high);
    put(relocation.variable);
    put(relocation.addend);
  }
  template <class Range> void list(const Range &values) {
    put(static_cast<uint32_t>(values.size()));
    for (const auto &value : values)
      put(value);
  }
  std::string &text() { return text_; }

private:
  std::string text_;
};

/// Reads what Writer wrote. Nothing is believed: every length is checked, and `ok` says whether all was there.
class Reader {
public:
  explicit Reader(std::string_view text) : rest_(text) {}

  template <class T>
    requires std::is_trivially_copyable_v<T>
  void get(T &value) {
    if (rest_.size() < sizeof value) {
      ok = false;
      return;
    }
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_.remove_prefix(sizeof value);
  }
  void get(Port &port) {
    get(port.kind);
    get(port.index);
    get(port.part);
    get(port.guest.first);
    get(port.guest.count);
    get(port.launch);
    get(port.regs.first);
    get(port.regs.count);
  }
  void get(FragmentRelocation &relocation) {
    get(relocation.offset);
    get(relocation.high);
    get(relocation.variable);
    get(relocation.addend);
  }
  template <class T> void list(std::vector<T> &values) {
    uint32_t count = 0;
    get(count);
    for (uint32_t n = 0; ok && n < count; ++n)
      get(values.emplace_back());
  }
  bool done() const { return ok && rest_.empty(); }

  bool ok = true;

private:
  std::string_view rest_;
};

} // namespace

std::string digestOf(std::span<const std::byte> bytes) {
  const auto digest = llvm::SHA256::hash(llvm::ArrayRef(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()));
  return llvm::toHex(digest, /*LowerCase=*/true);
}

FragmentCache::FragmentCache(std::filesystem::path folder) : folder_(std::move(folder)) {}

std::filesystem::path FragmentCache::pathOf(const std::string &key) const { return folder_ / (key + ".fragment"); }

std::optional<Fragment> FragmentCache::load(const std::string &key) const {
  if (folder_.empty())
    return std::nullopt;
  const auto text = readFile(pathOf(key));
  if (!text)
    return std::nullopt;
  const std::string_view all = *text;
  const size_t headBytes = kMagic.size() + kDigestDigits;
  if (all.size() < headBytes || !all.starts_with(kMagic) ||
      all.substr(kMagic.size(), kDigestDigits) != digestOf(key + std::string(all.substr(headBytes)))) {
    log::debug("{} is damaged and will be replaced", pathOf(key).string());
    return std::nullopt;
  }
  Reader reader(all.substr(headBytes));
  Fragment fragment;
  reader.get(fragment.kind);
  reader.list(fragment.bytes);
  reader.list(fragment.inputs);
  reader.list(fragment.outputs);
  reader.list(fragment.relocations);
  if (!reader.done())
    return std::nullopt;
  return fragment;
}

void FragmentCache::store(const std::string &key, const Fragment &fragment) const {
  if (folder_.empty())
    return;
  Writer writer;
  writer.put(fragment.kind);
  writer.list(fragment.bytes);
  writer.list(fragment.inputs);
  writer.list(fragment.outputs);
  writer.list(fragment.relocations);
  std::string text = std::string(kMagic) + digestOf(key + writer.text()) + writer.text();

  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (const auto stored = replaceFile(pathOf(key).string(), text); !stored)
    log::debug("fragments are not kept: {}", stored.error().message());
}

} // namespace luthier::hook
