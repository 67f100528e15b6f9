#!/usr/bin/env python3
"""Usage: readme.py BUILD README

What a tool's README shows is what its commands print: each `$ luthier run` of an indented block is run, and the lines
behind it must come out in that order, without any in between (but where the page has "...") and up to the end of what
it shows. Not compared are addresses in the GPU's memory, folders of source files, and columns of times.
"""
import os
import re
import shlex
import subprocess
import sys
import tempfile

build, page = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
TIMES = {"ms", "GFLOP/s", "GB/s", "mean us", "least us", "most us"}


def neutral(lines):
    """Cells of each line; those of times replaced, as the table's head says."""
    result, times = [], set()
    for line in lines:
        line = re.sub(r"/\S*/(?=[\w.]+\b)", "", line) if line.startswith("/") else line # folders of source files
        line = re.sub(r"0x[0-9a-f]{12,}", "ADDRESS", re.sub(r"_ns\":\d+", '_ns":TIME', line))
        cells = re.split(r" {2,}", line.strip())
        if set(cells) & TIMES:
            # From the right: the left cell of a row that repeats a long name may be missing.
            times = {n - len(cells) for n, cell in enumerate(cells) if cell in TIMES}
        elif not line.strip() or line.endswith(":"):
            times = set()
        else:
            for n in times:
                if len(cells) >= -n:
                    cells[n] = "TIME"
        result.append(cells)
    return result


def matches(shown, printed):
    """Whether the shown lines are in the printed ones, from some line on; "..." stands for any number."""
    def at(s, p):
        if s == len(shown):
            return True
        if shown[s] == ["..."]:
            return any(at(s + 1, q) for q in range(p, len(printed) + 1))
        return p < len(printed) and shown[s] == printed[p] and at(s + 1, p + 1)
    return any(at(0, p) for p in range(len(printed)))


text = open(page).read()
blocks = re.findall(r"((?:^    .*\n(?:\n(?=    ))?)+)", text, flags=re.M)
commands = failures = 0
with tempfile.TemporaryDirectory() as folder:
    for path in (build + "/samples", build + "/tests/programs"):
        for name in os.listdir(path):
            if not os.path.exists(folder + "/" + name):
                os.symlink(path + "/" + name, folder + "/" + name)
    for block in blocks:
        lines = [line[4:] for line in block.splitlines()]
        starts = [n for n, line in enumerate(lines) if line.startswith("$ ")]
        for start, end in zip(starts, starts[1:] + [len(lines)]):
            command, shown = lines[start][2:], lines[start + 1:end]
            while shown and not shown[-1].strip():
                shown.pop()
            done = subprocess.run(["bash", "-o", "pipefail", "-c", re.sub(r"^luthier ", shlex.quote(build + "/bin/luthier") + " ", command)],
                                  cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            if done.returncode == 77:
                sys.exit(77)
            commands += 1
            if not matches(neutral(shown), neutral(done.stdout.splitlines())):
                failures += 1
                print(f"{page} shows for `{command}`\n" + "\n".join(shown) + f"\nbut this came out (status {done.returncode}):\n{done.stdout}")
if not commands:
    sys.exit(f"{page} shows no command")
print(f"{commands} commands, {failures} print something else")
sys.exit(failures > 0)
