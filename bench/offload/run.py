#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints copied by another thread, over the abort threshold.

On PCS (50 channels a cell, about 2 KiB of state) a checkpoint follows every event. The abort
threshold, the share of a copy from which on it is finished and not abandoned, goes from 0 to 1. The
figures are the peak event rate and the events between committed checkpoints, for copies made by the
worker (synchronous), by a copier one at a time (mono) and by a copier with a queue (multi). In one
series the copier has a core of its own (one worker), in the other it shares a core (as many workers
as cores). Then larger states, on PHOLD. Reference, Santoro and Quaglia: multi commits nearly every
checkpoint (1 to 1.5 events between checkpoints), mono has 18 to 25 events between checkpoints, and
multi is 6 to 12 % faster. Writes offload.json and offload.png.
"""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness import (Series, Table, alternate, check_fingerprints, command, compare,  # noqa: E402
                     numbers, panels, parser, require, run_orrery, save_picture, write_record)

MODES = ["synchronous", "mono", "multi"]


def run_once(workload, mode, threshold):
    arguments = ["--engine", "timewarp", "--workers", workload.workers, "--until", workload.until,
                 "--checkpoint", "copy"]
    if mode == "synchronous":
        arguments += ["--offload", "multi", "--copier", "synchronous"]
    else:
        arguments += ["--offload", mode, "--abort-threshold", threshold]
    return run_orrery(workload.model, arguments, workload.sets, workload.build)


class Workload:
    def __init__(self, name, model, sets, until, workers, build):
        self.name, self.model, self.sets, self.until = name, model, sets, until
        self.workers, self.build = workers, build

    def series(self, thresholds):
        yield "synchronous", None, self.one("synchronous", None)
        for mode in ("mono", "multi"):
            for threshold in thresholds:
                yield mode, threshold, self.one(mode, threshold)

    def one(self, mode, threshold):
        name = mode if threshold is None else f"{mode} {threshold}"
        return Series(name, lambda: run_once(self, mode, threshold))


def workloads(options):
    for workers in options.workers:
        place = f"{workers} worker{'s' if workers > 1 else ''}"
        for seconds in options.inter_arrivals:
            for cells in options.cells:
                # As many events in each: a cell has calls / inter-arrival events.
                until = f"{max(60, round(options.events / cells * seconds / 3.2))}s"
                yield Workload(f"pcs, {cells} cells, {seconds} s, {place}", "pcs",
                               {"cells": cells, "channels": 50, "inter_arrival": f"{seconds}s"},
                               until, workers, options.build)
        for size in options.states:
            events = max(2000, round(options.events * 2048 / size))
            yield Workload(f"phold, {size >> 10} KiB, {place}", "phold",
                           {"lps": 64, "state": size, "touched": 1024},
                           f"{max(10, round(events / 64))}s", workers, options.build)


def show(workload, entries):
    print(f"\n{workload.name}")
    table = Table(("", 14, ""), ("events/s", 10, ".0f"), ("lowest", 10, ".0f"),
                  ("highest", 10, ".0f"), ("distance", 9, ".2f"), ("aborted", 8, ".1%"),
                  ("copier", 7, ".1%"))
    table.head()
    for _, _, one in entries:
        if not one.samples:
            table.failed(one)
            continue
        offloaded = one.median("checkpoints_offloaded") or 0
        aborted = (one.median("checkpoints_aborted") or 0) / offloaded if offloaded else 0
        table.row(one.name, one.median(), *one.spread(), one.median("checkpoint_distance") or 0,
                  aborted, one.median("copier_utilisation") or 0)
    best = {mode: max((s for m, _, s in entries if m == mode and s.samples),
                      key=lambda s: s.median(), default=None) for mode in MODES}
    if not all(best.values()):
        return None
    gain = compare(best["multi"], best["mono"])
    over = compare(best["multi"], best["synchronous"])
    print(f"  peak: multi over mono {gain.gain()}, over synchronous {over.gain()}; distance "
          f"{best['multi'].median('checkpoint_distance'):.2f} against "
          f"{best['mono'].median('checkpoint_distance'):.2f}")
    return {"workload": workload.name, "multi_over_mono": gain.record(),
            "multi_over_synchronous": over.record()}


def picture(results, path):
    columns = 3
    rows = (len(results) + columns - 1) // columns
    figure, axes = panels(rows, columns, 5, 3.3)
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
    save_picture(figure, path)


def parse_arguments():
    parse = parser("offload", __doc__, out="results/bench", rounds=3)
    some = numbers(int)
    parse.add_argument("--events", type=int, default=300_000, help="events of a run (300000)")
    parse.add_argument("--cells", type=some, default=[36, 64, 144, 256], help="36,64,144,256")
    parse.add_argument("--inter-arrivals", type=some, default=[3, 10], help="seconds: 3,10")
    parse.add_argument("--states", type=some, default=[16384, 262144], help="16384,262144")
    parse.add_argument("--workers", type=some, default=[1, os.cpu_count()],
                       help="1 and as many as cores")
    parse.add_argument("--steps", type=int, default=10, help="steps of the threshold (10)")
    return parse.parse_args()


def main():
    options = parse_arguments()
    require(options)
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
    command(main)
