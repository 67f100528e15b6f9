#include "vgpu/api/gpu.h"
#include "vgpu/wave/code_cache.h"
#include "vgpu/wave/decoder.h"
#include "vgpu/wave/workgroup.h"

namespace luthier::vgpu {

namespace {

constexpr uint64_t kMaxInstructionBytes = 16;

StepState stateOf(Stop stop) {
  switch (stop) {
  case Stop::Barrier:
    return StepState::Barrier;
  case Stop::Gws:
    return StepState::Waiting;
  case Stop::End:
    return StepState::Ended;
  case Stop::Fault:
    return StepState::Faulted;
  default:
    return StepState::Ready;
  }
}

class WorkgroupStepper final : public Stepper {
public:
  WorkgroupStepper(Device &device, const Launch &launch, std::shared_ptr<void> keepAlive)
      : keepAlive_(std::move(keepAlive)), device_(device), dispatch_(device.prepare(launch, {})) {
    nextWorkgroup();
  }

  uint32_t waves() const override { return group_ ? static_cast<uint32_t>(group_->waves().size()) : 0; }
  WaveRef wave(uint32_t index) override { return WaveRef(*group_, *group_->waves()[index]); }

  std::string instruction(uint32_t index) override {
    const uint64_t pc = wave(index).pc();
    uint64_t readable = 0;
    while (readable < kMaxInstructionBytes && device_.memory().mapped(pc + readable, 4, device_.mask()))
      readable += 4;
    return dispatch_->decoder().text({reinterpret_cast<const uint8_t *>(pc), readable}, pc);
  }

  StepState step(uint32_t index) override { return stateOf(group_->step(index)); }

  StepState stepMany(uint32_t index, uint64_t limit) override {
    StepState state = StepState::Ready;
    for (uint64_t n = 0; n < limit && state == StepState::Ready; ++n)
      state = step(index);
    return state;
  }

  Result<void> finishWorkgroup() override {
    unsigned idle = 0;
    for (;;) {
      const Workgroup::Progress progress = group_->run();
      if (dispatch_->aborted())
        return Error(dispatch_->fault().text, static_cast<int>(dispatch_->fault().kind));
      if (progress == Workgroup::Progress::Finished)
        return {};
      idle = progress == Workgroup::Progress::Waiting ? idle + 1 : 0;
      if (idle > kPatience)
        return makeError("the workgroup waits for something that does not come");
    }
  }

  bool nextWorkgroup() override {
    group_.reset();
    if (!dispatch_->aborted())
      group_ = Workgroup::startNext(*dispatch_, pool_, nullptr);
    return group_ != nullptr;
  }

  FaultInfo fault() const override { return dispatch_->aborted() ? faultInfo(dispatch_->fault()) : FaultInfo{}; }

private:
  /// Rounds in which every wave only waited.
  static constexpr unsigned kPatience = 1000;

  std::shared_ptr<void> keepAlive_;
  Device &device_;
  WavePool pool_;
  std::shared_ptr<Dispatch> dispatch_;
  std::unique_ptr<Workgroup> group_;
};

} // namespace

std::unique_ptr<Stepper> makeStepper(Device &device, const Launch &launch, std::shared_ptr<void> keepAlive) {
  return std::make_unique<WorkgroupStepper>(device, launch, std::move(keepAlive));
}

} // namespace luthier::vgpu
