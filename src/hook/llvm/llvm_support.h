// What all sources that call LLVM share. Included only by sources of this layer.
#pragma once

#include "support/result.h"

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <cstddef>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>

namespace luthier::hook {

/// Initialises LLVM's AMD GPU target, once.
void initializeLlvm();

/// Sets one of LLVM's command-line options. They are global: who sets them holds a lock while they matter.
void setLlvmOption(llvm::StringRef name, llvm::StringRef value);

std::string takeMessage(llvm::Error error);

/// What LUTHIER_HOOK and its like wrote, behind "luthier:", and the global that carries it.
using Mark = std::pair<llvm::GlobalValue *, std::string>;
std::set<Mark> marksOf(const llvm::Module &module);

/// Reads bitcode and makes it independent of what it was compiled for: attributes that name a CPU or its features, and
/// lists that keep symbols alive, are dropped; every global has a name; structures that hooks are
/// given are one parameter each (structures.h); pointers to functions are numbers (function_pointers.h). Names and
/// numbers are the same every time.
Result<std::unique_ptr<llvm::Module>> readBitcode(std::span<const std::byte> bitcode, llvm::LLVMContext &context,
                                                  const std::string &origin);

/// Functions that luthier/hook.h declares and the compiler of fragments provides.
namespace reserved {
inline constexpr std::string_view kPrefix = "__luthier_";
inline constexpr std::string_view kReadReg = "__luthier_read_reg";
inline constexpr std::string_view kWriteReg = "__luthier_write_reg";
inline constexpr std::string_view kLaunch32 = "__luthier_launch32";
inline constexpr std::string_view kLaunch64 = "__luthier_launch64";
inline constexpr std::string_view kExec = "__luthier_exec";
inline constexpr std::string_view kActiveLanes = "__luthier_active_lanes";
inline constexpr std::string_view kPermuteLanes = "__luthier_permute_lanes";
inline constexpr std::string_view kWaveSize = "__luthier_wave_size";
inline constexpr std::string_view kHardwareId = "__luthier_hardware_id";
inline constexpr std::string_view kAll[] = {kReadReg,     kWriteReg,     kLaunch32, kLaunch64,  kExec,
                                            kActiveLanes, kPermuteLanes, kWaveSize, kHardwareId};
} // namespace reserved

/// Whether the demangler may see it: it takes any other name for that of a type ("n" for __int128).
inline bool isMangled(llvm::StringRef symbol) { return symbol.starts_with("_Z"); }

inline llvm::StringRef ref(std::string_view text) { return {text.data(), text.size()}; }
inline std::string_view view(llvm::StringRef text) { return {text.data(), text.size()}; }

} // namespace luthier::hook
