#include "vgpu/driver/running_report.h"

#include "analysis/loops.h"
#include "analysis/program.h"
#include "support/demangle.h"
#include "vgpu/wave/device.h"

#include <algorithm>
#include <errno.h> // program_invocation_short_name
#include <fmt/format.h>
#include <unistd.h>

namespace luthier::vgpu {

namespace {

using std::chrono::milliseconds;

/// Places beyond these are only counted.
constexpr size_t kMostPlaces = 12;

std::string counted(uint64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string seconds(milliseconds time) { return fmt::format("{:.1f} s", static_cast<double>(time.count()) / 1000); }

std::string triple(const std::array<uint32_t, 3> &value) {
  return fmt::format("({}, {}, {})", value[0], value[1], value[2]);
}

void addLine(std::string &text, std::string_view name, std::string_view value) {
  text += fmt::format("\n  {:<11} {}", name, value);
}

/// "file.hip:12"
std::string shortText(const check::SourcePosition &at) {
  return fmt::format("{}:{}", at.file.substr(at.file.rfind('/') + 1), at.line);
}

/// "3", or "1 to 3" where it differs between waves.
template <class Value> std::string span(std::span<const WavePlace> waves, Value value) {
  const auto [low, high] = std::ranges::minmax(waves, {}, value);
  return value(low) == value(high) ? fmt::format("{}", value(low)) : fmt::format("{} to {}", value(low), value(high));
}

/// "3 of the workgroup's 4 waves have arrived, 1 has ended"
std::string arrivals(std::span<const WavePlace> waves) {
  const uint32_t ended = std::ranges::max(waves, {}, &WavePlace::ended).ended;
  std::string text =
      fmt::format("{} of the workgroup's {} waves have arrived", span(waves, [](const auto &w) { return w.atBarrier; }),
                  span(waves, [](const auto &w) { return w.waves; }));
  if (ended)
    text +=
        fmt::format(", {} {} ended", span(waves, [](const auto &w) { return w.ended; }), ended == 1 ? "has" : "have");
  return text;
}

} // namespace

std::optional<RunningReport::LoopBounds> RunningReport::loopAround(uint64_t pc) const {
  const std::optional<LoadedObject> loaded = code_.objectAt(pc);
  const auto object = loaded ? object::CodeObject::parse(loaded->elf, "loaded code object")
                             : Result<object::CodeObject>(makeError("no code object"));
  const object::Symbol *symbol = object ? object->functionAt(pc - loaded->bias) : nullptr;
  if (!symbol)
    return std::nullopt;
  const auto program = analysis::Program::create(*object);
  const auto function = program ? (*program)->function(*symbol) : program.error();
  if (!function)
    return std::nullopt;
  const analysis::Cfg &cfg = (*function)->cfg();
  const uint32_t instr = cfg.find(pc - loaded->bias);
  const analysis::Loops loops = analysis::Loops::compute(cfg);
  const uint32_t number = instr == analysis::Cfg::kNone ? analysis::Loops::kNone : loops.innermost(cfg.blockOf(instr));
  if (number == analysis::Loops::kNone)
    return std::nullopt;
  LoopBounds bounds{.first = UINT64_MAX};
  for (const uint32_t block : loops.all()[number].blocks) {
    bounds.first = std::min(bounds.first, cfg.start(cfg.blocks()[block]) + loaded->bias);
    bounds.last = std::max(bounds.last, cfg.terminator(cfg.blocks()[block]).address() + loaded->bias);
  }
  return bounds;
}

/// What the waves at a place wait for. `begin` is the address that offsets are counted from.
std::string RunningReport::waiting(const RunningDispatch &running, std::span<const WavePlace> waves,
                                   const RunningDispatch *before, milliseconds between, uint64_t begin) const {
  const WavePlace &first = waves.front();
  std::string text;
  switch (first.stop) {
  case Stop::Barrier:
    return "waiting at a barrier: " + arrivals(waves);
  case Stop::Gws:
    return "waiting for other waves of the GPU (global wave sync)";
  case Stop::Yield:
    text = "sleeping (s_sleep)";
    break;
  default:
    if (first.pc == running.entry)
      return "about to start";
    text = "running";
  }
  const std::optional<LoopBounds> loop = loopAround(first.pc);
  if (!loop)
    return text;
  text += fmt::format(" in the loop from {:#06x} to {:#06x}", loop->first - begin, loop->last - begin);
  const auto wasThere = [&](const WavePlace &wave) {
    return std::ranges::any_of(before->waves, [&](const WavePlace &then) {
      return then.group == wave.group && then.wave == wave.wave && loop->contains(then.pc);
    });
  };
  if (before && std::ranges::all_of(waves, wasThere))
    text += fmt::format(", as {} before", seconds(between));
  return text;
}

std::string RunningReport::describe(const RunningDispatch &running, const RunningDispatch *before,
                                    milliseconds between) const {
  const Dispatch &dispatch = *running.dispatch;
  const auto age = std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - running.submitted);
  std::string text = fmt::format("running: {}, for {}", demangle(running.kernel), seconds(age));
  addLine(text, "GPU", fmt::format("{} ({})", dispatch.device().index(), dispatch.device().target().name));
  const auto &group = dispatch.launch().workgroup;
  addLine(
      text, "launch",
      fmt::format("grid {}, workgroups of {}", triple(dispatch.launch().grid), triple({group[0], group[1], group[2]})));
  std::string groups =
      fmt::format("{} running, {} ended, {} not started", running.groupsStarted - running.groupsEnded,
                  running.groupsEnded, dispatch.groupCount() - std::min(running.groupsStarted, dispatch.groupCount()));
  if (before && running.groupsStarted)
    groups += before->groupsEnded == running.groupsEnded
                  ? fmt::format("; none has ended in the last {}", seconds(between))
                  : fmt::format("; {} have ended in the last {}", running.groupsEnded - before->groupsEnded,
                                seconds(between));
  addLine(text, "workgroups", groups);

  std::vector<WavePlace> waves = running.waves;
  const auto key = [](const WavePlace &wave) { return std::pair(wave.pc, wave.stop); };
  std::ranges::sort(waves, {}, key);
  std::vector<std::span<const WavePlace>> places;
  for (size_t n = 0, end = 0; n < waves.size(); n = end) {
    while (end < waves.size() && key(waves[end]) == key(waves[n]))
      ++end;
    places.emplace_back(waves.data() + n, end - n);
  }
  std::ranges::sort(places, {}, [](const auto &place) { return std::pair(SIZE_MAX - place.size(), place.front().pc); });
  size_t left = waves.size();
  for (const auto &place : std::span(places).first(std::min(places.size(), kMostPlaces))) {
    left -= place.size();
    const uint64_t pc = place.front().pc;
    const check::CodePlace where = explainer_.place(running, pc);
    const auto line = std::ranges::find(where.code, where.offset, &check::CodeLine::offset);
    std::string at = fmt::format("at {:#06x}  {}", where.offset, line == where.code.end() ? "?" : line->text);
    if (!where.source.empty())
      at += fmt::format("  ({}{})", shortText(where.source.front()),
                        where.source.size() > 1 ? ", inlined at " + shortText(where.source.back()) : "");
    addLine(text, counted(place.size(), "wave"), at);
    if (!where.function.empty())
      addLine(text, "", "in the function " + where.function);
    if (!where.owner.empty())
      addLine(text, "", "part of " + where.owner);
    addLine(text, "", waiting(running, place, before, between, pc - where.offset));
  }
  if (left)
    addLine(text, counted(left, "wave"), fmt::format("at {} more", counted(places.size() - kMostPlaces, "place")));
  return text;
}

std::string RunningReport::text(const Running &before, const Running &now, milliseconds between,
                                const std::function<bool(const Dispatch &)> &wanted) const {
  std::string text;
  for (const RunningDispatch &running : now.dispatches) {
    if (!wanted(*running.dispatch))
      continue;
    const auto then = std::ranges::find(before.dispatches, running.dispatch, &RunningDispatch::dispatch);
    text += describe(running, then == before.dispatches.end() ? nullptr : &*then, between) + "\n";
  }
  if (text.empty())
    return {};
  if (now.silentWorkers)
    text += fmt::format("  {:<11} waves of {}, which did not answer\n", "not shown",
                        counted(now.silentWorkers, "worker thread"));
  return text + fmt::format("  {:<11} {} {}", "process", getpid(), program_invocation_short_name);
}

} // namespace luthier::vgpu
