#!/usr/bin/env python3
"""Usage: killed_trace.py BUILD

kernel_trace writes while the application runs: when that is killed (SIGKILL), the launches that had completed are in
the file, whole.
"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

from tool_run import check, finish

build = os.path.abspath(sys.argv[1])
with tempfile.TemporaryDirectory() as folder:
    path = folder + "/trace.jsonl"
    process = subprocess.Popen([f"{build}/bin/luthier", "run", "--gpu", "gfx90a", "--tool", "kernel_trace", f"--kernel_trace.file={path}", "--",
                                f"{build}/tests/programs/ends", "hang"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    for _ in range(1000):
        if os.path.exists(path) and open(path).read().count("\n") >= 20:
            break
        time.sleep(0.01)
    check(process.poll() is None, "the program has ended by itself")
    process.send_signal(signal.SIGKILL)
    process.wait()
    rows = [json.loads(line) for line in open(path)]
    names = {row["kernel"].removeprefix("(anonymous namespace)::").split("(")[0] for row in rows}
    check(len(rows) >= 20 and {"twice", "thrice"} <= names, len(rows), "launches of", names)
finish(f"{len(rows)} launches were in the file when the program was killed")
