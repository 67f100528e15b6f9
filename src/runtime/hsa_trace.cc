#include "runtime/hsa_trace.h"

#include "hsa/blit.h"
#include "hsa/code_capture.h"
#include "hsa/interceptor.h"
#include "hsa/queue_interception.h"
#include "runtime/tool_settings.h"
#include "support/demangle.h"
#include "support/log.h"
#include "support/variables.h"
#include "support/write_all.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <unordered_map>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace luthier::runtime {

namespace {

/// What a line says about a kernel, found once per kernel.
struct KernelText {
  std::string name;
  std::string resources;
};

class HsaTrace {
public:
  HsaTrace(TraceParts parts, int file, std::string path)
      : parts_(parts), file_(file), path_(std::move(path)), begin_(Clock::now()) {}
  void subscribe();
  void finish();

private:
  using Clock = std::chrono::steady_clock;

  template <class... Args> void line(std::string_view kind, fmt::format_string<Args...> format, Args &&...args) {
    const double seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
    // One write per line: threads and processes do not mix, and nothing is lost at a crash.
    const int failed = writeAll(file_, fmt::format("{:12.6f} {:5} {:8} {}\n", seconds, gettid(), kind,
                                                   fmt::vformat(format, fmt::make_format_args(args...))));
    if (failed && !cut_.exchange(true))
      log::error("cannot write the trace to {}: {}; lines are missing from it", path_, strerror(failed));
  }

  void codeLoaded(const hsa::SharedCode &code);
  void executableDestroyed(hsa_executable_t executable);
  void packets(hsa::PacketBatch &batch);
  void completed(const hsa::KernelCompletion &completion, const std::string &name, uint64_t index);
  KernelText kernelText(uint64_t kernelObject);
  unsigned queueNumber(const hsa_queue_t *queue);

  const TraceParts parts_;
  const int file_;
  const std::string path_;
  const Clock::time_point begin_;
  std::atomic<bool> cut_ = false; ///< a line could not be written

  std::mutex mutex_; ///< guards what follows
  std::unordered_map<const hsa_queue_t *, unsigned> queueNumbers_;
  std::unordered_map<uint64_t, KernelText> kernels_; ///< by kernel object; forgotten when code is unloaded
  std::map<std::string, uint64_t> launches_;         ///< by name
  uint64_t calls_ = 0, objects_ = 0, dispatches_ = 0, otherPackets_ = 0, done_ = 0;
  bool finished_ = false;
};

void HsaTrace::subscribe() {
  hsa::Interceptor &interceptor = hsa::Interceptor::instance();
  if (parts_.api)
    hsa::calls::every()
        .subscribe([this](const hsa::CallRecord &call) {
          const double us = std::chrono::duration<double, std::micro>(call.end - call.begin).count();
          line("api", "{}({}){}{} [{:.1f} us]", hsa::apiName(call.id), call.arguments, call.result.empty() ? "" : " = ",
               call.result, us);
          std::lock_guard lock(mutex_);
          ++calls_;
        })
        .keep();
  if (parts_.code) {
    interceptor.events().codeLoaded.subscribe([this](const hsa::SharedCode &code) { codeLoaded(code); }).keep();
    interceptor.events()
        .executableFrozen
        .subscribe([this](hsa_executable_t executable) { line("code", "executable {:#x} frozen", executable.handle); })
        .keep();
  }
  interceptor.events()
      .executableDestroyed.subscribe([this](hsa_executable_t executable) { executableDestroyed(executable); })
      .keep();
  if (parts_.queues) {
    interceptor.events()
        .queueCreated
        .subscribe([this](const hsa::QueueInfo &info) {
          const unsigned number = queueNumber(info.queue);
          line("queue", "queue {} created: {:#x}, {} packets, agent {:#x}", number,
               reinterpret_cast<uintptr_t>(info.queue), info.queue->size, info.agent.handle);
        })
        .keep();
    interceptor.events()
        .queueDestroyed
        .subscribe([this](const hsa::QueueInfo &info) { line("queue", "queue {} destroyed", queueNumber(info.queue)); })
        .keep();
  }
  if (parts_.queues)
    interceptor.events()
        .copied
        .subscribe(
            [this](const hsa::CopyRecord &copy) { line("copy", "{}: {} bytes", hsa::apiName(copy.call), copy.bytes); })
        .keep();
  if (parts_.packets)
    interceptor.packets().subscribe([this](hsa::PacketBatch &batch) { packets(batch); }).keep();
}

void HsaTrace::codeLoaded(const hsa::SharedCode &code) {
  const auto &object = code->object();
  {
    std::lock_guard lock(mutex_);
    ++objects_;
  }
  if (!object)
    return line("code", "object {} loaded at {:#x}: {}", code->number(), code->base(), object.error().message());
  line("code", "object {} loaded at {:#x}, {} bytes, {}: {} kernels, {} device functions, {} variables; {}",
       code->number(), code->base(), code->size(), object->targetId(), object->kernels().size(),
       object->symbols(object::SymbolKind::DeviceFunction).size(), object->symbols(object::SymbolKind::Variable).size(),
       code->uri());
}

void HsaTrace::executableDestroyed(hsa_executable_t executable) {
  const auto gone = hsa::Interceptor::instance().code().of(executable);
  if (parts_.code)
    for (const hsa::SharedCode &code : gone)
      line("code", "object {} unloaded", code->number());
  std::lock_guard lock(mutex_);
  std::erase_if(kernels_, [&](const auto &entry) {
    return std::ranges::any_of(gone, [&](const hsa::SharedCode &code) { return code->contains(entry.first); });
  });
}

unsigned HsaTrace::queueNumber(const hsa_queue_t *queue) {
  std::lock_guard lock(mutex_);
  return queueNumbers_.try_emplace(queue, static_cast<unsigned>(queueNumbers_.size() + 1)).first->second;
}

KernelText HsaTrace::kernelText(uint64_t kernelObject) {
  {
    std::lock_guard lock(mutex_);
    if (auto found = kernels_.find(kernelObject); found != kernels_.end())
      return found->second;
  }
  KernelText text{fmt::format("kernel object {:#x}", kernelObject), "resources unknown"};
  if (const hsa::SharedCode code = hsa::Interceptor::instance().code().find(kernelObject))
    if (const object::Symbol *kernel = code->kernelOf(kernelObject)) {
      text.name = demangle(kernel->name);
      const object::CodeObject &object = *code->object();
      if (auto descriptor = object.descriptor(*kernel); descriptor && object.hasTarget())
        text.resources =
            fmt::format("vgpr {}, sgpr {}", descriptor->vgprs(object.target()), descriptor->sgprs(object.target()));
    }
  std::lock_guard lock(mutex_);
  return kernels_.emplace(kernelObject, std::move(text)).first->second;
}

void HsaTrace::packets(hsa::PacketBatch &batch) {
  const unsigned queue = queueNumber(batch.queue.queue);
  uint64_t index = batch.firstIndex;
  for (hsa::PacketBatch::Entry &entry : batch.entries) {
    const hsa::AqlPacket &packet = entry.packet;
    const std::string_view barrier = packet.barrierBit() ? ", barrier" : "";
    if (const auto *dispatch = packet.kernelDispatch()) {
      const KernelText kernel = kernelText(dispatch->kernel_object);
      line("dispatch", "queue {} packet {}: {}, grid {}x{}x{}, workgroup {}x{}x{}, {}, lds {}, scratch {}{}", queue,
           index, kernel.name, dispatch->grid_size_x, dispatch->grid_size_y, dispatch->grid_size_z,
           dispatch->workgroup_size_x, dispatch->workgroup_size_y, dispatch->workgroup_size_z, kernel.resources,
           dispatch->group_segment_size, dispatch->private_segment_size, barrier);
      {
        std::lock_guard lock(mutex_);
        ++dispatches_;
        ++launches_[kernel.name];
      }
      entry.completed = [this, name = kernel.name, index,
                         next = std::move(entry.completed)](const hsa::KernelCompletion &completion) {
        if (next)
          next(completion);
        completed(completion, name, index);
      };
    } else {
      line("packet", "queue {} packet {}: {}{}", queue, index, hsa::toString(packet.type()), barrier);
      std::lock_guard lock(mutex_);
      ++otherPackets_;
    }
    ++index;
  }
}

void HsaTrace::completed(const hsa::KernelCompletion &completion, const std::string &name, uint64_t index) {
  {
    std::lock_guard lock(mutex_);
    ++done_;
  }
  const unsigned queue = queueNumber(completion.queue.queue);
  if (completion.end > completion.begin)
    line("done", "queue {} packet {}: {}, {:.1f} us", queue, index, name,
         static_cast<double>(completion.end - completion.begin) / 1e3);
  else
    line("done", "queue {} packet {}: {}", queue, index, name);
}

void HsaTrace::finish() {
  // An application may end without HSA being shut down, and with kernels on their way.
  hsa::Interceptor::instance().queues().drainCompletions();
  std::map<std::string, uint64_t> launches;
  {
    std::lock_guard lock(mutex_);
    if (finished_)
      return;
    finished_ = true;
    launches = launches_;
  }
  line("summary", "{} calls, {} code objects, {} queues, {} dispatches ({} seen to complete), {} other packets", calls_,
       objects_, queueNumbers_.size(), dispatches_, done_, otherPackets_);
  const hsa::BlitWatch::Totals blit = hsa::Interceptor::instance().blit().totals();
  line("summary", "{} copies and fills by ROCr, {} bytes; {} packets on its {} own queues", blit.operations, blit.bytes,
       blit.packets, blit.queues);
  for (const auto &[name, count] : launches)
    line("summary", "{} x {}", count, name);
}

// Never destroyed: ROCr's threads may still be calling.
HsaTrace *theTrace = nullptr;

} // namespace

Result<void> startHsaTrace() {
  if (theTrace)
    return {};
  const auto wanted = env::text("LUTHIER_TRACE");
  if (!wanted)
    return {};
  const TraceParts parts = LUTHIER_TRY(parseTraceParts(*wanted, "LUTHIER_TRACE"));
  int file = STDERR_FILENO;
  const auto path = LUTHIER_TRY(env::outputFile(env::kTraceFile));
  if (path) {
    file = open(path->c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (file < 0)
      return makeErrorCode(errno, "cannot write the trace to {}: {}", *path, strerror(errno));
  }
  theTrace = new HsaTrace(parts, file, path.value_or("stderr"));
  theTrace->subscribe();
  atexit(finishHsaTrace);
  return {};
}

void finishHsaTrace() {
  if (theTrace)
    theTrace->finish();
}

} // namespace luthier::runtime
