// rocRAND's host API on the virtual GPU: the generator named on the command line makes a million values of every
// distribution, and each is compared with a computation on the CPU (engines.h, distributions.h). Calls follow one
// another without a reset, so the state that a kernel leaves is checked by the next; the odd count leaves a partial
// slot at the end of each.
//
//   sequences xorwow|mrg32k3a|mtgp32|philox|sobol32|sobol64|later [VALUES]
#define ROCRAND_DISABLE_INLINE_ASM // its headers warn that they do so for gfx90a

#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "check.h"
#include "engines.h"

using namespace reference;

#define RAND_CHECK(call)                                                                                               \
  if (const rocrand_status status = (call); status != ROCRAND_STATUS_SUCCESS)                                          \
  sample::fail("%s returned %d", #call, int(status))

namespace {

constexpr double Mean = 0.5, Deviation = 0.25; // of normal distributions: exact in every format
constexpr double Lambda = 5.5;
size_t valuesPerCall = 1'000'000; // and a few

// A rocRAND generator and its generate functions by the type of their values.
class Generator {
public:
  explicit Generator(rocrand_rng_type type) { RAND_CHECK(rocrand_create_generator(&generator_, type)); }
  Generator(const Generator &) = delete;
  Generator &operator=(const Generator &) = delete;
  ~Generator() { rocrand_destroy_generator(generator_); }
  rocrand_generator get() const { return generator_; }

  rocrand_status uniform(uint32_t *data, size_t n) { return rocrand_generate(generator_, data, n); }
  rocrand_status uniform(uint8_t *data, size_t n) { return rocrand_generate_char(generator_, data, n); }
  rocrand_status uniform(uint16_t *data, size_t n) { return rocrand_generate_short(generator_, data, n); }
  rocrand_status uniform(float *data, size_t n) { return rocrand_generate_uniform(generator_, data, n); }
  rocrand_status uniform(double *data, size_t n) { return rocrand_generate_uniform_double(generator_, data, n); }
  rocrand_status uniform(__half *data, size_t n) { return rocrand_generate_uniform_half(generator_, data, n); }
  rocrand_status normal(float *data, size_t n) { return rocrand_generate_normal(generator_, data, n, Mean, Deviation); }
  rocrand_status normal(double *data, size_t n) {
    return rocrand_generate_normal_double(generator_, data, n, Mean, Deviation);
  }
  rocrand_status normal(__half *data, size_t n) {
    return rocrand_generate_normal_half(generator_, data, n, half(Mean), half(Deviation));
  }
  rocrand_status logNormal(float *data, size_t n) {
    return rocrand_generate_log_normal(generator_, data, n, Mean, Deviation);
  }
  rocrand_status logNormal(double *data, size_t n) {
    return rocrand_generate_log_normal_double(generator_, data, n, Mean, Deviation);
  }
  rocrand_status logNormal(__half *data, size_t n) {
    return rocrand_generate_log_normal_half(generator_, data, n, half(Mean), half(Deviation));
  }
  rocrand_status poisson(uint32_t *data, size_t n) { return rocrand_generate_poisson(generator_, data, n, Lambda); }

private:
  static __half half(double value) {
    const auto bits = _Float16(value);
    __half result;
    std::memcpy(&result, &bits, sizeof result);
    return result;
  }
  rocrand_generator generator_ = nullptr;
};

// A distribution of the pseudo-random generators: `outputs` values at once out of `width` numbers.
struct Shape {
  unsigned width, outputs;
};
using Transform = std::function<void(const uint32_t *numbers, Expected *values)>;

class PseudoTest {
public:
  PseudoTest(rocrand_rng_type type, std::unique_ptr<Engine> engine) : generator_(type), engine_(std::move(engine)) {}
  Generator &generator() { return generator_; }

  template <typename T>
  std::vector<T> check(const char *name, rocrand_status (Generator::*generate)(T *, size_t), Shape shape,
                       const Transform &transform) {
    const size_t count = valuesPerCall + 3;
    sample::DeviceArray<T> data(count);
    RAND_CHECK((generator_.*generate)(data.data(), count));
    const std::vector<T> values = data.toHost();
    const size_t full = count / shape.outputs;
    const std::vector<uint32_t> numbers = engine_->numbers(full, full * shape.outputs < count, shape.width);
    std::vector<Expected> expected(numbers.size() / shape.width * shape.outputs);
    for (size_t slot = 0; slot * shape.outputs < expected.size(); ++slot)
      transform(&numbers[slot * shape.width], &expected[slot * shape.outputs]);
    expected.resize(count);
    checkValues(name, values, expected);
    return values;
  }

private:
  Generator generator_;
  std::unique_ptr<Engine> engine_;
};

// The values of a pair's cosine; its sine may be NaN (distributions.h).
std::vector<__half> cosines(const std::vector<__half> &values) {
  std::vector<__half> result;
  for (size_t i = 1; i < values.size(); i += 2)
    result.push_back(values[i]);
  return result;
}

Discrete poissonTables() {
  rocrand_discrete_distribution distribution = nullptr;
  RAND_CHECK(rocrand_create_poisson_distribution(Lambda, &distribution));
  const Discrete tables(distribution);
  const auto alias = tables.aliasProbabilities(), cumulative = tables.cumulativeProbabilities();
  for (uint32_t i = 0; i < tables.size(); ++i) {
    const double k = tables.offset() + i, expected = std::exp(k * std::log(Lambda) - Lambda - std::lgamma(k + 1));
    if (std::fabs(alias[i] - expected) > 1e-10 || std::fabs(cumulative[i] - expected) > 1e-10)
      sample::fail("Poisson tables: probability of %g is %.12g and %.12g, expected %.12g", k, alias[i], cumulative[i],
                   expected);
  }
  RAND_CHECK(rocrand_destroy_discrete_distribution(distribution));
  return tables;
}

void checkPseudo(PseudoTest &test, bool mrg) {
  const auto bits = [mrg](uint32_t x) { return mrg ? bitsMrg(x) : x; };
  const auto uints = test.check<uint32_t>("uint", &Generator::uniform, {1, 1},
                                          [&](const uint32_t *x, Expected *y) { y[0] = {double(bits(x[0]))}; });
  checkMoments("uint", uints, uniformMoments(0, 0x1p32));
  checkUniformity("uint", uints, 0, 0x1p32);
  const auto chars = test.check<uint8_t>("char", &Generator::uniform, {1, 4}, [&](const uint32_t *x, Expected *y) {
    for (int i = 0; i < 4; ++i)
      y[i] = {double(uint8_t(bits(x[0]) >> 8 * i))};
  });
  checkUniformity("char", chars, 0, 256);
  const auto shorts = test.check<uint16_t>("short", &Generator::uniform, {1, 2}, [&](const uint32_t *x, Expected *y) {
    for (int i = 0; i < 2; ++i)
      y[i] = {double(uint16_t(bits(x[0]) >> 16 * i))};
  });
  checkUniformity("short", shorts, 0, 65536);

  const auto floats =
      test.check<float>("uniform float", &Generator::uniform, {1, 1}, [&](const uint32_t *x, Expected *y) {
        y[0] = {mrg ? float(uniformMrg(x[0])) : uniformFloat(x[0])};
      });
  checkMoments("uniform float", floats, uniformMoments(0, 1));
  checkUniformity("uniform float", floats, 0, 1);
  const auto doubles = test.check<double>(
      "uniform double", &Generator::uniform, {mrg ? 1u : 2u, 1}, [&](const uint32_t *x, Expected *y) {
        y[0] = {mrg ? uniformMrg(x[0]) : uniformDouble53(x[0] | uint64_t{x[1] >> 11} << 32)};
      });
  checkMoments("uniform double", doubles, uniformMoments(0, 1));
  checkUniformity("uniform double", doubles, 0, 1);
  const auto halves =
      test.check<__half>("uniform half", &Generator::uniform, {1, 2}, [&](const uint32_t *x, Expected *y) {
        for (int i = 0; i < 2; ++i)
          y[i] = {uniformHalf(uint16_t(bits(x[0]) >> 16 * i))};
      });
  checkMoments("uniform half", halves, uniformMoments(0, 1));

  const auto normalFloats = [mrg](const uint32_t *x) {
    return mrg ? normalMrgFloat(x[0], x[1]) : normalFloat(x[0], x[1]);
  };
  const auto normalDoubles = [mrg](const uint32_t *x) { return mrg ? normalMrgDouble(x[0], x[1]) : normalDouble(x); };
  const auto normalHalves = [&bits](const uint32_t *x) { return normalHalf(bits(x[0])); };
  const auto normal = [](const auto &pair, double eps) -> Transform {
    return [&pair, eps](const uint32_t *x, Expected *y) {
      const Pair z = pair(x);
      y[0] = scaled(z.sine, Mean, Deviation, eps);
      y[1] = scaled(z.cosine, Mean, Deviation, eps);
    };
  };
  const auto logNormal = [&normal](const auto &pair, double eps) -> Transform {
    return [f = normal(pair, eps), eps](const uint32_t *x, Expected *y) {
      f(x, y);
      y[0] = exponential(y[0], eps);
      y[1] = exponential(y[1], eps);
    };
  };
  const unsigned doubleWidth = mrg ? 2 : 4;
  const Moments n = normalMoments(Mean, Deviation), l = logNormalMoments(Mean, Deviation);
  checkMoments("normal float",
               test.check<float>("normal float", &Generator::normal, {2, 2}, normal(normalFloats, FloatEps)), n);
  checkMoments(
      "normal double",
      test.check<double>("normal double", &Generator::normal, {doubleWidth, 2}, normal(normalDoubles, DoubleEps)), n);
  checkMoments("normal half",
               cosines(test.check<__half>("normal half", &Generator::normal, {1, 2}, normal(normalHalves, HalfEps))),
               n);
  checkMoments("log-normal float",
               test.check<float>("log-normal float", &Generator::logNormal, {2, 2}, logNormal(normalFloats, FloatEps)),
               l);
  checkMoments("log-normal double",
               test.check<double>("log-normal double", &Generator::logNormal, {doubleWidth, 2},
                                  logNormal(normalDoubles, DoubleEps)),
               l);
  checkMoments(
      "log-normal half",
      cosines(test.check<__half>("log-normal half", &Generator::logNormal, {1, 2}, logNormal(normalHalves, HalfEps))),
      l);

  const Discrete tables = poissonTables();
  const auto counts = test.check<uint32_t>("Poisson", &Generator::poisson, {1, 1}, [&](const uint32_t *x, Expected *y) {
    y[0] = {double(tables.byAlias(bits(x[0]) * 0x1p-32))};
  });
  checkMoments("Poisson", counts, poissonMoments(Lambda));
}

// Sobol's values come one from each point, dimension after dimension.
template <typename Word> class SobolTest {
public:
  SobolTest(rocrand_rng_type type, unsigned dimensions, uint32_t offset)
      : generator_(type), dimensions_(dimensions), offset_(offset) {
    RAND_CHECK(rocrand_set_quasi_random_generator_dimensions(generator_.get(), dimensions));
    RAND_CHECK(rocrand_set_offset(generator_.get(), offset));
  }

  template <typename T, typename F>
  std::vector<T> check(const char *name, rocrand_status (Generator::*generate)(T *, size_t), const F &transform) {
    const size_t count = valuesPerCall + 4; // of which a quarter leaves a partial slot
    sample::DeviceArray<T> data(count);
    RAND_CHECK((generator_.*generate)(data.data(), count));
    const std::vector<T> values = data.toHost();
    std::vector<Expected> expected;
    for (unsigned dimension = 0; dimension < dimensions_; ++dimension)
      for (size_t i = 0; i < count / dimensions_; ++i)
        expected.push_back(transform(sobol_.point(dimension, offset_ + uint32_t(i))));
    offset_ += uint32_t(count / dimensions_);
    checkValues(name, values, expected);
    return values;
  }

private:
  Generator generator_;
  unsigned dimensions_;
  uint32_t offset_;
  Sobol<Word> sobol_;
};

template <typename Word> void checkSobol(rocrand_rng_type type, unsigned dimensions, uint32_t offset) {
  static constexpr unsigned Bits = 8 * sizeof(Word);
  constexpr bool Wide = Bits == 64;
  std::printf("%u dimensions from point %u:\n", dimensions, offset);
  SobolTest<Word> test(type, dimensions, offset);
  const auto top = [](unsigned bits) { return [bits](Word x) -> Expected { return {double(x >> (Bits - bits))}; }; };
  const auto uints = test.template check<uint32_t>("uint", &Generator::uniform, top(32));
  checkMoments("uint", uints, uniformMoments(0, 0x1p32));
  checkUniformity("uint", uints, 0, 0x1p32);
  checkUniformity("char", test.template check<uint8_t>("char", &Generator::uniform, top(8)), 0, 256);
  checkUniformity("short", test.template check<uint16_t>("short", &Generator::uniform, top(16)), 0, 65536);

  const auto uniformDouble = [](Word x) {
    return Wide ? uniformDouble53(x >> (Wide ? 11 : 0)) : uniformDouble32(uint32_t(x));
  };
  // What functions of 32 bits are given.
  const auto word = [](Word x) { return uint32_t(Wide && !Rocm53 ? uint64_t{x} >> 32 : x); };
  const auto floats = test.template check<float>("uniform float", &Generator::uniform,
                                                 [&](Word x) -> Expected { return {uniformFloat(word(x))}; });
  const auto doubles = test.template check<double>("uniform double", &Generator::uniform,
                                                   [&](Word x) -> Expected { return {uniformDouble(x)}; });
  checkMoments("uniform double", doubles, uniformMoments(0, 1));
  checkUniformity("uniform double", doubles, 0, 1);
  const auto halves = test.template check<__half>("uniform half", &Generator::uniform, [](Word x) -> Expected {
    return {uniformHalf(uint16_t(x >> (Bits - 16)))};
  });
  checkMoments("uniform half", halves, uniformMoments(0, 1));

  const auto normalFloat = [&](Word x) { return inverseNormal(uniformFloat(word(x)), FloatEps); };
  const auto floatOf = [&](Word x) { return scaled(normalFloat(x), Mean, Deviation, FloatEps); };
  const auto doubleOf = [](double p) { return scaled(inverseNormal(p, DoubleEps), Mean, Deviation, DoubleEps); };
  const auto halfOf = [&](Word x) { return scaled(normalFloat(x), Mean, Deviation, HalfEps); };
  const auto normalFloats = test.template check<float>("normal float", &Generator::normal, floatOf);
  const auto normalDoubles = test.template check<double>("normal double", &Generator::normal,
                                                         [&](Word x) { return doubleOf(uniformDouble(x)); });
  const auto normalHalves = test.template check<__half>("normal half", &Generator::normal, halfOf);
  const auto logFloats = test.template check<float>("log-normal float", &Generator::logNormal,
                                                    [&](Word x) { return exponential(floatOf(x), FloatEps); });
  const auto logDoubles = test.template check<double>("log-normal double", &Generator::logNormal, [&](Word x) {
    return exponential(doubleOf(Rocm53 ? uniformDouble32(uint32_t(x)) : uniformDouble(x)), DoubleEps);
  });
  const auto logHalves = test.template check<__half>("log-normal half", &Generator::logNormal,
                                                     [&](Word x) { return exponential(halfOf(x), HalfEps); });
  const Moments n = normalMoments(Mean, Deviation), l = logNormalMoments(Mean, Deviation);
  checkMoments("normal double", normalDoubles, n);
  if (!Wide || !Rocm53) { // what is made of the low half of 64 bits has no useful distribution
    checkMoments("uniform float", floats, uniformMoments(0, 1));
    checkMoments("normal float", normalFloats, n);
    checkMoments("normal half", normalHalves, n);
    checkMoments("log-normal float", logFloats, l);
    checkMoments("log-normal double", logDoubles, l);
    checkMoments("log-normal half", logHalves, l);
  }

  const Discrete tables = poissonTables();
  const auto counts = test.template check<uint32_t>("Poisson", &Generator::poisson, [&](Word x) -> Expected {
    return {double(tables.byCumulation(double(x) * (Wide ? 0x1p-64 : 0x1p-32)))};
  });
  checkMoments("Poisson", counts, poissonMoments(Lambda));
}

// A generator that has no reference here: the moments of its distributions alone.
template <typename T>
void checkMomentsOf(Generator &generator, const char *name, rocrand_status (Generator::*generate)(T *, size_t),
                    const Moments &moments) {
  sample::DeviceArray<T> data(valuesPerCall);
  RAND_CHECK((generator.*generate)(data.data(), valuesPerCall));
  checkMoments(name, data.toHost(), moments);
}

void checkMomentsOf(Generator &generator) {
  const Moments u = uniformMoments(0, 1), n = normalMoments(Mean, Deviation), l = logNormalMoments(Mean, Deviation);
  checkMomentsOf<uint32_t>(generator, "uint", &Generator::uniform, uniformMoments(0, 0x1p32));
  checkMomentsOf<float>(generator, "uniform float", &Generator::uniform, u);
  checkMomentsOf<double>(generator, "uniform double", &Generator::uniform, u);
  checkMomentsOf<float>(generator, "normal float", &Generator::normal, n);
  checkMomentsOf<double>(generator, "normal double", &Generator::normal, n);
  checkMomentsOf<float>(generator, "log-normal float", &Generator::logNormal, l);
  checkMomentsOf<double>(generator, "log-normal double", &Generator::logNormal, l);
  checkMomentsOf<uint32_t>(generator, "Poisson", &Generator::poisson, poissonMoments(Lambda));
}

// Generators that later versions have, by number, as the header of 5.3.3 does not name them: that one must refuse them.
void checkLater() {
  struct {
    const char *name;
    int type;
  } constexpr Later[] = {{"MRG31K3P", 405},        {"LFSR113", 406},           {"MT19937", 407},
                         {"THREEFRY2_32_20", 408}, {"THREEFRY2_64_20", 409},   {"THREEFRY4_32_20", 410},
                         {"THREEFRY4_64_20", 411}, {"SCRAMBLED_SOBOL32", 502}, {"SCRAMBLED_SOBOL64", 505}};
  for (const auto &[name, type] : Later) {
    if (!Rocm53) {
      std::printf("%s:\n", name);
      Generator generator{rocrand_rng_type(type)};
      checkMomentsOf(generator);
      continue;
    }
    rocrand_generator generator = nullptr;
    if (const auto status = rocrand_create_generator(&generator, rocrand_rng_type(type));
        status != ROCRAND_STATUS_TYPE_ERROR)
      sample::fail("%s: rocrand_create_generator returned %d, expected a refusal", name, int(status));
    std::printf("%-18s refused by this version\n", name);
  }
}

} // namespace

int main(int argc, char **argv) {
  const std::string name = argc > 1 ? argv[1] : "";
  if (argc > 2)
    valuesPerCall = size_t(std::atoi(argv[2]));
  constexpr uint64_t Seed = 0x123456789abcdef0, Offset = 3 * 131072 + 77;
  const auto pseudo = [](rocrand_rng_type type, uint64_t seed, std::optional<uint64_t> offset,
                         std::unique_ptr<Engine> engine) {
    PseudoTest test(type, std::move(engine));
    RAND_CHECK(rocrand_set_seed(test.generator().get(), seed));
    if (offset)
      RAND_CHECK(rocrand_set_offset(test.generator().get(), *offset));
    checkPseudo(test, type == ROCRAND_RNG_PSEUDO_MRG32K3A);
  };
  if (name == "xorwow")
    pseudo(ROCRAND_RNG_PSEUDO_XORWOW, Seed, Offset, std::make_unique<Streams<Xorwow>>(Seed, Offset));
  else if (name == "mrg32k3a") // products with larger seeds overflow in rocRAND
    pseudo(ROCRAND_RNG_PSEUDO_MRG32K3A, uint32_t(Seed), Offset,
           std::make_unique<Streams<Mrg32k3a>>(uint32_t(Seed), Offset));
  else if (name == "mtgp32")
    pseudo(ROCRAND_RNG_PSEUDO_MTGP32, Seed, std::nullopt, std::make_unique<Mtgp32>(Seed));
  else if (name == "philox")
    pseudo(ROCRAND_RNG_PSEUDO_PHILOX4_32_10, Seed, Offset, std::make_unique<Philox>(Seed, Offset));
  else if (name == "sobol32") {
    checkSobol<uint32_t>(ROCRAND_RNG_QUASI_SOBOL32, 1, 0);
    checkSobol<uint32_t>(ROCRAND_RNG_QUASI_SOBOL32, 4, 1000);
  } else if (name == "sobol64") {
    checkSobol<uint64_t>(ROCRAND_RNG_QUASI_SOBOL64, 1, 0);
    checkSobol<uint64_t>(ROCRAND_RNG_QUASI_SOBOL64, 4, 1000);
  } else if (name == "later")
    checkLater();
  else
    sample::fail("usage: sequences xorwow|mrg32k3a|mtgp32|philox|sobol32|sobol64|later [VALUES]");
  return sample::pass();
}
