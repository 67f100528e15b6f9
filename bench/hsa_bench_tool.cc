// A tool for bench/hsa_bench.cc: Luthier's Interceptor with what LUTHIER_BENCH_CALLBACKS says (none, packets,
// completions).

#include "hsa/interceptor.h"

#include <atomic>
#include <cstdlib>
#include <string_view>

namespace hsa = luthier::hsa;

static std::atomic<uint64_t> seen;

extern "C" [[gnu::visibility("default")]] bool OnLoad(HsaApiTable *table, uint64_t, uint64_t, const char *const *) {
  const char *text = getenv("LUTHIER_BENCH_CALLBACKS");
  const std::string_view callbacks = text ? text : "none";
  hsa::Interceptor &interceptor = hsa::Interceptor::instance();
  if (callbacks == "packets")
    interceptor.packets().subscribe([](hsa::PacketBatch &batch) { seen += batch.entries.size(); }).keep();
  if (callbacks == "completions")
    interceptor.events().kernelCompleted.subscribe([](const hsa::KernelCompletion &) { ++seen; }).keep();
  return interceptor.install(table).has_value();
}

extern "C" [[gnu::visibility("default")]] void OnUnload() { hsa::Interceptor::instance().uninstall(); }
