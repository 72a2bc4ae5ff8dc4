#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the frames of a laboratory run as a sequence chart: a line for each host, time downwards,
an arrow for each frame from when it was sent to when it arrived.

Usage: plot.py OUT [--from SECONDS] [--to SECONDS] [--output FILE.png]

OUT is the output folder of a run (`orrery run lab --set topology=FILE.toml --out OUT`). Without
--from and --to all frames are drawn, the first 200 at most.

Needs matplotlib and numpy (Debian: python3-matplotlib).
"""
import argparse
import json
import os
import sys
import tomllib

import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../common"))
from run_tables import read_table  # noqa: E402

COLUMNS = ["lp", "sent_ns", "arrived_ns", "to_node", "bytes"]
MOST_FRAMES = 200
LARGE_BYTES = 200


def host_names(folder, count):
    """From the topology, if it is still there."""
    try:
        with open(os.path.join(folder, "report.json"), encoding="utf-8") as file:
            path = json.load(file)["parameters"]["topology"]["value"]
        with open(path, "rb") as file:
            return [host["name"] for host in tomllib.load(file)["host"]]
    except (OSError, KeyError, ValueError):
        return [f"host {i}" for i in range(count)]


def chosen(table, begin, end):
    sent = table["sent_ns"] / 1e9
    rows = np.flatnonzero((sent >= begin) & (sent <= end))
    return rows[np.argsort(sent[rows], kind="stable")][:MOST_FRAMES]


def draw(table, rows, names, path):
    figure, ax = plt.subplots(figsize=(2.2 * max(len(names), 3), 8))
    sent, arrived = table["sent_ns"] / 1e9, table["arrived_ns"] / 1e9
    for i in rows:
        begin, end = (table["lp"][i], sent[i]), (table["to_node"][i], arrived[i])
        colour = "tab:blue" if table["bytes"][i] <= LARGE_BYTES else "tab:orange"
        ax.annotate("", xy=end, xytext=begin,
                    arrowprops={"arrowstyle": "-|>", "color": colour, "lw": 0.9,
                                "shrinkA": 0, "shrinkB": 0})
    for i, name in enumerate(names):
        ax.axvline(i, color="0.6", linewidth=1, zorder=0)
        ax.text(i, 1.01, name, transform=ax.get_xaxis_transform(), ha="center", va="bottom",
                fontsize=11)
    span = (min(sent[rows]), max(arrived[rows])) if len(rows) else (0, 1)
    margin = 0.02 * (span[1] - span[0])
    ax.set_ylim(span[1] + margin, span[0] - margin)
    ax.set_xlim(-0.5, len(names) - 0.5)
    ax.set_xticks([])
    ax.set_ylabel("virtual time in s")
    ax.set_xlabel(f"{len(rows)} of {len(sent)} frames; more than {LARGE_BYTES} bytes in orange")
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--from", type=float, default=0, dest="begin", metavar="SECONDS")
    parser.add_argument("--to", type=float, default=float("inf"), dest="end", metavar="SECONDS")
    parser.add_argument("--output", default=None, metavar="FILE.png")
    options = parser.parse_args()
    table = read_table(options.out, "traffic", COLUMNS, "lab")
    if not len(table["lp"]):
        sys.exit(f"plot.py: {options.out}/traffic.csv holds no frames")
    count = int(max(table["lp"].max(), table["to_node"].max())) + 1
    path = options.output or os.path.join(options.out, "sequence.png")
    draw(table, chosen(table, options.begin, options.end), host_names(options.out, count), path)
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
