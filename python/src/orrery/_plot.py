# SPDX-License-Identifier: Apache-2.0
"""The two pictures that nearly everybody draws first; all others are a line of pandas. Needs
matplotlib, which nothing else does."""

import re

import pandas

from ._errors import UsageError
from ._frames import unknown

_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "h": 3600, "d": 86_400}
MOST_IN_LEGEND = 20
_DURATION = re.compile(r"([\d.]+(?:e[-+]?\d+)?) ?(ns|us|ms|s|min|h|d)")


def axes_of(ax):
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError:
        raise UsageError("plots need matplotlib: pip install matplotlib") from None
    return pyplot.subplots()[1]


def with_unit(name, unit):
    return f"{name} [{unit}]" if unit and unit != "1" else name


def seconds(ticks, tick_seconds):
    """Where a second has a whole number of ticks, as exact as a number can be."""
    per_second = round(1 / tick_seconds) if tick_seconds <= 1 else 0
    return ticks / per_second if per_second * tick_seconds == 1 else ticks * tick_seconds


def plot_table(run, table, y, x, by, ax, options):
    frame = run.tables[table]
    for column in [y, x, by]:
        if column is not None and column not in frame:
            raise unknown("column", column, frame.columns)
    units = frame.attrs.get("units", {})
    ax = axes_of(ax)
    for value, part in [(None, frame)] if by is None else frame.groupby(by):
        along = seconds(part["time_ticks"], run.tick_seconds) if x is None else part[x]
        ax.plot(along, part[y], label=None if by is None else f"{by} = {value}", **options)
    ax.set_xlabel("simulated time [s]" if x is None else with_unit(x, units.get(x)))
    ax.set_ylabel(with_unit(y, units.get(y)))
    if by is not None and frame[by].nunique() <= MOST_IN_LEGEND:
        ax.legend()
    return ax


def plot_study(study, measure, x, ax):
    if measure is None:
        measure = next(iter(study.shown()), None)
        if measure is None:
            raise UsageError("the model reports neither results nor metrics")
    rows = study.means(measure)
    names = [name for name in study.parameters if name in rows]
    x = x or next(iter(names), None)
    if x is not None and x not in names:
        raise unknown("parameter", x, names)
    others = [name for name in names if name != x]
    ax = axes_of(ax)
    for label, part in _lines(rows, others):
        along = positions(part[x]) if x is not None else part["point"]
        line, = ax.plot(along, part["mean"], marker="o", label=label)
        if part["half_width"].notna().any():
            ax.fill_between(along, part["low"], part["high"], color=line.get_color(), alpha=0.2,
                            linewidth=0)
    if others:
        ax.legend()
    if x is None or pandas.api.types.is_integer_dtype(rows[x]):
        from matplotlib.ticker import MaxNLocator
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))  # no 1.5 pumps
    fact = study.report["measures"].get(measure) or study.report["measures"][f"{measure}.mean"]
    ax.set_xlabel((x or "point") + (" [s]" if x and _are_durations(rows[x]) else ""))
    ax.set_ylabel(with_unit(measure, fact["unit"]))
    return ax


def _lines(rows, others):
    if not others:
        return [("", rows)]
    groups = rows.groupby(others if len(others) > 1 else others[0], sort=False)
    return [(", ".join(f"{name} = {value}" for name, value in
                       zip(others, values if isinstance(values, tuple) else (values,))), part)
            for values, part in groups]


def _are_durations(column):
    return not pandas.api.types.is_numeric_dtype(column) and \
        all(_DURATION.fullmatch(str(text)) for text in column)


def positions(column):
    """Numbers as they are, durations in seconds, other texts side by side."""
    if not _are_durations(column):
        return column if pandas.api.types.is_numeric_dtype(column) else column.astype(str)
    parts = [_DURATION.fullmatch(str(text)) for text in column]
    return pandas.Series([float(part[1]) * _SECONDS[part[2]] for part in parts], index=column.index)
