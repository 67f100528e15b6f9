#!/usr/bin/env python3
"""Usage: replace.py BUILD -- ARITHMETIC

With all 23 bits, what the tool replace puts in the place of instructions computes what they do: the program prints the
same. With fewer, each of its results is the exact sum, difference, product or fused sum of the numbers that went in,
rounded to a float and then to that many bits: computed here with fractions.
"""
import argparse
import re
import struct
from fractions import Fraction

from tool_run import check, expect_same_output, finish, run

parser = argparse.ArgumentParser(usage=__doc__)
parser.add_argument("build")
parser.add_argument("app", nargs="+")
options = parser.parse_args()


def rounded(value, bits):
    """To the nearest number with that many bits behind the first one; to an even one if two are as near."""
    if value == 0:
        return value
    exponent = 0
    while abs(value) >= Fraction(2) ** (exponent + 1):
        exponent += 1
    while abs(value) < Fraction(2) ** exponent:
        exponent -= 1
    unit = Fraction(2) ** (exponent - bits)
    return round(value / unit) * unit # Python rounds halves to even


def numbers(output, which):
    return [Fraction(struct.unpack("<f", struct.pack("<I", int(word, 16)))[0]) for word in re.findall(rf"^{which} (\w+)$", output, flags=re.M)]


plain = run(options.build, options.app)
values = numbers(plain.output, "in")
a, b, c = values[:64], values[64:128], values[128:]
exact = ([x + y for x, y in zip(a, b)] + [x - y for x, y in zip(a, b)] + [x * y for x, y in zip(a, b)]
         + [x * y + z for x, y, z in zip(a, b, c)])
check(len(exact) == 256, "numbers are missing:", plain.output)
changed = {}
for bits in (23, 10, 7):
    done = run(options.build, options.app, ["replace"], [f"replace.bits={bits}"])
    expected = [rounded(rounded(value, 23), bits) for value in exact]
    check(numbers(done.output, "out") == expected, bits, "bits:", [(float(x), float(y)) for x, y in zip(numbers(done.output, "out"), expected) if x != y][:3])
    changed[bits] = sum(x != y for x, y in zip(numbers(done.output, "out"), numbers(plain.output, "out")))
    (row,) = [row for row in done.rows("replace") if "arithmetic" in row["kernel"]]
    check((row["instructions replaced"], row["left"]) == (4, 0), row)
    for each in done.report["account"]["kernels"]:
        check(each["sites_asked"] == each["sites_placed"], each["name"], "has rejected sites:", each["sites_rejected"])
    if bits == 23:
        expect_same_output(done, plain)
check(changed[23] == 0 and changed[10] and changed[7], "changed results:", changed)
finish(f"results changed with 23, 10 and 7 bits: {changed}")
