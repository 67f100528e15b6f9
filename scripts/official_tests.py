#!/usr/bin/env python3
"""The GoogleTest programs of Debian packages on a virtual GPU, each for a limited time; what they have given is kept and
added to by later calls, with other programs, cases or limits. Called by scripts/official_tests.sh."""
import argparse
import collections
import concurrent.futures
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("folder", help="where results are kept")
parser.add_argument("packages", nargs="+")
parser.add_argument("--sdma", choices=("0", "1"), default="1", help="copies by SDMA engines or by kernels (default: 1)")
parser.add_argument("--gpu", default="gfx90a")
parser.add_argument("--limit", type=float, default=120, help="seconds of processor time for a program (default: 120)")
parser.add_argument("--case-limit", type=float, help="the same for a case (default: half of the program's)")
parser.add_argument("--patience", type=float, default=20, help="how many times as long it may take (default: 20)")
parser.add_argument("--programs", default="", help="regular expression: those whose names match")
parser.add_argument("--jobs", type=int, default=1, help="programs at a time (default: 1)")
parser.add_argument("--cut", action="store_true", help="try cases again that a limit has cut off")
parser.add_argument("--failed", action="store_true", help="try cases again that have failed")
parser.add_argument("--summary", action="store_true", help="run nothing")
options = parser.parse_args()
case_limit = options.case_limit or options.limit / 2

ENDED = re.compile(r"\[ +(OK|FAILED|SKIPPED) +\] ([^\s,]+).*\((\d+) ms\)")
STATUS = {"OK": "passed", "FAILED": "failed", "SKIPPED": "skipped"}


def programs(package):
    """The executables of a package. Other files beside them are their data."""
    files = subprocess.run(["dpkg", "-L", package], stdout=subprocess.PIPE, text=True, check=True).stdout.split("\n")
    return [path for path in files if "/libexec/" in path and os.path.isfile(path) and os.access(path, os.X_OK) and re.search(options.programs, os.path.basename(path))]


def luthier(program, *arguments):
    return ["luthier", "run", "--gpu", options.gpu, "--", program, *arguments]


def environment():
    return {**os.environ, "HSA_ENABLE_SDMA": options.sdma}


def list_cases(program):
    # It takes no GPU.
    done = subprocess.run([program, "--gtest_list_tests"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    cases, suite = [], None
    for line in done.stdout.splitlines():
        name = line.split("#")[0].rstrip()
        if re.fullmatch(r"\S+\.", name):
            suite = name
        elif suite and re.fullmatch(r"  \S+", name):
            cases.append(suite + name.strip())
    return cases


def processor_time(group):
    """Seconds that the living processes of a process group have used."""
    ticks = 0
    for entry in os.listdir("/proc"):
        try:
            with open(f"/proc/{entry}/stat") as file:
                fields = file.read().rsplit(")", 1)[1].split()
        except (OSError, IndexError):
            continue
        if fields[2] == str(group):
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def run_cases(program, cases, log, record, budget):
    """Runs cases in one process until they have ended or a limit is reached. Calls record(case, status, seconds, text).
    Returns which have been run, the exit status, whether a limit ended it, and the processor time."""
    process = subprocess.Popen(luthier(program, "--gtest_color=no", "--gtest_filter=" + ":".join(cases)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                               env=environment(), start_new_session=True, cwd="/tmp")
    current, started, used, cut = [None], [0.0], [0.0], threading.Event()
    begin = time.time()

    def watch():
        while process.poll() is None:
            used[0] = processor_time(process.pid)
            if used[0] > budget or time.time() > begin + options.patience * budget or (current[0] and used[0] > started[0] + case_limit):
                cut.set()
                os.killpg(process.pid, signal.SIGKILL)
                return
            time.sleep(0.5)

    watcher = threading.Thread(target=watch)
    watcher.start()
    text, ran = [], set()
    for line in process.stdout:
        log.write(line)
        text.append(line)
        begun = re.match(r"\[ RUN +\] (\S+)", line)
        ended = ENDED.search(line)
        if begun:
            current[0], started[0], text = begun[1], used[0], []
        elif ended and ended[2] in cases:
            record(ended[2], STATUS[ended[1]], int(ended[3]) / 1000, "".join(text[-20:]) if ended[1] == "FAILED" else "")
            ran.add(ended[2])
            current[0] = None
    status = process.wait()
    watcher.join()
    if current[0] and cut.is_set():
        record(current[0], "cut", used[0] - started[0], "")
        ran.add(current[0])
    elif current[0]:
        record(current[0], "failed", used[0] - started[0], f"the program ended with status {status}:\n" + "".join(text[-20:]))
        ran.add(current[0])
    return ran, status, cut.is_set(), used[0]


def state_file(package, program):
    folder = f"{options.folder}/{package}.sdma{options.sdma}"
    os.makedirs(folder, exist_ok=True)
    return f"{folder}/{os.path.basename(program)}"


def load(path):
    try:
        with open(path + ".json") as file:
            return json.load(file)
    except FileNotFoundError:
        return {"cases": None, "results": {}, "notes": []}


def run_program(package, program):
    path = state_file(package, program)
    state = load(path)
    results = state["results"]

    def save():
        with open(path + ".json.new", "w") as file:
            json.dump(state, file, indent=1)
        os.rename(path + ".json.new", path + ".json")

    if state["cases"] is None:
        state["cases"] = list_cases(program)
        save()
    if not state["cases"]:
        state["notes"] = ["no cases: not a GoogleTest program, or it does not start"]
        save()
        return

    def record(case, status, seconds, text):
        results[case] = {"status": status, "seconds": round(seconds, 2), **({"text": text} if text else {})}
        save()

    again = {"cut"} if options.cut else set()
    again |= {"failed"} if options.failed else set()
    todo = [case for case in state["cases"] if case not in results]
    todo += [case for case in state["cases"] if case in results and results[case]["status"] in again]
    budget = options.limit
    with open(path + ".log", "a") as log:
        while todo and budget > 0:
            ran, status, cut, used = run_cases(program, todo, log, record, budget)
            budget -= used
            todo = [case for case in todo if case not in ran]
            if not ran:
                if not cut:
                    state["notes"].append(f"ended with status {status} without a case")
                    save()
                break


def summary(package, found):
    total, failed = collections.Counter(), []
    for program in found:
        state = load(state_file(package, program))
        counts = collections.Counter(result["status"] for result in state["results"].values())
        counts["cases"] = len(state["cases"] or [])
        counts["not reached"] = counts["cases"] - len(state["results"])
        counts["programs"] = 1
        counts["complete programs"] = int(counts["cases"] > 0 and counts["passed"] + counts["skipped"] == counts["cases"])
        total += counts
        failed += [f"{os.path.basename(program)} {case}" for case, result in state["results"].items() if result["status"] == "failed"]
        print(f"{os.path.basename(program):48}" + "".join(f" {counts[kind]:5} {kind}" for kind in ("cases", "passed", "failed", "skipped", "cut", "not reached")) + " ".join(["", *state["notes"]]))
    print(f"{package}, HSA_ENABLE_SDMA={options.sdma}: " + ", ".join(f"{total[kind]} {kind}" for kind in ("programs", "complete programs", "cases", "passed", "failed", "skipped", "cut", "not reached")))
    for line in failed:
        print("failed:", line)
    return len(failed)


failures = 0
for package in options.packages:
    found = programs(package)
    if not options.summary:
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for future in [pool.submit(run_program, package, program) for program in found]:
                future.result()
    failures += summary(package, found)
sys.exit(1 if failures else 0)
