#!/usr/bin/env python3
"""Usage: stores.py BUILD [--space SPACE] [--kernel REGEX] -- APP [ARG ...]

What print_stores prints of APP must be what the virtual GPU wrote down itself in the same run, line by line: for each
wave the same stores in the same order, with the same threads, addresses and values. In that run, the virtual GPU sees
the stores of the hooks too; which instruction of the rewritten kernel is which of the original's is found by their text
and what they did. That nothing is missing, a run without the tool says: as many stores by each instruction.
"""
import argparse
import collections
import json
import os
import re
import tempfile

from tool_run import check, finish, run

parser = argparse.ArgumentParser(usage=__doc__)
parser.add_argument("build")
parser.add_argument("--space", default="global")
parser.add_argument("--kernel", default=".", help="regular expression")
parser.add_argument("app", nargs="+")
options = parser.parse_args()

SPACES = {"global": {"global", "flat"}, "buffer": {"buffer"}, "lds": {"lds"}, "scratch": {"scratch"}}
SPACES["all"] = set.union(*SPACES.values())
LINE = re.compile(r"launch (\d+) group (\d+),(\d+),(\d+) thread (\d+),(\d+),(\d+) pc (0x[0-9a-f]+) address (0x[0-9a-f]+) value (.*)")
STORE = re.compile(r"(global|flat|buffer|ds|scratch)_(store|write)\w*")


def operands(text):
    """Registers of an instruction, in order, each as a list of names."""
    for name in re.findall(r"\b[va]\[\d+:\d+\]|\b[va]\d+\b|\boff\b", text.partition(" ")[2]):
        wide = re.fullmatch(r"([va])\[(\d+):(\d+)\]", name)
        yield [wide[1] + str(n) for n in range(int(wide[2]), int(wide[3]) + 1)] if wide else [name]


def values(row):
    """What a store writes, per access: a function from lanes to text as print_stores has it."""
    text = row["inst"]
    registers = list(operands(text))
    mnemonic = text.split()[0]
    data = registers[0:1] if mnemonic.startswith("buffer") else registers[1:3] if "write2" in mnemonic else registers[1:2]
    if mnemonic.startswith("ds_write2"):
        size = 8 if "b64" in mnemonic else 4
        assert len(data[0]) * 4 == size
    bits = 8 if re.search("byte|_b8", mnemonic) else 16 if re.search("short|_b16", mnemonic) else 32
    shift = 16 if mnemonic.endswith("_d16_hi") else 0
    for names in data:
        yield lambda lane, names=names: " ".join(
            f"0x{row['in'][name][lane] >> shift & (1 << bits) - 1:0{bits // 4}x}" for name in names)


def sizesOf(done, path):
    """Sizes of workgroups by number of the dispatch. Numbers count what the statistics leave out too, but in the same order."""
    sizes, numbers = collections.defaultdict(list), collections.defaultdict(set)
    for dispatch in done.stats["dispatches"]:
        sizes[dispatch["kernel"]].append(dispatch["workgroup"])
    for line in open(path):
        row = json.loads(line)
        numbers[row["kernel"]].add(row["dispatch"])
    return {number: size for kernel in numbers for number, size in zip(sorted(numbers[kernel]), sizes[kernel])}


def virtualStores(path, sizes):
    """(dispatch, kernel, pc, offset, text, workgroup, wave, [(thread, address, value)]) of every store of the application's or a hook's, in order."""
    for line in open(path):
        row = json.loads(line)
        if "addresses" not in row or not STORE.match(row["inst"]) or row["kernel"].startswith("rocr_blit"):
            continue
        if row["space"] not in SPACES[options.space] or "atomic" in row["inst"]:
            continue
        x, y, _ = sizes[row["dispatch"]]
        for key, value in zip(("addresses", "addresses2"), values(row)):
            lanes = []
            for lane, address in enumerate(row[key]):
                if address is not None:
                    flat = row["wave"] * 64 + lane
                    lanes.append(((flat % x, flat // x % y, flat // x // y), address, value(lane)))
            if lanes:
                yield (row["dispatch"], row["kernel"], row["pc"], row["inst"], key, tuple(row["workgroup"]), row["wave"], lanes)


with tempfile.TemporaryDirectory() as folder:
    kernels = ["--kernel-include-regex", options.kernel]
    plain = run(options.build, options.app, more=["--trace-vgpu", folder + "/plain", "--trace-kernel", options.kernel])
    printed = run(options.build, options.app, ["print_stores"], ["print_stores.limit=1000000000", f"print_stores.space={options.space}"],
                  more=["--trace-vgpu", folder + "/traced", "--trace-kernel", options.kernel, "--hook-output", folder + "/lines", *kernels])
    check(printed.code == plain.code and printed.output == plain.output, "the application ended differently:", printed.errors[-2000:])
    for kernel in printed.report["account"]["kernels"]:
        check(kernel["sites_asked"] == kernel["sites_placed"], kernel["name"], "has rejected sites:", kernel["sites_rejected"])

    # What was printed: by instruction, and by wave in order.
    sites, lines = collections.defaultdict(collections.Counter), 0
    byWave = collections.defaultdict(list)
    for line in open(folder + "/lines") if os.path.exists(folder + "/lines") else ():
        lines += 1
        found = LINE.fullmatch(line.rstrip("\n"))
        check(found, "not a line of print_stores:", line)
        launch, group, thread = int(found[1]), tuple(map(int, found.group(2, 3, 4))), tuple(map(int, found.group(5, 6, 7)))
        pc, address, value = int(found[8], 16), int(found[9], 16), found[10]
        sites[pc][group, thread, address, value] += 1
        byWave[launch, group].append((pc, thread, address, value))
    rows = printed.rows("print_stores")
    check(sum(row["stores"] for row in rows) == sum(row["printed"] for row in rows) == lines, "the report has other sums")

    # The same, as the virtual GPU has it.
    sizes = sizesOf(printed, folder + "/traced")
    trace = list(virtualStores(folder + "/traced", sizes))
    perPc = collections.defaultdict(collections.Counter)
    for dispatch, kernel, pc, text, key, group, wave, lanes in trace:
        for thread, address, value in lanes:
            perPc[pc][group, thread, address, value] += 1
    original = {}
    for pc, stores in sites.items():
        candidates = [other for other, theirs in perPc.items() if theirs == stores and other not in original]
        check(candidates, f"no instruction of the virtual GPU's trace stored what {pc:#x} did:", list(stores.items())[:2])
        if candidates:
            original[candidates[0]] = pc
    waves = collections.defaultdict(lambda: collections.defaultdict(list))
    for dispatch, kernel, pc, text, key, group, wave, lanes in trace:
        if pc in original:
            for thread, address, value in lanes:
                waves[dispatch, group][wave].append((original[pc], thread, address, value))
    # Launches are counted in the order of dispatches; those without stores of this kind print nothing.
    launches = sorted({launch for launch, _ in byWave})
    dispatches = sorted({dispatch for dispatch, _ in waves})
    check(len(launches) == len(dispatches), len(launches), "launches printed,", len(dispatches), "stored")
    for launch, dispatch in zip(launches, dispatches):
        x, y, _ = sizes[dispatch]
        groups = {group for number, group in byWave if number == launch}
        check(groups == {group for number, group in waves if number == dispatch}, "launch", launch, "has other workgroups")
        for group in groups:
            ours = collections.defaultdict(list)
            for line in byWave[launch, group]:
                thread = line[1]
                ours[(thread[0] + x * (thread[1] + y * thread[2])) // 64].append(line)
            theirs = waves[dispatch, group]
            for wave in sorted(set(ours) | set(theirs)):
                check(ours[wave] == theirs[wave], f"launch {launch}, workgroup {group}, wave {wave}:", ours[wave][:3], "...", len(ours[wave]),
                      "lines instead of", theirs[wave][:3], "...", len(theirs[wave]))

    # Without the tool: the same kernels store as often.
    counts = collections.Counter(kernel for _, kernel, *_, lanes in virtualStores(folder + "/plain", sizesOf(plain, folder + "/plain")) for _ in lanes)
    symbols = printed.symbols()
    reported = collections.Counter()
    for row in rows:
        for symbol in symbols[row["kernel"]]:
            reported[symbol] += row["stores"]
    reported = {kernel: count for kernel, count in reported.items() if count}
    check(reported == dict(counts), "stores:", reported, "instead of", dict(counts))

    # A limit is kept, and what is beyond it counted.
    few = run(options.build, options.app, ["print_stores"], ["print_stores.limit=7", f"print_stores.space={options.space}"],
              more=["--hook-output", folder + "/few", *kernels])
    check(few.output == plain.output, "the application ended differently:", few.errors[-2000:])
    kept = sum(1 for line in open(folder + "/few")) if lines else 0
    check(kept == sum(row["printed"] for row in few.rows("print_stores")), kept, "lines are there")
    check([row["printed"] for row in few.rows("print_stores")] == [min(7, row["stores"]) for row in few.rows("print_stores")], "the limit is not kept")

    # One instruction alone.
    if sites:
        one = max(sites)
        alone = run(options.build, options.app, ["print_stores"],
                    ["print_stores.limit=1000000000", f"print_stores.space={options.space}", f"print_stores.pc={one:#x}"],
                    more=["--hook-output", folder + "/alone", *kernels])
        check(alone.output == plain.output, "the application ended differently:", alone.errors[-2000:])
        there = [int(LINE.fullmatch(line.rstrip("\n"))[8], 16) for line in open(folder + "/alone")]
        check(set(there) == {one} and len(there) == sites[one].total(), len(there), "lines of", set(there), "instead of", sites[one].total())
check(lines > 0, "nothing was printed")
finish(f"{lines} lines of {len(sites)} instructions, {len(byWave)} workgroups")
