#!/usr/bin/env python3
"""Usage: commands.py BUILD

Commands around a run: merge, doctor, man, completion, --version; new is in tests/tools/new_tool.py.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

build = os.path.abspath(sys.argv[1])
LUTHIER = f"{build}/bin/luthier"
failures = 0


def check(good, *message):
    global failures
    if not good:
        failures += 1
        print("FAIL:", *message)


def luthier(*arguments, **more):
    return subprocess.run([LUTHIER, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)


def report(rank, counts, launches=2, extra=()):
    """What a rank writes with -f json."""
    kernel = {"name": "k(int*)", "symbol": "_Z1kPi", "object": "file:///a", "digest": "d" * 16, "gpu": 0, "instrumented": True,
              "launches": launches, "launches_instrumented": launches, "launches_timed": launches, "nanoseconds": 1000 * launches,
              "sites_asked": 5, "sites_placed": 4, "sites_rejected": {"no register is free": 1},
              "rejected_sites": [{"place": "k(int*) +8: s_nop 0", "reason": "no register is free"}], "seconds": 0.25,
              **{name: {"before": 8, "after": 16} for name in ("sgprs", "vgprs", "scratch_bytes", "waves_per_simd", "code_bytes")}}
    rows = [{"kernel": "k(int*)", "launch": n + 1, "instructions": count, "share": count / 2} for n, count in enumerate(counts)]
    return {"version": 1, "process": {"pid": 1, "hostname": "n", "rank": rank, "command": ["app"]},
            "tools": [{"tool": "count", "columns": ["kernel", "launch", "instructions", "share"], "rows": rows}, *extra],
            "account": {"records_lost": 3, "seconds": 0.5, "messages": ["careful"], "kernels": [kernel]}}


with tempfile.TemporaryDirectory() as folder:
    def write(name, what):
        path = f"{folder}/{name}"
        with open(path, "w") as file:
            file.write(what if isinstance(what, str) else json.dumps(what))
        return path

    large = 2**63
    other = {"tool": "other", "columns": ["what", "n"], "rows": [{"what": "x", "n": 1}]}
    files = [write("r10.json", report("10", [5])), write("r2.json", report("2", [7, large], extra=[other])), write("r0.json", report("0", [1, large - 1]))]
    done = luthier("merge", *files, "-f", "json", "-o", folder + "/all.json")
    check(done.returncode == 0, done.stderr)
    merged = json.load(open(folder + "/all.json"))
    count = merged["tools"][0]
    check(count["columns"] == ["kernel", "launch", "instructions", "instructions (rank 0)", "instructions (rank 2)", "instructions (rank 10)",
                               "share", "share (rank 0)", "share (rank 2)", "share (rank 10)"], count["columns"])
    rows = {row["launch"]: row for row in count["rows"]}
    check(rows[1]["instructions"] == 13 and [rows[1][f"instructions (rank {r})"] for r in (0, 2, 10)] == [1, 7, 5], rows[1])
    check(rows[1]["share"] == 6.5, rows[1])
    check(rows[2]["instructions"] == 2**64 - 1 and rows[2]["instructions (rank 10)"] == 0, "integers are exact to 64 bits:", rows[2])
    check([table["tool"] for table in merged["tools"]] == ["count", "other"] and merged["tools"][1]["rows"][0]["n (rank 2)"] == 1, merged["tools"][1])
    account = merged["account"]
    check((account["launches"], account["records_lost"], account["sites_asked"], account["sites_rejected"], account["kernels"][0]["nanoseconds"]) ==
          (6, 9, 15, 3, 6000), account)
    check(account["kernels_seen"] == 1 and account["messages"] == ["rank 0: careful", "rank 2: careful", "rank 10: careful"], account)
    text = luthier("merge", *files).stdout
    check(text.startswith("count:\nkernel ") and text.count("k(int*) +8: s_nop 0") == 1 and "  3 x no register is free\n" in text, text)
    check(luthier("merge", files[0], files[0], "-f", "csv").stdout.splitlines()[0] ==
          "kernel,launch,instructions,instructions (process 1),instructions (process 2),share,share (process 1),share (process 2)", "same rank twice")
    damaged = report("1", [5])
    damaged["account"]["kernels"][0]["launches"] = "many"
    for name, what, message in (("text", "no JSON", "is not a JSON report"), ("list", "[1]", "is not a JSON report"),
                                ("new", {**report("1", []), "version": 2}, "is a report of version 2; this luthier reads version 1"),
                                ("damaged", damaged, "a report is damaged")):
        done = luthier("merge", write(name, what))
        check(done.returncode == 1 and message in done.stderr and done.stdout == "", name, done)

    # doctor: everything is there, and then not.
    env = {**os.environ, "LUTHIER_CACHE": folder + "/cache"}
    done = luthier("doctor", env=env)
    check(done.returncode == 0 and "everything that a run needs is available" in done.stdout and "WRONG" not in done.stdout, done)
    check("GPUs: gfx90a" in done.stdout or os.path.exists("/dev/kfd"), "ROCr was not started on the virtual GPU:", done.stdout)
    done = luthier("doctor", env={**env, "LUTHIER_VGPU_THREADS": "lots"})
    check(done.returncode == 1 and "WRONG  environment" in done.stdout and "-> correct the variable" in done.stdout, done.stdout)
    write("file", "")
    done = luthier("doctor", env={**env, "LUTHIER_CACHE": folder + "/file"})
    check(done.returncode == 1 and "WRONG  cache" in done.stdout, done.stdout)
    os.makedirs(folder + "/bin")
    shutil.copy(LUTHIER, folder + "/bin/luthier")
    done = subprocess.run([folder + "/bin/luthier", "doctor"], env=env, stdout=subprocess.PIPE, text=True)
    for part in ("runtime", "exit shim", "virtual GPU", "tools", "hook compiler", "run (virtual)"):
        check(f"WRONG  {part}" in done.stdout or (part.startswith("run") and os.path.exists("/dev/kfd")), "missing, and not said:", part, done.stdout)
    check(done.returncode == 1 and "the installation is incomplete" in done.stdout, done.stdout)

    # Manual pages and completion have what --help has.
    help_text = luthier("run", "--help").stdout
    page = luthier("man", "run").stdout
    check(page.startswith('.TH "luthier\\-run" 1'), page[:200])
    words = {word.split("=")[0] for word in help_text.replace(",", " ").split() if word.startswith("--") and len(word) > 4 and "." not in word}
    check(len(words) > 20, words)
    scripts = {shell: luthier("completion", shell).stdout for shell in ("bash", "zsh", "fish")}
    for word in words:
        check(word.replace("-", "\\-") in page, word, "is not in the manual page")
        check(word in scripts["bash"] and word in scripts["zsh"] and f"-l {word[2:]} " in scripts["fish"], word, "is not completed")
    check(luthier("man", "-d", folder + "/man").returncode == 0 and open(folder + "/man/luthier-run.1").read() == page and
          len(os.listdir(folder + "/man")) > 15, "luthier man -d")
    check("--probe" not in luthier("doctor", "--help").stdout + luthier("man", "doctor").stdout, "an option for luthier itself is shown")
    check(luthier("man", "nothing").returncode == 2 and luthier("completion", "csh").returncode == 2, "unknown names")
    commands = [line.split()[0] for line in luthier("--help").stdout.split("Subcommands:\n")[1].splitlines() if line.startswith("  ")]
    check(all(f"\n.B {command}\n" in luthier("man").stdout for command in commands) and "merge" in commands, commands)
    completed = subprocess.run(["bash", "-c", f'PATH={build}/bin:$PATH; source <(luthier completion bash)\n'
                                'try() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _luthier; echo "${COMPREPLY[@]}"; }\n'
                                'try luthier mer; try luthier run --kernel-it; try luthier run --tool opcode_'],
                               stdout=subprocess.PIPE, text=True).stdout
    check(completed == "merge\n--kernel-iteration-range\nopcode_histogram\n", completed)

    # Code objects in files of their own: what is in them is what was in the program.
    program = f"{build}/samples/vector_add"
    done = luthier("inspect", program, "--extract", folder + "/co")
    files = sorted(os.listdir(folder + "/co"))
    objects = json.loads(luthier("inspect", program, "--json").stdout)["objects"]
    check(done.returncode == 0 and len(files) == len(objects) > 0, files)
    for number, (name, known) in enumerate(zip(sorted(files, key=lambda name: int(name.split(".")[1])), objects), 1):
        check(name == f"vector_add.{number}.{known['target'].replace(':', '_')}.co", name, known["target"])
        inside = json.loads(luthier("inspect", f"{folder}/co/{name}", "--json").stdout)["objects"]
        check(len(inside) == 1 and inside[0]["kernels"] == known["kernels"], name)
        with open(f"{folder}/co/{name}", "rb") as file:
            check(len(file.read()) == known["bytes"], name)
    done = luthier("inspect", program, "--extract", program)
    check(done.returncode == 1 and "cannot make the folder" in done.stderr, done.stderr)

    # A program without code for the GPU: both sides are named.
    done = luthier("run", "--gpu", "gfx1100", "--", program)
    has = ", ".join(sorted({known["target"] for known in objects}))
    if "gfx1100" not in has:
        check(f"warning: {program} has no code for gfx1100; it has code for {objects[0]['target'].split(':')[0]}" in done.stderr, done.stderr)
        check("--offload-arch=gfx1100" in done.stderr, done.stderr)
    for quiet in ("true", "sh"):
        done = luthier("run", "--gpu", "gfx1100", "--", quiet, "-c", "true")
        check(done.stderr == "", quiet, done.stderr)
    done = luthier("run", "--gpu", "gfx90a", "--", program)
    check(done.stderr == "" and done.returncode == 0, done.stderr)

    version = luthier("--version")
    check(version.returncode == 0 and version.stdout.startswith("luthier 0.") and version.stdout == luthier("version").stdout.split("\n")[0] + "\n", version)

sys.exit(1 if failures else 0)
