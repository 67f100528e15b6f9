// Watches the doorbells of all queues.
//
// A doorbell is plain memory that the application stores to, so somebody has to look. One thread does it for all
// queues: while packets flow it only yields between looks; when nothing happens its sleeps grow to a millisecond, which
// costs no measurable CPU time.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace luthier::vgpu {

class Queue;

class DoorbellPoller {
public:
  DoorbellPoller() = default;
  ~DoorbellPoller();
  DoorbellPoller(const DoorbellPoller &) = delete;
  DoorbellPoller &operator=(const DoorbellPoller &) = delete;

  void add(Queue *queue);
  /// When this returns, the poller no longer touches the queue.
  void remove(Queue *queue);

private:
  void threadMain();
  bool scan();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Queue *> queues_;
  bool stopping_ = false;
  std::thread thread_;
};

} // namespace luthier::vgpu
