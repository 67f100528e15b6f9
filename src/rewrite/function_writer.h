// Writes one function of a variant: the original's instructions, re-aimed where they must be, and what is inserted.
#pragma once

#include "analysis/interprocedural.h"
#include "analysis/program.h"
#include "rewrite/layout.h"
#include "rewrite/neighbours.h"
#include "rewrite/placement.h"
#include "rewrite/points.h"
#include "rewrite/shared_hook.h"

#include <deque>
#include <functional>

namespace luthier::rewrite {

/// A hook that places call, and where it will be.
struct SharedPlace {
  SharedHook hook;
  uint32_t insertion = 0; ///< the first that calls it
  Layout::Label label = 0;
  uint32_t calls = 0;
};

/// What all functions of a variant share.
struct VariantContext {
  const Glue &glue;
  Layout &layout;
  bool replays;              ///< memory accesses may be repeated
  bool readsFlags;           ///< the guest looks at the sticky flags of exceptions
  RegSet readByVectors = {}; ///< scalar registers that VALU instructions read, where that matters
  bool writeBack;            ///< scalar values are in memory: a wave must not leave them in the scalar cache
  Placer &placer;
  /// Fills in what an insertion's fragment is given: `site` gets fragment, inputs and outputs.
  std::function<Result<void>(uint32_t insertion, const Instr &at, Site &site)> bind;
  /// Addresses of variables in a fragment that has been placed: its code ends at the layout's end, less `behind` bytes.
  std::function<void(uint32_t insertion, const Instr &at, int64_t behind)> relocate;
  /// Where the copy of the function at an original address starts; nothing when there is none.
  std::function<std::optional<Layout::Label>(uint64_t address)> entryOf;
  /// Functions that pointers may lead to: original address and copy.
  std::vector<std::pair<uint64_t, Layout::Label>> pointedTo;
  std::vector<SiteAccount> &accounts;
  /// For people, what a place is: becomes the note of the place's ranges.
  std::function<std::string(uint32_t insertion, const Site &site, const PlacedSite &placed)> describe;
  std::vector<std::string> &notes; ///< Variant::notes
  /// By insertion: the hook is to be called. Null for the others.
  std::vector<SharedPlace *> shared = {};
  uint64_t originalInstructions = 0, insertedInstructions = 0;
  uint32_t openCalls = 0;
  /// Where the code has s_sendmsg sendmsg(MSG_DEALLOC_VGPRS), which also gives scratch back.
  std::vector<Layout::Place> deallocations = {};
};

class FunctionWriter {
public:
  FunctionWriter(VariantContext &context, const analysis::Function &function, const FunctionPoints &points,
                 const analysis::Liveness *liveness, const analysis::Waits *waits, const analysis::Modes *modes)
      : context_(context), function_(function), cfg_(function.cfg()), points_(points), liveness_(liveness),
        waits_(waits), modes_(modes), neighbours_(context.glue, cfg_, context.replays, context.readByVectors) {}

  /// `entry`: where calls go. The function's first instruction comes behind what happens at its entry.
  Result<void> write(Layout::Label entry);
  /// When it is written.
  Neighbours takeNeighbours() { return std::move(neighbours_); }

private:
  struct Point {
    analysis::LiveSets live;
    analysis::WaitState waits;
    analysis::ModeState mode = {};
  };
  Point atStart(uint32_t block) const;

  Result<void> writeBlock(uint32_t block);
  Result<void> writeInstr(uint32_t index);
  Result<void> writeBranch(uint32_t index, const analysis::Block &block);
  Result<void> writeIndirect(const Instr &instr, const analysis::Block &block, bool call);
  Result<void> writeEnd(const analysis::Block &block);
  Result<void> writeStubs();
  bool insertsBefore(uint32_t index) const;
  bool writeClause(uint32_t index, const analysis::Block &block);
  bool keepsDelay(uint32_t index, const analysis::Block &block) const;
  void writeGetPc(const Instr &instr);
  void writeGap(const Instr &instr);
  void flush(); ///< instructions that have been collected

  void insert(const std::vector<uint32_t> &insertions, const Instr &at, const Point &point, uint32_t next);
  Result<void> insertOne(uint32_t insertion, const Instr &at, const Point &point, uint32_t next);
  void findIndexing();

  VariantContext &context_;
  const analysis::Function &function_;
  const analysis::Cfg &cfg_;
  const FunctionPoints &points_;
  const analysis::Liveness *liveness_;
  const analysis::Waits *waits_;
  const analysis::Modes *modes_;      ///< null: no hook depends on it
  std::vector<Layout::Label> labels_; ///< by block
  struct Stub {
    Layout::Label label;
    uint32_t from, to;
  };
  std::vector<Stub> stubs_; ///< edges that are taken, with something on them
  uint32_t pendingFirst_ = 0, pendingCount_ = 0;
  enum Indexing : uint8_t { kOff = 1, kOn = 2 };
  std::vector<uint8_t> indexing_; ///< by block: what s_set_gpr_idx_on may have left at its start; empty: nothing ever
  uint8_t indexed_ = kOff;        ///< here
  uint32_t block_ = 0;
  std::optional<uint32_t> clause_; ///< an s_clause that comes behind what is inserted before its first member
  static constexpr unsigned kLong = 1000;
  unsigned vectorsSince_ = kLong, instrsSince_ = kLong; ///< of the guest's in this block, behind what was inserted
  Neighbours neighbours_;
};

} // namespace luthier::rewrite
