#!/usr/bin/env python3
"""Usage: documented_messages.py SOURCE_FOLDER

The messages of refused hooks in docs/hooks.md (the last column of tables with a column `message`) must be messages of
the code: each must be a string literal in src/hook or src/rewrite, or the assembler's, with anything in the place of {},
behind what the code puts before it. And a test must expect it: four words of it in a row are in a file of tests.
"""
import glob
import re
import sys

root = sys.argv[1]
LITERAL = r'"(?:[^"\\\n]|\\.)*"'


def literals():
    for path in glob.glob(root + "/src/hook/**/*", recursive=True) + glob.glob(root + "/src/rewrite/*") + [
            root + "/src/isa/assembler.cc"]:
        if path.endswith((".cc", ".h")):
            text = re.sub(r"^\s*//.*$", "", open(path).read(), flags=re.M)
            for run in re.findall(rf"{LITERAL}(?:\s*{LITERAL})*", text):
                yield "".join(part[1:-1] for part in re.findall(LITERAL, run)).replace('\\"', '"')


def messages():
    column = False
    for number, line in enumerate(open(root + "/docs/hooks.md"), 1):
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]
        if not cells:
            column = False
        elif cells[-1] == "message":
            column = True
        elif column and not re.fullmatch("-+", cells[-1]):
            yield number, cells[-1]


def pattern(literal):
    return "".join(".+" if part == "{}" else re.escape(part) for part in re.split(r"(\{[^{}]*\})", literal)
                   for part in (["{}"] if re.fullmatch(r"\{[^{}]*\}", part) else [part]))


LEAST = 12  # characters: shorter literals are joints
own = [literal.strip() for literal in set(literals())]
own = [literal for literal in own if len(re.sub(r"\{[^{}]*\}", "", literal)) >= LEAST]
tests = "\n".join(re.sub(r'"\s*"', "", open(path).read()) for path in glob.glob(root + "/tests/**/*.*", recursive=True)
                  if path.endswith((".cc", ".h", ".py", ".txt")))
# "hook watch " and its like come from elsewhere in the code than what follows.
PREFIX = r"(?:(?:hook \S+ |hook \S+: |the assembly |line \d+: .*: inserted assembly |line \d+: .*: |argument \d+: |the hook needs .*: |\d+ vector registers would have to be saved: )?)"
known = [(literal, re.compile(PREFIX + pattern(literal))) for literal in own]
failures = checked = 0
for number, cell in messages():
    text = re.fullmatch("`(.*)`", cell)
    if not text:
        failures += 1
        print(f"docs/hooks.md:{number}: no message in quotes: {cell}")
        continue
    checked += 1
    found = [literal for literal, regex in known if regex.fullmatch(text[1])]
    pieces = [" ".join(words[n:n + 4]) for literal in found for piece in re.split(r"\{[^{}]*\}", literal)
              for words in [piece.split()] for n in range(max(1, len(words) - 3)) if len(" ".join(words)) >= LEAST]
    if not found:
        failures += 1
        print(f"docs/hooks.md:{number}: no such message in the code: {text[1]}")
    elif not any(piece in tests for piece in pieces):
        failures += 1
        print(f"docs/hooks.md:{number}: no test expects: {text[1]}")
print(f"{checked} messages, {failures} failures")
sys.exit(failures != 0 or checked < 30)
