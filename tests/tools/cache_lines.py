#!/usr/bin/env python3
"""Usage: cache_lines.py BUILD [--kernel REGEX] -- APP [ARG ...]

What the tool cache_lines (tests/runtime/tools) counts per memory instruction of APP, with per-site variables and
luthier::match, must be what follows from the addresses that the virtual GPU writes down in a run without it: how often
the instruction was executed, for how many lanes, and how many lines of 64 bytes they touched. Buffers begin at pages, so
that lines are the same in both runs.
"""
import argparse
import collections
import json
import re
import tempfile

from tool_run import check, expect_placed, expect_same_output, finish, run

parser = argparse.ArgumentParser(usage=__doc__)
parser.add_argument("build")
parser.add_argument("--kernel", default=".", help="regular expression")
parser.add_argument("app", nargs="+")
options = parser.parse_args()
kernels = ["--kernel-include-regex", options.kernel]


def mnemonic(text):
    return re.sub(r"_(e32|e64|sdwa|dpp)$", "", text.split()[0])


with tempfile.TemporaryDirectory() as folder:
    trace = folder + "/trace"
    plain = run(options.build, options.app, more=["--trace-vgpu", trace, "--trace-kernel", options.kernel])
    theirs = collections.defaultdict(lambda: collections.defaultdict(lambda: ["", 0, 0, 0]))
    for line in open(trace):
        row = json.loads(line)
        if row.get("space") not in ("global", "flat") or row["kernel"].startswith("rocr_blit"):
            continue
        touched = [address >> 6 for address in row["addresses"] if address is not None]
        if touched:
            sums = theirs[row["kernel"]][row["pc"]]
            sums[0] = mnemonic(row["inst"])
            sums[1] += 1
            sums[2] += len(touched)
            sums[3] += len(set(touched))
    done = run(options.build, options.app, [options.build + "/tests/tools/libcache_lines.so"], more=kernels)
    expect_same_output(done, plain)
    for kernel in done.report["account"]["kernels"]:
        check(kernel["sites_asked"] == kernel["sites_placed"], kernel["name"], "has rejected sites:", kernel["sites_rejected"])
    ours = collections.defaultdict(dict)
    symbols = done.symbols()
    for row in done.rows("cache_lines"):
        if row["executed"]:
            ours[min(symbols[row["kernel"]])][row["address"]] = [mnemonic(row["instruction"]), row["executed"], row["lanes"], row["lines"]]
    inOrder = lambda perPc: [perPc[pc] for pc in sorted(perPc)]
    for kernel in sorted(set(ours) | set(theirs)):
        check(inOrder(ours[kernel]) == inOrder(theirs[kernel]), kernel, inOrder(ours[kernel]), "instead of", inOrder(theirs[kernel]))
executed = sum(row[1] for perPc in ours.values() for row in perPc.values())
lines = sum(row[3] for perPc in ours.values() for row in perPc.values())
check(executed, "nothing was counted")
finish(f"{sum(map(len, ours.values()))} instructions of {len(ours)} kernels, executed {executed} times: {lines} lines")
