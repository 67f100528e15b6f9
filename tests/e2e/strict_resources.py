#!/usr/bin/env python3
"""Usage: strict_resources.py LUTHIER RUN_OPTION ... -- APP [ARG ...]

Runs APP under the virtual GPU as it is, and once more on the physical machine of the target (luthier run
--strict-resources). Both must end in the same way and print the same, waves must have run so, and compiled code must
find neither VCCZ nor the scalar cache stale.
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
strict = run([luthier, "run", "--strict-resources", "7", *arguments])
print(strict[1] + strict[2])
if plain[:2] != strict[:2]:
    sys.exit(f"FAIL: not strict, it ended with {plain[0]} and printed\n{plain[1]}{plain[2]}")
summary = re.search(r"strict resources, seed 7: (\d+) waves.*VCCZ at (\d+) branches, (\d+) dwords", strict[2])
if not summary or int(summary[1]) == 0:
    sys.exit("FAIL: nothing ran on the strict machine")
if int(summary[2]) or int(summary[3]):
    sys.exit("FAIL: compiled code relies on what the hardware does not promise")
sys.exit(plain[0])
