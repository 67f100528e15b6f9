#include "object/metadata.h"

#include "object/msgpack.h"

#include <algorithm>
#include <iterator>

namespace luthier::object {

namespace {

using msgpack::Reader;
using msgpack::Token;
using msgpack::Type;
using msgpack::Writer;

constexpr std::string_view kValueKinds[] = {
    "by_value",
    "global_buffer",
    "dynamic_shared_pointer",
    "sampler",
    "image",
    "pipe",
    "queue",
    "hidden_global_offset_x",
    "hidden_global_offset_y",
    "hidden_global_offset_z",
    "hidden_none",
    "hidden_printf_buffer",
    "hidden_hostcall_buffer",
    "hidden_default_queue",
    "hidden_completion_action",
    "hidden_multigrid_sync_arg",
    "hidden_block_count_x",
    "hidden_block_count_y",
    "hidden_block_count_z",
    "hidden_group_size_x",
    "hidden_group_size_y",
    "hidden_group_size_z",
    "hidden_remainder_x",
    "hidden_remainder_y",
    "hidden_remainder_z",
    "hidden_grid_dims",
    "hidden_heap_v1",
    "hidden_dynamic_lds_size",
    "hidden_private_base",
    "hidden_shared_base",
    "hidden_queue_ptr",
};
static_assert(std::size(kValueKinds) == static_cast<size_t>(ValueKind::Other));

/// The reader, and what it was told about the document.
struct Input {
  Reader reader;
  MetadataParts parts;
};

// One pair of functions per type of value. Absence of a key is the type's empty value.

Result<void> readValue(Input &in, std::string_view key, std::string &into) {
  into = LUTHIER_TRY(in.reader.expect(Type::String, key)).bytes;
  return {};
}
void writeValue(Writer &out, const std::string &value) { out.text(value); }
bool present(const std::string &value) { return !value.empty(); }

Result<void> readValue(Input &in, std::string_view key, uint32_t &into) {
  const Token token = LUTHIER_TRY(in.reader.next());
  if (token.type != Type::Unsigned && token.type != Type::Boolean)
    return makeError("{} is {} instead of {}, at offset {:#x}", key, msgpack::nameOf(token.type),
                     msgpack::nameOf(Type::Unsigned), token.offset);
  if (token.integer > UINT32_MAX)
    return makeError("{} is {}, which does not fit 32 bits, at offset {:#x}", key, token.integer, token.offset);
  into = static_cast<uint32_t>(token.integer);
  return {};
}
void writeValue(Writer &out, uint32_t value) { out.number(value); }
bool present(uint32_t) { return true; }

Result<void> readValue(Input &in, std::string_view key, bool &into) {
  into = LUTHIER_TRY(in.reader.expect(Type::Boolean, key)).integer;
  return {};
}
void writeValue(Writer &out, bool value) { out.boolean(value); }

Result<void> readValue(Input &in, std::string_view key, ArgumentKind &into) {
  const std::string_view text = LUTHIER_TRY(in.reader.expect(Type::String, key)).bytes;
  const auto *it = std::ranges::find(kValueKinds, text);
  into.kind = static_cast<ValueKind>(it - std::begin(kValueKinds));
  if (into.kind == ValueKind::Other)
    into.other = text;
  return {};
}
void writeValue(Writer &out, const ArgumentKind &value) { out.text(value.text()); }
bool present(const ArgumentKind &) { return true; }

template <size_t Size> Result<void> readValue(Input &in, std::string_view key, std::array<uint32_t, Size> &into) {
  const Token token = LUTHIER_TRY(in.reader.expect(Type::Array, key));
  if (token.count != Size)
    return makeError("{} has {} numbers instead of {}, at offset {:#x}", key, token.count, Size, token.offset);
  for (uint32_t &number : into)
    if (auto ok = readValue(in, key, number); !ok)
      return ok;
  return {};
}
template <size_t Size> void writeValue(Writer &out, const std::array<uint32_t, Size> &value) {
  out.array(Size);
  for (uint32_t number : value)
    out.number(number);
}
template <size_t Size> bool present(const std::array<uint32_t, Size> &) { return true; }

template <class T> Result<void> readValue(Input &in, std::string_view key, std::optional<T> &into) {
  return readValue(in, key, into.emplace());
}
template <class T> void writeValue(Writer &out, const std::optional<T> &value) { writeValue(out, *value); }
template <class T> bool present(const std::optional<T> &value) { return value.has_value(); }

Result<void> readValue(Input &in, std::string_view key, KernelArgument &into);
Result<void> readValue(Input &in, std::string_view key, KernelMetadata &into);
void writeValue(Writer &out, const KernelArgument &value);
void writeValue(Writer &out, const KernelMetadata &value);

template <class T> Result<void> readValue(Input &in, std::string_view key, std::vector<T> &into) {
  if (std::is_same_v<T, KernelArgument> && in.parts == MetadataParts::WithoutArguments) {
    (void)LUTHIER_TRY(in.reader.skip());
    return {};
  }
  const Token token = LUTHIER_TRY(in.reader.expect(Type::Array, key));
  into.clear();
  // Not reserved: the count is only a claim, and one byte of input may announce hundreds of bytes of memory.
  for (uint32_t n = 0; n < token.count; ++n)
    if (auto ok = readValue(in, key, into.emplace_back()); !ok)
      return ok;
  return {};
}
template <class T> void writeValue(Writer &out, const std::vector<T> &value) {
  out.array(static_cast<uint32_t>(value.size()));
  for (const T &element : value)
    writeValue(out, element);
}
template <class T> bool present(const std::vector<T> &value) { return !value.empty(); }

// One row per key reads and writes it.

enum class Need : uint8_t { Optional, Written, Required }; ///< Written: always written; Required: must be read, too

template <class Record> struct Key {
  std::string_view name;
  Need need;
  Result<void> (*read)(Input &, std::string_view, Record &);
  void (*write)(Writer &, const Record &);
  bool (*present)(const Record &);
};

template <class Record, auto Member> constexpr Key<Record> key(std::string_view name, Need need = Need::Optional) {
  return {name, need,
          [](Input &in, std::string_view text, Record &record) { return readValue(in, text, record.*Member); },
          [](Writer &out, const Record &record) { writeValue(out, record.*Member); },
          [](const Record &record) { return present(record.*Member); }};
}

// Keys in ascending order, which is the order in which they are written.

using A = KernelArgument;
constexpr Key<A> kArgumentKeys[] = {
    key<A, &A::access>(".access"),
    key<A, &A::actualAccess>(".actual_access"),
    key<A, &A::addressSpace>(".address_space"),
    key<A, &A::isConst>(".is_const"),
    key<A, &A::isPipe>(".is_pipe"),
    key<A, &A::isRestrict>(".is_restrict"),
    key<A, &A::isVolatile>(".is_volatile"),
    key<A, &A::name>(".name"),
    key<A, &A::offset>(".offset", Need::Required),
    key<A, &A::pointeeAlign>(".pointee_align"),
    key<A, &A::size>(".size", Need::Required),
    key<A, &A::typeName>(".type_name"),
    key<A, &A::valueKind>(".value_kind", Need::Required),
    key<A, &A::valueType>(".value_type"),
};

using K = KernelMetadata;
constexpr Key<K> kKernelKeys[] = {
    key<K, &K::agprCount>(".agpr_count"),
    key<K, &K::arguments>(".args", Need::Written),
    key<K, &K::deviceEnqueueSymbol>(".device_enqueue_symbol"),
    key<K, &K::groupSegmentFixedSize>(".group_segment_fixed_size", Need::Written),
    key<K, &K::kernargSegmentAlign>(".kernarg_segment_align", Need::Written),
    key<K, &K::kernargSegmentSize>(".kernarg_segment_size", Need::Written),
    key<K, &K::kind>(".kind"),
    key<K, &K::language>(".language"),
    key<K, &K::languageVersion>(".language_version"),
    key<K, &K::maxFlatWorkgroupSize>(".max_flat_workgroup_size", Need::Written),
    key<K, &K::maxWorkgroupsX>(".max_num_work_groups_x"),
    key<K, &K::maxWorkgroupsY>(".max_num_work_groups_y"),
    key<K, &K::maxWorkgroupsZ>(".max_num_work_groups_z"),
    key<K, &K::name>(".name", Need::Required),
    key<K, &K::privateSegmentFixedSize>(".private_segment_fixed_size", Need::Written),
    key<K, &K::requiredWorkgroupSize>(".reqd_workgroup_size"),
    key<K, &K::sgprCount>(".sgpr_count", Need::Written),
    key<K, &K::sgprSpillCount>(".sgpr_spill_count"),
    key<K, &K::symbol>(".symbol", Need::Required),
    key<K, &K::uniformWorkgroupSize>(".uniform_work_group_size"),
    key<K, &K::usesDynamicStack>(".uses_dynamic_stack"),
    key<K, &K::vecTypeHint>(".vec_type_hint"),
    key<K, &K::vgprCount>(".vgpr_count", Need::Written),
    key<K, &K::vgprSpillCount>(".vgpr_spill_count"),
    key<K, &K::wavefrontSize>(".wavefront_size", Need::Written),
    key<K, &K::workgroupProcessorMode>(".workgroup_processor_mode"),
    key<K, &K::workgroupSizeHint>(".workgroup_size_hint"),
};

using M = Metadata;
constexpr Key<M> kMetadataKeys[] = {
    key<M, &M::kernels>("amdhsa.kernels", Need::Written),
    key<M, &M::printf>("amdhsa.printf"),
    key<M, &M::target>("amdhsa.target"),
    key<M, &M::version>("amdhsa.version", Need::Written),
};

static_assert(std::ranges::is_sorted(kArgumentKeys, {}, &Key<A>::name));
static_assert(std::ranges::is_sorted(kKernelKeys, {}, &Key<K>::name));
static_assert(std::ranges::is_sorted(kMetadataKeys, {}, &Key<M>::name));

template <class Record>
Result<void> readRecord(Input &in, std::string_view what, std::span<const Key<Record>> keys, Record &record) {
  const Token map = LUTHIER_TRY(in.reader.expect(Type::Map, what));
  uint64_t seen = 0;
  for (uint32_t n = 0; n < map.count; ++n) {
    const std::string_view name = LUTHIER_TRY(in.reader.expect(Type::String, "a key")).bytes;
    const auto it = std::ranges::lower_bound(keys, name, {}, &Key<Record>::name);
    if (it == keys.end() || it->name != name) {
      record.extra.push_back({std::string(name), std::string(LUTHIER_TRY(in.reader.skip()))});
      continue;
    }
    if (auto ok = it->read(in, name, record); !ok)
      return ok;
    seen |= uint64_t{1} << (it - keys.begin());
  }
  for (size_t n = 0; n < keys.size(); ++n)
    if (keys[n].need == Need::Required && !(seen >> n & 1))
      return makeError("the entry of {} at offset {:#x} has no {}", what, map.offset, keys[n].name);
  return {};
}

template <class Record> void writeRecord(Writer &out, std::span<const Key<Record>> keys, const Record &record) {
  auto has = [&](const Key<Record> &k) { return k.need != Need::Optional || k.present(record); };
  out.map(static_cast<uint32_t>(static_cast<size_t>(std::ranges::count_if(keys, has)) + record.extra.size()));
  std::vector<const ExtraKey *> extra;
  for (const ExtraKey &e : record.extra)
    extra.push_back(&e);
  std::ranges::sort(extra, {}, [](const ExtraKey *e) { return std::pair(std::string_view(e->key), e); });
  auto next = extra.begin();
  auto writeExtraBefore = [&](const std::string_view *limit) {
    for (; next != extra.end() && (!limit || (*next)->key < *limit); ++next) {
      out.text((*next)->key);
      out.raw((*next)->value);
    }
  };
  for (const Key<Record> &k : keys) {
    if (!has(k))
      continue;
    writeExtraBefore(&k.name);
    out.text(k.name);
    k.write(out, record);
  }
  writeExtraBefore(nullptr);
}

Result<void> readValue(Input &in, std::string_view what, KernelArgument &into) {
  return readRecord<A>(in, what, kArgumentKeys, into);
}
Result<void> readValue(Input &in, std::string_view what, KernelMetadata &into) {
  return readRecord<K>(in, what, kKernelKeys, into);
}
void writeValue(Writer &out, const KernelArgument &value) { writeRecord<A>(out, kArgumentKeys, value); }
void writeValue(Writer &out, const KernelMetadata &value) { writeRecord<K>(out, kKernelKeys, value); }

} // namespace

std::string_view nameOf(ValueKind kind) {
  return kind == ValueKind::Other ? "other" : kValueKinds[static_cast<unsigned>(kind)];
}

uint64_t KernelMetadata::explicitArgumentBytes() const {
  uint64_t end = 0;
  for (const KernelArgument &argument : arguments)
    if (!argument.hidden())
      end = std::max(end, uint64_t{argument.offset} + argument.size);
  return end;
}

const KernelMetadata *Metadata::kernel(std::string_view name) const {
  if (name.ends_with(".kd"))
    name.remove_suffix(3);
  const auto it = std::ranges::find_if(kernels, [&](const KernelMetadata &kernel) {
    std::string_view symbol = kernel.symbol;
    if (symbol.ends_with(".kd"))
      symbol.remove_suffix(3);
    return symbol == name;
  });
  return it == kernels.end() ? nullptr : &*it;
}

Result<Metadata> parseMetadata(ByteSpan note, MetadataParts parts) {
  Metadata metadata;
  Input in{Reader(note), parts};
  if (auto ok = readRecord<M>(in, "the metadata", kMetadataKeys, metadata); !ok)
    return ok.error();
  // What follows is padding at most.
  if (in.reader.left() >= 4)
    return makeError("{} bytes follow the metadata at offset {:#x}", in.reader.left(), in.reader.offset());
  return metadata;
}

std::vector<std::byte> serialise(const Metadata &metadata) {
  Writer out;
  writeRecord<M>(out, kMetadataKeys, metadata);
  const auto *begin = reinterpret_cast<const std::byte *>(out.bytes().data());
  return {begin, begin + out.bytes().size()};
}

} // namespace luthier::object
