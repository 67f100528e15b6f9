// Makes a failing program smaller: deletes statements, puts a statement's body in its place, replaces an expression by
// one of its operands or by zero, one group instead of two. Many candidates share a compilation; the smallest that
// still fails is taken, until none does.

#include "runner.h"

#include <algorithm>
#include <functional>

namespace luthier::vgpu::differential {
namespace {

/// Calls `visit` for every place in the program; places are numbered in the same order in a copy of it.
void eachExpr(Expr &e, const std::function<void(Expr &)> &visit) {
  visit(e);
  for (Expr &operand : e.operands)
    eachExpr(operand, visit);
}
void eachBlock(std::vector<Stmt> &block, const std::function<void(std::vector<Stmt> &)> &visit) {
  visit(block);
  for (Stmt &s : block) {
    eachBlock(s.body, visit);
    eachBlock(s.other, visit);
  }
}
void eachExpr(Program &program, const std::function<void(Expr &)> &visit) {
  eachBlock(program.body, [&](std::vector<Stmt> &block) {
    for (Stmt &s : block)
      for (Expr &e : s.e)
        eachExpr(e, visit);
  });
}

void findOfType(const Expr &e, Type type, std::vector<Expr> &found) {
  for (const Expr &operand : e.operands) {
    if (operand.type == type)
      found.push_back(operand);
    else
      findOfType(operand, type, found);
  }
}

std::string zero(Type type) { return "(" + std::string(typeName(type)) + ")0"; }

/// Loop counters are names that only exist in their loop.
bool usesCounter(const Stmt &s, const std::string &counter) {
  bool uses = false;
  Program one;
  one.body = {s};
  eachExpr(one, [&](Expr &e) { uses |= e.kind == Expr::Text && e.text == counter; });
  return uses;
}

std::vector<Program> candidates(const Program &program) {
  std::vector<Program> out;
  Program copy = program;
  const auto edit = [&](const std::function<void(Program &)> &change) {
    out.push_back(program);
    change(out.back());
  };

  if (program.groups > 1)
    edit([](Program &p) { p.groups = 1; });
  if (program.width != program.threads)
    edit([](Program &p) { p.width = p.threads; });
  // Halves of the body first, then single statements of any block.
  for (size_t part = program.body.size() / 2; part >= 2; part /= 2)
    for (size_t at = 0; at + part <= program.body.size(); at += part)
      edit([&](Program &p) {
        p.body.erase(p.body.begin() + static_cast<long>(at), p.body.begin() + static_cast<long>(at + part));
      });
  size_t block = 0;
  eachBlock(copy.body, [&](std::vector<Stmt> &statements) {
    for (size_t n = 0; n < statements.size(); ++n) {
      const auto change = [&](const std::function<void(std::vector<Stmt> &)> &how) {
        edit([&](Program &p) {
          size_t at = 0;
          eachBlock(p.body, [&](std::vector<Stmt> &here) {
            if (at++ == block)
              how(here);
          });
        });
      };
      change([&](std::vector<Stmt> &here) { here.erase(here.begin() + static_cast<long>(n)); });
      const Stmt &s = statements[n];
      for (const std::vector<Stmt> *inner : {&s.body, &s.other}) {
        if (inner->empty() || usesCounter(s, "turn" + std::to_string(s.id)))
          continue;
        const std::vector<Stmt> body = *inner;
        change([&](std::vector<Stmt> &here) {
          here.erase(here.begin() + static_cast<long>(n));
          here.insert(here.begin() + static_cast<long>(n), body.begin(), body.end());
        });
      }
    }
    ++block;
  });
  size_t place = 0;
  eachExpr(copy, [&](Expr &e) {
    const auto replace = [&](const Expr &with) {
      edit([&](Program &p) {
        size_t at = 0;
        bool done = false;
        std::vector<Expr *> places;
        eachExpr(p, [&](Expr &here) {
          if (at++ == place && !done)
            places.push_back(&here), done = true;
        });
        *places.front() = Expr(with);
      });
    };
    if (e.kind == Expr::Operate) {
      std::vector<Expr> found;
      findOfType(e, e.type, found);
      for (const Expr &inner : found)
        replace(inner);
    }
    if (e.kind != Expr::Literal) {
      Expr literal;
      literal.type = e.type;
      literal.text = zero(e.type);
      replace(literal);
    }
    ++place;
  });
  if (program.usesPrivate) {
    const std::string text = printDevice(program, "k");
    if (text.find(" P32(", text.find("P64(i) =") + 8) == std::string::npos)
      edit([](Program &p) { p.usesPrivate = false; });
  }
  return out;
}

} // namespace

Program shrink(Runner &runner, Program program, const RunnerOptions &options, uint32_t rounds) {
  constexpr size_t kBatch = 48;
  for (uint32_t round = 0; round < rounds;) {
    std::vector<Program> tries = candidates(program);
    std::sort(tries.begin(), tries.end(), [](const Program &a, const Program &b) { return size(a) < size(b); });
    bool smaller = false;
    for (size_t at = 0; at < tries.size() && round < rounds && !smaller; at += kBatch, ++round) {
      const std::vector<Program> batch(tries.begin() + static_cast<long>(at),
                                       tries.begin() + static_cast<long>(std::min(tries.size(), at + kBatch)));
      auto outcome = runner.run(batch, options, "shrink");
      if (!outcome)
        continue;
      for (size_t n = 0; n < batch.size() && !smaller; ++n)
        if (!outcome->differences[n].empty()) {
          program = batch[n];
          smaller = true;
        }
    }
    if (!smaller)
      break;
  }
  return program;
}

} // namespace luthier::vgpu::differential
