// The small language of `luthier instrument --at`: where a hook goes, and what it is given.
//
//   before global_store_*: record(address, width, exec)
//   block-entry: count(block_size)
//   after v_add_f32 in scale L3: clamp(op0) -> op0
//   edge L0->L2: taken()
//   before loads every 16 together: record(address)
//   remove 0x1a40
//
// kSiteSpecHelp is the whole of it, for people. Parsing knows nothing of a kernel; sitesOf() then finds the places that
// a text means in one.
#pragma once

#include "rewrite/rewriter.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace luthier::cli {

extern const std::string_view kSiteSpecHelp;

struct SiteSpec {
  /// Which instructions, blocks, edges or functions.
  struct What {
    enum class Kind : uint8_t { All, Address, Pattern, Class, Block, Edge, Function, Loops };
    enum class OfLoop : uint8_t { Header, Entry, Back, Exit };
    Kind kind = Kind::All;
    uint64_t address = 0;
    uint32_t block = 0, to = 0; ///< Block; Edge: from and to
    OfLoop ofLoop = {};         ///< Loops: blocks or edges of all loops
    std::string name;           ///< of Pattern, Class, Function
  };
  struct Argument {
    bool blockSize = false; ///< the number of instructions of the block
    rewrite::Argument argument;
  };

  std::string text;
  rewrite::Position position = rewrite::Position::Before;
  std::vector<What> what;
  std::string function;          ///< empty: any
  std::optional<uint32_t> block; ///< instructions of this one only
  std::string hook;              ///< empty: none (remove), or assembly
  std::optional<rewrite::Assembly> assembly;
  size_t hookColumn = 0;
  std::vector<Argument> arguments;
  std::string predicate; ///< a hook that decides whether it runs; empty: it does
  size_t predicateColumn = 0;
  std::vector<Argument> predicateArguments;
  RegRange result = {};
  std::optional<unsigned> resultOperand; ///< the register of this operand instead
  rewrite::Sampling sampling;            ///< with a counter: that of all of its places
};

/// Errors show the text with a mark at the place.
Result<SiteSpec> parseSiteSpec(std::string_view text);
/// An error about a place in the text.
Error errorAt(std::string_view text, size_t column, std::string_view message);

struct FoundSite {
  rewrite::Insertion insertion;
  std::string rejected; ///< why it cannot even be asked for
};
/// The places in a kernel and the functions that it can reach, in the order of the code. None is no error: a text may
/// be meant for other kernels.
Result<std::vector<FoundSite>> sitesOf(const SiteSpec &spec, rewrite::Rewriter &rewriter, const object::Symbol &kernel,
                                       const std::shared_ptr<const hook::HookModule> &hooks);

} // namespace luthier::cli
