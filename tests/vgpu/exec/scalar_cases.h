// Many operands through one scalar instruction in one run: the snippet loops over a table in memory.
#pragma once

#include "harness.h"

#include <functional>
#include <optional>
#include <string>

namespace luthier::vgpu::test {

/// What the instruction sees. Sources are s[8:9] and s[10:11], the destination's old value is in s[16:17].
struct ScalarInput {
  uint64_t a = 0, b = 0, d = 0;
  uint32_t scc = 0;
  uint32_t pad = 0;
};
static_assert(sizeof(ScalarInput) == 32);

struct ScalarOutput {
  uint64_t d;
  uint32_t scc;
  uint32_t pad;
};
static_assert(sizeof(ScalarOutput) == 16);

/// What the manual says should come out; no SCC when the instruction leaves it alone.
struct ScalarResult {
  uint64_t d;
  std::optional<bool> scc;
};

inline std::vector<ScalarOutput> runScalar(const std::string &instruction, const std::vector<ScalarInput> &inputs) {
  ExecTest t;
  const uint64_t in = t.buffer(inputs);
  const uint64_t out = t.buffer(inputs.size() * sizeof(ScalarOutput));
  t.setS64(0, in);
  t.setS64(2, out);
  t.s(4) = static_cast<uint32_t>(inputs.size());
  EXPECT_TRUE(t.run(R"(
    loop:
      s_load_dwordx8 s[8:15], s[0:1], 0x0
      s_waitcnt lgkmcnt(0)
      s_mov_b32 s16, s12
      s_mov_b32 s17, s13
      s_cmp_lg_u32 s14, 0
      )" + instruction +
                    R"(
      s_cselect_b32 s18, 1, 0
      s_store_dwordx2 s[16:17], s[2:3], 0x0
      s_store_dword s18, s[2:3], 0x8
      s_add_u32 s0, s0, 32
      s_addc_u32 s1, s1, 0
      s_add_u32 s2, s2, 16
      s_addc_u32 s3, s3, 0
      s_sub_u32 s4, s4, 1
      s_cmp_lg_u32 s4, 0
      s_cbranch_scc1 loop)"))
      << instruction;
  std::vector<ScalarOutput> outputs(inputs.size());
  memcpy(outputs.data(), reinterpret_cast<const void *>(out), outputs.size() * sizeof(ScalarOutput));
  return outputs;
}

/// Edge values of 32 and 64 bits in each source, with SCC clear and set.
inline std::vector<ScalarInput> edgeInputs(bool second) {
  std::vector<uint64_t> values;
  for (uint32_t edge : kEdgesU32) {
    values.push_back(edge | 0xa5a5a5a500000000); // the high half must not matter to 32-bit operands
    values.push_back(edge);
    values.push_back(uint64_t(edge) << 32);
  }
  values.push_back(~0ull);
  values.push_back(1ull << 63);
  values.push_back(0x7fffffffffffffff);
  std::vector<uint64_t> seconds = {0};
  if (second) {
    seconds = values;
    // Fields of s_bfe: offset in [5:0], width in [22:16].
    for (uint64_t width : {0, 1, 7, 31, 32, 33, 63, 64, 127})
      for (uint64_t offset : {0, 1, 16, 31, 32, 63})
        seconds.push_back(width << 16 | offset | 0xff80ffc0u * (offset & 1));
  }
  std::vector<ScalarInput> inputs;
  for (uint64_t a : values)
    for (uint64_t b : seconds)
      for (uint32_t scc : {0u, 1u})
        inputs.push_back({a, b, 0x0123456789abcdef, scc});
  return inputs;
}

/// Runs `instruction` over `inputs` and compares with `expected`. `wide`: the destination has 64 bits.
inline void checkScalar(const std::string &instruction, bool wide, const std::vector<ScalarInput> &inputs,
                        const std::function<ScalarResult(const ScalarInput &)> &expected) {
  const auto outputs = runScalar(instruction, inputs);
  unsigned failures = 0;
  for (size_t n = 0; n < inputs.size() && failures < 5; ++n) {
    const ScalarInput &in = inputs[n];
    const ScalarResult want = expected(in);
    const uint64_t d = wide ? want.d : (want.d & 0xffffffff) | (in.d & 0xffffffff00000000);
    const bool scc = want.scc.value_or(in.scc != 0);
    EXPECT_EQ(outputs[n].d, d) << instruction << std::hex << " a=" << in.a << " b=" << in.b << " scc=" << in.scc;
    EXPECT_EQ(outputs[n].scc, uint32_t(scc))
        << instruction << std::hex << " a=" << in.a << " b=" << in.b << " scc=" << in.scc;
    failures += outputs[n].d != d || outputs[n].scc != uint32_t(scc);
  }
}

} // namespace luthier::vgpu::test
