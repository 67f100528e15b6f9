// Twins: code that waits as it must and the same with a wait missing or too weak, for every class of mistake and every
// generation. Safe ones must be silent, faulty ones found at the right instruction, with the operation in flight and
// the wait that would do.

#include "analysis/wait_check.h"

#include "code.h"

#include <fmt/format.h>

namespace luthier::analysis::test {
namespace {

constexpr std::string_view kTargets[] = {"gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201"};

/// Assembly of one generation. "@load", "@sload", "@ds", "@flat" and so on are its mnemonics; "@vm(n)", "@lds(n)",
/// "@km(n)" and "@vs(n)" its waits for loads, LDS, scalar memory and stores.
std::string forTarget(std::string text, std::string_view target) {
  const bool gfx12 = target.starts_with("gfx12");
  const bool newNames = gfx12 || target.starts_with("gfx11"), gfx9 = target.starts_with("gfx9");
  const auto replace = [&](std::string_view from, std::string_view to) {
    for (size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size())
      text.replace(at, from.size(), to);
  };
  replace("@load2", newNames ? "global_load_b64" : "global_load_dwordx2");
  replace("@loadlo", newNames ? "global_load_d16_b16" : "global_load_short_d16");
  replace("@loadhi", newNames ? "global_load_d16_hi_b16" : "global_load_short_d16_hi");
  replace("@load", newNames ? "global_load_b32" : "global_load_dword");
  replace("@store", newNames ? "global_store_b32" : "global_store_dword");
  replace("@sload2", newNames ? "s_load_b64" : "s_load_dwordx2");
  replace("@sload", newNames ? "s_load_b32" : "s_load_dword");
  replace("@buffer", newNames ? "buffer_load_b32" : "buffer_load_dword");
  replace("@0", gfx12 ? "null" : "0"); // of a buffer's offset
  replace("@flat", newNames ? "flat_load_b32" : "flat_load_dword");
  replace("@scratch", newNames ? "scratch_load_b32" : "scratch_load_dword");
  replace("@dsread", newNames ? "ds_load_b32" : "ds_read_b32");
  replace("@andn2", newNames ? "s_and_not1" : "s_andn2");
  const auto wait = [&](std::string_view name, std::string_view counter, std::string_view split) {
    for (size_t at; (at = text.find(name)) != text.npos;) {
      const size_t open = at + name.size(), close = text.find(')', open);
      const std::string count = text.substr(open + 1, close - open - 1);
      text.replace(at, close + 1 - at,
                   gfx12 ? fmt::format("s_wait_{} {}", split, count) : fmt::format("s_waitcnt {}({})", counter, count));
    }
  };
  wait("@vm", "vmcnt", "loadcnt");
  wait("@lds", "lgkmcnt", "dscnt");
  wait("@km", "lgkmcnt", "kmcnt");
  if (gfx9)
    wait("@vs", "vmcnt", "");
  else
    for (size_t at; (at = text.find("@vs(")) != text.npos;) {
      const size_t close = text.find(')', at);
      const std::string count = text.substr(at + 4, close - at - 4);
      text.replace(at, close + 1 - at, gfx12 ? "s_wait_storecnt " + count : "s_waitcnt_vscnt null, " + count);
    }
  return text;
}

std::string describe(const WaitFinding &finding, std::span<const Code *const> codes, const isa::Target &target) {
  static constexpr std::string_view kKinds[] = {"reads", "overwrites", "overwrites source", "reads LDS", "returns"};
  const auto index = [&](uint32_t function, const Instr *instr) {
    return fmt::format("{}{}", codes.size() > 1 ? fmt::format("{}.", function) : "",
                       instr ? std::to_string(codes[function]->cfg().indexOf(*instr)) : "?");
  };
  std::string text = index(finding.function, finding.instr) + " ";
  text += kKinds[static_cast<unsigned>(finding.kind)];
  for (const RegRange range : finding.regs)
    text += " " + toString(range);
  text += " of " + (finding.earlier ? index(finding.earlierFunction, finding.earlier) : "a caller") + ":";
  for (const WaitFinding::Need &need : finding.needs)
    text += fmt::format(" {}({})", toString(need.counter, target), need.most);
  return text;
}

std::string check(std::span<const Code *const> codes, std::span<const CheckedFunction> functions) {
  const WaitReport report = checkWaits(codes[0]->target(), functions);
  std::string text;
  for (const WaitFinding &finding : report.findings)
    text += (text.empty() ? "" : "; ") + describe(finding, codes, codes[0]->target());
  return text;
}

std::string check(const Code &code) {
  const Code *codes[] = {&code};
  const CheckedFunction functions[] = {{&code.cfg(), true, false}};
  return check(codes, functions);
}

std::string check(std::string_view source, std::string_view target) {
  const std::string text = forTarget(std::string(source), target);
  SCOPED_TRACE(text);
  return check(Code(text, {.target = target}));
}

struct Twin {
  std::string_view name, safe, faulty;
  /// What is found. Names of counters are those up to gfx11; "lds" and "km" are both lgkmcnt there.
  std::string_view finding;
  bool gfx9 = true, later = true; ///< generations that have it
};

constexpr Twin kTwins[] = {
    {"vector load then use", "@load v1, v[2:3], off\n@vm(0)\nv_add_f32 v0, v0, v1\ns_endpgm",
     "@load v1, v[2:3], off\nv_add_f32 v0, v0, v1\ns_endpgm", "1 reads v1 of 0: vm(0)"},
    {"buffer load then use", "@buffer v1, off, s[0:3], @0\n@vm(0)\nv_mov_b32 v0, v1\ns_endpgm",
     "@buffer v1, off, s[0:3], @0\nv_mov_b32 v0, v1\ns_endpgm", "1 reads v1 of 0: vm(0)"},
    {"as an address", "@load2 v[2:3], v[4:5], off\n@vm(0)\n@load v1, v[2:3], off\ns_endpgm",
     "@load2 v[2:3], v[4:5], off\n@load v1, v[2:3], off\ns_endpgm", "1 reads v[2:3] of 0: vm(0)"},
    {"as data of a store", "@load v1, v[2:3], off\n@vm(0)\n@store v[4:5], v1, off\ns_endpgm",
     "@load v1, v[2:3], off\n@store v[4:5], v1, off\ns_endpgm", "1 reads v1 of 0: vm(0)"},
    {"a wait for the wrong counter", "@load v1, v[2:3], off\n@vm(0)\nv_mov_b32 v0, v1\ns_endpgm",
     "@load v1, v[2:3], off\n@lds(0)\nv_mov_b32 v0, v1\ns_endpgm", "2 reads v1 of 0: vm(0)"},
    {"partial count off by one", "@load v1, v[2:3], off\n@load v4, v[2:3], off\n@vm(1)\nv_mov_b32 v0, v1\ns_endpgm",
     "@load v1, v[2:3], off\n@load v4, v[2:3], off\n@vm(2)\nv_mov_b32 v0, v1\ns_endpgm", "3 reads v1 of 0: vm(1)"},
    {"the younger of two", "@load v1, v[2:3], off\n@load v4, v[2:3], off\n@vm(0)\nv_mov_b32 v0, v4\ns_endpgm",
     "@load v1, v[2:3], off\n@load v4, v[2:3], off\n@vm(1)\nv_mov_b32 v0, v4\ns_endpgm", "3 reads v4 of 1: vm(0)"},
    {"scalar load then use", "@sload s4, s[0:1], 0x0\n@km(0)\ns_add_u32 s5, s4, 1\ns_endpgm",
     "@sload s4, s[0:1], 0x0\ns_add_u32 s5, s4, 1\ns_endpgm", "1 reads s4 of 0: km(0)"},
    {"scalar loads in any order", "@sload s4, s[0:1], 0x0\n@sload s6, s[2:3], 0x0\n@km(0)\ns_mov_b32 s5, s4\ns_endpgm",
     "@sload s4, s[0:1], 0x0\n@sload s6, s[2:3], 0x0\n@km(1)\ns_mov_b32 s5, s4\ns_endpgm", "3 reads s4 of 0: km(0)"},
    {"scalar load then a vector instruction", "@sload s4, s[0:1], 0x0\n@km(0)\nv_mov_b32 v0, s4\ns_endpgm",
     "@sload s4, s[0:1], 0x0\nv_mov_b32 v0, s4\ns_endpgm", "1 reads s4 of 0: km(0)"},
    {"scalar load then overwritten", "@sload s4, s[0:1], 0x0\n@km(0)\ns_mov_b32 s4, 0\ns_endpgm",
     "@sload s4, s[0:1], 0x0\ns_mov_b32 s4, 0\ns_endpgm", "1 overwrites s4 of 0: km(0)"},
    {"scalar load twice", "@sload s4, s[0:1], 0x0\n@km(0)\n@sload s4, s[2:3], 0x0\ns_endpgm",
     "@sload s4, s[0:1], 0x0\n@sload s4, s[2:3], 0x0\ns_endpgm", "1 overwrites s4 of 0: km(0)"},
    {"LDS then use", "@dsread v1, v0\n@lds(0)\nv_mov_b32 v2, v1\ns_endpgm",
     "@dsread v1, v0\nv_mov_b32 v2, v1\ns_endpgm", "1 reads v1 of 0: lds(0)"},
    {"LDS in order", "@dsread v1, v0\n@dsread v4, v0\n@lds(1)\nv_mov_b32 v2, v1\ns_endpgm",
     "@dsread v1, v0\n@dsread v4, v0\n@lds(1)\nv_mov_b32 v2, v4\ns_endpgm", "3 reads v4 of 1: lds(0)"},
    {"LDS then LDS into the same register", "@dsread v1, v0\n@dsread v1, v0\n@lds(0)\ns_endpgm",
     "@dsread v1, v0\nds_bpermute_b32 v2, v0, v1\ns_endpgm", "1 reads v1 of 0: lds(0)"},
    {"FLAT needs both", "@flat v1, v[2:3]\n@vm(0)\n@lds(0)\nv_mov_b32 v0, v1\ns_endpgm",
     "@flat v1, v[2:3]\n@vm(0)\nv_mov_b32 v0, v1\ns_endpgm", "2 reads v1 of 0: lds(0)"},
    {"FLAT needs the other too", "@flat v1, v[2:3]\n@lds(0)\n@vm(0)\nv_mov_b32 v0, v1\ns_endpgm",
     "@flat v1, v[2:3]\n@lds(0)\nv_mov_b32 v0, v1\ns_endpgm", "2 reads v1 of 0: vm(0)"},
    {"FLAT is in no order up to gfx9",
     "@flat v1, v[2:3]\n@load v4, v[2:3], off\n@vm(0)\n@lds(0)\nv_mov_b32 v0, v1\ns_endpgm",
     "@flat v1, v[2:3]\n@load v4, v[2:3], off\n@vm(1)\n@lds(0)\nv_mov_b32 v0, v1\ns_endpgm", "4 reads v1 of 0: vm(0)",
     true, false},
    {"FLAT is in order from gfx10 on",
     "@flat v1, v[2:3]\n@load v4, v[2:3], off\n@vm(1)\n@lds(0)\nv_mov_b32 v0, v1\ns_endpgm",
     "@flat v1, v[2:3]\n@load v4, v[2:3], off\n@vm(2)\n@lds(0)\nv_mov_b32 v0, v1\ns_endpgm", "4 reads v1 of 0: vm(1)",
     false, true},
    {"load then overwritten by the ALU", "@load v1, v[2:3], off\n@vm(0)\nv_mov_b32 v1, 0\ns_endpgm",
     "@load v1, v[2:3], off\nv_mov_b32 v1, 0\ns_endpgm", "1 overwrites v1 of 0: vm(0)"},
    {"load then load of another kind", "@load v1, v[2:3], off\n@vm(0)\n@dsread v1, v0\n@lds(0)\ns_endpgm",
     "@load v1, v[2:3], off\n@dsread v1, v0\n@lds(0)\ns_endpgm", "1 overwrites v1 of 0: vm(0)"},
    {"LDS then load", "@dsread v1, v0\n@lds(0)\n@load v1, v[2:3], off\ns_endpgm",
     "@dsread v1, v0\n@load v1, v[2:3], off\ns_endpgm", "1 overwrites v1 of 0: lds(0)"},
    {"store then its data is overwritten: read when it issues", "@store v[2:3], v1, off\nv_mov_b32 v1, 0\ns_endpgm",
     "@load v1, v[2:3], off\n@store v[2:3], v1, off\ns_endpgm", "1 reads v1 of 0: vm(0)"},
    {"halves of a register",
     "@loadlo v1, v[2:3], off\n@vm(0)\n@loadhi v1, v[2:3], off\n@vm(0)\nv_mov_b32 v0, v1\ns_endpgm",
     "@loadlo v1, v[2:3], off\n@vm(0)\n@loadhi v1, v[2:3], off\nv_mov_b32 v0, v1\ns_endpgm", "3 reads v1 of 2: vm(0)"},
    {"scratch", "@scratch v1, off, s0\n@vm(0)\nv_mov_b32 v0, v1\ns_endpgm",
     "@scratch v1, off, s0\nv_mov_b32 v0, v1\ns_endpgm", "1 reads v1 of 0: vm(0)"},
    {"one side of a branch",
     "@load v1, v[2:3], off\ns_cbranch_scc0 join\n@vm(0)\nv_mov_b32 v0, v1\njoin:\n@vm(0)\nv_mov_b32 v4, v1\ns_endpgm",
     "@load v1, v[2:3], off\ns_cbranch_scc0 join\n@vm(0)\nv_mov_b32 v0, v1\njoin:\nv_mov_b32 v4, v1\ns_endpgm",
     "4 reads v1 of 0: vm(0)"},
    {"fewer behind it on one path",
     "@load v1, v[2:3], off\ns_cbranch_scc0 join\n@load v4, v[2:3], off\njoin:\n@vm(0)\nv_mov_b32 v0, v1\ns_endpgm",
     "@load v1, v[2:3], off\ns_cbranch_scc0 join\n@load v4, v[2:3], off\njoin:\n@vm(1)\nv_mov_b32 v0, v1\ns_endpgm",
     "4 reads v1 of 0: vm(0)"},
    {"around a loop", "loop:\n@vm(0)\nv_add_f32 v0, v0, v1\n@load v1, v[2:3], off\ns_cbranch_scc0 loop\ns_endpgm",
     "loop:\nv_add_f32 v0, v0, v1\n@load v1, v[2:3], off\ns_cbranch_scc0 loop\ns_endpgm", "0 reads v1 of 1: vm(0)"},
    {"other lanes by constants",
     "s_mov_b32 exec_lo, 1\ns_mov_b64 exec, 1\n@load v1, v[2:3], off\ns_mov_b64 exec, 2\nv_mov_b32 v1, 0\ns_endpgm",
     "s_mov_b32 exec_lo, 1\ns_mov_b64 exec, 1\n@load v1, v[2:3], off\ns_mov_b64 exec, 3\nv_mov_b32 v1, 0\ns_endpgm",
     "4 overwrites v1 of 2: vm(0)", true, false},
    {"other lanes by a condition",
     "s_and_saveexec_b64 s[4:5], vcc\n@load v1, v[2:3], off\n@andn2_b64 exec, s[4:5], exec\nv_mov_b32 v1, 0\ns_endpgm",
     "s_and_saveexec_b64 s[4:5], vcc\n@load v1, v[2:3], off\ns_mov_b64 exec, s[4:5]\nv_mov_b32 v1, 0\ns_endpgm",
     "3 overwrites v1 of 1: vm(0)", true, false},
    {"other lanes by a condition, waves of 32",
     "s_and_saveexec_b32 s4, vcc_lo\n@load v1, v[2:3], off\n@andn2_b32 exec_lo, s4, exec_lo\nv_mov_b32 v1, 0\ns_endpgm",
     "s_and_saveexec_b32 s4, vcc_lo\n@load v1, v[2:3], off\ns_mov_b32 exec_lo, s4\nv_mov_b32 v1, 0\ns_endpgm",
     "3 overwrites v1 of 1: vm(0)", false, true},
};

class WaitTwins : public testing::TestWithParam<std::string_view> {};

TEST_P(WaitTwins, SafeIsSilentAndFaultyIsFound) {
  const std::string_view target = GetParam();
  const isa::Target &row = *isa::findTarget(target);
  unsigned count = 0;
  for (const Twin &twin : kTwins) {
    if (!(target.starts_with("gfx9") ? twin.gfx9 : twin.later))
      continue;
    SCOPED_TRACE(twin.name);
    std::string finding(twin.finding);
    for (const auto &[name, counter] : {std::pair("vm(", Counter::Vm), std::pair("km(", Counter::Lgkm),
                                        std::pair("lds(", row.splitCounters ? Counter::Ds : Counter::Lgkm)})
      if (const size_t at = finding.find(name); at != finding.npos)
        finding.replace(at, std::string_view(name).size(), std::string(toString(counter, row)) + "(");
    EXPECT_EQ(check(twin.safe, target), "");
    EXPECT_EQ(check(twin.faulty, target), finding);
    ++count;
  }
  EXPECT_GE(count, 27u);
}

INSTANTIATE_TEST_SUITE_P(Targets, WaitTwins, testing::ValuesIn(kTargets),
                         [](const auto &param) { return std::string(param.param); });

TEST(WaitCheck, LoadsIntoTheSameRegisterAreInOrderUpToGfx11) {
  constexpr std::string_view kTwice = "@load v1, v[2:3], off\n@buffer v1, off, s[0:3], @0\n@vm(0)\ns_endpgm";
  for (const std::string_view target : {"gfx90a", "gfx942", "gfx1030", "gfx1100"})
    EXPECT_EQ(check(kTwice, target), "") << target;
  EXPECT_EQ(check(kTwice, "gfx1201"), "1 overwrites v1 of 0: loadcnt(0)");
}

TEST(WaitCheck, HalvesComeTogetherInTheRegister) {
  constexpr std::string_view kHalves = "@loadlo v1, v[2:3], off\n@loadhi v1, v[2:3], off\n@vm(0)\ns_endpgm";
  EXPECT_EQ(check(kHalves, "gfx900"), "");
  EXPECT_EQ(check(kHalves, "gfx1030"), "");
  // The other half may come from elsewhere, the same half may not: LDS and vector memory are in no order.
  EXPECT_EQ(check("ds_read_u16_d16 v1, v0\nglobal_load_short_d16_hi v1, v[2:3], off\ns_endpgm", "gfx900"), "");
  EXPECT_EQ(check("ds_read_u16_d16 v1, v0\nglobal_load_short_d16 v1, v[2:3], off\ns_endpgm", "gfx900"),
            "1 overwrites v1 of 0: lgkmcnt(0)");
  // An operation on 16 bits may be on the half that is there; one on 32 bits is not.
  constexpr std::string_view kLoads = "global_load_d16_b16 v1, v[2:3], off\nglobal_load_d16_hi_b16 v1, v[2:3], off\n"
                                      "s_waitcnt vmcnt(1)\n";
  EXPECT_EQ(check(std::string(kLoads) + "v_cvt_f32_f16 v0, v1\ns_endpgm", "gfx1100"), "");
  EXPECT_EQ(check(std::string(kLoads) + "v_mov_b32 v0, v1\ns_endpgm", "gfx1100"), "3 reads v1 of 1: vmcnt(0)");
  EXPECT_EQ(check(std::string(kLoads) + "v_pk_add_f16 v0, v1, v1\ns_endpgm", "gfx1100"), "3 reads v1 of 1: vmcnt(0)");
}

TEST(WaitCheck, LdsAndScalarMemoryShareACounterUpToGfx11) {
  constexpr std::string_view kMixed = "@dsread v1, v0\n@sload s4, s[0:1], 0x0\n@lds(1)\nv_mov_b32 v2, v1\ns_endpgm";
  EXPECT_EQ(check(kMixed, "gfx90a"), "3 reads v1 of 0: lgkmcnt(0)");
  EXPECT_EQ(check(kMixed, "gfx1100"), "3 reads v1 of 0: lgkmcnt(0)");
  EXPECT_EQ(check("@dsread v1, v0\n@sload s4, s[0:1], 0x0\n@lds(0)\nv_mov_b32 v2, v1\ns_endpgm", "gfx1201"), "");
}

TEST(WaitCheck, StoresCountWithLoadsUpToGfx9) {
  constexpr std::string_view kStore =
      "@load v1, v[2:3], off\n@store v[2:3], v4, off\n@vm(1)\nv_mov_b32 v0, v1\ns_endpgm";
  EXPECT_EQ(check(kStore, "gfx90a"), "");
  EXPECT_EQ(check(kStore, "gfx1030"), "3 reads v1 of 0: vmcnt(0)");
  EXPECT_EQ(check(kStore, "gfx1201"), "3 reads v1 of 0: loadcnt(0)");
}

TEST(WaitCheck, CountersAreFinite) {
  std::string loads = "global_load_dword v1, v[2:3], off\n";
  for (int n = 0; n < 62; ++n)
    loads += "global_load_dword v4, v[2:3], off\n";
  // 63 in flight is what the counter can hold; with one more, the first is done.
  EXPECT_EQ(check(loads + "v_mov_b32 v0, v1\ns_endpgm", "gfx90a"), "63 reads v1 of 0: vmcnt(62)");
  EXPECT_EQ(check(loads + "global_load_dword v4, v[2:3], off\nv_mov_b32 v0, v1\ns_endpgm", "gfx90a"), "");
  // The largest number of a wait says nothing.
  EXPECT_EQ(check("global_load_dword v1, v[2:3], off\ns_waitcnt vmcnt(63)\nv_mov_b32 v0, v1\ns_endpgm", "gfx90a"),
            "2 reads v1 of 0: vmcnt(0)");
  // LGKM_CNT has 4 bits up to gfx9 and 6 from gfx10 on.
  std::string lds = "ds_read_b32 v1, v0\n";
  for (int n = 0; n < 15; ++n)
    lds += "ds_read_b32 v4, v0\n";
  EXPECT_EQ(check(lds + "v_mov_b32 v2, v1\ns_endpgm", "gfx90a"), "");
  EXPECT_EQ(check(lds + "v_mov_b32 v2, v1\ns_endpgm", "gfx1030"), "16 reads v1 of 0: lgkmcnt(15)");
}

TEST(WaitCheck, LoadThenMatrixInstruction) {
  constexpr std::string_view kMatrix = "v_mfma_f32_4x4x1f32 a[0:3], v0, v1, a[0:3]\ns_endpgm";
  EXPECT_EQ(check(std::string("global_load_dword v1, v[2:3], off\n").append(kMatrix), "gfx90a"),
            "1 reads v1 of 0: vmcnt(0)");
  EXPECT_EQ(check(std::string("global_load_dwordx4 a[0:3], v[2:3], off\n").append(kMatrix), "gfx90a"),
            "1 reads a[0:3] of 0: vmcnt(0)");
  EXPECT_EQ(
      check(std::string("global_load_dwordx4 a[0:3], v[2:3], off\ns_waitcnt vmcnt(0)\n").append(kMatrix), "gfx90a"),
      "");
  EXPECT_EQ(check("global_load_dwordx4 a[0:3], v[2:3], off\nv_mfma_f32_4x4x1f32 a[0:3], v0, v1, 0\ns_endpgm", "gfx90a"),
            "1 overwrites a[0:3] of 0: vmcnt(0)");
}

TEST(WaitCheck, LoadsStraightToLds) {
  constexpr std::string_view kLoad = "s_mov_b32 m0, 0\nbuffer_load_dword off, s[0:3], 0 lds\n";
  EXPECT_EQ(check(std::string(kLoad) + "ds_read_b32 v1, v0\ns_endpgm", "gfx90a"), "2 reads LDS of 1: vmcnt(0)");
  EXPECT_EQ(check(std::string(kLoad) + "s_waitcnt vmcnt(0)\nds_read_b32 v1, v0\ns_endpgm", "gfx90a"), "");
  // Another part of LDS is read while this one is filled.
  EXPECT_EQ(
      check(std::string(kLoad) + "ds_read_b32 v1, v0\ns_waitcnt vmcnt(0)\nds_read_b32 v2, v0\ns_endpgm", "gfx90a"), "");
  EXPECT_EQ(check("s_mov_b32 m0, 0\nglobal_load_lds_dword v[2:3], off\nds_read_b32 v1, v0\ns_endpgm", "gfx942"),
            "2 reads LDS of 1: vmcnt(0)");
}

TEST(WaitCheck, GdsReadsItsSourcesLate) {
  EXPECT_EQ(check("ds_write_b32 v0, v1 gds\nv_mov_b32 v1, 0\ns_endpgm", "gfx908"),
            "1 overwrites source v1 of 0: expcnt(0)");
  EXPECT_EQ(
      check("ds_write_b32 v0, v1 gds\nv_mov_b32 v2, v1\ns_waitcnt expcnt(0)\nv_mov_b32 v1, 0\ns_endpgm", "gfx908"), "");
}

TEST(WaitCheck, OneLoadUsedTwiceIsTwoPlaces) {
  EXPECT_EQ(
      check("global_load_dwordx2 v[0:1], v[2:3], off\nv_mov_b32 v4, v0\nv_mov_b32 v5, v1\nv_mov_b32 v6, v0\ns_endpgm",
            "gfx90a"),
      "1 reads v0 of 0: vmcnt(0); 2 reads v1 of 0: vmcnt(0)");
}

TEST(WaitCheck, KindsOfLoadsHaveCountersOfTheirOwnOnGfx12) {
  EXPECT_EQ(check("image_sample v1, [v2, v3], s[0:7], s[8:11] dmask:0x1 dim:SQ_RSRC_IMG_2D\ns_wait_loadcnt 0x0\n"
                  "v_mov_b32 v0, v1\ns_endpgm",
                  "gfx1201"),
            "2 reads v1 of 0: samplecnt(0)");
  EXPECT_EQ(check("image_sample v1, [v2, v3], s[0:7], s[8:11] dmask:0x1 dim:SQ_RSRC_IMG_2D\ns_wait_samplecnt 0x0\n"
                  "v_mov_b32 v0, v1\ns_endpgm",
                  "gfx1201"),
            "");
  EXPECT_EQ(check("flat_load_b32 v1, v[2:3]\ns_wait_loadcnt_dscnt 0x0\nv_mov_b32 v0, v1\ns_endpgm", "gfx1201"), "");
  EXPECT_EQ(check("flat_load_b32 v1, v[2:3]\ns_wait_loadcnt_dscnt 0x100\nv_mov_b32 v0, v1\ns_endpgm", "gfx1201"),
            "2 reads v1 of 0: loadcnt(0)");
  EXPECT_EQ(check("flat_load_b32 v1, v[2:3]\ns_wait_idle\nv_mov_b32 v0, v1\ns_endpgm", "gfx1201"), "");
}

/// A kernel that calls the function behind it, and that function.
std::string checkCall(std::string_view before, std::string_view behind, std::string_view callee,
                      bool unknownCallers = false) {
  const Code kernel(fmt::format("{}\ns_call_b64 s[30:31], 0x100\n{}\ns_endpgm", before, behind));
  uint64_t target = 0;
  for (const Block &block : kernel.cfg().blocks())
    if (block.call == CallKind::Direct)
      target = block.callTarget;
  const Code function(fmt::format("{}\ns_setpc_b64 s[30:31]", callee), {.kernel = false, .address = target});
  const Code *codes[] = {&kernel, &function};
  const CheckedFunction functions[] = {{&kernel.cfg(), true, false}, {&function.cfg(), false, unknownCallers}};
  return check(codes, functions);
}

TEST(WaitCheck, AcrossCalls) {
  constexpr std::string_view kLoad = "global_load_dword v1, v[2:3], off", kUse = "v_mov_b32 v0, v1",
                             kNothing = "s_nop 0";
  constexpr std::string_view kWait = "s_waitcnt vmcnt(0)";
  const std::string waitAndUse = fmt::format("{}\n{}", kWait, kUse), loadAndWait = fmt::format("{}\n{}", kLoad, kWait);
  // In flight at the call, and waited for by nobody, the callee, the caller.
  EXPECT_EQ(checkCall(kLoad, kNothing, kUse), "1.0 reads v1 of 0.0: vmcnt(0)");
  EXPECT_EQ(checkCall(kLoad, kNothing, waitAndUse), "");
  EXPECT_EQ(checkCall(loadAndWait, kNothing, kUse), "");
  EXPECT_EQ(checkCall(kLoad, kUse, kNothing), "0.2 reads v1 of 0.0: vmcnt(0)");
  EXPECT_EQ(checkCall(kLoad, waitAndUse, kNothing), "");
  EXPECT_EQ(checkCall(kLoad, kUse, kWait), "");
  // In flight at the return.
  EXPECT_EQ(checkCall(kNothing, kUse, kLoad), "0.2 reads v1 of 1.0: vmcnt(0)");
  EXPECT_EQ(checkCall(kNothing, kUse, loadAndWait), "");
}

TEST(WaitCheck, FunctionsOfUnknownCallersKeepToTheConvention) {
  constexpr std::string_view kWait = "s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)";
  EXPECT_EQ(checkCall("s_nop 0", "s_nop 0", fmt::format("{}\nv_mov_b32 v0, v1", kWait), true), "");
  EXPECT_EQ(checkCall("s_nop 0", "s_nop 0", "v_mov_b32 v0, v1", true), "1.0 reads of a caller: vmcnt(0) lgkmcnt(0)");
  EXPECT_EQ(checkCall("s_nop 0", "s_nop 0", "s_waitcnt vmcnt(0)\nv_mov_b32 v0, v1", true),
            "1.1 reads of a caller: lgkmcnt(0)");
  EXPECT_EQ(checkCall("s_nop 0", "s_nop 0", fmt::format("{}\nglobal_load_dword v1, v[2:3], off", kWait), true),
            "1.2 returns v1 of 1.1: vmcnt(0)");
  // Such a function is trusted with the same.
  EXPECT_EQ(check(Code("global_load_dword v1, v[2:3], off\ns_swappc_b64 s[30:31], s[4:5]\nv_mov_b32 v0, v1\ns_endpgm")),
            "");
}

TEST(WaitCheck, SaysWhatItCannotFollow) {
  const Code jump("s_setpc_b64 s[4:5]");
  const CheckedFunction functions[] = {{&jump.cfg(), true, false}};
  const WaitReport report = checkWaits(jump.target(), functions);
  ASSERT_EQ(report.gaps.size(), 1u);
  EXPECT_EQ(report.gaps[0].why, "goes to an unknown place");
  const Code indexed("s_set_gpr_idx_on s4, gpr_idx(SRC0)\nv_mov_b32 v0, v1\ns_set_gpr_idx_off\ns_endpgm");
  const CheckedFunction other[] = {{&indexed.cfg(), true, false}};
  EXPECT_EQ(checkWaits(indexed.target(), other).gaps.size(), 1u);
}

TEST(WaitCheck, SaysWhichWaitIsThere) {
  const Code code("global_load_dword v1, v[2:3], off\ns_waitcnt vmcnt(1)\ns_nop 0\nv_mov_b32 v0, v1\ns_endpgm");
  const CheckedFunction functions[] = {{&code.cfg(), true, false}};
  const WaitReport report = checkWaits(code.target(), functions);
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].wait, &code[1]);
}

} // namespace
} // namespace luthier::analysis::test
