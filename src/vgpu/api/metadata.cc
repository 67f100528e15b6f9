#include "vgpu/api/metadata.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>

namespace luthier::vgpu {

namespace {

using nlohmann::json;

// Built without exceptions: a value of an unexpected type must be noticed before it is asked for.
std::string textIn(const json &map, const char *key) {
  const auto it = map.find(key);
  return it != map.end() && it->is_string() ? it->get<std::string>() : std::string();
}

uint32_t numberIn(const json &map, const char *key) {
  const auto it = map.find(key);
  return it != map.end() && it->is_number_integer() ? it->get<uint32_t>() : 0;
}

const json *listIn(const json &map, const char *key) {
  const auto it = map.find(key);
  return it != map.end() && it->is_array() ? &*it : nullptr;
}

} // namespace

Result<std::vector<Kernel>> kernelsOf(std::span<const std::byte> messagePack) {
  const auto *begin = reinterpret_cast<const uint8_t *>(messagePack.data());
  const json document = json::from_msgpack(begin, begin + messagePack.size(), true, false);
  if (document.is_discarded() || !document.is_object())
    return makeError("the code object's metadata is malformed");
  std::vector<Kernel> kernels;
  const json *list = listIn(document, "amdhsa.kernels");
  if (!list)
    return kernels;
  for (const json &entry : *list) {
    if (!entry.is_object())
      return makeError("the code object's metadata is malformed");
    Kernel &kernel = kernels.emplace_back();
    kernel.name = textIn(entry, ".name");
    kernel.kernargBytes = numberIn(entry, ".kernarg_segment_size");
    kernel.hasMetadata = true;
    const json *arguments = listIn(entry, ".args");
    if (!arguments)
      continue;
    for (const json &argument : *arguments) {
      if (!argument.is_object())
        return makeError("the code object's metadata is malformed");
      kernel.arguments.push_back({.name = textIn(argument, ".name"),
                                  .kind = textIn(argument, ".value_kind"),
                                  .offset = numberIn(argument, ".offset"),
                                  .size = numberIn(argument, ".size")});
    }
  }
  return kernels;
}

uint32_t Kernel::explicitBytes() const {
  uint32_t end = 0;
  for (const KernelArgument &argument : arguments)
    if (!argument.hidden())
      end = std::max(end, argument.offset + argument.size);
  return end;
}

void fillHidden(const Kernel &kernel, const HiddenValues &values, std::span<std::byte> kernarg) {
  const uint32_t grid[] = {values.grid.x, values.grid.y, values.grid.z};
  const uint32_t group[] = {values.workgroup.x, values.workgroup.y, values.workgroup.z};
  for (const KernelArgument &argument : kernel.arguments) {
    if (!argument.hidden() || argument.offset + argument.size > kernarg.size())
      continue;
    std::string_view kind = std::string_view(argument.kind).substr(strlen("hidden_"));
    unsigned d = 0;
    if (kind.size() > 2 && kind[kind.size() - 2] == '_' && kind.back() >= 'x' && kind.back() <= 'z') {
      d = static_cast<unsigned>(kind.back() - 'x');
      kind.remove_suffix(2);
    }
    uint64_t value;
    if (kind == "block_count") // whole workgroups only
      value = grid[d] / group[d];
    else if (kind == "group_size")
      value = group[d];
    else if (kind == "remainder")
      value = grid[d] % group[d];
    else if (kind == "grid_dims")
      value = grid[2] > 1 ? 3 : grid[1] > 1 ? 2 : 1;
    else if (kind == "dynamic_lds_size")
      value = values.dynamicLds;
    else if (kind == "private_base")
      value = values.privateAperture >> 32;
    else if (kind == "shared_base")
      value = values.sharedAperture >> 32;
    else if (kind == "queue_ptr")
      value = values.queue;
    else
      continue;
    memcpy(kernarg.data() + argument.offset, &value, std::min<size_t>(argument.size, sizeof value));
  }
}

} // namespace luthier::vgpu
