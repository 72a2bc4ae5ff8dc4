#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The gain from interrupting handlers: Time Warp with --preempt auto, tick and both against off.

network   the mobile network of Pellegrini and Quaglia's paper (1024 cells of 1000 channels, mobiles
          that stay 5 minutes in a cell and call for 2, 25 to 75 % of the channels busy, fading and
          power of all busy channels of a cell drawn anew each --fading), also on the sequential
          engine;
mixed     two mixed loads, events of 5 ms among events of 20 us, with all long events on one worker:
          clients that wait for servers beside jobs (dialogue.cpp), and PHOLD, without clients that
          wait;
cost      the cost in runs without long handlers;
response  how long an event waits that arrives during a long event.

Compared runs alternate; ratios are taken within a round. The command writes tables, a JSON file and a
picture. It prints goals beside the measured figures, met or not; no time makes the command fail.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness import (Bars, Table, at_least, command, compare, launch, length,  # noqa: E402
                     measured, panels, parser, require, save_picture, show_ratio,
                     write_record)

OFF, SEQUENTIAL = "off", "sequential"
PARTS = ("cost", "mixed", "network", "response")


class Report:
    def __init__(self, options):
        self.options, self.bars, self.rows = options, Bars(), []
        self.table = Table(("", 34, ""), ("preempt", 10, ""), ("rate", 11, lambda rate: f"{rate / 1e3:.1f} k/s"),
                           ("to off", 20, show_ratio), ("efficiency", 10, ".3f"),
                           ("to off", 20, show_ratio), ("interrupted", 11, ".0f"))

    def compare(self, name, model, sets, least, modes, more=(), seeds=(1,), others=()):
        """Rates and efficiencies of each mode relative to off; returns them by mode. `others`:
        names and arguments of other ways to run the model."""
        options = self.options
        engine = ["--engine", "timewarp", "--workers", options.workers, *more]
        until = length(options, model, [*sets], least, [*engine, "--preempt", OFF])
        found = {}
        for seed in seeds:
            ways = {mode: [*engine, "--preempt", mode] for mode in (OFF, *modes)} | dict(others)
            series = measured(options, ways, model,
                              [*sets, "--until", f"{until}s", "--seed", seed], name)
            for one in series:
                rate = None if one is series[0] else compare(one, series[0])
                efficiency = None if one is series[0] else compare(one, series[0], "efficiency")
                self.table.row(name if one is series[0] else "", one.name, one.median(), rate,
                               one.median("efficiency"), efficiency, one.median("interrupted"))
                self.rows.append({"name": name, "seed": seed, "mode": one.name,
                                  "series": one.record(),
                                  "rate": rate and rate.record(),
                                  "efficiency": efficiency and efficiency.record()})
                if rate is not None:
                    found.setdefault(one.name, []).append((rate, efficiency))
        return found


def cost(report):
    """Runs without long handlers."""
    for model, least in (("phold", 100), ("pcs", 100)):
        [(rate, _)] = report.compare(f"{model}, as it is", model, [], least, ["auto"])["auto"]
        report.bars.ratio(f"{model}, as it is: auto / off", rate, 0.99)


def mixed(report):
    """Events of 5 ms among events of 20 us."""
    dialogue = str(report.options.build / "bin/time_sharing_dialogue.so")
    unlimited = ["--window", "1000000s"]
    [(rate, _)] = report.compare("clients, servers and jobs", dialogue, [], 1,
                                 ["auto", "tick"])["auto"]
    report.bars.ratio("clients, servers and jobs: auto / off, rate", rate, 1.2)
    [(_, efficiency)] = report.compare("the same, unlimited window", dialogue, [], 1, ["auto"],
                                       unlimited)["auto"]
    report.bars.ratio("the same, unlimited window: auto / off, efficiency", efficiency, 1.5)
    # The first sixteenth of the LPs has the long ones.
    sets = ["--set", "lps=256", "--set", "work=20000", "--set", "heavy=0.0625", "--set",
            "heavy_factor=250", "--set", "remote=0.5"]
    report.compare("PHOLD, a sixteenth long", "phold", sets, 2, ["auto", "tick"])


def network(report):
    """A mean inter-arrival time t makes 120 s / t calls at a time in a cell."""
    for load, inter_arrival in ((25, 0.48), (50, 0.24), (75, 0.16)):
        sets = [word for name, value in {
            "channels": 1000, "call_duration": "120s", "fast_share": 1, "fast_residence": "300s",
            "inter_arrival": f"{inter_arrival}s", "fading_period": report.options.fading}.items()
            for word in ("--set", f"{name}={value}")]
        found = report.compare(f"network, {load} % load", "pcs", sets, 1, ["tick", "auto", "both"],
                               ["--checkpoint", "periodic:10"],
                               range(1, report.options.seeds + 1),
                               {SEQUENTIAL: ["--engine", "sequential"]})
        found.pop(SEQUENTIAL)
        for mode, ratios in found.items():
            for seed, (rate, _) in enumerate(ratios, 1):
                report.bars.ratio(f"network, {load} % load, seed {seed}: {mode} / off", rate, 0.97)


def response(report):
    """Response times of an event that arrives during an event of 5 ms."""
    options = report.options
    program = options.build / "bin/time_sharing_response"
    table = Table(("microseconds", 34, ""), ("signal", 7, ".1f"), ("p99", 7, ".1f"),
                  ("waits", 7, ".1f"), ("p90", 7, ".1f"), ("p99", 7, ".1f"))
    table.head()
    for name, poll in (("an event of 5 ms, by a signal", 0), ("the same, poll() each us", 1)):
        out, _, _ = launch([str(program), "400", "5000", str(poll)])
        found = json.loads(out)
        table.row(name, found["signal_p50"], found["signal_p99"], found["p50"], found["p90"],
                  found["p99"])
        report.rows.append({"name": name, **found})
        bar = 1.5 if poll else 2 * found["signal_p50"] + 2
        report.bars.add(f"{name}: waits, us", found["p50"], bar, at_most=True)


def draw(rows, path):
    shown = [row for row in rows if row.get("rate")]
    if not shown:
        return
    figure, axes = panels(1, 2, 7, 0.35 * len(shown) + 1.2, sharey=True)
    places = range(len(shown), 0, -1)
    for ax, key, what in zip(axes.flat, ("rate", "efficiency"), ("committed events a second",
                                                                 "efficiency")):
        for place, row in zip(places, shown):
            found = row[key]
            ax.plot([found["low"], found["high"]], [place, place], color="C0")
            ax.plot(found["median"], place, "o", color="C0")
        ax.axvline(1, color="grey", linewidth=0.8)
        low, high = ax.get_xlim()  # a difference of nothing is to look like one
        ax.set_xlim(min(low, 0.95), max(high, 1.05))
        ax.set_xlabel(f"{what}, to --preempt off")
        ax.set_yticks(list(places), [f"{row['name']}: {row['mode']}" for row in shown])
    save_picture(figure, path)


def main():
    made = parser("time-sharing", __doc__, "bench/out/time-sharing", 11)
    made.add_argument("--workers", type=at_least(2), default=2, help="of the runs (2)")
    made.add_argument("--seconds", type=float, default=2, help="about, of a run (2)")
    made.add_argument("--seeds", type=at_least(1), default=5, help="of the network (5)")
    made.add_argument("--fading", default="1s", metavar="DURATION",
                      help="from one fading of all busy channels of a cell to the next (1s)")
    made.add_argument("--parts", default=",".join(PARTS), metavar="A,B",
                      help=f"some of {','.join(PARTS)} (all)")
    options = made.parse_args()
    require(options, "time_sharing_response", "time_sharing_dialogue.so")
    unknown = set(options.parts.split(",")) - set(PARTS)
    if unknown:
        made.error(f"--parts can be {', '.join(PARTS)}, not {', '.join(sorted(unknown))}")
    report = Report(options)
    if set(options.parts.split(",")) != {"response"}:
        report.table.head()
    for part in options.parts.split(","):
        globals()[part](report)
    report.bars.show()
    write_record(options.out, "time-sharing", {"rows": report.rows, "bars": report.bars.rows})
    draw(report.rows, options.out / "time-sharing.png")


if __name__ == "__main__":
    command(main)
