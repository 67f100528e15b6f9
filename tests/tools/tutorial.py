#!/usr/bin/env python3
"""Usage: tutorial.py CMAKE BUILD PREFIX FOLDER

Builds the tool of docs/write-a-tool.md (in FOLDER, as the page has it) with nothing but find_package(luthier) of the
installation in PREFIX, and runs a sample of BUILD under it.
"""
import shutil
import subprocess
import sys
import tempfile

cmake, build, prefix, source = sys.argv[1:]


def call(*command, **more):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}\nended with {done.returncode}")
    return done.stdout


with tempfile.TemporaryDirectory() as folder:
    tool = folder + "/branch_bias"
    shutil.copytree(source, tool)
    call(cmake, "-S", tool, "-B", tool + "/build", f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_CXX_COMPILER=clang++-19")
    call(cmake, "--build", tool + "/build")
    library = tool + "/build/libbranch_bias.so"
    print(call(prefix + "/bin/luthier", "run", "--gpu", "gfx90a", "--tool", library, "-f", "csv", "-o", folder + "/report.csv", "--",
               build + "/samples/bitonic_sort"))
    report = open(folder + "/report.csv").read()
    print(report)
    lines = report.splitlines()
    if lines[0] != "kernel,launch,branches,taken" or len(lines) < 3:
        sys.exit("this is not the report of the page's tool")
    for line in lines[1:]:
        branches, taken = map(int, line.rsplit(",", 2)[1:])
        if not 0 < taken <= branches:
            sys.exit("impossible: " + line)
