// Lets code objects of one executable use each other's device functions and variables, loaded in any order.
//
// ROCr resolves a reference while it loads the object that makes it, and only to variables that are there already. So
// an object with references that nobody has defined yet is loaded from a copy in which these are relocations that
// always succeed; when the executable is frozen, all definitions are known, and the right addresses are written over
// them. A missing or ambiguous definition fails the freeze, with a message that names it.
//
// A kernel was compiled without knowing what its foreign callees need. The registers and stack that they do need, found
// in their code, go into the kernel's descriptor, into what ROCr tells about the kernel, and into packets that launch
// it.
#pragma once

#include "hsa/calls.h"
#include "hsa/code_capture.h"
#include "hsa/events.h"
#include "hsa/foreign_calls.h"
#include "hsa/stored_bytes.h"

#include <atomic>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace luthier::hsa {

class Linker {
public:
  Linker(Events &events, const CodeCapture &code);
  void start();
  void stop();

  /// Loads through ROCr, from a changed copy if need be.
  hsa_status_t load(hsa_executable_t executable, hsa_agent_t agent, hsa_code_object_reader_t reader,
                    const char *options, hsa_loaded_code_object_t *loaded);
  /// Whether all references have exactly one definition. Says which does not.
  hsa_status_t check(hsa_executable_t executable);
  /// After ROCr has frozen it: writes addresses and needs.
  hsa_status_t finish(hsa_executable_t executable);
  void forget(hsa_executable_t executable);

  /// The file as the application gave it, where ROCr was given a changed copy; null elsewhere.
  const StoredBytes *originalOf(hsa_loaded_code_object_t handle) const;
  /// What a reference at this place of a code object (an address in the file) has been linked to; nothing if nothing.
  LinkedFunction definitionFor(const SharedCode &code, uint64_t slot) const;
  /// Scratch per work-item of a kernel that calls foreign functions, 0 for all others.
  uint32_t privateSegmentOf(uint64_t kernelObject) const;

private:
  struct Reference {
    uint64_t slot; ///< in the file
    std::string symbol;
    int64_t addend;
  };
  struct Linked {
    hsa_loaded_code_object_t handle = {};
    hsa_code_object_reader_t reader = {};
    std::vector<std::byte> copy; ///< what ROCr has loaded
    StoredBytes original;
    std::vector<Reference> references;
  };
  struct State {
    std::set<std::string> defined; ///< by the application, with hsa_executable_*_variable_define
    std::vector<Linked> linked;
    std::vector<uint64_t> kernels; ///< kernel objects with entries in privateSegments_
  };
  /// What a code object reader reads. Memory is the application's and valid until it has been loaded.
  struct Reader {
    std::span<const std::byte> bytes;
    std::optional<StoredBytes> file;
  };

  std::vector<LinkedFunction> definitions(hsa_executable_t executable, hsa_agent_t agent,
                                          const std::string &name) const;
  Result<void> writeAddresses(hsa_executable_t executable, const State &state) const;
  Result<void> propagateNeeds(State &state);
  LinkedFunction definitionFor(const State &state, const SharedCode &code, uint64_t slot) const;
  void noteReader(hsa_code_object_reader_t reader, Reader bytes);
  void noteFile(hsa_code_object_reader_t reader, hsa_file_t file, size_t offset, size_t size);
  void noteDefined(hsa_executable_t executable, const char *name);

  void forgetReader(hsa_code_object_reader_t reader);

  Events &events_;
  const CodeCapture &code_;
  std::vector<Subscription> replacements_;
  Subscription needs_;
  std::atomic<bool> anyNeeds_ = false; ///< whether privateSegments_ ever had an entry
  mutable std::mutex mutex_;           ///< guards what follows
  std::unordered_map<uint64_t, Reader> readers_;
  std::unordered_map<uint64_t, State> executables_;
  std::unordered_map<uint64_t, uint32_t> privateSegments_; ///< by kernel object
};

} // namespace luthier::hsa
