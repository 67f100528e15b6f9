#!/usr/bin/env python3
"""Usage: instrumented_files.py LUTHIER HOOKS SAMPLES PROGRAMS

What `luthier instrument` makes of whole programs and libraries: they run as before, with all their kernels instrumented,
position independent or not, with one bundle or several.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

luthier, hooks, samples, programs = sys.argv[1:]
HOOKS = ["--hooks", hooks, "--at", "block-entry: count(block_size)", "--at", "kernel-exit: flush()"]


def call(*command, status=0):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != status:
        sys.exit(f"{' '.join(command)}\n{done.stdout}\nexited with status {done.returncode}")
    return done.stdout


def instructions(program):
    """Of the program's own kernels, per wave."""
    with tempfile.TemporaryDirectory() as folder:
        said = call(luthier, "run", "--gpu", "gfx90a", "--stats", folder + "/stats.json", "--", program)
        if "PASS" not in said:
            sys.exit(f"{program} does not pass:\n{said}")
        with open(folder + "/stats.json") as file:
            dispatches = json.load(file)["dispatches"]
    return {d["kernel"]: d["wave_instructions"] / d["waves"] for d in dispatches
            if not d["kernel"].startswith(("rocr_", "__amd_"))}


def expect_more(old, new, kernels=None):
    before, after = instructions(old), instructions(new)
    if before.keys() != after.keys():
        sys.exit(f"{new} launches other kernels than {old}: {after}")
    for kernel in before:
        if (after[kernel] > before[kernel]) != (kernels is None or any(name in kernel for name in kernels)):
            sys.exit(f"{new}: {kernel} executes {after[kernel]} instructions per wave, before {before[kernel]}")


with tempfile.TemporaryDirectory() as folder:
    os.environ["LUTHIER_CACHE"] = folder + "/cache"
    for program in (samples + "/vector_add", programs + "/two_bundles"):
        new = f"{folder}/{os.path.basename(program)}"
        call(luthier, "instrument", program, *HOOKS, "-o", new)
        expect_more(program, new)
        if len(call(luthier, "inspect", new, "--kernels").split("gfx90a:")) != len(
                call(luthier, "inspect", program, "--kernels").split("gfx90a:")):
            sys.exit(f"luthier inspect does not see the code objects of {new}")
    # A part of it.
    call(luthier, "instrument", programs + "/two_bundles", *HOOKS, "--kernel", "doubleThem", "-o", folder + "/one")
    expect_more(programs + "/two_bundles", folder + "/one", ["doubleThem"])
    # Its own result once more.
    call(luthier, "instrument", folder + "/one", *HOOKS, "--kernel", "addIndex", "-o", folder + "/one")
    expect_more(programs + "/two_bundles", folder + "/one")
    # A library.
    shutil.copy(programs + "/uses_library", folder)
    call(luthier, "instrument", programs + "/libsecond_bundle.so", *HOOKS, "-o", folder + "/libsecond_bundle.so")
    expect_more(programs + "/uses_library", folder + "/uses_library", ["doubleThem"])
    # The code object alone, which must be one.
    said = call(luthier, "instrument", programs + "/two_bundles", *HOOKS, "--code-object", "-o", folder + "/o.co", status=1)
    if "2 code objects have kernels" not in said or os.path.exists(folder + "/o.co"):
        sys.exit(said)
    call(luthier, "instrument", programs + "/two_bundles", *HOOKS, "--code-object", "--object", "2", "-o", folder + "/o.co")
    if "1 kernel" not in call(luthier, "inspect", folder + "/o.co"):
        sys.exit("the code object is not one")
