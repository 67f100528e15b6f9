// `luthier run --trace hsa`: what the application asks of ROCr and of the GPU, one line each as it happens.
#pragma once

#include "support/result.h"

namespace luthier::runtime {

/// Subscribes what LUTHIER_TRACE asks for (a list of: hsa, or its parts api, code, queues, packets), writing to the
/// file LUTHIER_TRACE_FILE or to stderr. Does nothing when it is unset.
Result<void> startHsaTrace();

/// Writes the summary; at the end of the process, or of HSA.
void finishHsaTrace();

} // namespace luthier::runtime
