// Everything that is loaded: each code object that ROCr has brought to a GPU, from the moment of loading until its
// executable is destroyed, to be found by any address in it.
//
// Capturing is cheap, since most code that is loaded is never looked at: the file is kept (stored_bytes.h) and parsed
// when somebody asks. Captured code is shared: who holds it may go on reading it after the application has unloaded it.
#pragma once

#include "hsa/events.h"
#include "hsa/stored_bytes.h"
#include "isa/decode.h"
#include "object/code_object.h"

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace luthier::hsa {

/// A code object on an agent.
class CapturedCode {
public:
  hsa_executable_t executable() const { return executable_; }
  hsa_loaded_code_object_t handle() const { return handle_; }
  hsa_agent_t agent() const { return agent_; }
  uint64_t base() const { return base_; } ///< where it is loaded
  uint64_t size() const { return size_; }
  /// What to add to an address of the file to get the loaded one.
  uint64_t delta() const { return delta_; }
  const std::string &uri() const { return uri_; }
  std::span<const std::byte> storage() const { return storage_.bytes(); }
  uint64_t number() const { return number_; } ///< counted from 1, in the order of loading

  /// The parsed file, or why it cannot be parsed. At the first call it is parsed.
  const Result<object::CodeObject> &object() const;

  bool contains(uint64_t loaded) const { return loaded - base_ < size_; }
  uint64_t loadedAddress(uint64_t inFile) const { return inFile + delta_; }
  uint64_t fileAddress(uint64_t loaded) const { return loaded - delta_; }

  /// The kernel or device function at a loaded address; null when there is none.
  const object::Symbol *functionAt(uint64_t loaded) const;
  /// The kernel whose descriptor is at a loaded address (the kernel object of a packet).
  const object::Symbol *kernelOf(uint64_t kernelObject) const;

  /// A function's instructions at their loaded addresses; hsa/instr.h has more comfortable ways.
  Result<std::shared_ptr<const isa::InstrSequence>> instructions(const object::Symbol &function) const;

private:
  friend class CodeCapture;
  CapturedCode(StoredBytes storage) : storage_(std::move(storage)) {}

  hsa_executable_t executable_ = {};
  hsa_loaded_code_object_t handle_ = {};
  hsa_agent_t agent_ = {};
  uint64_t base_ = 0, size_ = 0, delta_ = 0, number_ = 0;
  std::string uri_;
  StoredBytes storage_;
  mutable std::once_flag parsed_;
  mutable std::optional<Result<object::CodeObject>> object_;
  mutable std::unordered_map<uint64_t, const object::Symbol *> kernels_; ///< by the descriptor's address in the file
  mutable std::mutex decodeMutex_;                                       ///< guards what follows
  mutable std::unique_ptr<isa::Decoder> decoder_;
  mutable std::unordered_map<const object::Symbol *, std::shared_ptr<const isa::InstrSequence>> decoded_;
};

class CodeCapture {
public:
  explicit CodeCapture(Events &events) : events_(events) {}

  /// The file of a loaded code object where it is another than ROCr has loaded; null elsewhere.
  using OriginalOf = std::function<const StoredBytes *(hsa_loaded_code_object_t)>;
  /// What has been loaded into the executable and is not known yet.
  void capture(hsa_executable_t executable, const OriginalOf &originalOf);
  /// Before the executable goes.
  void forget(hsa_executable_t executable);
  /// HSA has gone.
  void clear();

  using Shared = SharedCode;
  Shared find(uint64_t loadedAddress) const;
  Shared find(hsa_loaded_code_object_t handle) const;
  std::vector<Shared> of(hsa_executable_t executable) const; ///< in the order of loading
  std::vector<Shared> all() const;

private:
  Result<Shared> capture(hsa_executable_t executable, hsa_loaded_code_object_t handle, const StoredBytes *original);

  Events &events_;
  mutable std::shared_mutex mutex_;
  std::map<uint64_t, Shared> byAddress_;
  std::map<uint64_t, Shared> byHandle_;
  uint64_t captured_ = 0;
};

} // namespace luthier::hsa
