#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the course of an epidemic and when it arrived where.

    models/epidemic/plot.py OUT [--output FOLDER] [--mean-field] [--airports FOLDER]

OUT is the output folder of a run of the epidemic model with the table 'curves' (interval > 0). Makes
two pictures there or in FOLDER:

- curves.png: the stages of all people over time, and below the infectious of each region, in the
  colour of the day on which the disease arrived there. --mean-field adds the solution of the SEIR
  equations for people who all mix.
- arrivals.png: the map of the regions in the same colours; what was never reached is grey. For a run
  by air the folder of its input (--airports, or where the run read it) gives names and the outline
  of the country.

Needs matplotlib and numpy (Debian: python3-matplotlib).
"""
import argparse
import csv
import json
import pathlib
import sys

try:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.patheffects
    import matplotlib.pyplot as plt
    import numpy as np
    from matplotlib.collections import LineCollection
    from matplotlib.colors import Normalize

    HERE = pathlib.Path(__file__).resolve().parent
    sys.path[:0] = [str(HERE), str(HERE.parent / "common")]
    from mean_field import solve
    from run_tables import read_table
except ImportError as missing:
    sys.exit(f"plot.py: {missing}; install it with: apt-get install python3-matplotlib")

STAGES = {  # name: (colour, label)
    "susceptible": ("#4c78a8", "susceptible"),
    "latent": ("#f2a93b", "latent"),
    "infectious": ("#d62728", "infectious"),
    "recovered": ("#6b8e23", "recovered"),
    "protected": ("#8064a2", "protected by a vaccine"),
}
COUNTED = ["susceptible", "latent", "mild", "ill", "homebound", "recovered", "protected"]
SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "h": 3600, "d": 86400}
# Without the end that is hard to see on white.
COLOURS = matplotlib.colors.ListedColormap(matplotlib.colormaps["plasma_r"](np.linspace(0.12, 1, 256)))
HALO = [matplotlib.patheffects.withStroke(linewidth=2.5, foreground="white")]
NEVER = "0.78"
FEW = 100  # people, of whom shares scatter too much for a curve
# Where Alaska and Hawaii are put, (left, bottom, width, height) of the map, and what belongs there:
# degrees of longitude and latitude, from and to.
INSETS = [((0.0, 0.0, 0.24, 0.27), (-170, -129, 51, 71.8)),
          ((0.25, 0.0, 0.13, 0.16), (-160.6, -154.5, 18.6, 22.5))]
MAINLAND = (-125.5, -66, 24, 50)


def days_of(text):
    """Of a duration as reports write it: "3.69 d", "200 min"."""
    number, unit = str(text).split()
    return float(number) * SECONDS[unit] / 86400


def read_report(folder):
    """The parameters, durations in days; empty without a report."""
    try:
        report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
        return {name: days_of(entry["value"]) if entry["type"] == "duration" else entry["value"]
                for name, entry in report["parameters"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


class Course:
    """The table `curves` as arrays by step and region."""

    def __init__(self, folder):
        table = read_table(folder, "curves", ["day", "region", *COUNTED], "epidemic")
        if not len(table["day"]):
            sys.exit(f"plot.py: {folder}/curves.csv holds no rows; was the run made with interval=0?")
        self.days, step = np.unique(table["day"], return_inverse=True)
        region = table["region"].astype(int)
        shape = (len(self.days), region.max() + 1)
        self.stage = {name: np.zeros(shape) for name in COUNTED}
        for name in COUNTED:
            self.stage[name][step, region] = table[name]
        self.stage["infectious"] = sum(self.stage.pop(name) for name in ["mild", "ill", "homebound"])
        self.people = sum(self.stage.values())[0]


def arrival_colours(first_case):
    """Normalize and a colour for each region."""
    scale = Normalize(0, max(first_case.max(), 1e-9))
    colours = COLOURS(scale(first_case))
    colours[first_case < 0] = matplotlib.colors.to_rgba(NEVER)
    return scale, colours


def interventions(report):
    """(day, what) of those that the run had."""
    known = [("close_share", "close_from", "closing"),
             ("travel_reduction", "restrict_from", "travel restricted"),
             ("vaccination_rate", "vaccinate_from", "vaccination")]
    begun = {}
    for strength, date, name in known:
        if report.get(strength, 0) > 0:
            begun.setdefault(report[date], []).append(name)
    return [(day, ", ".join(names)) for day, names in sorted(begun.items())]


def mark_interventions(axes, report, last, named):
    for day, what in interventions(report):
        if day > last:
            continue
        axes.axvline(day, color="0.35", linewidth=1, linestyle=(0, (4, 3)))
        if named:
            axes.text(day, 0.98, f" {what}", transform=axes.get_xaxis_transform(), fontsize=8,
                      color="0.2", rotation=90, ha="left", va="top", zorder=4, path_effects=HALO)


def tidy(axes):
    axes.grid(color="0.92")
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_ylim(bottom=0)


def draw_stages(axes, course, equations):
    everybody = course.people.sum()
    for name, (colour, label) in STAGES.items():
        share = 100 * course.stage[name].sum(axis=1) / everybody
        if name == "protected" and not share.any():
            continue
        axes.plot(course.days, share, color=colour, linewidth=2, label=label)
    if equations:
        for name in STAGES:
            if name == "protected" and not equations[name].any():
                continue
            axes.plot(course.days, 100 * equations[name] / everybody, color="black", linewidth=1.1,
                      linestyle=(0, (5, 3)), label="equations" if name == "susceptible" else None)
    axes.set_ylabel("% of all people")
    axes.legend(frameon=False, fontsize=9, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=6,
                columnspacing=1.4, handlelength=1.6)
    tidy(axes)


def draw_regions(axes, course, arrivals, scale, colours):
    share = 100 * course.stage["infectious"] / course.people
    order = np.argsort(-arrivals["people"])  # large regions last, on top
    order = order[arrivals["people"][order] >= min(FEW, arrivals["people"].max())]
    segments = [np.column_stack([course.days, share[:, region]]) for region in order[::-1]]
    width = 1.8 if len(order) <= 30 else 0.8
    axes.add_collection(LineCollection(segments, colors=colours[order[::-1]], linewidths=width,
                                       alpha=0.9 if len(order) <= 30 else 0.6))
    axes.autoscale_view()
    left_out = len(course.people) - len(order)
    axes.set_ylabel("infectious, % of the\npeople of each region" +
                    (f"\n(without {left_out} of less than {FEW})" if left_out else ""))
    tidy(axes)
    bar = axes.figure.colorbar(matplotlib.cm.ScalarMappable(scale, COLOURS), ax=axes, pad=0.015,
                               aspect=16)
    bar.set_label("day of the first case there", fontsize=9)
    bar.outline.set_visible(False)


def title(course, report):
    text = f"{course.people.sum():,.0f} people in {len(course.people):,} " + (
        "regions" if len(course.people) > 1 else "region")
    if report.get("airports"):
        text += f", each standing for {1 / report['scale']:,.0f}"
    return text


def draw_curves(course, arrivals, report, equations):
    last = course.days[-1]
    scale, colours = arrival_colours(arrivals["first_case"])
    several = len(course.people) > 1
    figure, axes = plt.subplots(2 if several else 1, 1, figsize=(9.5, 7.2 if several else 4.4),
                                sharex=True, squeeze=False, layout="constrained")
    draw_stages(axes[0, 0], course, equations)
    if several:
        draw_regions(axes[1, 0], course, arrivals, scale, colours)
    for place in axes[:, 0]:
        mark_interventions(place, report, last, named=place is axes[-1, 0])
    axes[0, 0].set_xlim(0, last)
    axes[-1, 0].set_xlabel("day")
    figure.suptitle(f"Course of the epidemic: {title(course, report)}", fontsize=12)
    return figure


# ---- the map -------------------------------------------------------------------------------------


def rows_of(path):
    try:
        with open(path, newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))
    except OSError:
        return []


def sizes(people):
    """Areas of the points, in square points: proportional to the people, but never too small to be
    seen."""
    return np.maximum(9, 900 * people / max(people.max(), 1) * min(1, 40 / len(people)) + 6)


class Country:
    """What a map by air shows besides the regions."""

    def __init__(self, folder):
        self.codes = [row["code"] for row in rows_of(folder / "airports.csv")]
        index = {code: number for number, code in enumerate(self.codes)}
        self.routes = [(index[row["from"]], index[row["to"]])
                       for row in rows_of(folder / "routes.csv") if row["changes"] == "0"]
        rings = {}
        for row in rows_of(folder / "outline.csv"):
            rings.setdefault(row["ring"], []).append((float(row["longitude"]),
                                                      float(row["latitude"])))
        self.rings = list(rings.values())


def draw_window(axes, window, country, arrivals, colours, area):
    """One part of the map: an extent in degrees, stretched so that distances look right in its
    middle."""
    west, east, south, north = window
    axes.add_collection(LineCollection(country.rings, colors="0.8", linewidths=0.7))
    places = np.column_stack([arrivals["x"], arrivals["y"]])
    inside = ((places > [west, south]) & (places < [east, north])).all(axis=1)
    axes.add_collection(LineCollection(
        [places[[a, b]] for a, b in country.routes if inside[a] and inside[b]],
        colors="0.55", linewidths=0.25, alpha=0.28))
    order = np.argsort(-area)
    order = order[inside[order]]
    axes.scatter(*places[order].T, s=area[order], c=colours[order], edgecolors="white",
                 linewidths=0.5, zorder=3)
    axes.set(xlim=(west, east), ylim=(south, north), xticks=[], yticks=[],
             aspect=1 / np.cos(np.radians((south + north) / 2)))
    axes.spines[:].set_visible(False)


def name_largest(axes, country, arrivals):
    """The code and the day of the largest regions that are not too near to one named before."""
    named = []
    for region in np.argsort(-arrivals["people"])[:40]:
        x, y = arrivals["x"][region], arrivals["y"][region]
        west, east, south, north = MAINLAND
        inside = west < x < east and south < y < north
        if not inside or any(abs(x - a) < 4.5 and abs(y - b) < 1.6 for a, b in named):
            continue
        named.append((x, y))
        day = arrivals["first_case"][region]
        when = f" {day:.0f}" if day >= 0 else ""
        axes.annotate(f"{country.codes[region]}{when}", (x, y), xytext=(0, -9),
                      textcoords="offset points", fontsize=7, ha="center", va="top", zorder=4,
                      path_effects=HALO)
        if len(named) == 18:
            break


def draw_country(axes, country, arrivals, colours):
    area = sizes(arrivals["people"])
    draw_window(axes, MAINLAND, country, arrivals, colours, area)
    name_largest(axes, country, arrivals)
    for place, window in INSETS:
        draw_window(axes.inset_axes(place), window, country, arrivals, colours, area)


def draw_square(axes, arrivals, colours):
    side = max(np.ptp(arrivals["x"]), np.ptp(arrivals["y"]), 1)
    spots = int(round(np.sqrt(len(arrivals["x"]))))
    axes.scatter(arrivals["x"], arrivals["y"], c=colours, marker="s", edgecolors="white",
                 s=(330 / max(spots, 1)) ** 2 * 0.8)
    if len(arrivals["x"]) <= 144:
        for x, y, day, colour in zip(arrivals["x"], arrivals["y"], arrivals["first_case"], colours):
            bright = np.dot(colour[:3], [0.3, 0.59, 0.11]) > 0.55
            axes.text(x, y, f"{day:.1f}" if 0 <= day < 10 else f"{day:.0f}" if day >= 0 else "",
                      ha="center", va="center", fontsize=8, color="black" if bright else "white")
    margin = side / max(spots - 1, 1) * 0.6
    axes.set(xlim=(arrivals["x"].min() - margin, arrivals["x"].max() + margin),
             ylim=(arrivals["y"].max() + margin, arrivals["y"].min() - margin), aspect="equal",
             xlabel="km", ylabel="km")
    axes.spines[:].set_visible(False)


def draw_map(course, arrivals, report, folder):
    scale, colours = arrival_colours(arrivals["first_case"])
    country = Country(folder) if folder else None
    by_air = country is not None and len(country.codes) == len(arrivals["x"])
    figure, axes = plt.subplots(figsize=(11, 6.5) if by_air else (7.6, 6.6), layout="constrained")
    if by_air:
        draw_country(axes, country, arrivals, colours)
    else:
        draw_square(axes, arrivals, colours)
    bar = figure.colorbar(matplotlib.cm.ScalarMappable(scale, COLOURS), ax=axes, shrink=0.7,
                          pad=0.01)
    bar.set_label("day on which somebody infectious was there first", fontsize=9)
    bar.outline.set_visible(False)
    reached = int((arrivals["first_case"] >= 0).sum())
    text = f"Arrival of the epidemic: {reached:,} of {len(course.people):,} regions by day {course.days[-1]:.0f}"
    if by_air:
        text += (f"\n{title(course, report)}; air travel is modelled from populations and distances,"
                 " not counted")
    axes.set_title(text, fontsize=11)
    return figure


def read_arrivals(folder):
    arrivals = read_table(folder, "arrivals", ["region", "x", "y", "people", "first_case"], "epidemic")
    if not len(arrivals["region"]):
        sys.exit(f"plot.py: {folder}/arrivals.csv has no rows; did the run finish?")
    order = np.argsort(arrivals["region"])
    return {name: column[order] for name, column in arrivals.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=pathlib.Path, help="output folder of a run")
    parser.add_argument("-o", "--output", type=pathlib.Path, help="folder for the pictures")
    parser.add_argument("--mean-field", action="store_true",
                        help="also draw the SEIR equations for people who all mix")
    parser.add_argument("--airports", type=pathlib.Path, metavar="FOLDER",
                        help="input of a run by air (default: where the run read it)")
    options = parser.parse_args()
    course, arrivals = Course(options.out), read_arrivals(options.out)
    report = read_report(options.out)
    equations = None
    if options.mean_field:
        if not report:
            sys.exit(f"plot.py: {options.out}/report.json is needed for --mean-field and cannot be read")
        equations = solve({**report, "people": course.people.sum()}, course.days)
    folder = options.airports
    if folder is None and report.get("airports"):
        folder = pathlib.Path(report["airports"]).parent
    target = options.output or options.out
    target.mkdir(parents=True, exist_ok=True)
    for name, figure in [("curves.png", draw_curves(course, arrivals, report, equations)),
                         ("arrivals.png", draw_map(course, arrivals, report, folder))]:
        figure.savefig(target / name, dpi=130)
        print(target / name)


if __name__ == "__main__":
    main()
