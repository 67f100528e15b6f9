#include "isa/target.h"

#include "isa/generic_processor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

namespace luthier::isa {

namespace {

// From LLVM's AMDGPUUsage (machines, features, register granules), the ISA manuals and the amdgpu driver (SDMA). gfx10
// and later are described in WGP mode, which compilers choose: a workgroup has four SIMDs and two LDS blocks to itself
// and its neighbours.

/// A row like another one, but for what `change` changes.
constexpr Target with(
    Target row, std::string_view name, TargetVersion version, uint8_t elfMachine,
    void (*change)(Target &) = [](Target &) {}) {
  row.name = name;
  row.version = version;
  row.elfMachine = elfMachine;
  change(row);
  return row;
}

constexpr Target kGfx803 = {
    .name = "gfx803",
    .version = {8, 0, 3},
    .elfMachine = 0x2a,
    .encoding = EncodingFamily::Gfx8,
    .virtualGpu = false,
    .waveSize = 64,
    .wave32 = false,
    .wave64 = true,
    .sgprs = 102,
    .sgprFile = 800,
    .sgprGranule = 16,
    .sgprDescriptorGranule = 8,
    .trailingSgprs = 6,
    .xnackMask = false, // it has the register, but never repeats an access
    .scalarFlatScratch = true,
    .partialVccWritesUpdateVccz = false,
    .m0BehindNull = false,
    .vgprs = 256,
    .accVgprs = 0,
    .vgprFileLanes = 256,
    .vgprGranule = 4,
    .vgprDescriptorGranule = 4,
    .unifiedVgprs = false,
    .accumulatorOperands = false,
    .alignedTuples = false,
    .keepsHalves = false,
    .keepsAllHalves = false,
    .maxWavesPerSimd = 10,
    .simdsPerComputeUnit = 4,
    .maxWorkgroupWaves = 16,
    .ldsBytes = 65536,
    .ldsGranule = 512,
    .packedWorkitemIds = false,
    .workgroupIdsInTtmps = false,
    .flatScratch = FlatScratch::Sgprs,
    .kernargPreload = false,
    .dynamicVgprs = false,
    .clampAndIeeeModes = true,
    .rsrc1Reserved = 0x1fu << 27,
    .rsrc3Reserved = ~0u,
    .prefetchSizeBits = 0,
    .flatOffsetBits = 0,
    .signedFlatOffset = false,
    .nopBits = 3,
    .hardwareRegisters = &kHardwareRegistersGfx9,
    .hardwareIdRegister = 4,
    .fetchedAheadBytes = 3 * 64,
    .branchWord = 0xbf820000,
    .codeEnd = false,
    .dppWaveShifts = true,
    .dppRowShare = false,
    .dppRowXmask = false,
    .constantsFillHalves = false,
    .omodInAnyMode = false,
    .splitBarriers = false,
    .dualIssue = false,
    .clauses = false,
    .delayHints = false,
    .deallocatesVgprs = false,
    .pcZeroExtends = false,
    .readableTtmps = true,
    .droppedWritesKeepScc = false,
    .callInstruction = false,
    .gprIndexing = true,
    .scratchInstructions = false,
    .scratchVgprBit = false,
    .scratchWithoutAddress = false,
    .ldsLimitInM0 = true,
    .imageAddressByResource = true,
    .bufferResource = BufferResource::Gfx8,
    .loadsKeepHalves = false,
    .permuteLanes = 64,
    .ldsDwordsApart = false,
    .wideScratchAtomics = true,
    .memoryAddsFlush = true,
    .vectorMissPolicy = 1,
    .scalarMissPolicy = 1,
    .matrixUnit = nullptr,
    .waitFields = &kWaitFieldsGfx8,
    .storeCounter = false,
    .splitCounters = false,
    .imagesInOrder = true,
    .flatInOrder = false,
    .loadsWriteInOrder = true,
    .hazards = HazardSet::Gfx8,
    .seamHazards = 0,
    .gcrAcquire = false,
    .sdmaVersion = 30,
    .copyCountBits = 22,
    .scratchSizeBits = 13,
    .scratchSizeUnit = 1024,
    .scratchWavesPerArray = false,
};

constexpr Target kGfx900 = with(kGfx803, "gfx900", {9, 0, 0}, 0x2c, [](Target &t) {
  t.virtualGpu = true;
  t.encoding = EncodingFamily::Gfx9;
  t.sgprDescriptorGranule = 16;
  t.xnackMask = true;
  t.keepsHalves = true;
  t.flatOffsetBits = 13;
  t.nopBits = 4;
  t.callInstruction = true;
  t.scratchInstructions = true;
  t.ldsLimitInM0 = false;
  t.bufferResource = BufferResource::Gfx9;
  t.loadsKeepHalves = true;
  t.waitFields = &kWaitFieldsGfx9;
  t.hazards = HazardSet::Gfx9;
  t.sdmaVersion = 40;
});

constexpr Target kGfx906 = with(kGfx900, "gfx906", {9, 0, 6}, 0x2f, [](Target &t) {
  t.loadsKeepHalves = false; // it may have SRAM-ECC on
  t.matrixUnit = &kDotProducts;
  t.sdmaVersion = 42;
});

constexpr Target kGfx908 = with(kGfx906, "gfx908", {9, 0, 8}, 0x30, [](Target &t) {
  t.accVgprs = 256;
  t.matrixUnit = &kMatrixUnitGfx908;
  t.hazards = HazardSet::Gfx908;
});

constexpr Target kGfx90a = with(kGfx908, "gfx90a", {9, 0, 10}, 0x3f, [](Target &t) {
  t.vgprFileLanes = 512;
  t.vgprGranule = 8;
  t.vgprDescriptorGranule = 8;
  t.unifiedVgprs = true;
  t.accumulatorOperands = true;
  t.alignedTuples = true;
  t.dppRowShare = true;
  t.maxWavesPerSimd = 8;
  t.packedWorkitemIds = true;
  t.kernargPreload = true;
  t.rsrc3Reserved = ~(0x3fu | 1u << 16); // ACCUM_OFFSET and TG_SPLIT
  t.fetchedAheadBytes = 16 * 64;
  t.matrixUnit = &kMatrixUnitGfx90a;
  t.hazards = HazardSet::Gfx90a;
  t.sdmaVersion = 44;
  t.copyCountBits = 30;
});

constexpr Target kGfx940 = with(kGfx90a, "gfx940", {9, 4, 0}, 0x40, [](Target &t) {
  t.scratchWithoutAddress = true;
  t.virtualGpu = false;
  t.flatScratch = FlatScratch::Architected;
  t.hardwareRegisters = &kHardwareRegistersGfx940;
  t.readableTtmps = false;
  t.scratchVgprBit = true;
  t.vectorMissPolicy = 1 << 4 | 1 << 1;
  t.matrixUnit = &kMatrixUnitGfx942;
  t.hazards = HazardSet::Gfx940;
});

constexpr Target kGfx942 = with(kGfx940, "gfx942", {9, 4, 2}, 0x4c, [](Target &t) { t.virtualGpu = true; });

constexpr Target kGfx1010 = with(kGfx900, "gfx1010", {10, 1, 0}, 0x33, [](Target &t) {
  t.encoding = EncodingFamily::Gfx10;
  t.waveSize = 32;
  t.wave32 = true;
  t.sgprs = 106;
  t.sgprFile = 0;
  t.sgprGranule = 128;
  t.trailingSgprs = 0;
  t.xnackMask = false; // a hardware register, not an operand
  t.scalarFlatScratch = false;
  t.partialVccWritesUpdateVccz = true;
  t.vgprFileLanes = 512;
  t.keepsAllHalves = true;
  t.maxWavesPerSimd = 20;
  t.maxWorkgroupWaves = 32;
  t.ldsBytes = 131072;
  t.flatScratch = FlatScratch::HardwareRegisters;
  t.rsrc1Reserved = 3u << 27;
  t.rsrc3Reserved = ~0xfu; // SHARED_VGPR_COUNT
  t.flatOffsetBits = 12;
  t.hardwareRegisters = &kHardwareRegistersGfx1010;
  t.hardwareIdRegister = 23;
  t.codeEnd = true;
  t.dppWaveShifts = false;
  t.dppRowShare = true;
  t.dppRowXmask = true;
  t.clauses = true;
  t.gprIndexing = false;
  t.imageAddressByResource = false;
  t.bufferResource = BufferResource::Gfx10;
  t.permuteLanes = 32;
  t.waitFields = &kWaitFieldsGfx10;
  t.storeCounter = true;
  t.imagesInOrder = false;
  t.flatInOrder = true;
  t.hazards = HazardSet::Gfx10;
  t.seamHazards = setOf({SeamHazard::VmemToScalarWrite, SeamHazard::SmemToVectorWrite, SeamHazard::VcmpxExecWar,
                         SeamHazard::LdsBranchVmem, SeamHazard::Offset3f, SeamHazard::VcmpxPermlane});
  t.gcrAcquire = true;
  t.sdmaVersion = 50;
});

constexpr Target kGfx1030 = with(kGfx1010, "gfx1030", {10, 3, 0}, 0x36, [](Target &t) {
  t.scratchWithoutAddress = true;
  t.seamHazards = 0;
  t.vgprGranule = 8;
  t.maxWavesPerSimd = 16;
  t.ldsGranule = 1024;
  t.hardwareRegisters = &kHardwareRegistersGfx1030;
  t.matrixUnit = &kDotProducts;
  t.sdmaVersion = 52;
  t.copyCountBits = 30;
});

constexpr Target kGfx1100 = with(kGfx1030, "gfx1100", {11, 0, 0}, 0x41, [](Target &t) {
  t.encoding = EncodingFamily::Gfx11;
  t.m0BehindNull = true;
  t.vgprFileLanes = 768;
  t.vgprGranule = 12;
  t.packedWorkitemIds = true;
  t.flatScratch = FlatScratch::Architected;
  t.rsrc3Reserved = ~(0xfu | 0x3fu << 4 | 3u << 10 | 1u << 31); // + INST_PREF_SIZE, TRAP_ON_START and _END, IMAGE_OP
  t.prefetchSizeBits = 6;
  t.flatOffsetBits = 13;
  t.fetchedAheadBytes = 3 * 128;
  t.branchWord = 0xbfa00000;
  t.constantsFillHalves = true;
  t.dualIssue = true;
  t.delayHints = true;
  t.deallocatesVgprs = true;
  t.readableTtmps = false;
  t.droppedWritesKeepScc = true;
  t.bufferResource = BufferResource::Gfx11;
  t.matrixUnit = &kMatrixUnitGfx11;
  t.scratchSizeBits = 15;
  t.scratchSizeUnit = 256;
  t.scratchWavesPerArray = true;
  t.wideScratchAtomics = false;
  t.waitFields = &kWaitFieldsGfx11;
  t.hazards = HazardSet::None;
  t.seamHazards = setOf({SeamHazard::VcmpxPermlane, SeamHazard::ValuPartialForwarding, SeamHazard::ValuMaskWrite,
                         SeamHazard::ValuTransUse});
  t.sdmaVersion = 60;
});

constexpr Target kGfx1101 = with(kGfx1100, "gfx1101", {11, 0, 1}, 0x46);

constexpr Target kGfx1102 = with(kGfx1100, "gfx1102", {11, 0, 2}, 0x47, [](Target &t) {
  t.vgprFileLanes = 512;
  t.vgprGranule = 8;
});

constexpr Target kGfx1151 = with(kGfx1100, "gfx1151", {11, 5, 1}, 0x4a, [](Target &t) {
  t.seamHazards &= static_cast<uint16_t>(~setOf({SeamHazard::ValuTransUse}));
  t.sdmaVersion = 61;
});

constexpr Target kGfx1200 = with(kGfx1151, "gfx1200", {12, 0, 0}, 0x48, [](Target &t) {
  t.encoding = EncodingFamily::Gfx12;
  t.seamHazards = setOf({SeamHazard::VcmpxPermlane, SeamHazard::ValuReadSgpr});
  t.workgroupIdsInTtmps = true;
  t.dynamicVgprs = true;
  t.clampAndIeeeModes = false;
  t.rsrc3Reserved = ~(0xffu << 4 | 1u << 13 | 1u << 31); // INST_PREF_SIZE, GLG_EN, IMAGE_OP
  t.prefetchSizeBits = 8;
  t.flatOffsetBits = 24;
  t.signedFlatOffset = true;
  t.nopBits = 7;
  t.hardwareRegisters = &kHardwareRegistersGfx12;
  t.omodInAnyMode = true;
  t.splitBarriers = true;
  t.pcZeroExtends = true;
  t.readableTtmps = true;
  t.bufferResource = BufferResource::Gfx12;
  t.permuteLanes = 64;
  t.ldsDwordsApart = true;
  t.memoryAddsFlush = false;
  t.vectorMissPolicy = 3 << 3;
  t.scalarMissPolicy = 3 << 3;
  t.matrixUnit = &kMatrixUnitGfx12;
  t.scratchSizeBits = 18;
  t.splitCounters = true;
  t.loadsWriteInOrder = false;
  t.sdmaVersion = 70;
});

constexpr Target kGfx1201 = with(kGfx1200, "gfx1201", {12, 0, 1}, 0x4e);

constexpr Target kTargets[] = {kGfx1010, kGfx1030, kGfx1100, kGfx1101, kGfx1102, kGfx1151, kGfx1200, kGfx1201,
                               kGfx803,  kGfx900,  kGfx906,  kGfx908,  kGfx90a,  kGfx940,  kGfx942};

} // namespace

std::span<const Target> targets() { return kTargets; }

const Target *findTarget(std::string_view name) {
  name = name.substr(0, name.find(':'));
  const auto *found = std::ranges::find(kTargets, name, &Target::name);
  if (found != std::end(kTargets))
    return found;
  // Generic code has nothing that a member would not understand.
  for (const std::string_view member : membersOf(name))
    if (const Target *target = findTarget(member))
      return target;
  return nullptr;
}

const Target *findTarget(uint8_t elfMachine) {
  const auto *found = std::ranges::find(kTargets, elfMachine, &Target::elfMachine);
  return found != std::end(kTargets) ? found : nullptr;
}

std::vector<std::string_view> virtualTargets() {
  std::vector<std::string_view> names;
  for (const Target &target : kTargets)
    if (target.virtualGpu)
      names.push_back(target.name);
  return names;
}

Result<const Target *> findVirtualTarget(std::string_view name) {
  const Target *target = findTarget(name);
  if (!target)
    return makeError("unknown GPU '{}'; known: {}", name, fmt::join(virtualTargets(), ", "));
  if (!target->virtualGpu)
    return makeError("the virtual GPU does not execute code of {}; known: {}", target->name,
                     fmt::join(virtualTargets(), ", "));
  return target;
}

} // namespace luthier::isa
