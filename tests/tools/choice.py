#!/usr/bin/env python3
"""Usage: choice.py BUILD

Which kernels and launches a tool sees (--kernel-include-regex, --kernel-exclude-regex, --kernel-iteration-range), and the
formats of its report, in a real run: programs/ends launches two kernels in turn, ten times each.
"""
import csv
import glob
import json
import os
import subprocess
import sys
import tempfile

from tool_run import check, finish

build = os.path.abspath(sys.argv[1])
LAUNCHES = 10


def luthier(folder, *options):
    done = subprocess.run([f"{build}/bin/luthier", "run", "--gpu", "gfx90a", "--tool", "instr_count", *options, "--",
                           f"{build}/tests/programs/ends", "return"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, cwd=folder)
    check(done.returncode == 3 and done.stdout == plain, options, "the program ended differently:", done.stdout, done.stderr)
    return done.stderr


def launchesOf(folder, *options):
    """Numbers of the launches that have a row, by kernel; and the account."""
    luthier(folder, "-o", "r.json", "-f", "json", *options)
    report = json.load(open(folder + "/r.json"))
    rows = {}
    for row in report["tools"][0]["rows"]:
        name = row["kernel"].removeprefix("(anonymous namespace)::").split("(")[0]
        check(row["instructions"] > 0, row)
        rows.setdefault(name, []).append(row["launch"])
    return {name: sorted(numbers) for name, numbers in rows.items()}, report["account"]


plain = subprocess.run([f"{build}/bin/luthier", "run", "--gpu", "gfx90a", "--", f"{build}/tests/programs/ends", "return"],
                       stdout=subprocess.PIPE, text=True).stdout
check("sum " in plain, "the program does not work:", plain)
with tempfile.TemporaryDirectory() as folder:
    fill = {"__amd_rocclr_fillBufferAligned": [1]}
    everything = list(range(1, LAUNCHES + 1))
    for text, numbers in (("2-4", [2, 3, 4]), ("3", [3]), ("9-", [9, 10]), ("11-20", [])):
        found, account = launchesOf(folder, "--kernel-iteration-range", text)
        expected = {name: numbers for name in ("twice", "thrice") if numbers}
        check(found == expected, text, found)
        check((account["launches"], account["launches_instrumented"]) == (2 * LAUNCHES + 1, 2 * len(numbers)), text, account)
    found, account = launchesOf(folder, "--kernel-include-regex", "twice")
    check(found == {"twice": everything}, "only twice:", found)
    check(account["skipped_because"] == {"left out, as asked": 2} and account["launches_instrumented"] == LAUNCHES, account)
    found, _ = launchesOf(folder, "--kernel-exclude-regex", "twice")
    check(found == {"thrice": everything}, "without twice:", found)
    found, account = launchesOf(folder, "--kernel-exclude-regex", "twice", "--runtime-kernels")
    check(found == {**fill, "thrice": everything}, "without twice, with HIP's own:", found)
    check(account["skipped_because"] == {"left out, as asked": 1}, account)
    found, _ = launchesOf(folder, "--kernel-include-regex", "t(w|hr)ice", "--kernel-exclude-regex", "thrice",
                          "--kernel-iteration-range", "5-6")
    check(found == {"twice": [5, 6]}, "all three:", found)

    luthier(folder, "-o", "r-%pid%.csv", "-f", "csv", "--runtime-kernels")
    files = glob.glob(folder + "/r-*.csv")
    check(len(files) == 1 and files[0].split("-")[-1][:-4].isdigit(), files)
    rows = list(csv.DictReader(open(files[0])))
    check(len(rows) == 2 * LAUNCHES + 1 and all(int(row["instructions"]) for row in rows), rows)
    text = luthier(folder)
    check(text.startswith("instr_count:\nkernel ") and "launches: 20 instrumented, 1 not" in text, text)
    check("rocclr" not in text and "1 x a kernel of HIP's own, for fills and copies (see --runtime-kernels)" in text, text)
    # In one pipe, the report comes behind what the application has printed, though that waited in a buffer until exit.
    both = subprocess.run([f"{build}/bin/luthier", "run", "--gpu", "gfx90a", "--tool", "instr_count", "--",
                           f"{build}/tests/programs/ends", "print"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
    check(both.startswith("not flushed\ninstr_count:\n"), "the report is not at the end:", both)
finish("kernels, launches and formats are those that were asked for")
