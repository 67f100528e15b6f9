// The public interface for tools (luthier/tool.h), as far as it is not about kernels: that is in kernel_view.cc.
#include "runtime/tool_host.h"

#include "support/demangle.h"
#include "support/expand_keys.h"
#include "support/log.h"

#include <algorithm>
#include <cstring>

namespace luthier {

using runtime::LoadedTool;
using runtime::ToolHost;
using runtime::ToolReport;

uint64_t CodeObject::number() const { return impl_->code->number(); }
std::string CodeObject::uri() const { return impl_->code->uri(); }
std::string CodeObject::target() const {
  const auto &object = impl_->code->object();
  return object ? object->targetId() : "";
}
std::vector<std::string> CodeObject::kernels() const {
  std::vector<std::string> names;
  if (const auto &object = impl_->code->object())
    for (const object::Symbol &kernel : object->kernels())
      names.push_back(demangle(kernel.name));
  return names;
}

std::string KernelId::name() const {
  const auto identity = ToolHost::instance().identities().find(number_);
  return identity ? identity->name : "";
}

const Kernel &Launch::kernel() const { return *impl_->view; }
uint64_t Launch::number() const { return impl_->number; }
uint64_t Launch::numberOfKernel() const { return impl_->numberOfKernel; }
uint64_t Launch::queue() const { return impl_->queue; }
Dim3 Launch::grid() const { return impl_->grid; }
Dim3 Launch::workgroup() const { return impl_->workgroup; }
uint64_t Launch::workgroups() const { return impl_->workgroups(); }
uint64_t Launch::beginTime() const { return impl_->begin; }
uint64_t Launch::endTime() const { return impl_->end; }
bool Launch::instrumented() const { return impl_->instrumented; }

std::vector<std::byte> Launch::arguments() const {
  size_t size = 0;
  for (const KernelArgument &each : kernel().arguments())
    size = std::max<size_t>(size, each.offset + each.size);
  hsa_amd_pointer_info_t info = {};
  info.size = sizeof info;
  if (!impl_->arguments || !size ||
      !hsa::call<hsa::ApiId::hsa_amd_pointer_info>(const_cast<void *>(impl_->arguments), &info, nullptr, nullptr,
                                                   nullptr) ||
      info.type == HSA_EXT_POINTER_TYPE_UNKNOWN || !info.hostBaseAddress)
    return {};
  const auto *first = static_cast<const std::byte *>(impl_->arguments);
  const auto *end = static_cast<const std::byte *>(info.agentBaseAddress) + info.sizeInBytes;
  return std::vector<std::byte>(first, std::min(first + size, std::max(first, end)));
}

void Launch::readBytes(const HookFile &file, const char *name, void *to, size_t bytes) const {
  if (const std::byte *from = impl_->find(file, name, bytes, hook::Storage::PerLaunch))
    memcpy(to, from, bytes);
  else
    memset(to, 0, bytes); // no hook of this kernel uses it
}

void Launch::readGroups(const HookFile &file, const char *name, void *to, size_t bytesOfGroup) const {
  uint64_t stride = 0;
  const std::byte *from = impl_->find(file, name, bytesOfGroup, hook::Storage::PerWorkgroup, &stride);
  for (uint64_t group = 0; from && group < workgroups(); ++group)
    memcpy(static_cast<std::byte *>(to) + group * bytesOfGroup, from + group * stride, bytesOfGroup);
}

void Launch::writeBytes(const HookFile &file, const char *name, const void *from, size_t bytes) {
  if (std::byte *to = impl_->find(file, name, bytes, hook::Storage::PerLaunch))
    memcpy(to, from, bytes);
}

Report &Tool::report() {
  if (LoadedTool *tool = ToolHost::instance().tools().find(this))
    return tool->report;
  static ToolReport nowhere(nullptr); // made by somebody else than Luthier
  return nowhere;
}

void Report::columns(std::vector<std::string> names) {
  if (LoadedTool *tool = static_cast<ToolReport *>(this)->tool)
    tool->table.columns = std::move(names);
}

void Report::add(std::vector<Cell> cells) {
  LoadedTool *tool = static_cast<ToolReport *>(this)->tool;
  if (!tool)
    return;
  std::vector<report::Cell> row;
  for (Cell &cell : cells)
    row.push_back({std::move(cell.text), cell.number, cell.kernel});
  tool->table.rows.push_back(std::move(row));
}

std::string Tool::option(const std::string &name, const std::string &byDefault, const std::string &help) {
  return ToolHost::instance().tools().option(name, {}, byDefault, help);
}

std::string Tool::choice(const std::string &name, const std::vector<std::string> &choices, const std::string &help) {
  return ToolHost::instance().tools().option(name, {.kind = ValueType::Kind::Choice, .choices = choices},
                                             choices.empty() ? "" : choices.front(), help);
}

bool Tool::flag(const std::string &name, const std::string &help) {
  return parseFlag(name, ToolHost::instance().tools().option(name, {.kind = ValueType::Kind::Flag}, "no", help))
      .value_or(false);
}

uint64_t Tool::number(const std::string &name, uint64_t byDefault, const std::string &help, uint64_t least,
                      uint64_t most) {
  const ValueType type{.kind = ValueType::Kind::Number, .least = least, .most = most};
  return parseNumber(name, ToolHost::instance().tools().option(name, type, std::to_string(byDefault), help))
      .value_or(byDefault);
}

std::vector<uint64_t> Tool::addresses(const std::string &name, const std::string &help) {
  return parseAddresses(name, ToolHost::instance().tools().option(name, {.kind = ValueType::Kind::Addresses}, "", help))
      .value_or(std::vector<uint64_t>());
}

std::string Tool::outputFile(const std::string &name, const std::string &byDefault, const std::string &help) {
  const std::string pattern =
      ToolHost::instance().tools().option(name, {.kind = ValueType::Kind::OutputFile}, byDefault, help);
  return expandKeys(pattern).value_or(pattern);
}

void Tool::warn(const std::string &message) { ToolHost::instance().account().logAndRecord(log::Level::warn, message); }

void Tool::lost(uint64_t records) { ToolHost::instance().account().addLost(records); }

unsigned Tool::gpus() const { return static_cast<unsigned>(ToolHost::instance().memory().agents().size()); }

namespace {

void access(unsigned gpu, const HookFile &file, const char *name, size_t bytes, void *to, const void *from) {
  ToolHost &host = ToolHost::instance();
  const auto agents = host.memory().agents();
  const auto module = host.modules().of(file);
  const hook::Variable *variable = module ? (*module)->findVariable(name) : nullptr;
  if (gpu >= agents.size() || !variable || variable->storage != hook::Storage::Device || variable->size < bytes) {
    host.account().logAndRecord(log::Level::warn, fmt::format("the variable {} cannot be accessed", name));
    return;
  }
  const Result<void> done = to ? host.memory().read(agents[gpu], *module, *variable, to, bytes)
                               : host.memory().write(agents[gpu], *module, *variable, from, bytes);
  if (!done)
    host.account().logAndRecord(log::Level::warn, fmt::format("{}: {}", name, done.error().message()));
}

} // namespace

void Tool::readBytes(unsigned gpu, const HookFile &file, const char *name, void *to, size_t bytes) {
  access(gpu, file, name, bytes, to, nullptr);
}

void Tool::writeBytes(unsigned gpu, const HookFile &file, const char *name, const void *from, size_t bytes) {
  access(gpu, file, name, bytes, nullptr, from);
}

void Tool::readSites(const HookFile &file, const char *name,
                     const std::function<void(const SiteOfValue &, std::span<const std::byte>)> &visit) {
  ToolHost &host = ToolHost::instance();
  const auto module = host.modules().of(file);
  const hook::Variable *variable = module ? (*module)->findVariable(name) : nullptr;
  const LoadedTool *tool = host.tools().find(this);
  const Result<void> done = variable ? host.siteValues().read(**module, *variable, tool ? tool->number : 0, visit)
                                     : makeError("there is no such variable");
  if (!done)
    host.account().logAndRecord(log::Level::warn, fmt::format("{}: {}", name, done.error().message()));
}

void *Tool::sharedMemory(size_t bytes) {
  auto memory = ToolHost::instance().memory().shared(bytes);
  if (memory)
    return *memory;
  warn(fmt::format("{} bytes of shared memory: {}", bytes, memory.error().message()));
  return nullptr;
}

} // namespace luthier
