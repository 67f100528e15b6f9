#!/usr/bin/env python3
"""Usage: poison.py LUTHIER RUN_OPTION ... -- APP [ARG ...]

Runs APP under the virtual GPU as it is, and once more with dead registers overwritten before every instruction
(luthier run --poison-dead). Both must end in the same way and print the same, and registers must have been overwritten.
"""
import re
import subprocess
import sys


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    # Times are the only numbers that may differ.
    return done.returncode, re.sub(r"[0-9.]+ ms", "T ms", done.stdout), done.stderr


luthier, *arguments = sys.argv[1:]
plain = run([luthier, "run", *arguments])
poisoned = run([luthier, "run", "--poison-dead", "7", *arguments])
print(poisoned[1] + poisoned[2])
if plain[:2] != poisoned[:2]:
    sys.exit(f"FAIL: without poison it ended with {plain[0]} and printed\n{plain[1]}{plain[2]}")
summary = re.search(r"overwrote (\d+) dead registers before (\d+) instructions", poisoned[2])
if not summary or int(summary[1]) == 0:
    sys.exit("FAIL: nothing was overwritten")
if "no liveness" in poisoned[2]:
    sys.exit("FAIL: code that could not be analysed")
sys.exit(plain[0])
