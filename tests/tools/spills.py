#!/usr/bin/env python3
"""Usage: spills.py BUILD -- APP [ARG ...]

Bytes to and from scratch memory and AccVGPRs that the tool spills reports of APP must follow from the instructions that
the virtual GPU writes down in a run without it: lanes that were active, and, of buffer instructions, what the resource
was.
"""
import argparse
import collections

from tool_run import check, finish
from truth import compare, mnemonic, tool_rows, trace, width
from programs import GPU

parser = argparse.ArgumentParser(usage=__doc__)
parser.add_argument("build")
parser.add_argument("app", nargs="+")
options = parser.parse_args()
COLUMNS = ("executed", "scratch loads", "scratch stores", "AccVGPR reads", "AccVGPR writes")


def isScratch(step):
    if step.get("space") != "buffer":
        return step.get("space") == "scratch"
    # s[0:3] in "buffer_store_dword v1, off, s[0:3], s32 offset:4"
    resource = [part for part in step["inst"].split(", ") if part.startswith("s[")][0]
    last = resource[2:].split("]")[0].split(":")[1]
    return step["in"]["s" + last] >> 23 & 1 # ADD_TID_ENABLE


plain, steps = trace(options.build, options.app)
theirs = collections.defaultdict(lambda: collections.defaultdict(lambda: [0] * 5))
for step in steps:
    name, lanes = mnemonic(step["inst"]), int(step["exec"], 16).bit_count()
    counts = [1, 0, 0, 0, 0]
    if isScratch(step):
        counts["store" in name and 2 or 1] = lanes * width(step["inst"])
    elif name.startswith("v_accvgpr"):
        counts[3] = 0 if "write" in name else 4 * lanes
        counts[4] = 0 if "read" in name else 4 * lanes
    else:
        continue
    sums = theirs[step["kernel"]][step["offset"]]
    sums[:] = [a + b for a, b in zip(sums, counts)]
done, ours = tool_rows(options.build, options.app, "spills", plain, ["per=instruction"])
compare(ours, {kernel: {offset: tuple(counts) for offset, counts in rows.items()} for kernel, rows in theirs.items()},
        lambda row: tuple(row[column] for column in COLUMNS))
sums = {column: sum(row[column] for rows in ours.values() for row in rows) for column in COLUMNS}
for per in ("line", "kernel"):
    done, rows = tool_rows(options.build, options.app, "spills", plain, ["per=" + per])
    others = {column: sum(row[column] for kernelRows in rows.values() for row in kernelRows) for column in COLUMNS}
    check(others == sums, f"per {per}:", others, "instead of", sums)
check(sums["scratch loads"] and sums["scratch stores"], "nothing was spilled:", sums)
check(sums["AccVGPR reads"] or GPU not in ("gfx908", "gfx90a"), "no AccVGPRs:", sums)
finish(f"{sums}")
