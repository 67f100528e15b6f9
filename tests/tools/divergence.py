#!/usr/bin/env python3
"""Usage: divergence.py BUILD -- APP [ARG ...]

What the tool divergence counts of APP must follow from the instructions that the virtual GPU writes down in a run
without it: where a wave goes after a conditional branch, what EXEC was before the last instruction that wrote it, and
how many lanes were active for each instruction.
"""
import argparse
import collections

from tool_run import check, finish
from truth import compare, mnemonic, tool_rows, trace, waves

parser = argparse.ArgumentParser(usage=__doc__)
parser.add_argument("build")
parser.add_argument("app", nargs="+")
options = parser.parse_args()

plain, steps = trace(options.build, options.app)
branches = collections.defaultdict(lambda: collections.defaultdict(lambda: [0, 0, 0, 0]))
kernels = collections.defaultdict(lambda: [0, 0])
for wave in waves(steps):
    before = 0
    for step, following in zip(wave, wave[1:] + [None]):
        now = int(step["exec"], 16)
        sums = kernels[step["kernel"]]
        sums[0] += 1
        sums[1] += now.bit_count()
        name = mnemonic(step["inst"])
        if name.startswith("s_cbranch"):
            counts = branches[step["kernel"]][step["offset"]]
            taken = following["offset"] != step["offset"] + 4
            counts[0] += 1
            counts[1 if taken else 2] += 1
            counts[3] += "exec" in name and now != 0 and before & now == now and before != now
            before = 0
        elif "exec_lo" in step.get("out", {}) or "exec_hi" in step.get("out", {}):
            before = now
done, ours = tool_rows(options.build, options.app, "divergence", plain)
compare(ours, {kernel: {offset: tuple(counts) for offset, counts in rows.items()} for kernel, rows in branches.items()},
        lambda row: tuple(row[column] for column in ("executed", "taken", "not taken", "divergent")))
sums = [sum(row[column] for rows in ours.values() for row in rows) for column in ("taken", "not taken", "divergent")]
check(all(sums), "taken, not taken, divergent:", sums)

done, blocks = tool_rows(options.build, options.app, "divergence", plain, ["per=block"])
waveSize = max(len(step["addresses"]) for step in steps if isinstance(step.get("addresses"), list))
for kernel in sorted(set(blocks) | set(kernels)):
    rows = blocks[kernel]
    found = [sum(row["instructions"] for row in rows), sum(row["lanes"] for row in rows)]
    check(found == kernels[kernel], kernel, found, "instead of", kernels[kernel])
    for row in rows:
        check(abs(row["lanes %"] - 100 * row["lanes"] / (row["instructions"] * waveSize)) < 0.0051, row)
check(len({row["lanes %"] for rows in blocks.values() for row in rows}) > 1, "all blocks are equally full")
finish(f"{sum(map(len, ours.values()))} branches: {sums[0]} taken, {sums[1]} not, {sums[2]} divergent; "
       f"{sum(map(len, blocks.values()))} blocks")
