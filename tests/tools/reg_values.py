#!/usr/bin/env python3
"""Usage: reg_values.py BUILD -- APP [ARG ...]

Values that the tool reg_values prints of registers of APP, at every kind of vector instruction that it executes, must
be those that the virtual GPU writes down in a run without it: before the instruction and after it, by thread.
Instructions that compute with addresses are left out, as these are others in each run.
"""
import argparse
import collections
import re
import tempfile

from tool_run import check, expect_same_output, finish, run
from truth import mnemonic, tool_rows, trace

parser = argparse.ArgumentParser(usage=__doc__)
parser.add_argument("build")
parser.add_argument("--kernel", default=".", help="regular expression")
parser.add_argument("app", nargs="+")
options = parser.parse_args()
LINE = re.compile(r"launch 1 group (\d+),0,0 thread (\d+),0,0 at (0x[0-9a-f]+) (\w+?)(\d+) (0x[0-9a-f]{8})")

# What stays the same from run to run; where the kernel begins in its file is what another tool says.
plain, steps = trace(options.build, options.app, options.kernel)
_, again = trace(options.build, options.app, options.kernel)
key = lambda step: (tuple(step["workgroup"]), step["wave"], step["step"])
others = {key(step): step for step in again}
_, rows = tool_rows(options.build, options.app, "coalescing", plain, kernel=options.kernel)
((_, rows),) = rows.items()
entry = min(int(row["address"], 16) for row in rows) - min(step["offset"] for step in steps if step.get("space") in ("global", "flat"))
chosen = {}
unsteady = {step["offset"] for step in steps
            if {**step["in"], **step.get("out", {})} != {**others[key(step)]["in"], **others[key(step)].get("out", {})}}
for step in steps:
    if step["inst"].startswith("v_") and step["offset"] not in unsteady and any(re.fullmatch(r"v\d+", name) for name in step["in"]):
        chosen.setdefault(mnemonic(step["inst"]), step["offset"])
at = ",".join(f"{entry + offset:x}" for offset in chosen.values())
size = max(len(value) for step in steps for value in step["in"].values() if isinstance(value, list))

judged = 0
for after in (False, True):
    expected = collections.Counter()
    for step in steps:
        if step["offset"] not in chosen.values():
            continue
        active = [lane for lane in range(size) if int(step["exec"], 16) >> lane & 1]
        text = step["inst"].split(" ", 1)[1]
        named = re.findall(r"\b(?:v\[\d+:\d+\]|v\d+|s\d+|s\[\d+:\d+\]|vcc(?:_lo|_hi)?)\b", text)
        for name, value in (step["out"] if after else step["in"]).items():
            vector = re.fullmatch(r"v(\d+)", name)
            if not vector:
                continue
            for lane in active:
                expected[step["workgroup"][0], step["wave"] * size + lane, entry + step["offset"], int(vector[1]), value[lane]] += 1
    with tempfile.TemporaryDirectory() as folder:
        flags = ["reg_values.after=yes"] if after else []
        done = run(options.build, options.app, ["reg_values"], ["reg_values.at=" + at, "reg_values.limit=1000000", *flags],
                   ["--hook-output", folder + "/lines", "--kernel-include-regex", options.kernel])
        expect_same_output(done, plain)
        found = collections.Counter()
        for line in open(folder + "/lines"):
            parts = LINE.fullmatch(line.rstrip())
            check(parts, "not a line of reg_values:", line)
            if parts[4] == "v":
                found[int(parts[1]), int(parts[2]), int(parts[3], 16), int(parts[5]), int(parts[6], 16)] += 1
    if not after: # an operand that is there twice is printed twice
        found, expected = collections.Counter(set(found)), collections.Counter(set(expected))
    check(found == expected, f"after={after}: surplus", list((found - expected).items())[:5], "missing", list((expected - found).items())[:5])
    judged += found.total()
(row,) = done.rows("reg_values")
check(row["values"] == row["printed"] and judged > 0, row)
few = run(options.build, options.app, ["reg_values"], ["reg_values.at=" + at, "reg_values.limit=3", "reg_values.regs=v0,s0,exec0"],
          ["--kernel-include-regex", options.kernel])
check(sum(bool(LINE.fullmatch(line)) for line in few.output.splitlines()) == 3, "a limit of 3 lines:", few.output)
bad = run(options.build, options.app, ["reg_values"], ["reg_values.at=1", "reg_values.regs=x7"])
check("no kernel that was launched has an instruction at 0x1" in bad.errors, bad.errors)
finish(f"{judged} values of {len(chosen)} instructions")
