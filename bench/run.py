#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""PHOLD: Time Warp against the sequential engine and other simulators.

Compared runs alternate. The command prints medians and spread, and writes a JSON file and a picture.
It prints goals beside the measured figures, met or not; no time makes the command fail.

Another simulator takes part through a command that prints "rate=NUMBER" (committed events per
second) for the same workload:

  ./dev bench --peer 'rootsim serial=./run-rootsim serial 8192' --peer '...'
"""

import re

from harness import (Bars, Failed, Series, Table, alternate, check_fingerprints, command, compare,
                     launch, numbers, panels, parser, require, run_orrery, save_picture,
                     write_record)

# sizeof the LP object of the phold model with an empty state, as the model's own share of memory.
PHOLD_LP_BYTES = 64


def phold(options, name, arguments):
    return Series(name, lambda: run_orrery("phold", arguments, build=options.build))


def run_peer(words):
    out, _, _ = launch(words, shell=True)
    found = re.search(r"rate=([0-9.eE+]+)", out)
    if not found:
        raise Failed(f"{words}: no rate=NUMBER in its output")
    return {"rate": float(found.group(1))}


def millions(value):
    return f"{value / 1e6:.2f}"


def show(title, series):
    print(f"\n{title}")
    table = Table(("", 34, ""), ("median", 9, millions), ("lowest", 9, millions),
                  ("highest", 9, millions), ("efficiency", 10, ".1%"))
    table.head("   (million committed events/s)")
    for one in series:
        if one.samples:
            table.row(one.name, one.median(), *one.spread(), one.median("efficiency"))
        else:
            table.failed(one)
    check_fingerprints(series)


def classic(options, bars):
    """The workload for which figures of other simulators are published."""
    until = ["--until", f"{options.seconds * 1500:.0f}s"]
    sequential = phold(options, "sequential", ["--engine", "sequential", *until])
    workers = [phold(options, f"timewarp, {n} worker{'s' if n > 1 else ''}",
                     ["--engine", "timewarp", "--workers", n, *until]) for n in options.workers]
    peers = [Series(name, lambda c=c: run_peer(c)) for name, c in options.peers]
    everything = [sequential, *workers, *peers]
    alternate(everything, options.rounds, "classic")
    show("PHOLD, 8192 LPs, one event each, remote 0.25, mean 1, lookahead 0", everything)
    bars.add("sequential, million events/s", (sequential.median() or 0) / 1e6, 10)
    by_count = dict(zip(options.workers, workers))
    bars.ratio("timewarp with 1 worker over sequential", compare(by_count.get(1), sequential), 0.6)
    bars.ratio("timewarp with 2 workers over sequential", compare(by_count.get(2), sequential), 1.2)
    for peer in peers:
        if "rootsim serial" in peer.name:
            bars.ratio("sequential over ROOT-Sim serial", compare(sequential, peer), 4)
        if "ross seq" in peer.name:
            bars.ratio("sequential over ROSS sequential", compare(sequential, peer), 6)
        if "rootsim tw 2" in peer.name:
            bars.ratio("timewarp with 2 workers over ROOT-Sim with 2",
                       compare(by_count.get(2), peer), 3)
    return everything


def coarse(options, bars):
    """Events that cost about 5 us: a parallel run must be faster here."""
    arguments = ["--until", f"{options.seconds * 12:.0f}s", "--set", f"work={options.work}"]
    sequential = phold(options, "sequential, 5 us", ["--engine", "sequential", *arguments])
    two = phold(options, "timewarp, 2 workers, 5 us",
                ["--engine", "timewarp", "--workers", "2", *arguments])
    alternate([sequential, two], options.rounds, "coarse")
    show(f"The same with a busy loop of {options.work} steps "
         f"({1e6 / (sequential.median() or 1):.2f} us an event)", [sequential, two])
    bars.ratio("timewarp with 2 workers over sequential, 5 us", compare(two, sequential), 1.9)
    return [sequential, two]


def million(options, bars):
    """A million LPs: memory, rate, start and end."""
    count = 1_000_000
    series = []
    for engine, workers in (("sequential", 1), ("timewarp", 1), ("timewarp", 2)):
        common = ["--engine", engine, "--workers", workers, "--until", "5s"]
        large = phold(options, f"{engine}, {workers} worker{'s' if workers > 1 else ''}, 10^6 LPs",
                      [*common, "--set", f"lps={count}"])
        small = run_orrery("phold", common, {"lps": 1000}, options.build)
        series.append((large, small))
    alternate([s for s, _ in series], max(options.rounds // 2, 1), "million")
    show("PHOLD with 1,000,000 LPs, one event each", [s for s, _ in series])
    table = Table(("", 34, ""), ("bytes a LP", 12, ".0f"), ("start s", 9, ".2f"), ("end s", 9, ".2f"))
    table.head()
    for large, small in series:
        if not large.samples:
            continue
        each = (large.median("rss") - small["rss"]) / (count - 1000) - PHOLD_LP_BYTES
        edges = large.median("start") + large.median("end")
        table.row(large.name, each, large.median("start"), large.median("end"))
        bars.add(f"{large.name}: bytes a LP above its state", each, 300, "B", at_most=True)
        bars.add(f"{large.name}: start and end", edges, 2, "s", at_most=True)
    return [s for s, _ in series]


def picture(groups, path):
    figure, axes = panels(1, len(groups), 5.2, 4.2)
    for axis, (name, series) in zip(axes[0], groups.items()):
        shown = [s for s in series if s.samples]
        medians = [s.median() / 1e6 for s in shown]
        spread = [[m - s.spread()[0] / 1e6 for m, s in zip(medians, shown)],
                  [s.spread()[1] / 1e6 - m for m, s in zip(medians, shown)]]
        axis.barh([s.name for s in shown], medians, xerr=spread, color="#4878a8", ecolor="#333333",
                  capsize=3)
        axis.invert_yaxis()
        axis.set_xlabel("million committed events/s\n(median, lowest to highest)")
        axis.set_title(name)
    save_picture(figure, path)


def parse_arguments():
    parse = parser("", __doc__, out="results/bench", rounds=5)
    parse.add_argument("--only", choices=["classic", "coarse", "million"], action="append",
                       help="run this part only; may be repeated")
    parse.add_argument("--seconds", type=float, default=1.0,
                       help="length of a run, roughly, on a current core (1)")
    parse.add_argument("--workers", type=numbers(int), default=[1, 2],
                       help="worker counts of the classic part (1,2)")
    parse.add_argument("--work", type=int, default=5000, help="busy loop of the coarse part (5000)")
    parse.add_argument("--peer", action="append", default=[], metavar="NAME=COMMAND",
                       help="another simulator on the classic workload; may be repeated")
    options = parse.parse_args()
    if options.seconds <= 0:
        parse.error("--seconds must be positive")
    options.peers = []
    for peer in options.peer:
        name, separator, words = peer.partition("=")
        if not separator or not words:
            parse.error(f"--peer '{peer}' is not NAME=COMMAND")
        options.peers.append((name, words))
    return options


def main():
    options = parse_arguments()
    require(options)
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
    command(main)
