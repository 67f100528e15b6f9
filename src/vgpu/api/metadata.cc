#include "vgpu/api/metadata.h"

#include <algorithm>
#include <cstring>

namespace luthier::vgpu {

std::vector<Kernel> kernelsOf(const object::Metadata &metadata) {
  std::vector<Kernel> kernels;
  for (const object::KernelMetadata &from : metadata.kernels) {
    Kernel &kernel = kernels.emplace_back();
    // The symbol's: the source name is not always the same.
    kernel.name = from.symbol.ends_with(".kd") ? from.symbol.substr(0, from.symbol.size() - 3) : from.symbol;
    kernel.kernargBytes = from.kernargSegmentSize;
    kernel.hasMetadata = true;
    for (const object::KernelArgument &argument : from.arguments)
      kernel.arguments.push_back({.name = argument.name,
                                  .kind = std::string(argument.valueKind.text()),
                                  .offset = argument.offset,
                                  .size = argument.size});
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
    else if (kind == "hostcall_buffer")
      value = values.hostcallBuffer;
    else
      continue;
    memcpy(kernarg.data() + argument.offset, &value, std::min<size_t>(argument.size, sizeof value));
  }
}

} // namespace luthier::vgpu
