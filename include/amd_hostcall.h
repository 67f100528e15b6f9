/* Hostcall: code that runs on a GPU calls functions of the host.
 *
 * A kernel writes a request into a packet of a hostcall buffer; a consumer, which is a thread of the host, finds it,
 * calls the function that is registered for the requested service once for each work-item, and lets the kernel go on
 * with the answers. docs/hostcall.md has an example; the device side is in luthier/hostcall.h, and in AMD's device
 * libraries.
 *
 * All functions may be called from any thread, and from service handlers unless said otherwise. No lock is held while a
 * handler runs.
 */
#ifndef AMD_HOSTCALL_H
#define AMD_HOSTCALL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
  AMD_HOSTCALL_SUCCESS = 0,
  /* The consumer is running already. */
  AMD_HOSTCALL_ERROR_CONSUMER_ACTIVE = 1,
  /* Reserved: nothing here needs a running consumer. */
  AMD_HOSTCALL_ERROR_CONSUMER_INACTIVE = 2,
  /* No thread could be started. */
  AMD_HOSTCALL_ERROR_CONSUMER_LAUNCH_FAILED = 3,
  /* The call makes no sense: see each function. To amd_hostcall_on_error: a damaged packet, or a damaged message. */
  AMD_HOSTCALL_ERROR_INVALID_REQUEST = 4,
  /* To amd_hostcall_on_error: a packet asks for a service that has no handler. */
  AMD_HOSTCALL_ERROR_SERVICE_UNKNOWN = 5,
  AMD_HOSTCALL_ERROR_INCORRECT_ALIGNMENT = 6,
  AMD_HOSTCALL_ERROR_NULLPTR = 7,
  /* To amd_hostcall_on_error: a handler returned failure. From a function: the system refused something. */
  AMD_HOSTCALL_INTERNAL_ERROR = 8
} amd_hostcall_error_t;

/* A buffer has at most so many packets. */
#define AMD_HOSTCALL_MAX_PACKETS 0x100000u

/* A thread of the host that serves the buffers registered with it. */
typedef struct amd_hostcall_consumer_s amd_hostcall_consumer_t; /* NOLINT(readability-identifier-naming) */

/* Makes a consumer that does not run yet. If HSA is initialised by then, its doorbell is an HSA signal, on which it
 * sleeps until a kernel rings; otherwise it looks for work every few milliseconds. NULLPTR, INTERNAL_ERROR. */
amd_hostcall_error_t amd_hostcall_create_consumer(amd_hostcall_consumer_t **consumer);

/* Starts it. CONSUMER_ACTIVE when it runs already, CONSUMER_LAUNCH_FAILED, NULLPTR. */
amd_hostcall_error_t amd_hostcall_launch_consumer(amd_hostcall_consumer_t *consumer);

/* Stops it, waits for the handler that it may be running, and frees it. Buffers that are still registered are
 * deregistered; requests that nobody has answered stay in them, for the consumer that they are registered with next.
 * INVALID_REQUEST from a handler that this consumer runs, NULLPTR. */
amd_hostcall_error_t amd_hostcall_destroy_consumer(amd_hostcall_consumer_t *consumer);

/* Bytes of a buffer with that many packets; 0 for no packets, or for more than AMD_HOSTCALL_MAX_PACKETS. A queue's
 * buffer needs as many packets as waves can be resident on that queue: kernels do not notice when there is none left.
 */
size_t amd_hostcall_get_buffer_size(uint32_t packets);

uint32_t amd_hostcall_get_buffer_alignment(void);

/* Makes a buffer of memory that the host and the device can access, amd_hostcall_get_buffer_size(packets) bytes.
 * NULLPTR, INCORRECT_ALIGNMENT, INVALID_REQUEST for a number of packets that has no size, or a registered buffer. */
amd_hostcall_error_t amd_hostcall_initialize_buffer(void *buffer, uint32_t packets);

/* Lets the consumer, running or not, serve an initialised buffer. INVALID_REQUEST when it is registered already, with
 * this consumer or another, or is not an initialised buffer; NULLPTR, INCORRECT_ALIGNMENT. */
amd_hostcall_error_t amd_hostcall_register_buffer(amd_hostcall_consumer_t *consumer, void *buffer);

/* The consumer forgets the buffer, which may be freed as soon as this has returned. Waits for a handler that runs for
 * this buffer. Called by such a handler itself it does not wait, and this handler's request is never answered.
 * INVALID_REQUEST when it is not registered with this consumer, NULLPTR. */
amd_hostcall_error_t amd_hostcall_deregister_buffer(amd_hostcall_consumer_t *consumer, void *buffer);

/* Called by the consumer's thread once for each active work-item of a packet, with its eight 64-bit words, of which the
 * first two are the answer. Anything but 0 is a fatal error. */
typedef int (*amd_hostcall_service_handler_t)(void *state, uint32_t service, uint64_t *payload);

/* Registers the handler of a service for all consumers. Service 0 is the default: it gets the requests for services
 * that have no handler. Services 1 (function call) and 2 (printf) are there from the start. INVALID_REQUEST for a
 * service that has a handler, NULLPTR without a handler. */
amd_hostcall_error_t amd_hostcall_register_service(uint32_t service, amd_hostcall_service_handler_t handler,
                                                   void *state);

/* Service 1 calls the function whose address is in the first word, with the other seven as input; it writes two words
 * of output. Void: it cannot fail. */
typedef void (*amd_hostcall_function_t)(uint64_t *output, const uint64_t *input);

/* In words; never null. */
const char *amd_hostcall_error_string(int error);

/* Called on a consumer's thread, with an amd_hostcall_error_t, before a fatal error ends the process (a service without
 * a handler, a handler that failed), and for damaged packets, after which the consumer goes on. A null callback removes
 * it. */
void amd_hostcall_on_error(void (*callback)(void *state, int error), void *state);

/* From now on, what consumers do is written to stderr. */
void amd_hostcall_enable_debug(void);

#ifdef __cplusplus
}
#endif

#endif
