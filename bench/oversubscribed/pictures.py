# SPDX-License-Identifier: Apache-2.0
"""The pictures of './dev bench oversubscribed': rates, ratios and efficiency against the number of
ranks, and ratios against the share of remote events."""

import textwrap

from harness import panels, save_picture

COLOURS = {"spin": "#b04030", "yield": "#d09030", "block": "#4878a8", "llf": "#2f7d4f"}
THESIS = 20
HOLLOW = "hollow: runs that were given up, the rate so far"
CAPTION = ("dashed: the factor of 20 that Yoginath (2014) reports for virtual machines, over a fair "
           "scheduler and with virtual processors that spin: to be compared with 'spin' alone; " +
           HOLLOW)


def ordered(values):
    return sorted(set(values))


def some(rows, **wanted):
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def curve(axis, rows, across, value, way, spread=None):
    """A line of one way; hollow points are runs that were stopped."""
    rows = sorted((row for row in some(rows, way=way) if value(row) is not None),
                  key=lambda row: row[across])
    if not rows:
        return
    x, y = [row[across] for row in rows], [value(row) for row in rows]
    axis.plot(x, y, "-", color=COLOURS[way], linewidth=1.4)
    if spread is not None:
        low, high = zip(*map(spread, rows))
        axis.fill_between(x, low, high, color=COLOURS[way], alpha=0.15, linewidth=0)
    for given_up in (False, True):
        points = [(a, b) for a, b, row in zip(x, y, rows) if row["given_up"] == given_up]
        if points:
            axis.plot(*zip(*points), "o", color=COLOURS[way], markersize=5,
                      markerfacecolor="white" if given_up else COLOURS[way])
    axis.plot([], [], "o-", color=COLOURS[way], label=way, markersize=5)


def ticks(axis, values):
    axis.set_xscale("log", base=2)
    axis.set_xticks(values, [str(value) for value in values])


def rates(axis, rows):
    for way in COLOURS:
        curve(axis, rows, "ranks", lambda row: row["rate"], way, lambda row: row["spread"])
    axis.axhline(rows[0]["sequential"], color="black", linewidth=0.8, linestyle=":",
                 label="one process, sequential")
    ticks(axis, ordered(row["ranks"] for row in rows))
    axis.set(yscale="log", xlabel="ranks", ylabel="committed events/s")


def ratios(axis, rows, across="ranks", name="ranks"):
    for way in COLOURS:
        curve(axis, rows, across, lambda row: row["llf_to_it"] and row["llf_to_it"]["median"], way,
              lambda row: (row["llf_to_it"]["low"], row["llf_to_it"]["high"]))
    axis.axhline(1, color="black", linewidth=0.8)
    axis.axhline(THESIS, color="black", linewidth=0.8, linestyle="--")
    if across == "ranks":
        ticks(axis, ordered(row["ranks"] for row in rows))
    axis.set(yscale="log", xlabel=name, ylabel="rate of llf over it")


def efficiency(axis, rows):
    for way in COLOURS:
        curve(axis, rows, "ranks", lambda row: row["efficiency"], way)
    ticks(axis, ordered(row["ranks"] for row in rows))
    axis.set(ylim=(0, 1.02), xlabel="ranks", ylabel="committed over executed")


def below(figure, caption):
    """A caption as wide as the picture."""
    figure.supxlabel(textwrap.fill(caption, round(figure.get_figwidth() * 15)), fontsize=8)


def grid(rows, kernels, drawn, path, caption=""):
    """A panel for each model and kernel."""
    models = ordered(row["model"] for row in rows)
    figure, axes = panels(len(kernels), len(models), 4.2, 3.6)
    for line, kernel in zip(axes, kernels):
        for axis, model in zip(line, models):
            found = some(rows, model=model, kernel=kernel)
            if not found:
                axis.set_axis_off()
                continue
            axis.set_title(f"{model}, {kernel}")
            drawn(axis, found)
            axis.grid(True, which="major", linewidth=0.3)
    axes[0][0].legend(fontsize=8)
    if caption:
        below(figure, caption)
    save_picture(figure, path)


def shares(rows, path):
    """For PHOLD, with the number of ranks that has the most shares."""
    counts = {count: len(ordered(row["remote"] for row in some(rows, ranks=count)))
              for count in ordered(row["ranks"] for row in rows)}
    ranks = max(counts, key=lambda count: (counts[count], count))
    if counts[ranks] < 2:
        return False
    kernels = ordered(row["kernel"] for row in rows)
    figure, axes = panels(1, len(kernels), 5, 4)
    for axis, kernel in zip(axes[0], kernels):
        ratios(axis, some(rows, kernel=kernel, ranks=ranks), "remote",
               "events to an LP anywhere, per cent")
        axis.set_title(f"phold, {kernel}, {ranks} ranks")
        axis.grid(True, which="major", linewidth=0.3)
    axes[0][0].legend(fontsize=8)
    below(figure, CAPTION)
    save_picture(figure, path)
    return True


def draw(rows, out):
    """Draws pictures of all measured figures; returns their names."""
    calm = some(rows, hogs=min((row["hogs"] for row in rows), default=0))
    usual = [row for row in calm if row["model"] != "phold" or row["remote"] == most_ranks(calm)]
    kernels = ordered(row["kernel"] for row in usual)
    if not usual:
        return []
    grid(usual, kernels, rates, out / "rates.png", HOLLOW)
    grid(usual, kernels, ratios, out / "ratios.png", CAPTION)
    names = ["rates.png", "ratios.png"]
    if "optimistic" in kernels:
        grid(usual, ["optimistic"], efficiency, out / "efficiency.png")
        names.append("efficiency.png")
    phold = some(calm, model="phold")
    if phold and shares(phold, out / "shares.png"):
        names.append("shares.png")
    return names


def most_ranks(rows):
    """The remote share of PHOLD that was run with the most numbers of ranks."""
    phold = some(rows, model="phold")
    return max(ordered(row["remote"] for row in phold), default=None,
               key=lambda remote: len(ordered(row["ranks"] for row in some(phold, remote=remote))))
