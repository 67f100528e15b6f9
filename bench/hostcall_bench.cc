// How long a call to the host takes, and how many there can be: from a thread of the host that plays waves, and from
// kernels on the virtual GPU.
//
// The limit is what two threads can do that have nothing but a shared packet: one writes it and sets a flag, the other
// calls a function for each lane and clears the flag. Hostcall adds stacks, a doorbell, a look-up of the service. All
// ways take turns, several times; the best round of each counts, because neighbours on the machine only ever make it
// slower.
//
// Usage: hostcall_bench [ROUNDS]

#include "hostcall/consumer.h"
#include "hostcall/producer.h"
#include "luthier/vgpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>

namespace luthier::hostcall {
namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned kWaves = 64;
constexpr uint32_t kService = 42;
constexpr double kSeconds = 0.1;        ///< for each figure: on a crowded machine a fixed number could take minutes
constexpr int kGpuLatencyCalls = 300;   ///< each takes as long as the virtual GPU's workers sleep
constexpr int kGpuThroughputCalls = 50; ///< of each wave

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

[[noreturn]] void die(const std::string &what) {
  fmt::print(stderr, "hostcall_bench: {}\n", what);
  exit(1);
}

template <class T> T need(Result<T> result) {
  if (!result)
    die(result.error().message());
  if constexpr (!std::is_void_v<T>)
    return std::move(*result);
}

int increment(void *, uint32_t, uint64_t *payload) {
  ++payload[0];
  return 0;
}

/// One way to call.
struct Figures {
  double p50 = 1e9, p99 = 1e9; ///< seconds, of one lane's calls
  double laneCalls = 0;        ///< per second

  void add(std::vector<double> seconds) {
    std::ranges::sort(seconds);
    if (seconds[seconds.size() / 2] < p50) {
      p50 = seconds[seconds.size() / 2];
      p99 = seconds[seconds.size() * 99 / 100];
    }
  }
};

/// Measures single calls.
std::vector<double> timeCalls(const std::function<void()> &call) {
  std::vector<double> seconds;
  for (const auto begin = Clock::now(); since(begin) < kSeconds;) {
    const auto start = Clock::now();
    call();
    seconds.push_back(since(start));
  }
  return seconds;
}

/// Two threads and a packet.
class PingPong {
public:
  PingPong() : thread_([this] { answer(); }) {}
  ~PingPong() {
    stop_ = true;
    thread_.join();
  }

  /// A call of some lanes. Words are written and read, as in a packet.
  void call(unsigned lanes, wire::Payload &payload) {
    memcpy(payload_.slots, payload.slots, lanes * sizeof payload.slots[0]);
    lanes_.store(lanes, std::memory_order_release);
    while (lanes_.load(std::memory_order_acquire) != 0)
      __builtin_ia32_pause();
    for (unsigned lane = 0; lane < lanes; ++lane)
      memcpy(payload.slots[lane], payload_.slots[lane], 2 * sizeof(uint64_t));
  }

private:
  void answer() {
    amd_hostcall_service_handler_t volatile handler = increment;
    while (!stop_) {
      const unsigned lanes = lanes_.load(std::memory_order_acquire);
      for (unsigned lane = 0; lane < lanes; ++lane)
        handler(nullptr, kService, payload_.slots[lane]);
      if (lanes)
        lanes_.store(0, std::memory_order_release);
      else
        __builtin_ia32_pause();
    }
  }

  wire::Payload payload_ = {};
  alignas(64) std::atomic<unsigned> lanes_ = 0;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

void measurePingPong(Figures &figures) {
  PingPong pair;
  wire::Payload payload = {};
  figures.add(timeCalls([&] { pair.call(1, payload); }));
  const auto start = Clock::now();
  uint64_t calls = 0;
  for (; since(start) < kSeconds; ++calls)
    pair.call(wire::kLanes, payload);
  figures.laneCalls = std::max(figures.laneCalls, static_cast<double>(calls * wire::kLanes) / since(start));
}

/// A thread plays 64 waves: whichever has its answer calls again.
void measureCpu(Services &services, Figures &figures) {
  auto consumer = need(Consumer::create({.services = &services}));
  need(consumer->launch());
  void *memory = malloc(bufferBytes(kWaves));
  need(initializeBuffer(memory, kWaves));
  const BufferView buffer = need(BufferView::of(memory));
  need(consumer->registerBuffer(memory));

  wire::Payload payload = {};
  uint64_t calls = 0;
  figures.add(timeCalls([&] {
    produce(buffer, kService, 1, payload);
    ++calls;
  }));
  if (payload.slots[0][0] != calls)
    die("answers got lost");

  std::vector<uint64_t> packets(kWaves);
  calls = 0;
  const auto start = Clock::now();
  for (bool more = true; more || std::ranges::any_of(packets, [](uint64_t packet) { return packet != 0; });) {
    more = since(start) < kSeconds;
    for (uint64_t &packet : packets) {
      if (packet && isAnswered(buffer, packet)) {
        collect(buffer, packet, UINT64_MAX, payload);
        packet = 0;
        ++calls;
      }
      if (!packet && more)
        packet = submit(buffer, kService, UINT64_MAX, payload);
    }
  }
  figures.laneCalls = std::max(figures.laneCalls, static_cast<double>(calls * wire::kLanes) / since(start));
  need(consumer->deregisterBuffer(memory));
  free(memory);
}

void measureGpu(Services &services, vgpu::VirtualGpu &gpu, const vgpu::Module &module,
                std::vector<Clock::time_point> &times, Figures &figures) {
  auto consumer = need(Consumer::create({.services = &services, .doorbell = need(gpu.allocate<wire::Signal>(1))}));
  need(consumer->launch());
  void *memory = need(gpu.allocate<char>(bufferBytes(kWaves)));
  need(initializeBuffer(memory, kWaves));
  need(consumer->registerBuffer(memory));
  auto *answers = need(gpu.allocate<uint64_t>(kWaves * wire::kLanes));
  const vgpu::Kernel &kernel = *module.kernel("callOften");

  // From one call to the next, seen by the host: there and back again.
  times.clear();
  (void)need(gpu.run(kernel, {.grid = {1}, .workgroup = {1}}, vgpu::Arguments(memory, kGpuLatencyCalls, answers)));
  std::vector<double> seconds;
  for (size_t n = 1; n < times.size(); ++n)
    seconds.push_back(std::chrono::duration<double>(times[n] - times[n - 1]).count());
  figures.add(seconds);

  const auto start = Clock::now();
  times.clear();
  times.reserve(kGpuThroughputCalls * kWaves * wire::kLanes);
  (void)need(gpu.run(kernel, {.grid = {kWaves * wire::kLanes}, .workgroup = {256}},
                     vgpu::Arguments(memory, kGpuThroughputCalls, answers)));
  figures.laneCalls = std::max(figures.laneCalls, kGpuThroughputCalls * kWaves * wire::kLanes / since(start));
  if (answers[kWaves * wire::kLanes - 1] != kWaves * wire::kLanes - 1 + kGpuThroughputCalls)
    die("wrong answers");
  need(consumer->deregisterBuffer(memory));
  need(gpu.free(answers));
}

void print(const char *name, const Figures &figures, const Figures &limit) {
  fmt::print("{:22} {:9.2f} {:9.2f} {:8.2f} {:14.1f} {:8.2f}\n", name, figures.p50 * 1e6, figures.p99 * 1e6,
             figures.p50 / limit.p50, figures.laneCalls * 1e-6, limit.laneCalls / figures.laneCalls);
}

int run(int rounds) {
  Services services, timedServices;
  need(services.add(kService, increment, nullptr));
  std::vector<Clock::time_point> times;
  need(timedServices.add(
      kService,
      [](void *state, uint32_t, uint64_t *payload) {
        static_cast<std::vector<Clock::time_point> *>(state)->push_back(Clock::now());
        ++payload[0];
        return 0;
      },
      &times));
  auto gpu = need(vgpu::VirtualGpu::create());
  auto module = need(gpu->loadFile(HOSTCALL_BENCH_KERNELS));
  Figures limit, cpu, device;
  for (int round = 0; round < rounds; ++round) {
    measurePingPong(limit);
    measureCpu(services, cpu);
    measureGpu(timedServices, *gpu, *module, times, device);
  }
  fmt::print("{:22} {:>28} {:>23}\n", "", "one lane, us", "64 waves x 64 lanes");
  fmt::print("{:22} {:>9} {:>9} {:>8} {:>14} {:>8}\n", "", "p50", "p99", "/ limit", "M lane-calls/s", "limit /");
  print("two threads (limit)", limit, limit);
  print("hostcall, CPU", cpu, limit);
  print("hostcall, virtual GPU", device, limit);
  return 0;
}

} // namespace
} // namespace luthier::hostcall

int main(int argc, char **argv) { return luthier::hostcall::run(argc > 1 ? atoi(argv[1]) : 5); }
