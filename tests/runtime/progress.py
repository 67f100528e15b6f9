#!/usr/bin/env python3
"""Usage: progress.py LUTHIER PROGRAM

Progress of a run with tools: on a terminal, erased before the report; nowhere else, nor with --quiet. PROGRAM
(tests/e2e/stuck.hip) is in its kernel until it is sent SIGUSR1.
"""
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time

luthier, program = sys.argv[1:]
SHOWN = b"luthier: 1 kernel instrumented, "  # and launches, of which some may be HIP's own
ERASE = b"\x1b[J"


def command(*options):
    return [luthier, "run", "--gpu", "gfx90a", "--tool", "instr_count", *options, "--", program]


def on_terminal(*options, until=None, seconds=30.0):
    """All that the terminal gets. The program may end when `until` is there, or after so many seconds."""
    process, terminal = pty.fork()
    if process == 0:
        os.execv(luthier, command(*options))
    output, end, told = b"", time.monotonic() + seconds, False
    while True:
        if not told and (until is not None and until in output or time.monotonic() > end):
            os.kill(process, signal.SIGUSR1)
            told = True
        if not select.select([terminal], [], [], 0.1)[0]:
            continue
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # Linux: the other side is closed
            piece = b""
        if not piece:
            break
        output += piece
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    if status:
        sys.exit(f"the program ends with {status}\n{output.decode()}")
    return output


shown = on_terminal(until=SHOWN)
if SHOWN not in shown:
    sys.exit(f"no progress on a terminal:\n{shown!r}")
last = shown.rindex(b"\x1b8\x1b[A")
if ERASE not in shown[last:] or shown.index(ERASE, last) > shown.index(b"sites: ", last):
    sys.exit(f"progress is not erased before the report:\n{shown!r}")
for line in re.findall(rb"\r(luthier: [^\x1b]*)", shown):
    if len(line) > 79:
        sys.exit(f"the line does not fit the terminal: {line!r}")
quiet = on_terminal("--quiet", seconds=2.5)
if b"running" not in quiet or SHOWN in quiet or b"\x1b" in quiet:
    sys.exit(f"progress in spite of --quiet:\n{quiet!r}")
with subprocess.Popen(command(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as piped:
    time.sleep(2.5)
    piped.send_signal(signal.SIGUSR1)
    output = piped.communicate(timeout=30)[0]
if b"\x1b" in output or SHOWN in output or b"sites: " not in output:
    sys.exit(f"progress in a pipe:\n{output!r}")
