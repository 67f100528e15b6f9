#!/usr/bin/env python3
"""Runs clang-tidy over src/ and tools/, or over the given files, with the checks of .clang-tidy. Exits with status 1 if it has anything to say.

Most of clang-tidy's time goes into headers, which every source brings along anew. So the sources of a folder are looked at together: a unit is a
generated file that includes the headers of all, then the sources, as in a unity build. Names that several sources define for themselves are told apart
by macros, which is why headers come first. A source that does not compile beside the others all the same is looked at alone. The path-sensitive
analyzer gains nothing from units and takes an hour, so it runs only when asked.

The build folder (LUTHIER_BUILD_DIR, default: build) must have been built: clang-tidy needs the generated headers.
"""

import argparse
import functools
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

# What a source defines for itself stands in an unnamed namespace, its definitions in the first column. What this misses costs a second look at a source.
OWN_PART = re.compile(r"^namespace \{$(.*?)^\}\s*// namespace$", re.M | re.S)
OWN_NAME = re.compile(
    r"^(?!namespace|using|return|[#/}\s])(?:template <[^\n]*?> )?(?:\[\[[^\]\n]*\]\] )*(?:[\w:<>,*&\[\] ]*?[ *&])??([A-Za-z_]\w*)(?: final)?(?:\(|\[| = |\{| \{| : |;)",
    re.M)
OWN_TYPE = re.compile(r"^(?:template <[^\n]*?> )?(?:struct|class|union|enum class|enum|using) (\w+)", re.M)
NOT_COMPILED = re.compile(r"^(\S+?):\d+:\d+: error: .*\[clang-diagnostic-", re.M)


@functools.cache
def namesIn(header):
    file = ROOT / "src" / header
    return OWN_NAME.findall(file.read_text()) if file.exists() else []


class Source:
    def __init__(self, entry):
        self.path = pathlib.Path(entry["file"])
        self.folder = entry["directory"]
        self.readFlags(shlex.split(entry["command"]))
        text = self.path.read_text()
        own = {name for part in OWN_PART.findall(text) for name in OWN_NAME.findall(part)}
        declared = {name for header in re.findall(r'^#include "(.*)"$', text, re.M) for name in namesIn(header)}
        # Macros know no scopes: what is also the name of a member, or of something in a header or another namespace, keeps its name.
        self.fixedNames = {name for name in own if name in declared or re.search(rf"(\.|->|::){name}\b", text)}
        self.otherNames = own - self.fixedNames
        # clang-tidy has no eye for the spelling of what comes out of a macro.
        types = {name for part in OWN_PART.findall(text) for name in OWN_TYPE.findall(part)}
        self.misspelt = sorted(name for name in own if "_" not in name and name[0].isupper() != (name in types))
        self.macros = re.findall(r"^#define (\w+)", text, re.M)
        self.headers = [self.locate(line) for line in re.findall(r'^#include .*(?:\.h"|>)$', text.split("\nnamespace ")[0], re.M)]
        # The system's elf.h defines macros with the names of LLVM's enumerators.
        self.hasElf = bool(re.search("<elf.h>|elf_tables.h|symbol_reader.h", text))
        self.hasLlvm = "llvm/" in text
        # Tools are libraries, each with the same entry points. All of LLVM's names beside all of ours are ambiguous.
        isAlone = self.path.is_relative_to(ROOT / "tools") or "\nusing namespace llvm;" in text
        # All sources behind it see the names of such a line, so it comes last.
        self.opensNamespace = bool(re.search(r"^using namespace", text, re.M))
        self.part = self.path if isAlone else self.path.relative_to(ROOT).parent.parts[:3]

    def readFlags(self, words):
        """Keeps what changes the meaning of the source. The build has already shown the compiler's warnings."""
        self.includes = [w + following if w == "-isystem" else w for w, following in zip(words, words[1:]) if w.startswith(("-I", "-isystem"))]
        definitions = [w[2:].partition("=") for w in words if w.startswith("-D") and not w.endswith("_EXPORTS")]
        self.definitions = {name: value for name, _, value in definitions}
        self.dialect = [w for w in words if w.startswith(("-std=", "-m"))]

    def locate(self, line):
        beside = self.path.parent / line.split('"')[1] if '"' in line else None
        return f'#include "{beside}"' if beside and beside.exists() else line


class Unit:
    def __init__(self, first):
        self.sources = []
        self.add(first)

    def add(self, source):
        self.sources = sorted([*self.sources, source], key=lambda s: s.opensNamespace)

    def takes(self, source):
        first = self.sources[0]
        if (first.part, first.dialect) != (source.part, source.dialect):
            return False
        for other in self.sources:
            if (other.hasElf and source.hasLlvm) or (other.hasLlvm and source.hasElf) or other.fixedNames & source.fixedNames:
                return False
            if any(other.definitions.get(name, value) != value for name, value in source.definitions.items()):
                return False
        return True

    def flags(self):
        definitions = {name: value for s in self.sources for name, value in s.definitions.items()}
        includes = dict.fromkeys(flag for s in self.sources for flag in s.includes)
        return [*self.sources[0].dialect, "-w", *includes, *(f"-D{name}={value}" if value else f"-D{name}" for name, value in definitions.items())]

    def text(self):
        lines = [*dict.fromkeys(line for s in self.sources for line in s.headers)]
        for number, source in enumerate(self.sources):
            others = set().union(*(s.otherNames | s.fixedNames for s in self.sources if s is not source))
            renamed = sorted(source.otherNames & others)
            lines += [f"#define {name} {name}{number}" for name in renamed]
            lines.append(f'#include "{source.path}"')
            lines += [f"#undef {name}" for name in (*renamed, *source.macros)]
        return "".join(f"{line}\n" for line in lines)


def readSources(build, wanted):
    sources = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = pathlib.Path(entry["file"])
        inTree = path.is_relative_to(ROOT / "src") or path.is_relative_to(ROOT / "tools")
        if path.suffix == ".cc" and inTree and path not in sources and (not wanted or path in wanted):
            sources[path] = Source(entry)  # some are compiled more than once
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


def run(file, unit, checks):
    own = f"{re.escape(str(ROOT))}/(src|include|tools)/.*"
    command = [TIDY, "--quiet", f"--config-file={ROOT / '.clang-tidy'}", f"--checks={checks}", f"--header-filter={own}", str(file), "--", *unit.flags()]
    done = subprocess.run(command, cwd=unit.sources[0].folder, capture_output=True, text=True)
    return done.returncode, done.stdout + ("" if done.stdout else done.stderr if done.returncode else "")


def look(number, unit, scratch, checks):
    """What clang-tidy says of a unit: empty if nothing."""
    alone, said = [], ""
    while len(unit.sources) > 1:
        file = scratch / f"unit{number}.cc"
        file.write_text(unit.text())
        code, output = run(file, unit, checks + ",-bugprone-suspicious-include")
        broken = {pathlib.Path(name) for name in NOT_COMPILED.findall(output)}
        if not broken:
            said = output if code else ""
            break
        bad = [s for s in unit.sources if s.path in broken] or unit.sources
        alone += bad
        unit.sources = [s for s in unit.sources if s not in bad]
    else:
        alone += unit.sources
    results = [run(s.path, Unit(s), checks) for s in alone]
    return said + "".join(output for code, output in results if code)


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
    bad = sum(bool(s.misspelt) for s in sources)
    for source in sources:
        for name in source.misspelt:
            print(f"{source.path}: error: {name}: types are PascalCase, all else is camelCase")
    with ThreadPoolExecutor(options.jobs) as pool:
        for said in pool.map(lambda n: look(n, units[n], scratch, checks), range(len(units))):
            bad += bool(said)
            print(said, end="", flush=True)
    print(f"clang-tidy: {len(sources)} sources in {len(units)} units, {bad} with findings")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
