#!/usr/bin/env python3
"""Usage: generate_api.py CLANG OUTPUT

Writes one line for every function that ROCr's API tables hold, from the installed headers:

    LUTHIER_HSA_CALL(core, hsa_queue_create, "agent,size,type,...")

and for every function of the loader extension, whose table applications ask for by name:

    LUTHIER_HSA_LOADER_CALL(hsa_ven_amd_loader_query_executable, "device_address,executable")

Names and order of functions and arguments are all that is taken; types come from the headers when the list is compiled, so
a newer ROCr with more functions needs a rebuild and no edit.
"""

import json
import subprocess
import sys

HEADERS = """
#include <hsa/hsa.h>
#include <hsa/hsa_ven_amd_loader.h>
#include <hsa/hsa_api_trace.h>
"""

# Structures of function pointers: the name in the header, the name of the member of luthier::hsa::ApiTables.
TABLES = {"CoreApiTable": "core", "AmdExtTable": "amd", "FinalizerExtTable": "finalizer", "ImageExtTable": "image"}
LOADER = "hsa_ven_amd_loader_1_03_pfn_s"


def declarations(node):
    for child in node.get("inner", []):
        if child["kind"] == "LinkageSpecDecl":
            yield from declarations(child)
        else:
            yield child


def fields(record):
    return [child["name"] for child in record.get("inner", []) if child["kind"] == "FieldDecl"]


def main():
    clang, output = sys.argv[1:]
    # The header looks for its neighbours in a folder of ROCr's source tree unless it is told that it is in there.
    command = [clang, "-std=c++20", "-DAMD_INTERNAL_BUILD", "-fsyntax-only", "-Xclang", "-ast-dump=json", "-x", "c++", "-"]
    dump = subprocess.run(command, input=HEADERS, capture_output=True, text=True)
    if dump.returncode != 0:
        sys.exit("cannot read the HSA headers:\n" + dump.stderr)
    functions, tables, loader = {}, {}, None
    for declaration in declarations(json.loads(dump.stdout)):
        name = declaration.get("name", "")
        if declaration["kind"] == "FunctionDecl":
            parameters = [p for p in declaration.get("inner", []) if p["kind"] == "ParmVarDecl"]
            functions[name] = ",".join(p.get("name", "argument") for p in parameters)
        elif declaration["kind"] == "CXXRecordDecl" and name in TABLES and fields(declaration):
            tables[name] = fields(declaration)
        elif declaration["kind"] == "CXXRecordDecl" and name == LOADER and fields(declaration):
            loader = fields(declaration)
    missing = [name for name in TABLES if name not in tables] + ([] if loader else [LOADER])
    if missing:
        sys.exit("the HSA headers do not define " + ", ".join(missing))

    lines = []
    for record, member in TABLES.items():
        for field in tables[record]:
            if not field.endswith("_fn"):
                continue
            function = field.removesuffix("_fn")
            if function not in functions:
                sys.exit(f"{record} has {field}, but no header declares {function}")
            lines.append(f'LUTHIER_HSA_CALL({member}, {function}, "{functions[function]}")')
    for function in loader:
        lines.append(f'LUTHIER_HSA_LOADER_CALL({function}, "{functions.get(function, "")}")')
    with open(output, "w", encoding="utf-8") as file:
        file.write("// Written by src/hsa/generate_api.py from the installed HSA headers.\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
