#!/usr/bin/env python3
"""Usage: cost.py BUILD

How many more instructions waves execute under tools that count, as the virtual GPU counts them: no more than these
times as many (docs/performance.md has all samples). Kernels that HIP itself launches are left out.
"""
import sys

from tool_run import check, finish, run

build = sys.argv[1]
LIMITS = {
    # A block that no lane may want, loops with branches, and loops that lanes leave one by one.
    "vector_add": {"instr_count.per=launch": 1.45, "instr_count.per=instruction": 1.32, "opcode_histogram.per=run": 1.32},
    "matmul_tiled": {"instr_count.per=launch": 1.25, "opcode_histogram.per=run": 1.25},
    "saxpy_f64": {"instr_count.per=launch": 1.42, "opcode_histogram.per=run": 1.38},
}


def executed(done):
    own = [d for d in done.dispatches() if "__amd_rocclr" not in d["kernel"]]
    return sum(d["wave_instructions"] for d in own)


figures = []
for sample, limits in LIMITS.items():
    app = [f"{build}/samples/{sample}"]
    plain = executed(run(build, app))
    for option, most in limits.items():
        factor = executed(run(build, app, [option.split(".")[0]], [option])) / plain
        check(1 <= factor <= most, f"{sample} under {option}: {factor:.3f} times as many instructions, at most {most}")
        figures.append(f"{sample} {option} {factor:.2f}")
finish(", ".join(figures))
