#include "vgpu/api/gpu.h"

#include "isa/target.h"
#include "vgpu/api/code_object.h"
#include "vgpu/api/metadata.h"
#include "vgpu/wave/code_cache.h"
#include "vgpu/wave/decoder.h"
#include "vgpu/wave/kernel_descriptor.h"
#include "vgpu/wave/stats.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace luthier::vgpu {

static_assert(static_cast<int>(FaultKind::Memory) == static_cast<int>(Fault::Kind::Memory));
static_assert(static_cast<int>(FaultKind::Aborted) == static_cast<int>(Fault::Kind::Aborted));
static_assert(static_cast<int>(FaultKind::EarlyAccess) == static_cast<int>(Fault::Kind::EarlyAccess));
static_assert(static_cast<int>(FaultKind::MissingRegister) == static_cast<int>(Fault::Kind::MissingRegister));

/// A code object in GPU memory.
class LoadedModule final : public Module {
public:
  LoadedModule(Gpu &gpu, GpuBlock image) : gpu_(gpu), image_(std::make_shared<GpuBlock>(std::move(image))) {}

  ~LoadedModule() override {
    std::lock_guard lock(gpu_.mutex_);
    for (const Kernel &kernel : kernels_)
      gpu_.kernels_.erase(kernel.descriptor);
  }

  const Kernel *kernel(std::string_view name) const override {
    const auto it = std::ranges::find(kernels_, name, &Kernel::name);
    return it == kernels_.end() ? nullptr : &*it;
  }
  std::span<const Kernel> kernels() const override { return kernels_; }
  std::optional<Variable> variable(std::string_view name) const override {
    const auto it = variables_.find(name);
    return it == variables_.end() ? std::nullopt : std::optional(it->second);
  }

  void addSymbols(const object::CodeObject &object, const object::Metadata &metadata) {
    const uint64_t base = image_->address();
    const std::vector<Kernel> described = kernelsOf(metadata);
    xnack_ = object.parsedTargetId().xnack != isa::Feature::Off;
    for (const object::Symbol &symbol : object.symbols()) {
      if (symbol.kind == object::SymbolKind::Kernel)
        addKernel(described, std::string(symbol.name), base + symbol.descriptor);
      else if (symbol.kind == object::SymbolKind::Variable && symbol.defined && symbol.size <= object.imageSize() &&
               symbol.address <= object.imageSize() - symbol.size)
        variables_.insert_or_assign(std::string(symbol.name), Variable{base + symbol.address, symbol.size});
    }
  }

private:
  void addKernel(const std::vector<Kernel> &described, const std::string &name, uint64_t address) {
    const auto it = std::ranges::find(described, name, &Kernel::name);
    Kernel &kernel = kernels_.emplace_back(it == described.end() ? Kernel{} : *it);
    const KernelDescriptor descriptor = descriptorAt(address);
    kernel.name = name;
    kernel.descriptor = address;
    kernel.ldsBytes = descriptor.groupSegmentSize;
    kernel.scratchBytes = descriptor.privateSegmentSize;
    kernel.kernargBytes = std::max(kernel.kernargBytes, descriptor.kernargSize);
    kernel.dynamicStack = descriptor.dynamicStack();
    std::lock_guard lock(gpu_.mutex_);
    gpu_.kernels_.insert_or_assign(address, Gpu::LoadedKernel{name, image_, xnack_});
  }

  Gpu &gpu_;
  std::shared_ptr<GpuBlock> image_;
  bool xnack_ = true;
  std::vector<Kernel> kernels_;
  std::map<std::string, Variable, std::less<>> variables_;
};

Result<std::unique_ptr<VirtualGpu>> VirtualGpu::create(const GpuOptions &options) {
  const isa::Target *target = LUTHIER_TRY(isa::findVirtualTarget(options.target));
  auto gpu = std::make_unique<Gpu>(*target, options);
  if (auto ok = gpu->prepare(); !ok)
    return ok.error();
  return std::unique_ptr<VirtualGpu>(std::move(gpu));
}

Result<std::unique_ptr<Module>> VirtualGpu::loadFile(const std::string &path) {
  FILE *file = fopen(path.c_str(), "rb");
  if (!file)
    return makeErrorCode(errno, "cannot open {}: {}", path, strerror(errno));
  std::vector<std::byte> bytes;
  std::byte piece[65536];
  while (const size_t count = fread(piece, 1, sizeof piece, file))
    bytes.insert(bytes.end(), piece, piece + count);
  const bool failed = ferror(file);
  fclose(file);
  if (failed)
    return makeError("cannot read {}", path);
  auto module = load(bytes);
  if (!module)
    return module.error().withContext(path);
  return module;
}

Result<LaunchReport> VirtualGpu::run(const Kernel &kernel, const LaunchOptions &options, const Arguments &arguments) {
  return LUTHIER_TRY(launch(kernel, options, arguments)).wait();
}

Gpu::Gpu(const isa::Target &target, const GpuOptions &options) {
  scheduler_ = std::make_unique<Scheduler>(options.threads);
  device_ = std::make_unique<Device>(0, DeviceConfig{.target = &target, .computeUnits = options.computeUnits}, space_,
                                     *scheduler_, nullptr);
  memory_ = std::make_unique<GpuMemory>(space_, device_->mask());
  device_->kernelName = [this](uint64_t descriptor) { return nameOf(descriptor); };
  device_->xnack = [this](uint64_t descriptor) {
    std::lock_guard lock(mutex_);
    const auto it = kernels_.find(descriptor);
    return it == kernels_.end() || it->second.xnack;
  };
}

Gpu::~Gpu() {
  scheduler_.reset();
  // Launches that no worker had taken up yet.
  for (const auto &state : running_)
    state->finish({FaultKind::Aborted, 0, false, "the virtual GPU was shut down"});
}

std::string Gpu::nameOf(uint64_t descriptor) {
  std::lock_guard lock(mutex_);
  const auto it = kernels_.find(descriptor);
  return it == kernels_.end() ? fmt::format("kernel@{:#x}", descriptor) : it->second.name;
}

Result<std::unique_ptr<Module>> Gpu::load(std::span<const std::byte> elf) {
  const object::CodeObject object = LUTHIER_TRY(parseFor(device_->target(), elf));
  const object::Metadata metadata = LUTHIER_TRY(object.metadata());
  GpuBlock image = LUTHIER_TRY(GpuBlock::make(*memory_, object.imageSize()));
  if (auto ok = placeAt(image.address(), object); !ok)
    return ok.error();
  auto module = std::make_unique<LoadedModule>(*this, std::move(image));
  module->addSymbols(object, metadata);
  device_->invalidateCode();
  return std::unique_ptr<Module>(std::move(module));
}

Result<void *> Gpu::allocateBytes(uint64_t bytes) {
  return reinterpret_cast<void *>(LUTHIER_TRY(memory_->allocate(bytes)));
}

Result<void> Gpu::free(void *memory) { return memory_->free(reinterpret_cast<uint64_t>(memory)); }

void Gpu::mapHost(const void *memory, uint64_t bytes) {
  space_.map(reinterpret_cast<uint64_t>(memory), bytes, device_->mask());
}

void Gpu::unmapHost(const void *memory, uint64_t bytes) {
  space_.unmap(reinterpret_cast<uint64_t>(memory), bytes, device_->mask());
}

} // namespace luthier::vgpu
