"""Running programs under tools, for the tests of this folder."""
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from programs import gpus

SKIP = 77


class Run:
    """How one run ended: exit code, standard output, what the tools and the virtual GPU reported."""

    def __init__(self, code, output, errors, report, stats):
        self.code, self.output, self.errors, self.report, self.stats = code, output, errors, report, stats

    def rows(self, tool):
        tables = [table for table in self.report["tools"] if table["tool"] == tool]
        return tables[0]["rows"] if tables else []

    def symbols(self):
        """Of all kernels that were launched, by name. Names that several symbols have are left as lists."""
        found = collections.defaultdict(set)
        for kernel in self.report["account"]["kernels"]:
            found[kernel["name"]].add(kernel["symbol"].removesuffix(".kd"))
        return found

    def dispatches(self):
        """What the virtual GPU executed for the application: without ROCr's own kernels."""
        return [d for d in self.stats["dispatches"] if not d["kernel"].startswith("rocr_blit")]


def run(build, app, tools=(), options=(), more=()):
    """APP on the virtual GPU under these tools, with options "NAME.option=value"."""
    with tempfile.TemporaryDirectory() as folder:
        stats, report = folder + "/stats.json", folder + "/report.json"
        arguments = ["--gpu", gpus(app[0]), "--stats", stats, *more]
        for tool in tools:
            arguments += ["--tool", tool]
        if tools:
            arguments += ["--runtime-kernels", "-o", report, "-f", "json", *("--" + option for option in options)]
        done = subprocess.run([f"{build}/bin/luthier", "run", *arguments, "--", *app], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
        if done.returncode == SKIP:
            sys.exit(SKIP)
        text = open(stats).read() if os.path.exists(stats) else ""
        reported = json.load(open(report)) if os.path.exists(report) else {}
        return Run(done.returncode, done.stdout.decode(), done.stderr.decode(), reported, json.loads(text) if text else {})


failures = 0


def check(good, *message):
    global failures
    if not good:
        failures += 1
        print("FAIL:", *message)


def expect_placed(done):
    """Every kernel instrumented, every site placed."""
    for kernel in done.report["account"]["kernels"]:
        check(kernel["instrumented"], kernel["name"], "was not instrumented:", kernel.get("skipped"))
        check(kernel["sites_asked"] == kernel["sites_placed"], kernel["name"], "has rejected sites:", kernel["sites_rejected"])
        check(kernel["launches"] == kernel["launches_instrumented"], kernel["name"], "was launched without instrumentation")


def untimed(text):
    """Without times, which a sample may print."""
    return re.sub(r"[0-9.]+ m?s\b", "", text)


def expect_same_output(done, plain):
    """The application must not notice the tool."""
    check(done.code == plain.code, "the exit code is", done.code, "instead of", plain.code, done.errors[-2000:])
    check(untimed(done.output) == untimed(plain.output), "the output differs:", done.output, "instead of", plain.output)


def finish(summary, **figures):
    """Ends the test. `figures` go to the file that LUTHIER_TEST_FIGURES names, for exactness.py."""
    print(summary)
    if path := os.environ.get("LUTHIER_TEST_FIGURES"):
        with open(path, "w") as file:
            json.dump(figures, file)
    sys.exit(1 if failures else 0)
