// Doorbells that are HSA signals, made and rung with functions that the caller names: there may be several of a kind in
// a process, HSA's own and those of tools around it.
#pragma once

#include "hostcall/doorbell.h"

#include <hsa/hsa.h>

namespace luthier::hostcall {

struct SignalFunctions {
  decltype(&hsa_signal_create) create = nullptr;
  decltype(&hsa_signal_destroy) destroy = nullptr;
  decltype(&hsa_signal_load_scacquire) load = nullptr;
  decltype(&hsa_signal_add_screlease) add = nullptr;
  decltype(&hsa_signal_wait_scacquire) wait = nullptr;
  decltype(&hsa_system_get_info) info = nullptr;

  bool complete() const { return create && destroy && load && add && wait && info; }
};

/// Null when functions are missing, or HSA is not initialised.
std::unique_ptr<Doorbell> createHsaDoorbell(const SignalFunctions &hsa);

} // namespace luthier::hostcall
