// Puts pieces of code in a row and makes branches between them reach.
//
// Branches have a distance of 16 bits, in dwords: 128 KB each way. Code that grows beyond that gets islands: places
// with branches on behalf of others, which hop from island to island. They need no register and change no state.
//
// Some hardware cannot branch by a certain distance: an s_nop before the target makes it another one.
#pragma once

#include "rewrite/variant.h"
#include "support/result.h"

#include <span>
#include <vector>

namespace luthier::rewrite {

class Layout {
public:
  using Label = uint32_t;

  Label newLabel();
  /// What is added next is where the label is.
  void bind(Label label);

  /// `original`, `site` and `note` are what CodeRange says of them.
  void add(std::span<const uint8_t> bytes, CodeRange::Kind kind, uint64_t original, uint32_t site = UINT32_MAX,
           uint32_t note = UINT32_MAX);
  /// From what has been added last to what is added next there are distances that are fixed: nothing may come between.
  void glue() { glued_ = true; }
  /// A branch or s_call_b64: four bytes, whose lower half will be the distance.
  void addBranch(std::span<const uint8_t> bytes, Label to, CodeRange::Kind kind, uint64_t original,
                 uint32_t site = UINT32_MAX, uint32_t note = UINT32_MAX);
  /// What has been added last, to be changed later: `bytes` are as many as it has.
  using Place = uint32_t;
  Place lastPlace() const { return static_cast<Place>(items_.size() - 1); }
  void replace(Place place, std::span<const uint8_t> bytes);
  /// At `offset` from the end of what has been added last: negative.
  void addRelocation(CodeRelocation relocation, int64_t offset);

  struct Result {
    std::vector<uint8_t> code;
    std::vector<CodeRelocation> relocations;
    std::vector<CodeRange> ranges;
    std::vector<uint64_t> labels; ///< offsets, by number
  };
  /// `branch` is the encoding of s_branch with distance 0. `reach` is how far branches may go, in bytes. `forbidden`: a
  /// distance in dwords that no branch may have; 0: there is none such.
  luthier::Result<Result> finish(uint32_t branch, uint64_t reach = kReach, uint32_t forbidden = 0);
  static constexpr uint64_t kReach = 0x7fff * 4;

private:
  struct Item {
    uint64_t begin = 0, size = 0; ///< in bytes_
    CodeRange::Kind kind{};
    uint64_t original = 0;
    uint32_t site = UINT32_MAX, note = UINT32_MAX;
    bool glued = false; ///< to the one before
  };
  struct Jump {
    uint32_t item = 0; ///< whose last four bytes it is
    Label to = 0;
  };
  bool glued_ = false;
  std::vector<uint8_t> bytes_;
  std::vector<Item> items_;
  std::vector<Jump> jumps_;
  std::vector<uint32_t> labels_; ///< the item that each is before
  std::vector<CodeRelocation> relocations_;
};

} // namespace luthier::rewrite
