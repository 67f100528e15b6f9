// Makes a random program from a seed. Choices are weighted towards what is seldom hit by ordinary code: exchanges in
// divergent code, partial waves, mixed widths, edge values as literals.

#include "program.h"

#include <cstdio>
#include <map>

namespace luthier::vgpu::differential {
namespace {

class Generator {
public:
  Generator(uint64_t seed, const Machine &machine) : machine_(machine), random_(seed) {
    program_.seed = seed;
    for (uint32_t n = 0; n < operations().size(); ++n)
      byResult_[operations()[n].signature[0]].push_back(n);
  }

  Program make() {
    static constexpr uint32_t kThreads[] = {64, 64, 64, 128, 256, 100, 37};
    program_.threads = kThreads[random_.below(std::size(kThreads))];
    program_.groups = 1 + random_.below(2);
    static constexpr uint32_t kWidths[] = {1, 4, 20, 32, 37, 64};
    const uint32_t width = kWidths[random_.below(std::size(kWidths))];
    program_.width = random_.chance(30) && program_.threads % width == 0 ? width : program_.threads;
    program_.argument = random_.below(1000);
    // Two variables of type u32, which statements of all kinds want, and others from a few types, so that they meet.
    std::string types = "uu";
    std::string some;
    for (int n = 0; n < 4; ++n)
      some += kVariableTypes[random_.below(kVariableTypes.size())];
    const uint32_t more = 3 + random_.below(7);
    for (uint32_t n = 0; n < more; ++n)
      types +=
          random_.chance(75) ? some[random_.below(some.size())] : kVariableTypes[random_.below(kVariableTypes.size())];
    for (const char type : types) {
      program_.variables.push_back(static_cast<Type>(type));
      program_.start.push_back(random_.below(256));
    }
    program_.usesPrivate = random_.chance(30);
    program_.body = block(5 + random_.below(9), 0, true);
    return std::move(program_);
  }

private:
  bool exists(const std::string &text) const {
    return program_.usesPrivate || (text.find("P32") == std::string::npos && text.find("P64") == std::string::npos);
  }

  std::string literal(Type type) {
    char text[80];
    static constexpr uint32_t kEdges[] = {0,      1,      2,          3,          7,          8,          15,   16,
                                          31,     32,     33,         63,         64,         0x7f,       0x80, 0xff,
                                          0x7fff, 0x8000, 0xffff,     0x10000,    0xffffff,   0x7fffffff, 100,  255,
                                          1000,   65535,  0x55555555, 0x80000000, 0xfffffffe, 0xffffffff};
    static constexpr const char *kFloats[] = {"0.0",   "-0.0",  "1.0",    "-1.0",   "0.5",        "2.0",
                                              "-2.0",  "4.0",   "-4.0",   "3.0",    "1.5",        "0.1",
                                              "-7.25", "100.0", "6.0e-5", "1234.5", "-0.15915494"};
    const uint32_t word =
        random_.chance(70) ? kEdges[random_.below(std::size(kEdges))] : static_cast<uint32_t>(random_.next());
    const char *real = kFloats[random_.below(std::size(kFloats))];
    switch (type) {
    case Bool:
      return random_.chance(50) ? "true" : "false";
    case U32:
      snprintf(text, sizeof text, "0x%xu", word);
      break;
    case U8:
    case U16:
    case I32:
      snprintf(text, sizeof text, "(%s)0x%xu", typeName(type).data(), word);
      break;
    case U64:
    case I64:
      snprintf(text, sizeof text, "(%s)0x%llxull", typeName(type).data(),
               static_cast<unsigned long long>(random_.chance(50) ? word
                                                                  : static_cast<uint64_t>(word) << random_.below(33)));
      break;
    case U16x2:
    case I16x2:
      snprintf(text, sizeof text, "bits<%s>(0x%xu)", typeName(type).data(), word);
      break;
    case F16:
    case F32:
    case F64:
      snprintf(text, sizeof text, "(%s)%s", typeName(type).data(), real);
      break;
    case F16x2:
    case F32x2:
      snprintf(text, sizeof text, "(%s)(%s)%s", typeName(type).data(), type == F16x2 ? "f16" : "f32", real);
      break;
    }
    return text;
  }

  Expr leaf(Type type) {
    Expr e;
    e.type = type;
    std::vector<uint32_t> candidates;
    for (uint32_t n = 0; n < program_.variables.size(); ++n)
      if (program_.variables[n] == type)
        candidates.push_back(n);
    if (!candidates.empty() && random_.chance(75)) {
      e.kind = Expr::Variable;
      e.index = candidates[random_.below(candidates.size())];
    } else if (type == U32 && random_.chance(50)) {
      e.kind = Expr::Text;
      static constexpr const char *kTexts[] = {"TID", "LANE", "WG", "arg"};
      e.text = loops_.empty() || random_.chance(50) ? kTexts[random_.below(4)] : loops_[random_.below(loops_.size())];
    } else {
      e.text = literal(type);
    }
    return e;
  }

  Expr expression(Type type, uint32_t depth) {
    if (depth == 0 || random_.chance(8))
      return leaf(type);
    const auto &rows = byResult_[type];
    Expr e;
    e.kind = Expr::Operate;
    e.type = type;
    do
      e.index = rows[random_.below(rows.size())];
    while (!exists(operations()[e.index].text));
    for (const char *operand = operations()[e.index].signature + 2; *operand; ++operand)
      e.operands.push_back(expression(static_cast<Type>(*operand), depth - 1));
    return e;
  }
  Expr expression(Type type) { return expression(type, 1 + random_.below(3)); }

  uint32_t variable() { return random_.below(program_.variables.size()); }
  uint32_t variable(Type type) {
    for (;;)
      if (const uint32_t n = variable(); program_.variables[n] == type)
        return n;
  }

  /// `level`: how deep in divergent code. `together`: all lanes of the workgroup come here.
  std::vector<Stmt> block(uint32_t count, uint32_t level, bool together) {
    std::vector<Stmt> out;
    for (uint32_t n = 0; n < count; ++n)
      out.push_back(statement(level, together));
    return out;
  }

  Stmt statement(uint32_t level, bool together) {
    Stmt s;
    s.id = ++ids_;
    const uint32_t pick = random_.below(100);
    if (pick < 8 && level < 3) {
      s.kind = Stmt::If;
      s.e = {expression(Bool)};
      s.body = block(1 + random_.below(3), level + 1, false);
      if (random_.chance(50))
        s.other = block(1 + random_.below(2), level + 1, false);
    } else if (pick < 13 && level < 2) {
      s.kind = Stmt::Loop;
      s.parameter = random_.chance(50) ? 3 : 7;
      s.e = {expression(U32), expression(Bool)};
      loop(s, level + 2, false);
    } else if (pick < 16 && level < 3) {
      s.kind = Stmt::Switch;
      s.e = {expression(U32)};
      noExchange_ += 1;
      s.body = block(2 + random_.below(3), level + 1, false);
      noExchange_ -= 1;
    } else if (pick < 22 && program_.usesPrivate) {
      s.kind = Stmt::Private;
      s.parameter = random_.below(2);
      s.e = {expression(U32), expression(s.parameter ? U64 : U32)};
    } else if (pick < 24) {
      s.kind = Stmt::Own;
      s.e = {expression(U32), expression(U8)};
    } else if (pick < 29) {
      s.kind = Stmt::GlobalAtomic;
      s.parameter = random_.below(globalAtomics().size() + 1);
      s.e = {expression(U32), expression(U32)};
    } else if (pick < 32 && together && level == 0 && loops_.empty()) {
      s.kind = Stmt::UniformLoop;
      s.parameter = 1 + random_.below(4);
      s.text = random_.chance(50) ? "arg" : "";
      loop(s, level, true);
    } else if (pick < 38 && together) {
      s.kind = Stmt::LdsExchange;
      s.variable = variable();
      s.parameter = random_.below(program_.threads);
      s.e = {expression(program_.variables[s.variable]), expression(U32)};
    } else if (pick < 41 && together) {
      s.kind = Stmt::LdsAtomic;
      static constexpr const char *kKinds[] = {"add", "and", "or", "xor", "min", "max"};
      s.text = kKinds[random_.below(6)];
      s.variable = variable(U32);
      s.e = {expression(U32), expression(U32), expression(U32)};
    } else if (pick < 55 && noExchange_ == 0) {
      exchange(s, level);
    } else {
      s.variable = variable();
      s.e = {expression(program_.variables[s.variable])};
    }
    return s;
  }

  void loop(Stmt &s, uint32_t level, bool together) {
    loops_.push_back("turn" + std::to_string(s.id));
    // Which lanes are still together in a loop that lanes leave one by one is for the compiler to say.
    noExchange_ += together ? 0 : 1;
    s.body = block(1 + random_.below(3), level, together);
    noExchange_ -= together ? 0 : 1;
    loops_.pop_back();
  }

  void exchange(Stmt &s, uint32_t level) {
    s.kind = Stmt::Cross;
    s.variable = variable(U32);
    char text[80];
    const uint32_t inLastWave = program_.threads % machine_.lanes ? program_.threads % machine_.lanes : machine_.lanes;
    switch (random_.below(level == 0 ? 7 : 6)) {
    case 0:
      s.text = "bperm";
      s.e = {expression(U32), expression(U32)};
      return;
    case 1:
      s.text = "perm"; // to different lanes: who wins otherwise is not worth a rule
      s.e = {expression(U32), expression(U32, 0)};
      s.e[1].kind = Expr::Text;
      snprintf(text, sizeof text, "(LANE * %uu + %uu)", random_.below(32) * 2 + 1, random_.below(64));
      s.e[1].text = text;
      return;
    case 2:
      s.text = "first";
      s.e = {expression(U32)};
      return;
    case 3:
      s.text = "swizzle";
      s.e = {expression(U32)};
      s.arguments = std::to_string(random_.chance(30) ? 0x8000 | random_.below(256) : random_.below(0x8000));
      return;
    case 4: {
      s.text = "dpp";
      s.e = {expression(U32), expression(U32)};
      static constexpr uint32_t kControls[] = {0x130, 0x134, 0x138, 0x13c, 0x140, 0x141, 0x142, 0x143};
      uint32_t control;
      switch (random_.below(4)) {
      case 0:
        control = random_.below(256);
        break;
      case 1:
        control = 0x100 + random_.below(3) * 16 + 1 + random_.below(15);
        break;
      case 2:
        control = kControls[random_.below(std::size(kControls))];
        if (!machine_.waveShifts() && control != 0x140)
          control = 0x141;
        break;
      default:
        control = 0x150 + random_.below(16);
        if (!machine_.rowShare())
          control &= 0xff;
        else if (machine_.rowXmask() && random_.chance(50))
          control += 0x10;
      }
      const bool all = random_.chance(60);
      snprintf(text, sizeof text, "%#x, %#x, %#x, %s", control, all ? 15 : random_.below(16),
               all ? 15 : random_.below(16), random_.chance(50) ? "true" : "false");
      s.arguments = text;
      return;
    }
    case 5:
      s.text = "ballot";
      s.e = {expression(Bool)};
      for (uint32_t n = 0; n < program_.variables.size(); ++n)
        if (program_.variables[n] == U64)
          s.variable = n;
      return;
    default:
      s.text = "readlane";
      s.e = {expression(U32)};
      s.arguments = std::to_string(random_.below(inLastWave));
    }
  }

  const Machine machine_;
  Random random_;
  Program program_;
  std::map<char, std::vector<uint32_t>> byResult_;
  std::vector<std::string> loops_;
  uint32_t ids_ = 0, noExchange_ = 0;
};

} // namespace

Program generate(uint64_t seed, const Machine &machine) { return Generator(seed, machine).make(); }

} // namespace luthier::vgpu::differential
