/* What HSA tells under Luthier beyond what ROCr tells: device functions as symbols of an executable.
 *
 * hsa_executable_iterate_agent_symbols and hsa_executable_get_symbol_by_name also return device functions, as symbols
 * of kind HSA_SYMBOL_KIND_INDIRECT_FUNCTION. hsa_executable_symbol_get_info answers for them: TYPE, NAME and
 * NAME_LENGTH, MODULE_NAME and its length, AGENT, LINKAGE, IS_DEFINITION, INDIRECT_FUNCTION_OBJECT (the address of the
 * code) and INDIRECT_FUNCTION_CALL_CONVENTION, and the attributes below. Without Luthier they are never returned.
 */
#ifndef LUTHIER_HSA_EXT_H
#define LUTHIER_HSA_EXT_H

#include <hsa/hsa.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
  /* Bytes of the function's code: uint64_t. */
  LUTHIER_EXECUTABLE_SYMBOL_INFO_FUNCTION_SIZE = 0x4c540001,
  /* The loaded code object that it is part of: hsa_loaded_code_object_t. */
  LUTHIER_EXECUTABLE_SYMBOL_INFO_FUNCTION_LOADED_CODE_OBJECT = 0x4c540002,
  /* For kernels: how many device functions the kernel can call, directly or not: uint32_t. */
  LUTHIER_EXECUTABLE_SYMBOL_INFO_KERNEL_CALLEE_COUNT = 0x4c540003,
  /* For kernels: these functions, an array of hsa_executable_symbol_t with room for KERNEL_CALLEE_COUNT of them. */
  LUTHIER_EXECUTABLE_SYMBOL_INFO_KERNEL_CALLEES = 0x4c540004
} luthier_executable_symbol_info_t;

#ifdef __cplusplus
}
#endif

#endif
