#include "check/text.h"

#include <algorithm>
#include <fmt/format.h>
#include <fstream>

namespace luthier::check {

namespace {

constexpr size_t kMostFrames = 12;

/// Lines of the form "  name        value"; without a name, they go on with the one above.
class Lines {
public:
  explicit Lines(std::string first) : text_(std::move(first)) {}
  void add(std::string_view name, std::string_view value) { text_ += fmt::format("\n  {:<11} {}", name, value); }
  std::string take() { return std::move(text_); }

private:
  std::string text_;
};

/// The line itself, if the file is still there.
std::string sourceText(const SourcePosition &at) {
  std::ifstream file(at.file);
  std::string line;
  for (uint32_t n = 0; n < at.line; ++n)
    if (!std::getline(file, line))
      return {};
  const size_t begin = line.find_first_not_of(" \t");
  return begin == std::string::npos ? std::string() : line.substr(begin);
}

std::string triple(const std::array<uint32_t, 3> &value) {
  return fmt::format("({}, {}, {})", value[0], value[1], value[2]);
}

/// Work-items of the lanes, with the numbers that run folded: "(0-31, 2, 0)".
std::string workItems(const Finding &finding) {
  const auto &size = finding.groupSize;
  if (size[0] == 0 || size[1] == 0)
    return {};
  std::vector<std::pair<std::pair<uint32_t, uint32_t>, std::vector<uint32_t>>> rows;
  for (const LaneAddress &lane : finding.lanes) {
    const uint32_t item = finding.wave * finding.waveSize + lane.lane;
    const std::pair yz(item / size[0] % size[1], item / size[0] / size[1]);
    if (rows.empty() || rows.back().first != yz)
      rows.push_back({yz, {}});
    rows.back().second.push_back(item % size[0]);
  }
  constexpr size_t kMostRows = 4;
  std::string text;
  for (size_t n = 0; n < std::min(rows.size(), kMostRows); ++n)
    text +=
        fmt::format("{}({}, {}, {})", n ? ", " : "", ranges(rows[n].second), rows[n].first.first, rows[n].first.second);
  return rows.size() > kMostRows ? text + ", ..." : text;
}

void addCode(Lines &lines, const CodePlace &place) {
  if (!place.function.empty())
    lines.add("function", place.function);
  if (!place.owner.empty())
    lines.add("belongs to", place.owner);
  for (size_t n = 0; n < place.source.size(); ++n) {
    const SourcePosition &at = place.source[n];
    std::string where = fmt::format("{}:{}", at.file, at.line);
    if (at.column)
      where += fmt::format(":{}", at.column);
    if (place.source.size() > 1 && !at.function.empty())
      where += fmt::format(" in {}{}", at.function, n + 1 < place.source.size() ? ", inlined into" : "");
    lines.add(n == 0 ? "source" : "", where);
    if (const std::string text = sourceText(at); n == 0 && !text.empty())
      lines.add("", "  " + text);
  }
  for (const CodeLine &line : place.code)
    lines.add(&line == place.code.data() ? "code" : "",
              fmt::format("{} {:#06x}  {}", line.offset == place.offset ? '>' : ' ', line.offset, line.text));
}

/// "lanes 0-63 of wave 1 of workgroup (0, 0, 0)"
std::string whoIs(const std::vector<uint32_t> &lanes, uint32_t wave, const std::array<uint32_t, 3> &workgroup) {
  const std::string where = fmt::format("wave {} of workgroup {}", wave, triple(workgroup));
  return lanes.empty() ? where : fmt::format("lane{} {} of {}", lanes.size() > 1 ? "s" : "", ranges(lanes), where);
}

void addOther(Lines &lines, const OtherSide &other, const Finding &finding) {
  lines.add("with", other.what);
  if (other.kernel != finding.kernel)
    lines.add("kernel", other.kernel);
  addCode(lines, other);
  lines.add("by", whoIs(other.lanes, other.wave, other.workgroup));
}

void addStack(Lines &lines, std::string_view name, const std::vector<HostFrame> &stack) {
  for (size_t n = 0; n < std::min(stack.size(), kMostFrames); ++n) {
    const HostFrame &frame = stack[n];
    const std::string module = frame.module.substr(frame.module.rfind('/') + 1);
    lines.add(n == 0 ? name : "", frame.function.empty() ? fmt::format("{}+{:#x}", module, frame.offset)
                                                         : fmt::format("{} in {}", frame.function, module));
  }
  if (stack.size() > kMostFrames)
    lines.add("", fmt::format("... {} more", stack.size() - kMostFrames));
}

void addMemory(Lines &lines, const Memory &memory) {
  std::string what = fmt::format("{} bytes of {} at {:#x}", memory.size, memory.what, memory.begin);
  if (memory.number)
    what += fmt::format(", allocation {}", memory.number);
  if (memory.freed)
    what += ", freed";
  lines.add("memory", what);
  if (!memory.exact)
    lines.add("", "(a buffer of the driver: whole pages, perhaps of several allocations)");
  addStack(lines, "allocated", memory.allocatedAt);
  addStack(lines, "freed", memory.freedAt);
}

} // namespace

std::string toText(const Finding &finding) {
  Lines lines(fmt::format("{}: {}", finding.rule, finding.message));
  if (!finding.kernel.empty())
    lines.add("kernel", finding.kernel);
  addCode(lines, finding);
  for (const Detail &detail : finding.details)
    lines.add(detail.name, detail.value);
  if (!finding.kernel.empty()) {
    std::vector<uint32_t> numbers;
    for (const LaneAddress &lane : finding.lanes)
      numbers.push_back(lane.lane);
    lines.add("by", whoIs(numbers, finding.wave, finding.workgroup));
    if (const std::string items = workItems(finding); !items.empty())
      lines.add("", fmt::format("work-item{} {}", numbers.size() > 1 ? "s" : "", items));
    const auto [low, high] = std::ranges::minmax_element(finding.lanes, {}, &LaneAddress::address);
    if (finding.hasAddress && (!finding.lanes.empty() || finding.address || finding.memory))
      lines.add("address", finding.lanes.size() > 1 && low->address != high->address
                               ? fmt::format("{:#x} to {:#x}", low->address, high->address)
                               : fmt::format("{:#x}", finding.address));
  }
  if (finding.other)
    addOther(lines, *finding.other, finding);
  if (!finding.missing.empty())
    lines.add("missing", finding.missing);
  for (const std::string &note : finding.notes)
    lines.add(&note == finding.notes.data() ? "waves" : "", note);
  if (finding.memory)
    addMemory(lines, *finding.memory);
  if (!finding.kernel.empty())
    lines.add("launch", fmt::format("grid {}, workgroups of {}", triple(finding.grid), triple(finding.groupSize)));
  if (finding.process)
    lines.add("process", finding.program.empty() ? fmt::format("{}", finding.process)
                                                 : fmt::format("{} {}", finding.process, finding.program));
  if (finding.count > 1)
    lines.add("seen", fmt::format("{} times", finding.count));
  return lines.take();
}

} // namespace luthier::check
