#include "vgpu/driver/dead_registers.h"

#include "analysis/interprocedural.h"
#include "support/log.h"
#include "vgpu/driver/loaded_code.h"

#include <algorithm>

namespace luthier::vgpu {

namespace {

constexpr RegSet allRegisters() {
  RegSet all;
  for (Reg reg = Reg::S0; reg < Reg::End; reg = reg + 1)
    all.insert(reg);
  return all;
}

struct Point {
  uint64_t pc;
  DeadRegisters dead;
};

} // namespace

struct CodeObjectLiveness::Impl {
  std::vector<std::byte> elf;
  std::string origin;
  std::optional<object::CodeObject> object;
  std::unique_ptr<analysis::Program> program;
  std::optional<analysis::CallGraph> graph;
  std::mutex mutex;
  std::map<uint64_t, std::vector<Point>> kernels; ///< by entry; points by address

  const std::vector<Point> &pointsOf(uint64_t entry) {
    const auto [known, isNew] = kernels.try_emplace(entry);
    if (isNew)
      if (const auto result = analyse(entry, known->second); !result)
        log::error("{}: no liveness for the kernel at {:#x}: {}", origin, entry, result.error().message());
    return known->second;
  }

  Result<void> analyse(uint64_t entry, std::vector<Point> &points) {
    const object::Symbol *root = program->startingAt(entry);
    if (!root)
      return makeError("no function starts there");
    const auto liveness = LUTHIER_TRY(analysis::ProgramLiveness::compute(*program, *graph, *root));
    const RegSet all = allRegisters();
    for (const object::Symbol *symbol : program->functions())
      if (const analysis::Liveness *of = liveness.of(*symbol))
        of->walk([&](const Instr &instr, const analysis::LiveSets &live) {
          points.push_back({instr.address(), {all - live.active, all - live.inactive}});
        });
    std::ranges::sort(points, {}, &Point::pc);
    // Functions that share code: dead is what is dead in all of them.
    size_t kept = 0;
    for (size_t n = 0; n < points.size(); ++n)
      if (kept && points[kept - 1].pc == points[n].pc) {
        points[kept - 1].dead.active &= points[n].dead.active;
        points[kept - 1].dead.inactive &= points[n].dead.inactive;
      } else {
        points[kept++] = points[n];
      }
    points.resize(kept);
    return {};
  }
};

CodeObjectLiveness::CodeObjectLiveness(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
CodeObjectLiveness::~CodeObjectLiveness() = default;

Result<std::unique_ptr<CodeObjectLiveness>> CodeObjectLiveness::create(std::vector<std::byte> elf, std::string origin) {
  auto impl = std::make_unique<Impl>();
  impl->elf = std::move(elf);
  impl->origin = std::move(origin);
  impl->object = LUTHIER_TRY(object::CodeObject::parse(impl->elf, impl->origin));
  impl->program = LUTHIER_TRY(analysis::Program::create(*impl->object));
  impl->graph = LUTHIER_TRY(analysis::CallGraph::build(*impl->program));
  return std::unique_ptr<CodeObjectLiveness>(new CodeObjectLiveness(std::move(impl)));
}

std::optional<DeadRegisters> CodeObjectLiveness::at(uint64_t entry, uint64_t pc) {
  std::lock_guard lock(impl_->mutex);
  const std::vector<Point> &points = impl_->pointsOf(entry);
  const auto found = std::ranges::lower_bound(points, pc, {}, &Point::pc);
  if (found == points.end() || found->pc != pc)
    return std::nullopt;
  return found->dead;
}

std::shared_ptr<LoadedLiveness::Object> LoadedLiveness::objectAt(uint64_t entry) {
  std::lock_guard lock(mutex_);
  std::shared_ptr<Object> &object = byEntry_[entry];
  if (object)
    return object;
  std::optional<LoadedObject> loaded = code_.objectAt(entry);
  if (!loaded) // a blit kernel of ROCr
    return object = std::make_shared<Object>();
  std::weak_ptr<Object> &sameFile = byBias_[loaded->bias];
  object = sameFile.lock();
  if (object)
    return object;
  object = std::make_shared<Object>();
  object->bias = loaded->bias;
  auto liveness = CodeObjectLiveness::create(std::move(loaded->elf), "code object");
  if (liveness)
    object->liveness = std::move(*liveness);
  else
    log::error("no liveness for the kernel at {:#x}: {}", entry, liveness.error().message());
  sameFile = object;
  return object;
}

std::optional<DeadRegisters> LoadedLiveness::at(uint64_t entry, uint64_t pc) {
  const std::shared_ptr<Object> object = objectAt(entry);
  if (!object->liveness)
    return std::nullopt;
  return object->liveness->at(entry - object->bias, pc - object->bias);
}

void LoadedLiveness::forget() {
  std::lock_guard lock(mutex_);
  byEntry_.clear();
  byBias_.clear();
}

} // namespace luthier::vgpu
