#include "vgpu/wave/trace.h"

#include "luthier/memory_space_name.h"
#include "support/log.h"
#include "support/variables.h"
#include "support/write_all.h"
#include "vgpu/wave/observer.h"
#include "vgpu/wave/workgroup.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <iterator>

namespace luthier::vgpu {

namespace {

constexpr size_t kBufferBytes = 1 << 20;

std::optional<uint64_t> decimal(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty() ? std::optional(value)
                                                                                   : std::nullopt;
}

} // namespace

Result<WaveRange> parseWaveRange(std::string_view text) {
  const size_t dash = text.find('-');
  const auto first = decimal(text.substr(0, dash));
  const auto last = dash == text.npos ? first : decimal(text.substr(dash + 1));
  if (!first || !last || *last < *first)
    return makeError("'{}' is not a wave: expected a number, or a range such as 4-7", text);
  return WaveRange{*first, *last};
}

Result<std::shared_ptr<Trace>> Trace::open(const std::string &path, const std::string &kernels, WaveRange waves,
                                           TraceContent content) {
  std::shared_ptr<Trace> trace(new Trace(path, waves, content));
  if (!kernels.empty()) {
    if (const int error = regcomp(&trace->kernels_, kernels.c_str(), REG_EXTENDED | REG_NOSUB)) {
      char why[128];
      regerror(error, &trace->kernels_, why, sizeof why);
      return makeError("'{}' is not a valid regular expression: {}", kernels, why);
    }
    trace->filtered_ = true;
  }
  trace->file_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (trace->file_ < 0)
    return makeError("cannot write the trace to {}: {}", path, strerror(errno));
  return trace;
}

std::shared_ptr<Trace> Trace::fromEnvironment() {
  const auto path = env::outputFile(env::kVgpuTrace);
  const auto sums = env::flag(env::kTraceSums, false);
  if (!path || !sums) {
    log::error("{}; nothing is traced", (path ? sums.error() : path.error()).message());
    return nullptr;
  }
  if (!*path)
    return nullptr;
  WaveRange waves;
  if (const auto text = env::text("LUTHIER_VGPU_TRACE_WAVE")) {
    auto range = parseWaveRange(*text);
    if (!range) {
      log::error("LUTHIER_VGPU_TRACE_WAVE: {}; nothing is traced", range.error().message());
      return nullptr;
    }
    waves = *range;
  }
  auto trace = open(**path, env::text("LUTHIER_VGPU_TRACE_KERNEL").value_or(""), waves,
                    *sums ? TraceContent::AccessSums : TraceContent::Instructions);
  if (!trace) {
    log::error("{}; nothing is traced", trace.error().message());
    return nullptr;
  }
  return *trace;
}

Trace::~Trace() {
  flush();
  if (file_ >= 0)
    ::close(file_);
  if (filtered_)
    regfree(&kernels_);
}

bool Trace::wantsKernel(const std::string &name) const {
  return !filtered_ || regexec(&kernels_, name.c_str(), 0, nullptr, 0) == 0;
}

void Trace::write(std::string_view line) {
  std::lock_guard lock(mutex_);
  buffer_ += line;
  if (buffer_.size() >= kBufferBytes)
    flushLocked();
}

void Trace::flush() {
  std::lock_guard lock(mutex_);
  flushLocked();
}

void Trace::flushLocked() {
  if (const int error = failed_ ? 0 : writeAll(file_, buffer_)) {
    failed_ = true; // once is enough; what was written stays
    log::error("cannot write the trace to {}: {}", path_, strerror(error));
  }
  buffer_.clear();
}

uint64_t Trace::nextDispatch() {
  static std::atomic<uint64_t> next{0};
  return next.fetch_add(1, std::memory_order_relaxed);
}

namespace {

void appendList(std::string &line, const auto &values, uint64_t mask) {
  line += '[';
  for (size_t n = 0; n < values.size(); ++n) {
    if (n)
      line += ',';
    if (mask >> n & 1)
      fmt::format_to(std::back_inserter(line), "{}", values[n]);
    else
      line += "null";
  }
  line += ']';
}

/// The registers of `uses` that are read (or written), with their values.
void appendRegisters(std::string &line, const Wave &w, std::span<const RegisterUse> uses, bool written) {
  bool first = true;
  for (const RegisterUse &use : uses) {
    if (!(written ? use.write : use.read))
      continue;
    for (unsigned n = 0; n < use.regs.count; ++n) {
      const Reg reg = use.regs.first + n;
      fmt::format_to(std::back_inserter(line), "{}\"{}\":", first ? "" : ",", toString(reg));
      first = false;
      if (reg == Reg::Scc)
        fmt::format_to(std::back_inserter(line), "{}", w.scc ? 1 : 0);
      else if (isScalar(reg))
        fmt::format_to(std::back_inserter(line), "{}", w.s[scalarIndex(w, reg)]);
      else
        appendList(line, std::span(w.v[vectorIndex(reg)], w.lanes), ~0ull);
    }
  }
}

} // namespace

void WaveTracer::before(const Wave &w, const Inst *inst, const Operands &o) {
  const uint64_t pc = w.pc(inst), exec = w.exec();
  const auto &group = w.group->id();
  line_.clear();
  fmt::format_to(std::back_inserter(line_),
                 R"({{"dispatch":{},"kernel":{},"workgroup":[{},{},{}],"wave":{},"dispatch_wave":{},"step":{},)"
                 R"("pc":"{:#x}","offset":{},"inst":{},"exec":"{:#x}","in":{{)",
                 observation_.number, nlohmann::json(observation_.kernel).dump(), group[0], group[1], group[2], w.index,
                 waveNumber_, step_++, pc, static_cast<int64_t>(pc - observation_.entry), nlohmann::json(o.text).dump(),
                 exec);
  uses_ = placed(w, inst, o, placed_);
  appendRegisters(line_, w, uses_, false);
  line_ += '}';
  const Addresses addresses = addressesOf(w, o);
  if (addresses.first.empty())
    return;
  const uint64_t mask = o.space == MemorySpace::Scalar ? 1 : exec;
  fmt::format_to(std::back_inserter(line_), R"(,"space":"{}","addresses":)", nameOf(o.space));
  appendList(line_, addresses.first, mask);
  if (!addresses.second.empty()) {
    line_ += R"(,"addresses2":)";
    appendList(line_, addresses.second, mask);
  }
}

void WaveTracer::after(const Wave &w, const Inst *, const Operands &) {
  if (w.stop == Stop::Fault) {
    line_ += R"(,"fault":true)";
  } else {
    line_ += R"(,"out":{)";
    appendRegisters(line_, w, uses_, true);
    line_ += '}';
  }
  line_ += "}\n";
  observation_.trace->write(line_);
}

} // namespace luthier::vgpu
