// Prints a program. Statements in which lanes do not meet have the same text on both sides, with macros for what
// differs; the others are printed for the host as a sequence of loops over lanes, under a mask of active ones.

#include "program.h"

#include <functional>

namespace luthier::vgpu::differential {
namespace {

std::string inputOffset(Type type) { return std::to_string(kVariableTypes.find(type) * kInputStride); }

std::string text(const Expr &e) {
  switch (e.kind) {
  case Expr::Variable:
    return "V(" + std::to_string(e.index) + ")";
  case Expr::Literal:
  case Expr::Text:
    return "(" + e.text + ")";
  case Expr::Operate:
    break;
  }
  std::string out;
  for (const char *c = operations()[e.index].text; *c; ++c)
    if (*c == '$')
      out += text(e.operands[static_cast<size_t>(*++c - '0')]);
    else
      out += *c;
  // Operators with operands of less than 32 bits promote; the row's type is what it says.
  return "((" + std::string(typeName(e.type)) + ")(" + out + "))";
}

class Printer {
public:
  Printer(const Program &program, bool host) : program_(program), host_(host) {}

  std::string kernel(const std::string &name) {
    const std::string threads = std::to_string(program_.threads);
    const auto used = usedVariables(program_);
    line("#undef NT");
    line("#undef WIDTH");
    line("#define WIDTH " + std::to_string(program_.width));
    line("#define NT " + threads);
    if (host_) {
      line("struct Lane_" + name + " {");
      for (uint32_t n = 0; n < used.size(); ++n)
        if (used[n])
          line(declaration(n) + ";");
      line("u32 p32[16]; u64 p64[8]; };");
    }
    line("KERNEL(" + name + ", NT) {");
    line("SHARED u64 lds[NT];");
    if (host_) {
      line("static Lane_" + name + " l[256]; bool m[256] = {}; for (u32 t = 0; t < NT; ++t) m[t] = true;");
      line("LANES(m) {");
    } else if (program_.usesPrivate) {
      line("u32 p32[16]; u64 p64[8];");
    }
    for (uint32_t n = 0; n < used.size(); ++n)
      if (used[n])
        line((host_ ? "V(" + std::to_string(n) + ")" : declaration(n)) + " = IN(" + typeOf(n) + ", " +
             inputOffset(program_.variables[n]) + ", GID * 7 + " + std::to_string(program_.start[n]) + ");");
    if (program_.usesPrivate)
      line("for (u32 i = 0; i < 16; ++i) P32(i) = GID * 77 + i; for (u32 i = 0; i < 8; ++i) P64(i) = GID + (u64)i * "
           "0x100000001;");
    if (host_)
      line("}");
    block(program_.body, "m");
    if (host_)
      line("LANES(m) {");
    for (uint32_t n = 0; n < used.size(); ++n)
      if (used[n])
        line("((" + typeOf(n) + " *)(out + " + std::to_string(n * kMaxThreads * 8) + "))[GID] = canon(V(" +
             std::to_string(n) + "));");
    if (host_)
      line("}");
    line("}");
    return std::move(out_);
  }

private:
  void line(const std::string &text) { out_ += text + "\n"; }
  std::string typeOf(uint32_t n) const { return std::string(typeName(program_.variables[n])); }
  std::string declaration(uint32_t n) const { return typeOf(n) + " v" + std::to_string(n); }

  void block(const std::vector<Stmt> &statements, const std::string &mask) {
    for (const Stmt &s : statements)
      if (s.synchronous())
        together(s, mask);
      else if (host_) {
        line("LANES(" + mask + ") {");
        alone(s);
        line("}");
      } else
        alone(s);
  }

  /// In which lanes go their own ways: the same text on both sides.
  void alone(const Stmt &s) {
    const std::string id = std::to_string(s.id);
    switch (s.kind) {
    case Stmt::If:
      line("if (" + text(s.e[0]) + ") {");
      for (const Stmt &inner : s.body)
        alone(inner);
      line("} else {");
      for (const Stmt &inner : s.other)
        alone(inner);
      line("}");
      return;
    case Stmt::Loop:
      line("for (u32 turn" + id + " = 0, turns" + id + " = " + text(s.e[0]) + " & " + std::to_string(s.parameter) +
           "; turn" + id + " < turns" + id + "; ++turn" + id + ") {");
      line("if (" + text(s.e[1]) + ") break;");
      for (const Stmt &inner : s.body)
        alone(inner);
      line("}");
      return;
    case Stmt::Switch: {
      line("switch (" + text(s.e[0]) + " & 3) {");
      uint32_t number = 0;
      for (const Stmt &inner : s.body) {
        line("case " + std::to_string(number) + ": {");
        alone(inner);
        line(number++ & 1 ? "} break;" : "} [[fallthrough]];");
      }
      line("default:; }");
      return;
    }
    case Stmt::Private:
      line((s.parameter ? "P64(" : "P32(") + text(s.e[0]) + ") = " + text(s.e[1]) + ";");
      return;
    case Stmt::Own:
      line("OWN(" + text(s.e[0]) + ") = " + text(s.e[1]) + ";");
      return;
    case Stmt::GlobalAtomic: {
      if (s.parameter >= globalAtomics().size()) {
        line("casMax(atom + ATOM_cas + (" + text(s.e[0]) + " & 63) * 4, " + text(s.e[1]) + ");");
        return;
      }
      const AtomicKind &kind = globalAtomics()[s.parameter];
      std::string value = kind.value;
      for (size_t at = value.find('$'); at != std::string::npos; at = value.find('$', at + 3))
        value.replace(at, 1, "val");
      line("{ const u32 val = " + text(s.e[1]) + "; ATOMIC(" + kind.operation + ", " + kind.type + ", " + text(s.e[0]) +
           ", " + value + "); }");
      return;
    }
    default:
      line("V(" + std::to_string(s.variable) + ") = " + text(s.e[0]) + ";");
    }
  }

  void perLane(const std::string &mask, const std::string &statement) {
    line((host_ ? "LANES(" + mask + ") { " : "{ ") + statement + " }");
  }
  void barrier() {
    if (!host_)
      line("BARRIER;");
  }

  /// In which lanes meet.
  void together(const Stmt &s, const std::string &mask) {
    const std::string id = std::to_string(s.id), variable = "V(" + std::to_string(s.variable) + ")";
    switch (s.kind) {
    case Stmt::If:
      if (!host_) {
        line("if (" + text(s.e[0]) + ") {");
        block(s.body, mask);
        line("} else {");
        block(s.other, mask);
        line("}");
        return;
      }
      line("{ bool a" + id + "[256] = {}, b" + id + "[256] = {};");
      perLane(mask, "(" + text(s.e[0]) + " ? a" + id + " : b" + id + ")[t] = true;");
      block(s.body, "a" + id);
      block(s.other, "b" + id);
      line("}");
      return;
    case Stmt::UniformLoop:
      line("for (u32 turn" + id + " = 0; turn" + id + " < " +
           (s.text.empty() ? std::to_string(s.parameter) : "arg % " + std::to_string(s.parameter + 1)) + "; ++turn" +
           id + ") {");
      block(s.body, mask);
      line("}");
      return;
    case Stmt::LdsExchange: {
      const std::string lds = "((" + typeOf(s.variable) + " *)lds)";
      perLane(mask, lds + "[(TID + " + std::to_string(s.parameter) + ") % NT] = " + text(s.e[0]) + ";");
      barrier();
      perLane(mask, variable + " = " + lds + "[" + text(s.e[1]) + " % NT];");
      barrier();
      return;
    }
    case Stmt::LdsAtomic:
      perLane(mask, "((u32 *)lds)[TID] = TID * 0x1234567;");
      barrier();
      perLane(mask, "LDS_ATOMIC(" + s.text + ", u32, " + text(s.e[0]) + " % NT, " + text(s.e[1]) + ");");
      barrier();
      perLane(mask, variable + " = ((u32 *)lds)[" + text(s.e[2]) + " % NT];");
      barrier();
      return;
    default:
      break;
    }
    // Exchanges.
    std::string arguments;
    if (host_) {
      line("{ u32 x" + id + "[3][256] = {};");
      for (size_t n = 0; n < s.e.size(); ++n) {
        perLane(mask, "x" + id + "[" + std::to_string(n) + "][t] = " + text(s.e[n]) + ";");
        arguments += ", x" + id + "[" + std::to_string(n) + "]";
      }
      if (!s.arguments.empty())
        arguments += ", " + s.arguments;
      std::string name = "host" + s.text;
      name[4] = static_cast<char>(name[4] - 'a' + 'A');
      perLane(mask, variable + " = (" + typeOf(s.variable) + ")" + name + "(" + mask + ", t" + arguments + ");");
      line("}");
      return;
    }
    for (const Expr &e : s.e)
      arguments += (arguments.empty() ? "" : ", ") + text(e);
    if (!s.arguments.empty())
      arguments += ", " + s.arguments;
    line(variable + " = (" + typeOf(s.variable) + ")X_" + s.text + "(" + arguments + ");");
  }

  const Program &program_;
  const bool host_;
  std::string out_;
};

void forEachExpr(const Expr &e, const std::function<void(const Expr &)> &visit) {
  visit(e);
  for (const Expr &operand : e.operands)
    forEachExpr(operand, visit);
}

void forEachStmt(const std::vector<Stmt> &statements, const std::function<void(const Stmt &)> &visit) {
  for (const Stmt &s : statements) {
    visit(s);
    forEachStmt(s.body, visit);
    forEachStmt(s.other, visit);
  }
}

} // namespace

bool Stmt::synchronous() const {
  if (kind >= UniformLoop)
    return true;
  for (const auto *statements : {&body, &other})
    for (const Stmt &s : *statements)
      if (s.synchronous())
        return true;
  return false;
}

std::vector<bool> usedVariables(const Program &program) {
  std::vector<bool> used(program.variables.size());
  forEachStmt(program.body, [&](const Stmt &s) {
    if (s.kind == Stmt::Assign || s.kind >= Stmt::LdsExchange)
      used[s.variable] = true;
    for (const Expr &e : s.e)
      forEachExpr(e, [&](const Expr &node) {
        if (node.kind == Expr::Variable)
          used[node.index] = true;
      });
  });
  return used;
}

uint32_t size(const Program &program) {
  uint32_t nodes = program.usesPrivate;
  forEachStmt(program.body, [&](const Stmt &s) {
    nodes += 2;
    for (const Expr &e : s.e)
      forEachExpr(e, [&](const Expr &node) { nodes += node.kind == Expr::Literal ? 1 : 2; });
  });
  return nodes;
}

std::string printDevice(const Program &program, const std::string &name) {
  return Printer(program, false).kernel(name);
}
std::string printHost(const Program &program, const std::string &name) { return Printer(program, true).kernel(name); }

std::string printPrelude() {
  std::string out = "#define OWN_BYTES " + std::to_string(kOutputBytes) + "\n";
  uint32_t offset = 0;
  for (const AtomicKind &kind : globalAtomics()) {
    out += std::string("#define ATOM_") + kind.operation + "_" + kind.type + " " + std::to_string(offset) + "\n";
    offset += kAtomicStride;
  }
  return out + "#define ATOM_cas " + std::to_string(offset) + "\n#include \"prelude.h\"\n";
}

} // namespace luthier::vgpu::differential
