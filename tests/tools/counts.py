#!/usr/bin/env python3
"""Usage: counts.py [--brief] BUILD -- APP [ARG ...]

What instr_count and opcode_histogram count of APP must be what the virtual GPU counted by itself, in a run without
them: instructions and active lanes, per launch, per kernel, per opcode. APP must behave as without them. Blocks and
instructions must add up to the same sums, instructions per opcode too. Kernels that execute more or less each time
(programs.py) can only be compared between the two tools, in one run.
--brief: blocks and instructions are left out; for programs that take long.
"""
import argparse
import collections
import re

from tool_run import check, expect_placed, expect_same_output, finish, run
from programs import varies # tool_run knows where that is

parser = argparse.ArgumentParser(usage=__doc__)
parser.add_argument("--brief", action="store_true")
parser.add_argument("build")
parser.add_argument("app", nargs="+")
options = parser.parse_args()
varying = varies(options.app[0])


def under(tools, *toolOptions):
    done = run(options.build, options.app, tools, toolOptions)
    expect_same_output(done, plain)
    check(done.report, "there is no report:", done.errors[-2000:])
    if not done.report:
        finish("nothing to compare")
    expect_placed(done)
    return done


def bySymbol(done, rows):
    """Rows by kernel; names are unique in these programs."""
    symbols = done.symbols()
    result = collections.defaultdict(list)
    for row in rows:
        check(len(symbols[row["kernel"]]) == 1, row["kernel"], "is not one symbol:", symbols[row["kernel"]])
        result[min(symbols[row["kernel"]])].append(row)
    return result


def steady(perKernel):
    return {kernel: value for kernel, value in perKernel.items() if not re.search(varying, kernel)}


def sums(rows):
    return (sum(row["instructions"] for row in rows), sum(row["lanes"] for row in rows))


plain = run(options.build, options.app)
together = under(("instr_count", "opcode_histogram"), "instr_count.per=kernel")
counted = {kernel: sums(rows) for kernel, rows in bySymbol(together, together.rows("instr_count")).items()}
histogram = {kernel: sums(rows) for kernel, rows in bySymbol(together, together.rows("opcode_histogram")).items()}
check(counted == histogram, "in one run, instr_count has", counted, "and opcode_histogram", histogram)
check(counted or not plain.dispatches(), "nothing was counted")

launches = collections.defaultdict(list)
kernels = collections.defaultdict(lambda: [0, 0])
opcodes = collections.defaultdict(lambda: collections.defaultdict(lambda: [0, 0]))
for dispatch in plain.dispatches():
    if re.search(varying, dispatch["kernel"]):
        continue
    kernel, counts = dispatch["kernel"], (dispatch["wave_instructions"], dispatch["lane_instructions"])
    launches[kernel].append(counts)
    kernels[kernel] = [a + b for a, b in zip(kernels[kernel], counts)]
    for opcode, row in dispatch["opcodes"].items():
        old = opcodes[kernel][opcode]
        opcodes[kernel][opcode] = [old[0] + row["wave_instructions"], old[1] + row["lane_instructions"]]
kernels = {kernel: tuple(counts) for kernel, counts in kernels.items()}



def compareOpcodes(what, found):
    for kernel in sorted(set(found) | set(opcodes)):
        ours, theirs = found.get(kernel, {}), opcodes.get(kernel, {})
        for opcode in sorted(set(ours) | set(theirs)):
            check(ours.get(opcode) == theirs.get(opcode), what, kernel, opcode, ours.get(opcode), "instead of",
                  theirs.get(opcode))


done = under(["instr_count"], "instr_count.per=launch")
perLaunch = {kernel: [(row["instructions"], row["lanes"]) for row in rows]
             for kernel, rows in bySymbol(done, done.rows("instr_count")).items()}
check({k: sorted(v) for k, v in steady(perLaunch).items()} == {k: sorted(v) for k, v in launches.items()},
      "per launch:", perLaunch, "instead of", dict(launches))
check(steady(counted) == kernels, "per kernel:", counted, "instead of", kernels)
places = {}
for per in () if options.brief else ("block", "instruction"):
    done = under(["instr_count"], "instr_count.per=" + per)
    rows = bySymbol(done, done.rows("instr_count"))
    found = {kernel: sums(rows) for kernel, rows in rows.items()}
    check(steady(found) == kernels, f"per {per}:", found, "instead of", kernels)
    places[per] = sum(map(len, rows.values()))
    if per == "instruction":
        byOpcode = collections.defaultdict(lambda: collections.defaultdict(lambda: [0, 0]))
        for kernel, kernelRows in steady(rows).items():
            for row in kernelRows:
                opcode = re.sub(r"_(e32|e64|sdwa|dpp)$", "", row["instruction"].rsplit(": ", 1)[1].split()[0])
                old = byOpcode[kernel][opcode]
                byOpcode[kernel][opcode] = [old[0] + row["instructions"], old[1] + row["lanes"]]
        compareOpcodes("per instruction", {kernel: {opcode: counts for opcode, counts in ours.items() if counts[0]}
                                           for kernel, ours in byOpcode.items()})


def perOpcode(rows):
    """A kernel that ran on several GPUs has a row for each."""
    result = collections.defaultdict(lambda: [0, 0])
    for row in rows:
        old = result[row["opcode"]]
        result[row["opcode"]] = [old[0] + row["instructions"], old[1] + row["lanes"]]
    return result


compareOpcodes("opcode_histogram",
               steady({kernel: perOpcode(rows)
                       for kernel, rows in bySymbol(together, together.rows("opcode_histogram")).items()}))
launched, executed = sum(map(len, launches.values())), sum(counts[0] for counts in kernels.values())
rows = sum(map(len, opcodes.values()))
finish(f"{len(counted)} kernels, {len(kernels)} of them steady: {launched} launches, {executed} instructions, "
       f"{rows} rows of opcodes", kernels=len(counted), steady=len(kernels), launches=launched, instructions=executed,
       lanes=sum(counts[1] for counts in kernels.values()), opcodes=rows,
       blocks=places.get("block", 0), instructions_placed=places.get("instruction", 0))
