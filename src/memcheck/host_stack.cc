#include "memcheck/host_stack.h"

#include "support/demangle.h"

#include <algorithm>
#include <cstddef>
#include <dlfcn.h>
#include <elf.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <map>
#include <mutex>
#include <span>
#include <string_view>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace luthier::memcheck {

namespace {

constexpr int kMostFrames = 48;

/// Functions of a program or library by address, its own included that the dynamic linker does not know.
class Functions {
public:
  explicit Functions(const std::string &path) {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (fd < 0)
      return;
    if (fstat(fd, &status) == 0 && status.st_size > 0) {
      const auto size = static_cast<size_t>(status.st_size);
      void *mapped = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
      if (mapped != MAP_FAILED) {
        read({static_cast<const std::byte *>(mapped), size});
        munmap(mapped, size);
      }
    }
    close(fd);
  }

  std::string nameAt(uint64_t address) const {
    const auto after = byAddress_.upper_bound(address);
    if (after == byAddress_.begin())
      return {};
    const auto &[begin, function] = *std::prev(after);
    return address - begin < function.size ? function.name : std::string();
  }

private:
  struct Function {
    uint64_t size;
    std::string name;
  };

  template <class T> static std::span<const T> table(std::span<const std::byte> file, uint64_t offset, uint64_t bytes) {
    if (offset > file.size() || bytes > file.size() - offset || offset % alignof(T))
      return {};
    return {reinterpret_cast<const T *>(file.data() + offset), static_cast<size_t>(bytes / sizeof(T))};
  }

  void read(std::span<const std::byte> file) {
    const auto headers = table<Elf64_Ehdr>(file, 0, sizeof(Elf64_Ehdr));
    if (headers.empty() || std::string_view(reinterpret_cast<const char *>(headers[0].e_ident), SELFMAG) != ELFMAG ||
        headers[0].e_ident[EI_CLASS] != ELFCLASS64)
      return;
    const auto sections =
        table<Elf64_Shdr>(file, headers[0].e_shoff, uint64_t{headers[0].e_shnum} * sizeof(Elf64_Shdr));
    for (const Elf64_Shdr &section : sections) {
      if ((section.sh_type != SHT_SYMTAB && section.sh_type != SHT_DYNSYM) || section.sh_link >= sections.size())
        continue;
      const Elf64_Shdr &names = sections[section.sh_link];
      const auto text = table<char>(file, names.sh_offset, names.sh_size);
      for (const Elf64_Sym &symbol : table<Elf64_Sym>(file, section.sh_offset, section.sh_size)) {
        if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_size == 0 || symbol.st_name >= text.size())
          continue;
        const auto name = text.subspan(symbol.st_name);
        const auto end = std::ranges::find(name, '\0');
        byAddress_.try_emplace(symbol.st_value, Function{symbol.st_size, std::string(name.begin(), end)});
      }
    }
  }

  std::map<uint64_t, Function> byAddress_;
};

const Functions &functionsOf(const std::string &path) {
  // Never destroyed: leaks are described when the process exits.
  static auto &mutex = *new std::mutex();
  static auto &known = *new std::map<std::string, Functions>();
  std::lock_guard lock(mutex);
  auto found = known.find(path);
  if (found == known.end())
    found = known.emplace(path, Functions(path)).first;
  return found->second;
}

constexpr std::string_view kHip = "libamdhip64";
constexpr std::string_view kBeforeHip = "libluthier-check"; ///< vgpu/preload/hip_calls.c

bool isModule(std::string_view path, std::string_view name) {
  return path.substr(path.rfind('/') + 1).starts_with(name);
}

} // namespace

HostStack captureHostStack() {
  void *frames[kMostFrames];
  const int count = backtrace(frames, kMostFrames);
  HostStack stack;
  for (int n = 2; n < count; ++n)
    stack.push_back(reinterpret_cast<uint64_t>(frames[n]));
  return stack;
}

bool passesThroughHip(const HostStack &stack) {
  return std::ranges::any_of(stack, [](uint64_t address) {
    Dl_info info{};
    return dladdr(reinterpret_cast<void *>(address), &info) && info.dli_fname && isModule(info.dli_fname, kHip);
  });
}

std::vector<check::HostFrame> describeHostStack(const HostStack &stack) {
  std::vector<check::HostFrame> frames;
  for (const uint64_t address : stack) {
    check::HostFrame frame;
    // A return address is behind its call, which may be the last instruction of a function.
    const uint64_t call = address - 1;
    Dl_info info{};
    link_map *map = nullptr;
    if (dladdr1(reinterpret_cast<void *>(call), &info, reinterpret_cast<void **>(&map), RTLD_DL_LINKMAP) && map) {
      frame.module = info.dli_fname ? info.dli_fname : "";
      if (map->l_name[0] == '\0') { // the program itself
        char path[4096];
        const ssize_t length = readlink("/proc/self/exe", path, sizeof(path));
        frame.module = length > 0 ? std::string(path, static_cast<size_t>(length)) : frame.module;
      }
      frame.offset = call - map->l_addr;
      frame.function = demangle(functionsOf(frame.module).nameAt(frame.offset));
    } else {
      frame.offset = call;
    }
    // From HIP 6 on, exported functions jump to ones without names. Ours that is before them has the name.
    if (isModule(frame.module, kBeforeHip) && !frames.empty() && isModule(frames.back().module, kHip))
      frames.back().function = frame.function;
    if (isModule(frame.module, "libluthier") || (frames.empty() && isModule(frame.module, "libhsa-runtime64")))
      continue;
    if (!frames.empty() && isModule(frames.back().module, kHip) && isModule(frame.module, kHip))
      frames.pop_back();
    frames.push_back(std::move(frame));
    if (frames.back().function == "main")
      break;
  }
  return frames;
}

} // namespace luthier::memcheck
