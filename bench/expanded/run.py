#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What it costs to run events with durations in parallel, and what it gains.

null      110 independent modules that compute nothing: the time of a run is overhead. The ways to
          hand events over and to keep barriers, against the sequential engine.
wireless  a mesh of stations: speed-up over the sequential engine as the cost of an event grows, with
          Time Warp beside it.

Everything that is compared runs in turn (A B C, A B C, ...) in processes of its own; differences to
the sequential engine are taken within a round, then medians and spread are printed. Context switches
are what the system counted for the process. A table, a JSON and a picture are left. Bars are printed
with what was measured, met or not; nothing fails on a time.
"""

import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent.parent
ORRERY = ROOT / "build/release/bin/orrery"


class Failed(Exception):
    pass


def run_orrery(arguments):
    """One run; what its report and the system say of it."""
    command = [str(ORRERY), "run", *map(str, arguments), "--json", "--quiet"]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(command, stdout=out, stderr=err)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        if process.returncode != 0:
            raise Failed(f"{shlex.join(command)}\n{err.read().decode().strip()}")
        run = json.load(out)["run"]
    return {
        "seconds": run["seconds"]["loop"],
        "events": run["committed"],
        "efficiency": run["efficiency"],
        "fingerprint": run["fingerprint"],
        "switches": usage.ru_nvcsw + usage.ru_nivcsw,
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
    }


class Series:
    """One thing that is measured: a name, the arguments of its runs, what came of them."""

    def __init__(self, name, arguments):
        self.name, self.arguments, self.samples = name, [str(a) for a in arguments], []

    def measure(self):
        self.samples.append(run_orrery(self.arguments))

    def values(self, key):
        return [s[key] for s in self.samples]

    def median(self, key):
        return statistics.median(self.values(key))


def alternate(series, rounds, label):
    for turn in range(rounds):
        for one in series:
            print(f"\r  {label}: round {turn + 1} of {rounds}, {one.name:<40}", end="",
                  file=sys.stderr, flush=True)
            one.measure()
    print("\r" + " " * 100 + "\r", end="", file=sys.stderr, flush=True)
    prints = {s["fingerprint"] for one in series for s in one.samples}
    if len(prints) > 1:
        sys.exit(f"bench: fingerprints differ: {', '.join(sorted(prints))}")


def spread(values):
    return f"{statistics.median(values):>10.1f} {min(values):>10.1f} {max(values):>10.1f}"


def expanded(workers, mode, *more):
    return ["--engine", "expanded", "--workers", workers, "--expanded-mode", mode, *more]


# --- null -----------------------------------------------------------------------------------------

def null_series(options):
    model = ["null", "--set", f"events={options.events}"]
    two = options.workers
    ways = {
        "sequential": ["--engine", "sequential"],
        "pull + event": expanded(two, "single", "--handover", "pull", "--barrier", "event"),
        "push + event": expanded(two, "single", "--barrier", "event"),
        "pull + local": expanded(two, "single", "--handover", "pull"),
        "push + local": expanded(two, "single"),
        "batched": expanded(two, "batched"),
        "decentralised": expanded(two, "decentralised"),
        "auto": expanded(two, "auto"),
        "auto, 1 worker": expanded(1, "auto"),
    }
    return [Series(name, [*model, *arguments]) for name, arguments in ways.items()]


def overheads(one, baseline):
    """Nanoseconds an event above the sequential run of the same round."""
    return [1e9 * (a["seconds"] - b["seconds"]) / a["events"]
            for a, b in zip(one.samples, baseline.samples)]


def null(options, bars):
    series = null_series(options)
    alternate(series, options.rounds, "null")
    baseline = series[0]
    print(f"\nnull: 110 modules, {int(baseline.median('events')):,} events, no computation, "
          f"{options.workers} workers")
    print(f"  {'':<18} {'time s':>8} {'ns/event':>9}   above sequential, ns/event         context")
    print(f"  {'':<18} {'':>8} {'':>9} {'median':>10} {'lowest':>10} {'highest':>10}   switches")
    rows = []
    for one in series:
        above = overheads(one, baseline)
        each = 1e9 * one.median("seconds") / one.median("events")
        rows.append({"name": one.name, "seconds": one.median("seconds"), "ns_per_event": each,
                     "ns_above_sequential": statistics.median(above),
                     "context_switches": one.median("switches")})
        print(f"  {one.name:<18} {one.median('seconds'):>8.2f} {each:>9.0f} {spread(above)} "
              f"{one.median('switches'):>10.0f}")
    by_name = {row["name"]: row for row in rows}
    worst = by_name["pull + event"]
    for what in ("push + local", "batched", "decentralised", "auto"):
        above = max(by_name[what]["ns_above_sequential"], 1.0)
        bars.add(f"null: overhead of pull + event over {what}",
                 worst["ns_above_sequential"] / above, 14, "x")
    bars.add("null: 1 worker above sequential", by_name["auto, 1 worker"]["ns_above_sequential"],
             150, "ns", at_most=True)
    bars.add("null: auto over sequential", by_name["auto"]["seconds"] / baseline.median("seconds"),
             1.2, "x", at_most=True)
    return {"rows": rows, "series": series}


# --- wireless -------------------------------------------------------------------------------------

# Steps of the busy loops, of about a nanosecond: for each signal at a station, and ten times as much
# for each frame that a host makes, relays or decodes.
WORK = [200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000]


def wireless_point(options, work):
    arguments = ["wireless", "--set", f"channel_work={work}", "--set", f"work={10 * work}"]
    # The same computing time for all points, as far as the model's shortest useful run allows.
    probe = run_orrery([*arguments, "--until", "20ms", "--engine", "sequential"])
    until = max(5, 20 * options.seconds / max(probe["seconds"], 1e-4))
    arguments += ["--until", f"{min(until, 20_000):.0f}ms"]
    two = options.workers
    ways = {
        "sequential": ["--engine", "sequential"],
        "expanded": expanded(two, "auto"),
        "expanded, batched": expanded(two, "batched"),
        "expanded, decentralised": expanded(two, "decentralised"),
        "timewarp": ["--engine", "timewarp", "--workers", two],
    }
    return [Series(name, [*arguments, *way]) for name, way in ways.items()]


def wireless(options, bars):
    points = []
    print(f"\nwireless: speed-up of {options.workers} workers over the sequential engine")
    names = None
    for work in options.work:
        series = wireless_point(options, work)
        alternate(series, options.rounds, f"wireless, work {work}")
        cost = 1e6 * series[0].median("seconds") / series[0].median("events")
        point = {"work": work, "event_us": cost, "series": series, "speed_up": {}}
        for one in series[1:]:
            ratios = [b["seconds"] / a["seconds"] for a, b in zip(one.samples, series[0].samples)]
            point["speed_up"][one.name] = {"median": statistics.median(ratios),
                                           "lowest": min(ratios), "highest": max(ratios)}
        if names is None:
            names = list(point["speed_up"])
            print(f"  {'us/event':>10} " + " ".join(f"{name:>24}" for name in names))
        print(f"  {cost:>10.2f} " + " ".join(
            f"{s['median']:>10.2f} ({s['lowest']:.2f} to {s['highest']:.2f})"
            for s in point["speed_up"].values()), flush=True)
        points.append(point)
    long = [p["speed_up"]["expanded"]["median"] for p in points if p["event_us"] >= 10]
    if long:
        bars.add("wireless: best speed-up, events of 10 us and more", max(long), 1.5, "x")
    return {"points": points}


# --- what is left ---------------------------------------------------------------------------------

class Bars:
    """What the project promised itself, beside what was measured."""

    def __init__(self):
        self.rows = []

    def add(self, what, value, bar, unit, at_most=False):
        met = value <= bar if at_most else value >= bar
        self.rows.append({"what": what, "measured": value, "bar": bar, "met": met, "unit": unit,
                          "at_most": at_most})

    def show(self):
        print("\nBars")
        for r in self.rows:
            sign = "<=" if r["at_most"] else ">="
            print(f"  {'met   ' if r['met'] else 'MISSED'} {r['what']:<56} {r['measured']:>9.2f} "
                  f"{r['unit']:<3} ({sign} {r['bar']:g})")


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
        axis.errorbar(costs, medians, yerr=[[m - v["lowest"] for m, v in zip(medians, values)],
                                            [v["highest"] - m for m, v in zip(medians, values)]],
                      marker="o", capsize=3, label=name)
    axis.axhline(1, color="#888888", linewidth=0.8)
    axis.set_xscale("log")
    axis.set_ylim(bottom=0)
    axis.set_xlabel("cost of an event, us (sequential)")
    axis.set_ylabel("speed-up over the sequential engine")
    axis.legend(fontsize=8)
    axis.set_title("wireless mesh")


def picture(results, path):
    figure, axes = plt.subplots(1, len(results), figsize=(6.2 * len(results), 4.4), squeeze=False)
    for axis, (name, result) in zip(axes[0], results.items()):
        {"null": draw_null, "wireless": draw_wireless}[name](axis, result)
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def plain(value):
    """What JSON can hold of a result."""
    if isinstance(value, Series):
        return {"name": value.name, "arguments": value.arguments, "samples": value.samples}
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return [plain(one) for one in value]
    return value


def parse_arguments():
    parser = argparse.ArgumentParser(prog="./dev bench expanded", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=["null", "wireless"], help="run this part only")
    parser.add_argument("--rounds", type=int, default=5, help="alternating rounds (5)")
    parser.add_argument("--workers", type=int, default=2, help="of the parallel runs (2)")
    parser.add_argument("--events", type=int, default=50_000,
                        help="events of each module of the null model (50000: 5.5 million in all)")
    parser.add_argument("--seconds", type=float, default=1.0,
                        help="length of a sequential run of the wireless model, roughly (1)")
    parser.add_argument("--work", type=lambda t: [int(n) for n in t.split(",")], default=WORK,
                        help="busy-loop steps of the wireless series, with commas between them")
    parser.add_argument("--out", type=Path, default=ROOT / "results/bench-expanded",
                        help="folder for bench.json and bench.png (results/bench-expanded)")
    options = parser.parse_args()
    if options.rounds < 1 or options.seconds <= 0 or options.workers < 2:
        parser.error("--rounds must be at least 1, --seconds positive, --workers at least 2")
    return options


def main():
    options = parse_arguments()
    if not ORRERY.exists():
        sys.exit(f"bench: {ORRERY} is not there; ./dev build makes it")
    parts, bars, results = {"null": null, "wireless": wireless}, Bars(), {}
    for name, part in parts.items():
        if options.only in (None, name):
            results[name] = part(options, bars)
    bars.show()
    options.out.mkdir(parents=True, exist_ok=True)
    record = {"workers": options.workers, "bars": bars.rows, **plain(results)}
    (options.out / "bench.json").write_text(json.dumps(record, indent=1) + "\n")
    picture(results, options.out / "bench.png")
    print(f"\n{options.out}: bench.json, bench.png")


if __name__ == "__main__":
    try:
        main()
    except Failed as failure:
        sys.exit(f"bench: {failure}")
    except KeyboardInterrupt:
        sys.exit(130)
