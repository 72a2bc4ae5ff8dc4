#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Cache-aware memory: the experiment of Vitali, Pellegrini and Cerasuolo (SIMUTools 2012).

PHOLD whose state is linked lists of buffers (bench/cache/lists.cpp), in the paper's tests:
A: state of 2/3 of the cache, 75 % touched by an event; B: 3 times the cache, 25 %; C: 10 times,
10 %. Each under --checkpoint copy and auto, with 0 and 95 % of the events local, without separation,
with the automatic threshold and with fixed ones. Runs alternate, medians and spread are printed; a
table, cache.json and cache.png are left.

  bench/cache/run.py                     events/s
  bench/cache/run.py --counters          also misses of the second-level cache: by perf stat where
                                         the machine counts them, else by cachegrind, which simulates
                                         one cache of this machine's geometry for both workers
"""

import argparse
import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent.parent
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


def command(options, test, local, checkpoint, variant, until, caches):
    factor, touched, lps = TESTS[test]
    size = int(factor * options.l2[0] / lps)
    return [str(options.orrery), "run", str(options.model), "--json", "--quiet", "--workers", "2",
            "--until", f"{until:.0f}s", "--checkpoint", checkpoint, "--set", f"lps={lps * caches}",
            "--set", f"bytes={size}", "--set", f"touched={touched}", "--set", f"local={local}",
            *variant]


def run(words):
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"bench: {' '.join(words)}\n{done.stderr.strip()}")
    return json.loads(done.stdout)


def misses_by_perf(words):
    """Misses of the second-level cache per executed event, or None where there are no counters."""
    if not shutil.which("perf"):
        return None
    with tempfile.NamedTemporaryFile() as counts:
        done = subprocess.run(["perf", "stat", "-x,", "-e", "l2_cache_misses_from_dc_misses",
                               "-o", counts.name, *words], capture_output=True, text=True)
        text = Path(counts.name).read_text()
    found = re.search(r"^(\d+),", text, re.M)
    if done.returncode != 0 or not found:
        return None
    return int(found.group(1)) / json.loads(done.stdout)["run"]["executed"]


def count_by_cachegrind(options, words):
    """(data accesses, first-level misses, second-level misses, executed events, efficiency)."""
    cache = lambda c: f"{c[0]},{c[1]},{c[2]}"  # noqa: E731
    done = subprocess.run(
        ["valgrind", "--tool=cachegrind", "--cachegrind-out-file=/dev/null", "--fair-sched=yes",
         f"--D1={cache(options.l1)}", f"--I1={cache(options.l1)}", f"--LL={cache(options.l2)}",
         *words], capture_output=True, text=True)
    number = lambda what: int(re.search(what + r":\s+([\d,]+)", done.stderr).group(1)  # noqa: E731
                              .replace(",", ""))
    if done.returncode != 0:
        sys.exit(f"bench: cachegrind: {done.stderr[-2000:]}")
    return (number("D   refs"), number("D1  misses"), number("LLd misses"),
            *(json.loads(done.stdout)["run"][k] for k in ("executed", "efficiency")))


def misses_by_cachegrind(options, make_words):
    """Per executed event: data accesses, misses of both levels; efficiency. The difference of two
    horizons, so that start and end do not count; medians of three, since the threads' interleaving
    and with it the rollbacks differ from run to run."""
    counted = []
    for _ in range(3):
        short = count_by_cachegrind(options, make_words(options.cachegrind_until))
        long = count_by_cachegrind(options, make_words(3 * options.cachegrind_until))
        events = long[3] - short[3]
        counted.append([(b - a) / events for a, b in zip(short[:3], long[:3])] + [long[4]])
    return [statistics.median(values) for values in zip(*counted)]


def measure(options, case, variants):
    rates = {name: [] for name in variants}
    prints = set()
    for turn in range(options.rounds):
        for name, variant in variants.items():
            print(f"\r  {case}: round {turn + 1} of {options.rounds}, {name:<12}", end="",
                  file=sys.stderr, flush=True)
            report = run(command(options, *case, variant, options.until[case[0]], 2))
            rates[name].append(report["run"]["events_per_second"])
            prints.add(report["run"]["fingerprint"])
    print("\r" + " " * 78 + "\r", end="", file=sys.stderr, flush=True)
    if len(prints) > 1:
        sys.exit(f"bench: fingerprints differ: {', '.join(sorted(prints))}")
    return rates


def count(options, case, variants):
    counted = {}
    for name, variant in variants.items():
        if name == "auto":
            continue  # it is one of the others, and searches by the clock, which valgrind bends
        print(f"\r  {case}: counting, {name:<12}", end="", file=sys.stderr, flush=True)
        words = command(options, *case, variant, options.until[case[0]], 2)
        by_perf = misses_by_perf(words)
        if by_perf is not None:
            counted[name] = {"by": "perf", "l2_misses": by_perf}
            continue
        accesses, first, second, efficiency = misses_by_cachegrind(
            options, lambda until, v=variant: command(options, *case, v, until, 1))
        counted[name] = {"by": "cachegrind", "accesses": accesses, "l1_misses": first,
                         "l2_misses": second, "efficiency": efficiency}
    print("\r" + " " * 78 + "\r", end="", file=sys.stderr, flush=True)
    return counted


def picture(results, path):
    counted = any(r["counters"] for r in results)
    tests = [test for test in TESTS if any(r["test"] == test for r in results)]
    figure, axes = plt.subplots(2 if counted else 1, len(tests), squeeze=False,
                                figsize=(1 + 4.2 * len(tests), 8 if counted else 4.2))
    for column, test in enumerate(tests):
        for r in (r for r in results if r["test"] == test):
            label = f"{r['checkpoint']}, {100 * r['local']:.0f} % local"
            names = list(r["rates"]) if r["rates"] else list(r["counters"])
            if r["rates"]:
                base = statistics.median(r["rates"]["off"])
                middle = [100 * (statistics.median(x) / base - 1) for x in r["rates"].values()]
                axes[0][column].plot(names, middle, marker="o", label=label)
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
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def table(results):
    for r in results:
        print(f"\n{r['test']}, --checkpoint {r['checkpoint']}, {100 * r['local']:.0f} % local")
        print(f"  {'':<8} {'k events/s':>11} {'lowest':>9} {'highest':>9} {'gain':>8} {'L2 misses/event':>16}"
              f" {'accesses':>11} {'efficiency':>12}")
        for name in r["rates"] or r["counters"]:
            rates = sorted(r["rates"].get(name, []))
            row = f"  {name:<8}"
            if rates:
                gain = statistics.median(rates) / statistics.median(r["rates"]["off"]) - 1
                row += (f" {statistics.median(rates) / 1e3:>11.1f} {rates[0] / 1e3:>9.1f}"
                        f" {rates[-1] / 1e3:>9.1f} {100 * gain:>+7.1f}%")
            else:
                row += " " * 40
            if name in r["counters"]:
                c = r["counters"][name]
                row += f" {c['l2_misses']:>16.1f}"
                if "accesses" in c:
                    row += f" {c['accesses']:>11.0f} {100 * c['efficiency']:>10.1f} %"
            print(row)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build/release")
    parser.add_argument("--rounds", type=int, default=5, help="alternating rounds (5); 0: no timing")
    parser.add_argument("--seconds", type=float, default=1.0, help="length of a run, roughly (1)")
    parser.add_argument("--counters", action="store_true", help="count cache misses, too")
    parser.add_argument("--tests", default="A,B,C")
    parser.add_argument("--checkpoints", default="copy,auto")
    parser.add_argument("--locals", default="0,0.95")
    parser.add_argument("--shares", default="0.25,0.5,0.625,0.75,0.875,1")
    parser.add_argument("--cachegrind-until", type=float, default=6,
                        help="simulated seconds of the shorter counted run (6)")
    parser.add_argument("--out", type=Path, default=ROOT / "results/cache")
    options = parser.parse_args()
    options.orrery, options.model = options.build / "bin/orrery", options.build / "bin/cache_lists.so"
    options.l1, options.l2 = cache_geometry(1), cache_geometry(2)
    options.until = {"A": 400 * options.seconds, "B": 150 * options.seconds, "C": 80 * options.seconds}
    for program in (options.orrery, options.model):
        if not program.exists():
            sys.exit(f"bench: {program} is not there; ./dev build makes it")
    return options


def main():
    options = parse_arguments()
    variants = {"off": ["--cache-aware", "off"], "auto": ["--cache-share", "auto"]}
    variants |= {share: ["--cache-share", share] for share in options.shares.split(",")}
    results = []
    for test in options.tests.split(","):
        for checkpoint in options.checkpoints.split(","):
            for local in options.locals.split(","):
                case = (test, float(local), checkpoint)
                results.append({
                    "test": test, "local": float(local), "checkpoint": checkpoint,
                    "rates": measure(options, case, variants) if options.rounds else {},
                    "counters": count(options, case, variants) if options.counters else {}})
                table(results[-1:])
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "cache.json").write_text(json.dumps(results, indent=1) + "\n")
    picture(results, options.out / "cache.png")
    print(f"\n{options.out}: cache.json, cache.png")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
