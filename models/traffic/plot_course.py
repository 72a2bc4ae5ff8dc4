#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws speed, late trips and departures of traffic runs over time.

Usage: plot_course.py OUT [OUT ...] [--output FILE.png]

Each OUT is the output folder of a run with the table `course` (`orrery run traffic --set
interval=15min --out OUT`); several are drawn into the same picture, named by the parameter in which
they differ. From above: the mean speed on all links in each step (distance by time of all vehicles,
waits included), the share of the trips ended in it that took more than 1.5 times their free-flow
time, and how many trips began and ended.

Needs matplotlib and numpy (Debian: python3-matplotlib).
"""
import argparse
import os
import sys

from plot import network_name, read_report
import numpy as np
import matplotlib.pyplot as plt
from run_tables import read_table

COLOURS = ["#d73027", "#fdae61", "#2b6ea8", "#5aae61", "#762a83", "0.4"]
COLUMNS = ["end", "distance", "time", "started", "finished", "late"]


class Course:
    """The sums over all intersections by step."""

    def __init__(self, folder):
        table = read_table(folder, "course", COLUMNS, "traffic")
        if not len(table["end"]):
            sys.exit(f"plot_course.py: {folder}/course.csv holds no rows; was the run made with "
                     "--set interval=15min or the like?")
        self.report = read_report(folder)
        self.hours, step = np.unique(table["end"], return_inverse=True)
        self.hours = self.hours / 3600
        self.width = np.diff(self.hours, prepend=0)
        total = {name: np.bincount(step, weights=table[name]) for name in COLUMNS[1:]}
        none = np.full(len(self.hours), np.nan)
        self.speed = np.divide(total["distance"], total["time"], out=none.copy(),
                               where=total["time"] > 0)
        self.late = np.divide(100 * total["late"], total["finished"], out=none.copy(),
                              where=total["finished"] > 0)
        self.started, self.finished = total["started"] / self.width, total["finished"] / self.width


def names_of(courses):
    """What the runs differ in; routes where they are one or the same."""
    reports = [course.report for course in courses]
    differing = [name for name in (reports[0] if len(courses) > 1 else {})
                 if name != "reached_seconds" and len({str(r.get(name)) for r in reports}) > 1]
    shown = differing or ["routes"]
    return [", ".join(f"{name} = {report.get(name, '?')}" for name in shown) for report in reports]


def title(report):
    return (f"{network_name(report)} over the day: demand × {report.get('demand', 1):g}, departures "
            f"'{report.get('profile', 'flat')}' within {report.get('period', '?')}"
            if report else "Traffic over the day")


def draw(courses, last):
    figure, (speed, late, trips) = plt.subplots(
        3, 1, figsize=(10, 9), sharex=True, layout="constrained", height_ratios=[3, 2, 2])
    for course, name, colour in zip(courses, names_of(courses), COLOURS * len(courses)):
        middle = course.hours - course.width / 2
        style = {"color": colour, "linewidth": 2, "label": name}
        speed.plot(middle, course.speed, **style)
        late.plot(middle, course.late, **style)
        trips.plot(middle, course.finished, **style)
    first = courses[0]
    trips.fill_between(first.hours, first.started, step="pre", color="0.85",
                       label="departures, the same in all" if len(courses) > 1 else "departures")
    speed.set_ylabel("mean speed (km/h)")
    late.set_ylabel("late trips (% of those\nended in the step)")
    trips.set_ylabel("trips per hour")
    trips.yaxis.set_major_formatter("{x:,.0f}")
    trips.set_xlabel("hour of the run")
    speed.legend(frameon=False, loc="best")
    handles, labels = trips.get_legend_handles_labels()
    trips.legend(handles[-1:], labels[-1:], frameon=False, loc="upper right",
                 title="lines: trips ended")
    for axes in (speed, late, trips):
        axes.set_ylim(bottom=0)
        axes.grid(color="0.9")
        axes.spines[["top", "right"]].set_visible(False)
    speed.set_xlim(0, last)
    if last > 12:
        speed.set_xticks(range(0, int(last) + 1, 2 if last <= 30 else 6))
    speed.set_title(title(first.report), fontsize=12)
    return figure


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0],
                                     epilog="example: plot_course.py OUT --output speed.png")
    parser.add_argument("out", nargs="+", help="output folder of a run")
    parser.add_argument("--output", help="picture to write (default: OUT/course.png)")
    arguments = parser.parse_args()
    courses = [Course(folder) for folder in arguments.out]
    output = arguments.output or os.path.join(arguments.out[0], "course.png")
    try:
        draw(courses, max(course.hours[-1] for course in courses)).savefig(output, dpi=130)
    except (OSError, ValueError) as error:
        sys.exit(f"plot_course.py: cannot write {output}: {error}")
    print(output)


if __name__ == "__main__":
    main()
