// Any file that may hold GPU code: a code object, a bundle of them, a compressed one, or a host program or library.
//
// The file is mapped and indexed, not read: opening a library of a gigabyte touches the tables only. What is inside
// comes in groups, one per bundle; compressed bundles are unpacked when their group is asked for, and given back when
// the last view of them goes.
#pragma once

#include "isa/target_id.h"
#include "object/bytes.h"
#include "object/code_object.h"
#include "object/decompress.h"
#include "object/mapped_file.h"
#include "support/result.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace luthier::object {

/// One device image within a file.
struct Image {
  std::string origin{}; ///< for messages: the file, the bundle and the entry
  std::string entry{};  ///< the id in the bundle; empty for a bare code object
  isa::TargetId target{};
  unsigned group = 0;  ///< which bundle of the file
  uint64_t offset = 0; ///< in the file, or in the unpacked bundle
  ByteSpan bytes{};
  std::shared_ptr<const Buffer> memory{}; ///< what `bytes` points into, unless that is the file

  /// The code object. It views `bytes`, so the image must outlive it.
  Result<CodeObject> codeObject() const { return CodeObject::parse(bytes, origin); }
};

/// A bundle, or a bare code object, as found in the file.
struct ImageGroup {
  enum class Kind : uint8_t { CodeObject, Bundle, CompressedBundle, OffloadBinary };
  Kind kind = Kind::CodeObject;
  uint64_t offset = 0; ///< in the file
  ByteSpan bytes;
};

class Container {
public:
  struct Options {
    UnpackLimits limits;
  };

  static Result<Container> open(const std::string &path) { return open(path, Options()); }
  static Result<Container> open(const std::string &path, const Options &options);
  /// Of bytes that outlive the container.
  static Result<Container> parse(ByteSpan bytes, std::string name) { return parse(bytes, std::move(name), Options()); }
  static Result<Container> parse(ByteSpan bytes, std::string name, const Options &options);

  const std::string &name() const { return name_; }
  std::span<const ImageGroup> groups() const { return groups_; }
  /// The images for AMD GPUs in a group.
  Result<std::vector<Image>> images(const ImageGroup &group) const;
  /// All images that run on, or answer to, a target; without one, all.
  Result<std::vector<Image>> images(const std::optional<isa::TargetId> &target = std::nullopt) const;

  /// Gives back the memory that reading a group took; views stay valid.
  void forget(const ImageGroup &group) const;

private:
  Result<void> index();
  Result<void> indexRun(ByteSpan run, uint64_t offset, std::string_view where);
  Error error(const Error &why) const { return why.withContext(name_); }

  std::string name_;
  Options options_;
  std::optional<MappedFile> file_;
  ByteSpan bytes_;
  std::vector<ImageGroup> groups_;
};

} // namespace luthier::object
