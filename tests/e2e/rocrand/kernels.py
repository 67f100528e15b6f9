#!/usr/bin/env python3
"""Every kernel that librocrand has for gfx90a was executed.

    kernels.py LIBRARY STATISTICS...

Reads the names of the kernels from the library's code object for gfx90a (xnack off, as the virtual GPU reports it) and the names of the executed
ones from statistics that `luthier run --stats` wrote. Prints their numbers; ends with 1 and a list if a kernel was never executed or did not
complete. So the tests of the generators cannot lose a distribution without being noticed.
"""
import json
import re
import struct
import sys

MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
TARGETS = ("gfx90a:xnack-", "--gfx90a") # the latter: whatever XNACK is


def code_objects(library):
    """(target, bytes) of all bundles: the magic, a count, and per entry offset, size, length of the target's name, name."""
    for match in re.finditer(MAGIC, library):
        start, at = match.start(), match.end()
        (count,) = struct.unpack_from("<Q", library, at)
        at += 8
        for _ in range(count):
            offset, size, length = struct.unpack_from("<QQQ", library, at)
            at += 24
            yield library[at : at + length].decode(), library[start + offset : start + offset + size]
            at += length


def main():
    with open(sys.argv[1], "rb") as file:
        library = file.read()
    # A kernel's descriptor is a symbol that ends with .kd.
    kernels = {
        name.decode() for target, code in code_objects(library) if target.endswith(TARGETS) for name in re.findall(rb"\0([\w.$]+)\.kd(?=\0)", code)
    }
    executed, opcodes = set(), set()
    for path in sys.argv[2:]:
        with open(path) as file:
            for dispatch in json.load(file)["dispatches"]:
                if dispatch["completed"]:
                    executed.add(dispatch["kernel"])
                    opcodes.update(dispatch["opcodes"])
    missing = sorted(kernels - executed)
    print(f"{len(kernels)} kernels for gfx90a, {len(kernels) - len(missing)} executed, {len(opcodes)} different opcodes")
    for name in missing:
        print("not executed:", name)
    sys.exit(1 if missing or not kernels else 0)


main()
