#include "runtime/progress.h"

#include "support/status_line.h"

#include <fmt/format.h>

#include <utility>

namespace luthier::runtime {

namespace {

using std::chrono::seconds;

std::string counted(uint64_t count, const char *what) {
  return fmt::format("{} {}{}", count, what,
                     count == 1                                              ? ""
                     : what[std::char_traits<char>::length(what) - 1] == 'h' ? "es"
                                                                             : "s");
}

} // namespace

Progress::Task::Task(Progress &progress, std::string what) : progress_(progress) {
  std::lock_guard lock(progress_.mutex_);
  progress_.task_ = std::move(what);
  progress_.began_ = Clock::now();
}

Progress::Task::~Task() {
  std::lock_guard lock(progress_.mutex_);
  progress_.task_.clear();
}

std::string Progress::line(uint64_t launches, uint64_t running, Clock::time_point now) {
  std::lock_guard lock(mutex_);
  const uint64_t before = std::exchange(lastLaunches_, launches);
  const double passed = std::chrono::duration<double>(now - std::exchange(last_, now)).count();
  if (!task_.empty() && now - began_ >= seconds(1))
    return fmt::format("luthier: {}, {} s", task_, std::chrono::duration_cast<seconds>(now - began_).count());
  if (launches == before && running == 0)
    return {};
  std::string text =
      fmt::format("luthier: {} instrumented, {}", counted(kernels_, "kernel"), counted(launches, "launch"));
  if (before && launches > before && passed > 0)
    text += fmt::format(" ({:.0f} per second)", static_cast<double>(launches - before) / passed);
  if (running)
    text += fmt::format(", {} running", running);
  return text;
}

void Progress::tick(uint64_t launches, uint64_t running) {
  if (!wanted_)
    return;
  const std::string text = line(launches, running, Clock::now());
  std::lock_guard lock(mutex_);
  if (!wanted_)
    return;
  if (text.empty() || !status_line::possible())
    status_line::erase();
  else
    status_line::show(text);
}

void Progress::stop() {
  std::lock_guard lock(mutex_);
  wanted_ = false;
  status_line::erase();
}

} // namespace luthier::runtime
