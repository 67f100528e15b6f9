#!/usr/bin/env python3
"""Usage: update_later_functions.py CLANG INCLUDE_DIR... > later_functions.txt

Lists the functions that ROCr's API tables have got since the first of the given releases, each an include folder of one release, oldest first. To be run
when a new ROCr comes out; what it cannot describe, it says and ends with status 1.

A table is known by its number of functions. So a release must have all functions of the one before it in the same order, and whoever has N functions must
have the same N. A type that the oldest headers do not have is written as one that is passed in the same way.
"""

import re
import sys

from hsa_headers import TABLES, Headers, LaterFunction


def is_subsequence(part, whole):
    rest = iter(whole)
    return all(name in rest for name in part)


def kind_of(kind, plain, oldest):
    names = set(re.findall(r"[A-Za-z_]\w*", kind)) - {"const", "unsigned", "struct", "enum"}
    builtin = {"void", "bool", "char", "int", "size_t", "uint8_t", "uint32_t", "uint64_t", "int32_t", "int64_t"}
    if all(name in builtin or name in oldest.types for name in names):
        return kind
    if kind.endswith("*"):
        return "const void *" if kind.startswith("const ") else "void *"
    # By value: handles of 8 bytes, and enumerations.
    return "uint64_t" if re.search(r"handle(_t|_s)?$", plain) else "uint32_t"


def main():
    clang, *folders = sys.argv[1:]
    releases = [Headers(clang, folder) for folder in folders]
    oldest, newest = releases[0], releases[-1]
    lines = []
    for table in TABLES:
        order = newest.tables[table]
        for older, newer, folder in zip(releases, releases[1:], folders[1:]):
            if not is_subsequence(older.tables[table], newer.tables[table]):
                sys.exit(f"{folder}: table {table} has lost functions of the release before it, or their order")
            for name in older.tables[table]:
                before, now = older.functions[name], newer.functions[name]
                if (before.result, before.plain_types) != (now.result, now.plain_types):
                    sys.exit(f"{folder}: {name} has changed from {before.type} to {now.type}")
        for position, name in enumerate(order):
            if name in oldest.tables[table]:
                continue
            size = min(len(release.tables[table]) for release in releases if name in release.tables[table])
            # Where functions were only appended, every length is a prefix of the longest.
            if all(release.tables[table] == order[: len(release.tables[table])] for release in releases if len(release.tables[table]) >= position):
                size = position + 1
            function = newest.functions[name]
            kinds = [kind_of(kind, plain, oldest) for kind, plain in zip(function.types, function.plain_types)]
            lines.append(LaterFunction(table, position, size, name, function.result, list(zip(kinds, function.names))))
    print("# Functions of later ROCrs than the oldest that Luthier supports: table, position in the newest table, number of functions of the\n"
          "# shortest table that has it, name, signature. Written by update_later_functions.py.")
    print("\n".join(map(str, lines)))


if __name__ == "__main__":
    main()
