#include "vgpu/wave/footprint.h"

#include "isa/format.h"
#include "vgpu/state/wave.h"
#include "vgpu/wave/gfx9_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>

namespace luthier::vgpu {

namespace {

bool contains(std::string_view name, std::string_view part) { return name.find(part) != std::string_view::npos; }

unsigned leadingNumber(std::string_view text) {
  unsigned number = 0;
  std::from_chars(text.begin(), text.end(), number);
  return number;
}

template <size_t Count> bool isOneOf(std::string_view name, const std::string_view (&names)[Count]) {
  return std::ranges::find(names, name) != std::end(names);
}

/// Registers that a value of this type takes.
unsigned wordsOf(Type type) { return type == Type::None ? 0 : is64(type) ? 2 : 1; }

/// Vector registers at an index into Wave::v.
RegRange vectors(unsigned index, unsigned count) {
  return {index >= kAccBase ? agpr(index - kAccBase) : vgpr(index), static_cast<uint16_t>(count)};
}
RegRange scalars(unsigned index, unsigned count) { return {sgpr(index), static_cast<uint16_t>(count)}; }

constexpr RegRange kExecMask{Reg::ExecLo, 2}, kVccMask{Reg::VccLo, 2};

/// Collects the footprint of one instruction.
class Collector {
public:
  Collector(const Row &row, const Gfx9Fields &fields) : fields_(fields), row_(row), name_(row.mnemonic) {}

  Footprint collect() {
    if (name_.starts_with("v_"))
      vectorAlu();
    else if (name_.starts_with("ds_"))
      lds();
    else if (name_.starts_with("buffer_") || name_.starts_with("tbuffer_"))
      buffer();
    else if (!name_.starts_with("s_"))
      flat();
    else if (isScalarMemory())
      scalarMemory();
    else
      scalarAlu();
    return footprint_;
  }

private:
  void reads(RegRange regs) { footprint_.reads.insert(regs); }
  void writes(RegRange regs) { footprint_.writes.insert(regs); }
  void readsScc() { footprint_.reads.insert(Reg::Scc); }
  void writesScc() { footprint_.writes.insert(Reg::Scc); }

  void source(unsigned n, unsigned words) {
    switch (fields_.srcKind[n]) {
    case SrcKind::Vgpr:
      return reads(vectors(fields_.src[n], words));
    case SrcKind::Scalar:
      return reads(scalars(fields_.src[n], words));
    case SrcKind::Special:
      if (fields_.src[n] == isa::src::kScc)
        readsScc();
      else if (fields_.src[n] == isa::src::kVccz)
        reads(kVccMask);
      else if (fields_.src[n] == isa::src::kExecz)
        reads(kExecMask);
      return;
    case SrcKind::Constant:
    case SrcKind::None:
      return;
    }
  }

  // --- Vector ALU -------------------------------------------------------------------------------------------------

  void vectorAlu() {
    if (row_.matrix != isa::MatrixFormat::None)
      return matrix();
    // All lanes, or those that other operands name.
    const bool everyLane = name_ == "v_readlane_b32" || name_ == "v_writelane_b32" || row_.dst == Type::None;
    if (!everyLane)
      reads(kExecMask);
    if (name_ == "v_accvgpr_mov_b32") { // the record has the numbers without the place of AccVGPRs
      reads(vectors(kAccBase + fields_.src[0], 1));
      return writes(vectors(kAccBase + fields_.dst, 1));
    }
    const bool quad = name_ == "v_mqsad_u32_u8"; // the only result and operand of 128 bits
    for (unsigned n = 0; n < 3; ++n)
      if (row_.src[n] != Type::None)
        source(n, quad && n == 2 ? 4 : wordsOf(row_.src[n]));
    if (row_.traits & kReadsVcc)
      reads(kVccMask);
    if (row_.traits & kWritesExec)
      writes(kExecMask);
    if (row_.dst == Type::Mask)
      return writes(scalars(fields_.sdst, 2));
    if (row_.traits & kScalarDst)
      return writes(scalars(fields_.dst, 1));
    if (row_.dst == Type::None)
      return;
    const RegRange result = vectors(fields_.dst, quad ? 4 : wordsOf(row_.dst));
    writes(result);
    if (keepsPart())
      reads(result);
    if (row_.traits & kWritesMask)
      writes(scalars(fields_.sdst, 2));
    if (name_ == "v_swap_b32") {
      reads(result);
      writes(vectors(fields_.src[0], 1));
    }
  }

  /// Whether a part of the result's register stays as it was.
  bool keepsPart() const {
    return fields_.keepsRest || (is16(row_.dst) && (fields_.highResult || (row_.traits & kKeepsHigh))) ||
           name_.starts_with("v_fma_mixlo") || name_.starts_with("v_fma_mixhi") || name_ == "v_writelane_b32";
  }

  /// The name has M, N and K: v_mfma_f32_32x32x8f16.
  void matrix() {
    const std::string_view shape = name_.substr(name_.find('_', name_.find("mfma") + 5) + 1);
    const unsigned m = leadingNumber(shape), k = leadingNumber(shape.substr(shape.rfind('x') + 1));
    using enum isa::MatrixFormat;
    const bool wide = row_.matrix == F64;
    const unsigned perLane = row_.matrix == F16 || row_.matrix == Bf16x4 || row_.matrix == I8 ? 4
                             : row_.matrix == Bf16                                            ? 2
                                                                                              : 1;
    const unsigned input = row_.matrix == F16 || row_.matrix == Bf16x4 || wide ? 2 : 1;
    const unsigned blocks = 64 * perLane / (m * k), result = m * m * blocks / 64 * (wide ? 2 : 1);
    source(0, input);
    source(1, input);
    source(2, result);
    writes(vectors(fields_.dst, result));
  }

  // --- Scalar ALU -------------------------------------------------------------------------------------------------

  void scalarAlu() {
    // The second source of this one is a number.
    for (unsigned n = 0; n < (name_ == "s_set_gpr_idx_on" ? 1u : 2u); ++n)
      if (row_.src[n] != Type::None)
        source(n, wordsOf(row_.src[n]));
    if (row_.traits & kReadsScc)
      readsScc();
    if (row_.traits & kWritesScc)
      writesScc();
    if (row_.dst != Type::None)
      writes(scalars(fields_.dst, wordsOf(row_.dst)));
    scalarByName();
  }

  /// What handlers do that have no function of their operands to speak for them (manual, chapter 12.1 to 12.5).
  void scalarByName() {
    const RegRange one = scalars(fields_.dst, 1), two = scalars(fields_.dst, 2);
    const RegRange named = contains(name_, "_b64") ? two : one;
    const auto modify = [&](RegRange regs) {
      reads(regs);
      writes(regs);
    };
    static constexpr std::string_view kSccReaders[] = {"s_addc_u32", "s_subb_u32", "s_cbranch_scc0", "s_cbranch_scc1"};
    static constexpr std::string_view kPairResults[] = {"s_getpc_b64", "s_swappc_b64", "s_call_b64"};
    static constexpr std::string_view kSingleResults[] = {"s_movk_i32", "s_getreg_b32"};
    if (isOneOf(name_, kSccReaders)) {
      readsScc();
    } else if (isOneOf(name_, kPairResults)) {
      writes(two);
    } else if (isOneOf(name_, kSingleResults)) {
      writes(one);
    } else if (name_.starts_with("s_cmov")) {
      readsScc();
      modify(named);
    } else if (name_.starts_with("s_bitset")) {
      modify(named);
    } else if (name_ == "s_addk_i32") {
      modify(one);
      writesScc();
    } else if (name_ == "s_mulk_i32") {
      modify(one);
    } else if (name_.starts_with("s_cmpk_")) {
      reads(one);
      writesScc();
    } else if (name_ == "s_setreg_b32") {
      reads(one);
    } else if (name_.ends_with("_saveexec_b64") || name_.ends_with("_wrexec_b64")) {
      reads(kExecMask);
      writes(kExecMask);
      writes(two);
      writesScc();
    } else if (name_.starts_with("s_movrel")) {
      reads({Reg::M0, 1});
      writes(named);
    } else if (name_.starts_with("s_set_gpr_idx_") && name_ != "s_set_gpr_idx_off") {
      modify({Reg::M0, 1}); // of which they replace some bits
    } else if (name_ == "s_cbranch_i_fork") {
      reads(two);
      modify(kExecMask);
    } else if (name_ == "s_cbranch_g_fork") {
      modify(kExecMask);
    } else if (name_ == "s_cbranch_join") {
      writes(kExecMask);
    } else if (name_ == "s_cbranch_vccz" || name_ == "s_cbranch_vccnz") {
      reads(kVccMask);
    } else if (name_ == "s_cbranch_execz" || name_ == "s_cbranch_execnz") {
      reads(kExecMask);
    } else if (name_.starts_with("s_sendmsg")) {
      reads({Reg::M0, 1});
    }
  }

  // --- Memory -----------------------------------------------------------------------------------------------------

  /// Registers of a datum, by how the manual names its size.
  unsigned dataWords() const {
    static constexpr std::pair<std::string_view, unsigned> kSizes[] = {
        {"dwordx16", 16}, {"dwordx8", 8}, {"dwordx4", 4}, {"dwordx3", 3}, {"dwordx2", 2}, {"_x2", 2},
        {"b128", 4},      {"b96", 3},     {"_b64", 2},    {"_u64", 2},    {"_i64", 2},    {"_f64", 2},
    };
    for (const auto &[suffix, words] : kSizes)
      if (contains(name_, suffix))
        return words;
    return 1;
  }
  bool isAtomic() const { return contains(name_, "_atomic_"); }
  /// Atomics take their data, and what they compare with behind it; with GLC they return the old value.
  void atomic(RegRange data, RegRange result) {
    if (contains(name_, "cmpswap"))
      data.count = static_cast<uint16_t>(data.count * 2);
    reads(data);
    if (fields_.glc)
      writes(result);
  }

  bool isScalarMemory() const {
    static constexpr std::string_view kStarts[] = {"s_load_",   "s_store_",  "s_buffer_", "s_scratch_",
                                                   "s_atomic_", "s_dcache_", "s_mem",     "s_atc_"};
    return std::ranges::any_of(kStarts, [&](std::string_view start) { return name_.starts_with(start); });
  }

  void scalarMemory() {
    const RegRange data = scalars(fields_.dst, dataWords());
    if (name_.starts_with("s_mem"))
      return writes(scalars(fields_.dst, 2));
    if (name_.starts_with("s_dcache_") && !contains(name_, "discard"))
      return;
    source(0, contains(name_, "buffer") ? 4 : 2);
    if (fields_.sdst != kNoScalar)
      reads(scalars(fields_.sdst, 1));
    if (isAtomic() || name_.starts_with("s_atomic_"))
      atomic(data, data);
    else if (contains(name_, "_load_"))
      writes(data);
    else if (contains(name_, "_store_"))
      reads(data);
  }

  void lds() {
    if (name_ == "ds_nop")
      return;
    reads(kExecMask);
    if (name_.starts_with("ds_gws_")) {
      reads({Reg::M0, 1});
      static constexpr std::string_view kValues[] = {"ds_gws_init", "ds_gws_barrier", "ds_gws_sema_br"};
      if (isOneOf(name_, kValues))
        reads(vectors(fields_.src[0] + (fields_.acc ? kAccBase : 0), 1));
      return;
    }
    const unsigned words = dataWords();
    const RegRange result = vectors(fields_.dst, words);
    const bool two = name_.starts_with("ds_read2") || name_.starts_with("ds_write2") || name_.starts_with("ds_wrxchg2");
    static constexpr std::string_view kByM0[] = {"ds_append", "ds_consume", "ds_read_addtid_b32",
                                                 "ds_write_addtid_b32"};
    if (isOneOf(name_, kByM0))
      reads({Reg::M0, 1});
    else
      source(0, 1);
    if (name_ == "ds_swizzle_b32" || name_ == "ds_append" || name_ == "ds_consume")
      return writes(result);
    if (name_.starts_with("ds_read"))
      return writes(vectors(fields_.dst, two ? 2 * words : words));
    source(1, words);
    if (name_.ends_with("permute_b32"))
      return writes(result);
    if (two || contains(name_, "cmpst") || contains(name_, "mskor") || contains(name_, "ds_wrap_"))
      source(2, words);
    if (contains(name_, "_rtn_"))
      writes(vectors(fields_.dst, two ? 2 * words : words));
  }

  void flat() {
    reads(kExecMask);
    const RegRange data = vectors(fields_.src[1], dataWords()), result = vectors(fields_.dst, dataWords());
    const bool bySgpr = fields_.sdst != kNoScalar;
    if (name_.starts_with("scratch_")) {
      reads(scalars(kFlatScratch, 2));
      if (bySgpr)
        reads(scalars(fields_.sdst, 1));
      else
        source(0, 1);
    } else if (name_.starts_with("global_") && bySgpr) {
      reads(scalars(fields_.sdst, 2));
      source(0, 1);
    } else {
      source(0, 2);
      if (name_.starts_with("flat_"))
        reads(scalars(kFlatScratch, 2));
    }
    if (fields_.lds)
      reads({Reg::M0, 1});
    else if (isAtomic())
      atomic(data, result);
    else if (contains(name_, "_load_"))
      writes(result);
    else
      reads(data);
  }

  void buffer() {
    static constexpr std::string_view kWithoutAddress[] = {"buffer_wbl2", "buffer_invl2", "buffer_wbinvl1",
                                                           "buffer_wbinvl1_vol"};
    if (isOneOf(name_, kWithoutAddress))
      return;
    reads(kExecMask);
    source(0, fields_.addresses);
    reads(scalars(fields_.sdst, 4));
    source(2, 1);
    unsigned words = dataWords();
    if (contains(name_, "_format_")) {
      const std::string_view components = name_.substr(name_.rfind('_') + 1);
      words = static_cast<unsigned>(components.size());
      if (contains(name_, "_d16_"))
        words = (words + 1) / 2;
    }
    const RegRange data = vectors(fields_.dst, words);
    if (fields_.lds || name_ == "buffer_store_lds_dword")
      reads({Reg::M0, 1});
    else if (isAtomic())
      atomic(data, data);
    else if (contains(name_, "_load_"))
      writes(data);
    else
      reads(data);
  }

  const Gfx9Fields &fields_;
  const Row &row_;
  const std::string_view name_;
  Footprint footprint_;
};

std::string listOf(RegSet set) {
  std::string text;
  for (Reg reg = set.firstFrom(Reg::S0); reg != Reg::End; reg = set.firstFrom(reg + 1))
    text += (text.empty() ? "" : " ") + toString(reg);
  return text;
}

} // namespace

std::optional<Footprint> footprintOf(const Row &row, std::span<const uint8_t> code, const isa::Target &target) {
  if (!isa::hasGfx9Fields(target))
    return std::nullopt;
  uint64_t bits = 0;
  memcpy(&bits, code.data(), std::min(code.size(), sizeof bits));
  return Collector(row, Gfx9Fields(isa::formatOf(target, static_cast<uint32_t>(bits)), bits, row, target)).collect();
}

std::string disagreement(const Footprint &manual, const RegSet &reads, const RegSet &writes) {
  std::string text;
  const auto say = [&](const char *what, const RegSet &registers) {
    if (!registers.empty())
      text += fmt::format("{}{} {}", text.empty() ? "" : "; ", what, listOf(registers));
  };
  say("reads", manual.reads - reads);
  say("writes", manual.writes - writes);
  say("does not write", writes - reads - manual.writes);
  return text;
}

} // namespace luthier::vgpu
