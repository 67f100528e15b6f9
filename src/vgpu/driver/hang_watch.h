// Kernels that do not end: a report of where their waves are, on SIGQUIT (Ctrl-\ on a terminal), and once for each
// kernel that has run for LUTHIER_VGPU_HANG_REPORT seconds.
//
// SIGQUIT is taken only if the application has left it at its default, which ends the process. The report comes
// instead, and the application goes on; a second SIGQUIT soon after the first does what the default does. In a child of
// fork, which has no GPU of ours yet, the default stays.
//
// The handler does nothing but wake a thread, by a semaphore: a descriptor could have been closed by the application,
// which then has another file under its number.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace luthier::vgpu {

class Dispatch;
class Driver;

class HangWatch {
public:
  /// Lives as long as the process, as the driver does.
  explicit HangWatch(Driver &driver);

private:
  void watch();
  /// Reports kernels that have run for too long and have not been reported; how long until one may be.
  std::chrono::milliseconds reportLongRunning();

  Driver &driver_;
  std::optional<std::chrono::seconds> limit_; ///< nothing: only SIGQUIT makes reports
  std::vector<std::weak_ptr<const Dispatch>> reported_;
  std::thread thread_;
};

} // namespace luthier::vgpu
