// HSA is looked up in the process instead of being linked: the library works without it, and must not bring it into
// processes that have none.

#include "hostcall/doorbell_hsa.h"

#include <algorithm>
#include <dlfcn.h>

namespace luthier::hostcall {

namespace {

SignalFunctions findHsa() {
  SignalFunctions hsa;
  void *library = dlopen("libhsa-runtime64.so.1", RTLD_NOLOAD | RTLD_LAZY);
  if (!library)
    return hsa;
  auto find = [library](auto &function, const char *name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
  };
  find(hsa.create, "hsa_signal_create");
  find(hsa.destroy, "hsa_signal_destroy");
  find(hsa.load, "hsa_signal_load_scacquire");
  find(hsa.add, "hsa_signal_add_screlease");
  find(hsa.wait, "hsa_signal_wait_scacquire");
  find(hsa.info, "hsa_system_get_info");
  return hsa; // `library` stays open: its functions are called until the doorbell is gone
}

class HsaDoorbell final : public Doorbell {
public:
  HsaDoorbell(const SignalFunctions &hsa, hsa_signal_t signal) : hsa_(hsa), signal_(signal) {
    uint64_t frequency = 0;
    if (hsa_.info(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY, &frequency) == HSA_STATUS_SUCCESS && frequency)
      ticksPerMicrosecond_ = std::max<uint64_t>(1, frequency / 1000000);
  }
  ~HsaDoorbell() override {
    if (!abandoned_)
      hsa_.destroy(signal_);
  }

  uint64_t handle() const override { return signal_.handle; }
  uint64_t value() const override { return static_cast<uint64_t>(hsa_.load(signal_)); }
  void ring() override { hsa_.add(signal_, 1); }
  void abandon() override { abandoned_ = true; }

  void sleep(uint64_t seen, std::chrono::microseconds timeout) override {
    hsa_.wait(signal_, HSA_SIGNAL_CONDITION_NE, static_cast<hsa_signal_value_t>(seen),
              static_cast<uint64_t>(timeout.count()) * ticksPerMicrosecond_, HSA_WAIT_STATE_BLOCKED);
  }

private:
  const SignalFunctions hsa_;
  const hsa_signal_t signal_;
  uint64_t ticksPerMicrosecond_ = 1000;
  bool abandoned_ = false;
};

} // namespace

std::unique_ptr<Doorbell> createHsaDoorbell() { return createHsaDoorbell(findHsa()); }

std::unique_ptr<Doorbell> createHsaDoorbell(const SignalFunctions &hsa) {
  hsa_signal_t signal = {};
  // Refuses while HSA is not initialised.
  if (!hsa.complete() || hsa.create(0, 0, nullptr, &signal) != HSA_STATUS_SUCCESS)
    return nullptr;
  return std::make_unique<HsaDoorbell>(hsa, signal);
}

} // namespace luthier::hostcall
