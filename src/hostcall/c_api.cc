// amd_hostcall.h on top of the C++ classes.

#include "amd_hostcall.h"

#include "hostcall/consumer.h"
#include "hostcall/report.h"

using namespace luthier;
using namespace luthier::hostcall;

struct amd_hostcall_consumer_s {
  std::unique_ptr<Consumer> consumer;
};

namespace {

amd_hostcall_error_t codeOf(const Result<void> &result) {
  if (result)
    return AMD_HOSTCALL_SUCCESS;
  debug("{}", result.error().message());
  return static_cast<amd_hostcall_error_t>(result.error().code());
}

} // namespace

extern "C" {

amd_hostcall_error_t amd_hostcall_create_consumer(amd_hostcall_consumer_t **consumer) {
  if (!consumer)
    return AMD_HOSTCALL_ERROR_NULLPTR;
  auto created = Consumer::create();
  if (!created)
    return codeOf(created.error());
  *consumer = new amd_hostcall_consumer_s{std::move(*created)};
  return AMD_HOSTCALL_SUCCESS;
}

amd_hostcall_error_t amd_hostcall_launch_consumer(amd_hostcall_consumer_t *consumer) {
  return consumer ? codeOf(consumer->consumer->launch()) : AMD_HOSTCALL_ERROR_NULLPTR;
}

amd_hostcall_error_t amd_hostcall_destroy_consumer(amd_hostcall_consumer_t *consumer) {
  if (!consumer)
    return AMD_HOSTCALL_ERROR_NULLPTR;
  if (consumer->consumer->isCurrentThread())
    return codeOf(
        makeErrorCode(AMD_HOSTCALL_ERROR_INVALID_REQUEST, "a handler cannot destroy the consumer that runs it"));
  delete consumer;
  return AMD_HOSTCALL_SUCCESS;
}

size_t amd_hostcall_get_buffer_size(uint32_t packets) { return bufferBytes(packets); }

uint32_t amd_hostcall_get_buffer_alignment(void) { return kBufferAlignment; }

amd_hostcall_error_t amd_hostcall_initialize_buffer(void *buffer, uint32_t packets) {
  if (buffer && Consumer::isRegistered(buffer))
    return codeOf(
        makeErrorCode(AMD_HOSTCALL_ERROR_INVALID_REQUEST, "the buffer at {} is in use by a consumer", buffer));
  return codeOf(initializeBuffer(buffer, packets));
}

amd_hostcall_error_t amd_hostcall_register_buffer(amd_hostcall_consumer_t *consumer, void *buffer) {
  return consumer ? codeOf(consumer->consumer->registerBuffer(buffer)) : AMD_HOSTCALL_ERROR_NULLPTR;
}

amd_hostcall_error_t amd_hostcall_deregister_buffer(amd_hostcall_consumer_t *consumer, void *buffer) {
  return consumer ? codeOf(consumer->consumer->deregisterBuffer(buffer)) : AMD_HOSTCALL_ERROR_NULLPTR;
}

amd_hostcall_error_t amd_hostcall_register_service(uint32_t service, amd_hostcall_service_handler_t handler,
                                                   void *state) {
  return codeOf(Services::global().add(service, handler, state));
}

const char *amd_hostcall_error_string(int error) {
  switch (error) {
  case AMD_HOSTCALL_SUCCESS:
    return "success";
  case AMD_HOSTCALL_ERROR_CONSUMER_ACTIVE:
    return "the consumer is running already";
  case AMD_HOSTCALL_ERROR_CONSUMER_INACTIVE:
    return "the consumer is not running";
  case AMD_HOSTCALL_ERROR_CONSUMER_LAUNCH_FAILED:
    return "the consumer's thread could not be started";
  case AMD_HOSTCALL_ERROR_INVALID_REQUEST:
    return "invalid request";
  case AMD_HOSTCALL_ERROR_SERVICE_UNKNOWN:
    return "no handler is registered for the service";
  case AMD_HOSTCALL_ERROR_INCORRECT_ALIGNMENT:
    return "the address is not aligned as it must be";
  case AMD_HOSTCALL_ERROR_NULLPTR:
    return "an argument is a null pointer";
  case AMD_HOSTCALL_INTERNAL_ERROR:
    return "internal error";
  default:
    return "unknown error";
  }
}

void amd_hostcall_on_error(void (*callback)(void *state, int error), void *state) { setErrorCallback(callback, state); }

void amd_hostcall_enable_debug(void) { enableDebug(); }

} // extern "C"
