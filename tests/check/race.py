#!/usr/bin/env python3
"""Usage: race.py LUTHIER PROGRAM SOURCE GPU

Runs the twins of race_twins.hip, which is SOURCE, under `luthier check race,barrier`: the safe ones must be silent; what
is found in each faulty one must be of the right class, at the right two lines and instructions, and say which order is
missing. Both programs must get to their end.
"""
import json
import re
import subprocess
import sys
import tempfile

luthier, program, source, gpu = sys.argv[1:]

# Class, instructions (the two of a race, in either order), and the order that is missing.
STORE, LOAD = r"(global|flat)_store_", r"(global|flat)_load_"
READ, WRITE = r"ds_(read|load)_", r"ds_(write|store)_"
BARRIER = "a barrier between the two"
EXPECTED = {
    "lds_write_read": ("lds-race", (WRITE, READ), BARRIER),
    "lds_read_write": ("lds-race", (WRITE, READ), BARRIER),
    "lds_write_write": ("lds-race", (WRITE, WRITE), BARRIER),
    "lds_same_wave": ("lds-race", (WRITE, READ), BARRIER),
    "lds_barrier_wait": ("lds-race", (WRITE, READ), "a wait before the barrier"),
    "lds_read2": ("lds-race", (WRITE, r"ds_(read|load)_?2"), BARRIER),
    "lds_atomic": ("lds-race", (r"ds_add", READ), BARRIER),
    "lds_double_buffer": ("lds-race", (WRITE, READ), BARRIER),
    "lds_flag": ("lds-race", (WRITE, READ), BARRIER),
    "lds_lock": ("lds-race", (WRITE, READ), BARRIER),
    "global_workgroups": ("global-race", (STORE, LOAD), "synchronisation of the two workgroups"),
    "global_release": ("global-race", (STORE, LOAD), "a wait before the release"),
    "global_acquire": ("global-race", (STORE, LOAD), "an acquire"),
    "global_scope": ("global-race", (STORE, LOAD), "the scope of the agent"),
    "global_chain": ("global-race", (STORE, LOAD), "synchronisation of the two workgroups"),
    "global_last": ("global-race", (STORE, LOAD), "a wait before the release"),
    "global_lock": ("global-race", (STORE, LOAD), "synchronisation of the two workgroups"),
    "global_same_group": ("global-race", (STORE, LOAD), BARRIER),
    "global_atomic": ("global-race", ("global_atomic_add", LOAD), ""),
    "global_bytes": ("global-race", (STORE, STORE), BARRIER),
    "global_streams": ("global-race", (STORE, LOAD), "an order of the two kernels"),
    "barrier_waves": ("barrier-skipped", ("s_barrier", ""), ""),
    "barrier_lanes": ("barrier-divergence", ("s_barrier", ""), ""),
    "barrier_different": ("barrier-mixed", ("s_barrier", "s_barrier"), ""),
    "barrier_return": ("barrier-divergence", ("s_barrier", ""), ""),
}
# A race whose two sides are one read and write: the write also races with itself, and the read with nothing.
ALSO = {"lds_lock": [(WRITE, WRITE)], "global_lock": [(STORE, STORE)]}


def run(twin):
    with tempfile.TemporaryDirectory() as folder:
        out = folder + "/findings.json"
        command = [luthier, "check", "race,barrier", "--gpu", gpu, "--json", out, "--", program, twin]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
        return ended, json.load(open(out))


# Where the generation makes the faulty one safe: on gfx10, whose compute units come in pairs, loads in the scope of a
# workgroup pass the cache of one.
ONLY = {"global_scope": "gfx90a"}
failures = []


def expect(good, what):
    if not good:
        failures.append(what)


def instruction(place):
    found = [line["text"] for line in place["code"] if line["offset"] == place["offset"]]
    return found[0] if len(found) == 1 else ""


def agent(side):
    return side["kernel"], side["workgroup"], side["wave"]


def line(place):
    frames = [frame for frame in place["source"] if frame["file"].endswith(source.split("/")[-1])]
    return frames[0]["line"] if frames else 0


def matches(finding, pair):
    sides = [instruction(finding), instruction(finding["other"])] if "other" in finding else [instruction(finding), ""]
    return any(re.match(a, sides[0]) and re.match(b, sides[1]) for a, b in (pair, pair[::-1]))


marked = {}
for number, text in enumerate(open(source), 1):
    for case in text.split("BAD:")[1].split() if "BAD:" in text else []:
        marked.setdefault(case, set()).add(number)

caseOf = {number: case for case, numbers in marked.items() for number in numbers}
expect(set(marked) == set(EXPECTED), f"cases: {set(marked) ^ set(EXPECTED)}")
ended, report = run("safe")
text = ended.stdout + ended.stderr
expect(ended.returncode == 0 and "PASS" in ended.stdout and not report["findings"], "the safe twins")
expect(report["checks"] == ["race", "barrier"] and report["kernels"] >= len(EXPECTED) and not report["not_checked"], "what was checked")
ended, report = run("faulty")
text += ended.stdout + ended.stderr
expect(ended.returncode == 1 and "PASS" in ended.stdout, f"the faulty twins ended with {ended.returncode}")
found = {case: [] for case in EXPECTED}
for finding in report["findings"]:
    case = caseOf.get(line(finding))
    expect(case, f"a finding at line {line(finding)}: {finding['message']}")
    found.get(case, []).append(finding)
for case, (rule, pair, missing) in EXPECTED.items():
    if ONLY.get(case, gpu) != gpu:
        expect(not found[case], f"{case}: found on {gpu}")
        continue
    expect(any(matches(finding, pair) for finding in found[case]), f"{case}: not found")
    lines = set()
    for finding in found[case]:
        both = finding["rule"].endswith("race") or finding["rule"] == "barrier-mixed"
        expect(finding["rule"] == rule, f"{case}: the class is {finding['rule']}")
        expect(any(matches(finding, each) for each in [pair, *ALSO.get(case, [])]), f"{case}: the instructions")
        expect(missing in finding.get("missing", ""), f"{case}: the order that is missing is {finding.get('missing')}")
        lines |= {line(finding)} | ({line(finding["other"])} if both else set())
        if finding["rule"].endswith("race"):
            expect(finding["lanes"] and (finding["other"]["lanes"] or finding["rule"] == "global-race"), f"{case}: the lanes")
            expect(agent(finding) != agent(finding["other"]), f"{case}: the waves")
    expect(lines == marked[case], f"{case}: the lines are {lines}, expected {marked[case]}")
if failures:
    print(text)
    sys.exit("\n".join(failures))
print(f"{len(EXPECTED)} cases")
