#!/usr/bin/env python3
"""Usage: report_formats.py BUILD DOCS

One run with every format of the report at once: all say the same, and the queries of docs/report-database.md work on the database.
"""
import csv
import glob
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile

from tool_run import check, finish

build, docs = os.path.abspath(sys.argv[1]), sys.argv[2]
PROGRAM = f"{build}/samples/reduction_tree"


def fields(data):
    """Of a protobuf message: (number, value) in their order."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        value = varint()
        if key & 7 == 2:
            value, at = data[at:at + value], at + value
        yield key >> 3, value


def slices(path):
    """Durations of the slices in a trace, by name."""
    found, begun = {}, {}
    for _, packet in fields(open(path, "rb").read()):
        packet = dict(fields(packet))
        if 11 in packet:
            event = dict(fields(packet[11]))
            if event[9] == 1:
                begun[event[11]] = (event[23].decode(), packet[8])
            elif event[9] == 2:
                name, begin = begun.pop(event[11])
                found.setdefault(name, []).append(packet[8] - begin)
    check(not begun, "slices do not end:", begun)
    return found


with tempfile.TemporaryDirectory() as folder:
    env = {**os.environ, "PMI_RANK": "3"}
    done = subprocess.run([f"{build}/bin/luthier", "run", "--gpu", "gfx90a", "--tool", "instr_count", "--instr_count.per=instruction",
                           "--tool", "opcode_histogram", "-d", folder + "/new/%env{PMI_RANK}%", "-o", "r%rank%_%pid%",
                           "-f", "text,csv,json,html,db,pftrace", "--", PROGRAM],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
    check(done.returncode == 0 and done.stderr == "", done.returncode, done.stderr)
    files = sorted(glob.glob(folder + "/new/3/r3_*"))
    check([path.rsplit(".", 1)[1] for path in files] == ["csv", "db", "html", "json", "pftrace", "txt"], files)
    base = files[0].rsplit(".", 1)[0]
    report = json.load(open(base + ".json"))
    counts = next(table for table in report["tools"] if table["tool"] == "instr_count")
    check(report["process"]["rank"] == "3" and report["process"]["command"][0] == PROGRAM, report["process"])
    check(len(counts["rows"]) > 50, counts["rows"])

    # CSV: the same rows.
    text = open(base + ".csv").read().split("\n\n")[0].split("\n", 1)
    check(text[0] == "# instr_count", text[0])
    rows = list(csv.reader(text[1].splitlines()))
    check(rows == [counts["columns"]] + [[str(row[name]) for name in counts["columns"]] for row in counts["rows"]], "CSV differs")
    # Text: the durations, and nothing that was not asked for.
    kernel = next(k for k in report["account"]["kernels"] if k["name"] == counts["rows"][0]["kernel"])
    check(kernel["launches_timed"] == kernel["launches_instrumented"] > 0 and kernel["nanoseconds"] > 0, kernel)
    check(f"{kernel['nanoseconds'] / 1e6:.3f}" in open(base + ".txt").read(), "the text has no duration")

    # HTML: the data, with each row at its place in the code.
    html = open(base + ".html").read()
    data = json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', html, re.S).group(1))
    table = next(table for table in data["tools"] if table["tool"] == "instr_count")
    check(table["rows"] == [[row[name] for name in counts["columns"]] for row in counts["rows"]], "HTML differs")
    placed = 0
    for row, identity, place in zip(table["rows"], table["kernels"], table["places"]):
        check(place is not None, "not found in the code:", row)
        function = data["code"][str(identity)]["functions"][place[0]]
        offset, assembly, block, line = next(instr for instr in function["instrs"] if instr[0] == place[1])
        check(row[1] == f"{function['name']} +{offset}: {assembly}", row, assembly)
        check(function["blocks"][block][0] <= function["instrs"].index([offset, assembly, block, line]), row)
        placed += 1
    functions = [function for code in data["code"].values() for function in code["functions"]]
    check(all(0 <= to < len(f["blocks"]) for f in functions for _, out in f["blocks"] for to in out), "an edge leads nowhere")
    check(len(data["launches"]["rows"]) == report["account"]["launches"], "launches are missing")

    # The trace: a slice for each launch, as long as the account says.
    found = slices(base + ".pftrace")
    for kernel in report["account"]["kernels"]:
        if kernel["instrumented"]:
            check(len(found[kernel["name"]]) == kernel["launches"] and sum(found[kernel["name"]]) == kernel["nanoseconds"], kernel["name"], found)

    # The database: whole, with the same rows, and the page's queries.
    database = sqlite3.connect(base + ".db")
    query = lambda text: database.execute(text).fetchall()
    check(query("PRAGMA integrity_check") == [("ok",)] and query("PRAGMA foreign_key_check") == [], "the database is damaged")
    check(query("SELECT kernel, instruction, instructions, lanes FROM tool_instr_count ORDER BY rowid") ==
          [tuple(row[name] for name in counts["columns"]) for row in counts["rows"]], "the database differs")
    check(query("SELECT count(*) FROM tool_instr_count JOIN instructions USING (function_id, offset)") == [(placed,)], "rows without an instruction")
    check(query("SELECT sum(duration) FROM kernels WHERE instrumented") == [(sum(k["nanoseconds"] for k in report["account"]["kernels"]),)], "durations differ")
    queries = re.findall(r"```sql\n(.*?)```", open(docs).read(), re.S)
    check(len(queries) >= 10, "the page has too few queries:", len(queries))
    for text in queries:
        result = query(text)
        empty = "-- none is good" in text
        check(empty or result, "a query of the page finds nothing:", text)

    # Options from a file, and what cannot be: each says so before the application starts.
    options = {"tool": ["instr_count"], "output_directory": folder + "/file", "output-file": "x", "output-format": ["json", "csv"],
               "instr_count.per": "kernel", "gpu": "gfx90a"}
    json.dump(options, open(folder + "/options.json", "w"))
    luthier = [f"{build}/bin/luthier", "run", "-i", folder + "/options.json"]
    done = subprocess.run([*luthier, "--instr_count.per=launch", "-f", "json", "--", PROGRAM], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    check(done.returncode == 0 and os.listdir(folder + "/file") == ["x.json"], "the command line comes first:", done.stdout)
    check(json.load(open(folder + "/file/x.json"))["tools"][0]["columns"][1] == "launch", "the command line comes first")

    def refused(message, *arguments, changed=None):
        json.dump(changed if changed is not None else {"tool": "instr_count", "gpu": "gfx90a"}, open(folder + "/options.json", "w"))
        done = subprocess.run([*luthier, *arguments, "--", "true"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        check(done.returncode in (2, 125) and message in done.stdout, message, done.returncode, done.stdout)

    refused("there is no option 'formt'; did you mean 'format'?", changed={"formt": "json"})
    refused("expected text, a number, true, false, or a list of texts", changed={"tool": {"name": "instr_count"}})
    refused("expected an object", changed=[1])
    refused("requires --tool", changed={"format": "json"})
    refused("instr_count.per needs --tool", changed={"instr_count.per": "launch"})
    refused("several formats need a name for their files", "-f", "text,json")
    refused("a report as html needs a file", "-f", "html")
    refused("'xml' is not a format of reports", "-f", "xml")
    refused("-o /tmp/x is not a name in the folder of -d", "-d", folder, "-o", "/tmp/x")
    refused("cannot make the folder", "-d", folder + "/options.json/x")
finish("all formats say the same")
