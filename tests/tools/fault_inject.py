#!/usr/bin/env python3
"""Usage: fault_inject.py BUILD [--kernel REGEX] -- APP [ARG ...]

The tool fault_inject counts as many results of a class as the virtual GPU has written down in a run without it; changes
one bit of one of them, which was there in that run; and does the same again with the same seed. The numbers are those
of one wave after the other: one thread executes.
"""
import argparse
import re

from tool_run import check, expect_same_output, finish, run
from truth import tool_rows, trace

parser = argparse.ArgumentParser(usage=__doc__)
parser.add_argument("build")
parser.add_argument("--kernel", default=".", help="regular expression")
parser.add_argument("app", nargs="+")
options = parser.parse_args()
more = ["--threads", "1", "--kernel-include-regex", options.kernel]

plain, steps = trace(options.build, options.app, options.kernel)
loads = [step for step in steps if re.match(r"(global|flat)_load", step["inst"]) and int(step["exec"], 16)]
inject = lambda *arguments: run(options.build, options.app, ["fault_inject"],
                                ["fault_inject.class=load", *("fault_inject." + argument for argument in arguments)], more)
counted = inject()
expect_same_output(counted, plain)
check(f"nothing was changed; waves have computed {len(loads)} results" in counted.errors, counted.errors[-500:], len(loads))
rows = []
for arguments in (["n=5"], ["n=5"], ["n=5", "seed=2"], [f"n={len(loads)}", "seed=3"]):
    done = inject(*arguments)
    (row,) = done.rows("fault_inject")
    rows.append(row)
    before, after = int(row["before"], 16), int(row["after"], 16)
    check(before ^ after == 1 << row["bit"], row)
    # The value was there: in that thread, by that instruction.
    group, thread = [int(part) for part in row["group"].split(",")], int(row["thread"].split(",")[0])
    size = len(loads[0]["addresses"])
    register = re.match(r"\S+ v\[?(\d+)", row["instruction"])[1]
    same = [step["out"]["v" + register][thread % size] for step in loads if step["inst"] == row["instruction"]
            and step["workgroup"] == group and step["wave"] == thread // size and int(step["exec"], 16) >> thread % size & 1]
    check(before in same, row, "but the virtual GPU has", same)
check(rows[0] == rows[1], "the same seed does something else:", rows[:2])
check(rows[0] != rows[2], "another seed does the same:", rows[0], rows[2])
none = inject(f"n={len(loads) + 1}")
check(not none.rows("fault_inject"), none.rows("fault_inject"))
finish(f"{len(loads)} results; {rows[0]}")
