#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the mesh of a wireless run: its links by loss and traffic, its stations by how busy they
find the medium.

Usage: plot.py OUT [--output FILE.png] [--min-attempts N]

OUT is the output folder of a run (`orrery run wireless --out OUT`); the picture is made from its
files stations.csv and links.csv and, for the title, report.json if it is there. On the left a
link's width is the number of frames that it carried, its colour the share of transmissions that
were not acknowledged; a link with fewer than N transmissions (default 5) is grey, since its share
means nothing. On the right the ground is coloured by the share of the time that a station there
finds the medium busy, and a station's area by the share of the time that it transmits.

Needs matplotlib and numpy (Debian: python3-matplotlib).
"""
import argparse
import json
import math
import os
import sys

try:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    import numpy as np
    from matplotlib.collections import LineCollection
    from matplotlib.colors import ListedColormap
    from matplotlib.lines import Line2D
    from matplotlib.ticker import PercentFormatter
    from matplotlib.tri import Triangulation
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
    from run_tables import read_table
except ImportError as missing:
    sys.exit(f"plot.py: {missing}; install it with: apt-get install python3-matplotlib")

GATEWAY = {"marker": "s", "c": "#1b1b1b", "edgecolors": "white", "linewidths": 1.4, "zorder": 6}
WIDEST_PT, NARROWEST_PT = 7.0, 0.6


def title(folder, stations):
    """What the run was and what came of it, as far as report.json tells."""
    first = f"Wireless mesh: {len(stations['station']):,} stations"
    try:
        with open(os.path.join(folder, "report.json"), encoding="utf-8") as file:
            report = json.load(file)
        given = {name: entry["value"] for name, entry in report["parameters"].items()}
        results = {name: entry["value"] for name, entry in report["results"].items()}
        access = given["access"].replace("csma", "CSMA").replace("aloha", "ALOHA").replace("_", " ")
        return (f"{first}, {access}, {given['rate']} Mb/s, {given['load']:g} kb/s offered by each, "
                f"{report['run']['reached_seconds']:.3g} s\n"
                f"throughput {results['throughput']:.2f} Mb/s, {results['delivery_ratio']:.1%} of "
                f"packets delivered, {results['loss_ratio']:.1%} of transmissions lost")
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return first


def scale_bar(axes, x, y):
    """A length to compare with, below the map."""
    extent = max(np.ptp(x), np.ptp(y), 1.0)
    length = 10 ** math.floor(math.log10(extent / 3))
    length *= max(step for step in (1, 2, 5) if step * length <= extent / 3)
    left, bottom = x.min(), y.min() - 0.06 * extent
    axes.plot([left, left + length], [bottom, bottom], color="0.25", linewidth=2,
              solid_capstyle="butt")
    axes.text(left + length / 2, bottom - 0.012 * extent, f"{length:g} m", ha="center", va="top",
              fontsize=9, color="0.25")


def prepare_axes(axes, heading, stations):
    """The same frame for both maps, with room for the scale below."""
    axes.set_title(heading, fontsize=11)
    axes.set_aspect("equal")
    axes.set_axis_off()
    x, y = stations["x"], stations["y"]
    room = 0.03 * max(np.ptp(x), np.ptp(y), 1.0)
    axes.set_xlim(x.min() - room, x.max() + room)
    axes.set_ylim(y.min() - 4 * room, y.max() + room)


def dot_size(stations):
    """Area of a station in points squared: smaller where there are many."""
    return float(np.clip(9000 / max(len(stations["station"]), 1), 2.0, 60.0))


def draw_gateways(axes, stations):
    at = stations["gateway"] > 0
    axes.scatter(stations["x"][at], stations["y"][at], s=max(30.0, 1.6 * dot_size(stations)),
                 **GATEWAY)


def draw_links(axes, stations, links, least):
    acknowledged = links["acknowledged"].any()  # if not, a sender does not know what it lost
    prepare_axes(axes, "Links: transmissions lost" if acknowledged else "Links: frames transmitted",
                 stations)
    place = {int(s): (x, y) for s, x, y in zip(stations["station"], stations["x"], stations["y"])}
    ends = np.array([(place[int(a)], place[int(b)])
                     for a, b in zip(links["from"], links["to"])]).reshape(-1, 2, 2)
    carried = links["acknowledged"] if acknowledged else links["attempts"]
    room = min(1.0, math.sqrt(150 / max(len(place), 1)))
    widths = NARROWEST_PT + WIDEST_PT * room * np.sqrt(carried / max(carried.max(initial=1), 1))
    enough = links["attempts"] >= least
    lost = 1 - links["acknowledged"] / np.maximum(links["attempts"], 1)
    order = np.argsort(lost)  # the worst on top
    thin = order[~enough[order]]
    axes.add_collection(LineCollection(ends[thin], linewidths=NARROWEST_PT, colors="0.7", zorder=1))
    shown = order[enough[order]]
    axes.add_collection(LineCollection(ends[shown], linewidths=widths[shown] + 1.2, colors="0.35",
                                       capstyle="round", zorder=2))
    lines = LineCollection(ends[shown], linewidths=widths[shown], capstyle="round", zorder=3)
    if acknowledged:
        lines.set(array=lost[shown], cmap="YlOrRd")
        lines.set_clim(0, max(0.05, lost[shown].max(initial=0.0)))
    else:
        lines.set_color("#9ecae1")
    axes.add_collection(lines)
    axes.scatter(stations["x"], stations["y"], s=0.45 * dot_size(stations), c="white",
                 edgecolors="0.25", linewidths=0.8, zorder=5)
    draw_gateways(axes, stations)
    scale_bar(axes, stations["x"], stations["y"])
    if acknowledged:
        colour_bar(axes, lines, "transmissions not acknowledged")
    return widths, carried, shown


def colour_bar(axes, artist, label):
    bar = axes.figure.colorbar(artist, ax=axes, shrink=0.78, pad=0.02)
    bar.set_label(label, fontsize=9)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=8)
    bar.ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))


def draw_stations(axes, stations):
    prepare_axes(axes, "Stations: time that the medium is busy", stations)
    x, y, busy = stations["x"], stations["y"], stations["busy"]
    limits = {"vmin": 0.0, "vmax": max(busy.max(), 0.01)}
    if np.ptp(x) > 0 and np.ptp(y) > 0 and len(x) >= 4:
        levels = np.linspace(0, limits["vmax"], 22)
        pale = ListedColormap(0.5 + 0.5 * plt.get_cmap("viridis")(np.linspace(0, 1, 256)))
        axes.tricontourf(Triangulation(x, y), busy, levels=levels, cmap=pale, extend="max",
                         zorder=1)
    largest = max(stations["airtime"].max(), 1e-9)
    sizes = dot_size(stations) * (0.15 + 2.6 * stations["airtime"] / largest)
    dots = axes.scatter(x, y, s=sizes, c=busy, cmap="viridis", edgecolors="white", linewidths=0.8,
                        zorder=4, **limits)
    draw_gateways(axes, stations)
    scale_bar(axes, x, y)
    colour_bar(axes, dots, "share of the time")
    handles = [Line2D([], [], marker="o", linestyle="", color="0.45", markeredgecolor="white",
                      markersize=math.sqrt(dot_size(stations) * (0.15 + 2.6 * share)),
                      label=f"{share * largest:.1%}") for share in (0.1, 0.5, 1.0)]
    axes.legend(handles=handles, title="time that it transmits", loc="upper center", frameon=False,
                bbox_to_anchor=(0.62, 0.03), ncols=3, fontsize=9, title_fontsize=9)


def draw_link_legend(axes, has_gateways, widths, carried, shown):
    handles = []
    if has_gateways:
        handles.append(Line2D([], [], marker="s", linestyle="", markersize=7, color="#1b1b1b",
                              markeredgecolor="white", label="gateway"))
    if len(shown):
        most = shown[np.argmax(carried[shown])]
        middle = shown[np.argsort(carried[shown])[len(shown) // 2]]
        for link in dict.fromkeys((middle, most)):
            handles.append(Line2D([], [], color="0.5", linewidth=widths[link],
                                  solid_capstyle="round", label=f"{carried[link]:,.0f} frames"))
    if handles:
        axes.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.62, 0.015),
                    frameon=False, ncols=3, fontsize=9, handlelength=2.2)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0],
                                     epilog="example: plot.py OUT --output mesh.png")
    parser.add_argument("out", help="output folder of a run")
    parser.add_argument("--output", help="picture to write (default: OUT/mesh.png)")
    parser.add_argument("--min-attempts", type=int, default=5, metavar="N",
                        help="transmissions from which on a link has a colour (default: 5)")
    arguments = parser.parse_args()

    stations = read_table(arguments.out, "stations",
                          ["station", "x", "y", "gateway", "airtime", "busy"], "wireless")
    links = read_table(arguments.out, "links", ["from", "to", "attempts", "acknowledged"],
                       "wireless")
    if not len(stations["station"]):
        sys.exit(f"plot.py: {arguments.out}/stations.csv has no rows; did the run finish?")

    shape = (np.ptp(stations["y"]) or 1.0) / (np.ptp(stations["x"]) or 1.0)
    height = 2.0 + 6.2 * min(max(shape, 0.35), 1.3)
    figure, axes = plt.subplots(1, 2, figsize=(14.5, height), layout="constrained")
    drawn = draw_links(axes[0], stations, links, arguments.min_attempts)
    draw_link_legend(axes[0], stations["gateway"].any(), *drawn)
    draw_stations(axes[1], stations)
    figure.suptitle(title(arguments.out, stations), fontsize=12)
    output = arguments.output or os.path.join(arguments.out, "mesh.png")
    try:
        figure.savefig(output, dpi=120)
    except (OSError, ValueError) as error:
        sys.exit(f"plot.py: cannot write {output}: {error}")
    print(output)


if __name__ == "__main__":
    main()
