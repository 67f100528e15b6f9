#!/usr/bin/env python3
"""Usage: access_sums.py BUILD -- APP [ARG ...]

The multiset of accesses that mem_trace writes of APP must be the one that the virtual GPU has seen itself. Both are
added up per launch and instruction (support/access_sum.h), so that it does not matter how many there are; accesses.py
does the same with every access written down, for small programs.

Addresses differ from run to run, and in a run with the tool the virtual GPU sees the tool's own accesses too. So
three comparisons together leave room for neither a missing nor a surplus nor a wrong access:
 - with a run without the tool, per launch and instruction: how often, and which lanes. Not for kernels that execute
   more or less each time (programs.py).
 - in the same run, per launch: for each instruction of mem_trace there is one of that text in a dispatch of the kernel
   for which the virtual GPU has the same lanes and addresses, as often.
 - in the same run, per kernel and opcode: opcode_histogram has counted as many executions and lanes.
"""
import argparse
import collections
import csv
import json
import re
import subprocess
import tempfile

from tool_run import check, expect_placed, expect_same_output, finish, run
from programs import varies # tool_run knows where that is

parser = argparse.ArgumentParser(usage=__doc__)
parser.add_argument("build")
parser.add_argument("app", nargs="+")
options = parser.parse_args()
varying = varies(options.app[0])


def virtualSums(path):
    """Dispatch by dispatch: (kernel, {(text, second): [(executed, lanes, masks, addresses), ...]})."""
    dispatches = {}
    for line in open(path):
        row = json.loads(line)
        if row["kernel"].startswith("rocr_blit"):
            continue
        _, rows = dispatches.setdefault(row["dispatch"], (row["kernel"], collections.defaultdict(list)))
        rows[row["inst"], row["second"]].append((row["executed"], row["lanes"], row["mask_sum"], row["address_sum"]))
    return list(dispatches.values())


def tracedSums(path):
    """The same of mem_trace's file, launch by launch."""
    text = subprocess.run([f"{options.build}/bin/luthier", "trace", "sum", path], check=True, stdout=subprocess.PIPE,
                          text=True).stdout
    launches = {}
    for row in csv.DictReader(text.splitlines()):
        kernel, rows = launches.setdefault(row["launch"], (row["kernel"].removesuffix(".kd"), collections.defaultdict(list)))
        check(kernel == row["kernel"].removesuffix(".kd"), "launch", row["launch"], "is of two kernels")
        rows[row["instruction"], row["second"] == "1"].append(
            (int(row["executed"]), int(row["lanes"]), row["mask_sum"], row["address_sum"]))
    return list(launches.values())


def withoutAddresses(launches):
    """Of each kernel that does not vary, its launches in an order that depends on them alone."""
    result = collections.defaultdict(list)
    for kernel, rows in launches:
        if not re.search(varying, kernel):
            result[kernel].append(sorted((key, sorted(sums[:3] for sums in all)) for key, all in rows.items()))
    return {kernel: sorted(all) for kernel, all in result.items()}


def contains(dispatch, launch):
    return all(not collections.Counter(sums) - collections.Counter(dispatch.get(key, ())) for key, sums in launch.items())


with tempfile.TemporaryDirectory() as folder:
    plain = run(options.build, options.app, more=["--trace-vgpu", folder + "/plain", "--trace-sums"])
    done = run(options.build, options.app, ["mem_trace", "opcode_histogram"],
               ["mem_trace.slots=131072", f"mem_trace.file={folder}/trace"],
               more=["--trace-vgpu", folder + "/traced", "--trace-sums"])
    expect_same_output(done, plain)
    check(done.report, "there is no report:", done.errors[-2000:])
    if not done.report:
        finish("nothing to compare")
    expect_placed(done)
    check(done.report["account"]["records_lost"] == 0, done.report["account"]["records_lost"], "records are lost")
    launches, dispatches = tracedSums(folder + "/trace"), virtualSums(folder + "/traced")
    native = virtualSums(folder + "/plain")

expected, found = withoutAddresses(native), withoutAddresses(launches)
for kernel in sorted(set(expected) | set(found)):
    ours, theirs = found.get(kernel, []), expected.get(kernel, [])
    check(len(ours) == len(theirs), kernel, "has", len(ours), "launches instead of", len(theirs))
    for a, b in zip(ours, theirs):
        check(a == b, kernel, [row for row in a if row not in b], "instead of", [row for row in b if row not in a])

open_ = collections.defaultdict(list)
for kernel, rows in dispatches:
    open_[kernel].append(rows)
for kernel, rows in launches:
    candidates = [n for n, dispatch in enumerate(open_[kernel]) if contains(dispatch, rows)]
    check(candidates, "addresses of a launch of", kernel, dict(rows), "but the virtual GPU has",
          [{key: dispatch.get(key) for key in rows} for dispatch in open_[kernel][:2]])
    if candidates:
        del open_[kernel][candidates[0]]

counted = collections.defaultdict(lambda: [0, 0])
for row in done.rows("opcode_histogram"):
    sums = counted[min(done.symbols()[row["kernel"]]), row["opcode"]] # a row for each GPU
    sums[0] += row["instructions"]
    sums[1] += row["lanes"]
traced = collections.defaultdict(lambda: [0, 0])
for kernel, rows in launches:
    for (text, second), all in rows.items():
        if not second:
            sums = traced[kernel, text.split()[0]]
            traced[kernel, text.split()[0]] = [sums[0] + sum(one[0] for one in all), sums[1] + sum(one[1] for one in all)]
memory = re.compile("(s_(buffer_|scratch_)?(load|store|atomic)|flat_|global_|scratch_|t?buffer_|ds_)")
noAccess = re.compile("ds_(b?permute|swizzle|nop|gws)|buffer_(wbinvl1|invl2|wbl2)|buffer_gl")
for kernel, opcode in sorted(set(traced) | {key for key in counted if memory.match(key[1]) and not noAccess.match(key[1])}):
    ours, theirs = traced[kernel, opcode], counted[kernel, opcode]
    # What is executed while no lane is active accesses nothing. A scalar access is one, whatever lanes are active.
    same = ours[0] == theirs[0] if opcode.startswith("s_") else ours[1] == theirs[1] and ours[0] <= theirs[0]
    check(same, kernel, opcode, "executions and lanes are", ours, "but opcode_histogram has", theirs)

accesses = sum(one[0] for _, rows in launches for all in rows.values() for one in all)
steady = sum(len(all) for all in found.values())
check(accesses == sum(row["executed"] for row in done.rows("mem_trace")), "the report has other sums")
check(launches or not dispatches, "nothing was traced")
finish(f"{accesses} accesses of {len(launches)} launches, {steady} of them compared with a run without tools",
       accesses=accesses, launches=len(launches), steady=steady,
       lane_accesses=sum(one[1] for _, rows in launches for all in rows.values() for one in all))
