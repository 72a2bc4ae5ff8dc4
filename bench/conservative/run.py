#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What promises of delays gain: the conservative engine against the sequential one.

phold     short events: the rate as the lookahead shrinks, promises only and as the engine chooses,
          with one worker and with more than there are cores; events of a microsecond, 16 an LP; a
          million LPs, for their memory.
models    those that ship and promise delays.

The runs of what is compared alternate; ratios to the sequential engine are taken within a round. A
table, a JSON and a picture are left. Bars are printed with what was measured, met or not; nothing
fails on a time.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness import (Bars, Table, at_least, command, compare, length, measured,  # noqa: E402
                     numbers, panels, parser, require, run_orrery, save_picture, show_rate,
                     show_ratio, write_record)


def conservative(workers, *more):
    return ["--engine", "conservative", "--workers", workers, *more]


def compared(options, ways, model, arguments, label):
    """The series and, by name, how each compares with the first."""
    series = measured(options, ways, model, arguments, label)
    return series, {one.name: compare(one, series[0]) for one in series[1:]}


class Rows:
    """The table that all parts share, printed as it grows."""

    WAYS = ("1 worker", "promises", "as it chooses", "4 times as many")

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
        ways = {"sequential": ["--engine", "sequential"],
                "promises": conservative(options.workers, "--conservative-mode", "promises"),
                "as it chooses": conservative(options.workers)}
        if share == options.lookahead[0]:
            ways["1 worker"] = conservative(1)
            ways["4 times as many"] = conservative(4 * options.workers)
        series, found = compared(options, ways, "phold", [*sets, "--until", f"{until:.0f}s"],
                                 f"phold, lookahead {share}")
        rows.add(f"phold, lookahead {share:g} s", series, found)
        bar = {0.1: 1.6, 0.01: 1.2}.get(share, 0.85)
        bars.ratio(f"phold, lookahead {share:g}: as it chooses", found["as it chooses"], bar)
        bars.ratio("phold: 1 worker", found.get("1 worker"), 0.93)
        by_name = {one.name: one for one in series}
        crowd = by_name.get("4 times as many")
        if crowd:
            bars.ratio("phold: four times the workers, over those alone",
                       compare(crowd, by_name["as it chooses"]), 0.6)


def long_events(options, rows, bars):
    sets = ["--set", "lookahead=0.1s", "--set", "population=16", "--set", "work=1000"]
    until = length(options, "phold", sets, 2)
    ways = {"sequential": ["--engine", "sequential"],
            "promises": conservative(options.workers, "--conservative-mode", "promises"),
            "as it chooses": conservative(options.workers)}
    series, found = compared(options, ways, "phold", [*sets, "--until", f"{until:.0f}s"],
                             "phold, 1 us")
    rows.add("phold, 1 us, 16 events an LP", series, found)
    bars.ratio("phold, 1 us, 16 events an LP", found["as it chooses"], 1.85)


def many_lps(options, bars):
    lps = 1_000_000
    run = run_orrery("phold", ["--set", f"lps={lps}", "--set", "lookahead=0.1s", "--until", "2s",
                               *conservative(options.workers)], build=options.build)
    bars.add("phold, a million LPs: the process, an LP", run["rss"] / lps, 250, "B", at_most=True)


# --- models ---------------------------------------------------------------------------------------

def models(options, rows, bars):
    for model, least in (("epidemic", 14_400), ("traffic", 3_600), ("pcs", 200), ("wireless", 1)):
        # The demand of a day is the most that traffic has.
        until = min(length(options, model, [], least), 86_400 if model == "traffic" else 1e9)
        ways = {"sequential": ["--engine", "sequential"],
                "promises": conservative(options.workers, "--conservative-mode", "promises"),
                "as it chooses": conservative(options.workers)}
        series, found = compared(options, ways, model, ["--until", f"{until:.0f}s"], model)
        rows.add(model, series, found)
        bar = 1.5 if model == "epidemic" else 0.85
        bars.ratio(f"{model}: as it chooses", found["as it chooses"], bar)


# --- what is left ---------------------------------------------------------------------------------

def draw(rows, options):
    figure, grid = panels(1, 1, 8, 4.5)
    axis = grid[0][0]
    places = range(len(rows))
    for i, (way, colour) in enumerate((("promises", "#4878a8"), ("as it chooses", "#e08a3c"))):
        shown = [row["ratios"].get(way) for row in rows]
        axis.barh([p + 0.2 - 0.4 * i for p in places], [s["median"] for s in shown], 0.38, label=way,
                  color=colour, xerr=[[s["median"] - s["low"] for s in shown],
                                      [s["high"] - s["median"] for s in shown]])
    axis.axvline(1, color="black", linewidth=0.8)
    axis.set_yticks(list(places), [row["name"] for row in rows])
    axis.invert_yaxis()
    axis.set_xlabel(f"rate of {options.workers} workers over the sequential engine's, 95 % interval")
    axis.legend()
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
        many_lps(options, bars)
    if options.only != "phold":
        models(options, rows, bars)
    bars.show()
    write_record(options.out, "bench", {"rows": rows.rows, "bars": bars.rows})
    draw(rows.rows, options)
    print(f"\n{options.out}: bench.json, bench.png")


if __name__ == "__main__":
    command(main)
