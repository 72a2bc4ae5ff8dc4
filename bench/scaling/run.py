#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Scaling of runs: engines over workers and ranks, measured here, and a forecast for a thousand cores.

strong    models of one size on more and more cores: the sequential engine, and Time Warp and the
          conservative engine on the workers of one rank, on ranks of one worker and on ranks of two.
weak      the same with a model that grows with the cores.
costs     the costs of the conservative engine for an event if several workers run, for an event that
          goes to another worker or rank, and for a window, from runs of PHOLD with different numbers
          of each.
forecast  the rate on more cores that follows from these costs, and its limit.

The forecast is T(p) = E (c_model + c_event) / p + M(p) c_message / p + W (c_window + (n(p) - 1)
c_other). E is the number of events. c_model is the cost of an event for one worker, c_event the
additional cost with several workers (memory that cores share). M(p) is the number of events between p
executors, W the number of windows (horizon over lookahead), n(p) the number of executors for which
one executor waits. The costs are fitted to runs on two executors and on as many as there are cores.
On two cores c_other cannot be separated and is taken to be c_window, which is too much. If all LPs
send to all, 1 - 1/p of the events to others are between executors, and n(p) is p - 1. In the plane
M(p) follows from the length of the cuts, 2 (sqrt(p) - 1) sides of the square (and is at most the
number of events to others), and n(p) is at most 8. The forecast assumes cores as fast as one here, a
network as fast as sockets of one machine, no imbalance, and no other limit of shared memory bandwidth
than on the cores here. It assumes that an executor waits only for the executors that send to it. But
in the engine all executors meet after a window, and events between parts of the LPs count as messages:
so n(p) is too small in the plane, and M(p) is too large. The forecast is printed beside runs on two
executors and on as many as there are cores.

Compared runs alternate; ratios are taken within a round. The command writes tables, a JSON file and a
picture.
"""

import itertools
import math
import os
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness import (ROOT, Series, Table, alternate, at_least, check_fingerprints,  # noqa: E402
                     command, compare, length, measured, panels, parser, require, run_orrery, save_picture,
                     show_rate, show_ratio, write_record)

FORECAST = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]
MOST_NEIGHBOURS = 8  # of a part of the plane


def cores():
    return len(os.sched_getaffinity(0))


class Model:
    """A model and its parameters, also `factor` times as large."""

    def __init__(self, name, model, sets, least, plane, grow, lookahead):
        self.name, self.model, self.sets, self.least = name, model, sets, least
        self.plane, self.grow, self.lookahead = plane, grow, lookahead  # grow: None if it cannot

    def words(self, factor=1):
        sets = {**self.sets, **(self.grow(factor) if self.grow else {})}
        return [word for name, value in sets.items() for word in ("--set", f"{name}={value}")]


def models(options):
    grid = options.grid
    known = [
        Model("phold", "phold", {"lookahead": "0.1s"}, 20, False,
              lambda n: {"lps": 8192 * n}, 0.1),
        Model("phold, 5 us", "phold", {"lookahead": "0.1s", "work": 5000}, 2, False,
              lambda n: {"lps": 8192 * n}, 0.1),
        Model("epidemic", "epidemic", {}, 14_400, True, lambda n: {"regions": 100 * n}, 600),
        Model(f"traffic, {grid} x {grid}", "traffic", {"network": "grid"}, 120, True,
              lambda n: {"grid": round(grid * math.sqrt(n))}, 1),
    ]
    chicago = options.data / "ChicagoSketch"
    if chicago.with_name("ChicagoSketch_net.tntp").exists():
        known.append(Model("traffic, Chicago", "traffic",
                           {"network": chicago, "routes": "free-flow"}, 600, True, None, 1))
    else:
        print(f"traffic, Chicago: left out, {chicago}_net.tntp is not there")
    return [one for one in known if options.only is None or options.only in one.name]


def counts(most):
    """1, 2, 4, ... up to all cores."""
    return sorted({min(2**i, most) for i in range(most.bit_length() + 1)})


def executors(options):
    """Ways to use p cores, by name (engine, ranks x workers of each): (p, words)."""
    ways = {"sequential": (1, ["--engine", "sequential"])}
    for p, engine in itertools.product(counts(options.cores), ("timewarp", "conservative")):
        for workers in (p, 2, 1):
            ranks = p // workers
            over = ["--ranks", ranks] if ranks > 1 else []
            if ranks > 0:
                ways[f"{engine} {ranks} x {workers}"] = (
                    ranks * workers, ["--engine", engine, *over, "--workers", workers])
    return ways


# --- strong and weak ------------------------------------------------------------------------------

def scale(options, kind, record):
    """Runs each model in each way. The ratio is to the sequential engine; in weak runs to its rate
    on a model of that size, so 1 is the rate of one core."""
    ways = executors(options)
    parallel = [name for name in ways if name != "sequential"]
    found = []
    for model in models(options):
        if kind == "weak" and model.grow is None:
            continue
        by_factor = {}
        for name in parallel:
            by_factor.setdefault(ways[name][0] if kind == "weak" else 1, []).append(name)
        for factor, names in by_factor.items():
            until = length(options, model.model, model.words(factor), model.least)
            run = {"sequential": ways["sequential"][1], **{n: ways[n][1] for n in names}}
            series = measured(options, run, model.model,
                              [*model.words(factor), "--until", f"{until:.0f}s"],
                              f"{kind}, {model.name}")
            print(f"\n{kind}: {model.name}" + (f", {factor} times as large" if factor > 1 else "") +
                  f", {until:.0f} s, {show_rate(series[0].median())} events/s sequentially")
            table = Table(("", 22, ""), ("events/s", 11, show_rate), ("of sequential", 22, show_ratio))
            table.head("")
            for one in series[1:]:
                ratio = compare(one, series[0])
                table.row("  " + one.name, one.median(), ratio)
                found.append({"kind": kind, "model": model.name, "factor": factor, "way": one.name,
                              "executors": ways[one.name][0], "until": until,
                              "rate": one.median(), "ratio": ratio.record(),
                              "series": one.record()})
    record[kind] = found


# --- costs ----------------------------------------------------------------------------------------

def least_squares(rows, known, totals):
    """Coefficients that are not negative, for totals = known + rows x, and the mean relative error:
    tries all subsets of columns (there are few) without columns of zeros, and takes the subset that
    fits best without a negative coefficient."""
    import numpy

    a, k, t = numpy.array(rows), numpy.array(known), numpy.array(totals)
    best = (float(numpy.abs(k / t - 1).mean()), numpy.zeros(a.shape[1]))
    usable = [column for column in range(a.shape[1]) if a[:, column].any()]
    for size in range(1, len(usable) + 1):
        for columns in itertools.combinations(usable, size):
            chosen = list(columns)
            # Relative errors: short runs say as much as long ones.
            some = a[:, chosen] / t[:, None]
            unit = some.max(axis=0)
            x, *_ = numpy.linalg.lstsq(some / unit, 1 - k / t, rcond=None)
            if (x < 0).any():
                continue
            whole = numpy.zeros(a.shape[1])
            whole[chosen] = x / unit
            error = float(numpy.abs((k + a @ whole) / t - 1).mean())
            if error < best[0]:
                best = (error, whole)
    return best[1].tolist(), best[0]


def executors_here(options):
    return sorted({2, options.cores})


def words_of(name, p):
    """Arguments for p executors of that kind."""
    return ["--workers", p] if name == "workers" else ["--ranks", p, "--workers", 1]


def conservative(options, model, words, ways, label):
    """Series of the conservative engine by (kind, number) of executors, and by 1 that of one
    worker."""
    fixed = ["--engine", "conservative"]
    series = {way: Series(str(way), lambda more=more: run_orrery(model, [*words, *fixed, *more],
                                                                 build=options.build))
              for way, more in [(1, ["--workers", 1]), *((way, words_of(*way)) for way in ways)]}
    alternate(list(series.values()), options.rounds, label)
    check_fingerprints(series.values())
    for one in series.values():
        if one.failures:
            raise Failed(one.failures[0])
    return series


def calibrate(options, record):
    """Costs by kind of executors, in seconds: of an event, of a message, of a window, and of a
    window for each other executor beyond the first."""
    points = {"workers": [], "ranks": []}
    ways = list(itertools.product(points, executors_here(options)))
    for remote, lookahead in itertools.product((0.05, 0.25, 0.9), (1.0, 0.1, 0.02)):
        sets = ["--set", f"remote={remote}", "--set", f"lookahead={lookahead}s"]
        until = length(options, "phold", sets, 10)
        series = conservative(options, "phold", [*sets, "--until", f"{until:.0f}s"], ways,
                              f"costs, remote {remote}, lookahead {lookahead}")
        for name, p in ways:
            one = series[name, p]
            points[name].append({
                "remote": remote, "lookahead": lookahead, "executors": p,
                "windows": until / lookahead, "events": one.median("committed"),
                "messages": one.median("messages"), "alone": series[1].median("seconds"),
                "seconds": one.median("seconds")})
    costs = {}
    print("\ncosts, from PHOLD (non-negative least squares of relative errors)")
    table = Table(("", 10, ""), ("event", 12, show_ns), ("message", 12, show_ns),
                  ("window", 12, show_ns), ("each other", 12, show_ns),
                  ("mean error", 12, lambda e: f"{e:.0%}"))
    table.head("")
    for name, some in points.items():
        rows = [[p["events"] / p["executors"], p["messages"] / p["executors"], p["windows"],
                 p["windows"] * (p["executors"] - 2)] for p in some]
        (event, message, window, other), error = least_squares(
            rows, [p["alone"] / p["executors"] for p in some], [p["seconds"] for p in some])
        if options.cores == 2:
            other = window
        costs[name] = {"event": event, "message": message, "window": window, "other": other,
                       "error": error}
        table.row("  " + name, event, message, window, other, error)
    alone = statistics.median(p["alone"] / p["events"] for p in points["workers"])
    print(f"  (an event: beside the {show_ns(alone)} that it takes one worker)")
    record["costs"] = {"points": points, "costs": costs}
    return costs


def show_ns(seconds):
    for unit, size in (("ns", 1e-9), ("us", 1e-6)):
        if seconds < 1000 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e3:.3g} ms"


# --- forecast -------------------------------------------------------------------------------------

class Facts:
    """Figures of a model on this machine that do not depend on the number of executors."""

    def __init__(self, options, model, costs):
        self.model, self.costs = model, costs
        self.until = length(options, model.model, model.words(), model.least)
        series = conservative(options, model.model,
                              [*model.words(), "--until", f"{self.until:.0f}s"],
                              list(itertools.product(costs, executors_here(options))),
                              f"forecast, {model.name}")
        self.alone = series[1].median("seconds")
        self.events = series[1].median("committed")
        self.windows = self.until / model.lookahead
        self.measured = {way: self.alone / one.median("seconds") for way, one in series.items()}
        self.crossing = {name: series[name, 2].median("messages") / self.events for name in costs}

    def share(self, name, p):
        """The share of the events that go between p executors."""
        two = self.crossing[name]
        if self.model.plane:
            return min(1.0, two * 2 * (math.sqrt(p) - 1))
        return min(1.0, 2 * two * (1 - 1 / p))

    def others(self, p):
        return min(p - 1, MOST_NEIGHBOURS) if self.model.plane else p - 1

    def seconds(self, name, p, size=1):
        """`size`: times as large. With all parts of the sum: (events, messages, windows)."""
        if p == 1:
            return self.alone * size, 0.0, 0.0
        cost = self.costs[name]
        events = size * (self.alone + self.events * cost["event"]) / p
        messages = self.share(name, p) * self.events * size * cost["message"] / p
        window = cost["window"] + (self.others(p) - 1) * cost["other"]
        return events, messages, self.windows * window


def where_it_ends(facts, name, weak):
    """The largest number of executors with at least half of their ideal rate, and the largest cost
    at twice this number."""
    last = 1
    for p in FORECAST[1:]:
        parts = facts.seconds(name, p, p if weak else 1)
        ideal = facts.alone * (p if weak else 1) / p
        if ideal / sum(parts) < 0.5:
            lost = {"events": parts[0] - ideal, "messages": parts[1], "windows": parts[2]}
            return last, max(lost, key=lost.get)
        last = p
    return last, None


def forecast(options, costs, record):
    shown = []
    print("\nforecast: speed over one worker, and where half of it is lost")
    here = executors_here(options)
    table = Table(("", 22, ""), ("over", 9, ""),
                  *((f"{p}{word}", 13 if word else 6, "{:.2f}".format)
                    for p in here for word in (": measured", "")),
                  *((str(p), 6, "{:.0f}".format) for p in (64, 256, 1024)),
                  ("half at (strong)", 22, ""), ("(weak)", 22, ""))
    table.head("")
    for model in models(options):
        facts = Facts(options, model, costs)
        for name in costs:
            speed = {p: facts.alone / sum(facts.seconds(name, p)) for p in [*here, *FORECAST]}
            weak = {p: p * facts.alone / sum(facts.seconds(name, p, p)) for p in FORECAST}
            ends = [where_it_ends(facts, name, is_weak) for is_weak in (False, True)]
            says = [f"{p}+" if word is None else f"{p}, then {word}" for p, word in ends]
            beside = [value for p in here for value in (facts.measured[name, p], speed[p])]
            table.row("  " + model.name, name, *beside, speed[64], speed[256], speed[1024], *says)
            shown.append({"model": model.name, "over": name, "alone_seconds": facts.alone,
                          "events": facts.events, "windows": facts.windows,
                          "crossing": facts.crossing[name],
                          "measured": {p: facts.measured[name, p] for p in here},
                          "strong": {p: speed[p] for p in FORECAST}, "weak": weak, "ends": ends})
    record["forecast"] = shown


def draw(record, options):
    figure, grid = panels(1, 2, 6, 4.5)
    for axis, kind in zip(grid[0], ("strong", "weak")):
        for i, one in enumerate(record["forecast"]):
            colour = f"C{i // 2}"
            style = "-" if one["over"] == "workers" else "--"
            axis.plot(list(one[kind]), list(one[kind].values()), style, color=colour, linewidth=1.2,
                      label=f"{one['model']}, {one['over']}")
            if kind == "strong":
                axis.plot(list(one["measured"]), list(one["measured"].values()),
                          "o" if one["over"] == "workers" else "s", color=colour, markersize=5)
        axis.plot(FORECAST, FORECAST, color="black", linewidth=0.6)
        axis.set(xscale="log", yscale="log", xlabel="executors", ylabel="speed over one worker",
                 title=f"forecast, {kind}" + (" (points: measured)" if kind == "strong" else ""))
    grid[0][0].legend(fontsize=7)
    save_picture(figure, options.out / "scaling.png")


def main():
    made = parser("scaling", __doc__, "results/bench-scaling", 5)
    made.add_argument("--cores", type=at_least(2), default=cores(), help="the most to use (all)")
    made.add_argument("--seconds", type=float, default=1.0, help="about, of a sequential run (1)")
    made.add_argument("--grid", type=at_least(4), default=300, help="side of the grid of traffic (300)")
    made.add_argument("--data", type=Path, default=ROOT.parent / "shared/data/tntp",
                      help="folder of Chicago's road network (../shared/data/tntp)")
    made.add_argument("--only", help="models whose name has this in it")
    made.add_argument("--parts", default="strong,weak,forecast", help="(strong,weak,forecast)")
    options = made.parse_args()
    require(options)
    record, parts = {"cores": options.cores}, options.parts.split(",")
    for kind in ("strong", "weak"):
        if kind in parts:
            scale(options, kind, record)
    if "forecast" in parts:
        forecast(options, calibrate(options, record), record)
        draw(record, options)
    write_record(options.out, "scaling", record)
    print(f"\n{options.out}: scaling.json" + (", scaling.png" if "forecast" in parts else ""))


if __name__ == "__main__":
    command(main)
