#!/usr/bin/env python3
"""Usage: sanitized_tools.py LUTHIER RUNTIME LAUNCH_COUNT PRINTING CONCURRENT

programs/concurrent.hip under two tools, everything built with a sanitizer, which must have nothing to say.
launch_count: every launch must be counted, and right; the kernels execute the same number of instructions each time.
printing: every wave prints from a hook, on many queues at once, and nothing that was printed may be lost.
"""
import collections
import csv
import re
import subprocess
import sys
import tempfile

luthier, runtime, launch_count, printing, program = sys.argv[1:]
KERNELS = ("step", "loop", "rotate", "diverge", "call")


def lines_of(tool, variable, threads, streams, launches, *more):
    """Runs the program under the tool; the lines of the file that `variable` names."""
    with tempfile.NamedTemporaryFile("r") as file:
        done = subprocess.run([luthier, "run", "--gpu", "gfx90a", "--", "env", "HSA_TOOLS_LIB=" + runtime,
                               "LUTHIER_TOOLS=" + tool, f"{variable}={file.name}", *more, program, str(threads),
                               str(streams), str(launches)])
        if done.returncode:
            sys.exit(f"{tool}: the program ended with {done.returncode}")
        with open(file.name) as written:  # by its name: a report takes the place of an older file
            return written.read().splitlines()


threads, streams, launches = 8, 4, 2000
counts = collections.defaultdict(list)
for row in csv.DictReader(lines_of(launch_count, "LUTHIER_TOOL_OUTPUT", threads, streams, launches,
                                   "LUTHIER_TOOL_FORMAT=csv")):
    counts[row["kernel"].removeprefix("(anonymous namespace)::").split("(")[0]].append(row["instructions"])
for kernel in KERNELS:
    found = counts[kernel]
    if len(found) != threads * streams * launches // 5 or len(set(found)) != 1 or found[0] == "0":
        sys.exit(f"{kernel}: {len(found)} launches were counted, as {sorted(set(found))[:9]}")
print(f"{threads * streams * launches} launches were counted")

threads, streams, launches = 6, 4, 50
printed = lines_of(printing, "LUTHIER_HOOK_OUTPUT", threads, streams, launches, "LUTHIER_TOOL_OPTIONS=printing.hook=wave",
                   "LUTHIER_KERNEL_INCLUDE=" + "|".join(KERNELS))
whole = [line for line in printed if re.fullmatch("wave of 0 at [0-9a-f]+: f{16}", line)]
if len(printed) != threads * streams * launches * 2 or len(whole) != len(printed):  # two waves a launch
    sys.exit(f"{len(printed)} lines were printed, {len(whole)} of them whole")
print(f"{len(printed)} lines were printed")
