#!/usr/bin/env python3
"""Usage: scripts/targets.py [--targets LIST] [--samples REGEX] [--checks] [--wave64] [--jobs N] [--build DIR]

All samples on every target that the installed ROCr accepts: each is compiled for it by hipcc, into DIR/targets, and run on a virtual
GPU of it. A row per sample and a column per target: the time of the run in seconds, or how it ended. CTest has a selection (label
targets).

  --targets LIST    separated by commas; default: all that `luthier version` lists
  --samples REGEX   only these
  --checks          also under --strict-waits, --poison-dead and --strict-resources
  --wave64          of targets that have waves of 32 and 64 lanes, compile for those of 64
  --jobs N          programs that are compiled at once (2)
  --build DIR       of Luthier (build)
"""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import time

root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# As in samples/CMakeLists.txt: what two_gpus needs, and what has a result to look at.
SKIPPED = ("endless_loop", "memory_fault", "module_load_kernels")
CHECKS = {"": [], "waits": ["--strict-waits"], "poison": ["--poison-dead"], "resources": ["--strict-resources"]}

parser = argparse.ArgumentParser(add_help=False, usage=__doc__)
parser.add_argument("--targets", default="")
parser.add_argument("--samples", default=".")
parser.add_argument("--checks", action="store_true")
parser.add_argument("--wave64", action="store_true")
parser.add_argument("--jobs", type=int, default=2)
parser.add_argument("--build", default=os.path.join(root, "build"))
parser.add_argument("-h", "--help", action="store_true")
options = parser.parse_args()
if options.help:
    print(__doc__)
    sys.exit()
luthier = os.path.join(options.build, "bin/luthier")
if not options.targets:
    options.targets = subprocess.run([luthier, "version"], capture_output=True, text=True).stdout.split("virtual GPUs: ")[1]
targets = [name.strip() for name in options.targets.split(",")]
samples = [name[:-4] for name in sorted(os.listdir(os.path.join(root, "samples"))) if name.endswith(".hip")]
samples = [name for name in samples if name not in SKIPPED and re.search(options.samples, name)]


def accepted(target):
    """Whether ROCr starts with such a GPU."""
    probe = subprocess.run([luthier, "run", "--gpu", target, "--", "rocminfo"], capture_output=True, text=True)
    return probe.returncode == 0 and f"Name:                    {target}" in probe.stdout


def compile_sample(sample, target):
    """The program, or an error."""
    folder = os.path.join(options.build, "targets", target + ("-wave64" if options.wave64 else ""))
    os.makedirs(folder, exist_ok=True)
    program = os.path.join(folder, sample)
    source = os.path.join(root, "samples", sample + ".hip")
    flags = ["-std=c++17", "-O2", f"-I{root}/samples", f"--offload-arch={target}"] + ["-mwavefrontsize64"] * options.wave64
    commands = []
    if sample == "module_load":
        flags.append(f'-DSAMPLE_CODE_OBJECT="{program}.hsaco"')
        commands.append(["hipcc", "--genco", *flags, source.replace(".hip", "_kernels.hip"), "-o", program + ".hsaco"])
    if os.path.exists(program) and os.path.getmtime(program) > os.path.getmtime(source):
        return program, None
    commands.append(["hipcc", *flags, source, "-o", program])
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            return None, done.stderr
    return program, None


def run(program, sample, target, flags):
    gpus = f"{target},{target}" if sample == "two_gpus" else target
    begin = time.time()
    try:
        done = subprocess.run([luthier, "run", "--gpu", gpus, *flags, "--", program], capture_output=True, text=True, timeout=900)
    except subprocess.TimeoutExpired:
        return "timeout", ""
    if done.returncode == 77:
        return "skipped", ""
    if done.returncode == 0:
        return f"{time.time() - begin:.1f}", ""
    return f"FAIL {done.returncode}", done.stdout[-500:] + done.stderr[-1500:]


refused = [target for target in targets if not accepted(target)]
targets = [target for target in targets if target not in refused]
checks = CHECKS if options.checks else {"": []}
print("sample".ljust(22) + "".join(target.ljust(12 + 10 * (len(checks) - 1)) for target in targets))
failures = []
with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
    built = {(sample, target): pool.submit(compile_sample, sample, target) for sample in samples for target in targets}
    for sample in samples:
        row = sample.ljust(22)
        for target in targets:
            program, error = built[sample, target].result()
            cells = []
            for check, flags in checks.items():
                result, why = run(program, sample, target, flags) if program else ("no build", error)
                cells.append(result)
                if why:
                    failures.append((sample, target, check, why))
            row += " ".join(cells).ljust(12 + 10 * (len(checks) - 1))
        print(row, flush=True)
for sample, target, check, why in failures:
    print(f"\n--- {sample} on {target} {check}\n{why}")
if refused:
    print(f"\nnot accepted by this ROCr: {', '.join(refused)}")
print(f"\n{len(samples)} samples, {len(targets)} targets, {len(failures)} failures")
sys.exit(bool(failures))
