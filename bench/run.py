#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The project's benchmarks: PHOLD against our own sequential engine and, if given, other simulators.

Everything that is compared runs in turn (A B C, A B C, ...) in processes of its own, so that a
machine whose speed drifts slows all of them alike; medians and spread are printed, a JSON and a
picture are left. Bars are printed with what was measured, met or not; nothing fails on a time.

Another simulator takes part through a command that prints "rate=NUMBER" (committed events per
second) for the same workload:

  ./dev bench --peer 'rootsim serial=./run-rootsim serial 8192' --peer '...'
"""

import argparse
import re
import statistics
import subprocess
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

from harness import (ROOT, Failed, Series, alternate, check_fingerprints,  # noqa: E402
                     require_orrery, run_orrery, write_record)

# sizeof the LP object of the phold model with an empty state, as the model's own share of memory.
PHOLD_LP_BYTES = 64


def run_phold(arguments):
    return run_orrery("phold", arguments)


def run_peer(command):
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    found = re.search(r"rate=([0-9.eE+]+)", done.stdout)
    if done.returncode != 0 or not found:
        raise Failed(f"{command}: no rate=NUMBER in its output")
    return {"rate": float(found.group(1))}


def row(one):
    if not one.samples:
        return f"  {one.name:<34} failed: {one.failures[0].splitlines()[0]}"
    low, high = one.spread()
    text = f"  {one.name:<34} {one.median() / 1e6:>9.2f} {low / 1e6:>9.2f} {high / 1e6:>9.2f}"
    efficiency = one.median("efficiency")
    return text + (f" {100 * efficiency:>8.1f} %" if efficiency is not None else "")


def table(title, series):
    print(f"\n{title}")
    print(f"  {'':<34} {'median':>9} {'lowest':>9} {'highest':>9} efficiency   (million committed events/s)")
    for one in series:
        print(row(one))
    check_fingerprints(series)


class Bars:
    """What the project promised itself, beside what was measured."""

    def __init__(self):
        self.rows = []

    def add(self, what, value, bar, unit="", at_most=False):
        if value is None:
            return
        met = value <= bar if at_most else value >= bar
        self.rows.append({"what": what, "measured": value, "bar": bar, "met": met, "unit": unit,
                          "at_most": at_most})

    def ratio(self, what, a, b, bar):
        if a and b and a.median() and b.median():
            self.add(what, a.median() / b.median(), bar, "x")

    def show(self):
        print("\nBars")
        for r in self.rows:
            sign = "<=" if r["at_most"] else ">="
            print(f"  {'met   ' if r['met'] else 'MISSED'} {r['what']:<58} {r['measured']:>9.2f} {r['unit']:<5}"
                  f" ({sign} {r['bar']:g})")


def classic(options, bars):
    """The workload for which figures of other simulators are published."""
    until = ["--until", f"{options.seconds * 1500:.0f}s"]
    sequential = Series("sequential", lambda: run_phold(["--engine", "sequential", *until]))
    workers = [Series(f"timewarp, {n} worker{'s' if n > 1 else ''}",
                      lambda n=n: run_phold(["--engine", "timewarp", "--workers", str(n), *until]))
               for n in options.workers]
    peers = [Series(name, lambda c=c: run_peer(c)) for name, c in options.peers]
    everything = [sequential, *workers, *peers]
    alternate(everything, options.rounds, "classic")
    table("PHOLD, 8192 LPs, one event each, remote 0.25, mean 1, lookahead 0", everything)
    bars.add("sequential, million events/s", (sequential.median() or 0) / 1e6, 10)
    by_count = dict(zip(options.workers, workers))
    bars.ratio("timewarp with 1 worker over sequential", by_count.get(1), sequential, 0.6)
    bars.ratio("timewarp with 2 workers over sequential", by_count.get(2), sequential, 1.2)
    for peer in peers:
        if "rootsim serial" in peer.name:
            bars.ratio("sequential over ROOT-Sim serial", sequential, peer, 4)
        if "ross seq" in peer.name:
            bars.ratio("sequential over ROSS sequential", sequential, peer, 6)
        if "rootsim tw 2" in peer.name:
            bars.ratio("timewarp with 2 workers over ROOT-Sim with 2", by_count.get(2), peer, 3)
    return everything


def coarse(options, bars):
    """Events that cost about 5 us: here a parallel run has to pay."""
    arguments = ["--until", f"{options.seconds * 12:.0f}s", "--set", f"work={options.work}"]
    sequential = Series("sequential, 5 us", lambda: run_phold(["--engine", "sequential", *arguments]))
    two = Series("timewarp, 2 workers, 5 us",
                 lambda: run_phold(["--engine", "timewarp", "--workers", "2", *arguments]))
    alternate([sequential, two], options.rounds, "coarse")
    table(f"The same with a busy loop of {options.work} steps "
          f"({1e6 / (sequential.median() or 1):.2f} us an event)", [sequential, two])
    bars.ratio("timewarp with 2 workers over sequential, 5 us", two, sequential, 1.9)
    return [sequential, two]


def million(options, bars):
    """A million LPs: memory, rate, start and end."""
    count = 1_000_000
    series = []
    for engine, workers in (("sequential", 1), ("timewarp", 1), ("timewarp", 2)):
        common = ["--engine", engine, "--workers", str(workers)]
        large = Series(f"{engine}, {workers} worker{'s' if workers > 1 else ''}, 10^6 LPs",
                       lambda c=common: run_phold([*c, "--until", "5s", "--set", f"lps={count}"]))
        small = run_phold([*common, "--until", "5s", "--set", "lps=1000"])
        series.append((large, small))
    alternate([s for s, _ in series], max(options.rounds // 2, 1), "million")
    table("PHOLD with 1,000,000 LPs, one event each", [s for s, _ in series])
    print(f"  {'':<34} {'bytes a LP':>12} {'start s':>9} {'end s':>9}")
    for large, small in series:
        if not large.samples:
            continue
        each = (large.median("rss") - small["rss"]) / (count - 1000) - PHOLD_LP_BYTES
        edges = large.median("start") + large.median("end")
        print(f"  {large.name:<34} {each:>12.0f} {large.median('start'):>9.2f} {large.median('end'):>9.2f}")
        bars.add(f"{large.name}: bytes a LP above its state", each, 300, "B", at_most=True)
        bars.add(f"{large.name}: start and end", edges, 2, "s", at_most=True)
    return [s for s, _ in series]


def picture(groups, path):
    figure, axes = plt.subplots(1, len(groups), figsize=(5.2 * len(groups), 4.2), squeeze=False)
    for axis, (name, series) in zip(axes[0], groups.items()):
        shown = [s for s in series if s.samples]
        rates = [[x["rate"] / 1e6 for x in s.samples] for s in shown]
        medians = [statistics.median(r) for r in rates]
        spread = [[m - min(r) for m, r in zip(medians, rates)],
                  [max(r) - m for m, r in zip(medians, rates)]]
        axis.barh([s.name for s in shown], medians, xerr=spread, color="#4878a8", ecolor="#333333",
                  capsize=3)
        axis.invert_yaxis()
        axis.set_xlabel("million committed events/s\n(median, lowest to highest)")
        axis.set_title(name)
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="./dev bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=["classic", "coarse", "million"], action="append",
                        help="run this part only; may be repeated")
    parser.add_argument("--rounds", type=int, default=5, help="alternating rounds (5)")
    parser.add_argument("--seconds", type=float, default=1.0,
                        help="length of a run, roughly, on a current core (1)")
    parser.add_argument("--workers", type=lambda t: [int(n) for n in t.split(",")], default=[1, 2],
                        help="worker counts of the classic part (1,2)")
    parser.add_argument("--work", type=int, default=5000, help="busy loop of the coarse part (5000)")
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=COMMAND",
                        help="another simulator on the classic workload; may be repeated")
    parser.add_argument("--out", type=Path, default=ROOT / "results/bench",
                        help="folder for bench.json and bench.png (results/bench)")
    options = parser.parse_args()
    if options.rounds < 1 or options.seconds <= 0:
        parser.error("--rounds must be at least 1 and --seconds positive")
    options.peers = []
    for peer in options.peer:
        name, separator, command = peer.partition("=")
        if not separator or not command:
            parser.error(f"--peer '{peer}' is not NAME=COMMAND")
        options.peers.append((name, command))
    return options


def main():
    options = parse_arguments()
    require_orrery()
    parts = {"classic": classic, "coarse": coarse, "million": million}
    bars, groups = Bars(), {}
    for name, part in parts.items():
        if not options.only or name in options.only:
            groups[name] = part(options, bars)
    bars.show()
    write_record(options.out, "bench",
                 {"bars": bars.rows, "series": {group: [s.record() for s in series]
                                                for group, series in groups.items()}})
    picture(groups, options.out / "bench.png")
    print(f"\n{options.out}: bench.json, bench.png")


if __name__ == "__main__":
    try:
        main()
    except Failed as failure:
        sys.exit(f"bench: {failure}")
    except KeyboardInterrupt:
        sys.exit(130)
