#include "hsa/linker.h"

#include "support/log.h"

#include <algorithm>
#include <array>

#include <sys/stat.h>

namespace luthier::hsa {

namespace {

struct RelaEntry {
  uint64_t offset;
  uint64_t info;
  int64_t addend;
};
constexpr uint32_t kSectionRela = 4; // SHT_RELA

bool isUndefined(const object::Relocation &relocation) {
  // The others are references of a kind that clang does not make to foreign symbols; ROCr says what it thinks of them.
  return !relocation.defined && !relocation.weak &&
         relocation.type == static_cast<uint32_t>(object::RelocationType::Abs64);
}

/// Turns the relocations at these places into ones that need no symbol.
void neutralise(std::vector<std::byte> &elf, const object::CodeObject &object, const std::set<uint64_t> &slots) {
  for (const object::Section &section : object.sections()) {
    if (section.type != kSectionRela)
      continue;
    for (uint64_t at = section.offset; at + sizeof(RelaEntry) <= section.offset + section.contents.size();
         at += sizeof(RelaEntry)) {
      auto entry = object::loadAs<RelaEntry>(elf.data() + at);
      if (!slots.contains(entry.offset))
        continue;
      entry.info = static_cast<uint64_t>(object::RelocationType::Relative64);
      entry.addend = 0;
      memcpy(elf.data() + at, &entry, sizeof entry);
    }
  }
}

} // namespace

Linker::Linker(Events &events, const CodeCapture &code) : events_(events), code_(code) {
  const auto keep = [&](Subscription replacement) { replacements_.push_back(std::move(replacement)); };
  keep(calls::replace<ApiId::hsa_code_object_reader_create_from_memory>(
      [this](const void *memory, size_t size, hsa_code_object_reader_t *reader) {
        const hsa_status_t status = original<ApiId::hsa_code_object_reader_create_from_memory>()(memory, size, reader);
        if (status == HSA_STATUS_SUCCESS)
          noteReader(*reader, {{static_cast<const std::byte *>(memory), size}, {}});
        return status;
      }));
  keep(calls::replace<ApiId::hsa_code_object_reader_create_from_file>(
      [this](hsa_file_t file, hsa_code_object_reader_t *reader) {
        const hsa_status_t status = original<ApiId::hsa_code_object_reader_create_from_file>()(file, reader);
        struct stat info;
        if (status == HSA_STATUS_SUCCESS && fstat(file, &info) == 0 && info.st_size > 0)
          noteFile(*reader, file, 0, static_cast<size_t>(info.st_size));
        return status;
      }));
  keep(calls::replace<ApiId::hsa_ven_amd_loader_code_object_reader_create_from_file_with_offset_size>(
      [this](hsa_file_t file, size_t offset, size_t size, hsa_code_object_reader_t *reader) {
        const hsa_status_t status =
            original<ApiId::hsa_ven_amd_loader_code_object_reader_create_from_file_with_offset_size>()(file, offset,
                                                                                                       size, reader);
        if (status == HSA_STATUS_SUCCESS)
          noteFile(*reader, file, offset, size);
        return status;
      }));
  keep(calls::replace<ApiId::hsa_code_object_reader_destroy>([this](hsa_code_object_reader_t reader) {
    forgetReader(reader);
    return original<ApiId::hsa_code_object_reader_destroy>()(reader);
  }));
  keep(calls::replace<ApiId::hsa_executable_agent_global_variable_define>(
      [this](hsa_executable_t executable, hsa_agent_t agent, const char *name, void *address) {
        noteDefined(executable, name);
        return original<ApiId::hsa_executable_agent_global_variable_define>()(executable, agent, name, address);
      }));
  keep(calls::replace<ApiId::hsa_executable_global_variable_define>(
      [this](hsa_executable_t executable, const char *name, void *address) {
        noteDefined(executable, name);
        return original<ApiId::hsa_executable_global_variable_define>()(executable, name, address);
      }));
  keep(calls::replace<ApiId::hsa_executable_readonly_variable_define>(
      [this](hsa_executable_t executable, hsa_agent_t agent, const char *name, void *address) {
        noteDefined(executable, name);
        return original<ApiId::hsa_executable_readonly_variable_define>()(executable, agent, name, address);
      }));
}

void Linker::start() {
  needs_ = events_.packetNeeds.subscribe([this](AqlPacket &packet) {
    if (auto *dispatch = packet.kernelDispatch())
      dispatch->private_segment_size =
          std::max(dispatch->private_segment_size, privateSegmentOf(dispatch->kernel_object));
  });
}

void Linker::stop() {
  needs_.cancel();
  std::lock_guard lock(mutex_);
  readers_.clear();
  executables_.clear();
  privateSegments_.clear();
  anyNeeds_ = false;
}

void Linker::forgetReader(hsa_code_object_reader_t reader) {
  std::lock_guard lock(mutex_);
  readers_.erase(reader.handle);
}

void Linker::noteReader(hsa_code_object_reader_t reader, Reader bytes) {
  std::lock_guard lock(mutex_);
  readers_.insert_or_assign(reader.handle, std::move(bytes));
}

void Linker::noteFile(hsa_code_object_reader_t reader, hsa_file_t file, size_t offset, size_t size) {
  auto bytes = StoredBytes::ofFile(file, offset, size);
  if (!bytes)
    return log::debug("{}", bytes.error().message());
  const auto view = bytes->bytes();
  noteReader(reader, {view, std::move(*bytes)});
}

void Linker::noteDefined(hsa_executable_t executable, const char *name) {
  if (!name)
    return;
  std::lock_guard lock(mutex_);
  executables_[executable.handle].defined.insert(name);
}

hsa_status_t Linker::load(hsa_executable_t executable, hsa_agent_t agent, hsa_code_object_reader_t reader,
                          const char *options, hsa_loaded_code_object_t *loaded) {
  auto asItIs = [&] {
    return original<ApiId::hsa_executable_load_agent_code_object>()(executable, agent, reader, options, loaded);
  };

  std::span<const std::byte> bytes;
  std::set<std::string> defined;
  {
    std::lock_guard lock(mutex_);
    auto known = readers_.find(reader.handle);
    if (known == readers_.end())
      return asItIs();
    bytes = known->second.bytes;
    if (auto state = executables_.find(executable.handle); state != executables_.end())
      defined = state->second.defined;
  }
  auto object = object::CodeObject::parse(bytes, "a code object");
  if (!object)
    return asItIs(); // ROCr knows best what it takes
  std::vector<Reference> references;
  std::set<uint64_t> slots;
  for (const object::Relocation &relocation : object->relocations()) {
    std::string name(relocation.symbol);
    if (!isUndefined(relocation) || defined.contains(name))
      continue;
    slots.insert(relocation.address);
    references.push_back({relocation.address, std::move(name), relocation.addend});
  }
  if (references.empty())
    return asItIs();

  auto stored = StoredBytes::ofMemory(bytes);
  if (!stored)
    return asItIs();
  Linked linked{.copy = {bytes.begin(), bytes.end()}, .original = std::move(*stored), .references = references};
  neutralise(linked.copy, *object, slots);
  hsa_status_t status = original<ApiId::hsa_code_object_reader_create_from_memory>()(
      linked.copy.data(), linked.copy.size(), &linked.reader);
  if (status != HSA_STATUS_SUCCESS)
    return status;
  status = original<ApiId::hsa_executable_load_agent_code_object>()(executable, agent, linked.reader, options,
                                                                    &linked.handle);
  if (status != HSA_STATUS_SUCCESS) {
    original<ApiId::hsa_code_object_reader_destroy>()(linked.reader);
    return status;
  }
  if (loaded)
    *loaded = linked.handle;
  std::lock_guard lock(mutex_);
  executables_[executable.handle].linked.push_back(std::move(linked));
  return HSA_STATUS_SUCCESS;
}

const StoredBytes *Linker::originalOf(hsa_loaded_code_object_t handle) const {
  std::lock_guard lock(mutex_);
  for (const auto &[executable, state] : executables_)
    for (const Linked &linked : state.linked)
      if (linked.handle.handle == handle.handle)
        return &linked.original;
  return nullptr;
}

std::vector<LinkedFunction> Linker::definitions(hsa_executable_t executable, hsa_agent_t agent,
                                                const std::string &name) const {
  std::vector<LinkedFunction> strong, weak;
  for (const SharedCode &code : code_.of(executable)) {
    if (code->agent().handle != agent.handle || !code->object())
      continue;
    const object::Symbol *symbol = code->object()->find(name);
    if (symbol && symbol->defined && symbol->external && symbol->kind != object::SymbolKind::Kernel)
      (symbol->weak ? weak : strong).push_back({code, symbol});
  }
  // Of several weak ones any will do, as for a linker of host programs.
  if (strong.empty() && !weak.empty())
    strong.push_back(weak.front());
  return strong;
}

hsa_status_t Linker::check(hsa_executable_t executable) {
  std::vector<std::pair<SharedCode, std::string>> references;
  {
    std::lock_guard lock(mutex_);
    auto state = executables_.find(executable.handle);
    if (state == executables_.end())
      return HSA_STATUS_SUCCESS;
    for (const Linked &linked : state->second.linked)
      if (const SharedCode code = code_.find(linked.handle))
        for (const Reference &reference : linked.references)
          references.emplace_back(code, reference.symbol);
  }
  hsa_status_t status = HSA_STATUS_SUCCESS;
  for (const auto &[code, name] : references) {
    const auto found = definitions(executable, code->agent(), name);
    if (found.empty()) {
      log::error("{} needs {}, which no code object of the executable defines", code->uri(), name);
      status = HSA_STATUS_ERROR_VARIABLE_UNDEFINED;
    } else if (found.size() > 1) {
      log::error("{} needs {}, which is defined twice: by {} and by {}", code->uri(), name, found[0].code->uri(),
                 found[1].code->uri());
      status = HSA_STATUS_ERROR_VARIABLE_ALREADY_DEFINED;
    }
  }
  return status;
}

hsa_status_t Linker::finish(hsa_executable_t executable) {
  std::lock_guard lock(mutex_);
  auto state = executables_.find(executable.handle);
  if (state == executables_.end() || state->second.linked.empty())
    return HSA_STATUS_SUCCESS;
  auto done = writeAddresses(executable, state->second);
  if (done)
    done = propagateNeeds(state->second);
  if (done)
    return HSA_STATUS_SUCCESS;
  log::error("code objects cannot be linked: {}", done.error().message());
  return HSA_STATUS_ERROR;
}

Result<void> Linker::writeAddresses(hsa_executable_t executable, const State &state) const {
  for (const Linked &linked : state.linked) {
    const SharedCode code = code_.find(linked.handle);
    if (!code)
      return makeError("an object was not captured");
    for (const Reference &reference : linked.references) {
      const auto found = definitions(executable, code->agent(), reference.symbol);
      if (found.size() != 1)
        return makeError("{} has {} definitions", reference.symbol, found.size());
      const uint64_t address = found[0].address() + static_cast<uint64_t>(reference.addend);
      LUTHIER_TRY(call<ApiId::hsa_memory_copy>(reinterpret_cast<void *>(code->loadedAddress(reference.slot)),
                                               static_cast<const void *>(&address), sizeof address));
    }
  }
  return {};
}

namespace {

/// The descriptor with room for what is needed; false when it has that already.
Result<bool> enlarge(object::KernelDescriptor &descriptor, const isa::Target &target,
                     const analysis::Resources &needs) {
  const object::KernelDescriptor before = descriptor;
  if (target.unifiedVgprs) {
    // AccVGPRs lie behind the architectural ones, so both counts decide about where and about how many.
    const unsigned offset = std::max(descriptor.accumOffset(), (needs.vgprs + 3) / 4 * 4);
    const unsigned total = descriptor.vgprs(target);
    const unsigned hadAcc = total > descriptor.accumOffset() ? total - descriptor.accumOffset() : 0;
    LUTHIER_TRY(descriptor.setAccumOffset(offset));
    LUTHIER_TRY(descriptor.setVgprs(target, std::max(total, offset + std::max(hadAcc, needs.accVgprs))));
  } else {
    LUTHIER_TRY(descriptor.setVgprs(target, std::max(descriptor.vgprs(target), std::max(needs.vgprs, needs.accVgprs))));
  }
  LUTHIER_TRY(descriptor.setSgprs(target, std::max(descriptor.sgprs(target), needs.sgprs + target.trailingSgprs)));
  const uint32_t stack = needs.stackBytes + (needs.stackBounded ? 0 : analysis::kAssumedStackBytes);
  descriptor.privateSegmentSize = std::max(descriptor.privateSegmentSize, stack);
  return !(descriptor == before);
}

} // namespace

LinkedFunction Linker::definitionFor(const State &state, const SharedCode &code, uint64_t slot) const {
  for (const Linked &linked : state.linked)
    if (linked.handle.handle == code->handle().handle)
      for (const Reference &reference : linked.references)
        if (reference.slot == slot)
          if (const auto found = definitions(code->executable(), code->agent(), reference.symbol); found.size() == 1)
            return found[0];
  return {};
}

LinkedFunction Linker::definitionFor(const SharedCode &code, uint64_t slot) const {
  std::lock_guard lock(mutex_);
  auto state = executables_.find(code->executable().handle);
  return state == executables_.end() ? LinkedFunction() : definitionFor(state->second, code, slot);
}

Result<void> Linker::propagateNeeds(State &state) {
  ForeignCalls calls([&](const SharedCode &code, uint64_t slot) { return definitionFor(state, code, slot); });
  for (const Linked &linked : state.linked) {
    const SharedCode code = code_.find(linked.handle);
    const object::CodeObject &object = *code->object();
    for (const object::Symbol &kernel : object.kernels()) {
      object::KernelDescriptor descriptor = LUTHIER_TRY(object.descriptor(kernel));
      const auto needs = LUTHIER_TRY(calls.foreignNeeds(code, kernel, descriptor.waveSize(object.target())));
      if (!needs || !LUTHIER_TRY(enlarge(descriptor, object.target(), *needs)))
        continue;
      std::array<std::byte, object::KernelDescriptor::kBytes> bytes;
      descriptor.write(bytes);
      const uint64_t address = code->loadedAddress(kernel.descriptor);
      LUTHIER_TRY(call<ApiId::hsa_memory_copy>(reinterpret_cast<void *>(address),
                                               static_cast<const void *>(bytes.data()), bytes.size()));
      privateSegments_[address] = descriptor.privateSegmentSize;
      state.kernels.push_back(address);
      anyNeeds_ = true;
    }
  }
  return {};
}

uint32_t Linker::privateSegmentOf(uint64_t kernelObject) const {
  if (!anyNeeds_.load(std::memory_order_relaxed)) // asked for every packet
    return 0;
  std::lock_guard lock(mutex_);
  auto found = privateSegments_.find(kernelObject);
  return found == privateSegments_.end() ? 0 : found->second;
}

void Linker::forget(hsa_executable_t executable) {
  State state;
  {
    std::lock_guard lock(mutex_);
    auto found = executables_.find(executable.handle);
    if (found == executables_.end())
      return;
    state = std::move(found->second);
    executables_.erase(found);
    for (const uint64_t kernel : state.kernels)
      privateSegments_.erase(kernel);
  }
  for (const Linked &linked : state.linked)
    original<ApiId::hsa_code_object_reader_destroy>()(linked.reader);
}

} // namespace luthier::hsa
