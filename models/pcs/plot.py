#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the hexagonal cells of a pcs run, coloured by what went wrong in them.

    models/pcs/plot.py OUT [-o PICTURE] [--value blocking|dropping|busy ...]

OUT is the report folder of a run (or its cells.csv). One map per value, side by side; blocking and
dropping by default, on one scale, so that they compare. A cell with no call (or no hand-off) has
no share and is grey.
"""
import argparse
import math
import pathlib
import sys

try:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    import numpy as np
    from matplotlib.collections import PolyCollection
    from matplotlib.ticker import PercentFormatter

    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "common"))
    from run_tables import read_table
except ImportError as missing:
    sys.exit(f"plot.py: {missing}; install it with: apt-get install python3-matplotlib")

# name: (title, what the colour bar says, numerator, denominator; no denominator: a plain value)
VALUES = {
    "blocking": ("Blocking", "new calls without a channel", "blocked", "arrivals"),
    "dropping": ("Dropping", "hand-offs without a channel", "dropped", "handoffs_in"),
    "busy": ("Load", "busy channels, mean over time", "mean_busy", None),
}


def read_cells(folder):
    """The rows of cells.csv as dictionaries of numbers."""
    needed = ["cell", "x", "y", *(column for *_, a, b in VALUES.values() for column in (a, b) if column)]
    columns = read_table(folder, "cells", needed, "pcs", optional=["time_ticks"])
    rows = [dict(zip(columns, values)) for values in zip(*columns.values())]
    if not rows:
        sys.exit(f"plot.py: {folder}/cells.csv has no rows; did the run finish?")
    return rows


def share(row, numerator, denominator):
    if denominator is None:
        return row[numerator]
    return row[numerator] / row[denominator] if row[denominator] > 0 else math.nan


def hexagon(x, y):
    """Corners of the cell round (x, y): point upwards, half a cell distance to each side."""
    radius = 1 / math.sqrt(3)
    return [
        (x + radius * math.sin(k * math.pi / 3), y + radius * math.cos(k * math.pi / 3))
        for k in range(6)
    ]


def mean_of_map(rows, numerator, denominator):
    total = sum(row[numerator] for row in rows)
    if denominator is None:
        return f"{total / len(rows):.1f} on average"
    cases = sum(row[denominator] for row in rows)
    if cases == 0:
        return "none at all"
    return f"{100 * total / cases:.2f} % of {cases:,.0f}"


def largest_share(rows, names):
    """Top of the common scale of all shares; 1 % where nothing ever went wrong."""
    shares = [share(row, *VALUES[name][2:]) for name in names if VALUES[name][3] for row in rows]
    return max((value for value in shares if value > 0), default=0.01)


def draw(axes, rows, name, top_share):
    title, label, numerator, denominator = VALUES[name]
    values = [share(row, numerator, denominator) for row in rows]
    colours = matplotlib.colormaps["viridis" if denominator is None else "YlOrRd"].copy()
    colours.set_bad("0.85")
    edge = 0.6 if len(rows) <= 2500 else 0.0
    cells = PolyCollection(
        [hexagon(row["x"], row["y"]) for row in rows],
        array=np.ma.masked_invalid(values),
        cmap=colours,
        edgecolors=(0, 0, 0, 0.12) if edge else "face",
        linewidths=edge,
    )
    if denominator is not None:
        cells.set_clim(0, top_share)
    axes.add_collection(cells)
    axes.autoscale_view()
    axes.set_aspect("equal")
    axes.invert_yaxis()  # cell 0 at the upper left, as one reads
    axes.set_axis_off()
    axes.set_title(f"{title}: {mean_of_map(rows, numerator, denominator)}", fontsize=11)
    bar = axes.figure.colorbar(cells, ax=axes, shrink=0.8, pad=0.02)
    bar.set_label(label, fontsize=9)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=8)
    if denominator is not None:
        bar.ax.yaxis.set_major_formatter(PercentFormatter(1.0))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=pathlib.Path, help="report folder of a run, or its cells.csv")
    parser.add_argument("-o", "--output", type=pathlib.Path, help="default: OUT/cells.png")
    parser.add_argument("--value", nargs="+", choices=VALUES, default=["blocking", "dropping"])
    options = parser.parse_args()
    folder = options.out.parent if options.out.suffix == ".csv" else options.out
    rows = read_cells(folder)
    output = options.output or folder / "cells.png"

    names = options.value
    if "dropping" in names and len(names) > 1 and not any(row["handoffs_in"] for row in rows):
        names = [name for name in names if name != "dropping"]  # nobody moves: nothing to see
    figure, axes = plt.subplots(
        1, len(names), figsize=(6.2 * len(names), 5.2), squeeze=False, layout="constrained"
    )
    top_share = largest_share(rows, names)
    for place, name in zip(axes[0], names):
        draw(place, rows, name, top_share)
    hours = rows[0].get("time_ticks", 0) / 3.6e12
    figure.suptitle(f"Personal communication system: {len(rows):,} cells, {hours:.3g} h", fontsize=13)
    figure.savefig(output, dpi=130)
    print(output)


if __name__ == "__main__":
    main()
