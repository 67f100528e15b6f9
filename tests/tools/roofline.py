#!/usr/bin/env python3
"""Usage: roofline.py BUILD -- APP [ARG ...]

FLOPs and bytes that the tool roofline reports must follow from how often the virtual GPU has executed each opcode
(--stats of a run without the tool), and durations be those that the launches have there. For `patterns flops`, FLOPs
must also be those that its source says.
"""
import argparse
import collections
import re

from tool_run import check, finish, run
from truth import tool_rows, width
from programs import GPU

parser = argparse.ArgumentParser(usage=__doc__)
parser.add_argument("build")
parser.add_argument("app", nargs="+")
options = parser.parse_args()

ONE = "add|sub|subrev|mul|mul_legacy|rcp|rcp_iflag|rsq|sqrt|exp|log|sin|cos"
TWO = "fma|fmac|mad|mac|fmamk|fmaak|madmk|madak|div_fmas|fma_mix|fma_mixlo|fma_mixhi|mad_mix|mad_mixlo|mad_mixhi"


def flops(name):
    """Type, operations of a lane, of a wave."""
    found = re.fullmatch(r"v_mfma_f(?:32|64)_(\d+)x(\d+)x(\d+)(f16|bf16|f32|f64)(?:_1k)?", name)
    if found:
        m, n, k = map(int, found.group(1, 2, 3))
        blocks = {"4x4x4f16": 16, "16x16x4f16": 4, "32x32x4f16": 2}.get(f"{m}x{n}x{k}{found[4]}", 1)
        return found[4], 0, 2 * m * n * k * blocks
    found = re.fullmatch(rf"v_(pk_)?(?:({ONE})|({TWO}))_(f16|f32|f64)", name)
    if found:
        return found[4], (2 if found[1] else 1) * (1 if found[2] else 2), 0
    if re.fullmatch(r"v_dot2c?_f32_f16", name):
        return "f16", 4, 0
    found = re.fullmatch(r"(?:global|flat|buffer)_atomic_add_(f32|f64)|ds_add_(?:rtn_)?(f32|f64)", name)
    return (found[1] or found[2], 1, 0) if found else ("", 0, 0)


def bytesOf(name):
    """Memory, and bytes of a lane, or of a wave for scalar memory."""
    if found := re.fullmatch(r"s_(?:buffer_)?load_dword(?:x(\d+))?", name):
        return "scalar bytes", 4 * int(found[1] or 1)
    if found := re.fullmatch(r"(global|flat|buffer|scratch)_(load|store|atomic)_\w+", name):
        return ("scratch bytes" if found[1] == "scratch" else "global bytes"), width(name)
    if re.fullmatch(r"ds_(read|write|load|store|add|sub|inc|dec|min|max|and|or|xor|wrxchg|cmpst)\w*", name):
        two = re.match(r"ds_(read|write|load|store)(2|_2addr)", name)
        return "LDS bytes", width(name.replace("_addtid", "")) * (2 if two else 1)
    return "", 0


plain = run(options.build, options.app)
expected = collections.defaultdict(collections.Counter)
for dispatch in plain.dispatches():
    sums = expected[dispatch["kernel"]]
    sums["launches"] += 1
    for name, row in dispatch["opcodes"].items():
        type, perLane, perWave = flops(name)
        count = perLane * row["lane_instructions"] + perWave * row["wave_instructions"]
        sums[type] += count
        sums["FLOPs"] += count
        sums["matrix"] += perWave * row["wave_instructions"]
        memory, size = bytesOf(name)
        sums[memory] += size * row["wave_instructions" if memory == "scalar bytes" else "lane_instructions"]
done, ours = tool_rows(options.build, options.app, "roofline", plain)
columns = ("launches", "FLOPs", "matrix", "f64", "f32", "f16", "bf16", "global bytes", "LDS bytes", "scratch bytes", "scalar bytes")
check(set(ours) == set(expected), "kernels:", set(ours), "instead of", set(expected))
nanoseconds = collections.Counter()
for dispatch in done.dispatches():
    nanoseconds[dispatch["kernel"].removesuffix(".kd")] += (dispatch["end"] - dispatch["begin"]) * 1e9 / done.stats["clock_hz"]
for kernel, (row,) in ours.items():
    for column in columns:
        check(row[column] == expected[kernel][column], kernel, column, row[column], "instead of", expected[kernel][column])
    # Ratios have two digits behind the point; ROCr converts both ends of each launch from ticks of 10 ns.
    time = nanoseconds[kernel]
    check(abs(row["FLOP/byte"] - (row["FLOPs"] / row["global bytes"] if row["global bytes"] else 0)) < 0.0051, row)
    check(time > 0 and abs(row["ms"] - time / 1e6) < 0.00051 + 20e-6 * row["launches"], row, "instead of", time, "ns")
    check(abs(row["GFLOP/s"] - row["FLOPs"] / time) < 0.006, row)
    check(abs(row["GB/s"] - row["global bytes"] / time) < 0.006, row)
if "flops" in options.app:
    found = re.search(r"flops (\d+) (\d+)", plain.output)
    threads, rounds = int(found[1]), int(found[2])
    (row,) = ours["_Z5flopsPKfPfPdj"]
    matrix = GPU == "gfx90a"
    check(row["f32"] == threads * (4 * rounds + 1 + 2 * matrix), "f32:", row)
    check(row["f64"] == threads // 2 * 3 * rounds + matrix * threads // 64 * 2 * 16 * 16 * 4, "f64:", row)
    check(row["f16"] == threads * 5 + matrix * threads // 64 * 2 * 16 * 16 * 16, "f16:", row)
# Every second launch runs unmodified: times are theirs, and the others are counted. One stream, so that launches complete in their order.
if options.app[0].endswith("bitonic_sort"):
    done, rows = tool_rows(options.build, options.app, "roofline", plain, ["alternate=yes"])
    launches = collections.defaultdict(list)
    for dispatch in done.dispatches():
        launches[dispatch["kernel"].removesuffix(".kd")].append((dispatch["end"] - dispatch["begin"]) * 1e3 / done.stats["clock_hz"])
    for kernel, (row,) in rows.items():
        counted, timed = launches[kernel][::2], launches[kernel][1::2]
        check(row["launches"] == len(counted), row, "of", len(launches[kernel]))
        check(len(timed) > 1 and abs(row["ms"] - sum(timed) * len(counted) / len(timed)) < 0.001, row, "instead of", timed)
    check(done.report["account"]["launches_instrumented"] == sum(row["launches"] for (row,) in rows.values()), done.report["account"])
finish(f"{len(ours)} kernels, {sum(row['FLOPs'] for (row,) in ours.values())} FLOPs")
