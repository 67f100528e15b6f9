#!/usr/bin/env python3
"""Usage: installed.py install CPACK BUILD ROOT/usr
       installed.py headers PREFIX
       installed.py tools CMAKE BUILD PREFIX SOURCES WORK

What somebody has who has nothing but an installation. install: packs BUILD as a Debian package and unpacks it into ROOT,
where nobody told it that it would be. headers: each installed header
compiles by itself, those of the host by Clang and by GCC (luthier_add_tool works with both), those of hooks as hooks.
tools: the tools that Luthier ships (SOURCES) build in WORK with find_package(luthier) and GCC, and run.
"""
import glob
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


# What every Debian has from release 12 on, under these names.
DEPENDS = {"libc6", "libgcc-s1", "libstdc++6", "libzstd1", "zlib1g"}
MOST_BYTES = 100 << 20
PARTS = ("bin/luthier", "lib/libluthier.so", "lib/luthier/tools/libinstr_count.so", "lib/cmake/luthier/luthierConfig.cmake",
         "lib/pkgconfig/luthier.pc", "share/man/man1/luthier-run.1", "share/bash-completion/completions/luthier",
         "share/zsh/site-functions/_luthier", "share/fish/vendor_completions.d/luthier.fish", "share/doc/luthier/README.md",
         "share/doc/luthier/copyright", "share/doc/luthier/docs/tools.md", "share/doc/luthier/tools/instr_count/README.md")


def install(cpack, build, prefix):
    root = os.path.dirname(prefix)
    package = root + "-package"
    for folder in (root, package):
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
    # Better compression takes minutes.
    call(cpack, "-G", "DEB", "-B", package, "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=zstd", cwd=build)
    deb = glob.glob(package + "/*.deb")
    if len(deb) != 1:
        sys.exit(f"{len(deb)} packages in {package}")
    depends = call("dpkg-deb", "-f", deb[0], "Depends")
    names = {one.split()[0] for one in depends.split(",")}
    if names != DEPENDS:
        sys.exit(f"the package depends on {depends}, not on {', '.join(sorted(DEPENDS))}")
    if os.path.getsize(deb[0]) > MOST_BYTES:
        sys.exit(f"the package has {os.path.getsize(deb[0]) >> 20} MiB")
    call("dpkg-deb", "-x", deb[0], root)
    if missing := [part for part in PARTS if not os.path.exists(f"{prefix}/{part}")]:
        sys.exit(f"the package has no {', '.join(missing)}")
    env = dict(os.environ, PKG_CONFIG_PATH=prefix + "/lib/pkgconfig")
    flags = call("pkg-config", "--cflags", "--libs", "luthier", env=env).split()
    call("g++", "-std=c++20", "-x", "c++", "-", *flags, "-shared", "-fPIC", "-o", package + "/tool.so", env=env,
         input="#include <luthier/tool.h>\nstruct Nothing : luthier::Tool {\n"
               "  void instrument(luthier::Kernel &, luthier::Site) override {}\n};\nLUTHIER_TOOL(Nothing)\n")
    shutil.rmtree(package)


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
