// The raw numbers of rocRAND's generators, computed on the CPU from the published algorithms. The test programs compare
// what rocRAND's kernels write on the virtual GPU with values made of these numbers. Taken from rocRAND are only the
// facts that are its own: how a seed becomes a state, and the order in which numbers are handed out.
//
// - Philox4x32-10: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011.
// - XORWOW: Marsaglia, "Xorshift RNGs", 2003. Streams are 2^67 apart; the jump is the step's matrix over GF(2), squared
//   67 times.
// - MRG32k3a: L'Ecuyer, "Good parameters and implementations for combined multiple recursive random number generators",
//   1999. Streams are 2^76 apart, as in L'Ecuyer's own RngStreams, by powers of its two 3x3 matrices (rocRAND's
//   documentation says 2^67; its table, whose first entry is 82758667, is that of 2^76).
// - MTGP32: Saito, Matsumoto, "Variants of Mersenne Twister suitable for graphic processors", 2013, with the authors'
//   parameter table for the exponent 11213 (installed with rocRAND as data).
// - Sobol: Antonov, Saleev, "An economic method of computing LP-tau sequences", 1979, with direction numbers from the
//   primitive polynomials of Joe, Kuo, "Constructing Sobol sequences with better two-dimensional projections", 2008.
//
// Order. A kernel fills slots of as many outputs as its distribution makes at once, out of `width` numbers. Slot k of
// a generator's life belongs to stream k modulo 131072 (XORWOW, MRG32k3a), or takes the next numbers of the one
// sequence (Philox). MTGP32 has a sequence per workgroup: see there. Sobol's point i is a function of i.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <rocrand/rocrand_mtgp32_11213.h>

namespace reference {

class Engine {
public:
  virtual ~Engine() = default;
  // The numbers that one rocrand_generate call consumes: `width` per slot, for `full` slots and, if asked for, one more
  // of which only some outputs are wanted.
  virtual std::vector<uint32_t> numbers(size_t full, bool partial, unsigned width) = 0;
};

class Philox final : public Engine {
public:
  // There are 2^64 subsequences; the host API uses the first only.
  Philox(uint64_t seed, uint64_t offset, uint64_t subsequence = 0)
      : key_{uint32_t(seed), uint32_t(seed >> 32)}, subsequence_(subsequence), position_(offset) {}

  std::vector<uint32_t> numbers(size_t full, bool partial, unsigned width) override {
    std::vector<uint32_t> result((full + partial) * width);
    for (uint32_t &number : result)
      number = next();
    return result;
  }

  uint32_t next() {
    if (position_ / 4 != counter_) {
      counter_ = position_ / 4;
      block_ = encrypt(counter_);
    }
    return block_[position_++ % 4];
  }

private:
  std::array<uint32_t, 4> encrypt(uint64_t counter) const {
    std::array<uint32_t, 4> c = {uint32_t(counter), uint32_t(counter >> 32), uint32_t(subsequence_),
                                 uint32_t(subsequence_ >> 32)};
    auto key = key_;
    for (int round = 0; round < 10; ++round) {
      const uint64_t even = uint64_t{0xd2511f53} * c[0], odd = uint64_t{0xcd9e8d57} * c[2];
      c = {uint32_t(odd >> 32) ^ c[1] ^ key[0], uint32_t(odd), uint32_t(even >> 32) ^ c[3] ^ key[1], uint32_t(even)};
      key[0] += 0x9e3779b9; // the golden ratio
      key[1] += 0xbb67ae85; // the square root of three, less one
    }
    return c;
  }

  std::array<uint32_t, 2> key_;
  uint64_t subsequence_;
  uint64_t position_;
  uint64_t counter_ = ~uint64_t{0};
  std::array<uint32_t, 4> block_{};
};

// 131072 streams of a generator with next() and a jump from one stream to the next, used in turn.
template <typename Stream> class Streams final : public Engine {
public:
  static constexpr size_t Count = 131072;

  Streams(uint64_t seed, uint64_t offset) : next_(offset % Count) {
    streams_.reserve(Count);
    const typename Stream::Jump jump;
    Stream stream(seed);
    for (size_t i = 0; i < Count; ++i) {
      streams_.push_back(stream);
      for (uint64_t skip = offset / Count + (i < next_); skip > 0; --skip)
        streams_.back().next();
      jump(stream);
    }
  }

  std::vector<uint32_t> numbers(size_t full, bool partial, unsigned width) override {
    std::vector<uint32_t> result;
    result.reserve((full + partial) * width);
    for (size_t slot = 0; slot < full + partial; ++slot) {
      for (unsigned i = 0; i < width; ++i)
        result.push_back(streams_[next_].next());
      next_ = (next_ + 1) % Count;
    }
    return result;
  }

private:
  size_t next_;
  std::vector<Stream> streams_;
};

class Xorwow {
public:
  using Words = std::array<uint32_t, 5>;

  // Marsaglia's initial values, into which rocRAND mixes the seed.
  explicit Xorwow(uint64_t seed) : words_{123456789, 362436069, 521288629, 88675123, 5783321}, weyl_(6615241) {
    const uint32_t low = 1228688033u * (uint32_t(seed) ^ 0x2c7f967fu);
    const uint32_t high = 2073658381u * (uint32_t(seed >> 32) ^ 0xa03697cbu);
    words_ = {words_[0] + low, words_[1] ^ low, words_[2] + high, words_[3] ^ high, words_[4] + low};
    weyl_ += low + high;
  }

  uint32_t next() {
    step(words_);
    weyl_ += 362437;
    return words_[4] + weyl_;
  }

  // 2^67 steps. The Weyl sequence has the period 2^32, so it stays.
  class Jump {
  public:
    Jump() {
      for (unsigned bit = 0; bit < Bits; ++bit) {
        columns_[bit] = {};
        columns_[bit][bit / 32] = 1u << bit % 32;
        step(columns_[bit]);
      }
      for (int squaring = 0; squaring < 67; ++squaring) {
        auto squared = columns_;
        for (Words &column : squared)
          column = apply(column);
        columns_ = squared;
      }
    }
    void operator()(Xorwow &stream) const { stream.words_ = apply(stream.words_); }

  private:
    static constexpr unsigned Bits = 160;
    Words apply(const Words &v) const {
      Words sum{};
      for (unsigned bit = 0; bit < Bits; ++bit) {
        const uint32_t mask = -(v[bit / 32] >> bit % 32 & 1);
        for (unsigned i = 0; i < 5; ++i)
          sum[i] ^= columns_[bit][i] & mask;
      }
      return sum;
    }
    std::array<Words, Bits> columns_;
  };

private:
  static void step(Words &w) {
    const uint32_t t = w[0] ^ w[0] >> 2;
    w = {w[1], w[2], w[3], w[4], w[4] ^ w[4] << 4 ^ t ^ t << 1};
  }
  Words words_;
  uint32_t weyl_;
};

class Mrg32k3a {
public:
  using Vector = std::array<uint64_t, 3>;
  using Matrix = std::array<Vector, 3>;
  static constexpr uint64_t M1 = 4294967087, M2 = 4294944443;

  explicit Mrg32k3a(uint64_t seed) {
    const uint64_t x = uint32_t(seed) ^ 0x55555555u, y = uint32_t(seed >> 32) ^ 0xaaaaaaaau;
    first_ = {product(x, seed, M1), product(y, seed, M1), product(x, seed, M1)};
    second_ = {product(y, seed, M2), product(x, seed, M2), product(y, seed, M2)};
  }

  // In [1, M1].
  uint32_t next() {
    first_ = apply(FirstStep, first_, M1);
    second_ = apply(SecondStep, second_, M2);
    return uint32_t(first_[2] > second_[2] ? first_[2] - second_[2] : first_[2] + M1 - second_[2]);
  }

  class Jump {
  public:
    Jump() {
      for (int squaring = 0; squaring < 76; ++squaring) {
        first_ = square(first_, M1);
        second_ = square(second_, M2);
      }
    }
    void operator()(Mrg32k3a &stream) const {
      stream.first_ = apply(first_, stream.first_, M1);
      stream.second_ = apply(second_, stream.second_, M2);
    }

  private:
    static Matrix square(const Matrix &a, uint64_t modulus) {
      Matrix result{};
      for (int row = 0; row < 3; ++row)
        for (int column = 0; column < 3; ++column)
          for (int i = 0; i < 3; ++i)
            result[row][column] = (result[row][column] + product(a[row][i], a[i][column], modulus)) % modulus;
      return result;
    }
    Matrix first_ = FirstStep, second_ = SecondStep;
  };

private:
  static constexpr Matrix FirstStep = {{{0, 1, 0}, {0, 0, 1}, {M1 - 810728, 1403580, 0}}};
  static constexpr Matrix SecondStep = {{{0, 1, 0}, {0, 0, 1}, {M2 - 1370589, 0, 527612}}};

  static uint64_t product(uint64_t a, uint64_t b, uint64_t modulus) {
    return uint64_t((unsigned __int128)(a)*b % modulus);
  }
  static Vector apply(const Matrix &a, const Vector &v, uint64_t modulus) {
    Vector result;
    for (int row = 0; row < 3; ++row)
      result[row] =
          (product(a[row][0], v[0], modulus) + product(a[row][1], v[1], modulus) + product(a[row][2], v[2], modulus)) %
          modulus;
    return result;
  }
  Vector first_, second_;
};

// 512 workgroups of 256 threads, each workgroup with its own parameters and sequence. A workgroup's threads draw
// together: draw j gives thread t the number 256 * j + t. Slots go round the workgroups in runs of 256. For a partial
// slot every workgroup draws once more, and thread 1 of the workgroup after the last complete run uses its numbers
// (thread 0 would serve a misaligned head).
class Mtgp32 final : public Engine {
public:
  explicit Mtgp32(uint64_t seed) {
    for (unsigned i = 0; i < Groups; ++i)
      groups_.emplace_back(mtgp32dc_params_fast_11213[i], uint32_t(seed ^ seed >> 32) + i + 1);
  }

  std::vector<uint32_t> numbers(size_t full, bool partial, unsigned width) override {
    std::vector<uint32_t> result((full + partial) * width);
    const size_t runs = (full + Threads - 1) / Threads;
    for (size_t run = 0; run < runs; ++run)
      for (unsigned i = 0; i < width; ++i)
        for (size_t thread = 0; thread < Threads; ++thread) {
          const uint32_t number = groups_[run % Groups].next();
          if (const size_t slot = run * Threads + thread; slot < full)
            result[slot * width + i] = number;
        }
    if (partial)
      for (size_t group = 0; group < Groups; ++group)
        for (unsigned i = 0; i < width; ++i)
          for (size_t thread = 0; thread < Threads; ++thread) {
            const uint32_t number = groups_[group].next();
            if (group == runs % Groups && thread == 1)
              result[full * width + i] = number;
          }
    return result;
  }

  static constexpr size_t Groups = 512, Threads = 256;

  // One workgroup's sequence.
  class Group {
  public:
    Group(const mtgp32_params_fast_t &parameters, uint32_t seed) : p_(parameters) {
      const uint32_t hidden = p_.tbl[4] ^ p_.tbl[8] << 16;
      uint32_t filler = hidden + (hidden >> 16);
      filler = (filler + (filler >> 8) & 0xff) * 0x01010101;
      state_.fill(filler);
      state_[0] = seed;
      state_[1] = hidden;
      for (uint32_t i = 1; i < N; ++i)
        state_[i] ^= 1812433253u * (state_[i - 1] ^ state_[i - 1] >> 30) + i;
    }
    uint32_t next() {
      uint32_t x = (at(0) & p_.mask) ^ at(1);
      x ^= x << p_.sh1;
      const uint32_t y = x ^ at(p_.pos) >> p_.sh2;
      const uint32_t word = y ^ p_.tbl[y & 15];
      uint32_t t = at(p_.pos - 1);
      t ^= t >> 16;
      t ^= t >> 8;
      state_[first_] = word;
      first_ = (first_ + 1) % N;
      return word ^ p_.tmp_tbl[t & 15];
    }

  private:
    static constexpr size_t N = 351;
    uint32_t at(size_t i) const { return state_[(first_ + i) % N]; }
    const mtgp32_params_fast_t &p_;
    std::array<uint32_t, N> state_;
    size_t first_ = 0;
  };

private:
  std::vector<Group> groups_;
};

// The first four dimensions of Sobol's sequence in Gray-code order, as words of 32 or 64 bits.
template <typename Word> class Sobol {
public:
  static constexpr unsigned Dimensions = 4;
  static constexpr unsigned Bits = 8 * sizeof(Word);

  Sobol() {
    // Degree, inner coefficients of the primitive polynomial, initial direction numbers (Joe and Kuo's table,
    // dimensions 2 to 4).
    struct Polynomial {
      unsigned degree, coefficients;
      std::array<Word, 3> initial;
    };
    constexpr Polynomial Polynomials[] = {{1, 0, {1, 0, 0}}, {2, 1, {1, 3, 0}}, {3, 1, {1, 3, 1}}};
    for (unsigned k = 0; k < Bits; ++k)
      directions_[0][k] = Word{1} << (Bits - 1 - k);
    for (unsigned dimension = 1; dimension < Dimensions; ++dimension) {
      const Polynomial &p = Polynomials[dimension - 1];
      auto &v = directions_[dimension];
      for (unsigned k = 0; k < Bits; ++k) {
        if (k < p.degree) {
          v[k] = p.initial[k] << (Bits - 1 - k);
          continue;
        }
        v[k] = v[k - p.degree] ^ v[k - p.degree] >> p.degree;
        for (unsigned i = 1; i < p.degree; ++i)
          if (p.coefficients >> (p.degree - 1 - i) & 1)
            v[k] ^= v[k - i];
      }
    }
  }

  const std::array<Word, Bits> &directions(unsigned dimension) const { return directions_[dimension]; }

  Word point(unsigned dimension, uint32_t index) const {
    Word result = 0;
    for (uint32_t gray = index ^ index >> 1; gray != 0; gray &= gray - 1)
      result ^= directions_[dimension][__builtin_ctz(gray)];
    return result;
  }

private:
  std::array<std::array<Word, Bits>, Dimensions> directions_;
};

} // namespace reference
