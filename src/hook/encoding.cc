#include "hook/encoding.h"

#include <algorithm>
#include <bit>
#include <concepts>
#include <limits>
#include <type_traits>

namespace luthier::hook {

namespace {

class Writer {
public:
  template <class T>
    requires std::integral<T> || std::floating_point<T> || std::is_enum_v<T>
  void put(T value) {
    text_.append(reinterpret_cast<const char *>(&value), sizeof value);
  }
  void put(std::string_view text) {
    put(static_cast<uint32_t>(text.size()));
    text_ += text;
  }
  template <class Byte>
    requires(sizeof(Byte) == 1)
  void bytes(const std::vector<Byte> &bytes) {
    put(std::string_view(reinterpret_cast<const char *>(bytes.data()), bytes.size()));
  }
  template <class T, class Put> void list(const std::vector<T> &values, Put put) {
    this->put(static_cast<uint32_t>(values.size()));
    for (const T &value : values)
      put(value);
  }
  std::string take() { return std::move(text_); }

private:
  std::string text_;
};

/// After the first error, everything reads as 0 or empty.
class Reader {
public:
  explicit Reader(std::string_view text) : rest_(text) {}

  /// An integer, a boolean or an enumeration from 0 up to `last`.
  template <class T> T get(std::string_view what, T last) {
    using Number = typename std::conditional_t<std::is_enum_v<T>, std::underlying_type<T>, std::type_identity<T>>::type;
    using Stored = std::conditional_t<std::is_same_v<Number, bool>, uint8_t, Number>;
    const auto value = raw<Stored>(what);
    expect(value <= static_cast<Stored>(last), what, value, "at most", static_cast<Stored>(last));
    return failed() ? T() : static_cast<T>(value);
  }
  template <class T> T raw(std::string_view what) {
    T value = T();
    take(sizeof value, what).copy(reinterpret_cast<char *>(&value), sizeof value);
    return value;
  }
  std::string_view text(std::string_view what) { return take(raw<uint32_t>(what), what); }
  template <class Byte> std::vector<Byte> bytes(std::string_view what) {
    const std::string_view all = text(what);
    const auto *const first = reinterpret_cast<const Byte *>(all.data());
    return std::vector<Byte>(first, first + all.size());
  }
  template <class T, class Get> void list(std::string_view what, std::vector<T> &values, Get get) {
    const auto count = raw<uint32_t>(what);
    for (uint32_t n = 0; !failed() && n < count; ++n)
      values.push_back(get());
  }

  template <class Found, class Wanted>
  void expect(bool good, std::string_view what, const Found &found, std::string_view relation, const Wanted &wanted) {
    if (!good && !failed())
      error_ = fmt::format("{} is {}, expected {} {}", what, found, relation, wanted);
  }
  void expect(bool good, std::string_view what) {
    if (!good && !failed())
      error_ = what;
  }
  bool failed() const { return !error_.empty(); }

  Result<void> finish() {
    expect(rest_.empty(), "what is behind the last value", rest_.size(), "bytes:", 0);
    return failed() ? Result<void>(makeError("{}", error_)) : Result<void>();
  }

private:
  std::string_view take(size_t count, std::string_view what) {
    if (!failed() && count > rest_.size())
      error_ = fmt::format("{}: {} bytes are missing", what, count - rest_.size());
    if (failed())
      return {};
    const std::string_view bytes = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return bytes;
  }

  std::string_view rest_;
  std::string error_;
};

void put(Writer &writer, const Source &source) {
  writer.put(source.kind);
  for (const bool flag : {source.vaddr, source.saddr, source.idxen, source.offen, source.offset, source.typed,
                          source.resource, source.unit64, source.narrow, source.byLane})
    writer.put(flag);
  writer.put(source.bytes);
}

Source getSource(Reader &reader) {
  Source source;
  source.kind = reader.get("a source's kind", SourceKind::KernelArgument);
  for (bool *flag : {&source.vaddr, &source.saddr, &source.idxen, &source.offen, &source.offset, &source.typed,
                     &source.resource, &source.unit64, &source.narrow, &source.byLane})
    *flag = reader.get("a source's flag", true);
  source.bytes = reader.get("a source's size", static_cast<uint8_t>(4 * kMaxStructureDwords));
  return source;
}

void put(Writer &writer, const HookParameter &parameter) {
  writer.put(parameter.type);
  writer.put(parameter.dwords);
}

HookParameter getParameter(Reader &reader) {
  HookParameter parameter;
  parameter.type = reader.get("a parameter's type", ValueType::Structure);
  parameter.dwords = reader.get("a parameter's registers", kMaxStructureDwords);
  reader.expect((parameter.type == ValueType::Void) == (parameter.dwords == 0),
                "a parameter has a type without registers, or registers without a type");
  return parameter;
}

Hook getHook(Reader &reader) {
  Hook hook;
  hook.name = reader.text("a hook's name");
  hook.symbol = reader.text("a hook's symbol");
  hook.kind = reader.get("a hook's kind", HookKind::Wave);
  reader.list("the number of parameters", hook.parameters, [&] { return getParameter(reader); });
  hook.result = getParameter(reader);
  reader.list("the number of types", hook.hostTypes, [&] { return std::string(reader.text("a type")); });
  reader.expect(!hook.symbol.empty(), "a hook has no symbol");
  reader.expect(std::ranges::all_of(hook.parameters, [](const HookParameter &p) { return p.dwords > 0; }),
                "a hook has a parameter without a type");
  reader.expect(hook.hostTypes.size() == hook.parameters.size(), "the number of types", hook.hostTypes.size(),
                "one per parameter:", hook.parameters.size());
  return hook;
}

Variable getVariable(Reader &reader) {
  Variable variable;
  variable.name = reader.text("a variable's name");
  variable.symbol = reader.text("a variable's symbol");
  variable.hostType = reader.text("a variable's type");
  variable.storage = reader.get("a variable's storage", Storage::PerSite);
  variable.size = reader.get("a variable's size", kMaxVariableBytes);
  variable.alignment = reader.get("a variable's alignment", kMaxVariableAlignment);
  variable.contents = reader.bytes<std::byte>("a variable's contents");
  reader.expect(std::has_single_bit(variable.alignment), "a variable's alignment", variable.alignment, "a power of", 2);
  reader.expect(variable.contents.empty() || variable.contents.size() == variable.size, "a variable's contents",
                variable.contents.size(), "as many bytes as its size:", variable.size);
  if (inRegisters(variable.storage))
    reader.expect(variable.size <= kMaxBytesInRegisters && variable.contents.empty(),
                  "a variable in registers is too large or has contents");
  if (variable.storage == Storage::Lds || variable.storage == Storage::PerWorkgroup)
    reader.expect(variable.contents.empty(), "a variable of a workgroup has contents");
  return variable;
}

void put(Writer &writer, const Port &port) {
  writer.put(port.kind);
  writer.put(port.index);
  writer.put(port.part);
  writer.put(port.guest.first);
  writer.put(port.guest.count);
  writer.put(port.launch);
  writer.put(port.regs.first);
  writer.put(port.regs.count);
}

/// What a port may be depends on the hook, the module and the target.
class PortReader {
public:
  PortReader(Reader &reader, const HookModule &module, const Hook &hook, const isa::Target &target)
      : reader_(reader), module_(module), hook_(hook), target_(target) {}

  void list(std::string_view what, std::vector<Port> &ports, bool inputs) {
    RegSet used;
    reader_.list(what, ports, [&] {
      Port port = get();
      check(port, inputs);
      if (!reader_.failed()) {
        reader_.expect(!used.containsAny(port.regs), "two ports share registers");
        used.insert(port.regs);
      }
      return port;
    });
  }

private:
  Port get() {
    Port port;
    port.kind = reader_.get("a port's kind", Port::Kind::Frame);
    port.index = reader_.raw<uint16_t>("a port's index");
    port.part = reader_.get("a port's part", Part::Offset);
    port.guest = range("a port's guest registers");
    port.launch = reader_.get("a port's launch value", static_cast<uint8_t>(kLaunchValues - 1));
    port.regs = range("a port's registers");
    return port;
  }

  RegRange range(std::string_view what) {
    const auto first = reader_.raw<uint16_t>(what), count = reader_.raw<uint16_t>(what);
    reader_.expect(first + count <= number(Reg::End), what, first + count, "an end of at most", number(Reg::End));
    return reader_.failed() ? RegRange() : RegRange{static_cast<Reg>(first), count};
  }

  void check(const Port &port, bool input) {
    if (reader_.failed())
      return;
    using Kind = Port::Kind;
    const unsigned first = number(port.regs.first), end = first + port.regs.count;
    const bool scalar = end <= target_.sgprs, vector = first >= number(Reg::V0) && end <= number(Reg::A0);
    reader_.expect(port.regs.count > 0 && (scalar || vector), "a port's registers", toString(port.regs),
                   "SGPRs or VGPRs of", target_.name);
    reader_.expect(port.kind == Kind::Parameter || port.part == Part::Value, "a port that is no parameter has a part");
    reader_.expect(port.kind == Kind::Register || port.guest == RegRange(),
                   "a port that is no register names guest registers");
    reader_.expect(port.kind == Kind::Launch || port.launch == 0, "a port that is no launch value names one");
    const bool variable = port.kind == Kind::WaveVariable || port.kind == Kind::LaneVariable;
    reader_.expect(port.kind == Kind::Parameter || variable || port.index == 0, "a port's index", port.index, "exactly",
                   0);
    reader_.expect(input ? port.kind != Kind::Result
                         : port.kind == Kind::Result || variable || port.kind == Kind::Register,
                   input ? "a result is an input" : "an output is something that cannot be written");
    switch (port.kind) {
    case Kind::Parameter:
      reader_.expect(port.index < hook_.parameters.size(), "a port's parameter", port.index, "less than",
                     hook_.parameters.size());
      if (!reader_.failed() && port.part == Part::Value)
        expectDwords(port, hook_.parameters[port.index].dwords);
      reader_.expect(port.regs.count <= kMaxStructureDwords, "a port's registers", port.regs.count, "at most",
                     kMaxStructureDwords);
      break;
    case Kind::Result:
      expectDwords(port, hook_.result.dwords);
      break;
    case Kind::WaveVariable:
    case Kind::LaneVariable: {
      const Storage storage = port.kind == Kind::WaveVariable ? Storage::PerWave : Storage::PerLane;
      reader_.expect(port.index < module_.variables().size() && module_.variables()[port.index].storage == storage,
                     "a port's variable", port.index, fmt::format("one that is {}, of", scopeOf(storage)),
                     module_.variables().size());
      if (!reader_.failed())
        expectDwords(port, registersOf(module_.variables()[port.index]));
      reader_.expect(scalar == (storage == Storage::PerWave), "a variable is in the wrong kind of registers");
      break;
    }
    case Kind::LaunchBlock:
    case Kind::GroupBlock:
    case Kind::LdsBlock:
      expectDwords(port, port.kind == Kind::LdsBlock ? 1 : 2);
      reader_.expect(scalar, "a block's address is in vector registers");
      break;
    case Kind::Register:
      reader_.expect(port.guest.count == port.regs.count && !port.guest.empty(), "a port's guest registers",
                     port.guest.count, "as many as its own:", port.regs.count);
      reader_.expect(isGuest(port.guest), "a port's guest registers", toString(port.guest), "registers of",
                     target_.name);
      break;
    case Kind::Launch:
      reader_.expect(port.regs.count <= 2, "a port's registers", port.regs.count, "at most", 2);
      reader_.expect(scalar != isWorkitemId(static_cast<LaunchValue>(port.launch)),
                     "a launch value is in the wrong kind of registers");
      break;
    case Kind::Frame:
      expectDwords(port, 1);
      reader_.expect(scalar, "the frame's start is in a vector register");
      break;
    }
  }

  void expectDwords(const Port &port, unsigned dwords) {
    reader_.expect(port.regs.count == dwords, "a port's registers", port.regs.count, "exactly", dwords);
  }

  /// As luthier::readReg and writeReg take them (hook/llvm/wrapper.cc).
  bool isGuest(RegRange range) const {
    const unsigned first = number(range.first), end = first + range.count;
    const bool scalar = end <= number(Reg::Scc) + 1 && !range.contains(Reg::Null);
    const bool vector = first >= number(Reg::V0) && end <= number(Reg::A0);
    return scalar || vector || (first >= number(Reg::A0) && target_.accVgprs != 0);
  }

  Reader &reader_;
  const HookModule &module_;
  const Hook &hook_;
  const isa::Target &target_;
};

void put(Writer &writer, const FragmentRelocation &relocation) {
  writer.put(relocation.offset);
  writer.put(relocation.high);
  writer.put(relocation.variable);
  writer.put(relocation.addend);
}

FragmentRelocation getRelocation(Reader &reader, const HookModule &module, size_t codeBytes) {
  FragmentRelocation relocation;
  relocation.offset = reader.raw<uint32_t>("a relocation's offset");
  relocation.high = reader.get("a relocation's half", true);
  relocation.variable = reader.raw<uint32_t>("a relocation's variable");
  relocation.addend = reader.raw<int64_t>("a relocation's addend");
  reader.expect(relocation.offset % 4 == 0 && uint64_t(relocation.offset) + 4 <= codeBytes, "a relocation's offset",
                relocation.offset, "a dword inside of", codeBytes);
  reader.expect(relocation.variable < module.variables().size() && module.variables()[relocation.variable].hasAddress(),
                "a relocation's variable", relocation.variable, "one in device memory, of", module.variables().size());
  reader.expect(relocation.addend == static_cast<int32_t>(relocation.addend), "a relocation's addend",
                relocation.addend, "a number of", "32 bits");
  return relocation;
}

} // namespace

std::string encode(const CompilerRequest &request) {
  Writer writer;
  writer.put(request.version);
  writer.put(request.origin);
  writer.bytes(request.bitcode);
  writer.put(request.hook);
  writer.put(request.predicate);
  writer.list(request.sources, [&](const Source &source) { put(writer, source); });
  writer.put(request.target);
  writer.put(request.waveSize);
  return writer.take();
}

Result<CompilerRequest> decodeRequest(std::string_view text) {
  Reader reader(text);
  CompilerRequest request;
  request.version = reader.text("the version");
  request.origin = reader.text("the origin");
  request.bitcode = reader.bytes<std::byte>("the bitcode");
  request.hook = reader.text("the hook");
  request.predicate = reader.text("the predicate");
  reader.list("the number of sources", request.sources, [&] { return getSource(reader); });
  request.target = reader.text("the target");
  request.waveSize = reader.raw<uint32_t>("the wave size");
  LUTHIER_TRY(reader.finish());
  return request;
}

std::string encode(const CompilerReply &reply) {
  Writer writer;
  writer.put(reply.outcome);
  writer.put(reply.text);
  writer.put(reply.seconds);
  return writer.take();
}

Result<CompilerReply> decodeReply(std::string_view text) {
  Reader reader(text);
  CompilerReply reply;
  reply.outcome = reader.get("the outcome", CompilerReply::Outcome::GaveUp);
  reply.text = reader.text("the answer");
  reply.seconds = reader.raw<double>("the time");
  LUTHIER_TRY(reader.finish());
  return reply;
}

std::string encode(const HookModule::Impl &module) {
  Writer writer;
  writer.list(module.hooks, [&](const Hook &hook) {
    writer.put(hook.name);
    writer.put(hook.symbol);
    writer.put(hook.kind);
    writer.list(hook.parameters, [&](const HookParameter &parameter) { put(writer, parameter); });
    put(writer, hook.result);
    writer.list(hook.hostTypes, [&](const std::string &type) { writer.put(type); });
  });
  writer.list(module.variables, [&](const Variable &variable) {
    writer.put(variable.name);
    writer.put(variable.symbol);
    writer.put(variable.hostType);
    writer.put(variable.storage);
    writer.put(variable.size);
    writer.put(variable.alignment);
    writer.bytes(variable.contents);
  });
  return writer.take();
}

Result<void> decodeContents(std::string_view text, HookModule::Impl &module) {
  Reader reader(text);
  module.hooks.clear();
  module.variables.clear();
  reader.list("the number of hooks", module.hooks, [&] { return getHook(reader); });
  reader.list("the number of variables", module.variables, [&] { return getVariable(reader); });
  reader.expect(!module.hooks.empty(), "there is no hook");
  reader.expect(module.variables.size() <= kMaxVariables, "the number of variables", module.variables.size(), "at most",
                kMaxVariables);
  return reader.finish();
}

std::string encode(const Fragment &fragment) {
  Writer writer;
  writer.put(fragment.kind);
  writer.put(fragment.frameBytes);
  writer.bytes(fragment.bytes);
  writer.list(fragment.inputs, [&](const Port &port) { put(writer, port); });
  writer.list(fragment.outputs, [&](const Port &port) { put(writer, port); });
  writer.list(fragment.relocations, [&](const FragmentRelocation &relocation) { put(writer, relocation); });
  return writer.take();
}

Result<Fragment> decodeFragment(std::string_view text, const HookModule &module, const Hook &hook,
                                const isa::Target &target) {
  Reader reader(text);
  Fragment fragment;
  fragment.hook = hook.name;
  fragment.kind = reader.get("the hook's kind", HookKind::Wave);
  reader.expect(fragment.kind == hook.kind, "the kind is not the hook's");
  fragment.frameBytes = reader.get("the frame's bytes", kMaxFrameBytes);
  fragment.bytes = reader.bytes<uint8_t>("the code");
  reader.expect(fragment.bytes.size() % 4 == 0, "the size of the code", fragment.bytes.size(), "a multiple of", 4);
  PortReader ports(reader, module, hook, target);
  ports.list("the number of inputs", fragment.inputs, true);
  ports.list("the number of outputs", fragment.outputs, false);
  reader.list("the number of relocations", fragment.relocations,
              [&] { return getRelocation(reader, module, fragment.bytes.size()); });
  reader.expect(std::ranges::count(fragment.inputs, Port::Kind::Frame, &Port::kind) == (fragment.frameBytes ? 1 : 0),
                "the frame has bytes and no port, or a port and no bytes");
  LUTHIER_TRY(reader.finish());
  return fragment;
}

} // namespace luthier::hook
