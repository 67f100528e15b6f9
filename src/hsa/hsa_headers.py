"""ROCr's API tables and functions, as its headers declare them.

The names, order and types that src/hsa knows all come from here: at build time from the installed headers (generate_api.py), and for later releases
from a list that was made from their headers (update_later_functions.py).
"""

import json
import re
import subprocess
import sys

HEADERS = """
#include <hsa/hsa.h>
#include <hsa/hsa_ven_amd_loader.h>
#include <hsa/hsa_api_trace.h>
"""

# Structures of function pointers that Luthier wraps: the name in luthier::hsa, the name in the header. ToolsApiTable holds callbacks of tools and
# PcSamplingExtTable functions that neither take queues nor wait; both stay as they are.
TABLES = {"core": "CoreApiTable", "amd": "AmdExtTable", "finalizer": "FinalizerExtTable", "image": "ImageExtTable"}
LOADER = "hsa_ven_amd_loader_1_03_pfn_s"


class Function:
    def __init__(self, declaration):
        parameters = [child for child in declaration.get("inner", []) if child["kind"] == "ParmVarDecl"]
        self.type = declaration["type"]["qualType"]
        self.result = self.type[: self.type.index("(")].strip()
        self.names = [p.get("name", "argument") for p in parameters]
        self.types = [p["type"]["qualType"] for p in parameters]
        self.plain_types = [p["type"].get("desugaredQualType", p["type"]["qualType"]) for p in parameters]


class Headers:
    """`tables` has the functions of each table in order, `loader` those of the loader extension, `functions` all that are declared."""

    def __init__(self, clang, include):
        # The header looks for its neighbours in a folder of ROCr's source tree unless it is told that it is in there.
        command = [clang, "-std=c++20", "-DAMD_INTERNAL_BUILD", "-isystem", include, "-fsyntax-only", "-Xclang", "-ast-dump=json", "-x", "c++", "-"]
        dump = subprocess.run(command, input=HEADERS, capture_output=True, text=True)
        if dump.returncode != 0:
            sys.exit(f"cannot read the HSA headers in {include}:\n{dump.stderr}")
        records, self.functions, self.types = {}, {}, set()
        for declaration in declarations(json.loads(dump.stdout)):
            name = declaration.get("name", "")
            if declaration["kind"] == "FunctionDecl":
                self.functions.setdefault(name, Function(declaration))
            elif declaration["kind"] == "CXXRecordDecl" and fields(declaration):
                records[name] = fields(declaration)
            elif declaration["kind"] == "TypedefDecl":
                self.types.add(name)
        missing = [name for name in [*TABLES.values(), LOADER] if name not in records]
        if missing:
            sys.exit(f"the HSA headers in {include} do not define " + ", ".join(missing))
        self.loader = records[LOADER]
        self.tables = {}
        for table, record in TABLES.items():
            self.tables[table] = [field.removesuffix("_fn") for field in records[record] if field.endswith("_fn")]
            for function in self.tables[table]:
                if function not in self.functions:
                    sys.exit(f"{record} has {function}_fn, but no header in {include} declares {function}")


def declarations(node):
    for child in node.get("inner", []):
        if child["kind"] == "LinkageSpecDecl":
            yield from declarations(child)
        else:
            yield child


def fields(record):
    return [child["name"] for child in record.get("inner", []) if child["kind"] == "FieldDecl" and "name" in child]


class LaterFunction:
    """A line of later_functions.txt: a function that a table has got since the oldest ROCr that Luthier supports."""

    PATTERN = re.compile(r"(\w+) (\d+) (\d+) (\w+) (\w+)\((.*)\)")

    def __init__(self, table, position, size, name, result, parameters):
        self.table, self.position, self.size, self.name = table, position, size, name
        self.result, self.parameters = result, parameters

    @staticmethod
    def parse(line):
        match = LaterFunction.PATTERN.fullmatch(line)
        if not match:
            sys.exit("later_functions.txt: not understood: " + line)
        table, position, size, name, result, text = match.groups()
        parameters = [tuple(p.rsplit(" ", 1)) for p in text.split(", ")] if text else []
        return LaterFunction(table, int(position), int(size), name, result, parameters)

    def __str__(self):
        parameters = ", ".join(f"{kind} {name}" for kind, name in self.parameters)
        return f"{self.table} {self.position} {self.size} {self.name} {self.result}({parameters})"


def read_later_functions(path):
    with open(path, encoding="utf-8") as file:
        return [LaterFunction.parse(line.strip()) for line in file if line.strip() and not line.startswith("#")]
