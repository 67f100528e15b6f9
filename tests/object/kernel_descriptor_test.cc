// The kernel descriptor's fields, on descriptors that clang and its assembler made and on made-up ones.

#include "files.h"
#include "isa/occupancy.h"

#include <gmock/gmock.h>

#include <random>

namespace luthier::object {
namespace {

const isa::Target &row(std::string_view name) { return *isa::findTarget(name); }
const isa::Target &gfx90a() { return row("gfx90a"); }

TEST(KernelDescriptor, WhatTheAssemblerWasTold) {
  const ObjectFile file("odd.co");
  const auto d = file->descriptor(*file->find("bare"));
  ASSERT_TRUE(d);
  EXPECT_EQ(d->vgprs(gfx90a()), 16u); // 12, in blocks of 8
  EXPECT_EQ(d->accumOffset(), 12u);
  EXPECT_EQ(d->sgprs(gfx90a()), 32u); // 20, VCC, FLAT_SCRATCH and XNACK_MASK, in blocks of 16
  EXPECT_EQ(d->groupSegmentSize, 1000u);
  EXPECT_TRUE(d->kernargPtr() && d->dispatchPtr());
  EXPECT_FALSE(d->queuePtr() || d->dispatchId() || d->flatScratchInit() || d->privateSegmentSizeSgpr());
  EXPECT_EQ(d->userSgprs(), 4u);
  EXPECT_TRUE(d->workgroupId(0) && d->workgroupId(1));
  EXPECT_FALSE(d->workgroupId(2) || d->workgroupInfo());
  EXPECT_EQ(d->workitemIds(), 2u);
  EXPECT_EQ(rsrc1::denormMode32.get(d->rsrc1), 3u);
  EXPECT_EQ(rsrc1::ieeeMode.get(d->rsrc1), 0u);
  EXPECT_EQ(rsrc1::dx10Clamp.get(d->rsrc1), 1u);
  EXPECT_EQ(d->mode(), 0x1f0u); // denormals on everywhere, DX10_CLAMP
  EXPECT_FALSE(d->wave32() || d->dynamicStack() || d->usesScratch());
  const InitialSgprs sgprs = d->initialSgprs(gfx90a());
  EXPECT_EQ(sgprs[InitialSgpr::DispatchPtr], (SgprRange{0, 2}));
  EXPECT_EQ(sgprs[InitialSgpr::KernargSegmentPtr], (SgprRange{2, 2}));
  EXPECT_FALSE(sgprs[InitialSgpr::PrivateSegmentBuffer]);
  EXPECT_EQ(sgprs[InitialSgpr::WorkgroupIdX], (SgprRange{4, 1}));
  EXPECT_EQ(sgprs[InitialSgpr::WorkgroupIdY], (SgprRange{5, 1}));
  EXPECT_EQ(sgprs.total, 6u);
}

TEST(KernelDescriptor, InitialSgprsInOrder) {
  KernelDescriptor d;
  d.codeProperties = 0x7f;
  ASSERT_TRUE(d.setUserSgprs(20));
  properties::preloadLength.set(d.kernargPreload, 5);
  rsrc2::workgroupIds.set(d.rsrc2, 7);
  rsrc2::workgroupInfo.set(d.rsrc2, 1);
  rsrc2::privateSegment.set(d.rsrc2, 1);
  const InitialSgprs sgprs = d.initialSgprs(row("gfx900"));
  const SgprRange expected[] = {{0, 4},  {4, 2},  {6, 2},  {8, 2},  {10, 2}, {12, 2}, {14, 1},
                                {15, 5}, {20, 1}, {21, 1}, {22, 1}, {23, 1}, {24, 1}};
  EXPECT_THAT(sgprs.ranges, testing::ElementsAreArray(expected));
  EXPECT_EQ(sgprs.user, 20u);
  EXPECT_EQ(sgprs.total, 25u);
  EXPECT_FALSE(d.initialSgprs(row("gfx942"))[InitialSgpr::PrivateSegmentWaveOffset]);
  EXPECT_EQ(d.initialSgprs(row("gfx1201")).total, 21u) << "workgroup ids are elsewhere";
  // A length that exceeds the user SGPRs does not push the system SGPRs away.
  properties::preloadLength.set(d.kernargPreload, 127);
  EXPECT_EQ(d.initialSgprs(row("gfx900"))[InitialSgpr::PreloadedKernargs], (SgprRange{15, 5}));
  EXPECT_EQ(d.initialSgprs(row("gfx900"))[InitialSgpr::WorkgroupIdX], (SgprRange{20, 1}));
}

TEST(KernelDescriptor, RegisterCountsByGeneration) {
  KernelDescriptor d;
  rsrc1::vgprBlocks.set(d.rsrc1, 3);
  rsrc1::sgprBlocks.set(d.rsrc1, 6);
  EXPECT_EQ(d.vgprs(row("gfx803")), 16u);
  EXPECT_EQ(d.sgprs(row("gfx803")), 56u);
  EXPECT_EQ(d.vgprs(row("gfx906")), 16u);
  EXPECT_EQ(d.sgprs(row("gfx906")), 64u);
  EXPECT_EQ(d.vgprs(row("gfx90a")), 32u);
  EXPECT_EQ(d.vgprs(row("gfx1030")), 16u); // wave64
  EXPECT_EQ(d.sgprs(row("gfx1030")), 128u);
  EXPECT_EQ(d.waveSize(row("gfx1030")), 64u);
  properties::wave32.set(d.codeProperties, 1);
  EXPECT_EQ(d.vgprs(row("gfx1030")), 32u);
  EXPECT_EQ(d.vgprs(row("gfx1100")), 32u);
  EXPECT_EQ(d.waveSize(row("gfx1100")), 32u);
  EXPECT_EQ(d.waveSize(row("gfx90a")), 64u); // reserved there
}

TEST(KernelDescriptor, SettingCountsIsTheInverse) {
  for (const isa::Target &target : isa::targets()) {
    SCOPED_TRACE(target.name);
    KernelDescriptor d;
    const uint32_t block = isa::vgprDescriptorGranule(target, 64);
    for (uint32_t count = 1; count <= 256; ++count) {
      ASSERT_TRUE(d.setVgprs(target, count));
      EXPECT_GE(d.vgprs(target), count);
      EXPECT_LT(d.vgprs(target), count + block);
    }
    for (uint32_t count = 1; count <= 104; ++count) {
      ASSERT_TRUE(d.setSgprs(target, count));
      EXPECT_GE(d.sgprs(target), count);
      if (target.countsSgprs())
        EXPECT_LT(d.sgprs(target), count + 16);
    }
    EXPECT_FALSE(d.setVgprs(target, 513));
    EXPECT_FALSE(d.setSgprs(target, 129));
  }
  KernelDescriptor d;
  for (uint32_t offset = 4; offset <= 256; offset += 4) {
    ASSERT_TRUE(d.setAccumOffset(offset));
    EXPECT_EQ(d.accumOffset(), offset);
  }
  EXPECT_FALSE(d.setAccumOffset(0));
  EXPECT_FALSE(d.setAccumOffset(6));
  EXPECT_FALSE(d.setAccumOffset(260));
  EXPECT_FALSE(d.setUserSgprs(32));
  // Setters leave the other fields alone.
  KernelDescriptor full;
  full.rsrc1 = full.rsrc2 = full.rsrc3 = UINT32_MAX;
  ASSERT_TRUE(full.setVgprs(gfx90a(), 1));
  EXPECT_EQ(full.rsrc1, ~0x3fu);
  ASSERT_TRUE(full.setUserSgprs(0));
  EXPECT_EQ(full.rsrc2, ~0x3eu);
  ASSERT_TRUE(full.setAccumOffset(4));
  EXPECT_EQ(full.rsrc3, ~0x3fu);
}

TEST(KernelDescriptor, WritingIsTheInverseOfReading) {
  std::mt19937 random(1);
  for (int n = 0; n < 1000; ++n) {
    std::array<std::byte, KernelDescriptor::kBytes> bytes, written{};
    for (std::byte &byte : bytes)
      byte = static_cast<std::byte>(random());
    const KernelDescriptor d = KernelDescriptor::read(bytes);
    d.write(written);
    EXPECT_EQ(bytes, written);
    EXPECT_EQ(KernelDescriptor::read(written), d);
    // No field is too wild to be looked at.
    (void)d.initialSgprs(gfx90a());
    (void)d.vgprs(gfx90a());
  }
}

} // namespace
} // namespace luthier::object
