#include "vgpu/translate/thread.h"

#include "support/log.h"
#include "support/thread.h"

#include <cstdlib>
#include <memory>
#include <thread>
#include <unistd.h>

namespace luthier::vgpu {

namespace {

thread_local TranslationThread *current = nullptr;

} // namespace

TranslationThread &TranslationThread::process() {
  static auto *const instance = new TranslationThread;
  return *instance;
}

TranslationThread::TranslationThread() {
  std::thread([this] { loop(); }).detach();
}

bool TranslationThread::submit(std::function<void()> job) {
  std::lock_guard lock(mutex_);
  if (stopped_)
    return false;
  jobs_.push_back(std::move(job));
  wake_.notify_one();
  return true;
}

bool TranslationThread::run(std::function<void()> job) {
  const auto done = std::make_shared<bool>(false);
  const bool queued = submit([this, job = std::move(job), done] {
    job();
    std::lock_guard lock(mutex_);
    *done = true;
    changed_.notify_all();
  });
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return *done || stopped_; });
  return queued && *done;
}

std::string TranslationThread::stoppedBecause() {
  std::lock_guard lock(mutex_);
  return why_;
}

void TranslationThread::stopHere(const char *message) {
  if (current)
    current->stop(message);
  log::error("{}", message);
  std::abort();
}

void TranslationThread::stop(const char *message) {
  {
    std::lock_guard lock(mutex_);
    stopped_ = true;
    why_ = message;
    jobs_.clear();
    changed_.notify_all();
  }
  log::debug("kernels are interpreted from now on: {}", message);
  for (;;)
    pause();
}

void TranslationThread::loop() {
  becomeInternalThread("vgpu-translate");
  current = this;
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [&] { return !jobs_.empty(); });
    auto job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    job();
    job = nullptr;
    lock.lock();
  }
}

} // namespace luthier::vgpu
