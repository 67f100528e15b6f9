// hsaKmt*: what a virtual GPU does not have (SVM, debugging, performance counters, interop, other processes). Exported
// all the same, so that no client of the library fails to load.
#include "support/log.h"

#include <hsakmt.h>

#define LUTHIER_UNSUPPORTED(name, parameters)                                                                          \
  HSAKMT_STATUS name parameters {                                                                                      \
    luthier::log::info("vgpu: " #name " is not supported");                                                            \
    return HSAKMT_STATUS_NOT_SUPPORTED;                                                                                \
  }

extern "C" {

LUTHIER_UNSUPPORTED(hsaKmtReportQueue, (HSA_QUEUEID, HsaQueueReport *))
LUTHIER_UNSUPPORTED(hsaKmtGetQueueInfo, (HSA_QUEUEID, HsaQueueInfo *))
LUTHIER_UNSUPPORTED(hsaKmtProcessVMRead,
                    (HSAuint32, HsaMemoryRange *, HSAuint64, HsaMemoryRange *, HSAuint64, HSAuint64 *))
LUTHIER_UNSUPPORTED(hsaKmtProcessVMWrite,
                    (HSAuint32, HsaMemoryRange *, HSAuint64, HsaMemoryRange *, HSAuint64, HSAuint64 *))
LUTHIER_UNSUPPORTED(hsaKmtMapGraphicHandle, (HSAuint32, HSAuint64, HSAuint64, HSAuint64, HSAuint64, HSAuint64 *))
LUTHIER_UNSUPPORTED(hsaKmtUnmapGraphicHandle, (HSAuint32, HSAuint64, HSAuint64))
LUTHIER_UNSUPPORTED(hsaKmtDbgRegister, (HSAuint32))
LUTHIER_UNSUPPORTED(hsaKmtDbgUnregister, (HSAuint32))
LUTHIER_UNSUPPORTED(hsaKmtDbgWavefrontControl,
                    (HSAuint32, HSA_DBG_WAVEOP, HSA_DBG_WAVEMODE, HSAuint32, HsaDbgWaveMessage *))
LUTHIER_UNSUPPORTED(hsaKmtDbgAddressWatch,
                    (HSAuint32, HSAuint32, HSA_DBG_WATCH_MODE *, void **, HSAuint64 *, HsaEvent **))
LUTHIER_UNSUPPORTED(hsaKmtGetKernelDebugTrapVersionInfo, (HSAuint32 *, HSAuint32 *))
LUTHIER_UNSUPPORTED(hsaKmtPmcGetCounterProperties, (HSAuint32, HsaCounterProperties **))
LUTHIER_UNSUPPORTED(hsaKmtPmcRegisterTrace, (HSAuint32, HSAuint32, HsaCounter *, HsaPmcTraceRoot *))
LUTHIER_UNSUPPORTED(hsaKmtPmcUnregisterTrace, (HSAuint32, HSATraceId))
LUTHIER_UNSUPPORTED(hsaKmtPmcAcquireTraceAccess, (HSAuint32, HSATraceId))
LUTHIER_UNSUPPORTED(hsaKmtPmcReleaseTraceAccess, (HSAuint32, HSATraceId))
LUTHIER_UNSUPPORTED(hsaKmtPmcStartTrace, (HSATraceId, void *, HSAuint64))
LUTHIER_UNSUPPORTED(hsaKmtPmcQueryTrace, (HSATraceId))
LUTHIER_UNSUPPORTED(hsaKmtPmcStopTrace, (HSATraceId))
LUTHIER_UNSUPPORTED(hsaKmtSPMAcquire, (HSAuint32))
LUTHIER_UNSUPPORTED(hsaKmtSPMRelease, (HSAuint32))
LUTHIER_UNSUPPORTED(hsaKmtSPMSetDestBuffer, (HSAuint32, HSAuint32, HSAuint32 *, HSAuint32 *, void *, bool *))
LUTHIER_UNSUPPORTED(hsaKmtSVMSetAttr, (void *, HSAuint64, unsigned int, HSA_SVM_ATTRIBUTE *))
LUTHIER_UNSUPPORTED(hsaKmtSVMGetAttr, (void *, HSAuint64, unsigned int, HSA_SVM_ATTRIBUTE *))

} // extern "C"
