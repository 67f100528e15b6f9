#include "harness.h"

#include "assembler.h"

#include "vgpu/device.h"
#include "vgpu/wave/code_cache.h"
#include "vgpu/wave/decoder.h"
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
void writeDescriptor(uint64_t address) {
  memset(reinterpret_cast<void *>(address), 0, KernelDescriptor::kBytes);
  const uint64_t entry = kCodeOffset;
  const uint32_t rsrc1 = 0x3f;
  memcpy(reinterpret_cast<void *>(address + 16), &entry, 8);
  memcpy(reinterpret_cast<void *>(address + 48), &rsrc1, 4);
}

const isa::Target &targetNamed(std::string_view name) {
  const isa::Target *target = isa::findTarget(name);
  if (!target)
    abort();
  return *target;
}

} // namespace

ExecTest::ExecTest(std::string_view target) : target_(targetNamed(target)), file_(std::make_unique<VectorFile>()) {
  for (unsigned reg = 0; reg < std::size(file_->v); ++reg)
    setVector(reg, kPoison);
  std::fill_n(s_, kFlatScratch, kPoison);
  exec(target_.waveSize == 64 ? ~0ull : 0xffffffffull);
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

void ExecTest::scratch(uint32_t bytesPerLane) {
  scratchPerLane_ = bytesPerLane;
  const uint64_t bytes = uint64_t(bytesPerLane) * target_.waveSize;
  scratchBase_ = buffer(bytes);
  ring_ = std::make_shared<ScratchRing>();
  ring_->reset(scratchBase_, bytes, 1, scratchResource());
  setS64(kFlatScratch, scratchBase_);
}

std::array<uint32_t, 4> ExecTest::scratchResource() const {
  // Swizzle enable; DST_SEL xyzw, unsigned dwords, 4-byte elements, index stride 64, thread id added to the index.
  return {static_cast<uint32_t>(scratchBase_), static_cast<uint32_t>(scratchBase_ >> 32) | 0x80000000u,
          scratchPerLane_ * target_.waveSize, 0x00ea4fac};
}

uint64_t ExecTest::sharedAperture() const { return machine(target_).device.config().sharedApertureBase; }
uint64_t ExecTest::privateAperture() const { return machine(target_).device.config().privateApertureBase; }
uint64_t ExecTest::codeAddress() const { return machine(target_).code + kCodeOffset; }

testing::AssertionResult ExecTest::run(std::string_view assembly) {
  fault_ = {};
  executed_ = 0;
  auto code = assemble(target_, std::string(assembly) + "\ns_endpgm\n");
  if (!code)
    return testing::AssertionFailure() << code.error().message();
  return runCode(*code);
}

testing::AssertionResult ExecTest::runCode(std::span<const uint8_t> code,
                                           const std::function<void(Wave &, const Inst *)> &onStart) {
  fault_ = {};
  executed_ = 0;
  if (code.size() + kCodeOffset > kCodeBytes)
    return testing::AssertionFailure() << "the snippet is too long";

  Machine &m = machine(target_);
  writeDescriptor(m.code);
  memcpy(reinterpret_cast<void *>(m.code + kCodeOffset), code.data(), code.size());
  memset(reinterpret_cast<void *>(m.code + kCodeOffset + code.size()), 0,
         m.codeUsed - std::min(m.codeUsed, code.size()));
  m.codeUsed = code.size();
  m.device.invalidateCode();

  Launch launch;
  launch.kernelObject = m.code;
  launch.grid = {target_.waveSize, 1, 1};
  launch.workgroup = {target_.waveSize, 1, 1};
  launch.groupSegmentSize = static_cast<uint32_t>(lds_.size());
  launch.privateSegmentSize = scratchPerLane_;
  launch.scratch = ring_;
  launch.strictWaits = strictWaits_;
  launch.poison = poison_;
  launch.trace = trace_;

  std::vector<OpcodeCount> counts(Decoder::kMaxOpcodes);
  WavePool pool;
  const std::shared_ptr<Dispatch> prepared = m.device.prepare(launch, {});
  Dispatch &dispatch = *prepared;
  if (dispatch.aborted())
    return testing::AssertionFailure() << dispatch.fault().text;
  std::unique_ptr<Workgroup> group = Workgroup::startNext(dispatch, pool, counts.data());
  if (!group || group->waves().size() != 1)
    return testing::AssertionFailure() << "the workgroup did not start";
  Wave &w = *group->waves()[0];
  memcpy(w.v, file_->v, sizeof w.v);
  memcpy(w.s, s_, sizeof w.s);
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
  for (const OpcodeCount &count : counts)
    executed_ += count.waves;
  fault_ = dispatch.fault();
  if (fault_.kind != Fault::Kind::None)
    return testing::AssertionFailure() << fault_.text;
  if (turns == kMaxTurns)
    return testing::AssertionFailure() << "the snippet does not end";
  return testing::AssertionSuccess();
}

} // namespace luthier::vgpu::test
