#!/usr/bin/env python3
"""Usage: sanitized_tools.py LUTHIER RUNTIME TOOL CONCURRENT THREADS STREAMS LAUNCHES

programs/concurrent.hip under launch_count, everything built with a sanitizer, which must have nothing to say. Every
launch must be counted, and right: the kernels execute the same number of instructions each time.
"""
import collections
import csv
import os
import subprocess
import sys
import tempfile

luthier, runtime, tool, program, *numbers = sys.argv[1:]
threads, streams, launches = map(int, numbers)
with tempfile.TemporaryDirectory() as folder:
    path = folder + "/report.csv"
    done = subprocess.run([luthier, "run", "--gpu", "gfx90a", "--", "env", "HSA_TOOLS_LIB=" + runtime,
                           "LUTHIER_TOOLS=" + tool, "LUTHIER_TOOL_FORMAT=csv", "LUTHIER_TOOL_OUTPUT=" + path, program,
                           *numbers])
    rows = list(csv.DictReader(open(path))) if os.path.exists(path) else []
if done.returncode:
    sys.exit(f"the program ended with {done.returncode}")
counts = collections.defaultdict(list)
for row in rows:
    counts[row["kernel"].removeprefix("(anonymous namespace)::").split("(")[0]].append(row["instructions"])
for kernel in ("step", "loop", "rotate", "diverge", "call"):
    found = counts[kernel]
    if len(found) != threads * streams * launches // 5 or len(set(found)) != 1 or found[0] == "0":
        sys.exit(f"{kernel}: {len(found)} launches were counted, as {sorted(set(found))[:9]}")
print(f"{threads * streams * launches} launches were counted")
