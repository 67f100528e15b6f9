#!/usr/bin/env python3
"""Usage: page.py LUTHIER PROGRAM PAGE CHECK GPU

The report that docs/check.md shows for a check is the report of the program that it shows, but for numbers that differ
from run to run: addresses, process ids and lines of HIP's headers. The fixed program is clean.
"""
import os
import re
import subprocess
import sys

luthier, program, page, check, gpu = sys.argv[1:]
os.environ["LUTHIER_VGPU_THREADS"] = "1"  # or another workgroup may be the first


def neutral(text):
    text = re.sub(r"0x[0-9a-f]{9,}", "ADDRESS", text)
    text = re.sub(r"^(\s+process\s+)\d+", r"\1PID", text, flags=re.M)
    text = re.sub(r"\S*/(amd_device_functions\.h):\d+:\d+", r"\1", text)
    text = re.sub(r"\S*/(\w+\.hip)", r"\1", text)
    return [line.rstrip() for line in text.strip().splitlines()]


def run(*arguments):
    command = [luthier, "check", check, "--gpu", gpu, "--", program, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)


text = open(page).read()
shown = re.search(r"```text\n\$ luthier check " + check + r"[^\n]*\n(.*?)```", text, flags=re.S)
if not shown:
    sys.exit(f"{page} shows no report")
ended = run()
if ended.returncode != 1:
    sys.exit(f"exit status {ended.returncode}\n{ended.stdout}{ended.stderr}")
real, expected = neutral(ended.stderr), neutral(shown[1])
if real != expected:
    sys.exit("the page shows\n" + "\n".join(expected) + "\nbut the report is\n" + "\n".join(real))
fixed = run("fixed")
if fixed.returncode != 0:
    sys.exit(f"fixed: exit status {fixed.returncode}\n{fixed.stdout}{fixed.stderr}")
print("the page is right")
