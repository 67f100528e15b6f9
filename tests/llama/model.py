#!/usr/bin/env python3
"""A language model of random weights (tiny_gguf.py) in llama.cpp: on the CPU, on a virtual GPU, and there under tools.

CPU and GPU are compared by llama.cpp itself: the divergence of the probabilities that they give to the next token (llama-perplexity --kl-divergence). The GPU computes in other
formats (attention in f16), so it is small and not zero, and a text that always takes the likeliest token may part at a near tie. Under a tool, however, everything that the programs
print must be the same as without; every kernel that was launched must have been instrumented; and the instructions and lanes that tools count must be those that the virtual GPU
counts by itself in a run without a tool (--stats). Each program runs twice under each tool: with an empty cache and with what the first run left there.
"""

import argparse
import csv
import json
import os
import re
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TIMES = re.compile(r"_ns$|_ts$|test_time")  # columns of llama-bench that are no two times the same
MOST_DIVERGENCE = 0.001


class Checks:
    def __init__(self):
        self.failed = 0

    def __call__(self, good, what):
        print(f"{'ok' if good else 'FAILED'}: {what}", flush=True)
        self.failed += not good


def timed(command, environment=None):
    """Standard output, standard error and seconds; a program that fails ends the test."""
    started = time.monotonic()
    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ | (environment or {}))
    seconds = time.monotonic() - started
    if run.returncode != 0:
        sys.exit(f"{' '.join(command)}: status {run.returncode}\n{run.stderr.decode(errors='replace')[-4000:]}")
    return run.stdout, run.stderr.decode(errors="replace"), seconds


def bench_rows(output):
    """What llama-bench prints, without times."""
    return [{key: value for key, value in row.items() if not TIMES.search(key)} for row in csv.DictReader(output.decode().splitlines())]


def executed(stats):
    """Instructions and lanes of all kernels but ROCr's own, which no tool sees, by the virtual GPU's statistics."""
    with open(stats, encoding="utf-8") as file:
        dispatches = [dispatch for dispatch in json.load(file)["dispatches"] if not dispatch["kernel"].startswith("rocr_blit")]
    return tuple(sum(dispatch[f"{what}_instructions"] for dispatch in dispatches) for what in ("wave", "lane"))


def number(pattern, text):
    match = re.search(pattern + r"\s*:\s*(-?[\d.]+)", text)
    return float(match[1]) if match else float("nan")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", help="for the model, the text and reports")
    parser.add_argument("--gpu", default="gfx90a", help="the virtual GPU (default: %(default)s)")
    parser.add_argument("--tools", default="instr_count,opcode_histogram", help="(default: %(default)s)")
    parser.add_argument("--tokens", type=int, default=24, help="that are generated (default: %(default)s)")
    options = parser.parse_args()
    folder = os.path.abspath(options.folder)
    os.makedirs(folder, exist_ok=True)
    model, text, logits = (f"{folder}/{name}" for name in ("tiny.gguf", "text.txt", "logits.bin"))
    subprocess.run([f"{HERE}/tiny_gguf.py", model], check=True)
    with open(text, "w", encoding="utf-8") as file:
        file.writelines(f"The quick brown fox jumps over the lazy dog, {n} times, and the dog does not mind at all.\n" for n in range(8))

    common = ["-m", model, "-t", "1"]
    complete = ["llama-completion", *common, "-p", "Hello", "-n", str(options.tokens), "--temp", "0", "-s", "1", "-no-cnv", "--no-warmup"]
    perplexity = ["llama-perplexity", *common, "-f", text, "-c", "64", "-b", "64", "--kl-divergence-base", logits]
    bench = ["llama-bench", *common, "-p", "32", "-n", "8", "-r", "1", "--no-warmup", "-o", "csv", "-ngl", "99"]
    luthier = ["luthier", "run", "--gpu", options.gpu]
    on_cpu, on_gpu = ["-dev", "none"], ["-ngl", "99"]
    check = Checks()

    # CPU, without Luthier, and the virtual GPU
    timed(perplexity + on_cpu)
    output, errors, seconds = timed([*luthier, "--", *perplexity, "--kl-divergence", *on_gpu])
    said = output.decode(errors="replace") + errors
    mean, same = number("Mean +KLD", said), number("Same top p", said)
    ratio = number(r"Mean PPL\(Q\)/PPL\(base\)", said)
    check(mean < MOST_DIVERGENCE, f"llama-perplexity: divergence from the CPU {mean:.6f}, same likeliest token {same:.2f} %, ratio of perplexities {ratio:.6f}; {seconds:.1f} s")
    expected = {}
    for attention in ("off", "on"):
        flags = ["-fa", attention]
        cpu, _, cpu_seconds = timed(complete + on_cpu + flags)
        gpu, _, gpu_seconds = timed([*luthier, "--", *complete, *on_gpu, *flags])
        alike = len(os.path.commonprefix([cpu, gpu]))
        print(f"llama-completion, flash attention {attention}: {len(cpu)} bytes on the CPU in {cpu_seconds:.1f} s, {len(gpu)} on the GPU in {gpu_seconds:.1f} s, the first {alike} alike")
        expected[f"llama-completion -fa {attention}"] = ([*complete, *on_gpu, *flags], gpu, gpu_seconds, lambda output: output)
    rows, _, seconds = timed([*luthier, "--", *bench])
    expected["llama-bench"] = (bench, bench_rows(rows), seconds, bench_rows)
    check(len(bench_rows(rows)) == 2, "llama-bench: a row for the prompt and one for the generation")

    counts = {}
    for name, (command, *_) in expected.items():
        timed([*luthier, "--stats", f"{folder}/stats.json", "--", *command])
        counts[name] = executed(f"{folder}/stats.json")

    # The same under tools
    print(f"{'program':<26}{'tool':<18}{'cache':<8}{'s':>8}{'without':>9}{'added':>8}{'instrumenting':>15}{'kernels':>9}{'launches':>10}")
    for tool in filter(None, options.tools.split(",")):
        for name, (command, wanted, plain, read) in expected.items():
            cache = f"{folder}/cache"
            shutil.rmtree(cache, ignore_errors=True)
            for state in ("empty", "warm"):
                report = f"{folder}/{tool}.json"
                output, errors, seconds = timed([*luthier, "--tool", tool, "--runtime-kernels", "-f", "json", "-o", report, "--", *command], {"LUTHIER_CACHE": cache})
                with open(report, encoding="utf-8") as file:
                    found = json.load(file)
                account = found["account"]
                print(f"{name:<26}{tool:<18}{state:<8}{seconds:>8.1f}{plain:>9.1f}{seconds - plain:>8.1f}{account['seconds']:>15.1f}{account['kernels_instrumented']:>9}"
                      f"{account['launches_instrumented']:>10}", flush=True)
                check(read(output) == wanted, "the program's output is the same as without a tool")
                check(account["kernels_seen"] == account["kernels_instrumented"] and account["launches_not_instrumented"] == 0,
                      f"{account['kernels_instrumented']} of {account['kernels_seen']} kernels instrumented, {account['launches_not_instrumented']} launches not; "
                      f"sites rejected: {account['sites_rejected']}")
                counted = tuple(sum(row[column] for row in found["tools"][0]["rows"]) for column in ("instructions", "lanes"))
                check(counted == counts[name], f"{counted[0]} instructions, {counted[1]} lanes; the virtual GPU counts {counts[name][0]} and {counts[name][1]}")
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main())
