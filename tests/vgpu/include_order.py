#!/usr/bin/env python3
"""Usage: include_order.py ROOT

The folders of src/vgpu are layers (docs/architecture.md): each includes only what it says here, so that none can
depend on itself by way of another. Fails with the includes that break the order, and on a folder that is not listed.
"""
import pathlib
import re
import sys

LAYERS = [  # from the bottom up: a folder, and what it may include beside itself
    ("memory", []),
    ("state", ["memory"]),
    ("exec", ["memory", "state"]),
    ("translate", ["state", "exec"]),
    ("wave", ["memory", "state", "exec", "translate"]),
    (".", ["exec", "wave"]),
    ("queue", ["memory", "wave"]),
    ("api", ["memory", "state", "wave"]),
    ("driver", ["memory", "state", "translate", "wave", "queue"]),
    ("preload", ["driver"]),
]

root = pathlib.Path(sys.argv[1]) / "src" / "vgpu"
allowed = dict(LAYERS)
order = [name for name, _ in LAYERS]
for name, below in LAYERS:
    for other in below:
        if order.index(other) >= order.index(name):
            sys.exit(f"{name} may not include {other}: the list must go from the bottom up")

problems = []
looked = 0
for path in sorted(root.rglob("*")):
    if path.suffix not in (".h", ".cc", ".c"):
        continue
    parts = path.relative_to(root).parts
    folder = parts[0] if len(parts) > 1 else "."
    if folder not in allowed:
        problems.append(f"{path}: the folder {folder} has no place in the order")
        continue
    looked += 1
    for number, line in enumerate(path.read_text().splitlines(), 1):
        found = re.match(r'\s*#\s*include "vgpu/(?:([^/"]+)/)?[^/"]+"', line)
        if not found:
            continue
        other = found[1] or "."
        if other != folder and other not in allowed[folder]:
            problems.append(f"{path.relative_to(root.parent)}:{number}: {folder} includes {other}")
print("\n".join(problems))
if looked < 100:
    sys.exit(f"only {looked} sources in {root}: is it the project's folder?")
if problems:
    sys.exit(f"{len(problems)} includes break the order of tests/vgpu/include_order.py")
print(f"{looked} sources, all in order")
