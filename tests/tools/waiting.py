#!/usr/bin/env python3
"""Usage: waiting.py BUILD

Kernels of mem_trace wait for room in its ring. A process whose kernel never ends must still end when it is told to, with a
trace that is whole: the tool stops taking records, and the hooks stop waiting.
"""
import os
import signal
import subprocess
import sys
import tempfile

from tool_run import check, finish

build = os.path.abspath(sys.argv[1])
dumped = []
with tempfile.TemporaryDirectory() as folder:
    for full in ("wait", "drop"):
        program = subprocess.Popen([f"{build}/bin/luthier", "run", "--gpu", "gfx90a", "--tool", "mem_trace", "--mem_trace.slots=64",
                                    "--mem_trace.pause=1000", f"--mem_trace.full={full}", "--mem_trace.file=t-%pid%", "--",
                                    f"{build}/tests/programs/ends", "hang"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, cwd=folder)
        for line in program.stdout:
            if "ready" in line:
                break
        program.send_signal(signal.SIGTERM)
        _, errors = program.communicate(timeout=60)
        check(program.returncode == -signal.SIGTERM, full, "ended with", program.returncode, errors[-2000:])
        trace = f"{folder}/t-{program.pid}"
        check(os.path.exists(trace), "the trace is not named after the process:", os.listdir(folder))
        done = subprocess.run([f"{build}/bin/luthier", "trace", "dump", trace], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        check(done.returncode == 0 and "the end is missing" not in done.stderr, full, "the trace is not whole:", done.stderr)
        dumped.append(done.stdout.splitlines()[-1])
        check(int(dumped[-1].split()[0]) > 0, full, "nothing was recorded:", dumped[-1])
finish("; ".join(dumped))
