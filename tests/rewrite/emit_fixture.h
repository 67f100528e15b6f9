// Objects and variants for the tests of emitting.
#pragma once

#include "copy_variant.h"
#include "isa/assembler.h"
#include "rewrite/emit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace luthier::rewrite::test {

inline std::vector<std::byte> fileBytes(const std::string &path) {
  std::ifstream stream(path, std::ios::binary);
  EXPECT_TRUE(stream) << path;
  const std::string text((std::istreambuf_iterator<char>(stream)), {});
  const auto *begin = reinterpret_cast<const std::byte *>(text.data());
  return {begin, begin + text.size()};
}

template <class T> T must(Result<T> result) {
  if (!result) {
    ADD_FAILURE() << result.error().message();
    std::abort();
  }
  return *std::move(result);
}

/// An object with the bytes that it views.
struct File {
  std::vector<std::byte> bytes;
  object::CodeObject object;

  explicit File(std::vector<std::byte> from, std::string origin = "a file")
      : bytes(std::move(from)), object(must(object::CodeObject::parse(bytes, std::move(origin)))) {}
  const object::CodeObject *operator->() const { return &object; }
  const object::Symbol &kernel(std::string_view name) const {
    const object::Symbol *found = object.find(name);
    if (!found || found->kind != object::SymbolKind::Kernel) {
      ADD_FAILURE() << "no kernel " << name;
      std::abort();
    }
    return *found;
  }
};

inline std::vector<uint8_t> assembled(const object::CodeObject &object, std::string_view source) {
  return must(isa::assemble(object.target(), source));
}

inline std::shared_ptr<const hook::HookModule> toolModule() {
  return must(hook::HookModule::load(fileBytes(EMIT_HOOKS), "tool.bc"));
}

inline UsedVariable used(const std::shared_ptr<const hook::HookModule> &module, std::string_view name) {
  const auto variables = module->variables();
  for (uint32_t n = 0; n < variables.size(); ++n)
    if (variables[n].name == name)
      return {module, n};
  ADD_FAILURE() << "no variable " << name;
  std::abort();
}

inline std::vector<Variant> copiesOf(const object::CodeObject &object) {
  std::vector<Variant> variants;
  const object::Metadata metadata = must(object.metadata());
  for (const object::Symbol &kernel : object.kernels())
    variants.push_back(must(copyOf(object, kernel, metadata)));
  return variants;
}

/// Instead of `count(u64 *counter)`: adds what the original's `total` and the tool's `start` hold to the tool's
/// `counter`, once per lane, and stores what was read to *counter.
inline Variant adder(const object::CodeObject &object, const std::shared_ptr<const hook::HookModule> &module) {
  const object::Symbol &kernel = *object.find("count");
  object::KernelDescriptor descriptor = must(object.descriptor(kernel));
  const unsigned kernarg = descriptor.initialSgprs(object.target())[object::InitialSgpr::KernargSegmentPtr].first;
  std::vector<uint8_t> code =
      assembled(object, fmt::format("s_load_dwordx2 s[20:21], s[{}:{}], 0x0", kernarg, kernarg + 1) + R"(
    s_mov_b32 s22, 0x12345678
    s_mov_b32 s23, 0x12345678
    s_mov_b32 s24, 0x12345678
    s_mov_b32 s25, 0x12345678
    s_mov_b32 s26, 0x12345678
    s_mov_b32 s27, 0x12345678
    s_load_dword s28, s[22:23], 0x0
    s_load_dword s29, s[24:25], 0x0
    s_waitcnt lgkmcnt(0)
    s_add_u32 s28, s28, s29
    v_mov_b32_e32 v0, 0
    v_mov_b32_e32 v1, s28
    global_atomic_add v0, v1, s[26:27]
    global_store_dword v0, v1, s[20:21]
    s_waitcnt vmcnt(0)
    s_endpgm
  )");
  Variant variant = must(variantWithCode(object, kernel, std::move(code)));
  if (auto ok = descriptor.setSgprs(object.target(), 40); !ok)
    ADD_FAILURE() << ok.error().message();
  variant.descriptor = descriptor;
  variant.metadata.sgprCount = 40;
  variant.variables = {used(module, "start"), used(module, "counter")};
  auto pair = [&](uint64_t offset, CodeRelocation::Base base, uint32_t number, uint64_t addend) {
    for (const bool high : {false, true})
      variant.relocations.push_back({offset + (high ? 12u : 4u), high, base, number, addend});
  };
  const auto loads = 8;
  pair(loads, CodeRelocation::Base::Original, 0, object.find("total")->address);
  pair(loads + 16, CodeRelocation::Base::Variable, 0, 0);
  pair(loads + 32, CodeRelocation::Base::Variable, 1, 0);
  return variant;
}

} // namespace luthier::rewrite::test
