# SPDX-License-Identifier: Apache-2.0
"""What the benchmarks share: single runs, alternating series, medians with their spread.

Everything that is compared runs in turn (A B C, A B C, ...) in processes of its own, so that a
machine whose speed drifts slows all of them alike.
"""

import json
import shlex
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ORRERY = ROOT / "build/release/bin/orrery"


class Failed(Exception):
    pass


def run_orrery(model, arguments, sets=None):
    """One run; what the report says of it, with the engine's statistics under "statistics"."""
    command = [str(ORRERY), "run", model, "--json", "--quiet", *arguments]
    for name, value in (sets or {}).items():
        command += ["--set", f"{name}={value}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise Failed(f"{shlex.join(command)}\n{done.stderr.strip()}")
    report = json.loads(done.stdout)
    run = report["run"]
    return {
        "rate": run["committed"] / run["seconds"]["loop"],
        "committed": run["committed"],
        "seconds": run["seconds"]["loop"],
        "efficiency": run["efficiency"],
        "fingerprint": run["fingerprint"],
        "rss": run["peak_rss_bytes"],
        "start": run["seconds"]["startup"],
        "end": run["seconds"]["shutdown"],
        "statistics": {name: s["value"] for name, s in report.get("statistics", {}).items()},
    }


class Series:
    """One thing that is measured: a name, how to run it once, what came of it."""

    def __init__(self, name, run):
        self.name, self.run, self.samples, self.failures = name, run, [], []

    def measure(self):
        try:
            self.samples.append(self.run())
        except Failed as failure:
            self.failures.append(str(failure))

    def values(self, key="rate"):
        return [s[key] if key in s else s["statistics"][key] for s in self.samples
                if key in s or key in s.get("statistics", {})]

    def median(self, key="rate"):
        values = self.values(key)
        return statistics.median(values) if values else None

    def spread(self, key="rate"):
        """Lowest and highest."""
        values = self.values(key)
        return (min(values), max(values)) if values else (None, None)

    def record(self):
        return {"name": self.name, "samples": self.samples, "failures": self.failures}


def alternate(series, rounds, label):
    """Measures each series once a round. One that failed is not tried again."""
    watched = sys.stderr.isatty()
    for turn in range(rounds):
        for one in series:
            if watched:
                print(f"\r  {label}: round {turn + 1} of {rounds}, {one.name:<40}", end="",
                      file=sys.stderr, flush=True)
            if not one.failures:
                one.measure()
    if watched:
        print("\r" + " " * 110 + "\r", end="", file=sys.stderr, flush=True)


def check_fingerprints(series):
    """All runs of one workload commit the same, or the figures mean nothing."""
    prints = {s["fingerprint"]: one.name for one in series for s in one.samples
              if "fingerprint" in s}
    if len(prints) > 1:
        sys.exit("bench: fingerprints differ: " +
                 ", ".join(f"{value} ({name})" for value, name in sorted(prints.items())))


def require_orrery():
    if not ORRERY.exists():
        sys.exit(f"bench: {ORRERY} is not there; ./dev build makes it")


def write_record(folder, name, record):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n")
