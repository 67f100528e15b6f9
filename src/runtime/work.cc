#include "luthier/work.h"

#include "luthier/memory_space_name.h"

#include <cstdlib>
#include <string_view>

namespace luthier {

namespace {

struct Row {
  std::string_view operation;
  unsigned flops;
};
// Without "v_", "pk_" and the type.
constexpr Row kOperations[] = {
    {"add", 1},         {"sub", 1},        {"subrev", 1},     {"mul", 1},       {"mul_legacy", 1}, {"rcp", 1},
    {"rcp_iflag", 1},   {"rsq", 1},        {"sqrt", 1},       {"exp", 1},       {"exp_legacy", 1}, {"log", 1},
    {"log_legacy", 1},  {"sin", 1},        {"cos", 1},        {"fma", 2},       {"fmac", 2},       {"mad", 2},
    {"mac", 2},         {"fmamk", 2},      {"fmaak", 2},      {"madmk", 2},     {"madak", 2},      {"fma_legacy", 2},
    {"fmac_legacy", 2}, {"mad_legacy", 2}, {"mac_legacy", 2}, {"div_fmas", 2},  {"fma_mix", 2},    {"fma_mixlo", 2},
    {"fma_mixhi", 2},   {"mad_mix", 2},    {"mad_mixlo", 2},  {"mad_mixhi", 2},
};
constexpr std::string_view kTypes[] = {"bf16", "f16", "f32", "f64"};

bool takePrefix(std::string_view &text, std::string_view prefix) {
  if (!text.starts_with(prefix))
    return false;
  text.remove_prefix(prefix.size());
  return true;
}

uint64_t takeNumber(std::string_view &text) {
  uint64_t value = 0;
  while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
    value = value * 10 + static_cast<uint64_t>(text.front() - '0');
    text.remove_prefix(1);
  }
  return value;
}

unsigned bytesOfType(std::string_view type) {
  return type == "f64" ? 8 : type == "f32" || type == "xf32" ? 4 : type == "fp8" || type == "bf8" ? 1 : 2;
}

/// v_mfma_f32_32x32x8f16: M x N x K of the type behind, in as many blocks as the first operand's registers, of 64
/// lanes, have room for. v_wmma_* are one block. Of sparse ones (v_smfmac_*, v_swmmac_*), whose first operand has no
/// zeros, K counts them: half of the products are made.
void matrixWork(std::string_view name, const Instr &instr, Work &work) {
  const bool sparse = name.starts_with("s"), oneBlock = sparse || name.starts_with("wmma");
  name.remove_prefix(name.find('_') + 1);
  name.remove_prefix(name.find('_') + 1);
  const uint64_t m = takeNumber(name);
  takePrefix(name, "x");
  const uint64_t n = takeNumber(name);
  takePrefix(name, "x");
  const uint64_t k = takeNumber(name);
  takePrefix(name, "_");
  if (const size_t blocks = name.find("b_"); blocks != std::string_view::npos && blocks <= 2 && name[0] <= '9')
    name.remove_prefix(blocks + 2); // the number of blocks: v_mfma_f32_4x4x4_16b_f16
  const std::string_view type = name.substr(0, name.find('_'));
  if (type != "f16" && type != "bf16" && type != "f32" && type != "f64" && type != "xf32" && type != "fp8" &&
      type != "bf8")
    return; // integers
  const std::span<const Operand> operands = instr.operands();
  if (operands.size() < 2 || m == 0 || k == 0)
    return;
  const uint64_t elements = 64ull * operands[1].regs.count * 4 / bytesOfType(type);
  work.flopType = type;
  work.flopsPerWave = 2 * m * n * k * (oneBlock ? 1 : elements / (m * k)) / (sparse ? 2 : 1);
}

void countFlops(std::string_view name, const Instr &instr, Work &work) {
  if (name.starts_with("v_mfma_") || name.starts_with("v_wmma_") || name.starts_with("v_smfmac_") ||
      name.starts_with("v_swmmac_"))
    return matrixWork(name.substr(2), instr, work);
  const size_t underscore = name.rfind('_');
  if (underscore == std::string_view::npos)
    return;
  const std::string_view type = name.substr(underscore + 1);
  bool known = false;
  for (const std::string_view candidate : kTypes)
    known |= candidate == type;
  if (!known)
    return;
  std::string_view operation = name.substr(0, underscore);
  unsigned flops = 0;
  if (instr.is(Property::Atomic)) {
    flops = operation.ends_with("pk_add") ? 2 : operation.ends_with("_add") || operation.ends_with("_add_rtn") ? 1 : 0;
  } else if (takePrefix(operation, "v_")) {
    takePrefix(operation, "dual_");
    if (operation.starts_with("dot2")) {
      flops = 4;
    } else {
      const unsigned parts = takePrefix(operation, "pk_") ? 2 : 1;
      for (const Row &row : kOperations)
        if (row.operation == operation)
          flops = row.flops * parts;
    }
  }
  if (flops == 0)
    return;
  work.flopType = type;
  work.flopsPerLane += flops;
}

/// "scalar" alone is the kind of arithmetic.
std::string_view memoryName(MemorySpace space) {
  return space == MemorySpace::Scalar ? "scalar memory" : nameOf(space);
}

std::string_view kindOf(const Instr &instr) {
  if (instr.is(Property::Matrix))
    return "matrix";
  if (instr.memorySpace() != MemorySpace::None)
    return memoryName(instr.memorySpace());
  if (instr.is(Property::Wait))
    return "wait";
  if (instr.is(Property::Barrier))
    return "barrier";
  if (instr.is(Property::Message))
    return "message";
  if (instr.is(Property::Branch) || instr.is(Property::IndirectBranch) || instr.is(Property::Call) ||
      instr.is(Property::EndProgram))
    return "branch";
  if (instr.is(Property::Vector))
    return "vector";
  return instr.is(Property::Scalar) ? "scalar" : "other";
}

} // namespace

Work workOf(const Instr &instr, std::string_view text) {
  Work work;
  work.kind = kindOf(instr);
  countFlops(instr.mnemonic(), instr, work);
  if (const size_t second = text.find(" :: "); instr.is(Property::Dual) && second != std::string_view::npos) {
    text.remove_prefix(second + 4);
    countFlops(text.substr(0, text.find(' ')), instr, work);
  }
  const std::optional<MemoryAccess> access = instr.memory();
  if (!access || !(access->load || access->store || access->atomic))
    return work;
  work.byteType = std::string(memoryName(access->space)) + (access->atomic  ? " atomic"
                                                            : access->store ? " store"
                                                                            : " load");
  const uint64_t bytes = static_cast<uint64_t>(access->bytes) * (access->two ? 2 : 1);
  (access->space == MemorySpace::Scalar ? work.bytesPerWave : work.bytesPerLane) = bytes;
  return work;
}

} // namespace luthier
