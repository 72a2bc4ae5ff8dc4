#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the link volumes of a traffic run on its network.

Usage: plot.py OUT [--output FILE.png] [--by volume|ratio|delay]

OUT is the output folder of a run (`orrery run traffic --out OUT`); the picture is made from its
files links.csv and nodes.csv and, for the title, report.json if it is there. The width of a line is
the number of vehicles that passed the link's stop line; its colour is what --by asks for: the ratio
of that number to what the link can carry in the period of departures (default), or the mean wait. The two directions
of a road lie side by side, each on the right-hand side of its direction, as traffic does in most
countries; in small networks arrows show it. Without coordinates (no node file) nodes are placed so
that distances are like travel times.

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
    from matplotlib.collections import LineCollection, PolyCollection
    from matplotlib.colors import BoundaryNorm, ListedColormap
    from matplotlib.lines import Line2D
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
    from run_tables import read_table
    import layout
except ImportError as missing:
    sys.exit(f"plot.py: {missing}; install it with: apt-get install python3-matplotlib")

SMALLEST_WIDTH_PT, LARGEST_WIDTH_PT = 0.4, 9.0
CASING_PT = 0.5  # the dark rim that keeps pale colours visible and directions apart
# Blue below, yellow at, red above what is bearable: seven classes and what lies beyond the last.
CLASSES = ["#9ecae1", "#5fa2ce", "#2b6ea8", "#fee08b", "#fdae61", "#f46d43", "#d73027", "#7f0000"]
FEW_LINKS = 250  # that many can have an arrow each
COLOURS = {  # --by: title, label of the colour bar, limits of its classes
    "ratio": ("Volume by capacity", "vehicles that passed / capacity of {}",
              [0, 0.25, 0.5, 0.75, 1, 1.5, 2, 3]),
    "delay": ("Waits at the stop lines", "mean wait at the stop line (s)",
              [0, 5, 15, 30, 60, 300, 900, 3600]),
    "volume": ("Link volumes", "vehicles that passed", None),
}


def read_report(folder):
    """Of report.json what titles need; empty if there is none."""
    try:
        with open(os.path.join(folder, "report.json"), encoding="utf-8") as file:
            report = json.load(file)
        values = {name: entry["value"] for name, entry in report["parameters"].items()}
        return {**values, "reached_seconds": float(report["run"]["reached_seconds"])}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def network_name(report):
    """By the file that was read, which net_file may name."""
    if report.get("net_file"):
        return os.path.basename(report["net_file"]).removesuffix(".tntp").removesuffix("_net")
    if report.get("network") == "grid":
        return "grid {0} × {0}".format(report.get("grid", "?"))
    return os.path.basename(report.get("network") or "traffic")


def counted(rows, noun):
    return f"{len(rows):,} {noun}{'' if len(rows) == 1 else 's'}"


def clock(seconds):
    minutes = round(seconds / 60)
    return f"{minutes // 60}:{minutes % 60:02d}"


def departure_hours(report):
    """The period of departures, 1 where it is not known."""
    hours = {"d": 24, "h": 1, "min": 1 / 60, "s": 1 / 3600}
    number, _, unit = str(report.get("period", "1 h")).partition(" ")
    try:
        return float(number) * hours[unit]
    except (ValueError, KeyError):
        return 1.0


def title(report, by, placed):
    """What is shown, of which network, and of which hours."""
    lines = [f"{COLOURS[by][0]}: {network_name(report)}"]
    if report:
        lines.append(f"hours 0:00 to {clock(report['reached_seconds'])} of the run; demand × "
                     f"{report.get('demand', 1):g}, departures within {report.get('period', '?')}")
    if placed:
        lines.append("no node file was read: places are computed from free-flow times")
    return "\n".join(lines)


def segments(links, nodes):
    """Lines from node to node, and the unit vector to the right of each."""
    place = {int(node): (x, y) for node, x, y in zip(nodes["node"], nodes["x"], nodes["y"])}
    try:
        ends = np.array([(place[int(a)], place[int(b)])
                         for a, b in zip(links["from"], links["to"])])
    except KeyError as unknown:
        sys.exit(f"plot.py: links.csv names node {unknown}, which nodes.csv does not have")
    along = ends[:, 1] - ends[:, 0]
    length = np.maximum(np.hypot(along[:, 0], along[:, 1]), 1e-12)[:, None]
    right = np.stack([along[:, 1], -along[:, 0]], axis=1) / length
    return ends, right


def figure_for(nodes):
    """A figure in the network's proportions."""
    width, height = np.ptp(nodes["x"]) or 1.0, np.ptp(nodes["y"]) or 1.0
    drawn = min(max(height / width, 0.5), 1.4)
    figure, axes = plt.subplots(figsize=(9.5, 2.2 + 7.5 * drawn), layout="constrained")
    axes.set_aspect("equal")
    axes.set_axis_off()
    axes.margins(0.04)
    return figure, axes


def colour_values(links, by, hours):
    if by == "delay":
        return links["mean_delay"]
    if by == "volume":
        return links["volume"]
    return links["volume"] / (links["capacity"] * hours)


def draw_links(figure, axes, links, nodes, by, hours):
    ends, right = segments(links, nodes)
    largest = max(links["volume"].max(), 1.0)
    # Many links need thinner lines: what counts is the room between neighbouring roads.
    widest = LARGEST_WIDTH_PT * min(1.0, math.sqrt(400 / len(ends)) + 0.15)
    widths = SMALLEST_WIDTH_PT + (widest - SMALLEST_WIDTH_PT) * links["volume"] / largest

    # Lines are shifted by half their width (in points), so the axes must have their final scale.
    axes.update_datalim(ends.reshape(-1, 2))
    axes.autoscale_view()
    figure.canvas.draw()
    to_points = 72.0 / figure.dpi
    data_per_point = 1.0 / (np.linalg.norm(
        axes.transData.transform((1, 0)) - axes.transData.transform((0, 0))) * to_points)
    casing = CASING_PT * (widest / LARGEST_WIDTH_PT) ** 2
    shift = (widths / 2 + casing) * data_per_point
    shifted = ends + (right * shift[:, None])[:, None, :]

    _, label, limits = COLOURS[by]
    values = colour_values(links, by, hours)
    colours = ListedColormap(CLASSES) if limits else plt.get_cmap("viridis_r")
    norm = BoundaryNorm(limits, colours.N, extend="max") if limits else plt.Normalize(0, largest)
    order = np.argsort(values)  # the worst on top
    axes.add_collection(LineCollection(shifted[order], linewidths=widths[order] + 2 * casing,
                                       colors="0.35", capstyle="butt", zorder=2))
    lines = LineCollection(shifted[order], linewidths=widths[order], array=values[order],
                           cmap=colours, norm=norm, capstyle="butt", zorder=3)
    axes.add_collection(lines)
    bar = figure.colorbar(lines, ax=axes, shrink=0.7, pad=0.02, ticks=limits, spacing="uniform",
                          format="{x:g}" if limits else "{x:,.0f}")
    bar.set_label(label.format("one hour" if hours == 1 else f"{hours:g} hours"))
    if len(ends) <= FEW_LINKS:
        draw_arrows(axes, shifted, right, data_per_point)
    return widest, largest


def draw_arrows(axes, lines, right, data_per_point):
    """A small arrow on each line: which half of a road is which direction."""
    along = np.stack([-right[:, 1], right[:, 0]], axis=1)
    # Ahead of the middle, so that the arrows of both directions do not lie on each other.
    middle = lines.mean(axis=1) + along * 6 * data_per_point
    tip, side = along * 4.5 * data_per_point, right * 2.6 * data_per_point
    axes.add_collection(PolyCollection(
        np.stack([middle + tip, middle - tip / 2 + side, middle - tip / 2 - side], axis=1),
        facecolors="white", edgecolors="0.2", linewidths=0.5, zorder=3.5))


def draw_nodes(axes, nodes, links):
    few = len(nodes["node"]) <= 60
    used = np.isin(nodes["node"], np.concatenate([links["from"], links["to"]]))
    axes.scatter(nodes["x"][used], nodes["y"][used], s=230 if few else 2,
                 c="white" if few else "0.35", edgecolors="0.25", linewidths=0.9 if few else 0, zorder=4 if few else 1)
    if few:
        for node, x, y in zip(nodes["node"], nodes["x"], nodes["y"]):
            axes.text(x, y, f"{int(node)}", ha="center", va="center", fontsize=8.5, zorder=5)


def round_down(value):
    """1, 2 or 5 times a power of ten."""
    power = 10 ** math.floor(math.log10(value))
    return max(step for step in (1, 2, 5) if step * power <= value) * power


def draw_width_legend(axes, widest, largest):
    top = round_down(largest)
    shown = sorted({top, max(1, round(top / 2)), max(1, round(top / 5))})
    handles = [
        Line2D([], [], color="0.35", solid_capstyle="butt",
               linewidth=SMALLEST_WIDTH_PT + (widest - SMALLEST_WIDTH_PT) * volume / largest,
               label=f"{volume:,.0f}")
        for volume in shown
    ]
    axes.legend(handles=handles, title="vehicles that passed; in its direction of travel a link is "
                "the right half of its road", loc="upper center", bbox_to_anchor=(0.5, 0.0),
                ncols=len(handles), frameon=False, handlelength=3)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0],
                                     epilog="example: plot.py OUT --output volumes.png")
    parser.add_argument("out", help="output folder of a run")
    parser.add_argument("--output", help="picture to write (default: OUT/links.png)")
    parser.add_argument("--by", choices=COLOURS, default="ratio", help="what colours mean")
    arguments = parser.parse_args()

    links = read_table(arguments.out, "links",
                       ["from", "to", "volume", "mean_delay", "capacity"], "traffic",
                       optional=["free_flow_time"])
    nodes = read_table(arguments.out, "nodes", ["node", "x", "y"], "traffic")
    if not len(links["from"]):
        sys.exit(f"plot.py: {arguments.out}/links.csv holds no links; did the run finish?")
    placed = not len(nodes["node"])
    if placed:
        nodes = layout.place(links)

    figure, axes = figure_for(nodes)
    report = read_report(arguments.out)
    axes.set_title(f"{title(report, arguments.by, placed)}\n"
                   f"{counted(nodes['node'], 'intersection')}, {counted(links['from'], 'link')}",
                   fontsize=12)
    widest, largest = draw_links(figure, axes, links, nodes, arguments.by,
                                 departure_hours(report))
    draw_nodes(axes, nodes, links)
    draw_width_legend(axes, widest, largest)
    output = arguments.output or os.path.join(arguments.out, "links.png")
    try:
        figure.savefig(output, dpi=130)
    except (OSError, ValueError) as error:
        sys.exit(f"plot.py: cannot write {output}: {error}")
    print(output)


if __name__ == "__main__":
    main()
