// Launches and copies as a trace that Perfetto's UI (ui.perfetto.dev) and its trace processor open: a file of
// TracePacket messages, in the protobuf encoding.
//
// Only a handful of messages is needed, so they are encoded here. Times are those of HSA's system clock, which is
// Linux's boot-time clock and so the default of traces. Slices on one track must nest, and launches of a queue may
// overlap; a queue gets as many tracks as it had launches at a time.

#include "report/report.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace luthier::report {

namespace {

/// Numbers of the fields that are written, by message.
enum TraceField : uint32_t { kPacket = 1 };
enum PacketField : uint32_t { kTimestamp = 8, kSequenceId = 10, kTrackEvent = 11, kTrackDescriptor = 60 };
enum TrackField : uint32_t { kUuid = 1, kTrackName = 2, kProcess = 3, kParentUuid = 5 };
enum ProcessField : uint32_t { kPid = 1, kCommand = 2, kProcessName = 6 };
enum EventField : uint32_t { kAnnotation = 4, kType = 9, kTrackUuid = 11, kCategory = 22, kName = 23 };
enum AnnotationField : uint32_t { kNumber = 3, kText = 6, kKey = 10 };
enum EventType : uint64_t { kSliceBegin = 1, kSliceEnd = 2, kInstant = 3 };

class Message {
public:
  Message &add(uint32_t field, uint64_t value) {
    varint(uint64_t{field} << 3);
    varint(value);
    return *this;
  }
  Message &add(uint32_t field, std::string_view text) {
    varint(uint64_t{field} << 3 | 2);
    varint(text.size());
    bytes_ += text;
    return *this;
  }
  Message &add(uint32_t field, const Message &message) { return add(field, std::string_view(message.bytes_)); }
  const std::string &bytes() const { return bytes_; }

private:
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7)
      bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

Message note(std::string_view key, uint64_t value) { return Message().add(kKey, key).add(kNumber, value); }
Message note(std::string_view key, std::string_view value) { return Message().add(kKey, key).add(kText, value); }

class Trace {
public:
  void track(const Message &descriptor) { packet(Message().add(kTrackDescriptor, descriptor)); }
  void event(uint64_t time, const Message &event) { packet(Message().add(kTimestamp, time).add(kTrackEvent, event)); }
  std::string take() { return std::move(bytes_); }

private:
  void packet(Message message) { bytes_ += Message().add(kPacket, message.add(kSequenceId, 1)).bytes(); }
  std::string bytes_;
};

std::string sizes(const std::array<uint32_t, 3> &size) { return fmt::format("{}", fmt::join(size, " x ")); }

constexpr uint64_t kProcessTrack = 1, kCopyTrack = 2, kFirstQueueTrack = 3;

} // namespace

std::string toPftrace(const Results &results) {
  const Details &details = results.details;
  std::map<uint64_t, std::string> names;
  for (const KernelAccount &kernel : results.account.kernels)
    names.try_emplace(kernel.id, kernel.name);

  Trace trace;
  Message process;
  process.add(kPid, static_cast<uint64_t>(details.process.pid));
  for (const std::string &word : details.process.command)
    process.add(kCommand, word);
  process.add(kProcessName, details.process.command.empty() ? "" : details.process.command.front());
  trace.track(Message().add(kUuid, kProcessTrack).add(kProcess, process));
  if (!details.copies.empty())
    trace.track(Message()
                    .add(kUuid, kCopyTrack)
                    .add(kParentUuid, kProcessTrack)
                    .add(kTrackName, "copies and fills, when they were asked for"));

  std::vector<const LaunchRecord *> launches;
  for (const LaunchRecord &launch : details.launches)
    if (launch.begin && launch.end >= launch.begin)
      launches.push_back(&launch);
  std::ranges::sort(launches, {}, [](const LaunchRecord *launch) { return std::pair(launch->begin, launch); });

  struct Lane {
    uint64_t uuid, end;
  };
  std::map<std::pair<uint32_t, uint64_t>, std::vector<Lane>> lanes; // by GPU and queue
  uint64_t next = kFirstQueueTrack;
  for (const LaunchRecord *launch : launches) {
    std::vector<Lane> &ofQueue = lanes[{launch->gpu, launch->queue}];
    auto lane = std::ranges::find_if(ofQueue, [&](const Lane &each) { return each.end <= launch->begin; });
    if (lane == ofQueue.end()) {
      ofQueue.push_back({next++, 0});
      lane = ofQueue.end() - 1;
      trace.track(Message()
                      .add(kUuid, lane->uuid)
                      .add(kParentUuid, kProcessTrack)
                      .add(kTrackName, fmt::format("GPU {} queue {}", launch->gpu, launch->queue)));
    }
    lane->end = launch->end;
    const auto name = names.find(launch->kernel);
    trace.event(launch->begin, Message()
                                   .add(kType, kSliceBegin)
                                   .add(kTrackUuid, lane->uuid)
                                   .add(kCategory, "kernel")
                                   .add(kName, name == names.end() ? "(unknown kernel)" : name->second)
                                   .add(kAnnotation, note("launch", launch->numberOfKernel))
                                   .add(kAnnotation, note("grid", sizes(launch->grid)))
                                   .add(kAnnotation, note("workgroup", sizes(launch->workgroup)))
                                   .add(kAnnotation, note("instrumented", launch->instrumented ? "yes" : "no")));
    trace.event(launch->end, Message().add(kType, kSliceEnd).add(kTrackUuid, lane->uuid));
  }
  for (const CopyRecord &copy : details.copies)
    trace.event(copy.time, Message()
                               .add(kType, kInstant)
                               .add(kTrackUuid, kCopyTrack)
                               .add(kCategory, "copy")
                               .add(kName, copy.call)
                               .add(kAnnotation, note("bytes", copy.bytes)));
  return trace.take();
}

} // namespace luthier::report
