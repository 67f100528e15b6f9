// Values of a launch or a wave that hooks can be given anywhere. A wave finds them at its start only.
#pragma once

#include <cstdint>
#include <string_view>

namespace luthier {

/// All are scalar, one register or a pair, but for the work-item ids: one vector register each.
enum class LaunchValue : uint8_t {
  WorkgroupIdX,
  WorkgroupIdY,
  WorkgroupIdZ,
  WorkitemIdX,
  WorkitemIdY,
  WorkitemIdZ,
  DispatchPtr,
  QueuePtr,
  KernargPtr,
  DispatchId,
  // No register of the hardware's has these: Luthier's runtime passes them behind the kernel's arguments.
  HostcallBuffer, ///< of the queue; what Luthier serves, not what the application's runtime does
  LaunchNumber,   ///< Launch::number
};
inline constexpr unsigned kLaunchValues = 12;

/// For people, in the order of the enumeration.
inline constexpr std::string_view kLaunchValueNames[kLaunchValues] = {
    "workgroup_id_x", "workgroup_id_y", "workgroup_id_z", "workitem_id_x", "workitem_id_y",   "workitem_id_z",
    "dispatch_ptr",   "queue_ptr",      "kernarg_ptr",    "dispatch_id",   "hostcall_buffer", "launch_number",
};

constexpr bool isLaunchArgument(LaunchValue value) { return value >= LaunchValue::HostcallBuffer; }

constexpr bool isWorkitemId(LaunchValue value) {
  return value >= LaunchValue::WorkitemIdX && value <= LaunchValue::WorkitemIdZ;
}

} // namespace luthier
