#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the radio channel of a laboratory run: where its stations were at the end, how busy the
medium was for each, who sent frames to whom (a line, thicker for more), and over time how many
frames a second were sent for all, for one station, and again.

Usage: plot_radio.py OUT [--radio NODE] [--output FILE.png]

OUT is the output folder of a run with a [[radio]]; NODE the number of the channel, if there are
several (column `radio` of stations.csv).

Needs matplotlib and numpy (Debian: python3-matplotlib).
"""
import argparse
import os
import sys

import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../common"))
from run_tables import read_table  # noqa: E402

STATIONS = ["radio", "node", "x", "y", "busy", "time_ticks"]
AIR = ["sent_ns", "radio", "from_node", "to_node", "tries", "heard"]
WIDEST = 5
BINS = 60


def draw_map(ax, stations, air):
    place = {int(node): (x, y) for node, x, y in zip(stations["node"], stations["x"], stations["y"])}
    heard = (air["to_node"] >= 0) & (air["heard"] > 0)
    pairs, counts = np.unique(np.stack([air["from_node"][heard], air["to_node"][heard]], axis=1),
                              axis=0, return_counts=True)
    for (sender, receiver), count in zip(pairs, counts):
        (x0, y0), (x1, y1) = place[int(sender)], place[int(receiver)]
        width = 0.4 + WIDEST * count / counts.max()
        ax.annotate("", xy=(x1, y1), xytext=(x0, y0),
                    arrowprops={"arrowstyle": "-|>", "lw": width, "color": "tab:blue", "alpha": 0.45,
                                "connectionstyle": "arc3,rad=0.12", "shrinkA": 9, "shrinkB": 9})
    share = 100 * stations["busy"] / (stations["time_ticks"] / 1e9)
    dots = ax.scatter(stations["x"], stations["y"], c=share, s=190, cmap="YlOrRd", vmin=0,
                      edgecolors="0.3", zorder=3)
    for node, (x, y) in place.items():
        ax.text(x, y, str(node), ha="center", va="center", fontsize=7, zorder=4)
    plt.colorbar(dots, ax=ax, label="medium busy, % of the time", shrink=0.7)
    ax.set_aspect("equal", adjustable="datalim")
    ax.invert_yaxis()
    ax.set_xlabel("m")
    ax.set_ylabel("m")
    ax.set_title("stations by node at the end; frames for one that arrived")


def draw_course(ax, air, end_s):
    width = max(end_s / BINS, 1e-3)
    edges = np.arange(0, end_s + width, width)
    for label, rows in (("for all", air["to_node"] < 0),
                        ("for one, first time", (air["to_node"] >= 0) & (air["tries"] == 1)),
                        ("for one, again", air["tries"] > 1)):
        counts, _ = np.histogram(air["sent_ns"][rows] / 1e9, edges)
        ax.step(edges[:-1], counts / width, where="post", label=label)
    ax.set_xlabel("virtual time in s")
    ax.set_ylabel("frames a second")
    ax.set_ylim(bottom=0)
    ax.legend()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--radio", type=int, default=None, metavar="NODE")
    parser.add_argument("--output", default=None, metavar="FILE.png")
    options = parser.parse_args()
    stations = read_table(options.out, "stations", STATIONS, "lab")
    air = read_table(options.out, "air", AIR, "lab")
    radios = sorted(set(stations["radio"].astype(int)))
    if not radios:
        sys.exit(f"plot_radio.py: {options.out}/stations.csv holds no station; has the topology a [[radio]]?")
    radio = radios[0] if options.radio is None else options.radio
    if radio not in radios:
        sys.exit(f"plot_radio.py: there is no radio channel {radio}; there are {radios}")
    stations = {name: column[stations["radio"] == radio] for name, column in stations.items()}
    air = {name: column[air["radio"] == radio] for name, column in air.items()}
    figure, (left, right) = plt.subplots(1, 2, figsize=(14, 6.5), width_ratios=[3, 2])
    draw_map(left, stations, air)
    draw_course(right, air, stations["time_ticks"].max() / 1e9)
    figure.tight_layout()
    path = options.output or os.path.join(options.out, "radio.png")
    figure.savefig(path, dpi=110)
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
