#include "hsa/interceptor.h"

#include "support/log.h"

namespace luthier::hsa {

Interceptor &Interceptor::instance() {
  static auto *interceptor = new Interceptor;
  return *interceptor;
}

Interceptor::Interceptor() { tables_.wrappers() = calls::wrappers(); }

Result<void> Interceptor::install(HsaApiTable *table) {
  std::lock_guard lock(mutex_);
  LUTHIER_TRY(tables_.install(table));
  loader_.start();
  blit_.start();
  deviceFunctions_.start();
  linker_.start();
  queues_.start();
  return {};
}

void Interceptor::uninstall() {
  std::lock_guard lock(mutex_);
  if (!installed())
    return;
  queues_.stop();
  if (const uint64_t unseen = callbacks_.takeUnseen())
    log::warn("{} packets went to the GPU unseen while callbacks waited for it", unseen);
  linker_.stop();
  deviceFunctions_.stop();
  code_.clear();
  blit_.stop();
  tables_.uninstall();
}

} // namespace luthier::hsa
