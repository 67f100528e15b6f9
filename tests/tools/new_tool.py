#!/usr/bin/env python3
"""Usage: new_tool.py CMAKE PREFIX

`luthier new` of the installation in PREFIX: the skeleton builds with nothing but find_package(luthier), and its own test
runs it and passes; the test fails if the tool counts something else.
"""
import os
import subprocess
import sys
import tempfile

cmake, prefix = sys.argv[1:]


def call(*command, status=0, **more):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    if done.returncode != status:
        sys.exit(f"{' '.join(command)}\n{done.stdout}\nexited with status {done.returncode}")
    return done.stdout


with tempfile.TemporaryDirectory() as folder:
    env = {**os.environ, "LUTHIER_CACHE": folder + "/cache"}
    said = call(prefix + "/bin/luthier", "new", "block_count", cwd=folder)
    tool = folder + "/block_count"
    # The commands that it prints are those that work.
    commands = [line.strip() for line in said.splitlines() if line.startswith("  ")]
    call("bash", "-ec", "\n".join(commands[:3]), cwd=folder, env=env)
    with open(tool + "/block_count.cc") as file:
        text = file.read()
    with open(tool + "/block_count.cc", "w") as file:
        file.write(text.replace("at.entry(block).call(hooks::enter);", "at.entry(block).call(hooks::enter).call(hooks::enter);"))
    call(cmake, "--build", tool + "/build")
    wrong = call("ctest", "--test-dir", tool + "/build", "--output-on-failure", status=8, env=env)
    if "straight(int*),1,16" not in wrong:
        sys.exit(f"the skeleton's test does not say what is wrong:\n{wrong}")
    for name, message in (("block_count", "exists already"), ("a-b", "cannot be the name of a tool")):
        done = subprocess.run([prefix + "/bin/luthier", "new", name], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode == 0 or message not in done.stdout:
            sys.exit(f"luthier new {name}: {done.stdout}")
