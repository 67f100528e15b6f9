#include "hook/llvm/device_library.h"

#include "luthier/launch_value.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>

#include <algorithm>

namespace luthier::hook {

namespace {

/// As ROCm counts: 9010 for gfx90a, 10300 for gfx1030.
uint64_t isaVersion(const isa::Target &target) {
  const uint32_t version = target.gfxVersion();
  return version / 10000 * 1000 + version % 10000;
}

struct LibraryConstant {
  std::string_view symbol;
  uint64_t (*value)(const isa::Target &target, unsigned waveSize);
};
constexpr LibraryConstant kConstants[] = {
    {"__oclc_ISA_version", [](const isa::Target &target, unsigned) { return isaVersion(target); }},
    {"__oclc_wavefrontsize64", [](const isa::Target &, unsigned waveSize) { return uint64_t{waveSize == 64}; }},
    // Sizes of grids from the dispatch packet: later ABIs have them in hidden arguments of the kernel.
    {"__oclc_ABI_version", [](const isa::Target &, unsigned) { return uint64_t{400}; }},
    {"__oclc_correctly_rounded_sqrt32", [](const isa::Target &, unsigned) { return uint64_t{1}; }},
    {"__oclc_daz_opt", [](const isa::Target &, unsigned) { return uint64_t{0}; }},
    {"__oclc_finite_only_opt", [](const isa::Target &, unsigned) { return uint64_t{0}; }},
    {"__oclc_unsafe_math_opt", [](const isa::Target &, unsigned) { return uint64_t{0}; }},
};

const LibraryConstant *find(std::string_view symbol) {
  const auto *found = std::ranges::find(kConstants, symbol, &LibraryConstant::symbol);
  return found == std::end(kConstants) ? nullptr : found;
}

struct LaunchIntrinsic {
  llvm::Intrinsic::ID id;
  LaunchValue value;
};
constexpr LaunchIntrinsic kLaunchIntrinsics[] = {
    {llvm::Intrinsic::amdgcn_workgroup_id_x, LaunchValue::WorkgroupIdX},
    {llvm::Intrinsic::amdgcn_workgroup_id_y, LaunchValue::WorkgroupIdY},
    {llvm::Intrinsic::amdgcn_workgroup_id_z, LaunchValue::WorkgroupIdZ},
    {llvm::Intrinsic::amdgcn_workitem_id_x, LaunchValue::WorkitemIdX},
    {llvm::Intrinsic::amdgcn_workitem_id_y, LaunchValue::WorkitemIdY},
    {llvm::Intrinsic::amdgcn_workitem_id_z, LaunchValue::WorkitemIdZ},
    {llvm::Intrinsic::amdgcn_dispatch_ptr, LaunchValue::DispatchPtr},
    {llvm::Intrinsic::amdgcn_queue_ptr, LaunchValue::QueuePtr},
    {llvm::Intrinsic::amdgcn_kernarg_segment_ptr, LaunchValue::KernargPtr},
    {llvm::Intrinsic::amdgcn_dispatch_id, LaunchValue::DispatchId},
};

} // namespace

bool isLibraryConstant(std::string_view symbol) { return find(symbol) != nullptr; }

void defineLibraryConstants(llvm::Module &module, const isa::Target &target, unsigned waveSize) {
  for (llvm::GlobalVariable &global : module.globals())
    if (const LibraryConstant *constant = find(view(global.getName())); constant) {
      global.setInitializer(llvm::ConstantInt::get(global.getValueType(), constant->value(target, waveSize)));
      global.setConstant(true);
      global.setExternallyInitialized(false);
      global.setComdat(nullptr);
      global.setLinkage(llvm::GlobalValue::InternalLinkage);
      global.setVisibility(llvm::GlobalValue::DefaultVisibility);
    }
}

void replaceLaunchIntrinsics(llvm::Module &module) {
  std::vector<std::pair<llvm::CallInst *, LaunchValue>> calls;
  for (const llvm::Function &function : module)
    for (const LaunchIntrinsic &intrinsic : kLaunchIntrinsics)
      if (function.getIntrinsicID() == intrinsic.id)
        for (const llvm::User *user : function.users())
          if (auto *call = llvm::dyn_cast<llvm::CallInst>(const_cast<llvm::User *>(user)))
            calls.emplace_back(call, intrinsic.value);
  for (const auto &[call, value] : calls) {
    llvm::IRBuilder<> b(call);
    const bool is64 = !call->getType()->isIntegerTy(32);
    const llvm::FunctionCallee provided = module.getOrInsertFunction(
        ref(is64 ? reserved::kLaunch64 : reserved::kLaunch32), is64 ? b.getInt64Ty() : b.getInt32Ty(), b.getInt32Ty());
    llvm::Value *result = b.CreateCall(provided, {b.getInt32(static_cast<uint32_t>(value))});
    if (call->getType()->isPointerTy())
      result = b.CreateIntToPtr(result, call->getType());
    call->replaceAllUsesWith(result);
    call->eraseFromParent();
  }
}

} // namespace luthier::hook
