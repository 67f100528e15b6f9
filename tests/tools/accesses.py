#!/usr/bin/env python3
"""Usage: accesses.py BUILD -- APP [ARG ...]

What mem_trace writes of APP must be what the virtual GPU wrote down itself, access by access.

Addresses differ from run to run, and in a run with the tool the virtual GPU sees the tool's own accesses too. So two
things are compared. With a run without the tool: which instructions accessed memory, how often and for which lanes. And
in the same run: for each site of the tool there is an instruction of that text for which the virtual GPU has the same
addresses, lane by lane, as often. Together these leave room for neither a missing nor a surplus nor a wrong access.
"""
import argparse
import collections
import json
import os
import struct
import tempfile

from tool_run import check, expect_placed, finish, run

parser = argparse.ArgumentParser(usage=__doc__)
parser.add_argument("build")
parser.add_argument("app", nargs="+")
options = parser.parse_args()


class Reader:
    """Reads the tool's file as include/luthier/mem_trace_format.h describes it."""

    def __init__(self, data):
        assert data[:8] == b"LUTHMEM\x1a" and struct.unpack("<II", data[8:16]) == (1, 0)
        self.data, self.at, self.end = data, 16, len(data)
        self.kernels, self.sites, self.records, self.totals = {}, {}, [], None
        while self.at < len(data):
            kind, size = struct.unpack("<II", self.take(8))
            self.end = self.at + size
            {1: self.kernel, 2: self.site, 3: self.accesses, 4: self.total}[kind]()
            assert self.at == self.end

    def take(self, n):
        self.at += n
        return self.data[self.at - n : self.at]

    def varint(self):
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                return value

    def zigzag(self):
        value = self.varint()
        return value >> 1 if not value & 1 else -(value + 1 >> 1)

    def text(self):
        return self.take(self.varint()).decode()

    def kernel(self):
        number = self.varint()
        self.kernels[number] = (self.text(), self.text())

    def site(self):
        number, kernel = self.varint(), self.varint()
        access, space, second = self.take(3)
        self.sites[number] = dict(kernel=kernel, access=access, space=space, second=second, bytes=self.varint(),
                                  pc=self.varint(), text=self.text())

    def total(self):
        self.totals = (self.varint(), self.varint(), self.take(1)[0])

    def accesses(self):
        last = 0
        while self.at < self.end:
            form, site, launch = self.take(1)[0], self.varint(), self.varint()
            lanes = [None, 2**64 - 1, 2**32 - 1, 1][form & 3]
            if lanes is None:
                lanes = struct.unpack("<Q", self.take(8))[0]
            last = (last + self.zigzag()) % 2**64
            active = [lane for lane in range(64) if lanes >> lane & 1]
            if form & 4:
                addresses = [last]
                for _ in active[1:]:
                    addresses.append((addresses[-1] + self.zigzag()) % 2**64)
            else:
                stride = self.zigzag()
                addresses = [(last + stride * (lane - active[0])) % 2**64 for lane in active]
            self.records.append((site, launch, lanes, tuple(addresses)))


def virtualTrace(path):
    """(kernel, pc, text, which access, lanes, addresses) of every access that happened."""
    for line in open(path):
        row = json.loads(line)
        if "addresses" not in row or row["kernel"].startswith("rocr_blit"):
            continue
        for which, key in enumerate(("addresses", "addresses2")):
            if key not in row:
                continue
            given = row[key] if isinstance(row[key], list) else [row[key]]
            lanes = sum(1 << lane for lane, address in enumerate(given) if address is not None)
            if lanes:
                yield (row["kernel"], row["pc"], row["inst"], which, lanes,
                       tuple(address for address in given if address is not None))


with tempfile.TemporaryDirectory() as folder:
    plain = run(options.build, options.app, more=["--trace-vgpu", folder + "/plain"])
    traced = run(options.build, options.app, ["mem_trace"], [f"mem_trace.file={folder}/trace"],
                 more=["--trace-vgpu", folder + "/traced"])
    check(traced.code == plain.code and traced.output == plain.output, "the application ended differently:", traced.errors[-2000:])
    expect_placed(traced)
    trace = Reader(open(folder + "/trace", "rb").read())
    check(trace.totals == (len(trace.records), 0, 1), "totals are", trace.totals, "for", len(trace.records), "records")
    report = {row["executed"] for row in traced.rows("mem_trace")}
    check(sum(row["executed"] for row in traced.rows("mem_trace")) == len(trace.records), "the report has other sums", report)

    expected = collections.Counter()
    for kernel, pc, text, which, lanes, _ in virtualTrace(folder + "/plain"):
        expected[kernel, text, which, lanes] += 1
    found = collections.Counter()
    perSite = collections.defaultdict(collections.Counter)
    for number, launch, lanes, addresses in trace.records:
        site = trace.sites[number]
        found[trace.kernels[site["kernel"]][1].removesuffix(".kd"), site["text"], site["second"], lanes] += 1
        perSite[number][lanes, addresses] += 1
    for key in sorted(set(expected) | set(found)):
        check(expected[key] == found[key], "times executed:", key, found[key], "instead of", expected[key])

    perPc = collections.defaultdict(collections.Counter)
    for kernel, pc, text, which, lanes, addresses in virtualTrace(folder + "/traced"):
        perPc[pc, text, which][lanes, addresses] += 1
    available = collections.defaultdict(list)
    for (pc, text, which), accesses in perPc.items():
        available[text, which].append(accesses)
    for number, accesses in perSite.items():
        site = trace.sites[number]
        candidates = available[site["text"], site["second"]]
        if accesses in candidates:
            candidates.remove(accesses)
        else:
            check(False, "addresses of", site, list(accesses.items())[:2], "but the virtual GPU has",
                  [list(candidate.items())[:2] for candidate in candidates])

    # A busy machine: a small ring, and a thread that takes its time. Kernels wait, and nothing is lost.
    busy = run(options.build, options.app, ["mem_trace"],
               ["mem_trace.slots=64", "mem_trace.pause=500", f"mem_trace.file={folder}/busy"])
    all = Reader(open(folder + "/busy", "rb").read())
    check(busy.report["account"]["records_lost"] == 0, "lost on a busy machine:", busy.report["account"]["records_lost"])
    check(all.totals == (len(trace.records), 0, 1), "totals are", all.totals, "instead of", len(trace.records), "records")
    check(len(all.records) == len(trace.records), len(all.records), "records instead of", len(trace.records))
    check(busy.output == plain.output, "the application ended differently:", busy.errors[-2000:])

    # The same with kernels that do not wait: what is not there is counted.
    short = run(options.build, options.app, ["mem_trace"],
                ["mem_trace.slots=64", "mem_trace.pause=100000", "mem_trace.full=drop", f"mem_trace.file={folder}/short"])
    few = Reader(open(folder + "/short", "rb").read())
    lost = short.report["account"]["records_lost"]
    check(lost > 0, "nothing was dropped: the ring was not too small")
    check(few.totals == (len(few.records), lost, 1), "totals are", few.totals, "for", len(few.records), "records and", lost, "lost")
    check(len(few.records) + lost == len(trace.records), len(few.records), "records and", lost, "lost make", len(trace.records))
    check(short.output == plain.output, "the application ended differently:", short.errors[-2000:])

    # A full disk: the application goes on, and the user is told.
    full = run(options.build, options.app, ["mem_trace"], ["mem_trace.slots=64", "mem_trace.file=/dev/full"])
    check(full.output == plain.output, "the application ended differently:", full.errors[-2000:])
    check("/dev/full: No space left on device" in full.errors, "a full disk is not mentioned:", full.errors[-2000:])
finish(f"{len(trace.records)} records of {len(perSite)} sites; {lost} are dropped from a ring of 64 if kernels do not wait")
