#!/usr/bin/env python3
"""Usage: scopes.py BUILD -- APP [ARG ...]

What hooks count in variables per lane (lane_load), in LDS (group_mix) and per workgroup (group_count) of APP must be
what the virtual GPU counted by itself, in a run without them, launch by launch. APP must behave as without them.
Kernels that execute more or less each time (programs.py) are not compared.
"""
import argparse
import collections
import math
import re

from tool_run import check, expect_placed, expect_same_output, finish, run
from programs import varies # tool_run knows where that is

parser = argparse.ArgumentParser(usage=__doc__)
parser.add_argument("build")
parser.add_argument("app", nargs="+")
options = parser.parse_args()
varying = varies(options.app[0])
# Its recursion saves registers under EXEC = -1: the virtual GPU counts lanes that no work-item has, whose variables per lane nobody flushes.
LANES_WITHOUT_WORK = "^_Z5calls"
KINDS = ("s", "v", "ds", "global", "flat", "other")


def kinds(dispatch):
    counts = dict.fromkeys(KINDS, 0)
    for opcode, row in dispatch["opcodes"].items():
        prefix = opcode.split("_")[0]
        counts[prefix if prefix in KINDS else "other"] += row["lane_instructions"]
    return tuple(counts.values())


def workgroups(dispatch):
    return math.prod(-(-items // size) for items, size in zip(dispatch["grid"], dispatch["workgroup"]))


plain = run(options.build, options.app)
launches = 0
# What a launch of the tool's has, and what the virtual GPU has of it.
for tool, found, truth in (
        ("lane_load", lambda row: (row["lanes"], row["instructions"]),
         lambda d: (math.prod(d["grid"]), d["lane_instructions"])),
        ("group_mix", lambda row: tuple(row[kind] for kind in KINDS), kinds),
        ("group_count", lambda row: (row["workgroups"], row["instructions"], row["misplaced"]),
         lambda d: (workgroups(d), d["wave_instructions"], 0))):
    done = run(options.build, options.app, [f"{options.build}/tests/tools/lib{tool}.so"])
    expect_same_output(done, plain)
    expect_placed(done)
    symbols = done.symbols()
    ours, theirs = collections.defaultdict(list), collections.defaultdict(list)
    left_out = f"{varying}|{LANES_WITHOUT_WORK}" if tool == "lane_load" else varying
    for row in done.rows(tool):
        check(row.get("least", 1) > 0, tool, row, "has a lane or a workgroup that did nothing")
        if not re.search(left_out, min(symbols[row["kernel"]])):
            ours[min(symbols[row["kernel"]])].append(found(row))
    for dispatch in plain.dispatches():
        if not re.search(left_out, dispatch["kernel"]):
            theirs[dispatch["kernel"]].append(truth(dispatch))
    for kernel in sorted(set(ours) | set(theirs)):
        check(sorted(ours[kernel]) == sorted(theirs[kernel]), tool, kernel, sorted(ours[kernel])[:5], "instead of",
              sorted(theirs[kernel])[:5])
    launches += sum(map(len, theirs.values()))
finish(f"{launches} launches compared")
