#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Offloaded checkpoints on PCS (50 channels a cell, about 2 KiB of state), one after every event.

The share of a copy from which on it is finished rather than given up (the abort threshold) goes
from 0 to 1: peak event rate and events between committed checkpoints, for copies made by the worker
(synchronous), by a copier one at a time (mono) and by a copier with a queue (multi). In one series
the copier has a core of its own (one worker), in the other it shares one (as many workers as
cores). Then larger states, on PHOLD. Reference, Santoro and Quaglia: multi commits nearly every
checkpoint (1 to 1.5 events) where mono lies at 18 to 25, and is 6 to 12 % faster. Leaves
offload.json and offload.png.
"""

import argparse
import os
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness import (ROOT, Series, alternate, check_fingerprints, require_orrery,  # noqa: E402
                     run_orrery, write_record)

MODES = ["synchronous", "mono", "multi"]


def run_once(model, sets, until, workers, mode, threshold):
    arguments = ["--engine", "timewarp", "--workers", str(workers), "--until", until,
                 "--checkpoint", "copy"]
    if mode == "synchronous":
        arguments += ["--offload", "multi", "--copier", "synchronous"]
    else:
        arguments += ["--offload", mode, "--abort-threshold", str(threshold)]
    return run_orrery(model, arguments, sets)


class Workload:
    def __init__(self, name, model, sets, until, workers):
        self.name, self.model, self.sets, self.until, self.workers = name, model, sets, until, workers

    def series(self, thresholds):
        yield "synchronous", None, self.one("synchronous", None)
        for mode in ("mono", "multi"):
            for threshold in thresholds:
                yield mode, threshold, self.one(mode, threshold)

    def one(self, mode, threshold):
        name = mode if threshold is None else f"{mode} {threshold}"
        return Series(name, lambda: run_once(self.model, self.sets, self.until, self.workers, mode,
                                             threshold))


def workloads(options):
    for workers in options.workers:
        place = f"{workers} worker{'s' if workers > 1 else ''}"
        for seconds in options.inter_arrivals:
            for cells in options.cells:
                # As many events in each: a cell has calls / inter-arrival events.
                until = f"{max(60, round(options.events / cells * seconds / 3.2))}s"
                yield Workload(f"pcs, {cells} cells, {seconds} s, {place}", "pcs",
                               {"cells": cells, "channels": 50, "inter_arrival": f"{seconds}s"},
                               until, workers)
        for size in options.states:
            events = max(2000, round(options.events * 2048 / size))
            yield Workload(f"phold, {size >> 10} KiB, {place}", "phold",
                           {"lps": 64, "state": size, "touched": 1024},
                           f"{max(10, round(events / 64))}s", workers)


def show(workload, entries):
    print(f"\n{workload.name}")
    print(f"  {'':<14} {'events/s':>10} {'lowest':>10} {'highest':>10} {'distance':>9} {'aborted':>8} "
          f"{'copier':>7}")
    for _, _, one in entries:
        if not one.samples:
            print(f"  {one.name:<14} failed: {one.failures[0].splitlines()[-1]}")
            continue
        low, high = one.spread()
        offloaded = one.median("checkpoints_offloaded") or 0
        aborted = (one.median("checkpoints_aborted") or 0) / offloaded if offloaded else 0
        print(f"  {one.name:<14} {one.median():>10.0f} {low:>10.0f} {high:>10.0f} "
              f"{one.median('checkpoint_distance') or 0:>9.2f} {aborted:>8.1%} "
              f"{one.median('copier_utilisation') or 0:>7.1%}")
    best = {mode: max((s for m, _, s in entries if m == mode and s.samples),
                      key=lambda s: s.median(), default=None) for mode in MODES}
    if all(best.values()):
        gain = best["multi"].median() / best["mono"].median() - 1
        over = best["multi"].median() / best["synchronous"].median() - 1
        print(f"  peak: multi over mono {gain:+.1%}, over synchronous {over:+.1%}; distance "
              f"{best['multi'].median('checkpoint_distance'):.2f} against "
              f"{best['mono'].median('checkpoint_distance'):.2f}")
        return {"workload": workload.name, "multi_over_mono": gain, "multi_over_synchronous": over}
    return None


def picture(results, path):
    columns = 3
    rows = (len(results) + columns - 1) // columns
    figure, axes = plt.subplots(rows, columns, figsize=(5 * columns, 3.3 * rows), squeeze=False)
    colours = {"synchronous": "#555555", "mono": "#c44e52", "multi": "#4878a8"}
    for axis, (workload, entries) in zip(axes.flat, results):
        distances = axis.twinx()
        for mode in MODES:
            points = [(t, s.median(), s.median("checkpoint_distance")) for m, t, s in entries
                      if m == mode and s.samples]
            if not points:
                continue
            if mode == "synchronous":
                axis.axhline(points[0][1], color=colours[mode], label=mode)
                continue
            x = [p[0] for p in points]
            axis.plot(x, [p[1] for p in points], "o-", color=colours[mode], label=mode, markersize=3)
            distances.plot(x, [p[2] for p in points], ":", color=colours[mode])
        axis.set_title(workload.name, fontsize=9)
        axis.set_xlabel("abort threshold", fontsize=8)
        axis.set_ylabel("events/s", fontsize=8)
        axis.set_ylim(bottom=0)
        distances.set_ylabel("events between checkpoints (dotted)", fontsize=7)
        distances.set_ylim(bottom=0)
        axis.legend(fontsize=7, loc="lower left")
    for axis in list(axes.flat)[len(results):]:
        axis.set_visible(False)
    figure.tight_layout()
    figure.savefig(path, dpi=100)


def parse_arguments():
    parser = argparse.ArgumentParser(prog="./dev bench offload", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    numbers = lambda text: [int(x) for x in text.split(",") if x]  # noqa: E731
    parser.add_argument("--rounds", type=int, default=3, help="alternating rounds (3)")
    parser.add_argument("--events", type=int, default=300_000, help="events of a run (300000)")
    parser.add_argument("--cells", type=numbers, default=[36, 64, 144, 256], help="36,64,144,256")
    parser.add_argument("--inter-arrivals", type=numbers, default=[3, 10], help="seconds: 3,10")
    parser.add_argument("--states", type=numbers, default=[16384, 262144], help="16384,262144")
    parser.add_argument("--workers", type=numbers, default=[1, os.cpu_count()],
                        help="1 and as many as cores")
    parser.add_argument("--steps", type=int, default=10, help="steps of the threshold (10)")
    parser.add_argument("--out", type=Path, default=ROOT / "results/bench", help="results/bench")
    return parser.parse_args()


def main():
    options = parse_arguments()
    require_orrery()
    thresholds = [round(i / options.steps, 3) for i in range(options.steps + 1)]
    results, gains = [], []
    for workload in workloads(options):
        entries = list(workload.series(thresholds))
        series = [s for _, _, s in entries]
        alternate(series, options.rounds, workload.name)
        check_fingerprints(series)
        results.append((workload, entries))
        gain = show(workload, entries)
        if gain:
            gains.append(gain)
    write_record(options.out, "offload",
                 {"gains": gains, "series": {w.name: [s.record() for _, _, s in entries]
                                             for w, entries in results}})
    picture(results, options.out / "offload.png")
    print(f"\n{options.out}: offload.json, offload.png")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
