// Effective addresses that fragments compute, against those that the virtual GPU's trace reports for the same
// instruction and registers.

#include "placed.h"

#include "isa/decode.h"
#include "isa/target.h"
#include "vgpu/wave/operands.h"

#include "assembler.h"

#include <random>

namespace luthier::hook {
namespace {

using namespace test;
using vgpu::test::ExecTest;

struct Case {
  const char *assembly;
  bool resource = false; ///< s[8:11] hold a buffer resource
};
void PrintTo(const Case &c, std::ostream *out) { *out << c.assembly; }

Source sourceOf(const Instr &instr, const MemoryAccess &m) {
  const std::string_view name = instr.mnemonic();
  Source source;
  source.offset = m.offset != 0;
  switch (m.space) {
  case MemorySpace::Scalar:
    source.kind = SourceKind::ScalarAddress;
    source.saddr = !m.soffset.empty();
    source.resource = name.starts_with("s_buffer");
    source.unit64 = name.starts_with("s_scratch");
    break;
  case MemorySpace::Lds:
    source.kind = SourceKind::LdsAddress;
    source.vaddr = !m.vaddr.empty();
    source.saddr = m.vaddr.empty();
    source.byLane = m.vaddr.empty() && !m.atomic;
    break;
  case MemorySpace::Scratch:
    source.kind = SourceKind::ScratchAddress;
    source.vaddr = !m.vaddr.empty();
    source.saddr = !m.saddr.empty();
    break;
  case MemorySpace::Buffer:
    source.kind = SourceKind::BufferAddress;
    source.saddr = !m.soffset.empty() || m.soffsetValue != 0;
    source.idxen = m.idxen;
    source.offen = m.offen;
    source.typed = name.starts_with("tbuffer");
    break;
  default:
    source.kind = m.saddr.empty() ? SourceKind::FlatAddress : SourceKind::GlobalAddress;
  }
  return source;
}

class Address : public testing::TestWithParam<Case> {};

TEST_P(Address, AsTheVirtualGpuSays) {
  const auto module = load();
  ASSERT_TRUE(module);
  const auto code = vgpu::test::assemble(target(), GetParam().assembly);
  ASSERT_TRUE(code) << code.error().message();
  auto decoder = isa::Decoder::create(target(), 64);
  auto sequence = (*decoder)->decode(*code, 0);
  ASSERT_TRUE(sequence) << sequence.error().message();
  const Instr &instr = sequence->instrs()[0];
  const MemoryAccess access = *instr.memory();
  const Source source = sourceOf(instr, access);
  const bool wide = source.kind != SourceKind::LdsAddress && source.kind != SourceKind::ScratchAddress;
  const bool scalar = source.kind == SourceKind::ScalarAddress;
  Placed placed(module, {wide ? (scalar ? "same" : "same64") : "same32", {source}});
  ASSERT_TRUE(placed.fragment);

  std::mt19937 random(1);
  for (unsigned round = 0; round < 50; ++round) {
    ExecTest guest;
    for (unsigned n = 0; n < 16; ++n)
      guest.s(n) = static_cast<uint32_t>(random());
    for (unsigned n = 0; n < 4; ++n)
      for (unsigned lane = 0; lane < 64; ++lane)
        guest.v(n, lane) = static_cast<uint32_t>(random()) >> random() % 32;
    guest.m0(static_cast<uint32_t>(random()));
    for (unsigned n = 1; n < 8; n += 2)
      guest.s(n) &= 0x10'7fff; // pointers of a process, and of registered host memory: 1 << 52 more
    for (unsigned lane = 0; lane < 64; ++lane)
      if (source.kind == SourceKind::FlatAddress)
        guest.v(3, lane) = (guest.v(3, lane) & 0x10'7fff) | 1; // and none that an offset makes negative

    std::vector<uint64_t> expected;
    auto program = *code;
    program.insert(program.end(), {0x00, 0x00, 0x81, 0xbf});
    // Whether the access succeeds does not matter.
    (void)guest.runCode(program, [&](vgpu::Wave &w, const vgpu::Inst *inst) {
      if (expected.empty())
        expected = vgpu::addressesOf(w, vgpu::operandsOf(w, inst)).first;
    });
    ASSERT_FALSE(expected.empty());

    // Registers are inputs; no instruction here writes what it reads.
    for (const Port &port : placed.fragment->inputs) {
      RegRange from;
      switch (port.part) {
      case Part::Vaddr:
        from = access.vaddr;
        break;
      case Part::Saddr:
        from = access.saddr;
        break;
      case Part::Soffset:
        from = access.soffset;
        break;
      default:
        break;
      }
      if (port.part == Part::Offset)
        placed.set(port, static_cast<uint32_t>(access.offset));
      else if (port.part == Part::Soffset && from.empty())
        placed.set(port, static_cast<uint32_t>(access.soffsetValue));
      else if (port.part == Part::Saddr && from.empty()) // M0, of LDS
        placed.set(port, guest.m0());
      else
        for (unsigned n = 0; n < port.regs.count; ++n)
          if (isScalar(from.first))
            placed.wave.s(number(port.regs.first) + n) = guest.s(number(from.first) + n);
          else
            for (unsigned lane = 0; lane < 64; ++lane)
              placed.wave.v(number(port.regs.first) - number(Reg::V0) + n, lane) =
                  guest.v(number(from.first) - number(Reg::V0) + n, lane);
    }
    ASSERT_TRUE(placed.run());
    for (unsigned lane = 0; lane < (scalar ? 1 : 64); ++lane)
      ASSERT_EQ(placed.get(placed.output(Port::Kind::Result), lane), expected[lane]) << "lane " << lane;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Instructions, Address,
    testing::Values(Case{"flat_load_dword v20, v[2:3]"}, Case{"flat_load_dword v20, v[2:3] offset:4095"},
                    Case{"global_load_dwordx2 v[20:21], v[2:3], off offset:-4096"},
                    Case{"global_load_dword v20, v0, s[2:3]"}, Case{"global_store_dword v0, v1, s[2:3] offset:-8"},
                    Case{"ds_read_b32 v20, v0"}, Case{"ds_read_b32 v20, v0 offset:65535"},
                    Case{"ds_read_addtid_b32 v20 offset:16"}, Case{"ds_append v20 offset:8"},
                    Case{"scratch_load_dword v20, v0, off offset:-4"}, Case{"scratch_load_dword v20, off, s4"},
                    Case{"scratch_load_dword v20, off, s4 offset:100"}, Case{"buffer_load_dword v20, off, s[8:11], 0"},
                    Case{"buffer_load_dword v20, off, s[8:11], s4 offset:4095"},
                    Case{"buffer_load_dword v20, v0, s[8:11], s4 offen"},
                    Case{"buffer_load_dword v20, v0, s[8:11], 64 idxen offset:12"},
                    Case{"buffer_load_dwordx4 v[20:23], v[0:1], s[8:11], s4 idxen offen offset:3"},
                    Case{"buffer_atomic_add v20, v0, s[8:11], s4 idxen"},
                    Case{"tbuffer_load_format_x v20, v[0:1], s[8:11], s4 format:22 idxen offen offset:5"},
                    Case{"s_load_dword s20, s[2:3], 0x10"}, Case{"s_load_dword s20, s[2:3], s4"},
                    Case{"s_load_dword s20, s[2:3], s4 offset:0x7f"}, Case{"s_load_dword s20, s[2:3], -0x7"},
                    Case{"s_buffer_load_dword s20, s[8:11], s4"}, Case{"s_scratch_load_dword s20, s[2:3], s4"}),
    [](const auto &info) {
      std::string name = info.param.assembly;
      for (char &c : name)
        if (!isalnum(static_cast<unsigned char>(c)))
          c = '_';
      return name;
    });

} // namespace
} // namespace luthier::hook
