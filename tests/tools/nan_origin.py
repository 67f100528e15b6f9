#!/usr/bin/env python3
"""Usage: nan_origin.py BUILD SOURCE -- APP origins

The program (SOURCE, patterns.hip) gives one thread of a kernel a number that becomes infinite in a line that is marked,
and another kernel an infinity as it is. The tool nan_origin must find the line, the thread and the numbers, and nothing
in the other kernel; and what it calls the origin must be the only lane of which the virtual GPU has written down finite
inputs and a result that is not, in an instruction at that place.
"""
import argparse
import math
import re
import struct

from tool_run import check, finish
from truth import tool_rows, trace

parser = argparse.ArgumentParser(usage=__doc__)
parser.add_argument("build")
parser.add_argument("source")
parser.add_argument("app", nargs="+")
options = parser.parse_args()
lines = {found[1]: number for number, line in enumerate(open(options.source), 1) if (found := re.search(r"// ORIGIN (\w+)", line))}


def number(values, double):
    return struct.unpack("<d" if double else "<f", struct.pack("<II" if double else "<I", *values))[0]


plain, steps = trace(options.build, options.app)
done, ours = tool_rows(options.build, options.app, "nan_origin", plain)
expected = {"_Z7originsPKfPf": ("float", "2,0,0", "37,0,0"), "_Z16originsOfDoublesPKdPd": ("double", "1,0,0", "5,0,0")}
check(set(ours) == set(expected), "kernels:", {kernel: rows for kernel, rows in ours.items()})
for kernel, (line, group, thread) in expected.items():
    if kernel not in ours:
        continue
    (row,) = ours[kernel]
    check(row["source"] == f"patterns.hip:{lines[line]}", row["source"], "instead of line", lines[line])
    check((row["group"], row["thread"], row["launch"]) == (group, thread, 1), row)
    check(not math.isfinite(float(row["result"])), row)
    check(all(math.isfinite(float(value)) for value in row["inputs"].split(", ")), row)
    check(row["lanes of all launches"] == 1, row)
    # The virtual GPU: this instruction, in that wave, has one lane with such a result, and it is this one's.
    double = line == "double"
    text = row["instruction"]
    wave = [step for step in steps if step["kernel"] == kernel and step["inst"] == text
            and ",".join(map(str, step["workgroup"])) == group]
    registers = re.match(r"\S+ (v\[(\d+):(\d+)\]|v(\d+))", text)
    names = [f"v{n}" for n in range(int(registers[2]), int(registers[3]) + 1)] if registers[2] else ["v" + registers[4]]
    found = [(lane + len(step["out"][names[0]]) * step["wave"], value) for step in wave for lane in range(len(step["out"][names[0]]))
             if int(step["exec"], 16) >> lane & 1
             and not math.isfinite(value := number([step["out"][name][lane] for name in names], double))]
    check(found == [(int(thread.split(",")[0]), float(row["result"]))], "the virtual GPU has", found)
finish(f"{sum(map(len, ours.values()))} origins")
