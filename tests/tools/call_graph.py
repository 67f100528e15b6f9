#!/usr/bin/env python3
"""Usage: call_graph.py BUILD -- APP [ARG ...]

Calls that the tool call_graph reports of APP must be those that the virtual GPU writes down in a run without it:
s_swappc_b64, where it went and how many lanes were active. Where one goes through a pointer that has several values,
there is a row for each.
"""
import argparse
import collections

from tool_run import check, finish
from truth import mnemonic, tool_rows, trace, waves

parser = argparse.ArgumentParser(usage=__doc__)
parser.add_argument("build")
parser.add_argument("app", nargs="+")
options = parser.parse_args()

plain, steps = trace(options.build, options.app)
theirs = collections.defaultdict(lambda: collections.defaultdict(lambda: [0, 0]))
for wave in waves(steps):
    for step, following in zip(wave, wave[1:]):
        if mnemonic(step["inst"]) in ("s_swappc_b64", "s_call_b64"):
            counts = theirs[step["kernel"]][step["offset"], following["offset"]]
            counts[0] += 1
            counts[1] += int(step["exec"], 16).bit_count()
done, ours = tool_rows(options.build, options.app, "call_graph", plain)
check(set(theirs) == {kernel for kernel, rows in ours.items() if any(row["call"] != "jump" for row in rows)}, "kernels:", set(ours), set(theirs))
for kernel, rows in ours.items():
    calls = [row for row in rows if row["call"] != "jump"]
    if not calls:
        continue
    entry = min(int(row["address"], 16) for row in calls) - min(offset for offset, _ in theirs[kernel])
    # By place: as many callees, called as often. A name is one function.
    perPlace, names = collections.defaultdict(list), {}
    for row in calls:
        perPlace[int(row["address"], 16) - entry].append((row["calls"], row["lanes"]))
    expected = collections.defaultdict(list)
    for (offset, _), counts in theirs[kernel].items():
        expected[offset].append(tuple(counts))
    check({k: sorted(v) for k, v in perPlace.items()} == {k: sorted(v) for k, v in expected.items()}, kernel, dict(perPlace), "instead of", dict(expected))
    perCallee = collections.Counter()
    for row in calls:
        check(row["callee"] and not row["callee"].startswith("("), "a callee without a name:", row)
        perCallee[row["callee"]] += row["calls"]
    perTarget = collections.Counter()
    for (_, target), counts in theirs[kernel].items():
        perTarget[target] += counts[0]
    check(sorted(perCallee.values()) == sorted(perTarget.values()), kernel, perCallee, "instead of", perTarget)
rows = [row for each in ours.values() for row in each]
check(any(row["call"] == "pointer" for row in rows) or "function_pointers" not in options.app[0], "no calls through pointers")
finish(f"{len(rows)} rows, {sum(row['calls'] for row in rows)} calls")
