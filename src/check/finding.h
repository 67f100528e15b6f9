// Something that a check found wrong, with all that a report says about it.
//
// A finding stands for itself: it is made where code and memory can still be looked at, inside the application, and
// printed by another process when the application may be gone.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace luthier::check {

/// A class of findings: what SARIF calls a rule, and what suppressions name.
struct Rule {
  std::string_view id;
  std::string_view description;
};

namespace rule {
inline constexpr std::string_view kOutOfBounds = "out-of-bounds", kUseAfterFree = "use-after-free",
                                  kNullPointer = "null-pointer", kInvalidAddress = "invalid-address",
                                  kKernelArguments = "kernel-arguments", kLds = "lds-out-of-bounds",
                                  kScratch = "scratch-out-of-bounds", kMisaligned = "misaligned", kLeak = "leak",
                                  kLdsRace = "lds-race", kGlobalRace = "global-race",
                                  kBarrierLanes = "barrier-divergence", kBarrierSkipped = "barrier-skipped",
                                  kBarrierMixed = "barrier-mixed", kBarrierSplit = "barrier-split",
                                  kBarrierStuck = "barrier-stuck", kUninitialisedAddress = "uninitialised-address",
                                  kUninitialisedBranch = "uninitialised-branch",
                                  kUninitialisedAtomic = "uninitialised-atomic",
                                  kUninitialisedStore = "uninitialised-store", kMissingWait = "missing-wait";
} // namespace rule

/// All there are.
std::span<const Rule> rules();

struct CodeLine {
  uint64_t offset = 0; ///< from the beginning of the function
  std::string text;
  bool operator==(const CodeLine &) const = default;
};

/// How much of the code around an instruction a finding has.
inline constexpr size_t kLinesBefore = 4, kLinesBehind = 2;

struct SourcePosition {
  std::string file;
  uint32_t line = 0, column = 0;
  std::string function; ///< as in the source; may be empty
  bool operator==(const SourcePosition &) const = default;
};

/// A return address in the host's code.
struct HostFrame {
  std::string module; ///< path of the program or library
  uint64_t offset = 0;
  std::string function; ///< empty when not known
  bool operator==(const HostFrame &) const = default;
};

/// The memory that an access was probably meant for.
struct Memory {
  uint64_t begin = 0, size = 0;
  std::string what;    ///< "device memory"
  bool exact = true;   ///< false: a buffer of the driver, whose size is a multiple of pages and may hold several things
  uint64_t number = 0; ///< of the allocation in its process, from 1; 0: not counted
  bool freed = false;
  std::vector<HostFrame> allocatedAt, freedAt;
  bool operator==(const Memory &) const = default;
};

struct LaneAddress {
  uint32_t lane = 0;
  uint64_t address = 0;
  bool operator==(const LaneAddress &) const = default;
};

/// Where something is in the code. All empty for findings that are not about code.
struct CodePlace {
  std::string kernel;   ///< as in the source
  std::string symbol;   ///< the same as linked
  std::string function; ///< that the instruction is in, as in the source; empty: the kernel itself
  uint64_t offset = 0;  ///< from the beginning of that function
  uint64_t pc = 0;
  std::vector<CodeLine> code;         ///< around the instruction
  std::vector<SourcePosition> source; ///< innermost function first; empty without debug information
  std::string owner;                  ///< in instrumented code: the kernel itself, or which hook; else empty
  bool operator==(const CodePlace &) const = default;
};

/// The other side of a finding that takes two: what it says of itself, and who that was.
struct OtherSide : CodePlace {
  std::string what; ///< "write of 4 bytes"
  std::array<uint32_t, 3> workgroup{};
  uint32_t wave = 0;
  std::vector<uint32_t> lanes; ///< empty when they are not known
  bool operator==(const OtherSide &) const = default;
};

/// Something that findings of one class say, under a name.
struct Detail {
  std::string name, value;
  bool operator==(const Detail &) const = default;
};

struct Finding : CodePlace {
  std::string rule;
  std::string message; ///< one line

  // Who did it, when it was seen first.
  std::array<uint32_t, 3> grid{}, groupSize{}, workgroup{};
  uint32_t wave = 0, waveSize = 0;
  std::vector<LaneAddress> lanes; ///< empty for scalar instructions
  bool hasAddress = true;         ///< it is about addresses
  uint64_t address = 0;           ///< the first bad one

  std::optional<OtherSide> other;
  std::string missing;            ///< what would have made it right, in a few words; may be empty
  std::vector<std::string> notes; ///< more lines for people
  std::vector<Detail> details;

  std::optional<Memory> memory;
  uint32_t process = 0;
  std::string program;
  uint64_t count = 1; ///< accesses of a wave that are wrong at this place

  /// Findings with the same key are the same place.
  std::string key() const;
  bool operator==(const Finding &) const = default;
};

nlohmann::json toJson(const Finding &finding);
/// Nothing when `value` is not one.
std::optional<Finding> findingFrom(const nlohmann::json &value);

/// Numbers in ascending order as ranges: "0-3, 7".
std::string ranges(const std::vector<uint32_t> &numbers);

} // namespace luthier::check
