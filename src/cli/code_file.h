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

/// One function and everything it is a view of.
struct SelectedFunction {
  std::unique_ptr<object::Container> container;
  std::unique_ptr<object::Image> image;
  std::unique_ptr<object::CodeObject> object;
  const object::Symbol *symbol = nullptr; ///< null: all of the object
};

/// Calls `visit` for each code object of the file that is for the target (any, when empty), in the order of the file.
/// An object that cannot be parsed is an error, and so is a file without one for the target; that error says what there
/// is.
Result<void> forEachObject(const std::string &file, const std::string &target,
                           const std::function<Result<void>(const object::Image &, const object::CodeObject &)> &visit);

/// The function that `name` means: its symbol, its name in the source, or a part of either that no other function has.
/// What is unknown or means several is an error that lists what could have been meant.
Result<SelectedFunction> selectFunction(const std::string &file, const std::string &target, const std::string &name,
                                        FunctionKind kind);

/// The object that has this origin, without a function.
Result<SelectedFunction> selectObject(const std::string &file, const std::string &origin);

/// How well a function answers to a name.
enum class NameMatch { None, Part, Whole };
NameMatch matchName(std::string_view symbol, std::string_view wanted);

} // namespace luthier::cli
