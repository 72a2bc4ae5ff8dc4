#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""More processes than cores: least LVT first against processes that spin, yield or block.

Small simulators in ranks that are processes (ranks.cpp): PHOLD, people who infect each other and
travel, vehicles on a grid of intersections; conservative and optimistic. A rank without events to
execute, or in a round of GVT, spins, calls sched_yield, sleeps until a message arrives, or waits in
llf (companions/llf/README.md).

The default set is all models and kernels over all numbers of ranks, and PHOLD with 8 ranks over all
remote shares and beside a process that only computes. It takes about ten minutes. With one of
--models, --kernels, --ranks, --remotes, --intervals or --hog the set is all combinations of the given
values; --all is all combinations. --orrery compares Orrery's own engines with more workers and ranks
than cores instead. --mpi compares ranks over MPI, with the shim of 'orrery llf run' and without
('--mpi --help').

Spinning runs are shorter, and a run that takes too long is stopped (marked * in the table): the
compared figure is committed events a second. Compared runs alternate; ratios are taken within a
round. The command checks that all ways, kernels and numbers of ranks commit the same events as a
sequential run. It writes a table, a JSON file and pictures; no time makes it fail.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness import (Series, Table, alternate, at_least, check_fingerprints, command, compare,  # noqa: E402
                     launch, numbers, parser, require, show_ratio, some_of, write_record)

import engines  # noqa: E402
import mpi  # noqa: E402
import pictures  # noqa: E402

WAYS = ("spin", "yield", "block", "llf")
KERNELS = ("conservative", "optimistic")
# Of each LP about, in the unit of the models' ticks.
EVENTS_PER_TICK = {"phold": 0.001, "epidemic": 0.0036, "traffic": 0.0062}
RANKS, REMOTES = [2, 4, 8, 16, 32], [5, 20, 50, 90]
REMOTE, SOME_RANKS = 20, 8  # where the others vary
WHOLE = 100  # per cent of the lookahead
PROGRAM = "oversubscribed_ranks"


class Case:
    """A workload that all ways run."""

    def __init__(self, model, kernel, ranks, remote=REMOTE, hogs=0, interval=WHOLE):
        self.model, self.kernel, self.ranks, self.remote, self.hogs = model, kernel, ranks, remote, hogs
        self.interval = interval

    def key(self):
        return {"model": self.model, "kernel": self.kernel, "ranks": self.ranks,
                "remote": self.remote, "hogs": self.hogs, "interval": self.interval}

    def __str__(self):
        return (f"{self.model}, {self.kernel}, {self.ranks} ranks, remote {self.remote} %" +
                (f", interval {self.interval} %" if self.interval != WHOLE else "") +
                (f", {self.hogs} beside" if self.hogs else ""))


def crossed(models, kernels, ranks, remotes, hogs, intervals=(WHOLE,)):
    """All combinations; only PHOLD has a remote share, and only conservative ranks have a
    lookahead."""
    return [Case(model, kernel, count, remote, beside, interval)
            for model in models for kernel in kernels
            for remote in (remotes if model == "phold" else [REMOTE])
            for beside in hogs for count in ranks
            for interval in (intervals if kernel == "conservative" else [WHOLE])]


def plan(options):
    models = list(EVENTS_PER_TICK)
    if options.all:
        return crossed(models, KERNELS, RANKS, REMOTES, [0, 1])
    given = (options.models, options.kernels, options.ranks, options.remotes, options.hog,
             options.intervals)
    if any(one is not None for one in given):
        return crossed(options.models or models, options.kernels or KERNELS, options.ranks or RANKS,
                       options.remotes or [REMOTE], [options.hog or 0],
                       options.intervals or [WHOLE])
    others = [share for share in REMOTES if share != REMOTE]
    return [*crossed(models, KERNELS, RANKS, [REMOTE], [0]),
            *crossed(["phold"], KERNELS, [SOME_RANKS], others, [0]),
            *crossed(["phold"], KERNELS, [SOME_RANKS], [REMOTE], [1])]


class Experiment:
    def __init__(self, options):
        self.options = options
        self.yardsticks = {}  # sequential runs, by (model, remote share, length)

    def ticks(self, model, way):
        shorter = self.options.shorter if way == "spin" else 1
        return max(int(self.options.events / shorter / self.options.lps / EVENTS_PER_TICK[model]), 1)

    def run(self, case, kernel, way, ranks, hogs):
        words = {"model": case.model, "kernel": kernel, "way": way, "ranks": ranks, "hogs": hogs,
                 "remote": case.remote, "interval": case.interval, "lps": self.options.lps,
                 "work": self.options.work,
                 "end": self.ticks(case.model, way), "limit": self.options.limit}
        out, _, _ = launch([self.options.build / "bin" / PROGRAM,
                            *(f"{name}={value}" for name, value in words.items())])
        return json.loads(out)

    def yardstick(self, case, way):
        """A sequential run of the same length as those of this way."""
        key = (case.model, case.remote, self.ticks(case.model, way))
        if key not in self.yardsticks:
            one = Series(f"sequential, {case.model}",
                         lambda: self.run(case, "sequential", way, 1, 0))
            alternate([one], self.options.rounds, one.name)
            self.yardsticks[key] = one
        return self.yardsticks[key]

    def measure(self, case):
        """Rows of the table, one a way."""
        series = [Series(way, lambda way=way: self.run(case, case.kernel, way, case.ranks, case.hogs))
                  for way in WAYS]
        alternate(series, self.options.rounds, str(case))
        for one in series:
            check_fingerprints([self.yardstick(case, one.name), one])
        rows = []
        for one in series:
            ratio = compare(series[-1], one) if one is not series[-1] else None
            given_up = any(not sample["complete"] for sample in one.samples)
            rows.append({**case.key(), "way": one.name, "rate": one.median(),
                         "spread": one.spread(), "given_up": given_up,
                         "efficiency": None if given_up else one.median("efficiency"),
                         "switches": one.median("switches"), "cpu_seconds": one.median("cpu_seconds"),
                         "sequential": self.yardstick(case, "llf").median(),
                         "llf_to_it": ratio and ratio.record(), "ratio": ratio, "of": one,
                         "series": one.record()})
        return rows


def table_of(cases):
    table = Table(("model", 9, ""), ("kernel", 12, ""), ("ranks", 5, ""), ("remote", 6, show_share),
                  ("LBTS", 5, show_share), ("hogs", 4, ""), ("way", 5, ""), ("events/s", 9, ".0f"),
                  ("of sequential", 13, ".3f"), ("llf to it", 24, show_ratio),
                  ("efficiency", 10, ".1%"), ("switches", 9, ".0f"), ("CPU s", 6, ".2f"))
    print(f"{len(cases)} cases, {len(WAYS)} ways each; * given up, the rate so far")
    table.head()
    return table


def show_share(percent):
    return f"{percent} %"


def show(table, rows):
    for row in rows:
        if row["of"].failures:
            table.failed(row["of"])
            continue
        remote = row["remote"] if row["model"] == "phold" else None
        table.row(row["model"], row["kernel"], row["ranks"], remote,
                  row["interval"] if row["kernel"] == "conservative" else None, row["hogs"], row["way"],
                  row["rate"], row["rate"] / row["sequential"], row["ratio"],
                  row["efficiency"] if row["kernel"] == "optimistic" else None, row["switches"],
                  row["cpu_seconds"], note=" *" if row["given_up"] else "")


def without(row, *names):
    return {name: value for name, value in row.items() if name not in names}


def kept(options, measured):
    """The parts of an earlier record that were not measured again."""
    path = options.out / "oversubscribed.json"
    if not options.add or not path.exists():
        return []
    def key(row):
        return tuple(row[name] for name in ("model", "kernel", "ranks", "remote", "hogs", "interval",
                                            "way"))
    now = {key(row) for row in measured}
    return [row for row in json.loads(path.read_text())["rows"] if key(row) not in now]


def parse_arguments():
    made = parser("oversubscribed", __doc__, "results/bench-oversubscribed", 3)
    made.add_argument("--models", type=some_of(list(EVENTS_PER_TICK)), metavar="A,B",
                      help="phold, epidemic, traffic (all)")
    made.add_argument("--kernels", type=some_of(KERNELS), metavar="A,B",
                      help="conservative, optimistic (both)")
    made.add_argument("--ranks", type=numbers(int, 1, 128), metavar="A,B",
                      help="numbers of processes (2,4,8,16,32)")
    made.add_argument("--remotes", type=numbers(int, 0, 100), metavar="A,B",
                      help="per cent of PHOLD's events that go to an LP anywhere (20)")
    made.add_argument("--intervals", type=numbers(int, 1, 100), metavar="A,B",
                      help="per cent of the lookahead that conservative ranks promise: the interval of "
                           "LBTS (100)")
    made.add_argument("--hog", type=at_least(0), metavar="N",
                      help="processes beside that only compute (0)")
    made.add_argument("--all", action="store_true",
                      help="all models, kernels, ranks and remote shares, without and with a process beside")
    made.add_argument("--orrery", action="store_true",
                      help="Orrery's engines with more workers and ranks than cores, instead")
    made.add_argument("--add", action="store_true",
                      help="keep in the record and the pictures what earlier calls have left in --out")
    made.add_argument("--lps", type=at_least(1), default=512, help="of all ranks together (512)")
    made.add_argument("--events", type=at_least(1), default=100_000, help="about, of a run (100000)")
    made.add_argument("--shorter", type=at_least(1), default=20,
                      help="by how much the spinning runs are (20)")
    made.add_argument("--work", type=at_least(0), default=1000,
                      help="of an event, in steps of about 3 ns (1000)")
    made.add_argument("--limit", type=at_least(1), default=3,
                      help="seconds after which a run is given up, of Orrery times --seconds (3)")
    made.add_argument("--seconds", type=float, default=1.0,
                      help="about, of a run of Orrery with 2 workers (1)")
    options = made.parse_args()
    ranks = options.ranks or RANKS
    if max(ranks) > options.lps:
        made.error(f"{max(ranks)} ranks need at least as many LPs, not {options.lps}")
    if options.hog is not None and options.hog > 64:
        made.error(f"{options.hog} processes beside are too many; 64 are the most")
    return options


def main():
    if "--mpi" in sys.argv:
        return mpi.main()
    options = parse_arguments()
    if options.orrery:
        require(options)
        return engines.compare_engines(options)
    require(options, PROGRAM)
    cases, experiment, rows = plan(options), Experiment(options), []
    table = table_of(cases)
    for case in cases:
        found = experiment.measure(case)
        show(table, found)
        rows += [without(row, "ratio", "of") for row in found]
    rows = kept(options, rows) + rows
    write_record(options.out, "oversubscribed", {"rows": rows})
    names = pictures.draw([row for row in rows if row["rate"] is not None], options.out)
    print(f"\n{options.out}: oversubscribed.json, {', '.join(names)}")


if __name__ == "__main__":
    command(main)
