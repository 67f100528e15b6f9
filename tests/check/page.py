#!/usr/bin/env python3
"""Usage: page.py LUTHIER PROGRAMS PAGE [CHECK ...]

The reports that docs/check.md shows are the reports of the programs that it shows (built into the folder PROGRAMS), but for
numbers that differ from run to run: addresses and process ids. The fixed programs are clean. Each CHECK must have a report.
"""
import re
import subprocess
import sys

luthier, programs, page, *checks = sys.argv[1:]


def neutral(text):
    text = re.sub(r"0x[0-9a-f]{9,}", "ADDRESS", text)
    text = re.sub(r"^(\s+process\s+)\d+", r"\1PID", text, flags=re.M)
    text = re.sub(r"\S*/(\w+\.hip)", r"\1", text)
    return [line.rstrip() for line in text.strip().splitlines()]


def run(check, name, *arguments):
    command = [luthier, "check", check, "--gpu", "gfx90a", "--", f"{programs}/{name}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)


text = open(page).read()
shown = re.findall(r"```text\n\$ luthier check (\w+) -- \./(\w+)\n(.*?)```", text, flags=re.S)
if sorted(check for check, _, _ in shown) != sorted(checks):
    sys.exit(f"{page} shows reports of {[check for check, _, _ in shown]}, expected {checks}")
for check, name, report in shown:
    ended = run(check, name)
    if ended.returncode != 1:
        sys.exit(f"{name}: exit status {ended.returncode}\n{ended.stdout}{ended.stderr}")
    real, expected = neutral(ended.stderr), neutral(report)
    if real != expected:
        sys.exit("the page shows\n" + "\n".join(expected) + "\nbut the report is\n" + "\n".join(real))
    fixed = run(check, name, "fixed")
    if fixed.returncode != 0:
        sys.exit(f"{name} fixed: exit status {fixed.returncode}\n{fixed.stdout}{fixed.stderr}")
print("the page is right")
