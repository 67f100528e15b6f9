#!/usr/bin/env python3
"""Usage: exactness.py BUILD [--programs REGEX] [--values N] [--jobs N] [--timeout SECONDS]

What the tools count, in all samples and rocRAND programs of a build, and in the rocSPARSE program if there is one,
compared with what the virtual GPU counts itself (counts.py, access_sums.py); and the programs' own output, which must
be the same under every tool. A row each, then the sums. N values of each distribution are made by rocrand_sequences
(default: 5000; "all": a million, as when it is called by itself).
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(here))
from programs import all_programs, large_libraries

parser = argparse.ArgumentParser(usage=__doc__, add_help=False)
parser.add_argument("build")
parser.add_argument("--programs", default=".")
parser.add_argument("--values", default="5000")
parser.add_argument("--jobs", type=int, default=2)
parser.add_argument("--timeout", type=int, default=7200)
options = parser.parse_args()
build = os.path.abspath(options.build)

COLUMNS = [("program", 26), ("kernels", 8), ("steady", 7), ("launches", 9), ("instructions", 13), ("opcode rows", 12),
           ("blocks", 7), ("places", 8), ("accesses", 10), ("s", 6)]


def row(*cells):
    return "".join(f"{cell:{'<' if n == 0 else '>'}{width}}" for n, (cell, (_, width)) in enumerate(zip(cells, COLUMNS)))


def compare(script, app):
    """Its exit code, figures and output."""
    with tempfile.NamedTemporaryFile() as figures:
        try:
            done = subprocess.run([f"{here}/{script}", build, "--", *app], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, timeout=options.timeout,
                                  env={**os.environ, "LUTHIER_TEST_FIGURES": figures.name})
        except subprocess.TimeoutExpired:
            return 1, {}, f"{script} took more than {options.timeout} s"
        text = open(figures.name).read()
        return done.returncode, json.loads(text) if text else {}, done.stdout


def one(program):
    name, app = program
    begin = time.monotonic()
    results = [compare("counts.py", app), compare("access_sums.py", app)]
    counts, accesses = results[0][1], results[1][1]
    bad = [output for code, _, output in results if code not in (0, 77)]
    skipped = any(code == 77 for code, _, _ in results)
    print(row(name, *([counts.get(key, "-") for key in ("kernels", "steady", "launches", "instructions", "opcodes",
                                                        "blocks", "instructions_placed")]),
              accesses.get("accesses", "-"), f"{time.monotonic() - begin:.0f}")
          + (" FAILED" if bad else " skipped" if skipped else ""), flush=True)
    for output in bad:
        print("        " + "\n        ".join(line[:600] for line in output.rstrip().splitlines()[-12:]), flush=True)
    return "FAILED" if bad else "skipped" if skipped else "ok", {**counts, "accesses": accesses.get("accesses", 0)}


programs = all_programs(build, None if options.values == "all" else options.values) + large_libraries(build)
chosen = [program for program in programs if re.search(options.programs, program[0])]
print(row(*(name for name, _ in COLUMNS)), flush=True)
with ThreadPoolExecutor(options.jobs) as pool:
    results = list(pool.map(one, chosen))
sums = {key: sum(figures.get(key, 0) for _, figures in results)
        for key in ("kernels", "steady", "launches", "instructions", "opcodes", "blocks", "instructions_placed", "accesses")}
print(row("all", *sums.values(), ""))
outcomes = [outcome for outcome, _ in results]
print(f"{len(results)} programs, {outcomes.count('FAILED')} failed, {outcomes.count('skipped')} skipped")
sys.exit("FAILED" in outcomes or not results)
