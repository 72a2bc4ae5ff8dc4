#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""malloc and free of an LP against glibc and mimalloc: nanoseconds for a pair, by pattern.

Each pattern (bench/memory/patterns.cpp) runs in turn in all allocators, every time in a process of
its own. The lowest of all rounds is what the code can do, the median what a shared machine gives.
With --instructions valgrind counts instead, which a busy machine does not disturb.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def run(program, environment, *words):
    done = subprocess.run([str(program), *words], capture_output=True, text=True,
                          env={**os.environ, **environment})
    if done.returncode != 0 or done.stderr:
        sys.exit(f"bench: {program}: {done.stderr.strip()}")
    return [line.split() for line in done.stdout.splitlines()]


def instructions(program, environment, pattern):
    """Instructions a pair: the difference of two runs."""
    counts = []
    for pairs in (100_000, 300_000):
        done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
                               str(program), pattern, str(pairs), "1"], capture_output=True, text=True,
                              env={**os.environ, **environment})
        counts.append(int(re.search(r"Collected : (\d+)", done.stderr).group(1)))
    return (counts[1] - counts[0]) / (200_000 * 17 / 16)  # a sixteenth of the pairs is to warm up


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build/release")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--mimalloc", default="libmimalloc.so.2", help="library to preload; '' for none")
    parser.add_argument("--instructions", action="store_true")
    parser.add_argument("--out", type=Path, default=ROOT / "results/memory")
    options = parser.parse_args()
    system = options.build / "bin/malloc_bench_system"
    allocators = {"LP heap": (options.build / "bin/malloc_bench_lp", {}), "glibc": (system, {})}
    if options.mimalloc:
        allocators["mimalloc"] = (system, {"LD_PRELOAD": options.mimalloc})
    patterns = [words[0] for words in run(system, {}, "--list")]
    results = {pattern: {name: [] for name in allocators} for pattern in patterns}
    if options.instructions:
        allocators.pop("mimalloc", None)  # valgrind puts its own in place of a preloaded one
        for pattern in patterns:
            for name, (program, environment) in allocators.items():
                results[pattern][name].append(instructions(program, environment, pattern))
    else:
        for _ in range(options.rounds):
            for name, (program, environment) in allocators.items():
                for pattern, ns in run(program, environment, "all", "300000", "3"):
                    results[pattern][name].append(float(ns))
    unit = "instructions" if options.instructions else "ns, lowest (median)"
    print(f"{unit + ' a pair':<30}" + "".join(f"{name:>18}" for name in allocators))
    for pattern in patterns:
        cells = [results[pattern][name] for name in allocators]
        print(f"{pattern:<30}" + "".join(f"{min(c):>9.2f} ({statistics.median(c):>6.2f})" for c in cells))
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "memory.json").write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
