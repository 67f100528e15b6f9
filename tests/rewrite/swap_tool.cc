// A tool for tests, loaded by ROCr (HSA_TOOLS_LIB): every code object that the application loads is replaced by its
// rewritten form, all kernels of it. What is done is in the environment (swap_object.h, tests/rewrite/README.md);
// LUTHIER_SWAP_REPORT=FILE gets an account of it, LUTHIER_SWAP_DUMP=FOLDER the files.
//
// An object that cannot be rewritten is loaded as it is, with a message.
#include "hsa/code_capture.h"
#include "hsa/interceptor.h"
#include "object/kernel_descriptor.h"
#include "support/env.h"
#include "support/log.h"
#include "swap_object.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <unordered_map>

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

namespace luthier::rewrite::test {
namespace {

class SwapTool {
public:
  static SwapTool &instance() {
    static auto *tool = new SwapTool; // ROCr's threads outlive everything
    return *tool;
  }

  Result<void> start() {
    swapper_ = LUTHIER_TRY(Swapper::create(LUTHIER_TRY(SwapOptions::fromEnvironment())));
    report_ = env::text("LUTHIER_SWAP_REPORT").value_or("");
    dump_ = env::text("LUTHIER_SWAP_DUMP").value_or("");
    account_["objects"] = nlohmann::json::array();
    writeReport();
    return {};
  }

  void listen(hsa::Interceptor &interceptor) {
    using hsa::ApiId;
    interceptor.events()
        .executableDestroyed.subscribe([this](hsa_executable_t executable) { readCounters(executable.handle); })
        .keep();
    interceptor
        .before<ApiId::hsa_code_object_reader_create_from_memory>(
            [this](const void *&memory, size_t &size, hsa_code_object_reader_t *&) {
              if (const auto *file = swapped({static_cast<const std::byte *>(memory), size}, "memory")) {
                memory = file->data();
                size = file->size();
              }
            })
        .keep();
    interceptor
        .before<ApiId::hsa_code_object_reader_create_from_file>([this](hsa_file_t &file, hsa_code_object_reader_t *&) {
          struct stat info;
          if (fstat(file, &info) == 0)
            swapFile(file, 0, static_cast<size_t>(info.st_size));
        })
        .keep();
    interceptor
        .before<ApiId::hsa_ven_amd_loader_code_object_reader_create_from_file_with_offset_size>(
            [this](hsa_file_t &file, size_t &offset, size_t &size, hsa_code_object_reader_t *&) {
              if (const size_t bytes = swapFile(file, offset, size)) {
                offset = 0;
                size = bytes;
              }
            })
        .keep();
    interceptor.events().codeLoaded.subscribe([this](const hsa::SharedCode &code) { noteLoaded(*code); }).keep();
    // HIP takes sizes from the note of the original, which it reads itself.
    interceptor.packets()
        .subscribe([this](hsa::PacketBatch &batch) {
          for (hsa::PacketBatch::Entry &entry : batch.entries)
            if (auto *dispatch = entry.packet.kernelDispatch())
              if (const MoreMemory more = moreMemory(dispatch->kernel_object); more.scratch || more.lds) {
                log::debug("{} more bytes of scratch than {}, {} more of LDS than {}", more.scratch,
                           dispatch->private_segment_size, more.lds, dispatch->group_segment_size);
                dispatch->private_segment_size += more.scratch;
                dispatch->group_segment_size += more.lds;
              }
        })
        .keep();
  }

  /// At the application's end: of all that is still loaded.
  void finish() {
    readCounters(0);
    std::lock_guard lock(mutex_);
    account_["counted"] = counted_;
    writeReport();
  }

private:
  using File = std::vector<std::byte>;

  struct Counter {
    uint64_t executable, address;
  };

  /// Of an executable, or of all (0). The memory of virtual GPUs is the process's own; at its end it may be gone.
  void readCounters(uint64_t executable) {
    std::lock_guard lock(mutex_);
    std::erase_if(counters_, [&](const Counter &counter) {
      if (executable && counter.executable != executable)
        return false;
      uint64_t value = 0;
      const iovec to{&value, sizeof value}, from{reinterpret_cast<void *>(counter.address), sizeof value};
      if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) != sizeof value)
        log::error("a counter at {:#x} is gone", counter.address);
      counted_ += value;
      return true;
    });
  }

  /// What to load instead; null: the original.
  const File *swapped(std::span<const std::byte> bytes, const char *from) {
    std::lock_guard lock(mutex_);
    std::string key(reinterpret_cast<const char *>(bytes.data()), bytes.size());
    if (const auto it = files_.find(key); it != files_.end())
      return it->second.empty() ? nullptr : &it->second;
    const std::string origin = fmt::format("object {} ({})", files_.size() + 1, from);
    File &file = files_[std::move(key)];
    auto result = swapBytes(bytes, origin);
    if (!result) {
      log::error("{} is loaded as it is: {}", origin, result.error().message());
      account_["objects"].push_back({{"object", origin}, {"error", result.error().message()}});
    } else {
      file = std::move(result->file);
      moreByFile_[std::string(reinterpret_cast<const char *>(file.data()), file.size())] = std::move(result->more);
      if (!dump_.empty()) {
        std::ofstream out(fmt::format("{}/{}.co", dump_, files_.size()), std::ios::binary);
        out.write(reinterpret_cast<const char *>(file.data()), static_cast<std::streamsize>(file.size()));
      }
      account_["objects"].push_back(std::move(result->account));
    }
    writeReport();
    return file.empty() ? nullptr : &file;
  }

  Result<Swapped> swapBytes(std::span<const std::byte> bytes, const std::string &origin) {
    const object::CodeObject object = LUTHIER_TRY(object::CodeObject::parse(bytes, origin));
    return swapper_->swap(object);
  }

  /// Bytes of the new file; 0: it stays.
  size_t swapFile(hsa_file_t &file, size_t offset, size_t size) {
    File bytes(size);
    if (pread(file, bytes.data(), size, static_cast<off_t>(offset)) != static_cast<ssize_t>(size))
      return 0;
    const File *instead = swapped(bytes, "file");
    if (!instead)
      return 0;
    // ROCr maps it at once or later; it stays open.
    const int memory = memfd_create("swapped", MFD_CLOEXEC);
    if (memory < 0 || write(memory, instead->data(), instead->size()) != static_cast<ssize_t>(instead->size()))
      return 0;
    file = memory;
    return instead->size();
  }

  void noteLoaded(const hsa::CapturedCode &code) {
    const auto bytes = code.storage();
    std::lock_guard lock(mutex_);
    const auto it = moreByFile_.find(std::string(reinterpret_cast<const char *>(bytes.data()), bytes.size()));
    if (it == moreByFile_.end())
      return;
    for (const auto &[descriptor, more] : it->second)
      more_[code.loadedAddress(descriptor)] = more;
    if (const auto &object = code.object())
      for (const char *name : {"luthierHarnessCount", "luthierHarnessLaunchCount"})
        if (const object::Symbol *counter = object->find(name))
          counters_.push_back({code.executable().handle, code.loadedAddress(counter->address)});
    anyMore_ = anyMore_ || !it->second.empty();
  }

  MoreMemory moreMemory(uint64_t kernelObject) {
    if (!anyMore_)
      return {};
    std::lock_guard lock(mutex_);
    const auto it = more_.find(kernelObject);
    return it == more_.end() ? MoreMemory() : it->second;
  }

  /// After every object: the application may end in any way.
  void writeReport() const {
    if (report_.empty())
      return;
    const std::string part = report_ + ".part";
    std::ofstream(part) << account_.dump(1) << '\n';
    std::error_code ignored;
    std::filesystem::rename(part, report_, ignored);
  }

  std::unique_ptr<Swapper> swapper_;
  std::string report_, dump_;
  std::atomic<bool> anyMore_ = false;
  std::mutex mutex_;                            ///< guards what follows
  std::unordered_map<std::string, File> files_; ///< by the original's bytes; empty: it stays
  std::unordered_map<std::string, std::vector<std::pair<uint64_t, MoreMemory>>> moreByFile_;
  std::unordered_map<uint64_t, MoreMemory> more_; ///< by kernel object
  std::vector<Counter> counters_;
  uint64_t counted_ = 0;
  nlohmann::json account_;
};

} // namespace
} // namespace luthier::rewrite::test

using namespace luthier;

extern "C" {

[[gnu::visibility("default")]] bool OnLoad(HsaApiTable *table, uint64_t, uint64_t, const char *const *) {
  Dl_info self;
  if (dladdr(reinterpret_cast<void *>(&OnLoad), &self))
    dlopen(self.dli_fname, RTLD_NOW | RTLD_NODELETE);
  auto &tool = rewrite::test::SwapTool::instance();
  hsa::Interceptor &interceptor = hsa::Interceptor::instance();
  auto started = tool.start();
  if (started)
    started = interceptor.install(table);
  if (!started) {
    log::error("nothing is swapped: {}", started.error().message());
    return true;
  }
  tool.listen(interceptor);
  atexit([] { rewrite::test::SwapTool::instance().finish(); });
  return true;
}

[[gnu::visibility("default")]] void OnUnload() { hsa::Interceptor::instance().uninstall(); }

} // extern "C"
