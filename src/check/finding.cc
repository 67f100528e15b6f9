#include "check/finding.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace luthier::check {

using nlohmann::json;

namespace {

constexpr Rule kRules[] = {
    {rule::kOutOfBounds, "An access outside the allocation that it was probably meant for"},
    {rule::kUseAfterFree, "An access to memory that has been freed"},
    {rule::kNullPointer, "An access near address 0"},
    {rule::kInvalidAddress, "An access to an address that is in no allocation, and near none"},
    {rule::kKernelArguments, "An access to kernel arguments outside those of the kernel"},
    {rule::kLds, "An access to LDS outside the workgroup's group segment"},
    {rule::kScratch, "An access to scratch memory outside the work-item's private segment"},
    {rule::kMisaligned, "An address that the instruction does not take as it is"},
    {rule::kLeak, "Memory that was never freed"},
    {rule::kLdsRace, "Accesses of two waves to the same bytes of LDS, at least one a write, in no order"},
    {rule::kGlobalRace, "Accesses of two waves to the same bytes of memory, at least one a write, in no order"},
    {rule::kBarrierLanes, "A barrier that some lanes of a wave went around"},
    {rule::kBarrierSkipped, "A barrier that a wave went around"},
    {rule::kBarrierMixed, "Waves of a workgroup that met at different barriers"},
    {rule::kBarrierSplit, "Signals and waits of a split barrier that do not belong together"},
    {rule::kBarrierStuck, "A workgroup in which no wave can go on"},
    {rule::kUninitialisedAddress, "A value that nobody has written is used as an address"},
    {rule::kUninitialisedBranch, "A value that nobody has written decides which way a branch goes"},
    {rule::kUninitialisedAtomic, "An atomic operation on a value that nobody has written"},
    {rule::kUninitialisedStore, "A value that nobody has written is stored where the host sees it"},
    {rule::kMissingWait, "A register or LDS is used before a wait covers the operation that writes it"},
};

json toJson(const std::vector<HostFrame> &stack) {
  json frames = json::array();
  for (const HostFrame &frame : stack)
    frames.push_back({{"module", frame.module}, {"offset", frame.offset}, {"function", frame.function}});
  return frames;
}

/// Values of the types that they should have; anything else is left as it was.
class Reader {
public:
  explicit Reader(const json &from) : from_(from) {}

  void get(const char *name, std::string &to) const {
    if (const json *value = find(name); value && value->is_string())
      to = value->get_ref<const std::string &>();
  }
  template <std::unsigned_integral T> void get(const char *name, T &to) const {
    if (const json *value = find(name); value && value->is_number_unsigned())
      to = value->get<T>();
  }
  void get(const char *name, bool &to) const {
    if (const json *value = find(name); value && value->is_boolean())
      to = value->get<bool>();
  }
  void get(const char *name, std::array<uint32_t, 3> &to) const {
    if (const json *value = find(name); value && value->is_array() && value->size() == 3)
      for (unsigned d = 0; d < 3; ++d)
        if ((*value)[d].is_number_unsigned())
          to[d] = (*value)[d].get<uint32_t>();
  }
  void values(const char *name, std::vector<uint32_t> &to) const {
    if (const json *value = find(name); value && value->is_array())
      for (const json &one : *value)
        if (one.is_number_unsigned())
          to.push_back(one.get<uint32_t>());
  }
  void values(const char *name, std::vector<std::string> &to) const {
    if (const json *value = find(name); value && value->is_array())
      for (const json &one : *value)
        if (one.is_string())
          to.push_back(one.get<std::string>());
  }
  template <class T, class Read> void list(const char *name, std::vector<T> &to, Read read) const {
    if (const json *value = find(name); value && value->is_array())
      for (const json &one : *value)
        read(Reader(one), to.emplace_back());
  }
  void stack(const char *name, std::vector<HostFrame> &to) const {
    list(name, to, [](const Reader &frame, HostFrame &into) {
      frame.get("module", into.module);
      frame.get("offset", into.offset);
      frame.get("function", into.function);
    });
  }
  const json *find(const char *name) const {
    const auto found = from_.is_object() ? from_.find(name) : from_.end();
    return from_.is_object() && found != from_.end() ? &*found : nullptr;
  }

private:
  const json &from_;
};

} // namespace

std::span<const Rule> rules() { return kRules; }

std::string Finding::key() const {
  if (symbol.empty() && memory && !memory->allocatedAt.empty())
    return fmt::format("{}\n{}\n{}", rule, memory->allocatedAt.front().module, memory->allocatedAt.front().offset);
  const auto text = [](const CodePlace &at) { return fmt::format("{}\n{}\n{}", at.symbol, at.function, at.offset); };
  std::string mine = text(*this);
  if (!other)
    return fmt::format("{}\n{}", rule, mine);
  // Which of the two came first is by chance.
  std::string theirs = text(*other);
  if (theirs < mine)
    std::swap(mine, theirs);
  return fmt::format("{}\n{}\n{}", rule, mine, theirs);
}

namespace {

void addPlace(json &out, const CodePlace &place) {
  out["kernel"] = place.kernel;
  out["symbol"] = place.symbol;
  out["function"] = place.function;
  out["offset"] = place.offset;
  out["pc"] = place.pc;
  json &code = out["code"] = json::array();
  for (const CodeLine &line : place.code)
    code.push_back({{"offset", line.offset}, {"text", line.text}});
  json &source = out["source"] = json::array();
  for (const SourcePosition &at : place.source)
    source.push_back({{"file", at.file}, {"line", at.line}, {"column", at.column}, {"function", at.function}});
  if (!place.owner.empty())
    out["owner"] = place.owner;
}

void readPlace(const Reader &reader, CodePlace &place) {
  reader.get("kernel", place.kernel);
  reader.get("symbol", place.symbol);
  reader.get("function", place.function);
  reader.get("offset", place.offset);
  reader.get("pc", place.pc);
  reader.get("owner", place.owner);
  reader.list("code", place.code, [](const Reader &line, CodeLine &into) {
    line.get("offset", into.offset);
    line.get("text", into.text);
  });
  reader.list("source", place.source, [](const Reader &at, SourcePosition &into) {
    at.get("file", into.file);
    at.get("line", into.line);
    at.get("column", into.column);
    at.get("function", into.function);
  });
}

} // namespace

json toJson(const Finding &finding) {
  json out = {{"rule", finding.rule},           {"message", finding.message},
              {"grid", finding.grid},           {"group_size", finding.groupSize},
              {"workgroup", finding.workgroup}, {"wave", finding.wave},
              {"wave_size", finding.waveSize},  {"has_address", finding.hasAddress},
              {"address", finding.address},     {"process", finding.process},
              {"program", finding.program},     {"count", finding.count}};
  addPlace(out, finding);
  if (const auto &other = finding.other) {
    json &side = out["other"];
    side = {{"what", other->what}, {"workgroup", other->workgroup}, {"wave", other->wave}, {"lanes", other->lanes}};
    addPlace(side, *other);
  }
  if (!finding.missing.empty())
    out["missing"] = finding.missing;
  if (!finding.notes.empty())
    out["notes"] = finding.notes;
  json &lanes = out["lanes"] = json::array();
  for (const LaneAddress &lane : finding.lanes)
    lanes.push_back({{"lane", lane.lane}, {"address", lane.address}});
  json &details = out["details"] = json::array();
  for (const Detail &detail : finding.details)
    details.push_back({{"name", detail.name}, {"value", detail.value}});
  if (const auto &memory = finding.memory)
    out["memory"] = {{"begin", memory->begin},
                     {"size", memory->size},
                     {"what", memory->what},
                     {"exact", memory->exact},
                     {"number", memory->number},
                     {"freed", memory->freed},
                     {"allocated_at", toJson(memory->allocatedAt)},
                     {"freed_at", toJson(memory->freedAt)}};
  return out;
}

std::optional<Finding> findingFrom(const json &value) {
  const Reader reader(value);
  Finding finding;
  reader.get("rule", finding.rule);
  reader.get("message", finding.message);
  if (finding.rule.empty() || finding.message.empty())
    return std::nullopt;
  readPlace(reader, finding);
  if (const json *found = reader.find("other")) {
    const Reader from(*found);
    OtherSide &other = finding.other.emplace();
    readPlace(from, other);
    from.get("what", other.what);
    from.get("workgroup", other.workgroup);
    from.get("wave", other.wave);
    from.values("lanes", other.lanes);
  }
  reader.get("missing", finding.missing);
  reader.values("notes", finding.notes);
  reader.get("grid", finding.grid);
  reader.get("group_size", finding.groupSize);
  reader.get("workgroup", finding.workgroup);
  reader.get("wave", finding.wave);
  reader.get("wave_size", finding.waveSize);
  reader.get("has_address", finding.hasAddress);
  reader.get("address", finding.address);
  reader.get("process", finding.process);
  reader.get("program", finding.program);
  reader.get("count", finding.count);
  reader.list("lanes", finding.lanes, [](const Reader &lane, LaneAddress &into) {
    lane.get("lane", into.lane);
    lane.get("address", into.address);
  });
  reader.list("details", finding.details, [](const Reader &detail, Detail &into) {
    detail.get("name", into.name);
    detail.get("value", into.value);
  });
  if (const json *found = reader.find("memory")) {
    const Reader from(*found);
    Memory &memory = finding.memory.emplace();
    from.get("begin", memory.begin);
    from.get("size", memory.size);
    from.get("what", memory.what);
    from.get("exact", memory.exact);
    from.get("number", memory.number);
    from.get("freed", memory.freed);
    from.stack("allocated_at", memory.allocatedAt);
    from.stack("freed_at", memory.freedAt);
  }
  return finding;
}

std::string ranges(const std::vector<uint32_t> &numbers) {
  std::string text;
  for (size_t n = 0; n < numbers.size();) {
    size_t last = n;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1)
      ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", numbers[n]);
    if (last > n)
      text += fmt::format("-{}", numbers[last]);
    n = last + 1;
  }
  return text;
}

} // namespace luthier::check
