#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checkpoint strategies on PHOLD, over state sizes and shares that events write.

Prints committed events per second and peak memory for each strategy, marks the best strategy, and
gives the difference of `auto` to it (the goal: 5 %). Writes checkpoint.json and checkpoint.png.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness import (Series, Table, alternate, check_fingerprints, command, compare,  # noqa: E402
                     numbers, panels, parser, require, run_orrery, save_picture, write_record)

STRATEGIES = ["copy", "periodic:16", "adaptive", "incremental", "reverse", "auto"]
SIZES = {"64": 64, "1K": 1 << 10, "16K": 16 << 10, "256K": 256 << 10, "1M": 1 << 20}
SHARES = [0.01, 0.1, 1.0]


def workload(size, share, lps):
    return {"lps": lps, "state": size, "touched": max(int(size * share), 1)}


def horizon(size, share, options):
    """Simulated seconds (an event an LP each) that take about `--seconds`, and enough for the
    choice of `auto`, which first tries each kind for 48 events of an LP."""
    sets = workload(size, share, options.lps)
    probe = run_orrery("phold", ["--engine", "sequential", "--until", "100s"], sets, options.build)
    each = probe["seconds"] / probe["committed"]
    # An event may cost a few copies of the state beside itself.
    each += size * 0.2e-9 * 4
    return max(600, round(options.seconds / each / options.lps))


def measure(size_name, share, options):
    size = SIZES[size_name]
    until = f"{horizon(size, share, options)}s"
    sets = workload(size, share, options.lps)
    series = [Series(s, lambda s=s: run_orrery(
        "phold", ["--engine", "timewarp", "--workers", options.workers, "--until", until,
                  "--checkpoint", s], sets, options.build)) for s in options.strategies]
    alternate(series, options.rounds, f"{size_name}, {share:.0%} written")
    check_fingerprints(series)
    return series


def show(size_name, share, series):
    print(f"\n{size_name} of state, {share:.0%} of it written by each event")
    table = Table(("", 14, ""), ("events/s", 10, ".0f"), ("lowest", 10, ".0f"),
                  ("highest", 10, ".0f"), ("peak MiB", 9, ".0f"), ("efficiency", 10, ".1%"))
    table.head()
    fixed = [s for s in series if s.name != "auto" and s.samples]
    best = max(fixed, key=lambda s: s.median(), default=None)
    for one in series:
        if one.samples:
            table.row(one.name, one.median(), *one.spread(), one.median("rss") / 2**20,
                      one.median("efficiency"), note="  best" if one is best else "")
        else:
            table.failed(one)
    auto = next((s for s in series if s.name == "auto" and s.samples), None)
    found = compare(auto, best)
    if found is None:
        return None
    print(f"  auto / best: {found.median:.2f} {found.interval()} "
          f"({'met' if found.median >= 0.95 else 'MISSED'}, bar 0.95)")
    return {"size": size_name, "share": share, "best": best.name, "ratio": found.median,
            "comparison": found.record()}


def picture(results, options, path):
    figure, axes = panels(1, len(options.shares), 5, 4.2, sharey=True)
    for axis, share in zip(axes[0], options.shares):
        for strategy in options.strategies:
            points = [(SIZES[size], s.median(), s.spread())
                      for (size, written), series in results.items() if written == share
                      for s in series if s.name == strategy and s.samples]
            if not points:
                continue
            x = [p[0] for p in points]
            y = [p[1] for p in points]
            error = [[p[1] - p[2][0] for p in points], [p[2][1] - p[1] for p in points]]
            style = {"linewidth": 3, "color": "black", "alpha": 0.5} if strategy == "auto" else {}
            axis.errorbar(x, y, yerr=error, marker="o", markersize=4, capsize=3, label=strategy,
                          **style)
        axis.set_xscale("log", base=2)
        axis.set_yscale("log")
        axis.set_xticks([SIZES[s] for s in options.sizes], options.sizes)
        axis.set_title(f"{share:.0%} written by an event")
        axis.set_xlabel("state of an LP, bytes")
        axis.grid(alpha=0.3)
    axes[0][0].set_ylabel("committed events/s")
    axes[0][-1].legend()
    save_picture(figure, path)


def parse_arguments():
    parse = parser("checkpoint", __doc__, out="results/bench", rounds=5)
    words = lambda text: text.split(",")  # noqa: E731
    parse.add_argument("--seconds", type=float, default=0.5, help="length of a run, roughly (0.5)")
    parse.add_argument("--workers", type=int, default=2, help="workers (2)")
    parse.add_argument("--lps", type=int, default=64, help="LPs (64)")
    parse.add_argument("--sizes", type=words, default=list(SIZES), help=",".join(SIZES))
    parse.add_argument("--shares", type=numbers(float), default=SHARES,
                       help="shares of the state that an event writes (0.01,0.1,1)")
    parse.add_argument("--strategies", type=words, default=STRATEGIES, help=",".join(STRATEGIES))
    options = parse.parse_args()
    unknown = [s for s in options.sizes if s not in SIZES]
    if unknown:
        parse.error(f"no size {unknown[0]}; sizes: {', '.join(SIZES)}")
    return options


def main():
    options = parse_arguments()
    require(options)
    results, ratios = {}, []
    for size in options.sizes:
        for share in options.shares:
            series = measure(size, share, options)
            results[size, share] = series
            ratio = show(size, share, series)
            if ratio:
                ratios.append(ratio)
    write_record(options.out, "checkpoint",
                 {"ratios": ratios,
                  "series": {f"{size} {share}": [s.record() for s in series]
                             for (size, share), series in results.items()}})
    picture(results, options, options.out / "checkpoint.png")
    met = sum(r["ratio"] >= 0.95 for r in ratios)
    print(f"\nauto is within 5 % of the best strategy in {met} of {len(ratios)} workloads")
    print(f"{options.out}: checkpoint.json, checkpoint.png")


if __name__ == "__main__":
    command(main)
