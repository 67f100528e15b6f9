#include "runtime/run_account.h"

namespace luthier::runtime {

std::shared_ptr<KernelAccount> RunAccount::kernel(const std::string &key) {
  std::lock_guard lock(mutex_);
  changed_ = true;
  if (key.empty())
    return kernels_.emplace_back(std::make_shared<KernelAccount>());
  auto &account = byKey_[key];
  if (!account)
    account = kernels_.emplace_back(std::make_shared<KernelAccount>());
  return account;
}

void RunAccount::addSeconds(double seconds) {
  std::lock_guard lock(mutex_);
  seconds_ += seconds;
}

void RunAccount::logAndRecord(log::Level level, const std::string &message) {
  {
    std::lock_guard lock(mutex_);
    messages_.push_back(message);
    if (log::enabled(level))
      shown_.insert(message);
  }
  changed_ = true;
  if (log::enabled(level))
    log::write(level, message);
}

void RunAccount::fail(const std::string &message) {
  logAndRecord(log::Level::error, message);
  if (end_)
    end_();
}

report::Account RunAccount::now() const {
  std::lock_guard lock(mutex_);
  report::Account account;
  for (const auto &kernel : kernels_)
    account.kernels.push_back(kernel->now());
  account.recordsLost = lost_;
  account.seconds = seconds_;
  account.messages = messages_;
  account.shown = shown_;
  return account;
}

} // namespace luthier::runtime
