// Instructions per launch; and, where it is told to, trouble: for tests of what happens to an application whose tool
// throws, ends the process, or asks for what cannot be.
#include "launch_count_hooks.h"
#include <luthier/tool.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <unistd.h>

namespace {

class LaunchCount : public luthier::Tool {
public:
  LaunchCount() {
    in_ = option("in", "", "function to make trouble in");
    how_ = option("how", "throw", "throw, throw_number, abort, exit, _exit, raise, spin");
    after_ = number("after", 1, "which of its calls");
    only_ = option("only", "no", "yes: nothing but what cannot be is asked for") == "yes";
    ask_ = option("ask", "", "after_end, operand, register, address, edge, bad_replacement");
    at("constructor");
  }

  void start() override {
    report().columns({"kernel", "launch", "instructions"});
    at("start");
  }

  void instrument(luthier::Kernel &kernel, luthier::Site site) override {
    if (!only_) {
      for (const luthier::Function &function : kernel.functions())
        for (const luthier::Block &block : function.blocks())
          site.entry(block).call(hooks::count, block.size());
      site.exit(kernel).call(hooks::flush);
    }
    askForTooMuch(kernel, site);
    at("instrument");
  }

  luthier::Decision launch(luthier::Launch &) override {
    at("launch");
    return luthier::Decision::Instrumented;
  }

  void finished(const luthier::Launch &launch) override {
    at("finished");
    report().row(launch.kernel().name(), launch.number(), launch.read(hooks::instructions));
  }

  void exit() override { at("exit"); }

private:
  void askForTooMuch(const luthier::Kernel &kernel, luthier::Site site) const {
    const luthier::Instr &first = kernel.instrs().front(), &last = kernel.blocks().back().back();
    if (ask_ == "after_end")
      site.after(last).call(hooks::count, 1u);
    if (ask_ == "operand")
      site.before(first).call(hooks::look, luthier::arg::operand(99));
    if (ask_ == "register")
      site.before(first).call(hooks::look, luthier::arg::reg(luthier::vgpr(250)));
    if (ask_ == "address")
      site.before(last).call(hooks::look, luthier::Arg(luthier::arg::address()));
    if (ask_ == "edge")
      site.edge(kernel.blocks().back(), kernel.blocks().front()).call(hooks::count, 1u);
  }

  void at(const std::string &place) {
    if (in_ != place || ++calls_ != after_)
      return;
    if (how_ == "throw")
      throw std::runtime_error("trouble");
    if (how_ == "throw_number")
      throw 42;
    if (how_ == "abort")
      std::abort();
    if (how_ == "exit")
      std::exit(7);
    if (how_ == "_exit")
      _exit(7);
    if (how_ == "spin") {
      std::printf("spinning\n");
      std::fflush(stdout);
      for (volatile bool always = true; always;)
        ;
    }
    if (how_ == "raise")
      raise(SIGTERM);
  }

  std::string in_, how_, ask_;
  bool only_ = false;
  uint64_t after_ = 0, calls_ = 0;
};

} // namespace

LUTHIER_TOOL(LaunchCount)
