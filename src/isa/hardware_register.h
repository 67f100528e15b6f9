// The registers behind s_getreg and s_setreg. Numbers stay the same within a generation; what they name does not.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <utility>

namespace luthier::isa {

enum class HardwareRegister : uint8_t {
  None,
  Mode,
  Status,
  TrapStatus,
  HardwareId, ///< HW_ID, up to gfx9
  GprAllocation,
  LdsAllocation,
  IbStatus,
  MemoryBases, ///< SH_MEM_BASES: the apertures
  FlatScratchLo,
  FlatScratchHi,
  XnackMask,
  XccId, ///< gfx940: which of the GPU's dies
  HardwareId1,
  HardwareId2,
  ShaderCycles,   ///< 20 bits
  ShaderCyclesLo, ///< with ShaderCyclesHi, 64 bits
  ShaderCyclesHi,
  StatePrivate, ///< gfx12: part of what STATUS had, SCC among it
  ExceptionsPrivate,
  ExceptionsUser,
  TrapControl,
};

/// By number.
struct HardwareRegisters {
  std::array<HardwareRegister, 64> byNumber{};

  constexpr HardwareRegisters(std::initializer_list<std::pair<unsigned, HardwareRegister>> list) {
    for (const auto &[number, reg] : list)
      byNumber[number] = reg;
  }
  constexpr HardwareRegister operator[](unsigned number) const { return byNumber[number & 63]; }
};

inline constexpr HardwareRegisters kHardwareRegistersGfx9 = {
    {1, HardwareRegister::Mode},       {2, HardwareRegister::Status},        {3, HardwareRegister::TrapStatus},
    {4, HardwareRegister::HardwareId}, {5, HardwareRegister::GprAllocation}, {6, HardwareRegister::LdsAllocation},
    {7, HardwareRegister::IbStatus},   {15, HardwareRegister::MemoryBases},
};
inline constexpr HardwareRegisters kHardwareRegistersGfx940 = {
    {1, HardwareRegister::Mode},       {2, HardwareRegister::Status},        {3, HardwareRegister::TrapStatus},
    {4, HardwareRegister::HardwareId}, {5, HardwareRegister::GprAllocation}, {6, HardwareRegister::LdsAllocation},
    {7, HardwareRegister::IbStatus},   {15, HardwareRegister::MemoryBases},  {20, HardwareRegister::XccId},
};
inline constexpr HardwareRegisters kHardwareRegistersGfx1010 = {
    {1, HardwareRegister::Mode},          {2, HardwareRegister::Status},         {3, HardwareRegister::TrapStatus},
    {5, HardwareRegister::GprAllocation}, {6, HardwareRegister::LdsAllocation},  {7, HardwareRegister::IbStatus},
    {15, HardwareRegister::MemoryBases},  {20, HardwareRegister::FlatScratchLo}, {21, HardwareRegister::FlatScratchHi},
    {22, HardwareRegister::XnackMask},    {23, HardwareRegister::HardwareId1},   {24, HardwareRegister::HardwareId2},
};
inline constexpr HardwareRegisters kHardwareRegistersGfx1030 = {
    {1, HardwareRegister::Mode},          {2, HardwareRegister::Status},         {3, HardwareRegister::TrapStatus},
    {5, HardwareRegister::GprAllocation}, {6, HardwareRegister::LdsAllocation},  {7, HardwareRegister::IbStatus},
    {15, HardwareRegister::MemoryBases},  {20, HardwareRegister::FlatScratchLo}, {21, HardwareRegister::FlatScratchHi},
    {23, HardwareRegister::HardwareId1},  {24, HardwareRegister::HardwareId2},   {29, HardwareRegister::ShaderCycles},
};
inline constexpr HardwareRegisters kHardwareRegistersGfx12 = {
    {1, HardwareRegister::Mode},
    {2, HardwareRegister::Status},
    {4, HardwareRegister::StatePrivate},
    {5, HardwareRegister::GprAllocation},
    {6, HardwareRegister::LdsAllocation},
    {7, HardwareRegister::IbStatus},
    {17, HardwareRegister::ExceptionsPrivate},
    {18, HardwareRegister::ExceptionsUser},
    {19, HardwareRegister::TrapControl},
    {20, HardwareRegister::FlatScratchLo},
    {21, HardwareRegister::FlatScratchHi},
    {23, HardwareRegister::HardwareId1},
    {24, HardwareRegister::HardwareId2},
    {29, HardwareRegister::ShaderCyclesLo},
    {30, HardwareRegister::ShaderCyclesHi},
};

} // namespace luthier::isa
