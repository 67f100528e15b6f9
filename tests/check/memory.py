#!/usr/bin/env python3
"""Usage: memory.py LUTHIER PROGRAM SOURCE GPU CASE

Runs both twins of CASE (twins.hip, which is SOURCE) under `luthier check memory`, in both of its forms: by the virtual GPU
itself, and by hooks (--instrument). The safe one must be silent, and of the faulty one there must be a single finding, of the
right class, at the right line, instruction and lanes, with the right allocation; the same one in both forms. The virtual GPU
lets both get to their end. With hooks, an access that the hardware refuses ends the process, after the report.
"""
import json
import re
import signal
import subprocess
import sys
import tempfile

luthier, program, source, gpu, case = sys.argv[1:]

# Class, instruction, work-items of the workgroup, and what the message says.
STORE = r"(global|flat)_store_(dword|b32)"
EXPECTED = {
    "one_past_end": ("out-of-bounds", STORE, [100], "write of 4 bytes, 0 bytes behind the end of 400 bytes of device memory"),
    "two_launches": ("out-of-bounds", STORE, [100], "0 bytes behind the end of 400 bytes of device memory"),
    "many_waves": ("out-of-bounds", STORE, [100], "0 bytes behind the end of 400 bytes of device memory"),
    "straddling": ("out-of-bounds", r"(global|flat)_store_(dwordx4|b128)", [10], "write of 16 bytes, of which 8 are behind the end of 168 bytes of device memory"),
    "before_start": ("out-of-bounds", r"global_load_(dword|b32)", [0], "read of 4 bytes, 4 bytes before 400 bytes of device memory"),
    "between": ("out-of-bounds", r"(global|flat)_store_(byte|b8)", [5], "write of 1 byte, 8 bytes behind the end of 3000 bytes of device memory"),
    "far_behind": ("out-of-bounds", r"(global|flat)_store_(byte|b8)", [5], "write of 1 byte, 524288 bytes behind the end of 8388608 bytes of device memory"),
    "after_free": ("use-after-free", r"global_load_(dword|b32)", list(range(64)), "read of 4 bytes, 0 bytes into 400 bytes of device memory that were freed"),
    "null_offset": ("null-pointer", r"global_load_(dword|b32)", list(range(64)), "read of 4 bytes at a null pointer plus 256"),
    "misaligned_atomic": ("misaligned", r"global_atomic_add", [7, 39], "which is not a multiple of 4"),
    "misaligned_lds": ("misaligned", r"ds_add_", [9], "which is not a multiple of 4"),
    "scalar": ("out-of-bounds", r"s_load_(dword|b32)", [], "scalar read of 4 bytes, 12 bytes behind the end of 400 bytes of device memory"),
    "misaligned_scalar": ("misaligned", r"s_load_(dword|b32)", [], "the hardware ignores the two low bits"),
    "lds_read": ("lds-out-of-bounds", r"ds_(read|load)_b32", [63], "read of 4 bytes at LDS offset 0x100, 0 bytes behind the end of the workgroup's 256 bytes"),
    "lds_write": ("lds-out-of-bounds", r"ds_(write|store)_b32", [63], "write of 4 bytes at LDS offset 0x100, 0 bytes behind the end of the workgroup's 256 bytes"),
    "scratch": ("scratch-out-of-bounds", r"(buffer|scratch|flat)_store_(dword|b32)", [33], "bytes of scratch: a stack overflow"),
    "pinned": ("out-of-bounds", STORE, [100], "0 bytes behind the end of 400 bytes of pinned host memory"),
    "flat_global": ("out-of-bounds", r"flat_store_(dword|b32)", [63], "write of 4 bytes, 0 bytes behind the end of 256 bytes of device memory"),
    "flat_lds": ("lds-out-of-bounds", r"flat_store_(dword|b32)", [63], "write of 4 bytes at LDS offset 0x100, 0 bytes behind the end of the workgroup's 256 bytes"),
    "flat_scratch": ("scratch-out-of-bounds", r"flat_store_(dword|b32)", [33], "bytes behind the end of the work-item's"),
    "managed": ("out-of-bounds", STORE, [100], "0 bytes behind the end of 400 bytes of managed memory"),
    "registered": ("out-of-bounds", STORE, [100], "0 bytes behind the end of 400 bytes of registered host memory"),
    "kernel_arguments": ("kernel-arguments", r"s_load_(dword|b32)", [], "bytes of arguments"),
}
# The function of HIP that made the allocation.
MADE_BY = {"pinned": "hipHostMalloc", "managed": "hipMallocManaged", "registered": "hipHostRegister"}

# How often it is seen, where that is not up to the case.
COUNTS = {"two_launches": 6, "many_waves": 200}
# With hooks, these accesses happen: at an address that is not mapped, or an atomic operation that is not aligned.
ENDS_PROCESS = ["before_start", "far_behind", "null_offset", "misaligned_atomic", "misaligned_lds"]


def run(twin, options):
    with tempfile.TemporaryDirectory() as folder:
        out = folder + "/findings.json"
        command = [luthier, "check", "memory", *options, "--gpu", gpu, "--json", out, "--", program, case, twin]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
        print(ended.stdout, ended.stderr, sep="")
        return ended, json.load(open(out))


def check(options):
    """Returns the finding of the faulty twin."""
    def expect(good, what):
        if not good:
            sys.exit(f"{case} on {gpu} {' '.join(options)}: {what}")

    ended, report = run("safe", options)
    expect(ended.returncode == 0, f"the safe twin ended with {ended.returncode}")
    expect(not report["findings"], "the safe twin has findings")
    expect("PASS" in ended.stdout, "the safe twin did not get to its end")
    expect(report["launches"] > 0 and not report["not_checked"], f"not all was checked: {report['not_checked']}")

    ended, report = run("faulty", options)
    expect(ended.returncode == 1, f"the faulty twin ended with {ended.returncode}")
    if options and case in ENDS_PROCESS:
        expect(report["application_status"] == 128 + signal.SIGABRT, f"the faulty twin ended with {report['application_status']}")
    else:
        expect(report["application_status"] == 0 and "PASS" in ended.stdout, "the faulty twin did not get to its end")
    expect(len(report["findings"]) == 1, f"{len(report['findings'])} findings instead of one")
    finding = report["findings"][0]
    rule, instruction, items, message = EXPECTED[case]
    expect(finding["rule"] == rule, f"the class is {finding['rule']}")
    expect(message in finding["message"], f"the message is: {finding['message']}")
    at = [line["text"] for line in finding["code"] if line["offset"] == finding["offset"]]
    expect(len(at) == 1 and re.match(instruction, at[0]), f"the instruction is {at}")
    first = finding["wave"] * finding["wave_size"]
    found = [first + lane["lane"] for lane in finding["lanes"]]
    items = [item for item in items if first <= item < first + finding["wave_size"]]
    # Where the compiler adds up the lanes of one address, only the first of them does the atomic operation.
    if case == "misaligned_atomic" and any("s_bcnt1" in line["text"] for line in finding["code"]):
        items = items[:1]
    expect(found == items and bool(found) == bool(EXPECTED[case][2]), f"the work-items are {found}")
    lines = [number for number, line in enumerate(open(source), 1) if "BAD:" in line and case in line.split("BAD:")[1].split()]
    # Functions of HIP's headers are inlined.
    frames = [frame for frame in finding["source"] if frame["file"].endswith("twins.hip")]
    expect(frames and frames[0]["line"] in lines, f"the source is {finding['source']}, expected line {lines}")
    if "memory" in finding and rule != "kernel-arguments":
        stack = [frame["function"].split("(")[0] for frame in finding["memory"]["allocated_at"]]
        expect(stack[0] == MADE_BY.get(case, "hipMalloc"), f"the allocation was made by {stack}")
        expect(stack[-1] == "main", f"the allocation's stack is {stack}")
    if case == "after_free":
        expect(finding["memory"]["freed_at"][0]["function"].split("(")[0] == "hipFree", "it was not freed by hipFree")
    expect(finding["count"] == COUNTS.get(case, finding["count"]), f"it was seen {finding['count']} times")
    return finding


def same(finding):
    """What both forms must agree on: all but addresses, which differ from run to run, and columns, which hooks do not know. Of
    several waves that do the same, any may be the first."""
    kept = {key: finding[key] for key in ("rule", "kernel", "symbol", "function", "offset", "code", "grid", "group_size", "wave_size", "has_address", "count")}
    kept["message"] = re.sub("0x[0-9a-f]{9,}", "ADDRESS", finding["message"])
    kept["lanes"] = [lane["lane"] for lane in finding["lanes"]]
    kept["source"] = [(frame["file"], frame["line"]) for frame in finding["source"]]
    if "memory" in finding:
        kept["memory"] = {key: finding["memory"][key] for key in ("size", "what", "exact", "freed")}
        kept["stacks"] = [[frame["function"] for frame in finding["memory"][key]] for key in ("allocated_at", "freed_at")]
    return kept


virtual, hooks = same(check([])), same(check(["--instrument"]))
for key in virtual:
    if virtual[key] != hooks.get(key):
        sys.exit(f"{case} on {gpu}: {key} differs:\nthe virtual GPU says {virtual[key]}\nand hooks {hooks.get(key)}")
