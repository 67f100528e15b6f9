#!/usr/bin/env python3
"""Usage: kernel_arguments.py BUILD -- APP [ARG ...]

The first argument of every launch of APP: what the host finds when the launch is submitted (Launch::arguments) must be
what a hook at the end of the kernel is given (arg::kernarg), by the tool kernel_arguments (tests/runtime/tools).
"""
import argparse

from tool_run import check, expect_same_output, finish, run

parser = argparse.ArgumentParser(usage=__doc__)
parser.add_argument("build")
parser.add_argument("app", nargs="+")
options = parser.parse_args()

plain = run(options.build, options.app)
done = run(options.build, options.app, [options.build + "/tests/tools/libkernel_arguments.so"])
expect_same_output(done, plain)
rows = done.rows("kernel_arguments")
for row in rows:
    check(row["host"] == row["hook"], row)
launches = sum(kernel["launches_instrumented"] for kernel in done.report["account"]["kernels"])
check(rows and len(rows) == launches, len(rows), "rows of", launches, "launches")
check(any(row["hook"] for row in rows), "all arguments are 0")
for kernel in done.report["account"]["kernels"]:
    check(kernel["sites_asked"] == kernel["sites_placed"], kernel["name"], "has rejected sites:", kernel["sites_rejected"])
finish(f"{len(rows)} launches")
