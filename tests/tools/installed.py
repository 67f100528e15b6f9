#!/usr/bin/env python3
"""Usage: installed.py install CMAKE BUILD PREFIX
       installed.py headers PREFIX
       installed.py tools CMAKE BUILD PREFIX SOURCES WORK

What somebody has who has nothing but an installation. install: puts BUILD into PREFIX. headers: each installed header
compiles by itself, those of the host by Clang and by GCC (luthier_add_tool works with both), those of hooks as hooks.
tools: the tools that Luthier ships (SOURCES) build in WORK with find_package(luthier) and GCC, and run.
"""
import os
import shutil
import subprocess
import sys

# As luthier_hook_bitcode has it (cmake/LuthierTool.cmake).
HOOKS = "clang++-19 -x hip --cuda-device-only -nogpulib -nogpuinc --offload-arch=gfx900 -std=c++17".split()
HOST = [[compiler, "-x", "c++", "-std=c++20"] for compiler in ("clang++-19", "g++")]
DEVICE_HEADERS = {"luthier/hook.h", "luthier/hostcall.h", "luthier/run_counts_hooks.h"}


def call(*command, **more):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}\nexited with status {done.returncode}")
    return done.stdout


def install(cmake, build, prefix):
    shutil.rmtree(prefix, ignore_errors=True)
    call(cmake, "--install", build, "--prefix", prefix)


def headers(prefix):
    include = prefix + "/include"
    found = sorted(os.path.relpath(os.path.join(folder, name), include)
                   for folder, _, names in os.walk(include) for name in names)
    if not DEVICE_HEADERS <= set(found) or "luthier/tool.h" not in found:
        sys.exit(f"headers are missing in {include}: {found}")
    failed = 0
    for header in found:
        for compiler in [HOOKS] if header in DEVICE_HEADERS else HOST:
            done = subprocess.run(compiler + ["-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror", "-fsyntax-only",
                                              "-I" + include, "-"], input=f"#include <{header}>\n", text=True)
            if done.returncode:
                print(f"{header} does not compile by itself with {compiler[0]}")
                failed += 1
    print(f"{len(found)} headers")
    sys.exit(1 if failed else 0)


def tools(cmake, build, prefix, sources, work):
    shutil.rmtree(work, ignore_errors=True)
    names = sorted(entry.name for entry in os.scandir(sources) if entry.is_dir())
    lines = ["cmake_minimum_required(VERSION 3.25)", "project(shipped LANGUAGES CXX)", "find_package(luthier REQUIRED)"]
    for name in names:
        shutil.copytree(f"{sources}/{name}", f"{work}/{name}")
        files = sorted(os.listdir(f"{work}/{name}"))
        code = " ".join(f"{name}/{file}" for file in files if file.endswith(".cc"))
        hooks = " ".join(f"{name}/{file}" for file in files if file.endswith(".hip"))
        lines.append(f"luthier_add_tool({name} SOURCES {code} {'HOOKS ' + hooks if hooks else ''})")
    with open(work + "/CMakeLists.txt", "w") as file:
        file.write("\n".join(lines) + "\n")
    call(cmake, "-S", work, "-B", work + "/build", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}",
         "-DCMAKE_CXX_COMPILER=g++")
    call(cmake, "--build", work + "/build")
    for name in names:
        more = [f"--{name}.file={work}/" + {"mem_trace": "trace", "kernel_trace": "launches"}[name]] if name.endswith("_trace") else []
        said = call(prefix + "/bin/luthier", "run", "--gpu", "gfx90a", "--tool", f"{work}/build/lib{name}.so", "-o",
                    f"{work}/{name}.txt", *more, "--", build + "/samples/vector_add",
                    env=dict(os.environ, LUTHIER_CACHE=work + "/cache"))
        with open(f"{work}/{name}.txt") as file:
            report = file.read()
        print(f"--- {name}\n{said}{report}")
        if "vector_add" not in said + report and "vectorAdd" not in said + report:
            sys.exit(f"{name} says nothing about the sample's kernel")
    # An installation without the program that compiles hooks: the application runs, and is told why nothing was counted.
    partial = work + "/partial"
    shutil.copytree(prefix, partial, symlinks=True)
    os.remove(partial + "/lib/luthier/bin/luthier-hook-compiler")
    said = call(partial + "/bin/luthier", "run", "--gpu", "gfx90a", "--tool", "instr_count", "--", build + "/samples/vector_add",
                env=dict(os.environ, LUTHIER_CACHE="off"))
    if "luthier-hook-compiler was not found in " + partial + "/lib/luthier/bin" not in said:
        sys.exit(f"nothing says that the hook compiler is missing:\n{said}")
    with open(work + "/trace", "rb") as file:
        if file.read(7) != b"LUTHMEM":
            sys.exit("mem_trace has written no trace")


{"install": install, "headers": headers, "tools": tools}[sys.argv[1]](*sys.argv[2:])
