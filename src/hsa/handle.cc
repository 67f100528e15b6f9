#include "hsa/handle.h"

#include "hsa/executable.h"
#include "hsa/interceptor.h"

#include <mutex>
#include <unordered_map>

namespace luthier::hsa::lifetime {

#if LUTHIER_HSA_CHECK_HANDLES

namespace {

struct Record {
  std::mutex mutex;
  std::unordered_map<uint64_t, uint64_t> last; ///< destruction by address
  uint64_t count = 0;
  uint64_t shutDown = 0; ///< everything from before is gone
};

Record &record() {
  static auto *all = new Record; // ROCr's threads outlive static objects
  return *all;
}

} // namespace

uint64_t lastDestruction(uint64_t handle) {
  Record &all = record();
  std::lock_guard lock(all.mutex);
  const auto found = all.last.find(handle);
  return found == all.last.end() ? all.shutDown : found->second;
}

void noteDestruction(uint64_t handle) {
  if (!handle)
    return;
  Record &all = record();
  std::lock_guard lock(all.mutex);
  all.last[handle] = ++all.count;
}

void noteAllDestroyed() {
  Record &all = record();
  std::lock_guard lock(all.mutex);
  all.last.clear();
  all.shutDown = ++all.count;
}

void watchApplication() {
  static const bool watching = [] {
    calls::before<ApiId::hsa_executable_destroy>([](hsa_executable_t executable) {
      if (executable.handle)
        Executable(executable).noteDestruction();
    }).keep();
    calls::before<ApiId::hsa_signal_destroy>([](hsa_signal_t signal) { noteDestruction(signal.handle); }).keep();
    calls::before<ApiId::hsa_code_object_reader_destroy>([](hsa_code_object_reader_t reader) {
      noteDestruction(reader.handle);
    }).keep();
    Interceptor::instance()
        .events()
        .queueDestroyed
        .subscribe([](const QueueInfo &queue) {
          noteDestruction(reinterpret_cast<uint64_t>(queue.queue));
          if (queue.real != queue.queue)
            noteDestruction(reinterpret_cast<uint64_t>(queue.real));
        })
        .keep();
    return true;
  }();
  static_cast<void>(watching);
}

#endif

} // namespace luthier::hsa::lifetime
