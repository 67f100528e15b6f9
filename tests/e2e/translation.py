#!/usr/bin/env python3
"""Usage: translation.py LUTHIER "GPUS PROGRAM [ARG ...]" ...

Runs each PROGRAM on the virtual GPUs with every kernel translated before its first wave, and prints which kernels were
translated and why the others were not. Fails if a program fails, if anything is said on stderr that is not said without
translation, if LLVM failed for a kernel, or if nothing was translated. Skipped (77) where there is no translator.
"""
import collections
import os
import re
import subprocess
import sys

SKIPPED = 77


def run(luthier, gpus, command, **settings):
    return subprocess.run([luthier, "run", "--gpu", gpus, "--", *command], capture_output=True, text=True,
                          env={**os.environ, **settings})


def others(stderr):
    """Lines that are not Luthier's own."""
    return [line for line in stderr.splitlines() if not line.startswith("luthier")]


luthier, *programs = sys.argv[1:]
failures, totals = [], collections.Counter()
for program in programs:
    gpus, *command = program.split(" ")
    name = " ".join([os.path.basename(command[0]), *command[1:]])
    done = run(luthier, gpus, command, LUTHIER_VGPU_TRANSLATE="always", LUTHIER_LOG="info")
    if done.returncode == SKIPPED:
        print(f"{name}: skipped by itself")
        continue
    if "translation is off" in done.stderr:
        print("there is no translator for this CPU or in this build")
        sys.exit(SKIPPED)
    if done.returncode:
        failures.append(f"{name} ends with {done.returncode}: {done.stdout}{done.stderr}")
    if others(done.stderr) and others(done.stderr) != others(run(luthier, gpus, command, LUTHIER_VGPU_TRANSLATE="0").stderr):
        failures.append(f"{name} says only when translated: {others(done.stderr)}")
    kernels = re.findall(r"^luthier: +(translated|interpreted): (\S+): launches (\d+)[^:\n]*(?:: (.*))?$", done.stderr, re.M)
    print(f"{name}: {len(kernels)} kernels, {sum(k[0] == 'translated' for k in kernels)} translated")
    totals["programs"] += 1
    for how, kernel, launches, why in kernels:
        print(f"    {how}: {kernel}" + (f": {why}" if why else ""))
        totals["kernels"] += 1
        totals["launches"] += int(launches)
        totals["translated" if how == "translated" else f"interpreted because of {why}"] += 1
        if why.startswith("LLVM"):
            failures.append(f"{name}: {kernel}: {why}")
for what, count in sorted(totals.items(), key=lambda item: (item[0].startswith("interpreted"), -item[1])):
    print(f"{count:6} {what}")
if not totals["translated"]:
    failures.append("no kernel was translated")
if failures:
    sys.exit("FAIL: " + "\nFAIL: ".join(failures))
