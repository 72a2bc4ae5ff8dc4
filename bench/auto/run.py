#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`--engine auto` against the best single engine and number of workers.

Runs of `auto` alternate with runs of the engine that was fastest in short runs. Further parts measure
the loss against the sequential engine in runs of a second and of 50 ms, the cost of trials in long
runs, the same beside a program that keeps a core busy, the time of a hand-over of a million LPs, the
cost of LP heaps on the sequential engine, and the gain of moving LPs between workers. Writes
auto.json and auto.png.
"""

import contextlib
import os
import statistics
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness import (Bars, Failed, Series, Table, alternate, at_least, command,  # noqa: E402
                     compare, measured, panels, parser, require, run_orrery, save_picture,
                     show_rate, show_ratio, write_record)

SEQUENTIAL = ["--engine", "sequential"]
# Of each model simulated seconds that take some milliseconds without work.
MODELS = {"phold": 1, "pcs": 100, "wireless": 0.1, "traffic": 3600}
MILLION = ["--set", "lps=1000000"]


def cases():
    """Name, model, parameters. Work is in nanoseconds."""
    for model in MODELS:
        yield model, model, []
    for model, parameter in (("phold", "work"), ("pcs", "work"), ("wireless", "channel_work")):
        for work in (1, 5, 25):
            yield f"{model}, {work} us of work", model, ["--set", f"{parameter}={work * 1000}"]


def span(model, until):
    """The arguments for so many simulated seconds. Vehicles depart during all of them."""
    return ["--until", f"{until}s", *(["--set", f"period={until}s"] if model == "traffic" else [])]


def length(options, model, sets, probed, seconds, way=SEQUENTIAL):
    """Simulated seconds that take about so many seconds, from a run of `probed` simulated
    seconds."""
    probe = run_orrery(model, [*sets, *span(model, probed), *way], build=options.build)
    return probed * seconds / max(probe["seconds"], 1e-4)


def single_ways(workers):
    """Every engine for results, with that many workers, half as many, ... down to two."""
    ways = {"sequential": SEQUENTIAL}
    while workers > 1:
        for engine in ("timewarp", "conservative", "expanded"):
            ways[f"{engine} with {workers}"] = ["--engine", engine, "--workers", workers]
        workers //= 2
    return ways


def best_ways(options, model, arguments):
    """The ways within a tenth of the fastest, fastest first. An engine that refuses is left out."""
    ways = single_ways(options.workers)
    series = [Series(name, lambda way=way: run_orrery(model, [*arguments, *way],
                                                      build=options.build))
              for name, way in ways.items()]
    alternate(series, 3, f"{model}: which is best")
    series = sorted((one for one in series if one.samples), key=Series.median, reverse=True)
    if not series:
        raise Failed(f"{model}: no engine ran it")
    return {one.name: ways[one.name] for one in series
            if one.median() >= 0.9 * series[0].median()}


@contextlib.contextmanager
def busy_programs(count):
    loop = [sys.executable, "-c", "while True: pass"]
    programs = [subprocess.Popen(loop) for _ in range(count)]
    try:
        yield
    finally:
        for one in programs:
            one.kill()
            one.wait()


class Report:
    """The table of all parts but the last three, the bars, and the record."""

    def __init__(self, options):
        self.auto = ["--engine", "auto", "--workers", options.workers]
        self.options, self.bars, self.rows = options, Bars(), []
        self.table = Table(("", 32, ""), ("seconds", 7, ".3g"), ("other", 20, ""),
                           ("its rate", 11, show_rate), ("auto / other", 20, show_ratio))

    def add(self, name, auto, other, seconds, bar):
        if not self.rows:
            self.table.head("  auto ended with")
        found, last = compare(auto, other), auto.samples[-1]["periods"][-1:]
        self.table.row(name, seconds, other.name, other.median(), found,
                       note="".join(f"  {one['engine']} with {one['workers']}" for one in last))
        self.bars.ratio(f"{name}, {seconds:g} s: auto / {other.name}", found, bar)
        self.rows.append({"name": name, "seconds": seconds, "other": other.name, "bar": bar,
                          "ratio": found.record(),
                          "series": [auto.record(), other.record()]})


# --- parts ----------------------------------------------------------------------------------------

def against_best(report, name, model, sets, bar, seconds=None):
    options = report.options
    seconds = seconds or options.seconds
    short = length(options, model, sets, MODELS[model], min(0.5, seconds))
    ways = best_ways(options, model, [*sets, *span(model, short)])
    until = length(options, model, sets, short, seconds, next(iter(ways.values())))
    auto, *others = measured(options, {"auto": report.auto, **ways}, model,
                             [*sets, *span(model, until)], name)
    report.add(name, auto, max(others, key=Series.median), seconds, bar)


def best(report):
    for name, model, sets in cases():
        against_best(report, name, model, sets, 0.93)


def million(report):
    against_best(report, "a million LPs", "phold", MILLION, 0.93, 4 * report.options.seconds)


def hog(report):
    with busy_programs(1):
        for model in MODELS:
            against_best(report, f"{model} beside a busy program", model, [], 0.85)


def short(report):
    """Runs that end before trials can gain."""
    options = report.options
    for seconds, bar in ((1, 0.9), (0.05, 0.95)):
        for model, least in MODELS.items():
            until = length(options, model, [], 10 * least, seconds)
            auto, other = measured(options, {"auto": report.auto, "sequential": SEQUENTIAL}, model,
                                   span(model, until), model)
            report.add(model, auto, other, seconds, bar)
            if seconds < 0.1:
                report.bars.add(f"{model}, {seconds:g} s: trials", max(auto.values("trials")), 0,
                                at_most=True)


def trials(report):
    """The share of the time that trials take in runs of half a minute."""
    options = report.options
    for model, least in MODELS.items():
        until = length(options, model, [], 100 * least, 6 * options.seconds, report.auto)
        runs = [run_orrery(model, [*span(model, until), *report.auto], build=options.build)
                for _ in range(2)]
        shares = [run["statistics"]["lost_in_trials"] / run["seconds"] for run in runs]
        report.bars.add(f"{model}, {min(run['seconds'] for run in runs):.0f} s: lost in trials",
                        100 * max(shares), 1, "%", at_most=True)
        report.rows.append({"name": f"{model}: trials", "samples": runs})


def hands(report):
    """The time that an engine needs to set up and to return the world, and that the next engine
    needs to take it. Measures the second hand-over and later ones, when all memory is allocated."""
    for engine in ("timewarp", "conservative", "expanded"):
        run = run_orrery("phold", [*MILLION, "--set", "lookahead=0.1s", "--until", "10s",
                                   "--engine", "auto", "--hand-over-every", 1_000_000,
                                   "--candidates", f"sequential,{engine}:{report.options.workers}"],
                         build=report.options.build)
        outside = [one["seconds"] - one["loop_seconds"] for one in run["periods"][1:-1]]
        report.bars.add(f"a million LPs from sequential to {engine} and back",
                        statistics.median(a + b for a, b in zip(outside, outside[1:])), 0.6, "s",
                        at_most=True)
        report.rows.append({"name": f"hands: {engine}", "seconds": outside})


def heaps(report):
    """The sequential engine with LPs in heaps, as in a run that may change its engine."""
    options = report.options
    on_heaps = ["--engine", "auto", "--candidates", "sequential,timewarp:2", "--hand-over-every",
                10**15]
    for model, least in MODELS.items():
        until = length(options, model, [], 10 * least, 1)
        in_heaps, ordinary = measured(options, {"heaps": on_heaps, "ordinary": SEQUENTIAL}, model,
                                      span(model, until), f"{model} on heaps")
        found = compare(in_heaps, ordinary)
        report.bars.ratio(f"{model}: sequential on LP heaps / ordinary memory", found, 0.97)
        report.rows.append({"name": f"heaps: {model}", "ratio": found.record()})


def balance(report):
    options = report.options
    engine = ["--engine", "timewarp", "--workers", options.workers]
    for name, sets, bar in (("an eighth ten times as heavy", ["heavy=0.125", "work=1000"], 1.3),
                            ("balanced", ["work=1000"], 0.99)):
        sets = [word for one in sets for word in ("--set", one)]
        until = length(options, "phold", sets, 10, options.seconds, engine)
        moving, static = measured(options, {"on": engine, "off": [*engine, "--balance", "off"]},
                                  "phold", [*sets, "--until", f"{until}s"], name)
        found = compare(moving, static)
        report.bars.ratio(f"phold, {name}: moving LPs / static", found, bar)
        report.rows.append({"name": f"balance: {name}", "ratio": found.record()})


PARTS = {one.__name__: one for one in (best, million, short, hog, trials, hands, heaps, balance)}


def draw(rows, path):
    """Ratios as bars with their intervals."""
    shown = [row for row in rows if "other" in row]
    if not shown:
        return
    figure, axes = panels(1, 1, 9, 1 + 0.28 * len(shown))
    ax, places = axes[0][0], range(len(shown))
    ratios = [row["ratio"] for row in shown]
    ax.barh(places, [r["median"] for r in ratios], height=0.6, color="tab:blue",
            xerr=[[r["median"] - r["low"] for r in ratios],
                  [r["high"] - r["median"] for r in ratios]], ecolor="0.3", capsize=2)
    for place, row in zip(places, shown):
        ax.plot([row["bar"]] * 2, [place - 0.4, place + 0.4], color="tab:red", linewidth=2)
    ax.set_yticks(places, [f"{row['name']}, {row['seconds']:g} s ({row['other']})" for row in shown],
                  fontsize=8)
    ax.invert_yaxis()
    ax.axvline(1, color="0.5", linewidth=0.8)
    ax.set_xlabel("rate of auto over the best single engine's (red: the bar; in parentheses: the "
                  "other)", fontsize=8)
    save_picture(figure, path)


def main():
    made = parser("auto", __doc__, "bench/out/auto", 11, fewest=3)
    made.add_argument("--workers", type=at_least(2), default=max(2, len(os.sched_getaffinity(0))),
                      help="at most (one for each usable core)")
    made.add_argument("--seconds", type=float, default=5, help="about, of a run (5)")
    made.add_argument("--parts", type=lambda text: text.split(","), default=list(PARTS),
                      metavar="A,B", help=f"some of {','.join(PARTS)} (all)")
    options = made.parse_args()
    for part in options.parts:
        if part not in PARTS:
            made.error(f"there is no part '{part}'; there are {', '.join(PARTS)}")
    require(options)
    report = Report(options)
    for part in options.parts:
        PARTS[part](report)
    report.bars.show()
    write_record(options.out, "auto", {"rows": report.rows, "bars": report.bars.rows})
    draw(report.rows, options.out / "auto.png")
    print(f"\nwrote {options.out}/auto.json and auto.png")


if __name__ == "__main__":
    command(main)
