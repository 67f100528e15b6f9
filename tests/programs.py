"""What whole-program tests go through: all samples and rocRAND programs of a build, and the machines to run them on.

LUTHIER_TEST_GPU is the target of the virtual GPUs that they run on, gfx90a unless it says otherwise. Those for another one are what
scripts/targets.py has built, and of rocRAND the programs that have no kernels of their own."""
import os

GPU = os.environ.get("LUTHIER_TEST_GPU", "gfx90a")

GENERATORS = ("xorwow", "mrg32k3a", "mtgp32", "philox", "sobol32", "sobol64")

# Meant to fail, or never to end: there is no result to compare.
WITHOUT_RESULT = ("endless_loop", "memory_fault")

# Kernels (a regular expression) that wait for something - a lock, another workgroup, the host, a value that others
# change too - and so execute more or less each time.
VARIES = {"device_printf": ".", "histogram_atomics": "histogram", "prefix_scan": "lookback", "producer_consumer": ".",
          "rocsparse": "csrsv|csrilu0|csrmvt|csrgemm_.*block_per_row", "spin_lock": "."}


# Options of `luthier run`: the virtual GPU as it is, with its check of waits, and as strict as the hardware.
MACHINES = {"normal": [], "waits": ["--strict-waits"], "strict": ["--strict-waits", "--strict-resources", "7", "--strict-l1"]}


def gpus(program):
    """What --gpu must be for it."""
    return f"{GPU},{GPU}" if os.path.basename(program) == "two_gpus" else GPU


def varies(program):
    return VARIES.get(os.path.basename(program), "^$")


def all_programs(build, values="5000"):
    """(name, arguments) of each; rocrand_sequences makes that many values of each distribution (None: a million)."""
    folder = f"{build}/samples" if GPU == "gfx90a" else f"{build}/targets/{GPU}"
    result = [(name, [f"{folder}/{name}"]) for name in sorted(os.listdir(folder))
              if name not in WITHOUT_RESULT and "." not in name and os.path.isfile(f"{folder}/{name}")
              and os.access(f"{folder}/{name}", os.X_OK)]
    for generator in GENERATORS:
        result.append((f"rocrand_sequences.{generator}",
                       [f"{build}/tests/programs/rocrand_sequences", generator, *([values] if values else [])]))
        if GPU == "gfx90a":
            result.append((f"rocrand_device.{generator}", [f"{build}/tests/programs/rocrand_device", generator]))
    return result


def large_libraries(build):
    """Programs that load code objects of thousands of kernels, where their libraries are installed: for tools, which
    instrument what is launched."""
    program = f"{build}/tests/programs/rocsparse"
    return [("rocsparse", [program, "200"])] if os.path.exists(program) else []
