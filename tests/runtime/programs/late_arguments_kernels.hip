// What late_arguments.hip launches, as a bare code object, which HSA loads.
#define KERNEL extern "C" __attribute__((global)) void

KERNEL store(unsigned *out, unsigned value) {
  const unsigned i = __builtin_amdgcn_workitem_id_x();
  out[i] = value + i;
}

// Writes the arguments of `store`.
KERNEL prepare(unsigned long long *arguments, unsigned *out, unsigned value) {
  arguments[0] = reinterpret_cast<unsigned long long>(out);
  arguments[1] = value;
}

KERNEL nothing() { asm volatile("s_nop 0"); }
