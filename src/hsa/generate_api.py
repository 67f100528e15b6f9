#!/usr/bin/env python3
"""Usage: generate_api.py CLANG INCLUDE_DIR LATER_FUNCTIONS OUTPUT

Writes one line for every function that ROCr's API tables hold, table by table and in the tables' order:

    LUTHIER_HSA_CALL(core, hsa_queue_create, 125, "agent,size,type,...", decltype(&::hsa_queue_create))

The number says which tables have the function: all with as many functions or more. "loader" is the loader extension, whose table applications ask for by
name. What the installed headers declare is taken from there, so a newer ROCr with more functions needs no edit; functions of ROCrs that are newer than
the installed headers come from a list (later_functions.txt), so that what was built here serves them too.
"""

import sys

from hsa_headers import TABLES, Headers, read_later_functions


def merged(table, installed, later):
    """(name, number of functions of the shortest table that has it) in the order of the newest table."""
    order = list(installed)
    for function in later:
        if function.name not in installed:
            order.insert(function.position, function.name)
    sizes = {function.name: function.size for function in later}
    known = max([function.position + 1 for function in later], default=len(installed))
    oldest = len([name for name in order[:known] if name not in sizes])
    result = [(name, sizes.get(name, position + 1 if position >= known else oldest)) for position, name in enumerate(order)]
    wrong = [function.name for function in later if order.index(function.name) != function.position]
    same = [name for name, size in result if size <= len(installed)]
    if wrong or same != installed:
        sys.exit(f"{TABLES[table]} of the installed headers has another order than src/hsa/later_functions.txt says: "
                 "update it (src/hsa/update_later_functions.py)")
    return result


def main():
    clang, include, later_path, output = sys.argv[1:]
    headers = Headers(clang, include)
    later = read_later_functions(later_path)
    lines = []
    for table in TABLES:
        of_table = {function.name: function for function in later if function.table == table}
        for name, size in merged(table, headers.tables[table], list(of_table.values())):
            if name in headers.functions:
                names, kind = headers.functions[name].names, f"decltype(&::{name})"
            else:
                function = of_table[name]
                names = [parameter for _, parameter in function.parameters]
                kind = f"{function.result} (*)({', '.join(kind for kind, _ in function.parameters)})"
            lines.append(f'LUTHIER_HSA_CALL({table}, {name}, {size}, "{",".join(names)}", {kind})')
    for position, name in enumerate(headers.loader):
        names = headers.functions[name].names if name in headers.functions else []
        kind = f"decltype(hsa_ven_amd_loader_1_03_pfn_t::{name})"
        lines.append(f'LUTHIER_HSA_CALL(loader, {name}, {position + 1}, "{",".join(names)}", {kind})')
    with open(output, "w", encoding="utf-8") as file:
        file.write("// Written by src/hsa/generate_api.py from the installed HSA headers.\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
