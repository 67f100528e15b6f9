#!/usr/bin/env python3
"""Usage: bisect_hooks.py BUILD [--mode M] [--form F] [--position P] [--every N] [--phase N] [--gpu NAMES]
                 [--machine normal|waits|strict] [--dump FOLDER] -- APP [ARG ...]

Which hooks make a program fail: looks for one kernel, and for a range of places in it that is as short as halving can make it.
Prints the variables for LUTHIER_SWAP_* that show the failure, and the end of what the program prints then. With --dump, the
rewritten files are there (`luthier disasm` reads them).
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from programs import MACHINES

parser = argparse.ArgumentParser(usage=__doc__, add_help=False)
parser.add_argument("build")
for name, default in dict(mode="hostile", form="lane", position="before", every="1", phase="0", gpu="gfx90a", dump="").items():
    parser.add_argument("--" + name, default=default)
parser.add_argument("--machine", default="normal", choices=MACHINES)
parser.add_argument("app", nargs="+")
options = parser.parse_args()
build = os.path.abspath(options.build)
report = tempfile.mktemp(suffix=".json")
fixed = {"HSA_TOOLS_LIB": f"{build}/tests/tools/libswap.so", "LUTHIER_SWAP_HOOKS": f"{build}/tests/rewrite/harness_hooks.bc",
         "LUTHIER_SWAP_MODE": options.mode, "LUTHIER_SWAP_KIND": options.form, "LUTHIER_SWAP_POSITION": options.position,
         "LUTHIER_SWAP_EVERY": options.every, "LUTHIER_SWAP_PHASE": options.phase}


def run(kernel="", first=0, last=2**63, more={}):
    environment = {**os.environ, **fixed, "LUTHIER_SWAP_REPORT": report, "LUTHIER_SWAP_KERNEL": kernel,
                   "LUTHIER_SWAP_FIRST": str(first), "LUTHIER_SWAP_LAST": str(last), **more}
    done = subprocess.run([f"{build}/bin/luthier", "run", "--gpu", options.gpu,
                           *MACHINES[options.machine], "--", *options.app],
                          capture_output=True, text=True, env=environment, timeout=600)
    with open(report) as file:
        kernels = {kernel["name"]: kernel for one in json.load(file)["objects"] for kernel in one.get("kernels", [])}
    return done.returncode != 0, done, kernels


failed, done, kernels = run()
if not failed:
    sys.exit("it does not fail")
culprit = next((name for name in sorted(kernels) if kernels[name].get("placed") and run(name)[0]), None)
if not culprit:
    sys.exit("no kernel fails alone")
print("kernel", culprit, flush=True)
first, last = 0, kernels[culprit]["instructions"] * 8  # with the functions that it can reach
while first < last:
    middle = (first + last) // 2
    if run(culprit, first, middle)[0]:
        last = middle
    elif run(culprit, middle + 1, last)[0]:
        first = middle + 1
    else:
        # Both halves are needed: from both ends, then.
        low, high = first, middle
        while low < high:
            at = (low + high + 1) // 2
            low, high = (at, high) if run(culprit, at, last)[0] else (low, at - 1)
        first = low
        low, high = middle + 1, last
        while low < high:
            at = (low + high) // 2
            low, high = (low, at) if run(culprit, first, at)[0] else (at + 1, high)
        last = high
        break
more = {}
if options.dump:
    os.makedirs(options.dump, exist_ok=True)
    more["LUTHIER_SWAP_DUMP"] = os.path.abspath(options.dump)
failed, done, kernels = run(culprit, first, last, more)
os.remove(report)
print(json.dumps(kernels[culprit]))
print("\n".join((done.stdout + done.stderr).splitlines()[-30:]))
print(" ".join(f"{key}={value}" for key, value in {**fixed, "LUTHIER_SWAP_KERNEL": culprit, "LUTHIER_SWAP_FIRST": first,
                                                 "LUTHIER_SWAP_LAST": last}.items()))
