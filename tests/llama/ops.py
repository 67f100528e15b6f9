#!/usr/bin/env python3
"""Runs llama.cpp's test-backend-ops on a virtual GPU, operation by operation: each case computes one operation on the GPU and on the CPU and compares.

There are some 16,000 cases, so the work is cut: every operation has a time limit, every result is kept in a file as soon as it is known, and another run goes on
with the cases that have none. The cases of an operation are taken in a random order with a fixed seed, so that an operation whose time is up has still been tried with all kinds of
types and shapes. A case that ends the program counts as failed, with what the program said last; the others go on.
"""

import argparse
import csv
import json
import os
import queue
import random
import re
import subprocess
import sys
import threading
import time

PROGRAM = "/usr/libexec/x86_64-linux-gnu/llama.cpp-tests/test-backend-ops"
COLOURS = re.compile(r"\x1b\[[0-9;]*m")
RESULT = re.compile(r"^\s*(\w+)\((.*)\): (.*)$")
CHUNK = 64  # cases that one process is given: its command line is limited, and starting takes a second or two


def luthier(options):
    return ["luthier", "run", "--gpu", options.gpu, "--"] if options.gpu else []


def list_cases(options):
    """All cases as (operation, parameters, supported), in the program's order, each once with its number of occurrences."""
    command = luthier(options) + [PROGRAM, "support", "-b", options.device, "--output", "csv"]
    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    rows = list(csv.DictReader(run.stdout.splitlines()))
    if run.returncode != 0 or not rows:
        sys.exit(f'{" ".join(command)}: no list of cases (status {run.returncode}):\n{run.stderr}')
    cases = {}
    for row in rows:
        key = (row["op_name"], row["op_params"])
        case = cases.setdefault(key, {"supported": row["supported"] == "1", "times": 0})
        case["times"] += 1
    return cases


class Results:
    """What is known of each case, kept as lines of JSON; the last line of a case counts."""

    def __init__(self, path):
        self.path = path
        self.known = {}
        if os.path.exists(path):
            with open(path, encoding="utf-8") as lines:
                for line in lines:
                    row = json.loads(line)
                    self.known[(row["op"], row["case"])] = row

    def add(self, op, case, result, seconds, text=""):
        row = {"op": op, "case": case, "result": result, "seconds": round(seconds, 3)}
        if text:
            row["text"] = text[-4000:]
        self.known[(op, case)] = row
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        if result != "ok":
            print(f"{result}: {op}({case})\n{text[-1500:]}", flush=True)


def lines_of(process):
    """The program's lines as they come, and None at the end."""
    lines = queue.Queue()

    def read():
        for line in process.stdout:
            lines.put(COLOURS.sub("", line.rstrip("\n")))
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    return lines


def run_chunk(options, results, op, chunk, deadline):
    """Runs these cases (in the program's order) in one process; True if the operation's time is up."""
    names = ",".join(f"{op}({case})" for case in chunk)
    command = luthier(options) + ["stdbuf", "-oL", PROGRAM, "test", "-b", options.device, "-o", names]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    lines = lines_of(process)
    left, said = list(chunk), []
    started = time.monotonic()
    while True:
        now = time.monotonic()
        until = min(deadline, started + options.case_seconds)
        try:
            line = lines.get(timeout=max(until - now, 0.01))
        except queue.Empty:
            process.kill()
            process.wait()
            if time.monotonic() >= deadline:
                return True
            if left:
                results.add(op, left[0], "cut", time.monotonic() - started, f"no result within {options.case_seconds} s")
            return False
        if line is None:
            status = process.wait()
            # The program ends with status 1 if a comparison failed; whatever else ends it before the last case is the case's doing.
            if left:
                results.add(op, left[0], "failed", time.monotonic() - started, "\n".join(said[-25:] + [f"the program ended with status {status}"]))
            return False
        match = RESULT.match(line)
        if not match or match[1] != op or match[2] not in chunk:
            said.append(line)
            continue
        case, outcome = match[2], match[3]
        if outcome.strip() == "OK":
            results.add(op, case, "ok", time.monotonic() - started)
        else:
            results.add(op, case, "failed", time.monotonic() - started, "\n".join(said[-10:] + [line]))
        if case in left:
            left.remove(case)
        said = []
        started = time.monotonic()


def run_operation(options, results, op, cases):
    redo = {"failed", "cut"} if options.again else set()
    pending = [case for case in cases if results.known.get((op, case), {"result": "failed" if options.again else None})["result"] in redo | {None}]
    if not pending:
        return
    order = {case: position for position, case in enumerate(cases)}
    random.Random(options.seed).shuffle(pending)
    deadline = time.monotonic() + options.seconds
    print(f"{op}: {len(pending)} of {len(cases)} cases", flush=True)
    while pending and time.monotonic() < deadline:
        chunk = sorted(pending[:CHUNK], key=order.get)
        before = {case: results.known.get((op, case)) for case in chunk}
        over = run_chunk(options, results, op, chunk, deadline)
        done = {case for case in chunk if results.known.get((op, case)) is not before[case]}
        if over:
            break
        if not done:
            sys.exit(f"{op}: the program said nothing of these cases: {chunk[:3]}")
        pending = [case for case in pending if case not in done]


def report(cases, results, pattern):
    """A row per operation, then the sums, with what failed below."""
    columns = ["cases", "ok", "failed", "cut", "not tried", "not supported", "s"]
    rows, failures = {}, []
    for (op, case), about in cases.items():
        if not re.search(pattern, op):
            continue
        row = rows.setdefault(op, dict.fromkeys(columns, 0))
        known = results.known.get((op, case))
        column = "not supported" if not about["supported"] else known["result"] if known else "not tried"
        row["cases"] += about["times"]
        row[column] += about["times"]
        row["s"] += known["seconds"] if known and about["supported"] else 0
        if column == "failed":
            failures.append(f"{op}({case}): {' '.join(known.get('text', '').splitlines()[-1:])}")
    rows["all"] = {column: sum(row[column] for row in rows.values()) for column in columns}
    print(f"{'operation':<26}" + "".join(f"{column:>15}" for column in columns))
    for op, row in rows.items():
        print(f"{op:<26}" + "".join(f"{round(row[column]):>15}" for column in columns))
    for failure in failures:
        print(failure)
    return rows["all"]["failed"] == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--operations", default="", metavar="REGEX", help="only operations whose name matches")
    parser.add_argument("--results", required=True, metavar="FILE", help="where results are kept")
    parser.add_argument("--seconds", type=float, default=120, help="time limit of an operation in this run (default: %(default)s)")
    parser.add_argument("--case-seconds", type=float, default=300, help="time limit of a case (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the order of cases (default: %(default)s)")
    parser.add_argument("--gpu", default="gfx90a", help="the virtual GPU; "" for a real one (default: %(default)s)")
    parser.add_argument("--device", default="ROCm0", help="ggml's name of the device (default: %(default)s)")
    parser.add_argument("--again", action="store_true", help="cases that failed or were cut off are run again")
    parser.add_argument("--report", action="store_true", help="runs nothing")
    options = parser.parse_args()
    cases = list_cases(options)
    os.makedirs(os.path.dirname(os.path.abspath(options.results)), exist_ok=True)
    results = Results(options.results)
    if not options.report:
        operations = {}
        for (op, case), about in cases.items():
            if about["supported"] and re.search(options.operations, op):
                operations.setdefault(op, []).append(case)
        for op, its in sorted(operations.items(), key=lambda item: len(item[1])):
            run_operation(options, results, op, its)
    return 0 if report(cases, results, options.operations) else 1


if __name__ == "__main__":
    sys.exit(main())
