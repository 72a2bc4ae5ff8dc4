#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Cache-aware memory: the experiment of Vitali and others (SIMUTools 2012).

PHOLD whose state is linked lists of buffers (bench/cache/lists.cpp), in the paper's tests:
A: state of 2/3 of the cache, 75 % touched by an event; B: 3 times the cache, 25 %; C: 10 times,
10 %. Each test runs under --checkpoint copy and auto, with 0 and 95 % of the events local, without
separation, with the automatic threshold and with fixed thresholds. Compared runs alternate. The
command prints medians and spread, and writes a table, cache.json and cache.png.

  ./dev bench cache                     events/s
  ./dev bench cache --lps 16 --checkpoints copy
                                        events/s with 32 LPs on two cores, as in the paper
  ./dev bench cache --counters          also misses of the second-level cache: by perf stat if the
                                        machine counts them, else by cachegrind, which simulates
                                        one cache of this machine's geometry for both workers
  ./dev bench cache --counters --rounds 0
                                        only the misses, which do not depend on other load
"""

import json
import re
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness import (Failed, Progress, Series, Table, alternate, check_fingerprints,  # noqa: E402
                     command, compare, launch, numbers, orrery_command, panels, parser, require,
                     run_orrery, save_picture, write_record)

# State as a multiple of the cache, share of it that an event touches, LPs for each cache: so many
# that a checkpoint (5 to 10 KiB) fits into the mild part of a way.
TESTS = {"A": (2 / 3, 0.75, 128), "B": (3, 0.25, 512), "C": (10, 0.10, 1024)}


def cache_geometry(level):
    """(bytes, ways, line) of the cache of the first core, from the system."""
    for index in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"):
        read = lambda name: (index / name).read_text().strip()  # noqa: E731
        if read("level") == str(level) and read("type") in ("Data", "Unified"):
            size = read("size")
            size = int(size[:-1]) * {"K": 1024, "M": 1024 * 1024}[size[-1]]
            return size, int(read("ways_of_associativity")), int(read("coherency_line_size"))
    return {1: (49152, 12, 64), 2: (1 << 20, 16, 64)}[level]


def run_arguments(options, case, variant, until, caches):
    """Arguments for run_orrery and orrery_command."""
    test, local, checkpoint = case
    factor, touched, lps = TESTS[test]
    lps = options.lps or lps
    return (options.build / "bin/cache_lists.so",
            ["--engine", "timewarp", "--workers", 2, "--until", f"{until:.0f}s", "--checkpoint",
             checkpoint, *variant],
            {"lps": lps * caches, "bytes": int(factor * options.l2[0] / lps), "touched": touched,
             "local": local}, options.build)


def misses_by_perf(words):
    """Misses of the second-level cache per executed event, or None without hardware counters."""
    if not shutil.which("perf"):
        return None
    with tempfile.NamedTemporaryFile() as counts:
        try:
            out, _, _ = launch(["perf", "stat", "-x,", "-e", "l2_cache_misses_from_dc_misses",
                                "-o", counts.name, *words])
        except Failed:
            return None
        found = re.search(r"^(\d+),", Path(counts.name).read_text(), re.M)
    return int(found.group(1)) / json.loads(out)["run"]["executed"] if found else None


def count_by_cachegrind(options, words):
    """(data accesses, first-level misses, second-level misses, executed events, efficiency)."""
    cache = lambda c: f"{c[0]},{c[1]},{c[2]}"  # noqa: E731
    out, errors, _ = launch(
        ["valgrind", "--tool=cachegrind", "--cachegrind-out-file=/dev/null", "--fair-sched=yes",
         f"--D1={cache(options.l1)}", f"--I1={cache(options.l1)}", f"--LL={cache(options.l2)}",
         *words])
    number = lambda what: int(re.search(what + r":\s+([\d,]+)", errors).group(1)  # noqa: E731
                              .replace(",", ""))
    return (number("D   refs"), number("D1  misses"), number("LLd misses"),
            *(json.loads(out)["run"][k] for k in ("executed", "efficiency")))


def misses_by_cachegrind(options, make_words):
    """Per executed event: data accesses, misses of both levels; efficiency. From the difference of
    two horizons, so that start and end do not count. Medians of three, because the interleaving of
    threads and so the rollbacks differ from run to run."""
    counted = []
    for _ in range(3):
        short = count_by_cachegrind(options, make_words(options.cachegrind_until))
        long = count_by_cachegrind(options, make_words(3 * options.cachegrind_until))
        events = long[3] - short[3]
        counted.append([(b - a) / events for a, b in zip(short[:3], long[:3])] + [long[4]])
    return [statistics.median(values) for values in zip(*counted)]


def measure(options, case, variants):
    until = options.until[case[0]]
    series = [Series(name, lambda v=variant: run_orrery(*run_arguments(options, case, v, until, 2)))
              for name, variant in variants.items()]
    alternate(series, options.rounds, case_text(case))
    check_fingerprints(series)
    for one in series:
        if one.failures:
            raise Failed(one.failures[0])
    return series


def count(options, case, variants):
    progress, counted = Progress(), {}
    for name, variant in variants.items():
        if name == "auto":
            continue  # it is one of the others, and searches by the clock, which valgrind bends
        progress.say(f"{case_text(case)}: counting, {name}")
        words = lambda until, caches, v=variant: orrery_command(  # noqa: E731
            *run_arguments(options, case, v, until, caches))
        by_perf = misses_by_perf(words(options.until[case[0]], 2))
        if by_perf is not None:
            counted[name] = {"by": "perf", "l2_misses": by_perf}
            continue
        accesses, first, second, efficiency = misses_by_cachegrind(
            options, lambda until: words(until, 1))
        counted[name] = {"by": "cachegrind", "accesses": accesses, "l1_misses": first,
                         "l2_misses": second, "efficiency": efficiency}
    progress.clear()
    return counted


def case_text(case):
    test, local, checkpoint = case
    return f"{test}, --checkpoint {checkpoint}, {100 * local:.0f} % local"


def picture(results, path):
    counted = any(r["counters"] for r in results)
    tests = [test for test in TESTS if any(r["case"][0] == test for r in results)]
    figure, axes = panels(2 if counted else 1, len(tests), 4.4, 4)
    for column, test in enumerate(tests):
        for r in (r for r in results if r["case"][0] == test):
            label = f"{r['case'][2]}, {100 * r['case'][1]:.0f} % local"
            names = [one.name for one in r["series"]] or list(r["counters"])
            if r["series"]:
                gains = [100 * (compare(one, r["series"][0]).median - 1) for one in r["series"]]
                axes[0][column].plot(names, gains, marker="o", label=label)
            if r["counters"]:
                base = r["counters"]["off"]["l2_misses"]
                shown = [n for n in names if n in r["counters"]]
                axes[1][column].plot(shown, [100 * (r["counters"][n]["l2_misses"] / base - 1)
                                             for n in shown], marker="o", label=label)
        factor, touched, _ = TESTS[test]
        axes[0][column].set_title(f"{test}: state {factor:.2g} x cache, {100 * touched:.0f} % touched")
        axes[0][column].set_ylabel("gain in events/s over off, %")
        if counted:
            axes[1][column].set_ylabel("change of L2 misses an event, %")
        for axis in axes[:, column]:
            axis.axhline(0, color="#999999", linewidth=0.8)
            axis.set_xlabel("share of the sets for intensive memory")
    for axis in axes[:, 0]:
        if axis.get_legend_handles_labels()[0]:
            axis.legend(fontsize=8)
    save_picture(figure, path)


def show(result):
    print(f"\n{case_text(result['case'])}")
    thousands = lambda value: f"{value / 1e3:.1f}"  # noqa: E731
    table = Table(("", 8, ""), ("k events/s", 11, thousands), ("lowest", 9, thousands),
                  ("highest", 9, thousands), ("gain [95 % interval]", 28, ""),
                  ("L2 misses/event", 16, ".1f"), ("accesses", 11, ".0f"),
                  ("efficiency", 12, ".1%"))
    table.head()
    series = {one.name: one for one in result["series"]}
    for name in series or result["counters"]:
        counters = result["counters"].get(name, {})
        rates = [None] * 4
        if name in series:
            one = series[name]
            rates = [one.median(), *one.spread(), compare(one, series["off"]).gain()]
        table.row(name, *rates, *map(counters.get, ("l2_misses", "accesses", "efficiency")))


def parse_arguments():
    parse = parser("cache", __doc__, out="results/cache", rounds=5, fewest=0)
    parse.add_argument("--seconds", type=float, default=1.0, help="length of a run, roughly (1)")
    parse.add_argument("--counters", action="store_true", help="count cache misses, too")
    parse.add_argument("--tests", default="A,B,C")
    parse.add_argument("--checkpoints", default="copy,auto")
    parse.add_argument("--locals", type=numbers(float), default=[0, 0.95], help="0,0.95")
    parse.add_argument("--lps", type=int, help="LPs for each cache, in place of 128, 512 and 1024")
    parse.add_argument("--shares", default="0.25,0.5,0.625,0.75,0.875,1")
    parse.add_argument("--cachegrind-until", type=float, default=6,
                       help="simulated seconds of the shorter counted run (6)")
    options = parse.parse_args()
    options.l1, options.l2 = cache_geometry(1), cache_geometry(2)
    options.until = {"A": 400 * options.seconds, "B": 150 * options.seconds, "C": 80 * options.seconds}
    return options


def main():
    options = parse_arguments()
    require(options, "cache_lists.so")
    variants = {"off": ["--cache-aware", "off"], "auto": ["--cache-aware", "on"]}
    variants |= {share: ["--cache-share", share] for share in options.shares.split(",")}
    results = []
    for test in options.tests.split(","):
        for checkpoint in options.checkpoints.split(","):
            for local in options.locals:
                case = (test, local, checkpoint)
                results.append({
                    "case": case,
                    "series": measure(options, case, variants) if options.rounds else [],
                    "counters": count(options, case, variants) if options.counters else {}})
                show(results[-1])
    write_record(options.out, "cache",
                 [{"test": r["case"][0], "local": r["case"][1], "checkpoint": r["case"][2],
                   "series": [one.record() for one in r["series"]], "counters": r["counters"]}
                  for r in results])
    picture(results, options.out / "cache.png")
    print(f"\n{options.out}: cache.json, cache.png")


if __name__ == "__main__":
    command(main)
