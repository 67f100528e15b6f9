#!/usr/bin/env python3
"""Usage: kernel_twins.py LUTHIER CHECK PROGRAM SOURCE GPU

Runs both twins of all cases of PROGRAM (whose source is SOURCE) under `luthier check CHECK`. Each case is a kernel. The
safe ones must be silent; of each faulty one there must be a single finding, of the right class, at the right instruction and
lanes, with what led to it. Both programs must get to their end.
"""
import json
import re
import subprocess
import sys
import tempfile

luthier, check, program, source, gpu = sys.argv[1:]
ALL = list(range(64))
LOAD = r"global_load_|flat_load_|s_load_|s_buffer_load_"

# Class, instruction, work-items, what the message says, and the instruction that it goes back to (or None).
INIT = {
    "global_never": ("branch", "", ALL, "exec decides a branch, and comes from byte 0 of 256 bytes of device memory", LOAD),
    "global_part": ("address", r"(global|flat)_load_", ALL[10:], "is an address, and comes from byte 40 of 256 bytes", LOAD),
    "uniform_branch": ("branch", "s_cbranch_", [], "decides a branch, and comes from byte 0 of 4 bytes", "s_load_"),
    "loop_count": ("branch", "s_cbranch_", [], "decides a branch, and comes from byte 0 of 4 bytes", "s_load_"),
    "lds_never": ("branch", "", [0, 1, 2, 3], "comes from LDS at offset 0xfc", "ds_(read|load)_"),
    "scratch_part": ("branch", "", [7, 9], "comes from private memory at offset 0x40", r"(buffer|scratch|flat)_load_"),
    "register_never": ("branch", "", ALL[5:], "comes from register v", None),
    "counter": ("atomic", "global_atomic_add", ALL, "an atomic operation changes byte 0 of 16 bytes of device memory", None),
    "atomic_operand": ("atomic", "global_atomic_add", None, "is the operand of an atomic operation, and comes from byte 240", LOAD),
    "copied": ("branch", "", ALL[20:], "comes from byte 80 of 256 bytes of device memory", LOAD),
    "padding": ("branch", "", ALL, "comes from byte 5 of 512 bytes of device memory", LOAD),
    "masked_tail": ("branch", "", [50, 51], "comes from byte 200 of 256 bytes", LOAD),
    "speculative": ("branch", "", [40], "comes from byte 160 of 256 bytes", LOAD),
}
MOVE = r"v_mov_b32_e32 v\d+, [vs]40"
WAIT = {
    "vector_load": (MOVE, ALL, "v40 is read", "global_load_dword v40", "s_waitcnt vmcnt(0)"),
    "scalar_load": (MOVE, [], "s40 is read", "s_load_dword s40", "s_waitcnt lgkmcnt(0)"),
    "lds_load": (MOVE, ALL, "v40 is read", "ds_read_b32 v40", "s_waitcnt lgkmcnt(0)"),
    "flat_global": (MOVE, ALL, "v40 is read", "flat_load_dword v40", "s_waitcnt vmcnt(0)"),
    "flat_lds": (MOVE, ALL, "v40 is read", "flat_load_dword v40", "s_waitcnt lgkmcnt(0)"),
    "partial": (MOVE, ALL, "v40 is read", "global_load_dword v40", "s_waitcnt vmcnt(1)"),
    "load_then_alu": ("v_mov_b32_e32 v40, 7", ALL, "v40 is overwritten", "global_load_dword v40", "s_waitcnt vmcnt(0)"),
    "lds_then_load": ("global_load_dword v40", ALL, "v40 is overwritten", "ds_read_b32 v40", "s_waitcnt lgkmcnt(0)"),
}


def run(twin):
    with tempfile.TemporaryDirectory() as folder:
        out = folder + "/findings.json"
        command = [luthier, "check", check, "--gpu", gpu, "--json", out, "--", program, twin]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
        print(ended.stdout, ended.stderr, sep="")
        return ended, json.load(open(out))


def expect(good, what):
    if not good:
        sys.exit(f"{check} on {gpu}: {what}")


def case_of(finding):
    return re.search(r"(\w+)(<\w+>)?\(", finding["kernel"]).group(1)


def instruction_of(finding):
    return next(line["text"] for line in finding["code"] if line["offset"] == finding["offset"])


def expect_items(case, finding, items):
    first = finding["wave"] * finding["wave_size"]
    found = [first + lane["lane"] for lane in finding["lanes"]]
    if items is not None:
        expected = [item for item in items if first <= item < first + finding["wave_size"]]
        expect(found == expected and bool(found) == bool(items), f"{case}: the work-items are {found}")


def expect_init(case, finding):
    rule, instruction, items, message, load = INIT[case]
    expect(finding["rule"] == "uninitialised-" + rule, f"{case}: the class is {finding['rule']}")
    expect(re.match(instruction, instruction_of(finding)), f"{case}: the instruction is {instruction_of(finding)}")
    expect(message in finding["message"] and "which nobody has written" in finding["message"], f"{case}: the message is: {finding['message']}")
    expect_items(case, finding, items)
    notes = {note["name"]: note["value"] for note in finding["details"]}
    expect(("read by" in notes) == (load is not None), f"{case}: notes are {notes}")
    if load:
        expect(re.search(r"0x\w+  (" + load + ")", notes["read by"]), f"{case}: read by {notes['read by']}")
    if "of device memory" in message:
        expect([frame["function"].split("(")[0] for frame in finding["memory"]["allocated_at"]][0] == "hipMalloc", f"{case}: {finding['memory']}")
    lines = [number for number, line in enumerate(open(source), 1) if "BAD: " + case in line]
    frames = [frame["line"] for frame in finding["source"] if frame["file"] == source]
    expect(set(frames) & set(lines), f"{case}: the source is {finding['source']}, expected line {lines}")


def expect_wait(case, finding):
    instruction, items, message, in_flight, wait = WAIT[case]
    expect(finding["rule"] == "missing-wait", f"{case}: the class is {finding['rule']}")
    expect(re.match(instruction, instruction_of(finding)), f"{case}: the instruction is {instruction_of(finding)}")
    expect(message in finding["message"], f"{case}: the message is: {finding['message']}")
    expect_items(case, finding, items)
    notes = {note["name"]: note["value"] for note in finding["details"]}
    expect(in_flight in notes["in flight"], f"{case}: in flight is {notes['in flight']}")
    expect(notes["enough"].startswith(wait), f"{case}: enough is {notes['enough']}")
    expect(finding["count"] == 2 * 64 // finding["wave_size"], f"{case}: seen {finding['count']} times")


ended, report = run("safe")
expect(ended.returncode == 0 and "PASS" in ended.stdout, f"the safe twins ended with {ended.returncode}")
expect(not report["findings"] and report["launches"] > 0 and not report["not_checked"], "the safe twins have findings")
ended, report = run("faulty")
expect(ended.returncode == 1 and report["application_status"] == 0, f"the faulty twins ended with {ended.returncode}")
expected, judge = (INIT, expect_init) if check == "init" else (WAIT, expect_wait)
cases = [case_of(finding) for finding in report["findings"]]
expect(sorted(cases) == sorted(expected), f"findings in {sorted(cases)}, expected in {sorted(expected)}")
for finding in report["findings"]:
    judge(case_of(finding), finding)
print(f"{len(cases)} cases, all found")
