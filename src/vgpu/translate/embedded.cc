// What is in the translator's library beside its code: the handlers' bitcode, as the build has linked it, and a way to
// never be torn down.

asm(R"(
  .section .rodata
  .balign 16
  .globl luthierBitcode
  .hidden luthierBitcode
luthierBitcode:
  .incbin ")" LUTHIER_BITCODE_FILE R"("
  .globl luthierBitcodeEnd
  .hidden luthierBitcodeEnd
luthierBitcodeEnd:
  .text
)");

/// The library's own, called for its static objects and for LLVM's: none of them is destroyed. A thread may be
/// translating when the process ends, and there is nothing to clean up.
extern "C" __attribute__((visibility("hidden"))) int __cxa_atexit(void (*)(void *), void *, void *) { return 0; }
