// wait_mutation FILE [--target T] [--kernels N] [--every N]: takes away one wait at a time, and counts who notices.
//
// Every kernel of FILE that has no finding is changed in one place after the other: a wait becomes s_nop, or leaves one
// operation more in flight, per counter. Two judges look at each change. The check of analysis/wait_check.h looks at
// all paths at once. The walker executes the waits alone, along random paths from the kernel's start, with exact
// queues: it knows nothing of joining paths, bounds or summaries. What the walker sees and the check does not is a
// miss; the run fails. What neither sees is counted by why the wait is not needed for registers:
//
//   nothing    no operation that brings a register is in flight there, on any path: the wait orders memory (a release,
//              a barrier, a store before the end), or is LLVM's caution
//   covered    what it is for is waited for again before it is touched, or is never touched
//
// --kernels N looks at the first N kernels of each target only, --every N at every Nth wait of each.

#include "analysis/program.h"
#include "analysis/wait_check.h"
#include "analysis/waits.h"
#include "object/container.h"
#include "support/value_type.h"

#include <fmt/core.h>

#include <cstring>
#include <deque>
#include <filesystem>
#include <map>
#include <random>
#include <set>

using namespace luthier;
using namespace luthier::analysis;

namespace {

struct Options {
  std::string file, target;
  uint64_t kernels = UINT64_MAX, every = 1;
};

/// Executes nothing but memory operations and waits, along one path.
class Walker {
public:
  Walker(const isa::Target &target, const Cfg &cfg) : target_(target), cfg_(cfg) {}

  /// Whether some path has a violation, out of so many.
  bool finds(unsigned paths, uint32_t seed) {
    std::mt19937 random(seed);
    for (unsigned n = 0; n < paths; ++n)
      if (walk(random))
        return true;
    return false;
  }

private:
  struct Operation {
    EventKind kind;
    Halves halves;
    RegSet results;
  };

  bool walk(std::mt19937 &random) {
    for (auto &queue : queues_)
      queue.clear();
    uint32_t block = 0;
    std::map<uint32_t, unsigned> visits;
    for (unsigned steps = 0; steps < 4000;) {
      for (const Instr &instr : cfg_.instrs(cfg_.blocks()[block])) {
        ++steps;
        if (step(instr))
          return true;
      }
      if (cfg_.blocks()[block].call != CallKind::None)
        for (auto &queue : queues_)
          queue.clear(); // callees wait
      const auto edges = cfg_.successors(cfg_.blocks()[block]);
      if (edges.empty())
        return false;
      // The successor that was seen least, most of the time: random walks stay in loops.
      uint32_t next = edges[random() % edges.size()].to;
      if (random() % 4)
        for (const Edge &edge : edges)
          if (visits[edge.to] < visits[next])
            next = edge.to;
      ++visits[next];
      block = next;
    }
    return false;
  }

  bool step(const Instr &instr) {
    if (instr.is(Property::Wait)) {
      const WaitLimits limits = waitLimitsOf(instr, target_);
      for (unsigned n = 0; n < kCounters; ++n)
        if (limits.left[n] != WaitLimits::kAny)
          wait(queues_[n], limits.unknown ? 0 : limits.left[n]);
      return false;
    }
    const WaitEvents events = waitEventsOf(instr, target_);
    if (touches(instr, events))
      return true;
    for (const WaitEvent &event : events) {
      if (event.counts == WaitEvent::Counts::Hardly)
        continue;
      auto &queue = queues_[static_cast<unsigned>(event.counter)];
      Operation operation{event.kind, loadedHalves(instr), {}};
      if (event.results)
        for (const RegRange range : instr.writes())
          if (isAwaited(range.first))
            operation.results.insert(range);
      queue.push_back(operation);
      const size_t most = largestCount(event.counter, target_);
      if (most && inOrder(queue))
        while (queue.size() > most)
          queue.pop_front();
    }
    return false;
  }

  bool inOrder(const std::deque<Operation> &queue) const {
    const auto like = [&](EventKind kind) {
      return kind == EventKind::Flat && target_.flatInOrder ? EventKind::Vector : kind;
    };
    for (const Operation &operation : queue) {
      if (operation.kind == EventKind::Scalar || (operation.kind == EventKind::Flat && !target_.flatInOrder))
        return false;
      const EventKind a = like(operation.kind), b = like(queue.front().kind);
      const bool flatAndLds = (a == EventKind::Lds && b == EventKind::Vector) ||
                              (a == EventKind::Vector && b == EventKind::Lds); // its half in LDS's counter
      if (a != b && !flatAndLds)
        return false;
    }
    return true;
  }

  void wait(std::deque<Operation> &queue, size_t left) const {
    if (left == 0)
      queue.clear();
    else if (inOrder(queue))
      while (queue.size() > left)
        queue.pop_front();
  }

  bool touches(const Instr &instr, const WaitEvents &events) const {
    if (instr.is(Property::Indexed))
      return false;
    const Halves loads = loadedHalves(instr);
    const bool half = loads != kBothHalves;
    for (unsigned n = 0; n < kCounters; ++n)
      for (const Operation &operation : queues_[n]) {
        if (operation.halves != kBothHalves && ((loads & operation.halves) == 0 || mayUseOneHalf(instr)))
          continue;
        for (const RegRange range : instr.reads())
          if (isAwaited(range.first) && operation.results.containsAny(range) && !half)
            return true;
        for (const RegRange range : instr.writes()) {
          if (!isAwaited(range.first) || !operation.results.containsAny(range))
            continue;
          bool ordered = false;
          for (const WaitEvent &event : events)
            ordered |= static_cast<unsigned>(event.counter) == n &&
                       ((event.kind == EventKind::Lds && operation.kind == EventKind::Lds) ||
                        (event.kind == EventKind::Vector && target_.loadsWriteInOrder &&
                         (operation.kind == EventKind::Vector || operation.kind == EventKind::Flat)));
          if (!ordered)
            return true;
        }
      }
    return false;
  }

  const isa::Target &target_;
  const Cfg &cfg_;
  std::array<std::deque<Operation>, kCounters> queues_;
};

struct Totals {
  uint64_t kernels = 0, unclean = 0, waits = 0, changes = 0;
  uint64_t found = 0, reproduced = 0, nothing = 0, covered = 0, missed = 0;
};

/// What a wait may become: s_nop, or one with a larger number for one counter.
std::vector<uint32_t> changesOf(const Instr &instr, const isa::Target &target) {
  uint32_t word;
  memcpy(&word, instr.bytes().data(), sizeof word);
  std::vector<uint32_t> changes;
  constexpr uint32_t kNop = 0xbf800000; // s_nop 0, on all targets
  changes.push_back(kNop);
  const WaitLimits limits = waitLimitsOf(instr, target);
  if (instr.mnemonic() == "s_waitcnt" && target.waitFields) {
    const isa::WaitFields &fields = *target.waitFields;
    for (const auto &[field, counter] : {std::pair(fields.vm, Counter::Vm), std::pair(fields.lgkm, Counter::Lgkm)}) {
      const unsigned left = limits.of(counter);
      if (left < field.most())
        changes.push_back((word & ~field.put(field.most())) | field.put(left + 1));
    }
  } else if (instr.mnemonic() == "s_wait_loadcnt" || instr.mnemonic() == "s_wait_dscnt" ||
             instr.mnemonic() == "s_wait_kmcnt")
    changes.push_back(word + 1);
  return changes;
}

/// A wait that is needed for no register: whether anything was in flight there at all that it is for.
bool hasRegistersInFlight(const Cfg &cfg, const isa::Target &target, uint64_t address) {
  const Waits waits = Waits::compute(cfg, target);
  const uint32_t index = cfg.find(address);
  return index != Cfg::kNone && !waits.before(cfg.instrs()[index]).busy().empty();
}

bool isClean(const isa::Target &target, const Cfg &cfg) {
  const CheckedFunction functions[] = {{&cfg, true, false}};
  return checkWaits(target, functions).findings.empty();
}

void mutate(object::CodeObject &object, std::span<std::byte> bytes, Program &program, const Options &options,
            Totals &totals) {
  const isa::Target &target = object.target();
  uint64_t kernels = 0;
  for (const object::Symbol *symbol : program.functions()) {
    if (symbol->kind != object::SymbolKind::Kernel || kernels == options.kernels)
      continue;
    const auto decoder = program.decoder(*symbol);
    if (!decoder)
      continue;
    const auto original = Function::decode(**decoder, object, *symbol, program.callees());
    if (!original)
      continue;
    bool calls = false;
    for (const Block &block : (*original)->cfg().blocks())
      calls |= block.call == CallKind::Direct; // callees would have to be looked at with it
    if (calls)
      continue;
    ++kernels;
    ++totals.kernels;
    if (!isClean(target, (*original)->cfg())) {
      ++totals.unclean;
      fmt::print("{}: has findings\n", symbol->name);
      continue;
    }
    uint64_t number = 0;
    for (const Instr &wait : (*original)->instrs()) {
      if (!wait.is(Property::Wait) || wait.mnemonic().find("depctr") != std::string_view::npos ||
          wait.mnemonic() == "s_wait_alu" || wait.mnemonic() == "s_wait_event" || wait.size() != 4)
        continue;
      if (number++ % options.every)
        continue;
      ++totals.waits;
      auto *place = bytes.data() + (wait.bytes().data() - reinterpret_cast<const uint8_t *>(bytes.data()));
      uint32_t kept;
      memcpy(&kept, place, sizeof kept);
      for (const uint32_t change : changesOf(wait, target)) {
        memcpy(place, &change, sizeof change);
        const auto changed = Function::decode(**decoder, object, *symbol, program.callees());
        ++totals.changes;
        if (changed) {
          const Cfg &cfg = (*changed)->cfg();
          const bool found = !isClean(target, cfg);
          const bool walked = Walker(target, cfg).finds(found ? 40 : 200, static_cast<uint32_t>(totals.changes));
          totals.found += found;
          totals.reproduced += found && walked;
          if (!found && walked) {
            ++totals.missed;
            fmt::print("{}: missed: {:#x} as {:#x}\n", symbol->name, wait.address(), change);
          } else if (!found)
            ++(hasRegistersInFlight((*original)->cfg(), target, wait.address()) ? totals.covered : totals.nothing);
        }
        memcpy(place, &kept, sizeof kept);
      }
    }
  }
}

int run(const Options &options) {
  constexpr int kSkipped = 77; // for CTest
  if (!std::filesystem::exists(options.file)) {
    fmt::print(stderr, "{} is not there\n", options.file);
    return kSkipped;
  }
  const auto container = object::Container::open(options.file);
  if (!container) {
    fmt::print(stderr, "{}\n", container.error().message());
    return 2;
  }
  std::map<std::string, Totals> byTarget;
  for (const object::ImageGroup &group : container->groups()) {
    const auto images = container->images(group);
    if (!images) {
      fmt::print(stderr, "{}\n", images.error().message());
      return 2;
    }
    for (const object::Image &image : *images) {
      const auto object = image.codeObject();
      if (!object || !object->hasTarget() || !object->target().scratchInstructions ||
          (!options.target.empty() && !object->targetId().starts_with(options.target)))
        continue;
      std::vector<std::byte> bytes(object->elf().begin(), object->elf().end());
      auto copy = object::CodeObject::parse(bytes, object->origin());
      if (!copy)
        continue;
      const auto program = Program::create(*copy);
      if (!program)
        continue;
      mutate(*copy, bytes, **program, options, byTarget[object->targetId()]);
    }
    container->forget(group);
  }
  fmt::print("{:<16} {:>7} {:>7} {:>7} {:>7} {:>10} {:>8} {:>8} {:>7}\n", "target", "kernels", "waits", "changes",
             "found", "reproduced", "nothing", "covered", "missed");
  bool failed = byTarget.empty();
  for (const auto &[target, t] : byTarget) {
    fmt::print("{:<16} {:>7} {:>7} {:>7} {:>7} {:>10} {:>8} {:>8} {:>7}\n", target, t.kernels, t.waits, t.changes,
               t.found, t.reproduced, t.nothing, t.covered, t.missed);
    failed |= t.missed || t.unclean;
  }
  return failed ? 1 : 0;
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  for (int n = 1; n < argc; ++n) {
    const std::string word = argv[n];
    if (word == "--target" && n + 1 < argc)
      options.target = argv[++n];
    else if ((word == "--kernels" || word == "--every") && n + 1 < argc) {
      const auto number = parseNumber(word, argv[++n], 1, UINT64_MAX);
      if (!number) {
        fmt::print(stderr, "{}\n", number.error().message());
        return 2;
      }
      (word == "--kernels" ? options.kernels : options.every) = *number;
    } else if (options.file.empty() && !word.starts_with('-'))
      options.file = word;
    else {
      fmt::print(stderr, "usage: wait_mutation FILE [--target T] [--kernels N] [--every N]\n");
      return 2;
    }
  }
  return run(options);
}
