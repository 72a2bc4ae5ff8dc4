#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Events with durations in parallel: cost and gain.

null      110 independent modules that compute nothing: the time of a run is overhead. The modes,
          against the sequential engine.
wireless  a mesh of stations: speed-up over the sequential engine as the cost of an event grows, also
          of Time Warp.

Compared runs alternate; differences and ratios to the sequential engine are taken within a round.
Context switches are those of the process, counted by the system. The command writes a table, a JSON
file and a picture. It prints goals beside the measured figures, met or not; no time makes the command
fail.
"""

import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness import (Bars, Table, at_least, command, compare, measured, numbers,  # noqa: E402
                     panels, parser, require, run_orrery, save_picture, write_record)


def expanded(workers, mode, *more):
    return ["--engine", "expanded", "--workers", workers, "--expanded-mode", mode, *more]


# --- null -----------------------------------------------------------------------------------------

def null_series(options):
    two = options.workers
    ways = {
        "sequential": ["--engine", "sequential"],
        "in place": expanded(two, "in-place"),
        "batched": expanded(two, "batched"),
        "auto": expanded(two, "auto"),
        "auto, 1 worker": expanded(1, "auto"),
    }
    return measured(options, ways, "null", ["--set", f"events={options.events}"], "null")


def overheads(one, baseline):
    """Nanoseconds an event above the sequential run of the same round."""
    return [1e9 * (a["seconds"] - b["seconds"]) / a["committed"]
            for a, b in zip(one.samples, baseline.samples)]


def null(options, bars):
    series = null_series(options)
    baseline = series[0]
    print(f"\nnull: 110 modules, {int(baseline.median('committed')):,} events, no computation, "
          f"{options.workers} workers")
    print(f"  {'':<36}   above sequential, ns/event         context")
    table = Table(("", 18, ""), ("time s", 8, ".2f"), ("ns/event", 9, ".0f"), ("median", 10, ".1f"),
                  ("lowest", 10, ".1f"), ("highest", 10, ".1f"), ("switches", 10, ".0f"))
    table.head()
    rows = []
    for one in series:
        above = overheads(one, baseline)
        each = 1e9 * one.median("seconds") / one.median("committed")
        rows.append({"name": one.name, "seconds": one.median("seconds"), "ns_per_event": each,
                     "ns_above_sequential": statistics.median(above),
                     "context_switches": one.median("switches")})
        table.row(one.name, one.median("seconds"), each, statistics.median(above), min(above),
                  max(above), one.median("switches"))
    by_name = {row["name"]: row for row in rows}
    bars.add("null: batched above sequential", by_name["batched"]["ns_above_sequential"], 150, "ns",
             at_most=True)
    bars.add("null: 1 worker above sequential", by_name["auto, 1 worker"]["ns_above_sequential"],
             150, "ns", at_most=True)
    auto = next(one for one in series if one.name == "auto")
    bars.ratio("null: auto over sequential", compare(auto, baseline, "seconds"), 1.2, at_most=True)
    return {"rows": rows, "series": [one.record() for one in series]}


# --- wireless -------------------------------------------------------------------------------------

# Steps of the busy loops, of about a nanosecond: for each signal at a station, and ten times as much
# for each frame that a host makes, relays or decodes.
WORK = [200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000]


def wireless_series(options, work):
    arguments = ["--set", f"channel_work={work}", "--set", f"work={10 * work}"]
    # The same computing time for all points, as far as the model's shortest useful run allows.
    probe = run_orrery("wireless", [*arguments, "--until", "20ms", "--engine", "sequential"],
                       build=options.build)
    until = max(5, 20 * options.seconds / max(probe["seconds"], 1e-4))
    arguments += ["--until", f"{min(until, 20_000):.0f}ms"]
    two = options.workers
    ways = {
        "sequential": ["--engine", "sequential"],
        "expanded": expanded(two, "auto"),
        "expanded, in place": expanded(two, "in-place"),
        "expanded, batched": expanded(two, "batched"),
        "timewarp": ["--engine", "timewarp", "--workers", two],
    }
    return measured(options, ways, "wireless", arguments, f"wireless, work {work}")


def wireless(options, bars):
    points, table = [], None
    print(f"\nwireless: speed-up of {options.workers} workers over the sequential engine "
          "(median of the rounds' ratios, [95 % interval])")
    for work in options.work:
        baseline, *others = series = wireless_series(options, work)
        cost = 1e6 * baseline.median("seconds") / baseline.median("committed")
        found = {one.name: compare(baseline, one, "seconds") for one in others}
        if table is None:
            shown = lambda c: f"{c.median:.2f} {c.interval()}"  # noqa: E731
            table = Table(("us/event", 9, ".2f"), *((name, 26, shown) for name in found))
            table.head()
        table.row(cost, *found.values())
        points.append({"work": work, "event_us": cost, "series": [one.record() for one in series],
                       "speed_up": {name: one.record() for name, one in found.items()}})
    long = [p["speed_up"]["expanded"]["median"] for p in points if p["event_us"] >= 10]
    if long:
        bars.add("wireless: best speed-up, events of 10 us and more", max(long), 1.5, "x")
    return {"points": points}


# --- what is left ---------------------------------------------------------------------------------

def draw_null(axis, result):
    rows = result["rows"][1:]
    axis.barh([r["name"] for r in rows], [max(r["ns_above_sequential"], 1) for r in rows],
              color="#4878a8")
    for i, row in enumerate(rows):
        axis.text(max(row["ns_above_sequential"], 1) * 1.1, i,
                  f"{row['ns_above_sequential']:.0f} ns, {row['context_switches']:.0f} switches",
                  va="center", fontsize=8)
    axis.set_xscale("log")
    axis.set_xlim(1, 30 * max(max(r["ns_above_sequential"] for r in rows), 10))
    axis.invert_yaxis()
    axis.set_xlabel("ns an event above the sequential engine")
    axis.set_title("null model: overhead")


def draw_wireless(axis, result):
    points = result["points"]
    costs = [p["event_us"] for p in points]
    for name in points[0]["speed_up"]:
        values = [p["speed_up"][name] for p in points]
        medians = [v["median"] for v in values]
        axis.errorbar(costs, medians, yerr=[[m - v["low"] for m, v in zip(medians, values)],
                                            [v["high"] - m for m, v in zip(medians, values)]],
                      marker="o", capsize=3, label=name)
    axis.axhline(1, color="#888888", linewidth=0.8)
    axis.set_xscale("log")
    axis.set_ylim(bottom=0)
    axis.set_xlabel("cost of an event, us (sequential)")
    axis.set_ylabel("speed-up over the sequential engine")
    axis.legend(fontsize=8)
    axis.set_title("wireless mesh")


def picture(results, path):
    figure, axes = panels(1, len(results), 6.2, 4.4)
    for axis, (name, result) in zip(axes[0], results.items()):
        {"null": draw_null, "wireless": draw_wireless}[name](axis, result)
    save_picture(figure, path)


def parse_arguments():
    parse = parser("expanded", __doc__, out="results/bench-expanded", rounds=5)
    parse.add_argument("--only", choices=["null", "wireless"], help="run this part only")
    parse.add_argument("--workers", type=at_least(2), default=2, help="of the parallel runs (2)")
    parse.add_argument("--events", type=int, default=50_000,
                       help="events of each module of the null model (50000: 5.5 million in all)")
    parse.add_argument("--seconds", type=float, default=1.0,
                       help="length of a sequential run of the wireless model, roughly (1)")
    parse.add_argument("--work", type=numbers(int), default=WORK,
                       help="busy-loop steps of the wireless series, with commas between them")
    options = parse.parse_args()
    if options.seconds <= 0:
        parse.error("--seconds must be positive")
    return options


def main():
    options = parse_arguments()
    require(options)
    parts, bars, results = {"null": null, "wireless": wireless}, Bars(), {}
    for name, part in parts.items():
        if options.only in (None, name):
            results[name] = part(options, bars)
    bars.show()
    write_record(options.out, "bench", {"workers": options.workers, "bars": bars.rows, **results})
    picture(results, options.out / "bench.png")
    print(f"\n{options.out}: bench.json, bench.png")


if __name__ == "__main__":
    command(main)
