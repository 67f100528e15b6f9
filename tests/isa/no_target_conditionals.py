#!/usr/bin/env python3
"""Usage: no_target_conditionals.py ROOT

Facts about targets are fields of isa::Target. Fails if a source outside of src/isa asks for a target's version or
encoding family instead, with the places. Names of single targets are allowed in tests and in tables of products
(src/vgpu/driver/gpu_models.cc), which are about them.
"""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
asks = re.compile(r"\bEncodingFamily\b|\bTargetVersion\b|[tT]arget(?:_|\(\))?(?:\.|->)(?:version|encoding)\b")
named = re.compile(r'"gfx[0-9]')
tables = {"src/vgpu/driver/gpu_models.cc"}
problems = []
looked = 0
for folder in ("src", "include", "tools", "bench", "tests"):
    for path in sorted((root / folder).rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.suffix not in (".cc", ".h", ".hip", ".c") or name.startswith(("src/isa/", "tests/isa/")):
            continue
        looked += 1
        for number, line in enumerate(path.read_text().splitlines(), 1):
            code = line.split("//")[0]
            conditional = named.search(code) and re.search(r"[=!]=|starts_with|find\(", code)
            if asks.search(code) or (conditional and folder in ("src", "include") and name not in tables):
                problems.append(f"{name}:{number}: {line.strip()}")
print("\n".join(problems))
if looked < 100:
    sys.exit(f"only {looked} sources in {root}: is it the project's folder?")
if problems:
    sys.exit(f"{len(problems)} places ask which target it is; ask for the fact (src/isa/target.h)")
print(f"{looked} sources, none asks")
