#!/usr/bin/env python3
"""Prints the kernels, the most executed opcodes and those that are not exact, of a file that `luthier run --stats FILE` wrote."""

import argparse
import collections
import json
import sys


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file")
    parser.add_argument("-n", type=int, default=10, metavar="N", help="opcodes to show (default 10)")
    options = parser.parse_args()
    try:
        with open(options.file) as file:
            dispatches = json.load(file)["dispatches"]
    except (OSError, ValueError, KeyError) as error:
        sys.exit(f"top_opcodes.py: {options.file}: no statistics ({error})")

    kernels = collections.Counter()
    waves = collections.Counter()
    lanes = collections.Counter()
    inexact = collections.defaultdict(dict)  # kernel: {opcode: fidelity}
    for dispatch in dispatches:
        kernels[dispatch["kernel"]] += 1
        for opcode, count in dispatch["opcodes"].items():
            waves[opcode] += count["wave_instructions"]
            lanes[opcode] += count["lane_instructions"]
        if dispatch.get("not_exact"):
            inexact[dispatch["kernel"]].update(dispatch["not_exact"])

    print(f"{'kernel':<56} {'dispatches':>10}")
    for kernel, count in kernels.most_common():
        print(f"{kernel:<56} {count:>10}")
    print(f"\n{'opcode':<30} {'wave-instructions':>18} {'lane-instructions':>18}")
    for opcode, count in waves.most_common(options.n):
        print(f"{opcode:<30} {count:>18,} {lanes[opcode]:>18,}")
    print(f"{'all ' + str(len(waves)) + ' opcodes':<30} {waves.total():>18,} {lanes.total():>18,}")
    print("\nnot exact (luthier isa fidelity says why):" if inexact else "\nall executed instructions are exact")
    for kernel, opcodes in inexact.items():
        print(f"  {kernel}: " + ", ".join(f"{opcode} ({opcodes[opcode]})" for opcode in sorted(opcodes)))


if __name__ == "__main__":
    main()
