// Half precision: __half and packed __half2 arithmetic on an array of structs. Add, subtract, multiply and fused
// multiply-add must match the host bit for bit; division and square root may be off by one unit in the last place.
#include "sample.h"

#include <hip/hip_fp16.h>

#include <algorithm>
#include <cmath>
#include <cstring>

struct Input {
  __half2 a, b;
  __half c;
  short exponent;
};

struct Output {
  __half2 sum, difference, product, fused;
  __half quotient, root, scaled, smallest;
  int comparisons;
};

__global__ void compute(const Input *in, Output *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  Input x = in[i];
  Output y;
  y.sum = __hadd2(x.a, x.b);
  y.difference = __hsub2(x.a, x.b);
  y.product = __hmul2(x.a, x.b);
  y.fused = __hfma2(x.a, x.b, __half2half2(x.c));
  y.quotient = __hdiv(__low2half(x.a), __high2half(x.b));
  y.root = hsqrt(__habs(x.c));
  y.scaled = __float2half(ldexpf(__half2float(x.c), x.exponent));
  y.smallest = __hlt(__low2half(x.a), __low2half(x.b)) ? __low2half(x.a) : __low2half(x.b);
  y.comparisons = __heq(x.c, x.c) + 2 * __hgt(__low2half(x.a), __high2half(x.a)) + 4 * __hle(__low2half(x.b), x.c);
  out[i] = y;
}

// Half-precision numbers as the host sees them: their bits.
using Bits = uint16_t;

Bits bitsOf(__half value) {
  Bits bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

float toFloat(Bits bits) {
  float magnitude = (bits & 0x7c00) ? std::ldexp(float((bits & 0x3ff) | 0x400), (bits >> 10 & 31) - 25)
                                    : std::ldexp(float(bits & 0x3ff), -24);
  return bits & 0x8000 ? -magnitude : magnitude;
}

// Rounds to the nearest half, ties to even; subnormals are kept. The samples stay below infinity.
Bits toHalf(double value) {
  Bits sign = std::signbit(value) ? 0x8000 : 0;
  double magnitude = std::abs(value);
  int exponent = std::max(magnitude > 0 ? std::ilogb(magnitude) : -15, -14);
  auto mantissa = unsigned(std::nearbyint(std::ldexp(magnitude, 10 - exponent)));
  // A mantissa that rounds up to 2048 carries into the exponent field by the addition.
  return sign | (mantissa < 0x400 ? mantissa : ((exponent + 14) << 10) + mantissa);
}

__half makeHalf(double value) {
  Bits bits = toHalf(value);
  __half result;
  std::memcpy(&result, &bits, sizeof bits);
  return result;
}

int ulpsApart(Bits a, Bits b) { return std::abs(int(a & 0x7fff) - int(b & 0x7fff)) + ((a ^ b) & 0x8000); }

void expect(const char *what, int i, __half got, double exact, int ulps = 0) {
  Bits expected = toHalf(exact);
  if (ulpsApart(bitsOf(got), expected) > ulps)
    sample::fail("%s of element %d is %#x, expected %#x", what, i, bitsOf(got), expected);
}

int main(int argc, char **argv) {
  int n = sample::sizeArgument(argc, argv, 20'000);
  sample::Random random;
  auto number = [&] { return makeHalf(random.uniform(-1, 1) * std::ldexp(1.0, int(random.below(14)) - 7)); };
  std::vector<Input> in(n);
  for (Input &x : in) {
    x.a = __half2(number(), number());
    x.b = __half2(number(), number());
    x.c = number();
    x.exponent = short(random.below(12)) - 20; // far enough to reach subnormal results
  }

  sample::DeviceArray<Input> deviceIn(in);
  sample::DeviceArray<Output> deviceOut(n);
  compute<<<(n + 127) / 128, 128>>>(deviceIn.data(), deviceOut.data(), n);
  HIP_CHECK(hipGetLastError());

  std::vector<Output> out = deviceOut.toHost();
  for (int i = 0; i < n; ++i) {
    const Output &y = out[i];
    double a[2] = {toFloat(bitsOf(__low2half(in[i].a))), toFloat(bitsOf(__high2half(in[i].a)))};
    double b[2] = {toFloat(bitsOf(__low2half(in[i].b))), toFloat(bitsOf(__high2half(in[i].b)))};
    double c = toFloat(bitsOf(in[i].c));
    auto pick = [](const __half2 &pair, int half) { return half ? __high2half(pair) : __low2half(pair); };
    for (int half = 0; half < 2; ++half) {
      expect("sum", i, pick(y.sum, half), a[half] + b[half]);
      expect("difference", i, pick(y.difference, half), a[half] - b[half]);
      expect("product", i, pick(y.product, half), a[half] * b[half]);
      expect("fused multiply-add", i, pick(y.fused, half), a[half] * b[half] + c);
    }
    // The quotient of the largest by the smallest inputs may leave the range of a half.
    if (double quotient = a[0] / b[1]; std::abs(quotient) < 65504)
      expect("quotient", i, y.quotient, quotient, 1);
    expect("root", i, y.root, std::sqrt(std::abs(c)), 1);
    expect("scaled", i, y.scaled, std::ldexp(c, in[i].exponent));
    expect("smallest", i, y.smallest, a[0] < b[0] ? a[0] : b[0]);
    if (int expected = 1 + 2 * (a[0] > a[1]) + 4 * (b[0] <= c); y.comparisons != expected)
      sample::fail("comparisons of element %d are %d, expected %d", i, y.comparisons, expected);
  }
  std::printf("%d structs of halves computed; the last sum is (%g, %g)\n", n,
              toFloat(bitsOf(__low2half(out[n - 1].sum))), toFloat(bitsOf(__high2half(out[n - 1].sum))));
  return sample::pass();
}
