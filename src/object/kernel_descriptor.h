// The kernel descriptor: 64 bytes that tell the packet processor how to start a kernel (LLVM's AMDGPUUsage, "Kernel
// Descriptor").
//
// It is kept as the words it consists of, so that reading and writing are exact inverses and reserved bits survive;
// what the words mean is in accessors, each with its setter where a rewriter needs one. Counts of registers depend on
// the target, whose row is passed in. ROCr's built-in blit kernels have the older amd_kernel_code_t in its place, which
// keeps the words that start a wave at the same offsets.
#pragma once

#include "isa/target.h"
#include "object/bytes.h"
#include "support/result.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace luthier::object {

/// Some bits of a word.
template <class Word> struct BitField {
  uint8_t shift, width;

  constexpr Word mask() const { return static_cast<Word>(((uint64_t{1} << width) - 1) << shift); }
  constexpr uint32_t get(Word word) const { return static_cast<uint32_t>((word & mask()) >> shift); }
  constexpr void set(Word &word, uint32_t value) const {
    word = static_cast<Word>((word & ~mask()) | (static_cast<Word>(value << shift) & mask()));
  }
};

/// COMPUTE_PGM_RSRC1.
namespace rsrc1 {
inline constexpr BitField<uint32_t> vgprBlocks{0, 6}, sgprBlocks{6, 4}, priority{10, 2}, roundMode32{12, 2},
    roundMode16And64{14, 2}, denormMode32{16, 2}, denormMode16And64{18, 2}, privileged{20, 1}, dx10Clamp{21, 1},
    debugMode{22, 1}, ieeeMode{23, 1}, bulky{24, 1}, cdbgUser{25, 1};
inline constexpr BitField<uint32_t> fp16Overflow{26, 1};                                   // gfx9 and later
inline constexpr BitField<uint32_t> wgpMode{29, 1}, memOrdered{30, 1}, fwdProgress{31, 1}; // gfx10 and later
inline constexpr BitField<uint32_t> roundRobin{21, 1}, disablePerf{23, 1}; // gfx12, in place of DX10_CLAMP, IEEE_MODE
inline constexpr BitField<uint32_t> floatMode{12, 8};                      // rounding and denormals as MODE has them
} // namespace rsrc1

/// COMPUTE_PGM_RSRC2.
namespace rsrc2 {
inline constexpr BitField<uint32_t> privateSegment{0, 1}, userSgprs{1, 5}, trapHandler{6, 1}, dynamicVgprs{6, 1},
    workgroupIds{7, 3}, workgroupInfo{10, 1}, workitemIds{11, 2}, exceptionAddressWatch{13, 1}, exceptionMemory{14, 1},
    ldsBlocks{15, 9}, exceptionInvalid{24, 1}, exceptionDenormal{25, 1}, exceptionDivideByZero{26, 1},
    exceptionOverflow{27, 1}, exceptionUnderflow{28, 1}, exceptionInexact{29, 1}, exceptionIntDivideByZero{30, 1};
} // namespace rsrc2

/// COMPUTE_PGM_RSRC3, which differs by generation.
namespace rsrc3 {
inline constexpr BitField<uint32_t> accumOffset{0, 6}, threadgroupSplit{16, 1};               // gfx90a, gfx940
inline constexpr BitField<uint32_t> sharedVgprs{0, 4};                                        // gfx10, gfx11
inline constexpr BitField<uint32_t> instPrefSize{4, 6}, trapOnStart{10, 1}, trapOnEnd{11, 1}; // gfx11
inline constexpr BitField<uint32_t> instPrefSizeGfx12{4, 8}, glgEnable{13, 1};                // gfx12
inline constexpr BitField<uint32_t> imageOp{31, 1};                                           // gfx11 and later
} // namespace rsrc3

/// KERNEL_CODE_PROPERTIES and KERNARG_PRELOAD_SPEC.
namespace properties {
inline constexpr BitField<uint16_t> privateSegmentBuffer{0, 1}, dispatchPtr{1, 1}, queuePtr{2, 1}, kernargPtr{3, 1},
    dispatchId{4, 1}, flatScratchInit{5, 1}, privateSegmentSize{6, 1}, wave32{10, 1}, dynamicStack{11, 1};
inline constexpr BitField<uint16_t> preloadLength{0, 7}, preloadOffset{7, 9};
} // namespace properties

/// What a wave finds in its SGPRs when it starts, in this order.
enum class InitialSgpr : uint8_t {
  PrivateSegmentBuffer,
  DispatchPtr,
  QueuePtr,
  KernargSegmentPtr,
  DispatchId,
  FlatScratchInit,
  PrivateSegmentSize,
  PreloadedKernargs,
  WorkgroupIdX,
  WorkgroupIdY,
  WorkgroupIdZ,
  WorkgroupInfo,
  PrivateSegmentWaveOffset,
};
inline constexpr unsigned kInitialSgprs = 13;

std::string_view nameOf(InitialSgpr what);

/// Where it is: `count` registers from `first` on; none when it was not asked for.
struct SgprRange {
  uint8_t first = 0, count = 0;
  explicit operator bool() const { return count != 0; }
  bool operator==(const SgprRange &) const = default;
};

struct InitialSgprs {
  std::array<SgprRange, kInitialSgprs> ranges;
  uint8_t user = 0;  ///< user SGPRs, as the descriptor counts them: the system SGPRs follow
  uint8_t total = 0; ///< of user and system SGPRs

  SgprRange operator[](InitialSgpr what) const { return ranges[static_cast<unsigned>(what)]; }
};

struct KernelDescriptor {
  static constexpr uint64_t kBytes = 64;
  static constexpr uint64_t kPreloadSkip = 256;

  uint32_t groupSegmentSize = 0;   ///< bytes of LDS per workgroup, without what a dispatch adds
  uint32_t privateSegmentSize = 0; ///< bytes of scratch per work-item
  uint32_t kernargSize = 0;        ///< bytes; 0 may also mean that the compiler did not say
  int64_t entryOffset = 0;         ///< of the first instruction, from the descriptor
  uint32_t rsrc1 = 0, rsrc2 = 0, rsrc3 = 0;
  uint16_t codeProperties = 0, kernargPreload = 0;
  std::array<std::byte, 4> reservedAt12{};
  std::array<std::byte, 20> reservedAt24{};
  std::array<std::byte, 4> reservedAt60{};

  static KernelDescriptor read(std::span<const std::byte, kBytes> bytes);
  void write(std::span<std::byte, kBytes> bytes) const;

  /// Allocated VGPRs per lane; with AccVGPRs where both share a file.
  uint32_t vgprs(const isa::Target &target) const;
  /// Allocated SGPRs, with VCC and the other special ones at their end.
  uint32_t sgprs(const isa::Target &target) const;
  /// First AccVGPR in the unified file (gfx90a, gfx942); equal to the architectural VGPRs, rounded up to 4.
  uint32_t accumOffset() const { return (rsrc3::accumOffset.get(rsrc3) + 1) * 4; }
  uint32_t waveSize(const isa::Target &target) const { return target.wave32 && wave32() ? 32 : 64; }
  /// SIMDs that the waves of a workgroup are spread over: half of a WGP's unless the kernel asks for all (WGP_MODE).
  uint32_t simds(const isa::Target &target) const {
    const bool part = target.wave32 && !rsrc1::wgpMode.get(rsrc1);
    return part ? target.simdsPerComputeUnit / 2u : target.simdsPerComputeUnit;
  }
  /// Vector registers that both halves of a wave of 64 lanes share (gfx10, gfx11), behind the wave's own.
  uint32_t sharedVgprs(const isa::Target &target) const {
    return target.unifiedVgprs || (target.rsrc3Reserved & rsrc3::sharedVgprs.mask())
               ? 0
               : rsrc3::sharedVgprs.get(rsrc3) * 8;
  }
  /// LDS that the descriptor itself allocates; the packet processor takes it from the dispatch packet instead.
  uint32_t ldsBlocks() const { return rsrc2::ldsBlocks.get(rsrc2); }

  /// Set to hold at least that many registers. An error when the target has no room or the field cannot say it.
  Result<void> setVgprs(const isa::Target &target, uint32_t count);
  Result<void> setSgprs(const isa::Target &target, uint32_t count);
  Result<void> setAccumOffset(uint32_t count); ///< a multiple of 4 from 4 to 256
  Result<void> setUserSgprs(uint32_t count);   ///< 0 to 31

  /// How much of the code, in units of 128 bytes, the hardware fetches before it starts (gfx11 and later); 0: nothing.
  /// Sets it for code of that size if it was not 0.
  void setPrefetchedBytes(const isa::Target &target, uint64_t bytes);

  bool wave32() const { return properties::wave32.get(codeProperties); }
  bool dynamicStack() const { return properties::dynamicStack.get(codeProperties); }
  /// Scratch is used: the wave offset, or the architected FLAT_SCRATCH, is set up.
  bool usesScratch() const { return rsrc2::privateSegment.get(rsrc2); }
  uint32_t userSgprs() const { return rsrc2::userSgprs.get(rsrc2); }
  bool workgroupId(unsigned dimension) const { return rsrc2::workgroupIds.get(rsrc2) >> dimension & 1; }
  bool workgroupInfo() const { return rsrc2::workgroupInfo.get(rsrc2); }
  /// Work-item ids that are set up: 0: x, 1: x and y, 2: all.
  uint32_t workitemIds() const { return rsrc2::workitemIds.get(rsrc2); }
  bool privateSegmentBuffer() const { return properties::privateSegmentBuffer.get(codeProperties); }
  bool dispatchPtr() const { return properties::dispatchPtr.get(codeProperties); }
  bool queuePtr() const { return properties::queuePtr.get(codeProperties); }
  bool kernargPtr() const { return properties::kernargPtr.get(codeProperties); }
  bool dispatchId() const { return properties::dispatchId.get(codeProperties); }
  bool flatScratchInit() const { return properties::flatScratchInit.get(codeProperties); }
  bool privateSegmentSizeSgpr() const { return properties::privateSegmentSize.get(codeProperties); }
  /// Dwords of kernel arguments that are in user SGPRs at the start. Firmware that can do so then enters the kernel
  /// kPreloadSkip bytes behind its entry; the code before that loads them for firmware that cannot.
  uint32_t preloadLength() const { return properties::preloadLength.get(kernargPreload); }
  uint32_t preloadOffset() const { return properties::preloadOffset.get(kernargPreload); } ///< dwords
  /// Dwords that are in fact preloaded: no more than there are user SGPRs for. ROCr's own kernels, which have other
  /// bits there, have none left.
  uint32_t preloaded(const isa::Target &target) const {
    return target.kernargPreload ? initialSgprs(target)[InitialSgpr::PreloadedKernargs].count : 0;
  }
  /// The MODE register at a wave's start: FLOAT_MODE, DX10_CLAMP, IEEE_MODE, FP16_OVFL (gfx9 and later) at their
  /// places.
  uint32_t mode() const {
    return rsrc1::floatMode.get(rsrc1) | rsrc1::dx10Clamp.get(rsrc1) << 8 | rsrc1::ieeeMode.get(rsrc1) << 9 |
           rsrc1::fp16Overflow.get(rsrc1) << 23;
  }

  /// Where everything is that the wave gets in SGPRs. Of what a target has elsewhere there is nothing: the wave offset
  /// where FLAT_SCRATCH is architected, workgroup ids where they are in TTMPs.
  InitialSgprs initialSgprs(const isa::Target &target) const;

  static bool architectedFlatScratch(const isa::Target &target) {
    return target.flatScratch == isa::FlatScratch::Architected;
  }

  bool operator==(const KernelDescriptor &) const = default;
};

} // namespace luthier::object
