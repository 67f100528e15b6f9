#!/usr/bin/env python3
"""Usage: coverage.py BUILD [--markers SOURCE] -- APP [ARG ...]

Instructions that the tool coverage calls executed must be those that the virtual GPU has written down in a run without
it. With --markers: lines of SOURCE that end in `// runs N|M` are executed by N waves of 64 lanes or by M of 32, others
that end in `// never` by none, in the report, in the file for genhtml, and in what genhtml makes of it.
"""
import argparse
import collections
import os
import re
import subprocess
import tempfile

from tool_run import check, finish
from truth import tool_rows, trace
from programs import GPU

parser = argparse.ArgumentParser(usage=__doc__)
parser.add_argument("build")
parser.add_argument("--markers")
parser.add_argument("app", nargs="+")
options = parser.parse_args()

plain, steps = trace(options.build, options.app)
executed = collections.defaultdict(set)
for step in steps:
    executed[step["kernel"]].add(step["offset"])
done, kernels = tool_rows(options.build, options.app, "coverage", plain)
check(set(kernels) == set(executed), "kernels:", set(kernels), "instead of", set(executed))
for kernel, (row,) in kernels.items():
    check(row["executed"] == len(executed[kernel]), kernel, row["executed"], "instead of", len(executed[kernel]))
    check(abs(row["%"] - 100 * row["executed"] / row["instructions"]) < 0.0051, row)
check(any(row["executed"] < row["instructions"] for (row,) in kernels.values()), "everything was executed")

if options.markers:
    source = os.path.abspath(options.markers)
    expected = {}
    for number, line in enumerate(open(source), 1):
        if found := re.search(r"// (?:runs (\d+)\|(\d+)|never)$", line):
            expected[number] = int(found[1 if GPU == "gfx90a" else 2] or 0)
    check(0 in expected.values() and any(expected.values()), "no markers:", expected)
    with tempfile.TemporaryDirectory() as folder:
        lcov = folder + "/lcov.info"
        done, rows = tool_rows(options.build, options.app, "coverage", plain, ["per=line", "lcov=" + lcov])
        ours = {row["line"]: row["executions"] for row in rows[""] if os.path.realpath(row["file"]) == os.path.realpath(source)}
        for number, count in expected.items():
            check(ours.get(number) == count, f"line {number} of the report:", ours.get(number), "instead of", count)
        inFile, name, totals = {}, None, {}
        for line in open(lcov).read().splitlines():
            key, _, value = line.partition(":")
            if key == "SF":
                name = os.path.realpath(value)
            elif key == "DA" and name == os.path.realpath(source):
                number, count = map(int, value.split(","))
                inFile[number] = count
            elif name == os.path.realpath(source):
                totals[key] = value
        check(inFile == ours, "lcov's lines are", inFile, "and the report's", ours)
        check(totals["LF"] == str(len(inFile)) and totals["LH"] == str(sum(map(bool, inFile.values()))), totals)
        # Not where lcov is not installed: scripts/packages.txt has it.
        made = subprocess.run(["genhtml", "--quiet", "-o", folder + "/html", lcov], capture_output=True, text=True, check=False)
        check(made.returncode == 0, "genhtml refuses the file:", made.stdout, made.stderr)
        pages = [os.path.join(path, each) for path, _, files in os.walk(folder + "/html") for each in files
                 if each == os.path.basename(source) + ".gcov.html"]
        check(len(pages) == 1, "pages:", pages)
        page = open(pages[0]).read() if pages else ""
        for number, count in expected.items():
            cell = re.search(rf'(?:id|name)="L?{number}">.*?(lineCov|lineNoCov|tlaGNC|tlaUNC)', page)
            check(cell and (cell[1] in ("lineCov", "tlaGNC")) == (count > 0), f"line {number} of genhtml's page:", cell and cell[1])
finish(f"{sum(row['executed'] for (row,) in kernels.values())} of "
       f"{sum(row['instructions'] for (row,) in kernels.values())} instructions of {len(kernels)} kernels")
