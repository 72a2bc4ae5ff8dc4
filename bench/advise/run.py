#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The predictions of `orrery advise` against real runs.

In each round `orrery advise` examines a model within a budget that is a part of the run's time. Then
the recommended command runs to its end. The figure is the ratio of the predicted to the real
wall-clock time. The goal is a median within 15 %. Also measured: how often the real time lies in the
predicted interval, and the error of the predicted number of events. Writes advise.json and
advise.png.
"""

import json
import shlex
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness import (Bars, Comparison, Table, command, launch, panels, parser,  # noqa: E402
                     require, save_picture, some_of, write_record)

# Runs of half a minute or so on two cores.
CASES = {
    "phold": ["phold", "--set", "lookahead=0.1s", "--set", "work=1000", "--until", "6000s"],
    "traffic": ["traffic", "--set", "network=grid", "--set", "grid=100", "--set", "period=12h",
                "--until", "12h"],
    "wireless": ["wireless", "--set", "stations=400", "--until", "60s"],
    "traffic, peak": ["traffic", "--set", "network=grid", "--set", "grid=100", "--set",
                      "period=12h", "--set", "profile=peak", "--until", "12h", "--pilot",
                      "grid_rate=6"],
}
BAR = 0.15


def round_of(options, words):
    """One prediction and the run that it predicts."""
    orrery = options.build / "bin/orrery"
    out, _, _ = launch([orrery, "advise", *words, "--budget", f"{options.budget}s", "--json",
                        "--quiet"])
    advice = json.loads(out)
    recommended = advice["recommendation"]
    run = shlex.split(recommended["command"])
    out, _, _ = launch([orrery, *run[1:], "--json", "--quiet"])
    real = json.loads(out)["run"]
    low, high = recommended["seconds"]["interval"] or (0, float("inf"))
    seconds = real["seconds"]["wall"]
    return {"configuration": recommended["configuration"]["name"],
            "foretold": recommended["seconds"]["value"], "low": low, "high": high, "real": seconds,
            "ratio": recommended["seconds"]["value"] / seconds, "inside": low <= seconds <= high,
            "events_ratio": advice["events"]["whole_run"]["value"] / real["committed"],
            "basis": advice["events"]["basis"], "advised_seconds": advice["wall_seconds"]}


def draw(results, path):
    figure, axes = panels(1, 1, 8, 4)
    axis = axes[0][0]
    axis.axhspan(1 - BAR, 1 + BAR, color="#0072b2", alpha=0.15, label="15 %")
    axis.axhline(1, color="black", linewidth=0.8)
    for place, (name, rounds) in enumerate(results.items()):
        for i, one in enumerate(rounds):
            x = place + 0.12 * (i - (len(rounds) - 1) / 2)
            axis.errorbar(x, one["ratio"], color="#d55e00", marker="o", capsize=3,
                          yerr=[[one["ratio"] - one["low"] / one["real"]],
                                [one["high"] / one["real"] - one["ratio"]]])
    axis.set_xticks(range(len(results)), results)
    axis.set_ylim(0.5, 1.6)
    axis.set_ylabel("foretold / real time")
    axis.legend()
    save_picture(figure, path)


def main():
    made = parser("advise", __doc__, "bench/out/advise", 4)
    made.add_argument("--budget", type=float, default=20, help="seconds to be advised in (20)")
    made.add_argument("--only", type=some_of(list(CASES)), default=list(CASES),
                      help="models, of " + ", ".join(CASES))
    options = made.parse_args()
    require(options)
    table = Table(("model", 14, "s"), ("round", 5, "d"), ("foretold", 9, ".1f"),
                  ("interval", 14, "s"), ("real", 7, ".1f"), ("ratio", 6, ".2f"),
                  ("events", 7, ".3f"), ("basis", 9, "s"), ("configuration", 32, "s"))
    table.head()
    results = {name: [] for name in options.only}
    for turn in range(options.rounds):
        for name in options.only:
            one = round_of(options, CASES[name])
            results[name].append(one)
            table.row(name, turn + 1, one["foretold"], f"{one['low']:.1f} to {one['high']:.1f}",
                      one["real"], one["ratio"], one["events_ratio"], one["basis"],
                      one["configuration"])
    bars = Bars()
    print()
    for name, rounds in results.items():
        ratio = Comparison([one["ratio"] for one in rounds])
        inside = sum(one["inside"] for one in rounds)
        print(f"  {name:<14} foretold / real {ratio.median:.2f} {ratio.interval()}, events "
              f"{statistics.median(one['events_ratio'] for one in rounds):.3f}, the real time within "
              f"the interval in {inside} of {len(rounds)}")
        bars.add(f"{name}: error of the median", abs(ratio.median - 1), BAR, at_most=True)
    bars.show()
    write_record(options.out, "advise", {"cases": CASES, "budget_seconds": options.budget,
                                         "rounds": results, "bars": bars.rows})
    draw(results, options.out / "advise.png")
    print(f"\nleft in {options.out}: advise.json advise.png")


command(main)
