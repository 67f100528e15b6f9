#!/usr/bin/env python3
"""Usage: value_profile.py BUILD -- APP [ARG ...]

What the tool value_profile counts of each instruction of APP with a vector register as its result must follow from the
values that the virtual GPU writes down in a run without it. Which value comes first is the GPU's choice: the one that
the tool names must be some wave's, and have been there as often as it says.
"""
import argparse
import collections
import re

from tool_run import check, finish
from truth import mnemonic, tool_rows, trace

parser = argparse.ArgumentParser(usage=__doc__)
parser.add_argument("build")
parser.add_argument("app", nargs="+")
options = parser.parse_args()
MODULUS = 2**32


def strided(lanes):
    (first, base), *rest = lanes
    if not rest:
        return False
    second, value = rest[0]
    stride = (value - base) % MODULUS
    return any((value - base) % MODULUS for _, value in rest) and all(
        (value - base) * (second - first) % MODULUS == (lane - first) * stride % MODULUS for lane, value in rest)


plain, steps = trace(options.build, options.app)
results = collections.defaultdict(lambda: collections.defaultdict(list))
for step in steps:
    found = re.match(r"\S+ v(\d+)(?:,|$)", step["inst"])
    name = mnemonic(step["inst"])
    if found and "out" in step and f"v{found[1]}" in step["out"]:
        lanes = [(lane, value) for lane, value in enumerate(step["out"][f"v{found[1]}"]) if int(step["exec"], 16) >> lane & 1]
        if lanes:
            results[step["kernel"]][step["offset"]].append((name, lanes))
judged = 0
for of in ("loads", "all"):
    done, ours = tool_rows(options.build, options.app, "value_profile", plain, ["of=" + of])
    check(ours, "nothing was counted")
    for kernel, rows in ours.items():
        addresses = [int(row["address"], 16) for row in rows]
        # The kernel's entry: the only one from which all rows are instructions of their name.
        names = {offset: executions[0][0] for offset, executions in results[kernel].items()}
        entries = [addresses[0] - offset for offset in names
                   if all(names.get(address - addresses[0] + offset) == mnemonic(row["instruction"]) for address, row in zip(addresses, rows))
                   and all(len(results[kernel][address - addresses[0] + offset]) == row["executed"] for address, row in zip(addresses, rows))]
        check(entries, kernel, "has other instructions:", rows[:2])
        if not entries:
            continue
        for address, row in zip(addresses, rows):
            executions = [lanes for _, lanes in results[kernel][address - entries[0]]]
            values = [{value for _, value in lanes} for lanes in executions]
            expected = (sum(map(len, executions)), sum(len(each) == 1 for each in values), sum(map(strided, executions)),
                        sum(each == {0} for each in values))
            check((row["lanes"], row["uniform"], row["strided"], row["zero"]) == expected, row, "instead of", expected)
            firsts = {lanes[0][1] for lanes in executions}
            if of == "loads": # other results may be addresses, which are others in each run
                check(int(row["value"], 16) in firsts, "no wave's first lane had the value:", row)
                firsts = {int(row["value"], 16)}
            check(row["constant"] in {sum(each == {value} for each in values) for value in firsts}, row, "instead of", values)
            judged += 1
    if of == "all":
        totals = {column: sum(row[column] for rows in ours.values() for row in rows) for column in ("constant", "uniform", "strided")}
        check(all(totals.values()), "a class does not occur:", totals)
finish(f"{judged} instructions: {totals}")
