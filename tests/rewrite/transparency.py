#!/usr/bin/env python3
"""Usage: transparency.py [OPTION ...] -- APP [ARG ...]

Runs APP on the virtual GPU as it is, and once more with all its kernels replaced by rewritten ones (swap_tool.cc). Both
must end in the same way and print the same; every kernel must have been rewritten and every hook been placed.

  --luthier FILE --swap FILE --hooks FILE   the program, libswap.so, the harness's bitcode
  --mode end|copy|identity|empty|count|hostile|stateful|frame|everything|sampled    --form lane|wave    --position before|after
  --every N --phase N   a hook at every N-th place only
  --hook-form auto|inline|shared  whether hooks are copied or called (inline); shared: most of them must be called
  --machine normal|waits|strict   of the swapped run: waits checks waits (luthier run --strict-waits), strict also has only the hardware's
                        registers and caches (--strict-resources --strict-l1); rewritten code must find no stale VCCZ there (stale dwords are the
                        guest's own affair: a loop around a compare-and-swap may begin with one)
  --gpu NAMES           virtual GPUs (gfx90a)
  --timeout SECONDS     of the swapped run
  --exact               in mode count, before every instruction: the sum must be what the virtual GPU itself counted
  --differs             the swapped run must not end well: a control
  --report FILE         keep the tool's account there
Last line of output: a summary. Exit code 77: APP asks to be skipped.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from programs import MACHINES

parser = argparse.ArgumentParser(add_help=False, usage=__doc__)
for name in ("luthier", "swap", "hooks", "report"):
    parser.add_argument("--" + name, default="")
parser.add_argument("--mode", default="identity")
parser.add_argument("--form", default="lane")
parser.add_argument("--position", default="before")
parser.add_argument("--every", default="1")
parser.add_argument("--phase", default="0")
parser.add_argument("--hook-form", default="inline", choices=("auto", "inline", "shared"))
parser.add_argument("--gpu", default="gfx90a")
parser.add_argument("--timeout", type=float, default=3600)
parser.add_argument("--machine", default="normal", choices=MACHINES)
parser.add_argument("--exact", action="store_true")
parser.add_argument("--differs", action="store_true")
parser.add_argument("app", nargs="+")
options = parser.parse_args()


def run(environment, flags=(), timeout=None):
    command = [options.luthier, "run", "--gpu", options.gpu, *flags, "--", *options.app]
    begin = time.time()
    try:
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, timeout=timeout)
    except subprocess.TimeoutExpired:
        sys.exit(f"FAIL: not done after {timeout} s")
    # Times are the only numbers that may differ.
    return done.returncode, re.sub(r"[0-9.]+ ms", "T ms", done.stdout), done.stderr, time.time() - begin


statistics = tempfile.mktemp(suffix=".json")
native = run({}, ["--stats", statistics] if options.exact else [])
if native[0] == 77:
    print(native[1])
    sys.exit(77)
report = options.report or tempfile.mktemp(suffix=".json")
swapped = run({
    "HSA_TOOLS_LIB": options.swap,
    "LUTHIER_SWAP_MODE": options.mode, "LUTHIER_SWAP_KIND": options.form, "LUTHIER_SWAP_POSITION": options.position,
    "LUTHIER_SWAP_EVERY": options.every, "LUTHIER_SWAP_PHASE": options.phase, "LUTHIER_SWAP_HOOKS": options.hooks,
    "LUTHIER_SWAP_REPORT": report, "LUTHIER_HOOK_FORM": options.hook_form,
}, MACHINES[options.machine], options.timeout)
print(swapped[1] + swapped[2])
try:
    with open(report) as file:
        account = json.load(file)
        objects = account["objects"]
except OSError as error:
    sys.exit(f"FAIL: the tool was not loaded ({error})")
if not options.report:
    os.remove(report)

kernels = [kernel for one in objects for kernel in one.get("kernels", [])]
problems = [f"{one['object']}: {one['error']}" for one in objects if "error" in one]
problems += [f"{kernel['name']}: {kernel['error']}" for kernel in kernels if "error" in kernel]
problems += [f"{kernel['name']}: {count} places refused: {why}" for kernel in kernels
             for why, count in kernel.get("rejected", {}).items()]
if not kernels:
    problems.append("no kernel was rewritten")
if options.differs:
    if native[:2] == swapped[:2]:
        problems.append("nothing changed")
elif native[:2] != swapped[:2]:
    problems.append(f"natively it ended with {native[0]} and printed\n{native[1]}{native[2]}\n"
                    f"rewritten it ended with {swapped[0]}")
if options.machine == "strict" and not options.differs:
    summary = re.search(r"strict resources, seed 7: (\d+) waves.*VCCZ at (\d+) branches", swapped[2])
    if not summary or int(summary[1]) == 0:
        problems.append("nothing ran on the strict machine")
    elif int(summary[2]):
        problems.append(f"rewritten code goes by a stale VCCZ: {summary[0]}")
if options.exact:
    with open(statistics) as file:
        # ROCr's own kernels are not loaded by the application.
        expected = sum(dispatch["lane_instructions"] for dispatch in json.load(file)["dispatches"]
                       if not dispatch["kernel"].startswith("rocr_blit"))
    os.remove(statistics)
    print(f"{account.get('counted')} instructions of active lanes counted by hooks, {expected} by the virtual GPU")
    if account.get("counted") != expected or not expected:
        problems.append("the counts differ")
total = lambda key: sum(kernel.get(key, 0) for kernel in kernels)
called = f" ({total('calls')} called)" if total("calls") else ""
if options.hook_form == "shared" and total("calls") * 2 < total("placed"):
    problems.append(f"{total('calls')} of {total('placed')} hooks are called")
print(f"{options.mode} {options.form} {options.position} every {options.every}{'' if options.machine == 'normal' else ' ' + options.machine}: "
      f"{len(kernels)} kernels, {total('placed')} of {total('asked')} hooks placed{called}, {total('saved')} registers saved, "
      f"{total('instructions')} + {total('inserted')} instructions, rewritten in "
      f"{sum(one.get('seconds', 0) for one in objects):.2f} s, {native[3]:.1f} s natively, {swapped[3]:.1f} s rewritten")
if problems:
    sys.exit("FAIL: " + "\n".join(problems[:20]) + ("" if len(problems) <= 20 else f"\nand {len(problems) - 20} more"))
