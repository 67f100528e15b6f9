#!/usr/bin/env python3
"""Usage: counts.py [--varies REGEX] [--gpu NAMES] [--brief] BUILD -- APP [ARG ...]

What instr_count and opcode_histogram count of APP must be what the virtual GPU counted by itself, in a run without
them: instructions and active lanes, per launch, per kernel, per opcode. APP must behave as without them. Blocks and
instructions must add up to the same sums.
--varies: kernels of such a symbol execute more or less each time (they wait for something), so that the two tools can
only be compared with each other, in one run.
--brief: blocks and instructions are left out; for programs that take long.
"""
import argparse
import collections
import re

from tool_run import check, expect_placed, finish, run

parser = argparse.ArgumentParser(usage=__doc__)
parser.add_argument("--varies", default="^$")
parser.add_argument("--brief", action="store_true")
parser.add_argument("--gpu", default="gfx90a")
parser.add_argument("build")
parser.add_argument("app", nargs="+")
options = parser.parse_args()


def untimed(text):
    """Without times, which a sample may print."""
    return re.sub(r"[0-9.]+ m?s\b", "", text)


def under(tools, *toolOptions):
    done = run(options.build, options.app, tools, toolOptions, options.gpu)
    check(done.code == plain.code, "the exit code is", done.code, "instead of", plain.code, done.errors[-2000:])
    check(untimed(done.output) == untimed(plain.output), "the output differs:", done.output, "instead of", plain.output)
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
    return {kernel: value for kernel, value in perKernel.items() if not re.search(options.varies, kernel)}


def sums(rows):
    return (sum(row["instructions"] for row in rows), sum(row["lanes"] for row in rows))


plain = run(options.build, options.app, gpus=options.gpu)
together = under(("instr_count", "opcode_histogram"), "instr_count.per=kernel")
counted = {kernel: sums(rows) for kernel, rows in bySymbol(together, together.rows("instr_count")).items()}
histogram = {kernel: sums(rows) for kernel, rows in bySymbol(together, together.rows("opcode_histogram")).items()}
check(counted == histogram, "in one run, instr_count has", counted, "and opcode_histogram", histogram)
check(counted or not plain.dispatches(), "nothing was counted")

launches = collections.defaultdict(list)
kernels = collections.defaultdict(lambda: [0, 0])
opcodes = collections.defaultdict(lambda: collections.defaultdict(lambda: [0, 0]))
for dispatch in plain.dispatches():
    if re.search(options.varies, dispatch["kernel"]):
        continue
    kernel, counts = dispatch["kernel"], (dispatch["wave_instructions"], dispatch["lane_instructions"])
    launches[kernel].append(counts)
    kernels[kernel] = [a + b for a, b in zip(kernels[kernel], counts)]
    for opcode, row in dispatch["opcodes"].items():
        old = opcodes[kernel][opcode]
        opcodes[kernel][opcode] = [old[0] + row["wave_instructions"], old[1] + row["lane_instructions"]]
kernels = {kernel: tuple(counts) for kernel, counts in kernels.items()}

done = under(["instr_count"], "instr_count.per=launch")
perLaunch = {kernel: [(row["instructions"], row["lanes"]) for row in rows]
             for kernel, rows in bySymbol(done, done.rows("instr_count")).items()}
check({k: sorted(v) for k, v in steady(perLaunch).items()} == {k: sorted(v) for k, v in launches.items()},
      "per launch:", perLaunch, "instead of", dict(launches))
check(steady(counted) == kernels, "per kernel:", counted, "instead of", kernels)
for per in () if options.brief else ("block", "instruction"):
    done = under(["instr_count"], "instr_count.per=" + per)
    found = {kernel: sums(rows) for kernel, rows in bySymbol(done, done.rows("instr_count")).items()}
    check(steady(found) == kernels, f"per {per}:", found, "instead of", kernels)

found = steady({kernel: {row["opcode"]: [row["instructions"], row["lanes"]] for row in rows}
                for kernel, rows in bySymbol(together, together.rows("opcode_histogram")).items()})
for kernel in sorted(set(found) | set(opcodes)):
    ours, theirs = found.get(kernel, {}), opcodes.get(kernel, {})
    for opcode in sorted(set(ours) | set(theirs)):
        check(ours.get(opcode) == theirs.get(opcode), kernel, opcode, ours.get(opcode), "instead of", theirs.get(opcode))
finish(f"{len(counted)} kernels, {len(kernels)} of them steady: {sum(map(len, launches.values()))} launches, "
       f"{sum(counts[0] for counts in kernels.values())} instructions, {sum(map(len, opcodes.values()))} rows of opcodes")
