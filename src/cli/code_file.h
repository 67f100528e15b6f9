// What the commands that look at code share: the objects of a file for a target, and a function by what a user calls
// it.
#pragma once

#include "object/container.h"
#include "support/result.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace luthier::cli {

enum class FunctionKind { Kernel, DeviceFunction, Any };

/// A file, and which of its code objects are meant.
struct CodeFile {
  std::string path;
  std::string target = {};             ///< only those that run on it; empty: any
  std::optional<uint64_t> object = {}; ///< only this one, counted from 1 in the order of the file, whatever the target
};

/// One function and everything it is a view of.
struct SelectedFunction {
  std::unique_ptr<object::Container> container;
  std::unique_ptr<object::Image> image;
  std::unique_ptr<object::CodeObject> object;
  uint64_t number = 0;                    ///< of the object
  const object::Symbol *symbol = nullptr; ///< null: all of the object
};

/// Calls `visit` for each code object that is meant, with its number, in the order of the file. An object that cannot
/// be parsed is an error, and so is a file without one that is meant; that error says what there is.
Result<void> forEachObject(const CodeFile &file,
                           const std::function<Result<void>(const object::CodeObject &, uint64_t number)> &visit);

/// The function that `name` means: its symbol, its name in the source, or a part of either that no other function has.
/// What is unknown or means several, in one object or in several, is an error that lists what could have been meant.
Result<SelectedFunction> selectFunction(const CodeFile &file, const std::string &name, FunctionKind kind);

/// The object of this number, without a function.
Result<SelectedFunction> selectObject(const std::string &path, uint64_t number);

/// How an object is listed where one must be chosen: "--object 2  gfx90a, at offset ...".
std::string objectChoice(const object::CodeObject &object, uint64_t number);

/// How well a function answers to a name.
enum class NameMatch { None, Part, Whole };
NameMatch matchName(std::string_view symbol, std::string_view wanted);

} // namespace luthier::cli
