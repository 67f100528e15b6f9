// The decoder against the one that it replaces: every form of every instruction of gfx90a with every operand bit
// flipped, and all code of Debian's librocrand, field by field. What no handler reads is left out, and named here.

#include "isa/disassembler.h"
#include "isa/format.h"
#include "isa/opcode_universe.h"
#include "object/container.h"
#include "random_forms.h"
#include "vgpu/exec/row.h"
#include "vgpu/wave/decoder.h"
#include "vgpu/wave/old_decoder.h"
#include "vgpu/wave/wave.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <map>

namespace luthier::vgpu::test {
namespace {

using isa::field;
using isa::Format;

struct Comparison : testing::Test {
  const isa::Target &target = *isa::findTarget("gfx90a");
  Decoder now{target};
  OldDecoder old{target};
  size_t compared = 0;
  std::map<std::string, unsigned> seen;

  void differ(const char *what, std::span<const uint8_t> bytes, uint64_t a, uint64_t b) {
    const std::string text = now.text(bytes, 0);
    if (++seen[std::string(what) + " " + text.substr(0, text.find(' '))] <= 2)
      ADD_FAILURE() << what << ": " << text << ": old " << a << ", new " << b
                    << fmt::format(" {:02x}", fmt::join(bytes.first(8), ""));
  }

  void compare(std::span<const uint8_t> bytes) {
    Inst a{}, b{};
    old.decode(bytes, 0, a);
    now.decode(bytes, 0, b);
    ++compared;
    const auto check = [&](const char *what, uint64_t x, uint64_t y) {
      if (x != y)
        differ(what, bytes, x, y);
    };
    check("words", a.words, b.words);
    check("row", reinterpret_cast<uint64_t>(a.row), reinterpret_cast<uint64_t>(b.row));
    if (!a.row || !b.row)
      return;
    // LLVM disassembles these too, and calls them invalid. Of them, the old one let some write beyond the wave's scalar
    // registers, which the new one refuses.
    if (now.text(bytes, 0).find("/*Invalid") != std::string::npos)
      return;
    if (OldDecoder::implements(a) != Decoder::implements(b) && !(a.row->traits & kWritesMask && a.sdst >= 128))
      return differ("implements", bytes, OldDecoder::implements(a), Decoder::implements(b));
    if (!OldDecoder::implements(a))
      return;
    uint64_t bits = 0;
    memcpy(&bits, bytes.data(), std::min<size_t>(8, bytes.size()));
    const Format format = isa::formatOf(target, static_cast<uint32_t>(bits));
    const bool memory = format == Format::Smem || format == Format::Ds || format == Format::Flat ||
                        format == Format::Mubuf || format == Format::Mtbuf;
    const std::string_view name = a.row->mnemonic;
    // Nothing of these is read, wherever their bits lead: caches, clocks, nothing.
    if (name.starts_with("buffer_wb") || name.starts_with("buffer_inv") || name.starts_with("s_dcache") ||
        name.starts_with("s_mem") || name == "v_nop" || name == "v_clrexcp")
      return;
    // gfx9 has no null register, but LLVM does not mind; pairs begin at even numbers, of which LLVM makes sure; fields
    // that are no source cannot be one of graphics.
    const std::string text = now.text(bytes, 0);
    if (text.find("null") != text.npos || name == "s_getpc_b64")
      return;
    const bool pairs = text.find("s[") != text.npos || text.find("ttmp[") != text.npos;
    const bool quads = name.starts_with("s_buffer") || name.starts_with("s_atc") || name.ends_with("x4") ||
                       name.ends_with("x8") || name.ends_with("x16") || name.ends_with("cmpswap_x2");
    const auto even = [&](uint64_t reg) { return quads && memory ? reg & ~3ull : pairs ? reg & ~1ull : reg; };
    if (name == "s_set_gpr_idx_on" && a.src[1].reg >= 128)
      return;
    if (a.row->dst == Type::Mask && format == Format::Vop3 && a.sdst >= 128 && !Decoder::implements(b))
      return;
    check("threaded", a.threaded, b.threaded);
    if (a.threaded || (a.fn != a.row->handler) != (b.fn != b.row->handler))
      check("fn", reinterpret_cast<uint64_t>(a.fn), reinterpret_cast<uint64_t>(b.fn));
    const bool hasDst = a.row->dst != Type::Mask;
    if (name == "v_accvgpr_mov_b32") {
      check("dst", a.dst + kAccBase, b.dst);
      check("src", a.src[0].reg + kAccBase, b.src[0].reg);
      return;
    }
    if (hasDst && b.dst != a.dst && !nothingStored(name, format, b))
      check("dst", even(a.dst), even(b.dst));
    if ((a.row->traits & kWritesMask) || (memory && format != Format::Ds))
      check("sdst", even(a.sdst), even(b.sdst));
    if (name == "s_set_gpr_idx_on")
      check("modes", a.src[1].reg & 0xf, static_cast<uint32_t>(b.imm) & 0xf);
    else
      check("imm", static_cast<uint32_t>(a.imm), static_cast<uint32_t>(b.imm));
    check("omod", a.omod, b.omod);
    uint8_t flags = a.flags;
    if (memory)
      flags &= ~(16 | 64);
    if (name.starts_with("ds_gws"))
      flags &= ~kLds;
    uint8_t flags2 = b.flags;
    if (memory)
      flags2 &= ~kReturnsOld;
    check("flags", flags, flags2);
    if (name.find("atomic") != name.npos)
      check("returns", (a.flags & 16) != 0, (b.flags & kReturnsOld) != 0);
    for (unsigned n = 0; n < 3; ++n) {
      const bool used = b.srcKind[n] != SrcKind::None;
      if (format == Format::Sopk || name.starts_with("ds_gws") || (name == "s_set_gpr_idx_on" && n == 1))
        continue;
      if (!used) {
        if (memory ? false : a.row->src[n] != Type::None)
          differ("missing source", bytes, n, n);
        continue;
      }
      check("kind", static_cast<uint64_t>(a.srcKind[n]), static_cast<uint64_t>(b.srcKind[n]));
      check("mods", a.srcMods[n], b.srcMods[n]);
      if (a.srcKind[n] != b.srcKind[n])
        continue;
      if (a.srcKind[n] == SrcKind::Constant)
        check("constant", a.src[n].lanes[0] | uint64_t{a.src[n].lanes[64]} << 32,
              b.src[n].lanes[0] | uint64_t{b.src[n].lanes[64]} << 32);
      else
        check("src", a.srcKind[n] == SrcKind::Scalar ? even(a.src[n].reg) : a.src[n].reg,
              a.srcKind[n] == SrcKind::Scalar ? even(b.src[n].reg) : b.src[n].reg);
    }
    const uint32_t c = a.control;
    if (name == "s_setreg_imm32_b32") {
      check("literal", c, b.src[0].lanes[0]);
    } else if (a.flags & kSdwa) {
      if (format != Format::Vopc) {
        check("dst_sel", field(c, 8, 3), b.sdwa.dstSelect);
        check("dst_unused", field(c, 11, 2), b.sdwa.dstUnused);
      }
      check("sel0", field(c, 16, 3), b.sdwa.select0);
      check("sext0", field(c, 19, 1), b.sdwa.signExtend0);
      if (format != Format::Vop1) {
        check("sel1", field(c, 24, 3), b.sdwa.select1);
        check("sext1", field(c, 27, 1), b.sdwa.signExtend1);
      }
    } else if (a.flags & kDpp) {
      check("dpp", field(c, 8, 9), b.dpp.pattern);
      check("bound", field(c, 19, 1), b.dpp.boundControl);
      check("bank", field(c, 24, 4), b.dpp.bankMask);
      check("row", field(c, 28, 4), b.dpp.rowMask);
    } else if (format == Format::Mubuf || format == Format::Mtbuf) {
      check("offen", field(c, 12, 1), b.buffer.offen);
      check("idxen", field(c, 13, 1), b.buffer.idxen);
      if (format == Format::Mtbuf)
        check("format", field(c, 19, 7), b.buffer.format);
    } else if (format == Format::Vop3p && name.starts_with("v_mfma")) {
      check("mai", c, b.control);
    }
  }

  /// Instructions without a destination have bits where others have one.
  static bool nothingStored(std::string_view name, Format format, const Inst &inst) {
    if (name == "s_set_gpr_idx_idx" || name == "s_rfe_restore_b64" || name == "s_rfe_b64" || name == "s_setpc_b64" ||
        name == "s_setreg_imm32_b32" || name == "s_cbranch_g_fork" || name == "s_cbranch_join")
      return true;
    if ((format == Format::Mubuf || format == Format::Flat) && (inst.flags & kLds))
      return true;
    if (format == Format::Smem)
      return name.find("dcache") != name.npos || name.find("atc_probe") != name.npos;
    if (format == Format::Ds || format == Format::Flat)
      return name.find("load") == name.npos && name.find("read") == name.npos && name.find("rtn") == name.npos;
    if (format == Format::Mubuf)
      return name.find("wb") != name.npos || name.find("inv") != name.npos;
    return false;
  }
};

TEST_F(Comparison, AllForms) {
  auto universe = isa::opcodeUniverse(target);
  ASSERT_TRUE(universe);
  auto maker = InstructionMaker::create(target);
  ASSERT_TRUE(maker);
  for (const isa::OpcodeEntry &opcode : universe->opcodes)
    for (const isa::OpcodeForm &form : opcode.forms) {
      uint8_t bytes[16] = {};
      const auto one = [&](uint64_t bits) {
        memcpy(bytes, &bits, sizeof bits);
        compare(bytes);
      };
      one(form.bits);
      for (unsigned bit = 0; bit < 64; ++bit)
        one(form.bits ^ 1ull << bit);
      for (const Operandry kind : {Operandry::Apart, Operandry::Scalar, Operandry::Mixed})
        for (unsigned seed = 0; seed < 4; ++seed) {
          auto made = (*maker)->make(opcode, form, kind, seed);
          made.bytes.resize(16);
          compare(made.bytes);
          uint64_t bits;
          memcpy(&bits, made.bytes.data(), 8);
          for (unsigned bit = 0; bit < 64; ++bit)
            one(bits ^ 1ull << bit);
        }
    }
  printf("%zu instructions compared\n", compared);
}

TEST_F(Comparison, RocRand) {
  auto container = object::Container::open("/usr/lib/x86_64-linux-gnu/librocrand.so.1");
  ASSERT_TRUE(container);
  auto images = container->images();
  ASSERT_TRUE(images);
  double seconds[2] = {};
  std::vector<std::vector<uint8_t>> all;
  for (const auto &image : *images) {
    auto object = image.codeObject();
    ASSERT_TRUE(object);
    if (!object->targetId().starts_with("gfx90a"))
      continue;
    for (const auto &symbol : object->symbols()) {
      if (!symbol.function())
        continue;
      auto code = object->code(symbol);
      if (!code)
        continue;
      for (size_t at = 0; at + 4 <= code->size();) {
        std::vector<uint8_t> bytes(20);
        memcpy(bytes.data(), code->data() + at, std::min<size_t>(20, code->size() - at));
        Inst inst{};
        now.decode(bytes, 0, inst);
        compare(bytes);
        at += inst.words * 4;
        all.push_back(std::move(bytes));
      }
    }
  }
  for (unsigned round = 0; round < 6; ++round) {
    const auto start = std::chrono::steady_clock::now();
    Inst inst{};
    for (const auto &bytes : all)
      round % 2 ? now.decode(bytes, 0, inst) : old.decode(bytes, 0, inst);
    seconds[round % 2] += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  printf("%zu instructions compared; old %.3f s, new %.3f s, ratio %.3f\n", compared, seconds[0], seconds[1],
         seconds[1] / seconds[0]);
}

} // namespace
} // namespace luthier::vgpu::test
