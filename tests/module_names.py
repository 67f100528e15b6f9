#!/usr/bin/env python3
"""Usage: module_names.py FOLDER ...

No script has the name of a module of Python's standard library: the others in its folder, and what they import, would
get it instead. Which module imports which is another matter on every system."""
import pathlib
import sys

scripts = [path for folder in sys.argv[1:] for path in pathlib.Path(folder).rglob("*.py")]
hiding = sorted(str(path) for path in scripts if path.stem in sys.stdlib_module_names)
for path in hiding:
    print(path, "hides the module of that name")
sys.exit(1 if hiding or not scripts else 0)
