#!/usr/bin/env python3
"""Usage: lines.py MOST FILE ...: the files must not have more lines together, without comments and empty ones."""
import sys

lines = [line for path in sys.argv[2:] for line in open(path) if line.strip() and not line.strip().startswith("//")]
print(len(lines), "lines,", sys.argv[1], "are allowed")
sys.exit(len(lines) > int(sys.argv[1]))
