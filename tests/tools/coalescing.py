#!/usr/bin/env python3
"""Usage: coalescing.py BUILD [--kernel REGEX] -- APP [ARG ...]

What the tool coalescing counts of each memory instruction of APP must follow from the addresses that the virtual GPU
writes down in a run without it. Buffers begin at pages, so that lines are the same in both runs.
"""
import argparse
import collections
from fractions import Fraction

from tool_run import check, finish
from truth import CACHE_LINE, compare, tool_rows, trace, width
from programs import GPU

parser = argparse.ArgumentParser(usage=__doc__)
parser.add_argument("build")
parser.add_argument("--kernel", default=".", help="regular expression")
parser.add_argument("app", nargs="+")
options = parser.parse_args()
PATTERNS = ("broadcast", "consecutive", "strided", "scattered")


def pattern(lanes, bytes):
    (first, base), *rest = lanes
    slopes = {Fraction(address - base, lane - first) for lane, address in rest}
    if slopes <= {0}:
        return "broadcast"
    return "consecutive" if slopes == {bytes} else "strided" if len(slopes) == 1 else "scattered"


plain, steps = trace(options.build, options.app, options.kernel)
line = CACHE_LINE[GPU]
theirs = collections.defaultdict(lambda: collections.defaultdict(collections.Counter))
for step in steps:
    if step.get("space") not in ("global", "flat", "buffer"):
        continue
    lanes = [(lane, address) for lane, address in enumerate(step["addresses"]) if address is not None]
    if lanes:
        bytes = width(step["inst"])
        touched = {byte // line for _, address in lanes for byte in (address, address + bytes - 1)}
        counts = theirs[step["kernel"]][step["offset"]]
        most = max(counts["most"], len(touched))
        counts.update({"executed": 1, "lanes": len(lanes), "lines": len(touched), pattern(lanes, bytes): 1})
        counts["most"] = most
done, ours = tool_rows(options.build, options.app, "coalescing", plain, kernel=options.kernel)
columns = ("executed", "lanes", "lines", "most", *PATTERNS)
for perOffset in theirs.values():
    for offset, counts in perOffset.items():
        perOffset[offset] = tuple(counts[column] for column in columns)
compare(ours, theirs, lambda row: tuple(row[column] for column in columns))
for rows in ours.values():
    for row in rows:
        check(abs(row["per access"] - row["lines"] / row["executed"]) < 0.0051, row)
found = {column: sum(row[column] for rows in ours.values() for row in rows) for column in columns}
check(found["executed"], "nothing was counted")
if "accesses" in options.app:
    check(all(found[name] for name in PATTERNS), "a class does not occur:", found)
    check(all(":" in row["source"] for row in ours["_Z8accessesPKfPfi"]), "no source lines", ours)
finish(f"{sum(map(len, ours.values()))} instructions: {found}")
