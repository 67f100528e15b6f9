// The statistics file: a JSON document that grows by one dispatch at a time and is complete after each.
//
// So it does not matter how the process ends: by returning from main, by _exit, by abort, by a signal, even SIGKILL.
// Nothing needs to happen then, and no signal handler is needed for it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace luthier::vgpu {

class StatsFile {
public:
  /// An empty file at `path`, as `luthier run` leaves it, becomes a document without dispatches at once. Otherwise the
  /// first dispatch makes the document, which then takes the file's place: a process that dispatches nothing must not
  /// wipe out what another one wrote.
  explicit StatsFile(std::string path);
  ~StatsFile();
  StatsFile(const StatsFile &) = delete;
  StatsFile &operator=(const StatsFile &) = delete;

  /// Adds a dispatch, a JSON object. Failures are logged, once. Does nothing in a forked child.
  void add(std::string_view dispatch);

  /// Puts the document in its place again if another process has taken that meanwhile. Only if it has a dispatch.
  void publish();

private:
  bool create();
  bool rename(const std::string &temporary);
  bool inPlace() const;
  bool fail(const char *what, const std::string &path);

  std::string path_;
  pid_t owner_;
  int file_ = -1;     ///< the document, once there is one
  uint64_t end_ = 0;  ///< where the next dispatch goes: the document's last lines stand there
  bool empty_ = true; ///< no dispatch yet
  bool failed_ = false;
};

} // namespace luthier::vgpu
