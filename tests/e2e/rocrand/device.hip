// rocRAND's device functions (rocrand_kernel.h), compiled into a kernel of ours: every state type draws from every
// function, the calls mixed so that each finds the state the other left, and each value is compared with a computation
// on the CPU.
//
//   device xorwow|mrg32k3a|mtgp32|philox|sobol32|sobol64
#define ROCRAND_DISABLE_INLINE_ASM // its headers warn that they do so for gfx90a

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <hip/hip_runtime.h>
#include <rocrand/rocrand_kernel.h>

#include "check.h"
#include "engines.h"

using namespace reference;

namespace {

constexpr unsigned Threads = 1024, Rounds = 16;
constexpr float Mean = 0.5, Deviation = 0.25;
constexpr double Lambdas[] = {5.5, 100,
                              5000}; // by multiplication or inversion, by rejection or inversion, by a normal value
constexpr uint64_t Seed = 0x9abcdef0, Offset = 5;

// What a thread draws in a round, in this order.
struct Draws {
  uint64_t bits;
  float uniform;
  double uniformDouble;
  float normal[2];
  double normalDouble[2];
  float logNormal[2];
  double logNormalDouble[2];
  uint32_t discrete;
  uint32_t poisson[3];
};

template <typename State> __device__ void draw(State *state, rocrand_discrete_distribution distribution, Draws *draws) {
  for (unsigned round = 0; round < Rounds; ++round) {
    Draws &d = draws[round];
    d.bits = rocrand(state);
    d.uniform = rocrand_uniform(state);
    d.uniformDouble = rocrand_uniform_double(state);
    for (float &value : d.normal)
      value = rocrand_normal(state);
    for (double &value : d.normalDouble)
      value = rocrand_normal_double(state);
    for (float &value : d.logNormal)
      value = rocrand_log_normal(state, Mean, Deviation);
    for (double &value : d.logNormalDouble)
      value = rocrand_log_normal_double(state, Mean, Deviation);
    d.discrete = rocrand_discrete(state, distribution);
    for (int i = 0; i < 3; ++i)
      d.poisson[i] = rocrand_poisson(state, Lambdas[i]);
  }
}

// A state per thread, each with its own subsequence.
template <typename State> __global__ void drawPseudo(rocrand_discrete_distribution distribution, Draws *draws) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  State state;
  rocrand_init(Seed, thread, Offset, &state);
  draw(&state, distribution, draws + thread * Rounds);
}

// A state per thread, a thousand points apart.
template <typename State, typename Word>
__global__ void drawSobol(const Word *vectors, rocrand_discrete_distribution distribution, Draws *draws) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  State state;
  rocrand_init(vectors, Offset, &state);
  skipahead(1000 * thread, &state);
  draw(&state, distribution, draws + thread * Rounds);
}

// A state per workgroup, in LDS.
__global__ void drawMtgp32(rocrand_state_mtgp32 *states, rocrand_discrete_distribution distribution, Draws *draws) {
  __shared__ rocrand_state_mtgp32 state;
  rocrand_mtgp32_block_copy(&states[blockIdx.x], &state);
  draw(&state, distribution, draws + (blockIdx.x * blockDim.x + threadIdx.x) * Rounds);
}

enum class Kind { Plain, Mrg, Mtgp32, Sobol32, Sobol64 };

// rocRAND 4 (ROCm 7) takes discrete values of MTGP32 from the alias table, except where double arithmetic is slow.
bool mtgp32UsesAlias() {
  static const bool uses = [] {
    hipDeviceProp_t properties;
    HIP_CHECK(hipGetDeviceProperties(&properties, 0));
    const std::string family = std::string(properties.gcnArchName).substr(0, 5);
    return ROCRAND_VERSION >= 400000 && family != "gfx10" && family != "gfx11";
  }();
  return uses;
}

// The same functions on the CPU, over a thread's raw numbers.
class Reference {
public:
  Reference(Kind kind, std::function<uint64_t()> next) : kind_(kind), next_(std::move(next)) {}

  uint64_t bits() {
    const uint64_t x = next_();
    return kind_ == Kind::Mrg ? bitsMrg(uint32_t(x)) : x;
  }
  double uniform() {
    const uint64_t x = next_();
    return kind_ == Kind::Mrg       ? float(uniformMrg(uint32_t(x)))
           : kind_ != Kind::Sobol64 ? uniformFloat(uint32_t(x))
           : Rocm53                 ? float(uniformDouble53(x >> 11))
                                    : uniformFloat(uint32_t(x >> 32));
  }
  double uniformDouble() {
    const uint64_t x = next_();
    switch (kind_) {
    case Kind::Plain:
      return uniformDouble53(x | (next_() >> 11) << 32);
    case Kind::Mrg:
      return uniformMrg(uint32_t(x));
    case Kind::Sobol64:
      return uniformDouble53(x >> 11);
    default:
      return uniformDouble32(uint32_t(x));
    }
  }
  // Box-Muller makes two values; the second is kept for the next call.
  Expected normal() {
    if (inverts()) {
      const uint64_t x = next_();
      if (kind_ != Kind::Sobol64)
        return inverseNormal(uniformFloat(uint32_t(x)), FloatEps);
      if (!Rocm53)
        return inverseNormal(uniformFloat(uint32_t(x >> 32)), FloatEps);
      return rounded(inverseNormal(uniformDouble53(x >> 11), DoubleEps));
    }
    if (keptFloat_)
      return *std::exchange(keptFloat_, std::nullopt);
    uint32_t x[2];
    fill(x);
    const Pair pair = kind_ == Kind::Mrg ? normalMrgFloat(x[0], x[1]) : normalFloat(x[0], x[1]);
    keptFloat_ = pair.cosine;
    return pair.sine;
  }
  // The kept double passes through a function that returns float.
  Expected normalDouble() {
    if (inverts())
      return inverseNormal(uniformDouble(), DoubleEps);
    if (keptDouble_)
      return rounded(*std::exchange(keptDouble_, std::nullopt));
    Pair pair;
    if (kind_ == Kind::Mrg) {
      uint32_t x[2];
      fill(x);
      pair = normalMrgDouble(x[0], x[1]);
    } else {
      uint32_t x[4];
      fill(x);
      pair = reference::normalDouble(x);
    }
    keptDouble_ = pair.cosine;
    return pair.sine;
  }
  uint32_t discrete(const Discrete &tables) {
    const double x = double(bits()) * (kind_ == Kind::Sobol64 ? 0x1p-64 : 0x1p-32);
    const bool cumulates = inverts() && (kind_ != Kind::Mtgp32 || !mtgp32UsesAlias());
    return cumulates ? tables.byCumulation(x) : tables.byAlias(x);
  }
  uint32_t poisson(double lambda) {
    if (lambda > (inverts() ? 1000 : 4000))
      return uint32_t(std::round(std::sqrt(lambda) * normalDouble().value + lambda));
    if (inverts()) { // the smallest k whose cumulated probability reaches u
      const double u = uniformDouble() - 0x1p-33;
      double probability = std::exp(-lambda), sum = probability;
      uint32_t k = 0;
      while (u > sum)
        sum += probability *= lambda / ++k;
      return k;
    }
    return lambda < 64 ? poissonByProduct(lambda) : poissonByRejection(lambda);
  }

private:
  bool inverts() const { return kind_ != Kind::Plain && kind_ != Kind::Mrg; }
  template <size_t N> void fill(uint32_t (&x)[N]) {
    for (uint32_t &number : x)
      number = uint32_t(next_());
  }
  static Expected rounded(Expected x) { return {double(float(x.value)), x.bound + 2 * FloatEps * std::fabs(x.value)}; }

  // Knuth: as many uniform values as can be multiplied before the product is at most e to the -lambda.
  uint32_t poissonByProduct(double lambda) {
    uint32_t k = 0;
    for (double product = uniformDouble(); product > std::exp(-lambda); product *= uniformDouble())
      ++k;
    return k;
  }
  // Atkinson's algorithm PA, 1979: rejection under a logistic envelope.
  uint32_t poissonByRejection(double lambda) {
    const double beta = double(Pi) / std::sqrt(3 * lambda), alpha = beta * lambda;
    const double k = std::log(0.767 - 3.36 / lambda) - lambda - std::log(beta);
    for (;;) {
      const double u = uniformDouble(), x = (alpha - std::log((1 - u) / u)) / beta, n = std::floor(x + 0.5);
      if (n < 0)
        continue;
      const double v = uniformDouble(), y = alpha - beta * x, t = 1 + std::exp(y);
      if (y + std::log(v / (t * t)) <= k + n * std::log(lambda) - std::lgamma(n + 1))
        return uint32_t(n);
    }
  }

  Kind kind_;
  std::function<uint64_t()> next_;
  std::optional<Expected> keptFloat_, keptDouble_;
};

// `source(thread)` gives a thread's raw numbers.
void compare(Kind kind, const std::vector<Draws> &draws, const Discrete &tables,
             const std::function<std::function<uint64_t()>(unsigned)> &source) {
  std::vector<double> uniformDoubles, normalDoubles, logDoubles;
  std::vector<float> uniforms, normals, logs;
  std::vector<uint32_t> discretes, poissons;
  std::vector<Expected> wantUniforms, wantUniformDoubles, wantNormals, wantNormalDoubles, wantLogs, wantLogDoubles,
      wantDiscretes, wantPoissons;
  for (unsigned thread = 0; thread < Threads; ++thread) {
    Reference cpu(kind, source(thread));
    for (unsigned round = 0; round < Rounds; ++round) {
      const Draws &d = draws[thread * Rounds + round];
      if (const uint64_t bits = cpu.bits(); d.bits != bits)
        sample::fail("bits: %#llx, expected %#llx (thread %u, round %u)", (unsigned long long)d.bits,
                     (unsigned long long)bits, thread, round);
      uniforms.push_back(d.uniform);
      wantUniforms.push_back({cpu.uniform()});
      uniformDoubles.push_back(d.uniformDouble);
      wantUniformDoubles.push_back({cpu.uniformDouble()});
      for (float value : d.normal) {
        normals.push_back(value);
        wantNormals.push_back(cpu.normal());
      }
      for (double value : d.normalDouble) {
        normalDoubles.push_back(value);
        wantNormalDoubles.push_back(cpu.normalDouble());
      }
      for (float value : d.logNormal) {
        logs.push_back(value);
        wantLogs.push_back(exponential(scaled(cpu.normal(), Mean, Deviation, FloatEps), FloatEps));
      }
      for (double value : d.logNormalDouble) {
        logDoubles.push_back(value);
        wantLogDoubles.push_back(exponential(scaled(cpu.normalDouble(), Mean, Deviation, DoubleEps), DoubleEps));
      }
      discretes.push_back(d.discrete);
      wantDiscretes.push_back({double(cpu.discrete(tables))});
      for (int i = 0; i < 3; ++i) {
        poissons.push_back(d.poisson[i]);
        wantPoissons.push_back({double(cpu.poisson(Lambdas[i]))});
      }
    }
  }
  std::printf("%-18s %u values: all equal\n", "bits", Threads * Rounds);
  checkValues("uniform float", uniforms, wantUniforms);
  checkValues("uniform double", uniformDoubles, wantUniformDoubles);
  checkValues("normal float", normals, wantNormals);
  checkValues("normal double", normalDoubles, wantNormalDoubles);
  checkValues("log-normal float", logs, wantLogs);
  checkValues("log-normal double", logDoubles, wantLogDoubles);
  checkValues("discrete", discretes, wantDiscretes);
  checkValues("Poisson", poissons, wantPoissons);
}

constexpr unsigned Block = 256, Blocks = Threads / Block;

template <typename State, typename Word>
void checkSobol(Kind kind, rocrand_discrete_distribution distribution, const Discrete &tables) {
  constexpr unsigned Dimension = 3;
  const Sobol<Word> sobol;
  const auto &directions = sobol.directions(Dimension);
  sample::DeviceArray<Word> vectors(std::vector<Word>(directions.begin(), directions.end()));
  sample::DeviceArray<Draws> draws(Threads * Rounds);
  drawSobol<State, Word><<<Blocks, Block>>>(vectors.data(), distribution, draws.data());
  compare(kind, draws.toHost(), tables, [&sobol](unsigned thread) {
    return [&sobol, index = uint32_t(Offset + 1000 * thread)]() mutable -> uint64_t {
      return sobol.point(Dimension, index++);
    };
  });
}

} // namespace

int main(int argc, char **argv) {
  const std::string name = argc == 2 ? argv[1] : "";
  const double probabilities[] = {1, 4, 2, 0.5, 8, 3, 0.25};
  rocrand_discrete_distribution distribution = nullptr;
  if (rocrand_create_discrete_distribution(probabilities, 7, 10, &distribution) != ROCRAND_STATUS_SUCCESS)
    sample::fail("rocrand_create_discrete_distribution");
  const Discrete tables(distribution);
  for (size_t i = 0; i < 7; ++i)
    if (std::fabs(tables.aliasProbabilities()[i] - probabilities[i] / 18.75) > 1e-15)
      sample::fail("discrete tables: probability %zu is %.17g", i, tables.aliasProbabilities()[i]);

  sample::DeviceArray<Draws> draws(Threads * Rounds);
  // Streams of a generator that can jump: stream n is n jumps from the first.
  const auto jumped = [](auto stream, const auto &jump, unsigned thread) {
    for (unsigned i = 0; i < thread; ++i)
      jump(stream);
    for (unsigned i = 0; i < Offset; ++i)
      stream.next();
    return [stream]() mutable -> uint64_t { return stream.next(); };
  };
  if (name == "xorwow") {
    drawPseudo<rocrand_state_xorwow><<<Blocks, Block>>>(distribution, draws.data());
    compare(Kind::Plain, draws.toHost(), tables,
            [&, jump = Xorwow::Jump()](unsigned thread) { return jumped(Xorwow(Seed), jump, thread); });
  } else if (name == "mrg32k3a") {
    drawPseudo<rocrand_state_mrg32k3a><<<Blocks, Block>>>(distribution, draws.data());
    compare(Kind::Mrg, draws.toHost(), tables,
            [&, jump = Mrg32k3a::Jump()](unsigned thread) { return jumped(Mrg32k3a(Seed), jump, thread); });
  } else if (name == "philox") {
    drawPseudo<rocrand_state_philox4x32_10><<<Blocks, Block>>>(distribution, draws.data());
    compare(Kind::Plain, draws.toHost(), tables, [](unsigned thread) {
      return [stream = Philox(Seed, Offset, thread)]() mutable -> uint64_t { return stream.next(); };
    });
  } else if (name == "mtgp32") {
    sample::DeviceArray<rocrand_state_mtgp32> states(Blocks);
    if (rocrand_make_state_mtgp32(states.data(), mtgp32dc_params_fast_11213, Blocks, Seed) != ROCRAND_STATUS_SUCCESS)
      sample::fail("rocrand_make_state_mtgp32");
    drawMtgp32<<<Blocks, Block>>>(states.data(), distribution, draws.data());
    compare(Kind::Mtgp32, draws.toHost(), tables, [](unsigned thread) {
      Mtgp32::Group group(mtgp32dc_params_fast_11213[thread / Block], uint32_t(Seed) + thread / Block + 1);
      return [group, thread]() mutable -> uint64_t {
        uint32_t mine = 0;
        for (unsigned i = 0; i < Block; ++i)
          if (const uint32_t number = group.next(); i == thread % Block)
            mine = number;
        return mine;
      };
    });
  } else if (name == "sobol32" || name == "sobol64") {
    if (name == "sobol32")
      checkSobol<rocrand_state_sobol32, unsigned>(Kind::Sobol32, distribution, tables);
    else
      checkSobol<rocrand_state_sobol64, unsigned long long>(Kind::Sobol64, distribution, tables);
  } else
    sample::fail("usage: device xorwow|mrg32k3a|mtgp32|philox|sobol32|sobol64");
  if (rocrand_destroy_discrete_distribution(distribution) != ROCRAND_STATUS_SUCCESS)
    sample::fail("rocrand_destroy_discrete_distribution");
  return sample::pass();
}
