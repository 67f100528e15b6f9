#!/usr/bin/env python3
"""Runs clang-tidy over src/ and tools/, or over the given files, with the checks of .clang-tidy. Exits with status 1 if it has anything to say.

Most of clang-tidy's time goes into headers, which every source brings along anew. So sources of one CMake target are looked at together: a unit is a
generated file that includes them, as in a unity build. Sources that define the same file-local name go into different units; those that do not compile
beside the others all the same are looked at alone. The path-sensitive analyzer gains nothing from that and takes an hour, so it runs only when asked.

The build folder (LUTHIER_BUILD_DIR, default: build) must have been built: clang-tidy needs the generated headers.
"""

import argparse
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parent.parent
TIDY = "clang-tidy-19"
# Definitions begin in the first column. What this misses costs a second look at the sources of a unit, nothing else.
DEFINITION = re.compile(r"^(?!namespace|using|return|#|//)(?:[\w:<>,*&\[\]\s]+?[\s*&])(\w+)(?:\(|\[| = |\{| \{| : )", re.M)

NOT_COMPILED = re.compile(r"^(\S+?):\d+:\d+: error: .*\[clang-diagnostic-", re.M)


class Source:
    def __init__(self, entry):
        self.path = pathlib.Path(entry["file"])
        self.folder = entry["directory"]
        words = shlex.split(entry["command"])
        words = words[1:] if words[0].endswith("ccache") else words
        self.output = words.pop(words.index("-o") + 1)
        self.flags = [w for w in words[1:] if w not in ("-o", "-c", str(self.path))]
        self.target = self.output.split(".dir/")[0]
        self.names = set(DEFINITION.findall(self.path.read_text()))


class Unit:
    def __init__(self, first):
        self.sources = [first]
        self.names = set(first.names)

    def takes(self, source):
        first = self.sources[0]
        return (first.target, first.flags) == (source.target, source.flags) and not self.names & source.names

    def add(self, source):
        self.sources.append(source)
        self.names |= source.names


def readSources(build, wanted):
    sources = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = pathlib.Path(entry["file"])
        inTree = path.is_relative_to(ROOT / "src") or path.is_relative_to(ROOT / "tools")
        if path.suffix == ".cc" and inTree and (not wanted or path in wanted):
            sources.setdefault(path, Source(entry))  # some are compiled more than once
    if missing := wanted - sources.keys():
        sys.exit(f"tidy.py: not compiled, or not below src/ or tools/: {', '.join(map(str, sorted(missing)))}")
    return list(sources.values())


def makeUnits(sources):
    units = []
    for source in sources:
        unit = next((u for u in units if u.takes(source)), None)
        if unit:
            unit.add(source)
        else:
            units.append(Unit(source))
    return sorted(units, key=lambda u: -len(u.sources))


def run(file, source, checks):
    own = f"{re.escape(str(ROOT))}/(src|include|tools)/.*"
    command = [TIDY, "--quiet", f"--config-file={ROOT / '.clang-tidy'}", f"--checks={checks}", f"--header-filter={own}", str(file), "--", *source.flags]
    done = subprocess.run(command, cwd=source.folder, capture_output=True, text=True)
    return done.returncode, done.stdout + ("" if done.stdout else done.stderr if done.returncode else "")


def look(number, unit, scratch, checks):
    """What clang-tidy says of a unit: empty if nothing."""
    together, alone, all = unit.sources, [], ""
    while len(together) > 1:
        file = scratch / f"unit{number}.cc"
        file.write_text("".join(f'#include "{s.path}"\n' for s in together))
        code, said = run(file, together[0], checks + ",-bugprone-suspicious-include")
        broken = {pathlib.Path(name) for name in NOT_COMPILED.findall(said)}
        bad = [s for s in together if s.path in broken] if broken else []
        if not broken:
            all += said if code else ""
            break
        alone += bad or together
        together = [s for s in together if bad and s not in bad]
    else:
        alone += together
    results = [run(s.path, s, checks) for s in alone]
    return all + "".join(said for code, said in results if code)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=pathlib.Path, help="sources to look at (default: all)")
    parser.add_argument("--analyze", action="store_true", help="with the path-sensitive analyzer: an hour for all files")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count(), help="units at a time (default: all cores)")
    options = parser.parse_args()
    build = pathlib.Path(os.environ.get("LUTHIER_BUILD_DIR", ROOT / "build")).resolve()
    if not (build / "compile_commands.json").exists():
        sys.exit(f"tidy.py: {build} is not a build folder: build first (scripts/test.sh), or set LUTHIER_BUILD_DIR")
    scratch = build / "tidy"
    scratch.mkdir(exist_ok=True)
    sources = readSources(build, {f.resolve() for f in options.files})
    units = makeUnits(sources)
    checks = "" if options.analyze else "-clang-analyzer-*"
    bad = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for said in pool.map(lambda n: look(n, units[n], scratch, checks), range(len(units))):
            bad += bool(said)
            print(said, end="", flush=True)
    print(f"clang-tidy: {len(sources)} sources in {len(units)} units, {bad} with findings")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
