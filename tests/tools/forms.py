#!/usr/bin/env python3
"""Usage: forms.py BUILD TOOL ... -- APP [ARG ...]

The tools of the folder forms, each made of something else that hooks can do, all at once: what they count of APP must
be what the virtual GPU counted by itself, in a run without them, launch by launch, or what arithmetic says. APP must
behave as without them. Kernels that execute more or less each time (programs.py) are compared only with themselves.
"""
import argparse
import collections
import math
import re
import sys

from tool_run import check, expect_placed, expect_same_output, finish, run
from programs import varies # tool_run knows where that is

parser = argparse.ArgumentParser(usage=__doc__)
parser.add_argument("build")
parser.add_argument("tools", nargs="+")
split = sys.argv.index("--")
options, app = parser.parse_args(sys.argv[1:split]), sys.argv[split + 1:]
varying = varies(app[0])
KINDS = ("s", "v", "ds", "global", "flat", "other")
TEXT = "neither registers nor memory"


def opcodes(dispatch, pattern, what):
    return sum(row[what] for name, row in dispatch["opcodes"].items() if re.search(pattern, name))


def kinds(dispatch):
    counts = dict.fromkeys(KINDS, 0)
    for name, row in dispatch["opcodes"].items():
        prefix = name.split("_")[0]
        counts[prefix if prefix in KINDS else "other"] += row["wave_instructions"]
    return tuple(counts.values())


def lanes_that_store(dispatch):
    return opcodes(dispatch, "_store_", "lane_instructions")


COMPARES = "^[vs]_cmp_(lt|eq|le|gt|lg|ne|ge)_[iu]32$"

# What a launch's row has, and what the virtual GPU has of it.
TRUTHS = {
    "assembly": (lambda row: row["instructions"], lambda d: d["wave_instructions"]),
    "chosen": (lambda row: row["all"], lambda d: opcodes(d, "_store_", "wave_instructions")),
    "lanes": (lambda row: row["lanes"], lanes_that_store),
    "local_array": (lambda row: tuple(row[kind] for kind in KINDS), kinds),
    "pads": (lambda row: row["lanes"], lambda d: d["lane_instructions"]),
    "recursion": (lambda row: row["lanes"], lanes_that_store),
}


def by_launch(name, found, truth):
    # Kernels that name all scalar registers have none that assembly could count in.
    without = {kernel_of(row) for row in rows[name] if row.get("registers", 2) < 2}
    ours, theirs = collections.defaultdict(list), collections.defaultdict(list)
    for row in rows[name]:
        if steady(kernel_of(row)) and kernel_of(row) not in without:
            ours[kernel_of(row)].append(found(row))
    for dispatch in plain.dispatches():
        if steady(dispatch["kernel"]) and dispatch["kernel"] not in without:
            theirs[dispatch["kernel"]].append(truth(dispatch))
    for kernel in sorted(set(ours) | set(theirs)):
        check(sorted(ours[kernel]) == sorted(theirs[kernel]), name, kernel, sorted(ours[kernel])[:5], "instead of",
              sorted(theirs[kernel])[:5])


def steady(kernel):
    return not re.search(varying, kernel)


def by_kernel(found, truth):
    """Sums over all launches of kernels."""
    theirs = collections.defaultdict(int)
    for dispatch in plain.dispatches():
        theirs[dispatch["kernel"]] += truth(dispatch)
    for kernel in filter(steady, theirs):
        check(found[kernel] == theirs[kernel], kernel, found[kernel], "instead of", theirs[kernel])


def kernel_of(row):
    return min(symbols[row["kernel"]])


plain = run(options.build, app)
done = run(options.build, app, [f"{options.build}/tests/tools/libform_{tool}.so" for tool in options.tools])
expect_same_output(done, plain)
check(done.report, "there is no report:", done.errors[-2000:])
if not done.report:
    finish("nothing to compare")
expect_placed(done)
symbols = done.symbols()
rows = {tool: done.rows("form_" + tool) for tool in options.tools}

for tool in options.tools:
    check(rows[tool], tool, "has no rows")
    if tool in TRUTHS:
        by_launch(tool, *TRUTHS[tool])
if "chosen" in rows:
    for row in rows["chosen"]:
        check(row["sampled"] == row["expected"], "every 7th:", row)
        check(row["even and odd"] == row["all"], "odd waves:", row)
    by_launch("chosen", lambda row: row["low"] + row["high"], lanes_that_store)
if "lanes" in rows:
    check(not any(row["wrong"] for row in rows["lanes"]), "lanes:", rows["lanes"])
compared = 0
if "compares" in rows:
    check(not any(row["wrong"] for row in rows["compares"]), "compares:", [row for row in rows["compares"] if row["wrong"]])
    compared = sum(row["right"] for row in rows["compares"])
    # Those with SDWA compare parts of registers, and are left out.
    possible = sum(opcodes(d, COMPARES.replace("[vs]", "v"), "lane_instructions") +
                   opcodes(d, COMPARES.replace("[vs]", "s"), "wave_instructions") for d in plain.dispatches()
                   if steady(d["kernel"]))
    ours = sum(row["right"] for row in rows["compares"] if steady(kernel_of(row)))
    check(ours <= possible and ours >= possible * 9 // 10, "compares:", ours, "of", possible)
if "per_site" in rows:
    sums = collections.defaultdict(int)
    for row in rows["per_site"]:
        sums[kernel_of(row)] += row["instructions"]
    by_kernel(sums, lambda d: d["wave_instructions"])
if "rounds" in rows:
    for row in rows["rounds"]:
        check(row["headers"] == row["edges"] and not row["unnamed"], "rounds:", row)
    check("function_pointers" not in app[0] or any(row["named"] for row in rows["rounds"]), "nothing is called by pointers")
    by_launch("rounds", lambda row: row["calls"], lambda d: opcodes(d, "^s_(swappc|call)_b64$", "wave_instructions"))
if "math" in rows:
    stored, waves, logarithms, letters, wanted = collections.defaultdict(int), 0, 0, 0, [0, 0]
    for row in rows["math"]:
        stored[kernel_of(row)] += row["lanes"] * row["waves"]
        logarithms, letters = logarithms + row["logarithms"], letters + row["letters"]
        if row["lanes"]:
            wanted[0] += row["waves"] * round(math.log2(row["lanes"]) * 2**20)
            wanted[1] += row["waves"] * ord(TEXT[row["lanes"] % len(TEXT)])
    by_kernel(stored, lanes_that_store)
    check([logarithms, letters] == wanted, "math:", logarithms, letters, "instead of", wanted)
launches = sum(steady(dispatch["kernel"]) for dispatch in plain.dispatches())
finish(f"{launches} launches compared, {compared} comparisons")
