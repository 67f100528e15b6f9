#include "runtime/running_call.h"

#include <atomic>

namespace luthier::runtime {

namespace {

std::atomic<const char *> tool = nullptr, function = nullptr;
std::atomic<uint64_t> calls = 0;
thread_local RunningCall::Place onThisThread;

} // namespace

RunningCall::RunningCall(const char *ofTool, const char *named) : before_(now()), beforeHere_(onThisThread) {
  onThisThread = {ofTool, named};
  ++calls;
  function = named;
  tool = ofTool;
}

RunningCall::~RunningCall() {
  onThisThread = beforeHere_;
  tool = before_.tool;
  function = before_.function;
}

RunningCall::Place RunningCall::now() {
  const Place place{tool, function}; // a call may end between the two
  return place.tool && place.function ? place : Place{};
}

uint64_t RunningCall::number() { return calls; }

RunningCall::Place RunningCall::here() { return onThisThread; }

} // namespace luthier::runtime
