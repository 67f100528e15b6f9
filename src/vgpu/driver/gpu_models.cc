#include "vgpu/driver/gpu_models.h"

#include <algorithm>

namespace luthier::vgpu {

namespace {

constexpr uint64_t operator""_GiB(unsigned long long count) { return count << 30; }
constexpr uint64_t operator""_MiB(unsigned long long count) { return count << 20; }

constexpr uint8_t kFamilyAi = 141, kFamilyNv = 143, kFamilyGc11 = 145, kFamilyGc115 = 150, kFamilyGc12 = 152;

// clang-format off
constexpr GpuModel kModels[] = {
    {.target = "gfx900", .product = "Radeon RX Vega 64", .codename = "vega10", .deviceId = 0x687f, .pciRevision = 0xc1, .drmFamily = kFamilyAi,
     .computeUnits = 64, .simdsPerComputeUnit = 4, .wavesPerSimd = 10, .arrays = 4, .arraysPerEngine = 1, .computeUnitsPerArray = 16,
     .ldsKib = 64, .l1Kib = 16, .l2Kib = 4096, .l3Kib = 0, .l1LineBytes = 64, .lineBytes = 64,
     .memoryBytes = 8_GiB, .memoryBusBits = 2048, .memoryMhz = 945, .engineMhz = 1630,
     .sdmaEngines = 2, .xgmiSdmaEngines = 0, .queuesPerSdmaEngine = 2, .computeQueues = 24, .xccs = 1,
     .firmware = 460, .sdmaFirmware = 430, .asicRevision = 1, .ecc = false, .xgmi = false},
    {.target = "gfx906", .product = "Instinct MI50, 32 GB", .codename = "vega20", .deviceId = 0x66a1, .pciRevision = 0x02, .drmFamily = kFamilyAi,
     .computeUnits = 60, .simdsPerComputeUnit = 4, .wavesPerSimd = 10, .arrays = 4, .arraysPerEngine = 1, .computeUnitsPerArray = 16,
     .ldsKib = 64, .l1Kib = 16, .l2Kib = 8192, .l3Kib = 0, .l1LineBytes = 64, .lineBytes = 64,
     .memoryBytes = 32_GiB, .memoryBusBits = 4096, .memoryMhz = 1000, .engineMhz = 1725,
     .sdmaEngines = 2, .xgmiSdmaEngines = 0, .queuesPerSdmaEngine = 8, .computeQueues = 24, .xccs = 1,
     .firmware = 471, .sdmaFirmware = 145, .asicRevision = 1, .ecc = true, .xgmi = true},
    {.target = "gfx908", .product = "Instinct MI100", .codename = "arcturus", .deviceId = 0x738c, .pciRevision = 0x01, .drmFamily = kFamilyAi,
     .computeUnits = 120, .simdsPerComputeUnit = 4, .wavesPerSimd = 10, .arrays = 8, .arraysPerEngine = 1, .computeUnitsPerArray = 16,
     .ldsKib = 64, .l1Kib = 16, .l2Kib = 8192, .l3Kib = 0, .l1LineBytes = 64, .lineBytes = 64,
     .memoryBytes = 32_GiB, .memoryBusBits = 4096, .memoryMhz = 1200, .engineMhz = 1502,
     .sdmaEngines = 2, .xgmiSdmaEngines = 6, .queuesPerSdmaEngine = 8, .computeQueues = 24, .xccs = 1,
     .firmware = 64, .sdmaFirmware = 18, .asicRevision = 2, .ecc = true, .xgmi = true},
    // One half of it, with the memory of a smaller one.
    {.target = "gfx90a", .product = "Instinct MI250X", .codename = "aldebaran", .deviceId = 0x7408, .pciRevision = 0x01, .drmFamily = kFamilyAi,
     .computeUnits = 104, .simdsPerComputeUnit = 4, .wavesPerSimd = 8, .arrays = 8, .arraysPerEngine = 1, .computeUnitsPerArray = 13,
     .ldsKib = 64, .l1Kib = 16, .l2Kib = 8192, .l3Kib = 0, .l1LineBytes = 64, .lineBytes = 128,
     .memoryBytes = 16_GiB, .memoryBusBits = 4096, .memoryMhz = 1600, .engineMhz = 1700,
     .sdmaEngines = 2, .xgmiSdmaEngines = 3, .queuesPerSdmaEngine = 8, .computeQueues = 24, .xccs = 1,
     .firmware = 68, .sdmaFirmware = 8, .asicRevision = 1, .ecc = true, .xgmi = true},
    // With firmware 177 and later ROCr takes scratch memory back from running queues.
    {.target = "gfx942", .product = "Instinct MI300X", .codename = "ip discovery", .deviceId = 0x74a1, .pciRevision = 0x00, .drmFamily = kFamilyAi,
     .computeUnits = 304, .simdsPerComputeUnit = 4, .wavesPerSimd = 8, .arrays = 32, .arraysPerEngine = 1, .computeUnitsPerArray = 10,
     .ldsKib = 64, .l1Kib = 32, .l2Kib = 4096, .l3Kib = 262144, .l1LineBytes = 128, .lineBytes = 128,
     .memoryBytes = 192_GiB, .memoryBusBits = 8192, .memoryMhz = 1300, .engineMhz = 2100,
     .sdmaEngines = 2, .xgmiSdmaEngines = 14, .queuesPerSdmaEngine = 8, .computeQueues = 24, .xccs = 8,
     .firmware = 150, .sdmaFirmware = 21, .asicRevision = 1, .ecc = true, .xgmi = true},
    {.target = "gfx950", .product = "Instinct MI350X", .codename = "ip discovery", .deviceId = 0x75a0, .pciRevision = 0x00, .drmFamily = kFamilyAi,
     .computeUnits = 256, .simdsPerComputeUnit = 4, .wavesPerSimd = 8, .arrays = 32, .arraysPerEngine = 1, .computeUnitsPerArray = 9,
     .ldsKib = 160, .l1Kib = 32, .l2Kib = 4096, .l3Kib = 262144, .l1LineBytes = 128, .lineBytes = 128,
     .memoryBytes = 309220868096, .memoryBusBits = 8192, .memoryMhz = 1900, .engineMhz = 2200,
     .sdmaEngines = 2, .xgmiSdmaEngines = 14, .queuesPerSdmaEngine = 8, .computeQueues = 24, .xccs = 8,
     .firmware = 150, .sdmaFirmware = 21, .asicRevision = 0, .ecc = true, .xgmi = true},
    {.target = "gfx1010", .product = "Radeon RX 5700 XT", .codename = "navi10", .deviceId = 0x731f, .pciRevision = 0xc1, .drmFamily = kFamilyNv,
     .computeUnits = 40, .simdsPerComputeUnit = 2, .wavesPerSimd = 20, .arrays = 4, .arraysPerEngine = 2, .computeUnitsPerArray = 10,
     .ldsKib = 64, .l1Kib = 16, .l2Kib = 4096, .l3Kib = 0, .l1LineBytes = 128, .lineBytes = 128,
     .memoryBytes = 8176_MiB, .memoryBusBits = 256, .memoryMhz = 875, .engineMhz = 2100,
     .sdmaEngines = 2, .xgmiSdmaEngines = 0, .queuesPerSdmaEngine = 8, .computeQueues = 8, .xccs = 1,
     .firmware = 149, .sdmaFirmware = 35, .asicRevision = 2, .ecc = false, .xgmi = false},
    {.target = "gfx1030", .product = "Radeon RX 6900 XT", .codename = "sienna_cichlid", .deviceId = 0x73bf, .pciRevision = 0xc0, .drmFamily = kFamilyNv,
     .computeUnits = 80, .simdsPerComputeUnit = 2, .wavesPerSimd = 16, .arrays = 8, .arraysPerEngine = 2, .computeUnitsPerArray = 10,
     .ldsKib = 64, .l1Kib = 16, .l2Kib = 4096, .l3Kib = 131072, .l1LineBytes = 128, .lineBytes = 128,
     .memoryBytes = 17163091968, .memoryBusBits = 256, .memoryMhz = 1000, .engineMhz = 2660,
     .sdmaEngines = 2, .xgmiSdmaEngines = 0, .queuesPerSdmaEngine = 8, .computeQueues = 8, .xccs = 1,
     .firmware = 115, .sdmaFirmware = 83, .asicRevision = 1, .ecc = false, .xgmi = false},
    {.target = "gfx1100", .product = "Radeon RX 7900 XTX", .codename = "ip discovery", .deviceId = 0x744c, .pciRevision = 0xc8, .drmFamily = kFamilyGc11,
     .computeUnits = 96, .simdsPerComputeUnit = 2, .wavesPerSimd = 16, .arrays = 12, .arraysPerEngine = 2, .computeUnitsPerArray = 8,
     .ldsKib = 64, .l1Kib = 32, .l2Kib = 6144, .l3Kib = 98304, .l1LineBytes = 128, .lineBytes = 128,
     .memoryBytes = 25753026560, .memoryBusBits = 384, .memoryMhz = 1249, .engineMhz = 2526,
     .sdmaEngines = 2, .xgmiSdmaEngines = 0, .queuesPerSdmaEngine = 6, .computeQueues = 8, .xccs = 1,
     .firmware = 550, .sdmaFirmware = 24, .asicRevision = 0, .ecc = false, .xgmi = false},
    {.target = "gfx1101", .product = "Radeon RX 7800 XT", .codename = "ip discovery", .deviceId = 0x747e, .pciRevision = 0xc8, .drmFamily = kFamilyGc11,
     .computeUnits = 60, .simdsPerComputeUnit = 2, .wavesPerSimd = 16, .arrays = 6, .arraysPerEngine = 2, .computeUnitsPerArray = 10,
     .ldsKib = 64, .l1Kib = 32, .l2Kib = 4096, .l3Kib = 65536, .l1LineBytes = 128, .lineBytes = 128,
     .memoryBytes = 17163091968, .memoryBusBits = 256, .memoryMhz = 1218, .engineMhz = 2254,
     .sdmaEngines = 2, .xgmiSdmaEngines = 0, .queuesPerSdmaEngine = 6, .computeQueues = 8, .xccs = 1,
     .firmware = 550, .sdmaFirmware = 24, .asicRevision = 0, .ecc = false, .xgmi = false},
    {.target = "gfx1102", .product = "Radeon RX 7600", .codename = "ip discovery", .deviceId = 0x7480, .pciRevision = 0xcf, .drmFamily = kFamilyGc11,
     .computeUnits = 32, .simdsPerComputeUnit = 2, .wavesPerSimd = 16, .arrays = 4, .arraysPerEngine = 2, .computeUnitsPerArray = 8,
     .ldsKib = 64, .l1Kib = 32, .l2Kib = 2048, .l3Kib = 32768, .l1LineBytes = 128, .lineBytes = 128,
     .memoryBytes = 8176_MiB, .memoryBusBits = 128, .memoryMhz = 1124, .engineMhz = 2655,
     .sdmaEngines = 2, .xgmiSdmaEngines = 0, .queuesPerSdmaEngine = 6, .computeQueues = 8, .xccs = 1,
     .firmware = 550, .sdmaFirmware = 24, .asicRevision = 0, .ecc = false, .xgmi = false},
    // A part of the processor in reality; here a card of its own, with memory of its own.
    {.target = "gfx1151", .product = "Radeon 8060S", .codename = "ip discovery", .deviceId = 0x1586, .pciRevision = 0xc1, .drmFamily = kFamilyGc115,
     .computeUnits = 40, .simdsPerComputeUnit = 2, .wavesPerSimd = 16, .arrays = 4, .arraysPerEngine = 2, .computeUnitsPerArray = 10,
     .ldsKib = 64, .l1Kib = 32, .l2Kib = 2048, .l3Kib = 32768, .l1LineBytes = 128, .lineBytes = 128,
     .memoryBytes = 16_GiB, .memoryBusBits = 256, .memoryMhz = 1000, .engineMhz = 2900,
     .sdmaEngines = 1, .xgmiSdmaEngines = 0, .queuesPerSdmaEngine = 6, .computeQueues = 8, .xccs = 1,
     .firmware = 30, .sdmaFirmware = 14, .asicRevision = 0, .ecc = false, .xgmi = false},
    {.target = "gfx1200", .product = "Radeon RX 9060 XT", .codename = "ip discovery", .deviceId = 0x7590, .pciRevision = 0xc0, .drmFamily = kFamilyGc12,
     .computeUnits = 32, .simdsPerComputeUnit = 2, .wavesPerSimd = 16, .arrays = 4, .arraysPerEngine = 2, .computeUnitsPerArray = 8,
     .ldsKib = 64, .l1Kib = 32, .l2Kib = 4096, .l3Kib = 32768, .l1LineBytes = 128, .lineBytes = 256,
     .memoryBytes = 17095983104, .memoryBusBits = 128, .memoryMhz = 1258, .engineMhz = 3130,
     .sdmaEngines = 2, .xgmiSdmaEngines = 0, .queuesPerSdmaEngine = 6, .computeQueues = 4, .xccs = 1,
     .firmware = 1000, .sdmaFirmware = 24, .asicRevision = 1, .ecc = false, .xgmi = false},
    {.target = "gfx1201", .product = "Radeon RX 9070 XT", .codename = "ip discovery", .deviceId = 0x7550, .pciRevision = 0xc0, .drmFamily = kFamilyGc12,
     .computeUnits = 64, .simdsPerComputeUnit = 2, .wavesPerSimd = 16, .arrays = 8, .arraysPerEngine = 2, .computeUnitsPerArray = 8,
     .ldsKib = 64, .l1Kib = 32, .l2Kib = 8192, .l3Kib = 65536, .l1LineBytes = 128, .lineBytes = 256,
     .memoryBytes = 17095983104, .memoryBusBits = 256, .memoryMhz = 1258, .engineMhz = 2570,
     .sdmaEngines = 2, .xgmiSdmaEngines = 0, .queuesPerSdmaEngine = 6, .computeQueues = 4, .xccs = 1,
     .firmware = 1000, .sdmaFirmware = 24, .asicRevision = 1, .ecc = false, .xgmi = false},
};
// clang-format on

} // namespace

const GpuModel *findGpuModel(std::string_view target) {
  const auto row = std::ranges::find(kModels, target, &GpuModel::target);
  return row == std::end(kModels) ? nullptr : row;
}

DeviceConfig deviceConfig(const isa::Target &target) {
  DeviceConfig config;
  config.target = &target;
  if (const GpuModel *model = findGpuModel(target.name)) {
    config.computeUnits = model->computeUnits;
    config.dies = model->xccs;
    config.shaderArrays = model->arrays;
    config.simdsPerComputeUnit = model->simdsPerComputeUnit;
    config.wavesPerSimd = model->wavesPerSimd;
    config.ldsBytesPerComputeUnit = model->ldsKib * 1024u;
    config.localMemoryBytes = model->memoryBytes;
  }
  return config;
}

} // namespace luthier::vgpu
