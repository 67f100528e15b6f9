#!/usr/bin/env python3
"""Usage: rocm_results.py BUILD

What the tests of BUILD that are of ROCm (label rocm) gave, by group: those that were run by `scripts/rocm.sh --prebuilt`,
each as it ended last (what CTest has printed, BUILD/rocm_results/*.log, from runs that were ended early too). Fails
unless all were run, and none failed.
"""
import collections
import glob
import json
import os
import re
import subprocess
import sys

# By name of test, then by program.
NAMES = (("samples, copies by SDMA and by blit kernel", r"sample[.].*[.]sdma[01]$"),
         ("strict waits, poisoned dead registers", r".*[.](strict_waits|poison_dead)$"),
         ("rocRAND programs", r"rocrand[.]"),
         ("tools' exactness", r"tool[.]"),
         ("transparency", r"transparency[.]"))
PROGRAMS = (("interception of HSA", r"(hsa_(values|interceptor|chaining)|rewrite_emit_load)_test$"),
            ("tools in applications", r"runtime_.*_test$"))
OTHERS = "other whole programs"

# CTest's words; all others are for failures.
WORDS = (("Passed", "passed"), ("Skipped", "skipped"), ("Not Run", "not run"))


def group(test):
    for name, regex in NAMES:
        if re.match(regex, test["name"]):
            return name
    for name, regex in PROGRAMS:
        if re.match(regex, os.path.basename(test.get("command", [""])[0])):
            return name
    return OTHERS


build = sys.argv[1]
shown = subprocess.run(["ctest", "--test-dir", build, "-L", "^rocm$", "--show-only=json-v1"], stdout=subprocess.PIPE, check=True).stdout
tests = {test["name"].split()[0]: group(test) for test in json.loads(shown)["tests"]}
results = {}
for log in sorted(glob.glob(f"{build}/rocm_results/*.log")):
    with open(log, errors="replace") as file:
        for line in file:
            ended = re.match(r" *\d+/\d+ Test +#\d+: (\S+) \.*(.*?) +[\d.]+ sec", line)
            if ended:
                results[ended[1]] = next((kind for word, kind in WORDS if word in ended[2]), "failed")
groups = collections.defaultdict(collections.Counter)
for name, of in tests.items():
    groups[of][results.get(name, "not run")] += 1
kinds = ("passed", "skipped", "failed", "not run")
print(f"{'':44}" + "".join(f"{kind:>9}" for kind in kinds))
for of in [name for name, _ in NAMES + PROGRAMS] + [OTHERS]:
    if of in groups:
        print(f"{of:44}" + "".join(f"{groups[of][kind]:9}" for kind in kinds))
total = sum(groups.values(), collections.Counter())
print(f"{'together':44}" + "".join(f"{total[kind]:9}" for kind in kinds))
for kind in ("failed", "skipped"):
    for name in sorted(name for name in tests if results.get(name) == kind):
        print(f"{kind}: {name}")
sys.exit(0 if total["failed"] + total["not run"] == 0 and total else 1)
