#!/usr/bin/env python3
"""Runs llama.cpp's test-backend-ops on a virtual GPU, operation by operation: each case computes one operation on the GPU and on the CPU and compares.

There are some 16,000 cases, so the work is cut: every operation has a limit of processor time, every result is kept in a file as soon as it is known, and another run goes on
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
CHUNK = 128  # cases that one process is given: its command line is limited, and starting takes a second or two
IDLE = 900  # seconds without a result after which a program that does not use up its time either is taken to hang


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


def processor_seconds(process):
    """What the process has used so far. Limits are in these: they mean the same on a busy machine."""
    try:
        with open(f"/proc/{process.pid}/stat", encoding="utf-8") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError):
        return 0.0


def run_chunk(options, results, op, chunk, budget):
    """Runs these cases (in the program's order) in one process, as long as the budget lasts; returns what is left of it."""
    names = ",".join(f"{op}({case})" for case in chunk)
    command = luthier(options) + ["stdbuf", "-oL", PROGRAM, "test", "-b", options.device, "-o", names]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    lines = lines_of(process)
    left, said = list(chunk), []
    used, since = 0.0, time.monotonic()  # when the last result came
    while True:
        try:
            line = lines.get(timeout=1)
        except queue.Empty:
            now = processor_seconds(process)
            idle = time.monotonic() - since > IDLE
            if now < budget and now - used < options.case_seconds and not idle:
                continue
            process.kill()
            process.wait()
            if left and now < budget:
                results.add(op, left[0], "cut", now - used, f"no result within {now - used:.0f} s of processor time")
            return budget - now
        now = max(processor_seconds(process), used)
        if line is None:
            status = process.wait()
            # Whatever ends the program before its last case is the case's doing.
            if left:
                results.add(op, left[0], "failed", now - used, "\n".join(said[-25:] + [f"the program ended with status {status}"]))
            return budget - now
        match = RESULT.match(line)
        if not match or match[1] != op or match[2] not in chunk:
            said.append(line)
            continue
        case, outcome = match[2], match[3]
        if outcome.strip() == "OK":
            results.add(op, case, "ok", now - used)
        else:
            results.add(op, case, "failed", now - used, "\n".join(said[-10:] + [line]))
        if case in left:
            left.remove(case)
        said, used, since = [], now, time.monotonic()


def run_operation(options, results, op, cases):
    redo = {"failed", "cut"} if options.again else set()
    pending = [case for case in cases if results.known.get((op, case), {"result": "failed" if options.again else None})["result"] in redo | {None}]
    if not pending:
        return
    order = {case: position for position, case in enumerate(cases)}
    random.Random(options.seed).shuffle(pending)
    budget = options.seconds
    print(f"{op}: {len(pending)} of {len(cases)} cases", flush=True)
    while pending and budget > 0:
        chunk = sorted(pending[:CHUNK], key=order.get)
        before = {case: results.known.get((op, case)) for case in chunk}
        budget = run_chunk(options, results, op, chunk, budget)
        done = {case for case in chunk if results.known.get((op, case)) is not before[case]}
        if not done and budget > 0:
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
    parser.add_argument("--seconds", type=float, default=120, help="of processor time that an operation is given in this run (default: %(default)s)")
    parser.add_argument("--case-seconds", type=float, default=300, help="of processor time that a case is given (default: %(default)s)")
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
