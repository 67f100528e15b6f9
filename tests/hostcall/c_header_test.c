/* The header is C, and pedantic about it; and the library's life from there: create, launch, register, destroy. */
#include "amd_hostcall.h"

#include <stdio.h>
#include <stdlib.h>

static int handler(void *state, uint32_t service, uint64_t *payload) {
  (void)state;
  payload[0] = service;
  return 0;
}

static void onError(void *state, int error) {
  (void)state;
  (void)error;
}

static int failures = 0;

static void check(int condition, const char *what) {
  if (!condition) {
    fprintf(stderr, "failed: %s\n", what);
    ++failures;
  }
}
#define CHECK(condition) check(condition, #condition)

int main(void) {
  amd_hostcall_consumer_t *consumer = NULL;
  const uint32_t packets = 100;
  const size_t size = amd_hostcall_get_buffer_size(packets);
  void *buffer = malloc(size);

  amd_hostcall_on_error(onError, NULL);
  CHECK(amd_hostcall_get_buffer_alignment() == 8);
  CHECK(amd_hostcall_create_consumer(&consumer) == AMD_HOSTCALL_SUCCESS);
  CHECK(amd_hostcall_launch_consumer(consumer) == AMD_HOSTCALL_SUCCESS);
  CHECK(amd_hostcall_initialize_buffer(buffer, packets) == AMD_HOSTCALL_SUCCESS);
  CHECK(amd_hostcall_register_service(42, handler, NULL) == AMD_HOSTCALL_SUCCESS);
  CHECK(amd_hostcall_register_buffer(consumer, buffer) == AMD_HOSTCALL_SUCCESS);
  CHECK(amd_hostcall_deregister_buffer(consumer, buffer) == AMD_HOSTCALL_SUCCESS);
  free(buffer);
  CHECK(amd_hostcall_destroy_consumer(consumer) == AMD_HOSTCALL_SUCCESS);
  printf("%s\n", amd_hostcall_error_string(failures == 0 ? AMD_HOSTCALL_SUCCESS : AMD_HOSTCALL_INTERNAL_ERROR));
  return failures;
}
