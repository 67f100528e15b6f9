#!/usr/bin/env python3
"""Usage: kernel_trace.py BUILD -- APP [ARG ...]

The launches that kernel_trace writes of APP must be those that the virtual GPU has executed in the same run (--stats):
kernels, grids, workgroups, durations. Arguments are looked at in programs of which they are known; the file grows
while the program runs; a disk that is full, and launches without room for their arguments, are reported.
"""
import argparse
import collections
import json
import os
import struct
import subprocess
import tempfile
import time

from tool_run import check, expect_same_output, finish, run
from programs import gpus

parser = argparse.ArgumentParser(usage=__doc__)
parser.add_argument("build")
parser.add_argument("app", nargs="+")
options = parser.parse_args()


def lines(path):
    return [json.loads(line) for line in open(path)]


with tempfile.TemporaryDirectory() as folder:
    path = folder + "/trace.jsonl"
    plain = run(options.build, options.app)
    done = run(options.build, options.app, ["kernel_trace"], [f"kernel_trace.file={path}"])
    expect_same_output(done, plain)
    check(done.report["account"]["kernels_instrumented"] == 0, "kernels were instrumented")
    ours = collections.defaultdict(list)
    for row in lines(path):
        ours[row["symbol"].removesuffix(".kd")].append((row["gpu"], row["grid"], row["workgroup"], row["end_ns"] - row["begin_ns"]))
    theirs = collections.defaultdict(list)
    for dispatch in done.dispatches():
        ticks = dispatch["end"] - dispatch["begin"]
        theirs[dispatch["kernel"]].append((dispatch["gpu"], dispatch["grid"], dispatch["workgroup"], ticks * 10**9 // done.stats["clock_hz"]))
    for kernel in sorted(set(ours) | set(theirs)):
        shapes = lambda rows: sorted(row[:3] for row in rows)
        check(shapes(ours[kernel]) == shapes(theirs[kernel]), kernel, ours[kernel], "instead of", theirs[kernel])
        times = lambda rows: sorted(row[3] for row in rows)
        for mine, its in zip(times(ours[kernel]), times(theirs[kernel])):
            # ROCr converts both ends from ticks, each of which is 10 ns.
            check(abs(mine - its) <= 20, kernel, "took", mine, "ns instead of", its)
    rows = {(row["kernel"], row.get("gpu", 0)): row for row in done.rows("kernel_trace")}
    for row in lines(path):
        rows[row["kernel"], row["gpu"]].setdefault("seen", []).append(row["end_ns"] - row["begin_ns"])
    for row in rows.values():
        check(row["launches"] == len(row["seen"]) and abs(row["ms"] - sum(row["seen"]) / 1e6) < 0.00051, row)
    numbers = [row["launch"] for row in lines(path)]
    check(sorted(numbers) == list(range(1, len(numbers) + 1)), "numbers of launches:", numbers)

    # What the program passes: vector_add(const int *a, const int *b, int *sum, int n).
    if os.path.basename(options.app[0]) == "vector_add":
        (row,) = [row for row in lines(path) if "vectorAdd" in row["kernel"]]
        arguments = [argument for argument in row["arguments"]]
        check([argument["size"] for argument in arguments] == [8, 8, 8, 4], arguments)
        check(int(arguments[3]["value"], 16) == 500003, "the number of elements:", arguments[3])
        check(len({argument["value"] for argument in arguments[:3]}) == 3 and all(int(argument["value"], 16) for argument in arguments[:3]), arguments)

    # One launch at a time may keep its arguments: the others go without, and are counted.
    few = run(options.build, options.app, ["kernel_trace"], [f"kernel_trace.file={path}", "kernel_trace.pending=1"])
    without = sum("arguments" not in row for row in lines(path))
    check(len(lines(path)) == len(numbers), "launches are missing")
    check((f"{without} launches have no arguments" in few.errors) == (without > 0), few.errors[-500:])

    # A full disk.
    full = run(options.build, options.app, ["kernel_trace"], ["kernel_trace.file=/dev/full"])
    expect_same_output(full, plain)
    check(f"{len(numbers)} launches are missing: cannot write /dev/full: No space left on device" in full.errors, full.errors[-500:])
    check(full.report["account"]["records_lost"] == len(numbers), "lost:", full.report["account"]["records_lost"])
finish(f"{len(numbers)} launches of {len(ours)} kernels")
