"""What the virtual GPU has written down of a run without tools, for tests that compare it with what a tool counts."""
import collections
import json
import re
import tempfile

from tool_run import check, expect_same_output, run

# Of the first cache that vector memory instructions go to (manuals of the architectures).
CACHE_LINE = {"gfx90a": 64, "gfx1030": 128}


def mnemonic(text):
    return re.sub(r"_(e32|e64|sdwa|dpp)$", "", text.split()[0])


def width(text):
    """Bytes of an access to memory, per lane and address."""
    name = mnemonic(text)
    if "atomic" in name:
        return 8 if re.search(r"_x2$|_[fuib]64$", name) else 4
    for pattern, size in ((r"dwordx(\d+)$", None), (r"dword$", 4), (r"(ubyte|sbyte|byte)(_d16(_hi)?)?$", 1),
                          (r"short(_d16(_hi)?)?$", 2), (r"[biuf](\d+)(_d16(_hi)?)?$", None)):
        found = re.search(pattern, name)
        if found:
            return size or (4 * int(found[1]) if "dword" in pattern else int(found[1]) // 8)
    raise ValueError(text)


def trace(build, app, kernel="."):
    """How a run without tools ended, and its steps: rows of the trace (docs/virtual-gpu.md), without ROCr's own kernels."""
    with tempfile.TemporaryDirectory() as folder:
        done = run(build, app, more=["--trace-vgpu", folder + "/trace", "--trace-kernel", kernel])
        rows = [json.loads(line) for line in open(folder + "/trace")]
    return done, [row for row in rows if not row["kernel"].startswith("rocr_blit")]


def waves(rows):
    """The steps of each wave, in order."""
    result = collections.defaultdict(list)
    for row in rows:
        result[row["dispatch"], tuple(row["workgroup"]), row["wave"]].append(row)
    return [sorted(steps, key=lambda row: row["step"]) for steps in result.values()]


def tool_rows(build, app, tool, plain, options=(), kernel="."):
    """What a tool reports of each kernel, by its symbol."""
    done = run(build, app, [tool], [f"{tool}.{option}" for option in options], ["--kernel-include-regex", kernel])
    expect_same_output(done, plain)
    for each in done.report["account"]["kernels"]:
        check(each["sites_asked"] == each["sites_placed"], each["name"], "has rejected sites:", each["sites_rejected"])
    symbols = done.symbols()
    result = collections.defaultdict(list)
    for row in done.rows(tool):
        if "kernel" in row:
            check(len(symbols[row["kernel"]]) == 1, row["kernel"], "is not one symbol")
            result[min(symbols[row["kernel"]])].append(row)
        else:
            result[""].append(row)
    return done, result


def compare(ours, theirs, values):
    """Rows of a tool, by kernel, with what was counted by kernel and offset from the kernel's entry. Addresses in the file are as far apart."""
    for kernel in sorted(set(ours) | set(theirs)):
        rows = {int(row["address"], 16): values(row) for row in ours.get(kernel, [])}
        counts = theirs.get(kernel, {})
        if not rows or not counts:
            check(not rows and not counts, kernel, "has rows", rows, "and counts", counts)
            continue
        entry = min(rows) - min(counts)
        for address in sorted(set(rows) | {entry + offset for offset in counts}):
            check(rows.get(address) == counts.get(address - entry), f"{kernel} at {address:#x}:", rows.get(address),
                  "instead of", counts.get(address - entry))
