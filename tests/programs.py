"""The programs that whole-program tests go through: all samples and rocRAND programs of a build."""
import os

GENERATORS = ("xorwow", "mrg32k3a", "mtgp32", "philox", "sobol32", "sobol64")

# Meant to fail, or never to end: there is no result to compare.
WITHOUT_RESULT = ("endless_loop", "memory_fault")

# Kernels (a regular expression) that wait for something - a lock, another workgroup, the host, a value that others
# change too - and so execute more or less each time.
VARIES = {"device_printf": ".", "histogram_atomics": "histogram", "prefix_scan": "lookback", "producer_consumer": ".",
          "rocsparse": "csrsv|csrilu0|csrmvt|csrgemm_.*block_per_row", "spin_lock": "."}


def gpus(program):
    """What --gpu must be for it."""
    return "gfx90a,gfx90a" if os.path.basename(program) == "two_gpus" else "gfx90a"


def varies(program):
    return VARIES.get(os.path.basename(program), "^$")


def all_programs(build, values="5000"):
    """(name, arguments) of each; rocrand_sequences makes that many values of each distribution (None: a million)."""
    folder = f"{build}/samples"
    result = [(name, [f"{folder}/{name}"]) for name in sorted(os.listdir(folder))
              if name not in WITHOUT_RESULT and "." not in name and os.path.isfile(f"{folder}/{name}")
              and os.access(f"{folder}/{name}", os.X_OK)]
    for generator in GENERATORS:
        result.append((f"rocrand_sequences.{generator}",
                       [f"{build}/tests/programs/rocrand_sequences", generator, *([values] if values else [])]))
        result.append((f"rocrand_device.{generator}", [f"{build}/tests/programs/rocrand_device", generator]))
    return result


def large_libraries(build):
    """Programs that load code objects of thousands of kernels, where their libraries are installed: for tools, which
    instrument what is launched."""
    program = f"{build}/tests/programs/rocsparse"
    return [("rocsparse", [program, "200"])] if os.path.exists(program) else []
