#include "harness.h"

#include "assembler.h"

#include "vgpu/wave/code_cache.h"
#include "vgpu/wave/decoder.h"
#include "vgpu/wave/device.h"
#include "vgpu/wave/kernel_descriptor.h"
#include "vgpu/wave/scheduler.h"
#include "vgpu/wave/stats.h"
#include "vgpu/wave/workgroup.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>

namespace luthier::vgpu::test {

namespace {

constexpr uint64_t kPage = AddressSpace::kPageSize;
/// The kernel descriptor, then the code behind it.
constexpr uint64_t kCodeBytes = 1 << 20;
constexpr uint64_t kCodeOffset = 256;
/// Turns of 8192 instructions and more before a snippet counts as endless.
constexpr unsigned kMaxTurns = 10'000;

/// Snippets whose second run differs by nature: clocks, and what lives in the device rather than in the wave.
constexpr std::string_view kOnlyOnce[] = {"time", "gws", "s_sendmsg", "s_icache_inv"};

uint64_t mapPages(uint64_t bytes) {
  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    abort();
  return reinterpret_cast<uint64_t>(memory);
}

uint64_t roundUp(uint64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

/// The virtual GPU that all tests of a process share. The scheduler's worker stays idle: the harness runs the one
/// workgroup itself.
struct Machine {
  explicit Machine(const isa::Target &target)
      : scheduler(1), device(0, {.target = &target}, memory, scheduler, nullptr) {
    code = mapPages(kCodeBytes);
    memory.map(code, kCodeBytes, device.mask());
    device.kernelName = [](uint64_t) { return std::string("snippet"); };
  }
  AddressSpace memory;
  Scheduler scheduler;
  Device device;
  uint64_t code;
  size_t codeUsed = 0; ///< bytes of the last snippet
};

Machine &machine(const isa::Target &target) {
  static std::vector<std::pair<const isa::Target *, Machine *>> machines; // leaked: threads may outlive statics
  for (auto &[known, machine] : machines)
    if (known == &target)
      return *machine;
  return *machines.emplace_back(&target, new Machine(target)).second;
}

/// A descriptor that gives the wave every register there is and no initial values.
void writeDescriptor(uint64_t address, bool wave32) {
  memset(reinterpret_cast<void *>(address), 0, KernelDescriptor::kBytes);
  const uint64_t entry = kCodeOffset;
  const uint32_t rsrc1 = 0x3f;
  memcpy(reinterpret_cast<void *>(address + 16), &entry, 8);
  memcpy(reinterpret_cast<void *>(address + 48), &rsrc1, 4);
  const uint16_t properties = object::properties::wave32.mask();
  if (wave32)
    memcpy(reinterpret_cast<void *>(address + 56), &properties, 2);
}

const isa::Target &targetNamed(std::string_view name) {
  const isa::Target *target = isa::findTarget(name);
  if (!target)
    abort();
  return *target;
}

} // namespace

/// What a run can change.
struct ExecTest::Snapshot {
  explicit Snapshot(const ExecTest &t)
      : scc(t.scc_), mode(t.mode_), fault(t.fault_.kind), faultAddress(t.fault_.address), lds(t.lds_) {
    const auto *vectors = &t.file_->v[0][0];
    v.assign(vectors, vectors + sizeof t.file_->v / 4);
    std::ranges::copy(t.s_, s.begin());
    for (const Buffer &buffer : t.buffers_) {
      const auto *bytes = reinterpret_cast<const uint8_t *>(buffer.address);
      buffers.emplace_back(bytes, bytes + buffer.bytes);
    }
  }
  void restore(ExecTest &t) const {
    memcpy(t.file_->v, v.data(), sizeof t.file_->v);
    std::ranges::copy(s, t.s_);
    t.scc_ = scc;
    t.mode_ = mode;
    t.lds_ = lds;
    for (size_t n = 0; n < buffers.size(); ++n)
      std::ranges::copy(buffers[n], reinterpret_cast<uint8_t *>(t.buffers_[n].address));
  }
  bool operator==(const Snapshot &other) const {
    return scc == other.scc && mode == other.mode && fault == other.fault && faultAddress == other.faultAddress &&
           lds == other.lds && s == other.s && buffers == other.buffers && std::ranges::equal(v, other.v, same);
  }
  /// Which of two NaNs an addition passes on is up to the compiler, for every loop: the host's addition commutes
  /// otherwise. A register may hold one number of 32 bits or two of 16.
  static bool same(uint32_t a, uint32_t b) {
    auto isNan = [](uint32_t x) { return (x & 0x7fffffff) > 0x7f800000; };
    auto isHalfNan = [](uint32_t x) { return (x & 0x7fff) > 0x7c00; };
    auto sameHalf = [&](uint32_t x, uint32_t y) {
      return (x & 0xffff) == (y & 0xffff) || (isHalfNan(x) && isHalfNan(y));
    };
    return a == b || (isNan(a) && isNan(b)) || (sameHalf(a, b) && sameHalf(a >> 16, b >> 16));
  }

  bool scc;
  uint32_t mode;
  Fault::Kind fault;
  uint64_t faultAddress;
  std::vector<uint8_t> lds;
  std::vector<uint32_t> v;
  std::array<uint32_t, 128> s;
  std::vector<std::vector<uint8_t>> buffers;
};

ExecTest::ExecTest(std::string_view target, unsigned lanes) : ExecTest(targetNamed(target), lanes) {}

ExecTest::ExecTest(const isa::Target &target, unsigned lanes)
    : target_(target), lanes_(lanes ? lanes : target.waveSize), file_(std::make_unique<VectorFile>()) {
  for (unsigned reg = 0; reg < std::size(file_->v); ++reg)
    setVector(reg, kPoison);
  std::fill_n(s_, kFlatScratch, kPoison);
  exec(lanes_ == 64 ? ~0ull : 0xffffffffull);
}

ExecTest::~ExecTest() {
  Machine &m = machine(target_);
  for (const Buffer &buffer : buffers_) {
    m.memory.unmap(buffer.address, buffer.bytes, m.device.mask());
    munmap(reinterpret_cast<void *>(buffer.address - kPage), buffer.bytes + 2 * kPage);
  }
}

void ExecTest::setS64(unsigned reg, uint64_t value) {
  s_[reg] = static_cast<uint32_t>(value);
  s_[reg + 1] = static_cast<uint32_t>(value >> 32);
}

void ExecTest::setV64(unsigned reg, unsigned lane, uint64_t value) {
  v(reg, lane) = static_cast<uint32_t>(value);
  v(reg + 1, lane) = static_cast<uint32_t>(value >> 32);
}

void ExecTest::setVector(unsigned reg, uint32_t value) { std::ranges::fill(lanes(reg), value); }

void ExecTest::setVector(unsigned reg, std::initializer_list<uint32_t> values) {
  setVector(reg, std::span(values.begin(), values.size()));
}

void ExecTest::setVector(unsigned reg, std::span<const uint32_t> values) {
  std::copy_n(values.begin(), std::min<size_t>(values.size(), kMaxLanes), lanes(reg).begin());
}

void ExecTest::setVector64(unsigned reg, uint64_t value) {
  setVector(reg, static_cast<uint32_t>(value));
  setVector(reg + 1, static_cast<uint32_t>(value >> 32));
}

void ExecTest::setVector64(unsigned reg, std::span<const uint64_t> values) {
  for (unsigned lane = 0; lane < std::min<size_t>(values.size(), kMaxLanes); ++lane)
    setV64(reg, lane, values[lane]);
}

uint32_t ExecTest::ldsWord(uint32_t byteOffset) const {
  uint32_t value;
  memcpy(&value, &lds_.at(byteOffset + 3) - 3, 4);
  return value;
}

void ExecTest::setLdsWord(uint32_t byteOffset, uint32_t value) { memcpy(&lds_.at(byteOffset + 3) - 3, &value, 4); }

uint64_t ExecTest::buffer(uint64_t bytes) {
  const uint64_t size = roundUp(std::max<uint64_t>(bytes, 1));
  const uint64_t address = mapPages(size + 2 * kPage) + kPage;
  Machine &m = machine(target_);
  m.memory.map(address, size, m.device.mask());
  buffers_.push_back({address, size});
  return address;
}

uint64_t ExecTest::bufferBeforeGuard(uint64_t bytes) { return buffer(bytes) + roundUp(bytes) - bytes; }

uint64_t ExecTest::alias(uint64_t buffer) {
  constexpr uint64_t kUnused = 1ull << 44, kBits = kUnused - 1;
  const uint64_t address = kUnused | (buffer & kBits);
  Machine &m = machine(target_);
  m.memory.mapAlias(address, kPage, buffer, m.device.mask());
  return address;
}

void ExecTest::scratch(uint32_t bytesPerLane) {
  scratchPerLane_ = bytesPerLane;
  const uint64_t bytes = uint64_t(bytesPerLane) * lanes_;
  scratchBase_ = buffer(bytes);
  ring_ = std::make_shared<ScratchRing>();
  ring_->reset(scratchBase_, bytes, 1, scratchResource());
  if (target_.flatScratch == isa::FlatScratch::Sgprs)
    setS64(kFlatScratch, scratchBase_);
}

std::array<uint32_t, 4> ExecTest::scratchResource() const {
  // Swizzle enable; DST_SEL xyzw, unsigned dwords, 4-byte elements, index stride 64, thread id added to the index.
  return {static_cast<uint32_t>(scratchBase_), static_cast<uint32_t>(scratchBase_ >> 32) | 0x80000000u,
          scratchPerLane_ * lanes_, 0x00ea4fac};
}

uint64_t ExecTest::sharedAperture() const { return machine(target_).device.config().sharedApertureBase; }
uint64_t ExecTest::privateAperture() const { return machine(target_).device.config().privateApertureBase; }
uint64_t ExecTest::codeAddress() const { return machine(target_).code + kCodeOffset; }

testing::AssertionResult ExecTest::run(std::string_view assembly) {
  fault_ = {};
  executed_ = 0;
  auto code = assemble(target_, std::string(assembly) + "\ns_endpgm\n", lanes_);
  if (!code)
    return testing::AssertionFailure() << code.error().message();
  const bool once =
      std::ranges::any_of(kOnlyOnce, [&](auto word) { return assembly.find(word) != std::string_view::npos; });
  return runCode(*code, {}, !once);
}

testing::AssertionResult ExecTest::runCode(std::span<const uint8_t> code, const OnStart &onStart) {
  return runCode(code, onStart, false);
}

testing::AssertionResult ExecTest::runCode(std::span<const uint8_t> code, const OnStart &onStart, bool twice) {
  fault_ = {};
  executed_ = 0;
  if (code.size() + kCodeOffset > kCodeBytes)
    return testing::AssertionFailure() << "the snippet is too long";

  Machine &m = machine(target_);
  writeDescriptor(m.code, lanes_ == 32);
  memcpy(reinterpret_cast<void *>(m.code + kCodeOffset), code.data(), code.size());
  memset(reinterpret_cast<void *>(m.code + kCodeOffset + code.size()), 0,
         m.codeUsed - std::min(m.codeUsed, code.size()));
  m.codeUsed = code.size();
  m.device.invalidateCode();

  Launch launch;
  launch.kernelObject = m.code;
  launch.grid = {lanes_, 1, 1};
  launch.workgroup = {static_cast<uint16_t>(lanes_), 1, 1};
  launch.groupSegmentSize = static_cast<uint32_t>(lds_.size());
  launch.privateSegmentSize = scratchPerLane_;
  launch.scratch = ring_;
  launch.strictWaits = strictWaits_;
  launch.waitCheck = waitCheck_;
  launch.poison = poison_;
  launch.trace = trace_;

  // Twice: as the scheduler runs it when nobody looks, in threaded handlers, and counted, one instruction at a time.
  // Both must leave the same behind; the second counts. Not where the first would change what the second sees.
  if (twice && !trace_ && !poison_) {
    const Snapshot before(*this);
    if (auto problem = execute(launch, onStart, nullptr))
      return testing::AssertionFailure() << *problem;
    const Snapshot threaded(*this);
    before.restore(*this);
    std::vector<OpcodeCount> counts(Decoder::kMaxOpcodes);
    if (auto problem = execute(launch, onStart, &counts))
      return testing::AssertionFailure() << *problem;
    if (!(threaded == Snapshot(*this)))
      return testing::AssertionFailure() << "threaded and single handlers leave different states";
  } else {
    std::vector<OpcodeCount> counts(Decoder::kMaxOpcodes);
    if (auto problem = execute(launch, onStart, &counts))
      return testing::AssertionFailure() << *problem;
  }
  if (fault_.kind != Fault::Kind::None)
    return testing::AssertionFailure() << fault_.text;
  return testing::AssertionSuccess();
}

std::optional<std::string> ExecTest::execute(const Launch &launch, const OnStart &onStart,
                                             std::vector<OpcodeCount> *counts) {
  WavePool pool;
  const std::shared_ptr<Dispatch> dispatch = machine(target_).device.prepare(launch, {});
  if (dispatch->aborted())
    return dispatch->fault().text;
  std::unique_ptr<Workgroup> group = Workgroup::startNext(*dispatch, pool, counts ? counts->data() : nullptr);
  if (!group || group->waves().size() != 1)
    return "the workgroup did not start";
  Wave &w = *group->waves()[0];
  memcpy(w.v, file_->v, sizeof w.v);
  memcpy(w.s, s_, sizeof s_);
  if (target_.flatScratch == isa::FlatScratch::HardwareRegisters) // as a kernel's prologue does
    w.setScalar64(w.flatScratch, scratchBase_);
  w.scc = scc_;
  w.mode = mode_;
  std::copy(lds_.begin(), lds_.end(), w.lds);
  if (onStart)
    onStart(w, w.ip);

  unsigned turns = 0;
  while (group->run() != Workgroup::Progress::Finished && ++turns < kMaxTurns) {
  }

  memcpy(file_->v, w.v, sizeof w.v);
  memcpy(s_, w.s, sizeof s_);
  scc_ = w.scc;
  mode_ = w.mode;
  std::copy_n(w.lds, lds_.size(), lds_.begin());
  if (counts)
    for (const OpcodeCount &count : *counts)
      executed_ += count.waves;
  fault_ = dispatch->fault();
  if (turns == kMaxTurns)
    return "the snippet does not end";
  return std::nullopt;
}

} // namespace luthier::vgpu::test
