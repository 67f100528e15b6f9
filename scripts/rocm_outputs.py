#!/usr/bin/env python3
"""Usage: rocm_outputs.py BUILD [JOBS]

Makes the files of BUILD, a configured build folder, that depend on the ROCm that is installed (luthier_rocm_output in
cmake/LuthierHip.cmake), and nothing that they would be made after: all that is there already, from a build elsewhere
(scripts/rocm.sh --prebuilt). A second run makes what has changed.
"""
import os
import subprocess
import sys


def escaped(path):
    return path.replace("$", "$$").replace(" ", "$ ").replace(":", "$:")


build = os.path.abspath(sys.argv[1])
jobs = sys.argv[2] if len(sys.argv) > 2 else str(os.cpu_count())
with open(f"{build}/rocm_outputs.txt") as file:
    outputs = [line.rstrip("\n").split("\t") for line in file]
if not outputs:
    sys.exit(f"{build}/rocm_outputs.txt names nothing")
# Ninja's own log says what was made, by which command; it is kept apart from that of the whole build.
rules = ["builddir = rocm_ninja", "rule make", "  command = $line", "  description = making $out"]
for output, *dependencies in outputs:
    name = os.path.relpath(output, build)
    command = subprocess.run(["ninja", "-t", "commands", "-s", name], cwd=build, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    if not command or "\n" in command:
        sys.exit(f"{name}: one command was expected, not '{command}'")
    inputs = [os.path.relpath(path, build) if path.startswith(build + "/") else path for path in dependencies]
    rules += [f"build {escaped(name)}: make {' '.join(map(escaped, inputs))}", f"  line = {command.replace('$', '$$')}"]
with open(f"{build}/rocm.ninja", "w") as file:
    file.write("\n".join(rules) + "\n")
os.makedirs(f"{build}/rocm_ninja", exist_ok=True)
sys.exit(subprocess.run(["ninja", "-C", build, "-f", "rocm.ninja", "-j", jobs, "-k", "0"]).returncode)
