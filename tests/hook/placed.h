// Runs fragments on the virtual GPU as they are: variables get memory, registers stay as the compiler chose them.
#pragma once

#include "assembler.h"
#include "harness.h"
#include "hooks.h"

#include <cstring>
#include <map>

namespace luthier::hook::test {

class Placed {
public:
  Placed(const std::shared_ptr<const HookModule> &module, const FragmentRequest &request,
         std::string_view targetName = "gfx90a", unsigned waveSize = 64)
      : wave(targetName, waveSize), module_(module) {
    static FragmentCompiler compiler{{}}; // keeps what it has compiled
    auto made = compiler.compile(module, request, target(targetName), waveSize);
    EXPECT_TRUE(made) << made.error().message();
    if (made)
      fragment = *made;
  }

  /// Memory of a variable, with its initial contents.
  uint64_t variable(std::string_view name) {
    return memoryOf(static_cast<uint32_t>(module_->findVariable(name) - module_->variables().data()));
  }

  const Port &input(Port::Kind kind, unsigned index = 0, Part part = Part::Value) const {
    return find(fragment->inputs, kind, index, part);
  }
  const Port &output(Port::Kind kind, unsigned index = 0) const {
    return find(fragment->outputs, kind, index, Part::Value);
  }
  const Port &parameter(unsigned index, Part part = Part::Value) const {
    return input(Port::Kind::Parameter, index, part);
  }

  void set(const Port &port, uint64_t value) {
    for (unsigned n = 0; n < port.regs.count; ++n)
      if (isScalar(port.regs.first))
        wave.s(number(port.regs.first) + n) = static_cast<uint32_t>(value >> 32 * n);
      else
        wave.setVector(number(port.regs.first) - number(Reg::V0) + n, static_cast<uint32_t>(value >> 32 * n));
  }
  void setWords(const Port &port, std::span<const uint32_t> words) {
    for (unsigned n = 0; n < port.regs.count; ++n)
      set({.regs = {port.regs.first + n, 1}}, n < words.size() ? words[n] : 0);
  }
  void setLane(const Port &port, unsigned lane, uint64_t value) {
    for (unsigned n = 0; n < port.regs.count; ++n)
      wave.v(number(port.regs.first) - number(Reg::V0) + n, lane) = static_cast<uint32_t>(value >> 32 * n);
  }
  uint64_t get(const Port &port, unsigned lane = 0) {
    uint64_t value = 0;
    for (unsigned n = 0; n < port.regs.count; ++n)
      value |=
          static_cast<uint64_t>(isScalar(port.regs.first) ? wave.s(number(port.regs.first) + n)
                                                          : wave.v(number(port.regs.first) - number(Reg::V0) + n, lane))
          << 32 * n;
    return value;
  }

  testing::AssertionResult run() {
    std::vector<uint8_t> code = fragment->bytes;
    for (const FragmentRelocation &relocation : fragment->relocations) {
      const uint64_t address = memoryOf(relocation.variable) + static_cast<uint64_t>(relocation.addend);
      const auto half = static_cast<uint32_t>(relocation.high ? address >> 32 : address);
      std::memcpy(code.data() + relocation.offset, &half, sizeof half);
    }
    const auto end = vgpu::test::assemble(wave.target(), "s_endpgm\n", wave.lanes());
    if (!end)
      return testing::AssertionFailure() << end.error().message();
    code.insert(code.end(), end->begin(), end->end());
    const uint64_t exec = wave.exec();
    wave.strictWaits(true);
    auto result = wave.runCode(code);
    if (result)
      EXPECT_EQ(wave.exec(), exec) << "EXEC is not what it was";
    return result;
  }

  std::shared_ptr<const Fragment> fragment;
  vgpu::test::ExecTest wave;

private:
  static const Port &find(const std::vector<Port> &ports, Port::Kind kind, unsigned index, Part part) {
    const Port *port = findPort(ports, kind, index, part);
    EXPECT_TRUE(port) << "no such port";
    static const Port none;
    return port ? *port : none;
  }
  uint64_t memoryOf(uint32_t number) {
    const auto known = memory_.find(number);
    if (known != memory_.end())
      return known->second;
    const Variable &variable = module_->variables()[number];
    const uint64_t address = wave.buffer(variable.size);
    if (!variable.contents.empty())
      std::memcpy(reinterpret_cast<void *>(address), variable.contents.data(), variable.size);
    return memory_[number] = address;
  }

  std::shared_ptr<const HookModule> module_;
  std::map<uint32_t, uint64_t> memory_;
};

} // namespace luthier::hook::test
