#include "cli/site_spec.h"

#include "cli/instr_class.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>

namespace luthier::cli {

using rewrite::Position;
namespace {
using What = SiteSpec::What;
} // namespace

const std::string_view kSiteSpecHelp =
    R"help(SPEC says where a hook goes and what it is given:

  POSITION WHAT [in [FUNCTION] [Ln]] [every N [together]] [when VARIABLE] [if HOOK(...)]: HOOK(ARGUMENT, ...) [-> RESULT]
  POSITION WHAT [in [FUNCTION] [Ln]]: assembly("LINE", ...) [changes REGISTER, ...]

POSITION       WHAT
  before       instructions; several kinds with commas between them:
  after          all                every instruction
  replace        global_store_*     by mnemonic, without the encoding's suffix; * and ? stand for anything
  remove         loads stores atomics memory smem vmem lds valu salu matrix branches calls barriers waits
                 0x1a40             the one at this address, as `luthier disasm` shows it
  block-entry  L3, an address, `loops`: the headers of all loops, or nothing: every block
  edge         L0->L3, or nothing: every edge; of all loops: loop-entries, loop-backs (to the header), loop-exits
  function-entry, function-exit     a function's name, or nothing: every device function that the kernel can reach
  kernel-entry, kernel-exit         nothing

every N        only in a wave's first visit of the place and every N-th from there on; `together`: of all of the places
when VARIABLE  only while this LUTHIER_PER_WAVE variable of the hooks' file is not zero
if HOOK(...)   only for the lanes for which this lane hook returns true; of wave hooks: only if it does

`remove` takes no hook. `after all` and the like leave out what ends a block. Blocks are numbered as `luthier disasm`
does; Ln alone is the kernel's own.

ARGUMENT       12, 0xff, -1; a register: s4, s[4:5], v3, a0, exec, vcc, scc, m0; op0, op1, ...: operands of the instruction;
               src0, src1, ...: operands that it only reads; result: what it has written (after);
               kernarg[2]: the kernel's third argument, kernarg[n]: the one called n, kernarg[16:4]: the 4 bytes
               at offset 16 of all;
               address, address2: of its memory access, and of its second one; width: bytes of it per lane; pc: the
               instruction's address in the file; callee: where a call through a register goes; block_size: instructions of
               the block; of the launch: workgroup_id_x (y, z), workitem_id_x (y, z), dispatch_ptr, queue_ptr, kernarg_ptr, dispatch_id
RESULT         what gets the value that the hook returns: a register, or an operand of the instruction
LINE           an instruction, placed as it is written. It may read all registers of the kernel, and write those that are
               not in use there, or that `changes` names

Names with other characters than letters, digits and :: are put in quotes: "my::count(unsigned int)"(1).

  --at 'before global_store_*: record(address, width, exec)'
  --at 'block-entry: count(block_size)' --at 'kernel-exit: flush()'
  --at 'before loads every 100 together: record(address)'
  --at 'after v_exp_f32 in "scale(float*)" L3: clamp(op0) -> op0'
  --at 'before s_endpgm: assembly("s_sleep 1", "v_add_u32 v9, 1, v9") changes v9')help";

namespace {

constexpr std::pair<std::string_view, Position> kPositions[] = {
    {"before", Position::Before},
    {"after", Position::After},
    {"replace", Position::Replace},
    {"remove", Position::Remove},
    {"block-entry", Position::BlockEntry},
    {"edge", Position::Edge},
    {"function-entry", Position::FunctionEntry},
    {"function-exit", Position::FunctionExit},
    {"kernel-entry", Position::KernelEntry},
    {"kernel-exit", Position::KernelExit},
};

constexpr std::pair<std::string_view, RegRange> kSpecialRegisters[] = {
    {"exec", {Reg::ExecLo, 2}},  {"exec_lo", {Reg::ExecLo, 1}}, {"exec_hi", {Reg::ExecHi, 1}}, {"vcc", {Reg::VccLo, 2}},
    {"vcc_lo", {Reg::VccLo, 1}}, {"vcc_hi", {Reg::VccHi, 1}},   {"scc", {Reg::Scc, 1}},        {"m0", {Reg::M0, 1}},
};

constexpr std::pair<std::string_view, What::OfLoop> kLoopWords[] = {
    {"loops", What::OfLoop::Header},
    {"loop-entries", What::OfLoop::Entry},
    {"loop-backs", What::OfLoop::Back},
    {"loop-exits", What::OfLoop::Exit},
};

template <class T> std::optional<T> numberOf(std::string_view text, int base = 10) {
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size() || text.empty())
    return {};
  return value;
}

/// "L3"
std::optional<uint32_t> labelOf(std::string_view word) {
  return word.starts_with('L') ? numberOf<uint32_t>(word.substr(1)) : std::nullopt;
}

/// "op2", "src1"
std::optional<unsigned> indexBehind(std::string_view word, std::string_view prefix) {
  return word.starts_with(prefix) ? numberOf<unsigned>(word.substr(prefix.size())) : std::nullopt;
}
std::optional<unsigned> operandOf(std::string_view word) { return indexBehind(word, "op"); }

/// "2", its number; "16:4", offset and size; or "n"
rewrite::Argument kernargOf(std::string_view text) {
  const size_t colon = text.find(':');
  const auto offset = numberOf<uint32_t>(text.substr(0, colon));
  const auto size = colon == text.npos ? std::nullopt : numberOf<uint32_t>(text.substr(colon + 1));
  if (offset && (size || colon == text.npos))
    return rewrite::Argument::kernarg(*offset | uint64_t{size.value_or(0)} << 32);
  return rewrite::Argument::kernarg(std::string(text));
}

/// s4, v[2:3], exec, ...; whether a target has it is for others to say, if only it has a number.
std::optional<RegRange> registersOf(std::string_view word) {
  for (const auto &[name, regs] : kSpecialRegisters)
    if (word == name)
      return regs;
  if (word.size() < 2)
    return {};
  const Reg file = word[0] == 'v' ? Reg::V0 : word[0] == 'a' ? Reg::A0 : Reg::S0;
  if (file == Reg::S0 && word[0] != 's')
    return {};
  const unsigned size = file == Reg::S0 ? number(Reg::VccLo) : 256;
  std::optional<unsigned> first, last;
  std::string_view rest = word.substr(1);
  if (rest.starts_with('[') && rest.ends_with(']')) {
    rest = rest.substr(1, rest.size() - 2);
    const size_t colon = rest.find(':');
    if (colon == rest.npos)
      return {};
    first = numberOf<unsigned>(rest.substr(0, colon));
    last = numberOf<unsigned>(rest.substr(colon + 1));
  } else
    first = last = numberOf<unsigned>(rest);
  if (!first || !last || *last < *first || *last >= size)
    return {};
  return RegRange{file + *first, static_cast<uint16_t>(*last - *first + 1)};
}

std::optional<uint64_t> constantOf(std::string_view word) {
  const bool negative = word.starts_with('-');
  if (negative)
    word.remove_prefix(1);
  const auto value = word.starts_with("0x") ? numberOf<uint64_t>(word.substr(2), 16) : numberOf<uint64_t>(word);
  if (!value)
    return {};
  return negative ? -*value : *value;
}

struct Token {
  enum class Kind { Word, Quoted, Comma, Colon, Open, Close, Arrow, End } kind = Kind::End;
  std::string_view text;
  size_t column = 0;
};

class Parser {
public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<SiteSpec> parse() {
    LUTHIER_TRY(next());
    spec_.text = text_;
    LUTHIER_TRY(position());
    LUTHIER_TRY(places());
    if (at("in"))
      LUTHIER_TRY(scope());
    LUTHIER_TRY(sampling());
    LUTHIER_TRY(hook());
    if (token_.kind != Token::Kind::End)
      return error(fmt::format("'{}' is not expected here", token_.text));
    return std::move(spec_);
  }

private:
  Error error(std::string_view message) const { return errorAt(text_, token_.column, message); }
  bool at(std::string_view word) const { return token_.kind == Token::Kind::Word && token_.text == word; }

  static bool isWordChar(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || std::string_view("_*?.$+").find(c) != std::string_view::npos;
  }

  Result<void> next() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])))
      ++at_;
    const size_t begin = at_;
    token_ = {Token::Kind::End, {}, begin};
    if (at_ == text_.size())
      return {};
    const auto take = [&](Token::Kind kind, size_t size) {
      at_ = begin + size;
      token_ = {kind, text_.substr(begin, size), begin};
    };
    const std::string_view rest = text_.substr(begin);
    if (rest.starts_with("->"))
      take(Token::Kind::Arrow, 2);
    else if (rest[0] == ',')
      take(Token::Kind::Comma, 1);
    else if (rest[0] == '(')
      take(Token::Kind::Open, 1);
    else if (rest[0] == ')')
      take(Token::Kind::Close, 1);
    else if (rest[0] == ':')
      take(Token::Kind::Colon, 1);
    else if (rest[0] == '"') {
      const size_t end = rest.find('"', 1);
      if (end == rest.npos)
        return error("the quotes are not closed");
      take(Token::Kind::Quoted, end + 1);
      token_.text = rest.substr(1, end - 1);
    } else {
      size_t size = 0;
      while (size < rest.size()) {
        const std::string_view here = rest.substr(size);
        if (isWordChar(here[0]) || (here[0] == '-' && !here.starts_with("->")))
          ++size;
        else if (here.starts_with("::"))
          size += 2;
        else if (here[0] == '[') {
          const size_t end = here.find(']');
          if (end == here.npos)
            return error("']' is missing");
          size += end + 1;
        } else
          break;
      }
      if (!size)
        return error(fmt::format("'{}' has no meaning here", rest[0]));
      take(Token::Kind::Word, size);
    }
    return {};
  }

  Result<void> position() {
    const auto *found = std::ranges::find(kPositions, token_.text, [](const auto &p) { return p.first; });
    if (token_.kind != Token::Kind::Word || found == std::end(kPositions)) {
      std::vector<std::string_view> names;
      for (const auto &p : kPositions)
        names.push_back(p.first);
      return error(fmt::format("a position must come first: {}", fmt::join(names, ", ")));
    }
    spec_.position = found->second;
    return next();
  }

  bool ofInstructions() const { return spec_.position <= Position::Remove; }

  /// What is instrumented, up to `in`, the colon or the end.
  Result<void> places() {
    const bool none = token_.kind == Token::Kind::Colon || token_.kind == Token::Kind::End || at("in") || at("every") ||
                      at("when") || at("if");
    if (spec_.position == Position::KernelEntry || spec_.position == Position::KernelExit) {
      if (!none)
        return error("a kernel's entry and exit take no selection: expected ':'");
    } else if (none && ofInstructions())
      return error("which instructions? An address, a mnemonic, a class, or `all`");
    if (none) {
      spec_.what.push_back({});
      return {};
    }
    while (true) {
      LUTHIER_TRY(place());
      if (token_.kind != Token::Kind::Comma)
        return {};
      LUTHIER_TRY(next());
    }
  }

  Result<void> place() {
    if (token_.kind != Token::Kind::Word && token_.kind != Token::Kind::Quoted)
      return error(fmt::format("'{}' cannot be instrumented", token_.text));
    const std::string_view word = token_.text;
    What what;
    if (word == "all") {
    } else if (spec_.position == Position::FunctionEntry || spec_.position == Position::FunctionExit) {
      what.kind = What::Kind::Function;
      what.name = word;
    } else if (word.starts_with("0x")) {
      const auto address = numberOf<uint64_t>(word.substr(2), 16);
      if (!address || spec_.position == Position::Edge)
        return error(address ? "an edge is written L0->L3" : "no address: it is written 0x1a40");
      what.kind = What::Kind::Address;
      what.address = *address;
    } else if (const auto label = labelOf(word); label && !ofInstructions()) {
      what.kind = What::Kind::Block;
      what.block = *label;
      if (spec_.position == Position::Edge) {
        what.kind = What::Kind::Edge;
        LUTHIER_TRY(next());
        if (token_.kind != Token::Kind::Arrow)
          return error("an edge is written L0->L3");
        LUTHIER_TRY(next());
        const auto to = labelOf(token_.text);
        if (!to)
          return error("an edge is written L0->L3");
        what.to = *to;
      }
    } else if (const auto *found = std::ranges::find(kLoopWords, word, [](const auto &w) { return w.first; });
               found != std::end(kLoopWords) &&
               spec_.position == (found->second == What::OfLoop::Header ? Position::BlockEntry : Position::Edge)) {
      what.kind = What::Kind::Loops;
      what.ofLoop = found->second;
    } else if (!ofInstructions())
      return error(spec_.position == Position::Edge
                       ? "an edge is written L0->L3; of loops there are loop-entries, loop-backs, loop-exits"
                       : "a block is written L3; `loops` are the headers of loops");
    else if (isInstrClass(word)) {
      what.kind = What::Kind::Class;
      what.name = word;
    } else if (labelOf(word))
      return error(fmt::format("to select the instructions of a block, write: all in {}", word));
    else if (word.find_first_of("_*?") != word.npos) {
      what.kind = What::Kind::Pattern;
      what.name = word;
    } else
      return error(
          fmt::format("'{}' is not a class of instructions; expected one of {}, a mnemonic, or an address (0x1a40)",
                      word, fmt::join(instrClassNames(), ", ")));
    spec_.what.push_back(std::move(what));
    return next();
  }

  Result<void> scope() {
    LUTHIER_TRY(next());
    const auto isLabel = [&] { return token_.kind == Token::Kind::Word && labelOf(token_.text).has_value(); };
    const size_t column = token_.column;
    if (spec_.position >= Position::FunctionEntry)
      return errorAt(text_, column, "`in` is for instructions, blocks and edges");
    if ((token_.kind == Token::Kind::Word || token_.kind == Token::Kind::Quoted) && !isLabel()) {
      spec_.function = token_.text;
      LUTHIER_TRY(next());
    }
    if (isLabel()) {
      if (!ofInstructions())
        return error("blocks come before `in`");
      spec_.block = labelOf(token_.text);
      LUTHIER_TRY(next());
    }
    if (spec_.function.empty() && !spec_.block)
      return errorAt(text_, column, "expected a function or a block after `in`");
    return {};
  }

  Result<void> sampling() {
    if ((at("every") || at("when") || at("if")) && spec_.position == Position::Remove)
      return error("an instruction that is removed is never executed");
    if (at("every")) {
      LUTHIER_TRY(next());
      const auto every = numberOf<uint32_t>(token_.text);
      if (!every || !*every)
        return error("expected a number, 1 or more, after `every`");
      spec_.sampling.every = *every;
      LUTHIER_TRY(next());
      if (at("together")) {
        spec_.sampling.counter = 0;
        LUTHIER_TRY(next());
      }
    }
    if (at("when")) {
      LUTHIER_TRY(next());
      if (token_.kind != Token::Kind::Word && token_.kind != Token::Kind::Quoted)
        return error("expected a variable after `when`");
      spec_.sampling.when = token_.text;
      LUTHIER_TRY(next());
    }
    if (at("if")) {
      LUTHIER_TRY(next());
      LUTHIER_TRY(call(spec_.predicate, spec_.predicateColumn, spec_.predicateArguments));
    }
    return {};
  }

  /// A hook's name and arguments.
  Result<void> call(std::string &name, size_t &column, std::vector<SiteSpec::Argument> &arguments) {
    if (token_.kind != Token::Kind::Word && token_.kind != Token::Kind::Quoted)
      return error("the hook's name is missing");
    name = token_.text;
    column = token_.column;
    LUTHIER_TRY(next());
    if (token_.kind != Token::Kind::Open)
      return error("'(' is missing");
    LUTHIER_TRY(next());
    while (token_.kind != Token::Kind::Close) {
      LUTHIER_TRY(argument(arguments));
      if (token_.kind == Token::Kind::Close)
        break;
      if (token_.kind != Token::Kind::Comma)
        return error("',' or ')' is missing");
      LUTHIER_TRY(next());
      if (token_.kind == Token::Kind::Close)
        return error("an argument is missing");
    }
    return next();
  }

  Result<void> hook() {
    if (token_.kind == Token::Kind::End) {
      if (spec_.position == Position::Remove)
        return {};
      return error("': HOOK(...)' is missing");
    }
    if (token_.kind != Token::Kind::Colon)
      return error(fmt::format("':' is expected before '{}'", token_.text));
    if (spec_.position == Position::Remove)
      return error("`remove` takes no hook; `replace` does");
    LUTHIER_TRY(next());
    if (at("assembly"))
      return assembly();
    LUTHIER_TRY(call(spec_.hook, spec_.hookColumn, spec_.arguments));
    if (token_.kind != Token::Kind::Arrow)
      return {};
    LUTHIER_TRY(next());
    if (const auto operand = operandOf(token_.text); operand && ofInstructions())
      spec_.resultOperand = operand;
    else if (const auto regs = registersOf(token_.text); regs && token_.kind == Token::Kind::Word)
      spec_.result = *regs;
    else
      return error("a register or an operand (op0) gets the result");
    return next();
  }

  /// Lines in quotes, and the registers that they may change.
  Result<void> assembly() {
    if (spec_.sampling.any() || !spec_.predicate.empty())
      return error("assembly runs in every visit: `every`, `when` and `if` are for hooks");
    LUTHIER_TRY(next());
    if (token_.kind != Token::Kind::Open)
      return error("'(' is missing");
    spec_.assembly.emplace();
    do {
      LUTHIER_TRY(next());
      if (token_.kind != Token::Kind::Quoted)
        return error("a line of assembly is missing: \"s_nop 0\"");
      spec_.assembly->text += fmt::format("{}{}", spec_.assembly->text.empty() ? "" : "\n", token_.text);
      LUTHIER_TRY(next());
    } while (token_.kind == Token::Kind::Comma);
    if (token_.kind != Token::Kind::Close)
      return error("',' or ')' is missing");
    LUTHIER_TRY(next());
    if (!at("changes"))
      return {};
    do {
      LUTHIER_TRY(next());
      const auto regs = registersOf(token_.text);
      if (token_.kind != Token::Kind::Word || !regs)
        return error("expected a register after `changes`: s4, s[4:5], v3, a0, exec, vcc, scc, m0");
      spec_.assembly->changes.insert(*regs);
      LUTHIER_TRY(next());
    } while (token_.kind == Token::Kind::Comma);
    return {};
  }

  Result<void> argument(std::vector<SiteSpec::Argument> &arguments) {
    using rewrite::Argument;
    const std::string_view word = token_.text;
    SiteSpec::Argument argument;
    const auto *launch = std::ranges::find(hook::kLaunchValueNames, word);
    if (token_.kind != Token::Kind::Word)
      return error("an argument is missing");
    if (const auto value = constantOf(word))
      argument.argument = Argument::constant(*value);
    else if (const auto regs = registersOf(word))
      argument.argument = Argument::reg(*regs);
    else if (const auto operand = operandOf(word))
      argument.argument = Argument::operand(*operand);
    else if (word == "address" || word == "address2")
      argument.argument = Argument::address(word == "address2");
    else if (word == "width")
      argument.argument = Argument::width();
    else if (word == "pc")
      argument.argument = Argument::pc();
    else if (word == "result")
      argument.argument = Argument::instrResult();
    else if (const auto source = indexBehind(word, "src"))
      argument.argument = Argument::source(*source);
    else if (word.starts_with("kernarg[") && word.ends_with("]"))
      argument.argument = kernargOf(word.substr(8, word.size() - 9));
    else if (word == "callee")
      argument.argument = Argument::callee();
    else if (word == "block_size")
      argument.blockSize = true;
    else if (launch != std::end(hook::kLaunchValueNames))
      argument.argument =
          Argument::launchValue(static_cast<hook::LaunchValue>(launch - std::begin(hook::kLaunchValueNames)));
    else
      return error(fmt::format(
          "'{}' is not an argument; expected a number, a register (s4, s[4:5], v3, exec, vcc, scc, m0), op0, src0, "
          "result, address, width, pc, callee, kernarg[name], block_size, or one of {}",
          word, fmt::join(hook::kLaunchValueNames, ", ")));
    arguments.push_back(argument);
    return next();
  }

  std::string_view text_;
  size_t at_ = 0;
  Token token_;
  SiteSpec spec_;
};

} // namespace

Error errorAt(std::string_view text, size_t column, std::string_view message) {
  return makeError("--at, column {}: {}\n  {}\n  {:>{}}", column + 1, message, text, '^', column + 1);
}

Result<SiteSpec> parseSiteSpec(std::string_view text) { return Parser(text).parse(); }

} // namespace luthier::cli
