#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws a trace: what each worker did over wall-clock time, or which LP's events caused which over
simulated time.

Usage: plot_trace.py FILE [--lps] [--from TIME] [--to TIME] [--output PICTURE]

FILE is of `orrery run ... --trace FILE`. A time is in seconds, of wall-clock time, with --lps of
simulated time; or a share of what there is, as 40%. The picture is FILE with .png behind it unless
it is named.

Needs matplotlib (Debian: python3-matplotlib).
"""
import argparse
import collections
import math
import pathlib
import sys

try:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.collections import PolyCollection
    from matplotlib.patches import Patch
except ImportError as missing:
    sys.exit(f"plot_trace.py: {missing}; install it with: apt-get install python3-matplotlib")

from trace_packets import BEGIN, COMMITTED, END, Trace

# What slices are, by their names (src/trace/life.cpp); any other is the type of an event.
KINDS = {"rollback": "#c8322b", "restore": "#e8743b", "coasting forward": "#f0a860",
         "checkpoint": "#7b4aa0", "GVT round": "#2f8f5b", "interrupted": "#e3c229",
         "LPs move": "#8c564b", "idle": "#dcdcdc", "batch": "#b9cfe6", "set-up": "#c9b79c",
         "halt": "#555555", "finish": "#9c8f7a"}
ENDINGS = {" (coasted)": ("executed again", "#9dc3e6"), " (dropped)": ("dropped", "#7f8fa6"),
           " block": ("block", "#cfe3d6")}
EVENTS = ("events", "#2f6fb0")
# What lies around other things: drawn lower and wider.
AROUND = {"idle", "batch", "block", "rollback", "interrupted", "set-up", "halt", "finish"}
FINE = 300  # a slice of a smaller share of the picture has no edge of its own
UNITS = [(1, "s"), (1e3, "ms"), (1e6, "us"), (1e9, "ns")]


def kind_of(name):
    """(what the legend calls it, its colour)"""
    for ending, kind in ENDINGS.items():
        if name.endswith(ending):
            return kind
    return (name, KINDS[name]) if name in KINDS else EVENTS


def unit_of(span):
    return next((unit for unit in UNITS if span * unit[0] >= 1), UNITS[-1])


class Slice:
    def __init__(self, event, depth):
        self.begin, self.end, self.depth = event.time / 1e9, math.inf, depth
        self.name = event.name
        self.kind, self.colour = kind_of(event.name)


def lanes_of(trace):
    """By the name of a track, its slices in order; of the run's that of engines alone, if there was
    more than one."""
    lanes, open_slices = collections.defaultdict(list), collections.defaultdict(list)
    for event in trace.events:
        if event.sequence == COMMITTED or event.kind not in (BEGIN, END):
            continue
        name = lane_name(trace, *trace.tracks[event.track])
        stack = open_slices[event.track]
        if event.kind == BEGIN:
            stack.append(Slice(event, len(stack)))
            lanes[name].append(stack[-1])
        elif stack:
            stack.pop().end = event.time / 1e9
    engines = [one for one in lanes.pop("run", []) if one.kind == EVENTS[0]]
    return {"engine": engines} | lanes if len(engines) > 1 else dict(lanes)


def lane_name(trace, name, group):
    process = trace.tracks.get(group, ("", None))[0]
    rank = process.partition("workers of rank ")[2].partition(" ")[0]
    return f"rank {rank}, {name}" if rank else name


def draw_engines(slices, row, begin, end, factor, axes):
    """Which engine had the world when."""
    palette = plt.get_cmap("Pastel1").colors
    names = list(dict.fromkeys(one.name for one in slices))
    for one in slices:
        left, right = max(one.begin, begin), min(one.end, end)
        if right <= left:
            continue
        axes.barh(row, (right - left) * factor, 0.6, left * factor, edgecolor="white",
                  color=palette[names.index(one.name) % len(palette)])
        if right - left > 0.08 * (end - begin):
            axes.text((left + right) / 2 * factor, row, one.name, ha="center", va="center", fontsize=9)


def draw_workers(lanes, begin, end, axes):
    ends = [one.end for slices in lanes.values() for one in slices if one.end < math.inf]
    first = min(slices[0].begin for slices in lanes.values())
    begin, end = begin(first, max(ends)), end(first, max(ends))
    factor, unit = unit_of(end - begin)
    seconds = collections.Counter()
    colours = {}
    for row, (name, slices) in enumerate(lanes.items()):
        if name == "engine":
            draw_engines(slices, row, begin, end, factor, axes)
            continue
        boxes = collections.defaultdict(list)
        for one in slices:
            left, right = max(one.begin, begin), min(one.end, end)
            if right <= left and not begin <= one.begin < end:
                continue
            half = 0.44 if one.kind in AROUND else max(0.12, 0.34 - 0.05 * one.depth)
            colours[one.kind] = one.colour
            seconds[one.kind] += max(right - left, 0)
            x, width = left * factor, max((right - left) * factor, 0)
            edge = "white" if right - left > (end - begin) / FINE else one.colour
            boxes[one.depth, one.colour, edge].append(
                [(x, row - half), (x, row + half), (x + width, row + half), (x + width, row - half)])
        for (depth, colour, edge), corners in sorted(boxes.items()):
            axes.add_collection(PolyCollection(corners, facecolor=colour, edgecolor=edge,
                                               linewidth=0.5, zorder=2 + depth))
    axes.set_yticks(range(len(lanes)), list(lanes))
    axes.set_ylim(len(lanes) - 0.45, -0.55)
    axes.set_xlim(begin * factor, end * factor)
    axes.set_xlabel(f"wall-clock time ({unit})")
    whole = (end - begin) * (len(lanes) - ("engine" in lanes))
    handles = [Patch(color=colours[kind], label=f"{kind} ({share / whole:.1%})")
               for kind, share in seconds.most_common()]
    axes.legend(handles=handles, loc="lower center", bbox_to_anchor=(0.5, 1), ncols=6, frameon=False,
                fontsize=9, title="share of the time, with all that lies within", title_fontsize=9)


def lp_number(trace, track):
    """Of "LP 5" or "LP 5 (router3)"."""
    return int(trace.tracks[track][0].split()[1])


def draw_lps(trace, events, begin, end, axes):
    last = max(event.time for event in events) / 1e9
    begin, end = begin(0, last), end(0, last)
    factor, unit = unit_of(end - begin)
    sender, colours = {}, {}
    palette = plt.get_cmap("tab10").colors
    for event in events:
        time, lp = event.time / 1e9, lp_number(trace, event.track)
        sender.update((flow, (time, lp)) for flow in event.flows)
        if not begin <= time <= end:
            continue
        colour = "#888888" if event.name == "start" else \
            colours.setdefault(event.name, palette[len(colours) % len(palette)])
        axes.plot(time * factor, lp, "o", color=colour, markersize=4.5, zorder=3)
        for flow in event.ends:
            if flow in sender and sender[flow][1] != lp:
                axes.annotate("", (time * factor, lp),
                              (sender[flow][0] * factor, sender[flow][1]),
                              arrowprops={"arrowstyle": "-|>", "color": "#00000059", "lw": 0.8,
                                          "shrinkA": 2, "shrinkB": 3})
            elif flow in sender:
                axes.plot([sender[flow][0] * factor, time * factor], [lp] * 2,
                          color="#00000059", lw=1.6, zorder=2)
    texts = {lp_number(trace, event.track): trace.tracks[event.track][0] for event in events}
    lps = sorted(texts)
    axes.set_yticks(lps, [texts[lp] for lp in lps])
    axes.invert_yaxis()
    axes.set_xlim(begin * factor, end * factor)
    axes.set_xlabel(f"simulated time ({unit})")
    axes.grid(axis="y", color="#e6e6e6")
    axes.legend(handles=[Patch(color=colour, label=name) for name, colour in colours.items()],
                loc="lower center", bbox_to_anchor=(0.5, 1), ncols=6, frameon=False)


def place(text):
    """The place that is meant by 0.5 or 40%, as a function of where things begin and end."""
    try:
        share = float(text[:-1]) / 100 if text.endswith("%") else None
        seconds = None if text.endswith("%") else float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is neither seconds nor a share such as 40%")
    return lambda first, last: (min(max(seconds, first), last) if share is None
                                else first + share * (last - first))


def read(path):
    try:
        return Trace(path)
    except OSError as error:
        sys.exit(f"plot_trace.py: cannot read {path}: {error.strerror}")
    except (ValueError, KeyError, IndexError, AssertionError, TypeError):
        sys.exit(f"plot_trace.py: {path} is no trace of orrery, or is damaged")


def blank(rows, inches):
    figure, axes = plt.subplots(figsize=(11, max(2.4, 1.3 + inches * rows)))
    for side in ["top", "right", "left"]:
        axes.spines[side].set_visible(False)
    axes.tick_params(axis="y", length=0)
    return figure, axes


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("file", type=pathlib.Path, help="a trace")
    parser.add_argument("--lps", action="store_true", help="events and their causes, by LP")
    parser.add_argument("--from", type=place, default="0%", dest="begin", metavar="TIME",
                        help="seconds, or a share as 40%%")
    parser.add_argument("--to", type=place, default="100%", dest="end", metavar="TIME",
                        help="the same")
    parser.add_argument("-o", "--output", type=pathlib.Path, metavar="PICTURE")
    options = parser.parse_args()
    trace = read(options.file)
    if options.lps:
        events = trace.committed()
        if not events:
            sys.exit(f"plot_trace.py: {options.file} has no committed events")
        figure, axes = blank(len({event.track for event in events}), 0.35)
        draw_lps(trace, events, options.begin, options.end, axes)
    else:
        lanes = lanes_of(trace)
        if not lanes:
            sys.exit(f"plot_trace.py: {options.file} has nothing that workers did")
        figure, axes = blank(len(lanes), 0.6)
        draw_workers(lanes, options.begin, options.end, axes)
    output = options.output or options.file.with_name(options.file.name + ".png")
    figure.savefig(output, dpi=110, bbox_inches="tight")
    print(output)


if __name__ == "__main__":
    main()
