// The code of a function as it gets written, and what may be executed right before and behind a place in it: guest code
// and inserted code, in this block and in others.
//
// Inserted code makes new neighbours, which may need wait states between them (analysis/hazards.h), or anything at all
// where accesses may be repeated (analysis/replays.h). Blocks are written one after the other. Of two that follow each
// other in execution, whichever is written later sees the other one as it is.
#pragma once

#include "analysis/cfg.h"
#include "rewrite/placement.h"

#include <deque>
#include <vector>

namespace luthier::rewrite {

class Neighbours {
public:
  using Path = std::vector<const Instr *>;

  /// `replays`: memory accesses may be repeated.
  /// `readByVectors`: scalar registers that VALU instructions of the kernel read (analysis/seam_hazards.h).
  Neighbours(const Glue &glue, const analysis::Cfg &cfg, bool replays, const RegSet &readByVectors)
      : glue_(glue), cfg_(cfg), replays_(replays), readByVectors_(readByVectors), written_(cfg.blocks().size()) {}

  void startEntry();               ///< what is inserted before the first block, where calls go
  void startBlock(uint32_t block); ///< in the order of their numbers
  void endBlock();                 ///< with what lies on the way to the next one
  void startEdge(uint32_t to);     ///< on an edge, when all blocks are written

  void add(const Instr &guest) { here_.push_back(&guest); }
  void add(const CodeSequence &inserted);

  /// Adds the wait states that a site needs around it and in it. `next`: number of the guest's instruction behind it.
  void space(PlacedSite &placed, uint32_t next);

  /// Wait states that are missing between code that runs before the function and the function's start.
  unsigned missingBefore(std::span<const Instr *const> code) const;

private:
  struct Paths {
    std::vector<Path> all;
    bool more = false; ///< there were too many
  };
  Paths before() const;
  /// `code` is what is being placed; each path has at least `length` instructions, if there are as many.
  Paths behind(uint32_t next, std::span<const Instr *const> code, size_t length) const;
  void appendHead(Path &path, uint32_t block, size_t length) const;
  void prependTail(Path &path, uint32_t block) const;
  /// What is needed at both ends of a site where s_nop is no cure.
  void cureSeams(PlacedSite &placed, uint32_t next) const;
  /// The waits that code around a hook needs before it reads SGPRs (isa/pending_scalars.h).
  void waitForScalars(PlacedSite &placed) const;
  void finish(PlacedSite &placed) const;
  /// Wait states missing between the two.
  unsigned missing(std::span<const Instr *const> first, std::span<const Instr *const> second) const;

  const Glue &glue_;
  const analysis::Cfg &cfg_;
  bool replays_;
  RegSet readByVectors_;
  std::deque<CodeSequence> inserted_; ///< keeps what the paths refer to
  std::vector<Path> written_;         ///< by block, if anything was inserted there
  Path entry_;
  Path here_; ///< what was written of this block
  uint32_t block_ = 0;
  bool changed_ = false; ///< something was inserted in it
  enum class Place : uint8_t { Entry, Block, Edge } place_ = Place::Entry;
  std::optional<Paths> before_; ///< to the start of this block
};

} // namespace luthier::rewrite
