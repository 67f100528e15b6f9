#!/usr/bin/env python3
"""Usage: command.py LUTHIER PROGRAMS

`luthier check` as a command: exit statuses, options, files, and findings of processes that end in every way.
"""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile

luthier, programs = sys.argv[1:]
endings = programs + "/check_endings"
failures = []
# A folder of its own for temporary files: what is left there was left by these runs, not by other tests.
temporary = tempfile.TemporaryDirectory()
os.environ["TMPDIR"] = tempfile.tempdir = temporary.name


def check(arguments, how, program=endings):
    command = [luthier, "check", *arguments, "--", program, how]
    return subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)


def expect(good, what, ended):
    if not good:
        failures.append(what)
        print(f"FAILED: {what}: status {ended.returncode}\n{ended.stdout}{ended.stderr}")


GPU = ["--gpu", "gfx90a"]

# Names of checks.
ended = check(["speed", *GPU], "clean")
expect(ended.returncode == 2 and "there is no check 'speed'; expected one of: memory, race, barrier, init, wait, or all" in ended.stderr, "an unknown check", ended)
ended = subprocess.run([luthier, "check", "memory", *GPU], capture_output=True, text=True, check=False)
expect(ended.returncode == 2 and "No application" in ended.stderr, "no application", ended)
ended = check(["memory", *GPU], "", "/nowhere/app")
expect(ended.returncode == 127 and "not found" in ended.stderr and "kernels" not in ended.stderr, "an application that is not there", ended)

# Exit statuses.
ended = check(["all", *GPU], "clean")
expect(ended.returncode == 0 and re.search(r"0 findings; \d kernels?, \d launch(es)? checked for: memory, race, barrier, init, wait", ended.stderr), "a clean run", ended)
expect(check(["memory", *GPU], "status").returncode == 7, "the application's own status", ended)
for how in ("end", "_exit", "abort", "kill", "child", "both"):
    ended = check(["memory", *GPU], how)
    expect(ended.returncode == 1, f"the status after {how}", ended)
    expect("out-of-bounds: write of 4 bytes, 0 bytes behind the end of 256 bytes of device memory" in ended.stderr, f"the finding of {how}", ended)
    expect(re.search(r"1 finding; \d kernels?, \d launch(es)? checked", ended.stderr), f"the summary of {how}", ended)
ended = check(["memory", *GPU, "--error-exitcode", "42"], "end")
expect(ended.returncode == 42, "--error-exitcode", ended)
ended = check(["memory", *GPU, "--error-exitcode", "0"], "end")
expect(ended.returncode == 0 and "1 finding" in ended.stderr, "--error-exitcode 0", ended)
ended = check(["memory", *GPU], "nothing")
expect(ended.returncode == 0 and "not checked: no kernel was launched" in ended.stderr, "a run without kernels", ended)
ended = check(["memory", *GPU, "--strict"], "nothing")
expect(ended.returncode == 1, "--strict without kernels", ended)
ended = check(["memory", *GPU, "--strict"], "clean")
expect(ended.returncode == 0, "--strict", ended)

# By hooks.
HOOKS = [*GPU, "--instrument"]
for how in ("_exit", "kill", "child"):
    ended = check(["memory", *HOOKS], how)
    expect(ended.returncode == 1 and "out-of-bounds: write of 4 bytes, 0 bytes behind the end of 256 bytes" in ended.stderr, f"the finding of {how} by hooks", ended)
    expect("checked for: memory, by hooks" in ended.stderr and "not checked" not in ended.stderr, f"the summary of {how} by hooks", ended)
ended = check(["memory", *HOOKS, "--strict", "--leaks"], "freed")
expect(ended.returncode == 0, "a clean run by hooks", ended)
ended = check(["memory", *HOOKS, "--leaks"], "leaks")
expect(ended.returncode == 1 and "3 findings" in ended.stderr, "--leaks by hooks", ended)
ended = check(["memory", *HOOKS, "--strict"], "nothing")
expect(ended.returncode == 1 and ended.stderr.endswith("not checked: no kernel was launched\n"), "a run without kernels by hooks", ended)
for strict, status in (([], 0), (["--strict"], 1)):
    ended = check(["memory", *HOOKS, *strict], "full")
    expect(ended.returncode == status and re.search(r"not checked: .*full\(int\*, int\): 1 of its 1 launches, which ran without hooks", ended.stderr) and "1 launch checked" in ended.stderr, f"a launch without hooks {strict}", ended)
for checks, said in (("race", "race has no instrumented form so far, only memory has"), ("init,memory,wait", "init, wait have no instrumented form so far, only memory has")):
    ended = check([checks, *HOOKS], "clean")
    expect(ended.returncode == 125 and said in ended.stderr and "PASS" not in ended.stdout, f"{checks} by hooks", ended)

# Leaks.
ended = check(["memory", *GPU, "--leaks"], "leaks")
expect(ended.returncode == 1 and "3 findings" in ended.stderr, "--leaks", ended)
for what in ("1000 bytes of device memory", "2000 bytes of pinned host memory", "3000 bytes of managed memory"):
    expect(f"leak: {what} were never freed" in ended.stderr, f"the leak of {what}", ended)
expect("hipMallocManaged in libamdhip64" in ended.stderr, "the stack of a leak", ended)
ended = check(["memory", *GPU, "--leaks"], "freed")
expect(ended.returncode == 0 and "0 findings" in ended.stderr, "--leaks without any", ended)
ended = check(["memory", *GPU], "leaks")
expect(ended.returncode == 0, "leaks without --leaks", ended)

# Ended by a signal without findings: this process ends so too.
sleeping = subprocess.Popen([luthier, "check", "memory", *GPU, "--", "sh", "-c", "echo up; exec sleep 60"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
sleeping.stdout.readline()
sleeping.send_signal(signal.SIGTERM)
sleeping.communicate(timeout=20)
expect(sleeping.returncode == -signal.SIGTERM, "a signal", sleeping)

with tempfile.TemporaryDirectory() as folder:
    # Suppressions.
    path = folder + "/known"
    for pattern, suppressed in (("out-of-bounds:*::store(int\\*)", True), ("*:_Z*storeEPi", True), ("use-after-free:*", False), ("out-of-bounds:store*", False)):
        with open(path, "w") as file:
            file.write(f"# known\n\n{pattern}  # because\n")
        ended = check(["memory", *GPU, "--suppressions", path], "end")
        expect(ended.returncode == (0 if suppressed else 1), f"the suppression {pattern}", ended)
        expect(("; 1 suppressed" in ended.stderr) == suppressed, f"the summary with the suppression {pattern}", ended)
    with open(path, "w") as file:
        file.write("no-such-class:*\n")
    ended = check(["memory", *GPU, "--suppressions", path], "end")
    expect(ended.returncode == 125 and "there is no class 'no-such-class'" in ended.stderr, "a wrong suppression", ended)

    # Files.
    ended = check(["memory", *GPU, "--sarif", folder + "/sarif", "--json", folder + "/json", "--report", folder + "/text"], "end")
    expect("finding" not in ended.stderr, "--report", ended)
    expect("1 finding; " in open(folder + "/text").read(), "the report's file", ended)
    sarif = json.load(open(folder + "/sarif"))
    run = sarif["runs"][0]
    result = run["results"][0]
    expect(sarif["version"] == "2.1.0" and result["ruleId"] == "out-of-bounds" and result["level"] == "error", "SARIF's result", ended)
    expect(result["locations"][0]["logicalLocations"][0]["fullyQualifiedName"].startswith("(anonymous namespace)::store(int*)+0x"), "SARIF's location", ended)
    expect(run["invocations"][0]["exitCode"] == 1, "SARIF's invocation", ended)
    expect("out-of-bounds" in [rule["id"] for rule in run["tool"]["driver"]["rules"]], "SARIF's rules", ended)
    again = folder + "/again"
    check(["memory", *GPU, "--sarif", again], "end")
    expect(json.load(open(again))["runs"][0]["results"][0]["partialFingerprints"] == result["partialFingerprints"], "SARIF's fingerprint", ended)

left = [name for name in os.listdir(temporary.name) if name.startswith("luthier-check-")]
if left:
    failures.append(f"left behind: {left}")
if failures:
    sys.exit("\n".join(failures))
print("all as expected")
