#!/usr/bin/env python3
"""What tools cost: each tool on each sample, against the sample alone, in executed instructions and in time.

Usage: tools_bench [--samples A,B] [--tools A,B] [--runs N] [--json FILE]

Both figures come from the same run of the virtual GPU. Instructions are those that it executed (wave-instructions of the
application's kernels; its own count, in which no tool has a part), so they say what a tool inserts, exactly and on any
machine. Times are those of the kernels on the virtual GPU, the least of N runs: its instructions do not cost what
hardware's cost, so they rank tools but predict no GPU. Start-up, with the rewriting of kernels, is told apart.
"""
import argparse, json, math, os, subprocess, sys, tempfile, time

BUILD = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LUTHIER = os.path.join(BUILD, "bin", "luthier")
LIBRARY = os.path.join(BUILD, "lib", "libluthier.so")

# Variants of tools: title, library, options.
TOOLS = [
    ("instr_count", "instr_count", {}),
    ("instr_count, per instruction", "instr_count", {"per": "instruction"}),
    ("opcode_histogram", "opcode_histogram", {}),
    ("mem_trace", "mem_trace", {}),
]
SAMPLES = ["vector_add", "saxpy_f64", "matmul_tiled", "transpose", "reduction_tree", "prefix_scan", "bitonic_sort",
           "histogram_atomics", "nbody", "half_math", "wave_intrinsics", "function_pointers"]
# Published figures for NVBit: slowdown of a small vector addition, and what is known of larger programs.
NVBIT = {
    "instr_count": "2.5x (per block)",
    "instr_count, per instruction": "13.4x; 36x mean, 112x worst of larger programs",
    "opcode_histogram": "13.8x",
    "mem_trace": "7.3x",
}


def toolPath(name):
    for folder in ("lib/luthier/tools", "tools", "lib/tools", "lib"):
        path = os.path.join(BUILD, folder, f"lib{name}.so")
        if os.path.exists(path):
            return path
    return None


def run(sample, tool, folder):
    """Runs once. Returns (instructions, seconds of kernels, seconds in all, seconds of instrumenting)."""
    stats, report = os.path.join(folder, "stats.json"), os.path.join(folder, "report.json")
    command = [LUTHIER, "run", "--gpu", "gfx90a", "--stats", stats, "--"]
    if tool:
        _, name, options = tool
        command += ["env", f"HSA_TOOLS_LIB={LIBRARY}", f"LUTHIER_TOOLS={toolPath(name)}", "LUTHIER_TOOL_FORMAT=json",
                    f"LUTHIER_TOOL_OUTPUT={report}",
                    "LUTHIER_TOOL_OPTIONS=" + "\n".join(f"{name}.{k}={v}" for k, v in
                                                        options.items())]
    command.append(os.path.join(BUILD, "samples", sample))
    begin = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=folder)  # mem_trace leaves a file
    seconds = time.monotonic() - begin
    if done.returncode != 0 or "PASS" not in done.stdout:
        raise RuntimeError(f"{sample} under {tool[0] if tool else 'nothing'}: exit code {done.returncode}\n"
                           f"{done.stdout[-500:]}{done.stderr[-1000:]}")
    with open(stats) as file:
        data = json.load(file)
    kernels = [d for d in data["dispatches"] if not d["kernel"].startswith("rocr_blit")]
    instructions = sum(d["wave_instructions"] for d in kernels)
    onGpu = sum(d["end"] - d["begin"] for d in kernels) / data["clock_hz"]
    instrumenting = 0.0
    if tool:
        with open(report) as file:
            account = json.load(file)["account"]
        if account["launches_not_instrumented"] or account["sites_rejected"]:
            print(f"{sample} under {tool[0]}: {account['launches_not_instrumented']} launches ran as they were, "
                  f"{account['sites_rejected']} sites were rejected", file=sys.stderr)
        instrumenting = account["seconds"]
    return instructions, onGpu, seconds, instrumenting


def mean(values):
    return math.exp(sum(math.log(v) for v in values) / len(values))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", default=",".join(SAMPLES))
    parser.add_argument("--tools", default="", help="libraries, default: all")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--json", help="a file for all figures")
    arguments = parser.parse_args()
    wanted = arguments.tools.split(",") if arguments.tools else None
    tools = [t for t in TOOLS if wanted is None or t[1] in wanted]
    if wanted:  # also libraries by path
        tools += [(os.path.basename(w), w, {}) for w in wanted if w.endswith(".so")]
    for tool in [t for t in tools if not toolPath(t[1])]:
        print(f"{tool[1]} is not built", file=sys.stderr)
        tools.remove(tool)
    figures = []
    with tempfile.TemporaryDirectory() as folder:
        print(f"{'sample':<20} {'tool':<30} {'wave-instructions':>18} {'x':>7} {'kernel ms':>10} {'x':>7} {'rewriting ms':>13}")
        for sample in arguments.samples.split(","):
            base = None
            for tool in [None] + tools:
                runs = [run(sample, tool, folder) for _ in range(arguments.runs)]
                # Samples that wait in loops do not execute the same twice: the least of them, as with times.
                instructions, onGpu = min(r[0] for r in runs), min(r[1] for r in runs)
                instrumenting = min(r[3] for r in runs)
                base = base or (instructions, onGpu)
                figure = {"sample": sample, "tool": tool[0] if tool else None, "instructions": instructions,
                          "kernel_seconds": onGpu, "seconds": min(r[2] for r in runs),
                          "instrumenting_seconds": instrumenting, "instructions_x": instructions / base[0],
                          "time_x": onGpu / base[1]}
                figures.append(figure)
                print(f"{sample:<20} {tool[0] if tool else '-':<30} {instructions:>18} {figure['instructions_x']:>7.2f} "
                      f"{onGpu * 1e3:>10.2f} {figure['time_x']:>7.2f} {instrumenting * 1e3:>13.1f}", flush=True)
    print(f"\n{'tool':<30} {'instructions: mean':>18} {'most':>7} {'time: mean':>11} {'most':>7}   NVBit, time, published")
    for tool in tools:
        own = [f for f in figures if f["tool"] == tool[0]]
        byInstructions, byTime = [f["instructions_x"] for f in own], [f["time_x"] for f in own]
        print(f"{tool[0]:<30} {mean(byInstructions):>17.2f}x {max(byInstructions):>6.2f}x {mean(byTime):>10.2f}x "
              f"{max(byTime):>6.2f}x   {NVBIT.get(tool[0], '-')}")
    print("\nMeans are geometric. NVBit's figures are of a small vector addition on NVIDIA hardware unless they say otherwise.")
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(figures, file, indent=1)


if __name__ == "__main__":
    main()
