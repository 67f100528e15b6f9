#!/usr/bin/env python3
"""Usage: matrix.py BUILD [--programs REGEX] [--modes REGEX] [--every N] [--phase N] [--jobs N] [--timeout SECONDS]
       [--hook-form auto|inline|shared] [--done FILE]

The transparency tests (transparency.py) for all samples and rocRAND programs of a build, in all modes, forms and
positions, on all machines (normal, waits, strict): a line each, then how many of them failed. By default at every instruction.
--done FILE: runs that were all right are noted there, and not done again by the next call.
"""
import argparse
import itertools
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

parser = argparse.ArgumentParser(usage=__doc__, add_help=False)
parser.add_argument("build")
parser.add_argument("--programs", default=".")
parser.add_argument("--modes", default=".")
parser.add_argument("--every", default="1")
parser.add_argument("--phase", default="0")
parser.add_argument("--hook-form", default="inline")
parser.add_argument("--jobs", type=int, default=2)
parser.add_argument("--timeout", default="3600")
parser.add_argument("--done", default="")
options = parser.parse_args()
build = os.path.abspath(options.build)
here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(here))
from programs import MACHINES, all_programs, gpus

programs = [(name, gpus(app[0]), app) for name, app in all_programs(build)]
modes = [("copy", "lane", "before"), ("identity", "lane", "before")]
modes += itertools.product(("empty", "count", "hostile", "stateful", "frame", "everything", "sampled"), ("lane", "wave"), ("before", "after"))
runs = [(program, mode, machine) for program in programs for mode in modes for machine in MACHINES
        if re.search(options.programs, program[0])
        and re.search(options.modes, ".".join((*mode, machine)))]


def key(one):
    (name, _, _), mode, machine = one
    return " ".join((name, *mode, machine, options.every, options.phase, options.hook_form))


before = set(open(options.done).read().splitlines()) if os.path.exists(options.done) else set()
asked = len(runs)
runs = [one for one in runs if key(one) not in before]


def run(one):
    (name, gpu, app), (mode, form, position), machine = one
    done = subprocess.run(
        [f"{here}/transparency.py", "--luthier", f"{build}/bin/luthier", "--swap", f"{build}/tests/tools/libswap.so",
         "--hooks", f"{build}/tests/rewrite/harness_hooks.bc", "--gpu", gpu, "--mode", mode, "--form", form,
         "--position", position, "--every", options.every, "--phase", options.phase, "--timeout", options.timeout,
         "--hook-form", options.hook_form, "--machine", machine, "--", *app], capture_output=True, text=True)
    lines = done.stdout.rstrip().splitlines()
    result = {0: "ok", 77: "skipped"}.get(done.returncode, "FAILED")
    print(f"{result:8}{name}: {lines[-1] if lines else ''}", flush=True)
    if result == "FAILED":
        print("        " + "\n        ".join((done.stdout + done.stderr).rstrip().splitlines()[-12:]), flush=True)
    elif options.done:
        with open(options.done, "a") as file:
            print(key(one), file=file, flush=True)
    return result


with ThreadPoolExecutor(options.jobs) as pool:
    results = list(pool.map(run, runs))
failed = results.count("FAILED")
earlier = f", {asked - len(runs)} done before" if asked != len(runs) else ""
print(f"{len(results)} runs, {failed} failed, {results.count('skipped')} skipped{earlier}")
sys.exit(failed != 0 or not asked)
