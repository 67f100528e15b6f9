#!/usr/bin/env python3
"""Usage: lds_conflicts.py BUILD -- APP [ARG ...]

Cycles and conflicts that the tool lds_conflicts reports of each LDS instruction of APP must follow, by the rules of its
README, from the addresses that the virtual GPU writes down in a run without it.
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
BANKS, BANK_BYTES = 32, 4
# ds_read_b128 of CDNA: the eight groups of lanes that are served at once.
INTERLEAVED = [[*range(a, a + 4), *range(b, b + 4)] for half in (0, 32)
               for a, b in ((half + 0, half + 20), (half + 4, half + 16), (half + 8, half + 28), (half + 12, half + 24))]


def groups(name, bytes, lanes):
    if bytes == 16 and name.startswith(("ds_read", "ds_load")) and GPU == "gfx90a":
        return INTERLEAVED
    size = {1: 32, 2: 32, 4: 32, 8: 16, 12: 8, 16: 8}[bytes]
    return [range(first, first + size) for first in range(0, lanes, size)]


def cycles(addresses, name, bytes):
    """(cycles that all groups take, groups with a lane that is on)."""
    needed = used = 0
    for group in groups(name, bytes, len(addresses)):
        perBank = collections.defaultdict(set)
        for lane in group:
            if addresses[lane] is not None:
                for byte in range(addresses[lane], addresses[lane] + bytes):
                    perBank[byte // BANK_BYTES % BANKS].add(byte // BANK_BYTES)
        needed += max(map(len, perBank.values()), default=0)
        used += bool(perBank)
    return needed, used


plain, steps = trace(options.build, options.app)
theirs = collections.defaultdict(lambda: collections.defaultdict(lambda: [0, 0, 0, 0, 0]))
for step in steps:
    if step.get("space") != "lds":
        continue
    name = mnemonic(step["inst"])
    for key in ("addresses", "addresses2"):
        lanes = sum(address is not None for address in step.get(key, []))
        if not lanes:
            continue
        needed, used = cycles(step[key], name, width(name.replace("2st64", "").replace("2addr_stride64", "")))
        counts = theirs[step["kernel"]][step["offset"]]
        counts[0] += 1
        counts[1] += lanes
        counts[2] += needed
        counts[3] += needed - used
        counts[4] = max(counts[4], needed - used)
done, ours = tool_rows(options.build, options.app, "lds_conflicts", plain)
compare(ours, {kernel: {offset: tuple(counts) for offset, counts in rows.items()} for kernel, rows in theirs.items()},
        lambda row: tuple(row[column] for column in ("executed", "lanes", "cycles", "conflicts", "most")))
conflicts = [row["conflicts"] for rows in ours.values() for row in rows]
check(ours, "there are no LDS instructions")
if "banks" in options.app:
    check(any(conflicts) and not all(conflicts), "conflicts:", conflicts)
    check({width(row["instruction"]) for row in ours["_Z5banksPKjPj"]} >= {1, 4, 8, 16}, "a width does not occur")
finish(f"{len(conflicts)} instructions, {sum(conflicts)} conflicts")
