// Which function of which tool is running: for messages about tools that do not come back, and for what a tool does
// inside a callback.
//
// Tools are called under one lock, so that one runs at a time in the process; a tool that is called from inside another
// call hides it until it returns.
#pragma once

#include <cstdint>

namespace luthier::runtime {

class RunningCall {
public:
  /// Both texts live for ever.
  RunningCall(const char *tool, const char *function);
  ~RunningCall();
  RunningCall(const RunningCall &) = delete;
  RunningCall &operator=(const RunningCall &) = delete;

  struct Place {
    const char *tool = nullptr, *function = nullptr;
    explicit operator bool() const { return tool != nullptr; }
  };
  /// In the whole process; may be called in a signal handler.
  static Place now();
  /// On this thread.
  static Place here();
  /// Of the call that runs, or ran last, in the process.
  static uint64_t number();

private:
  Place before_, beforeHere_;
};

} // namespace luthier::runtime
