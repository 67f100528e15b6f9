// Conversions from and to FP8 and BF8: OCP's on gfx12, FNUZ on gfx942. Expected values come from a table of all 256
// codes, made here from the formats' definitions.

#include "one_instruction.h"

#include <fmt/format.h>

#include <cmath>
#include <vector>

namespace luthier::vgpu::test {
namespace {

struct Format {
  const char *name;
  int fraction, bias;
  bool fnuz;

  double value(unsigned code) const {
    const int exponent = int(code & 0x7f) >> fraction, part = int(code) & ((1 << fraction) - 1);
    const double sign = code & 0x80 ? -1 : 1;
    if (fnuz && code == 0x80)
      return NAN;
    if (!fnuz && fraction == 3 && (code & 0x7f) == 0x7f)
      return NAN;
    if (!fnuz && fraction == 2 && exponent == 31)
      return part ? NAN : sign * INFINITY;
    return exponent ? sign * std::ldexp(1 + std::ldexp(part, -fraction), exponent - bias)
                    : sign * std::ldexp(part, 1 - bias - fraction);
  }
  double greatest() const {
    double most = 0;
    for (unsigned code = 0; code < 128; ++code)
      if (std::isfinite(value(code)))
        most = std::max(most, value(code));
    return most;
  }
  /// The code nearest to x, the even one of two; what overflows is -1.
  int nearest(double x) const {
    int best = 0;
    for (int code = 0; code < 128; ++code) {
      const double distance = std::abs(value(unsigned(code)) - std::abs(x));
      const double least = std::abs(value(unsigned(best)) - std::abs(x));
      if (std::isfinite(value(unsigned(code))) && (distance < least || (distance == least && code % 2 == 0)))
        best = code;
    }
    // Beyond the greatest number by half of its last place, or more.
    const double most = greatest();
    const int below = nextTo(most);
    const double last = most - value(unsigned(below));
    if (std::abs(x) > most + last / 2 || (std::abs(x) == most + last / 2 && (below + 1) % 2 == 1))
      return -1;
    return fnuz && best == 0 ? 0 : best | (std::signbit(x) ? 0x80 : 0);
  }
  /// The code of the number below `most`.
  int nextTo(double most) const {
    int code = 0;
    while (value(unsigned(code + 1)) < most)
      ++code;
    return code;
  }
};

const Format kOcp[] = {{"fp8", 3, 7, false}, {"bf8", 2, 15, false}};
const Format kFnuz[] = {{"fp8", 3, 8, true}, {"bf8", 2, 16, true}};

struct Case {
  const char *target;
  const Format &format;
};
std::vector<Case> cases() {
  return {{"gfx1200", kOcp[0]}, {"gfx1200", kOcp[1]}, {"gfx942", kFnuz[0]}, {"gfx942", kFnuz[1]}};
}
unsigned lanesOf(const Case &c) { return isa::findTarget(c.target)->waveSize; }

TEST(Fp8, ToF32) {
  for (const Case &c : cases())
    for (unsigned first = 0; first < 256; first += 32) {
      LoneWave lone(lanesOf(c));
      Wave &w = *lone.wave;
      for (unsigned lane = 0; lane < 32; ++lane)
        w.v[1][lane] = (first + lane) | (255 - first - lane) << 8;
      ASSERT_NO_FATAL_FAILURE(execute(c.target, lone, fmt::format("v_cvt_f32_{} v0, v1", c.format.name)));
      ASSERT_NO_FATAL_FAILURE(execute(c.target, lone, fmt::format("v_cvt_pk_f32_{} v[2:3], v1", c.format.name)));
      for (unsigned lane = 0; lane < 32; ++lane) {
        const auto same = [&](uint32_t got, unsigned code) {
          const double x = c.format.value(code);
          EXPECT_TRUE(std::isnan(x) ? std::isnan(f32Of(got)) : got == f32Bits(float(x)))
              << c.target << " " << c.format.name << " " << code << ": " << f32Of(got);
        };
        same(w.v[0][lane], first + lane);
        same(w.v[2][lane], first + lane);
        same(w.v[3][lane], 255 - first - lane);
      }
    }
}

/// The byte that op_sel says, whose bits are in reverse; checked on an RDNA4 card by tinygrad's tests.
TEST(Fp8, SelectsAByte) {
  LoneWave lone(32);
  Wave &w = *lone.wave;
  w.v[1][0] = 0x813f7807;
  for (unsigned byte = 0; byte < 4; ++byte) {
    ASSERT_NO_FATAL_FAILURE(execute("gfx1200", lone, fmt::format("v_cvt_f32_fp8_e64 v0, v1 byte_sel:{}", byte)));
    EXPECT_EQ(f32Of(w.v[0][0]), float(kOcp[0].value(w.v[1][0] >> (8 * byte) & 0xff))) << byte;
  }
  ASSERT_NO_FATAL_FAILURE(execute("gfx1200", lone, "v_cvt_pk_f32_bf8_e64 v[2:3], v1 op_sel:[1,0]"));
  EXPECT_EQ(f32Of(w.v[2][0]), float(kOcp[1].value(0x3f)));
  EXPECT_EQ(f32Of(w.v[3][0]), float(kOcp[1].value(0x81)));
  LoneWave wide(64);
  wide.wave->v[1][0] = 0x813f7807;
  ASSERT_NO_FATAL_FAILURE(execute("gfx942", wide, "v_cvt_f32_fp8_sdwa v0, v1 src0_sel:BYTE_2"));
  EXPECT_EQ(f32Of(wide.wave->v[0][0]), float(kFnuz[0].value(0x3f)));
}

/// `word` is x and 1.0 in the low half of a register.
void checkRounded(const Case &c, float x, uint32_t word, bool saturates) {
  SCOPED_TRACE(fmt::format("{} {} {}", c.target, c.format.name, x));
  const unsigned got = word & 0xff;
  EXPECT_EQ(word >> 16, 0xaaaau);
  EXPECT_EQ(c.format.value(word >> 8 & 0xff), 1.0);
  const int nearest = std::isfinite(x) ? c.format.nearest(x) : -1;
  if (std::isnan(x))
    EXPECT_TRUE(std::isnan(c.format.value(got)));
  else if (nearest >= 0)
    EXPECT_EQ(got, unsigned(nearest));
  else if (saturates)
    EXPECT_EQ(c.format.value(got), std::copysign(c.format.greatest(), x));
  else if (!c.format.fnuz && c.format.fraction == 2)
    EXPECT_EQ(c.format.value(got), std::copysign(INFINITY, x));
  else
    EXPECT_TRUE(std::isnan(c.format.value(got)));
}

TEST(Fp8, FromF32) {
  std::mt19937 random(5);
  for (const Case &c : cases()) {
    std::vector<float> values = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1e-30f, 0x1p-149f, 1e30f, -1e30f};
    for (unsigned code = 0; code < 256; ++code) {
      const double x = c.format.value(code), y = c.format.value((code & 0x80) | ((code + 1) & 0x7f));
      if (!std::isfinite(x) || !std::isfinite(y))
        continue;
      const float middle = float((x + y) / 2);
      for (const float v : {float(x), middle, std::nextafter(middle, 1e9f), std::nextafter(middle, -1e9f)})
        values.push_back(v);
    }
    for (unsigned n = 0; n < 2000; ++n)
      values.push_back(std::ldexp(float(int(random() % 65536) - 32768), int(random() % 40) - 36));
    const float most = float(c.format.greatest());
    values.insert(values.end(), {most, std::nextafter(most, 1e9f), most * 1.0625f, most * 1.125f, most * 2, -most * 2});
    const unsigned lanes = lanesOf(c);
    for (const bool saturates : {false, true})
      for (size_t first = 0; first < values.size(); first += lanes) {
        LoneWave lone(lanes);
        Wave &w = *lone.wave;
        w.mode = 0x3f0 | (saturates ? mode::kFp16Overflow : 0);
        for (unsigned lane = 0; lane < lanes; ++lane) {
          w.v[0][lane] = 0xaaaabbbb;
          w.v[1][lane] = f32Bits(values[(first + lane) % values.size()]);
          w.v[2][lane] = f32Bits(1.0f);
        }
        ASSERT_NO_FATAL_FAILURE(execute(c.target, lone, fmt::format("v_cvt_pk_{}_f32 v0, v1, v2", c.format.name)));
        for (unsigned lane = 0; lane < lanes && !testing::Test::HasFailure(); ++lane)
          checkRounded(c, values[(first + lane) % values.size()], w.v[0][lane], saturates);
      }
  }
}

/// Adds the random bits below the last place and cuts off.
TEST(Fp8, StochasticRounding) {
  for (const Case &c : cases()) {
    const auto convert = [&](float x, uint32_t random, unsigned byte = 0) {
      LoneWave lone(lanesOf(c));
      Wave &w = *lone.wave;
      w.v[0][0] = 0x11223344;
      w.v[1][0] = f32Bits(x);
      w.v[2][0] = random;
      const std::string select =
          c.format.fnuz ? fmt::format("op_sel:[0,0,{},{}]", byte & 1, byte >> 1) : fmt::format("byte_sel:{}", byte);
      execute(c.target, lone, fmt::format("v_cvt_sr_{}_f32 v0, v1, v2 {}", c.format.name, byte ? select : ""));
      return w.v[0][0];
    };
    const double step = std::ldexp(1.0, -c.format.fraction); // between 1 and the next number
    const float x = float(1 + step * 0.75);
    EXPECT_EQ(c.format.value(convert(x, 0) & 0xff), 1.0);
    EXPECT_EQ(c.format.value(convert(x, 0x3fffffff) & 0xff), 1.0);
    EXPECT_EQ(c.format.value(convert(x, 0x40000000) & 0xff), 1 + step);
    EXPECT_EQ(c.format.value(convert(1.0f, 0xffffffff) & 0xff), 1.0);
    EXPECT_EQ(c.format.value(convert(0.0f, 0xffffffff) & 0xff), 0.0);
    EXPECT_EQ(convert(1.0f, 0, 2) & 0xff00ffff, 0x11003344u);
    EXPECT_EQ(c.format.value(convert(1.0f, 0, 2) >> 16 & 0xff), 1.0);
    EXPECT_EQ(c.format.value(convert(1.0f, 0, 3) >> 24), 1.0);
  }
}

} // namespace
} // namespace luthier::vgpu::test
