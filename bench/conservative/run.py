#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The gain from promised delays: the conservative engine against the sequential engine.

phold     short events: the rate over the lookahead, also with one worker and with more workers than
          cores; events of a microsecond, 16 an LP; a million LPs, whose state exceeds the caches, and
          their memory.
models    the shipped models that promise delays, and grids of traffic of two sizes.

Compared runs alternate; ratios to the sequential engine are taken within a round. The command writes
a table, a JSON file and a picture. It prints goals beside the measured figures, met or not; no time
makes the command fail.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness import (Bars, Table, at_least, command, compare, length, measured,  # noqa: E402
                     numbers, panels, parser, require, run_orrery, save_picture, show_rate,
                     show_ratio, write_record)


SHORT_BARS = {0.1: 1.6, 0.01: 1.2}  # of PHOLD's short events, by lookahead


def conservative(workers):
    return ["--engine", "conservative", "--workers", workers]


def usual_ways(options):
    return {"sequential": ["--engine", "sequential"], "windows": conservative(options.workers)}


def compared(options, ways, model, arguments, label):
    """The series and, by name, their comparisons with the first series."""
    series = measured(options, ways, model, arguments, label)
    return series, {one.name: compare(one, series[0]) for one in series[1:]}


class Rows:
    """The table that all parts share, printed row by row."""

    WAYS = ("1 worker", "windows", "4 times as many")

    def __init__(self):
        self.rows = []
        self.table = Table(("", 30, ""), ("sequential", 11, show_rate),
                           *((way, 20, show_ratio) for way in self.WAYS))

    def add(self, name, series, found):
        if not self.rows:
            self.table.head("   (ratio to sequential)")
        self.table.row(name, series[0].median(), *(found.get(way) for way in self.WAYS))
        self.rows.append({"name": name, "series": [one.record() for one in series],
                          "ratios": {way: c.record() for way, c in found.items()}})


# --- phold ----------------------------------------------------------------------------------------

def short_events(options, rows, bars):
    for share in options.lookahead:
        sets = ["--set", f"lookahead={share}s"]
        until = length(options, "phold", sets, 20)
        ways = usual_ways(options)
        if share == options.lookahead[0]:
            ways["1 worker"] = conservative(1)
            ways["4 times as many"] = conservative(4 * options.workers)
        series, found = compared(options, ways, "phold", [*sets, "--until", f"{until:.0f}s"],
                                 f"phold, lookahead {share}")
        rows.add(f"phold, lookahead {share:g} s", series, found)
        if share in SHORT_BARS:
            bars.ratio(f"phold, lookahead {share:g}", found["windows"], SHORT_BARS[share])
        bars.ratio("phold: 1 worker", found.get("1 worker"), 0.93)
        by_name = {one.name: one for one in series}
        crowd = by_name.get("4 times as many")
        if crowd:
            bars.ratio("phold: four times the workers, over those alone",
                       compare(crowd, by_name["windows"]), 0.6)


def other_phold(options, rows, name, sets, least):
    """A row of PHOLD; returns the ratio."""
    words = [word for one in sets for word in ("--set", one)]
    until = length(options, "phold", words, least)
    series, found = compared(options, usual_ways(options), "phold",
                             [*words, "--until", f"{until:.0f}s"], name)
    rows.add(name, series, found)
    return found["windows"]


def long_events(options, rows, bars):
    name = "phold, 1 us, 16 events an LP"
    ratio = other_phold(options, rows, name, ["lookahead=0.1s", "population=16", "work=1000"], 2)
    bars.ratio(name, ratio, 1.85)


def many_lps(options, rows, bars):
    lps = 1_000_000
    for population, lookahead in ((8, 1), (1, 0.1)):
        other_phold(options, rows, f"phold, 1M LPs, population {population}",
                    [f"lps={lps}", f"population={population}", f"lookahead={lookahead}s"], 2)
    run = run_orrery("phold", ["--set", f"lps={lps}", "--set", "lookahead=0.1s", "--until", "2s",
                               *conservative(options.workers)], build=options.build)
    bars.add("phold, a million LPs: the process, an LP", run["rss"] / lps, 250, "B", at_most=True)


# --- models ---------------------------------------------------------------------------------------

def models(options, rows, bars):
    """Wireless and pcs have few events a window, so there is no goal for them."""
    cases = [("epidemic", [], 14_400, 1.5), ("traffic", [], 3_600, 0.85), ("pcs", [], 200, None),
             ("wireless", [], 1, None)]
    cases += [("traffic", ["--set", "network=grid", "--set", f"grid={side}"], 120, None)
              for side in (60, 300)]
    for model, sets, least, bar in cases:
        name = f"{model}, {sets[-1]}" if sets else model
        # The demand of a day is the most that traffic has.
        until = min(length(options, model, sets, least), 86_400 if model == "traffic" else 1e9)
        series, found = compared(options, usual_ways(options), model,
                                 [*sets, "--until", f"{until:.0f}s"], name)
        rows.add(name, series, found)
        if bar is not None:
            bars.ratio(name, found["windows"], bar)


# --- what is left ---------------------------------------------------------------------------------

def draw(rows, options):
    figure, grid = panels(1, 1, 8, 4.5)
    axis = grid[0][0]
    places = range(len(rows))
    shown = [row["ratios"]["windows"] for row in rows]
    axis.barh(list(places), [s["median"] for s in shown], 0.6, color="#4878a8",
              xerr=[[s["median"] - s["low"] for s in shown],
                    [s["high"] - s["median"] for s in shown]])
    axis.axvline(1, color="black", linewidth=0.8)
    axis.set_yticks(list(places), [row["name"] for row in rows])
    axis.invert_yaxis()
    axis.set_xlabel(f"rate of {options.workers} workers over the sequential engine's, 95 % interval")
    save_picture(figure, options.out / "bench.png")


def main():
    made = parser("conservative", __doc__, "results/bench-conservative", 11)
    made.add_argument("--workers", type=at_least(2), default=2, help="of the parallel runs (2)")
    made.add_argument("--seconds", type=float, default=2.0, help="about, of a sequential run (2)")
    made.add_argument("--lookahead", type=numbers(float), default=[0.1, 0.01, 0.001],
                      help="of phold, in shares of the mean delay (0.1,0.01,0.001)")
    made.add_argument("--only", choices=["phold", "models"], help="one part")
    options = made.parse_args()
    require(options)
    rows, bars = Rows(), Bars()
    if options.only != "models":
        short_events(options, rows, bars)
        long_events(options, rows, bars)
        many_lps(options, rows, bars)
    if options.only != "phold":
        models(options, rows, bars)
    bars.show()
    write_record(options.out, "bench", {"rows": rows.rows, "bars": bars.rows})
    draw(rows.rows, options)
    print(f"\n{options.out}: bench.json, bench.png")


if __name__ == "__main__":
    command(main)
