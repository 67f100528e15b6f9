// Calling LLVM without letting it take the process down. Included only by sources of this layer.
#pragma once

#include "support/result.h"

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace luthier::hook {

enum class Input {
  Own,     ///< LLVM itself made it, or has accepted it before
  Foreign, ///< nobody vouches for it
};

/// Code of the error when LLVM was left in the middle of its work.
inline constexpr int kGaveUp = 1;

/// Runs `work`. Where LLVM gives up ("fatal error") it is left at once and what it held is leaked, which is better than
/// LLVM's own way: ending the process. With Input::Foreign, a crash of this thread is such an end too: LLVM's reader
/// of bitcode believes most of what it reads.
Result<void> guarded(llvm::function_ref<Result<void>()> work, Input input = Input::Own);

/// Initialises LLVM's AMD GPU target, once.
void initializeLlvm();

/// Sets one of LLVM's command-line options. They are global: who sets them holds a lock while they matter.
void setLlvmOption(llvm::StringRef name, llvm::StringRef value);

std::string takeMessage(llvm::Error error);

/// Reads bitcode and makes it independent of what it was compiled for: attributes that name a CPU or its features, and
/// lists that keep symbols alive, are dropped; every global has a name. Names are the same every time.
Result<std::unique_ptr<llvm::Module>> readBitcode(std::span<const std::byte> bitcode, llvm::LLVMContext &context,
                                                  const std::string &origin, Input input);

/// Functions that luthier/hook.h declares and the compiler of fragments provides.
namespace reserved {
inline constexpr std::string_view kPrefix = "__luthier_";
inline constexpr std::string_view kReadReg = "__luthier_read_reg";
inline constexpr std::string_view kWriteReg = "__luthier_write_reg";
inline constexpr std::string_view kLaunch32 = "__luthier_launch32";
inline constexpr std::string_view kLaunch64 = "__luthier_launch64";
inline constexpr std::string_view kExec = "__luthier_exec";
inline constexpr std::string_view kWaveSize = "__luthier_wave_size";
inline constexpr std::string_view kHardwareId = "__luthier_hardware_id";
inline constexpr std::string_view kAll[] = {kReadReg, kWriteReg, kLaunch32, kLaunch64, kExec, kWaveSize, kHardwareId};
} // namespace reserved

inline llvm::StringRef ref(std::string_view text) { return {text.data(), text.size()}; }
inline std::string_view view(llvm::StringRef text) { return {text.data(), text.size()}; }

} // namespace luthier::hook
