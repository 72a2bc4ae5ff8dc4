# SPDX-License-Identifier: Apache-2.0
"""Orrery's own engines with more workers and ranks than there are cores ('./dev bench oversubscribed
--orrery'): the rate over that of 2 workers, which on 2 cores are one each."""

from harness import (Bars, Series, Table, alternate, check_fingerprints, compare, length, panels,
                     run_orrery, save_picture, show_rate, show_ratio, write_record)

WORKERS, RANKS = (2, 4, 8, 16, 32), (2, 4, 8, 16)
START_S = 2  # what many ranks take to start, at most
BARS = {8: 0.9, 32: 0.8}  # of the rate of 2 workers
# Both have short delays: a tenth of the mean in PHOLD, a frame's preamble in wireless.
MODELS = {"phold": (["--set", "lookahead=0.1s"], 10), "wireless": ([], 1)}
ENGINES = {"timewarp": ["--engine", "timewarp"],
           "conservative": ["--engine", "conservative"]}


def ways_of(engine):
    """By name: number, kind, and arguments."""
    words = ENGINES[engine]
    ways = {f"{count} workers": ("workers", count, [*words, "--workers", count, "--threads", "auto"])
            for count in WORKERS}
    ways.update({f"{count} ranks": ("ranks", count, [*words, "--ranks", count, "--workers", 1])
                 for count in RANKS})
    return ways


def one_engine(options, model, engine, table, bars):
    sets, least = MODELS[model]
    ways = ways_of(engine)
    first = next(iter(ways))
    until = length(options, model, sets, least, ways[first][2])
    common = [*sets, "--until", f"{until:.2f}s"]
    limit = round(options.limit * options.seconds) + START_S
    series = [Series(name, lambda words=words: run_orrery(model, [*common, *words],
                                                          build=options.build, limit_s=limit))
              for name, (_, _, words) in ways.items()]
    alternate(series, options.rounds, f"{model}, {engine}")
    check_fingerprints(series)
    rows = []
    for one in series:
        what, count, _ = ways[one.name]
        if one.failures or series[0].failures:
            table.failed(one)
            continue
        ratio, stopped = compare(one, series[0]), any(run["stopped"] for run in one.samples)
        table.row(model, engine, one.name, one.median(), ratio, one.median("efficiency"),
                  one.median("switches"), one.median("cpu_seconds"), note=" *" if stopped else "")
        if what == "workers" and count in BARS:
            bars.ratio(f"{model}, {engine}: {count} workers over 2", ratio, BARS[count])
        rows.append({"model": model, "engine": engine, "what": what, "count": count,
                     "stopped": stopped, "rate": one.median(), "ratio": ratio and ratio.record(),
                     "series": one.record()})
    return rows


def draw(rows, path):
    figure, axes = panels(1, len(MODELS), 5, 4)
    for axis, model in zip(axes[0], MODELS):
        for colour, engine in zip(("#b04030", "#4878a8"), ENGINES):
            for what, style in (("workers", "o-"), ("ranks", "s--")):
                found = [row for row in rows if (row["model"], row["engine"], row["what"]) ==
                         (model, engine, what) and row["ratio"]]
                x, ratios = [row["count"] for row in found], [row["ratio"] for row in found]
                axis.plot(x, [one["median"] for one in ratios], style, color=colour, markersize=5,
                          label=f"{engine}, {what}")
                axis.fill_between(x, [one["low"] for one in ratios], [one["high"] for one in ratios],
                                  color=colour, alpha=0.12, linewidth=0)
        for count, bar in BARS.items():
            axis.plot([count], [bar], "k_", markersize=14)
        axis.set_xscale("log", base=2)
        axis.set_xticks(WORKERS, [str(count) for count in WORKERS])
        axis.set(title=model, xlabel="workers, or ranks of one worker", ylim=(0, None),
                 ylabel="rate over that of 2 workers (-: the bars)")
        axis.grid(True, linewidth=0.3)
    axes[0][0].legend(fontsize=8)
    save_picture(figure, path)


def compare_engines(options):
    table = Table(("model", 9, ""), ("engine", 13, ""), ("", 10, ""), ("events/s", 11, show_rate),
                  ("of 2 workers", 24, show_ratio), ("efficiency", 10, ".1%"),
                  ("switches", 9, ".0f"), ("CPU s", 6, ".2f"))
    bars, rows = Bars(), []
    print("* stopped, the rate so far")
    table.head()
    for model in MODELS:
        for engine in ENGINES:
            rows += one_engine(options, model, engine, table, bars)
    bars.show()
    write_record(options.out, "engines", {"rows": rows, "bars": bars.rows})
    draw(rows, options.out / "engines.png")
    print(f"\n{options.out}: engines.json, engines.png")
