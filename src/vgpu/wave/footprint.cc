#include "vgpu/wave/footprint.h"

#include "isa/format.h"
#include "vgpu/state/wave.h"
#include "vgpu/wave/gfx9_fields.h"
#include "vgpu/wave/rdna_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>

namespace luthier::vgpu {

namespace {

unsigned leadingNumber(std::string_view text) {
  unsigned number = 0;
  std::from_chars(text.begin(), text.end(), number);
  return number;
}

template <size_t Count> bool isOneOf(std::string_view name, const std::string_view (&names)[Count]) {
  return std::ranges::find(names, name) != std::end(names);
}

/// Vector registers at an index into Wave::v.
RegRange vectors(unsigned index, unsigned count) {
  return {index >= kAccBase ? agpr(index - kAccBase) : vgpr(index), static_cast<uint16_t>(count)};
}
/// Pairs start at even numbers and larger tuples at multiples of four (the manuals' "SGPR alignment"): the low bits of
/// a field that says otherwise do not count.
RegRange scalars(unsigned index, unsigned count) {
  if (index != InstructionFields::kNull)
    index &= count < 2 ? ~0u : count == 2 ? ~1u : ~3u;
  return {sgpr(index), static_cast<uint16_t>(count)};
}

/// Collects the footprint of one instruction.
class Collector {
public:
  Collector(const Row &row, const InstructionFields &fields, const isa::Target &target, unsigned lanes)
      : fields_(fields), row_(row), name_(row.mnemonic), target_(target), maskWords_(static_cast<uint16_t>(lanes / 32)),
        execMask_{Reg::ExecLo, maskWords_}, vccMask_{Reg::VccLo, maskWords_} {}

  Footprint collect() {
    if (name_.starts_with("v_"))
      vectorAlu();
    else if (name_.starts_with("ds_") || name_.starts_with("lds_"))
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

  /// Of one half of a VOPD, which has no row of its own here.
  Footprint collectHalf(bool readsVcc) {
    reads(execMask_);
    for (unsigned n = 0; n < 3; ++n)
      source(n, 1);
    if (readsVcc)
      reads(vccMask_);
    writes(vectors(fields_.dst, 1));
    return footprint_;
  }

private:
  void reads(RegRange regs) {
    if (number(regs.first) != InstructionFields::kNull)
      footprint_.reads.insert(regs);
  }
  void writes(RegRange regs) {
    if (number(regs.first) != InstructionFields::kNull)
      footprint_.writes.insert(regs);
  }
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
        reads(vccMask_);
      else if (fields_.src[n] == isa::src::kExecz)
        reads(execMask_);
      return;
    case SrcKind::Constant:
    case SrcKind::None:
      return;
    }
  }

  /// Registers that a value of this type takes.
  unsigned wordsOf(Type type) const {
    return type == Type::None ? 0 : type == Type::Mask ? maskWords_ : is64(type) ? 2 : 1;
  }

  // --- Vector ALU -------------------------------------------------------------------------------------------------

  void vectorAlu() {
    if (name_.starts_with("v_wmma_") || name_.starts_with("v_swmmac_"))
      return wmma();
    if (contains(name_, "mfma"))
      return matrix();
    // All lanes, or those that other operands name.
    const bool everyLane = name_ == "v_readlane_b32" || name_ == "v_writelane_b32" || row_.dst == Type::None;
    if (!everyLane)
      reads(execMask_);
    if (name_ == "v_accvgpr_mov_b32") { // the record has the numbers without the place of AccVGPRs
      reads(vectors(kAccBase + fields_.src[0], 1));
      return writes(vectors(kAccBase + fields_.dst, 1));
    }
    const bool quad = name_ == "v_mqsad_u32_u8"; // the only result and operand of 128 bits
    for (unsigned n = 0; n < 3; ++n)
      if (row_.src[n] != Type::None)
        source(n, quad && n == 2 ? 4 : wordsOf(row_.src[n]));
    if (row_.traits & kReadsVcc)
      reads(vccMask_);
    if (row_.traits & kWritesExec)
      writes(execMask_);
    if (row_.dst == Type::Mask)
      return writes(scalars(fields_.sdst, maskWords_));
    if (row_.traits & kScalarDst)
      return writes(scalars(fields_.dst, 1));
    if (row_.dst == Type::None)
      return;
    const RegRange result = vectors(fields_.dst, quad ? 4 : wordsOf(row_.dst));
    writes(result);
    if (keepsPart())
      reads(result);
    if (row_.traits & kWritesMask)
      writes(scalars(fields_.sdst, maskWords_));
    if (name_ == "v_swap_b32") {
      reads(result);
      writes(vectors(fields_.src[0], 1));
    }
  }

  /// Whether a part of the result's register stays as it was.
  bool keepsPart() const {
    const bool half = fields_.highResult || (row_.traits & kKeepsHigh) || target_.keepsAllHalves;
    return fields_.keepsRest || (is16(row_.dst) && half) || contains(name_, "_mixlo_") || contains(name_, "_mixhi_") ||
           name_ == "v_writelane_b32";
  }

  /// The name has M, N and K: v_mfma_f32_32x32x8f16, v_smfmac_f32_16x16x32_f16.
  void matrix() {
    const bool sparse = name_.starts_with("v_smfmac");
    std::string_view shape = name_.substr(name_.find('_', name_.find("mfma") + (sparse ? 6 : 5)) + 1);
    shape = shape.substr(0, shape.find('_'));
    const unsigned m = leadingNumber(shape), k = leadingNumber(shape.substr(shape.rfind('x') + 1));
    const isa::MatrixFormat format = row_.matrix;
    using enum isa::MatrixFormat;
    const bool wide = format == F64;
    // Inputs are a register, or two where a later target has doubled what a lane holds; all of them fill the lanes.
    const unsigned bits = wide                                                  ? 64
                          : format == F32 || format == Xf32                     ? 32
                          : format == F16 || format == Bf16 || format == Bf16x4 ? 16
                                                                                : 8;
    const bool pair = wide || format == F16 || format == Bf16x4 || bits * m * k / (sparse ? 2 : 1) == 64 * 64;
    const unsigned input = pair ? 2 : 1;
    const unsigned blocks = sparse ? 1 : 64 * 32 * input / bits / (m * k);
    const unsigned result = m * m * blocks / 64 * (wide ? 2 : 1);
    source(0, input);
    source(1, sparse ? 2 * input : input);
    source(2, sparse ? 1 : result);
    if (sparse)
      reads(vectors(fields_.dst, result));
    writes(vectors(fields_.dst, result));
  }

  /// The name has the result's type, M, N and K, and the inputs' types: v_wmma_f32_16x16x16_f16. All of a matrix fills
  /// the wave's lanes, but for RDNA3: there both halves of 32 lanes have A and B, and a result of 16 bits is half a
  /// register.
  void wmma() {
    constexpr unsigned kSize = 16; // M and N
    const bool sparse = name_.starts_with("v_swmmac"),
               repeated = isa::fieldLayoutOf(target_) == isa::FieldLayout::Gfx11;
    const unsigned k = leadingNumber(name_.substr(name_.find("16x16x") + 6)), lanes = 32u * maskWords_;
    const unsigned bits = name_.ends_with("f16") ? 16 : name_.ends_with("8") ? 8 : 4;
    const auto input = [&](unsigned depth) {
      return std::max(1u, repeated ? depth * bits / 32 : kSize * depth * bits / 32 / lanes);
    };
    const bool half = contains(name_, "_f16_16x") || contains(name_, "_bf16_16x");
    const unsigned count = kSize * kSize / lanes / (half && !repeated ? 2 : 1);
    const RegRange result = vectors(fields_.dst, count);
    reads(execMask_);
    source(0, input(sparse ? k / 2 : k));
    source(1, input(k));
    source(2, sparse ? 1 : count);
    writes(result);
    if (sparse || (half && repeated))
      reads(result);
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
    // Floats: their rows have the function of one instruction in a handler that sets the host's modes.
    if (name_.starts_with("s_cmp_") || name_ == "s_barrier_leave")
      writesScc();
    if (name_.starts_with("s_cvt_"))
      writes(one);
    static constexpr std::string_view kSccReaders[] = {"s_addc_u32", "s_subb_u32", "s_cbranch_scc0", "s_cbranch_scc1"};
    static constexpr std::string_view kPairResults[] = {"s_getpc_b64", "s_swappc_b64", "s_call_b64"};
    static constexpr std::string_view kSingleResults[] = {"s_movk_i32", "s_getreg_b32"};
    if (isOneOf(name_, kSccReaders)) {
      readsScc();
    } else if (isOneOf(name_, kPairResults)) {
      writes(two);
    } else if (isOneOf(name_, kSingleResults)) {
      writes(one);
      if (name_ == "s_getreg_b32")
        flatScratchByNumber();
    } else if (name_.starts_with("s_fmac_") || (name_.starts_with("s_waitcnt_") && name_ != "s_waitcnt_depctr")) {
      reads(one);
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
    } else if (name_.starts_with("s_setreg_")) {
      if (name_ == "s_setreg_b32")
        reads(one);
      flatScratchByNumber();
    } else if (contains(name_, "_saveexec_b") || contains(name_, "_wrexec_b")) {
      modify({Reg::ExecLo, named.count}); // as much as the name says, whatever waves have
      writes(named);
      writesScc();
    } else if (name_.starts_with("s_subvector_loop_")) {
      modify({Reg::ExecLo, 2});
      modify(one);
    } else if (name_.starts_with("s_sendmsg_rtn_")) {
      writes(named);
    } else if (name_ == "s_get_barrier_state") {
      writes(one);
    } else if (name_ == "s_barrier_signal_isfirst") {
      writesScc();
    } else if (name_.starts_with("s_movrel")) {
      reads({Reg::M0, 1});
      writes(named);
    } else if (name_.starts_with("s_set_gpr_idx_") && name_ != "s_set_gpr_idx_off") {
      modify({Reg::M0, 1}); // of which they replace some bits
    } else if (name_ == "s_cbranch_i_fork") {
      reads(two);
      modify(execMask_);
    } else if (name_ == "s_cbranch_g_fork") {
      modify(execMask_);
    } else if (name_ == "s_cbranch_join") {
      writes(execMask_);
    } else if (name_ == "s_cbranch_vccz" || name_ == "s_cbranch_vccnz") {
      reads(vccMask_);
    } else if (name_ == "s_cbranch_execz" || name_ == "s_cbranch_execnz") {
      reads(execMask_);
    } else if (name_.starts_with("s_sendmsg")) {
      reads({Reg::M0, 1});
    }
  }

  /// FLAT_SCRATCH as a hardware register (RDNA manuals, "Hardware Registers").
  void flatScratchByNumber() {
    constexpr uint32_t kLow = 20, kHigh = 21, kWhole = 31 << 11;
    const uint32_t number = fields_.hardwareRegister & 0x3f;
    if (target_.scalarFlatScratch || (number != kLow && number != kHigh))
      return;
    const RegRange half = {number == kLow ? Reg::FlatScratchLo : Reg::FlatScratchHi, 1};
    const bool sets = name_.starts_with("s_setreg_");
    if (!sets || (fields_.hardwareRegister & ~0x3fu) != kWhole)
      reads(half);
    if (sets)
      writes(half);
  }

  // --- Memory -----------------------------------------------------------------------------------------------------

  /// Registers of a datum, by how the manual names its size.
  unsigned dataWords() const {
    if (name_.ends_with("_block"))
      return 32;
    if (contains(name_, "_load_tr_")) // waves of 64 lanes have half as much in each
      return (name_.ends_with("b128") ? 4u : 2u) / maskWords_;
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
    static constexpr std::string_view kStarts[] = {"s_load_",   "s_store_",    "s_buffer_",    "s_scratch_",
                                                   "s_atomic_", "s_dcache_",   "s_mem",        "s_atc_",
                                                   "s_gl1_",    "s_prefetch_", "s_get_waveid_"};
    return std::ranges::any_of(kStarts, [&](std::string_view start) { return name_.starts_with(start); });
  }

  void scalarMemory() {
    const RegRange data = scalars(fields_.dst, dataWords());
    if (name_.starts_with("s_mem"))
      return writes(scalars(fields_.dst, 2));
    if (name_.starts_with("s_get_waveid_"))
      return writes(data);
    if ((name_.starts_with("s_dcache_") && !contains(name_, "discard")) || name_ == "s_gl1_inv")
      return;
    if (!name_.ends_with("_pc_rel"))
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
    reads(execMask_);
    if (name_ == "lds_direct_load") {
      reads({Reg::M0, 1});
      return writes(vectors(fields_.dst, 1));
    }
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
    if (contains(name_, "_src2_"))
      return;
    if (name_.starts_with("ds_read"))
      return loads(vectors(fields_.dst, two ? 2 * words : words));
    source(1, words);
    if (name_.ends_with("permute_b32"))
      return writes(result);
    if (two || contains(name_, "cmpst") || contains(name_, "mskor") || contains(name_, "ds_wrap_"))
      source(2, words);
    if (contains(name_, "_rtn_"))
      writes(vectors(fields_.dst, two ? 2 * words : words));
  }

  /// FLAT_SCRATCH, where it is.
  RegRange flatScratch() const {
    return {target_.flatScratch == isa::FlatScratch::Sgprs || target_.scalarFlatScratch ? Reg::FlatScrLo
                                                                                        : Reg::FlatScratchLo,
            2};
  }

  void flat() {
    if (isOneOf(name_, {"global_inv", "global_wb", "global_wbinv"}))
      return;
    reads(execMask_);
    const RegRange data = vectors(fields_.src[1], dataWords()), result = vectors(fields_.dst, dataWords());
    const bool bySgpr = fields_.sdst != kNoScalar;
    if (name_.starts_with("scratch_")) {
      reads(flatScratch());
      if (bySgpr)
        reads(scalars(fields_.sdst, 1));
      if (fields_.byVgpr)
        source(0, 1);
    } else if (name_.ends_with("_addtid")) {
      if (bySgpr)
        reads(scalars(fields_.sdst, 2));
    } else if (name_.starts_with("global_") && bySgpr) {
      reads(scalars(fields_.sdst, 2));
      source(0, 1);
    } else {
      source(0, 2);
      if (name_.starts_with("flat_"))
        reads(flatScratch());
    }
    if (name_.ends_with("_block")) {
      reads({Reg::M0, 1});
      if (contains(name_, "_load_"))
        reads(result); // what M0 leaves out stays
    }
    if (fields_.lds)
      reads({Reg::M0, 1});
    else if (isAtomic())
      atomic(data, result);
    else if (contains(name_, "_load_"))
      loads(result);
    else
      reads(data);
  }

  /// What is loaded. Half a register is, where the other half stays.
  void loads(RegRange result) {
    writes(result);
    if (contains(name_, "_d16") && !contains(name_, "_format_") && target_.loadsKeepHalves)
      reads(result);
  }

  void buffer() {
    static constexpr std::string_view kWithoutAddress[] = {"buffer_wbl2",    "buffer_invl2",       "buffer_inv",
                                                           "buffer_wbinvl1", "buffer_wbinvl1_vol", "buffer_gl0_inv",
                                                           "buffer_gl1_inv"};
    if (isOneOf(name_, kWithoutAddress))
      return;
    reads(execMask_);
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
      loads(data);
    else
      reads(data);
  }

  const InstructionFields &fields_;
  const Row &row_;
  const std::string_view name_;
  const isa::Target &target_;
  const uint16_t maskWords_; ///< of a lane mask
  const RegRange execMask_, vccMask_;
  Footprint footprint_;
};

std::string listOf(RegSet set) {
  std::string text;
  for (Reg reg = set.firstFrom(Reg::S0); reg != Reg::End; reg = set.firstFrom(reg + 1))
    text += (text.empty() ? "" : " ") + toString(reg);
  return text;
}

} // namespace

std::optional<Footprint> footprintOf(const Row &row, std::span<const uint8_t> code, const isa::Target &target,
                                     unsigned lanes) {
  uint64_t bits = 0;
  memcpy(&bits, code.data(), std::min(code.size(), sizeof bits));
  const isa::Format format = isa::formatOf(target, static_cast<uint32_t>(bits));
  if (format == isa::Format::Vopd) {
    Footprint both;
    for (const bool second : {false, true}) {
      const RdnaFields half = RdnaFields::ofHalf(second, code, target);
      const Footprint one = Collector(row, half, target, lanes).collectHalf(half.readsVcc);
      both.reads |= one.reads;
      both.writes |= one.writes;
    }
    return both;
  }
  switch (isa::fieldLayoutOf(target)) {
  case isa::FieldLayout::None:
    return std::nullopt;
  case isa::FieldLayout::Gfx9:
    return Collector(row, Gfx9Fields(format, bits, row, target), target, lanes).collect();
  default:
    return Collector(row, RdnaFields(format, code, row, target), target, lanes).collect();
  }
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
