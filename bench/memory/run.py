#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""malloc and free of an LP against glibc and mimalloc, by pattern.

The unit is nanoseconds for a pair of malloc and free. Each pattern (bench/memory/patterns.cpp) runs
in all allocators in turn, each time in a process of its own. The lowest figure of all rounds is that
of the code alone, the median includes other load of the machine. With --instructions valgrind counts
instructions, which do not depend on other load.
"""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness import (Failed, Series, Table, alternate, command, launch, parser,  # noqa: E402
                     require, write_record)


def times(program, environment):
    """Nanoseconds a pair, by pattern."""
    out, errors, _ = launch([program, "all", "300000", "3"], environment)
    if errors:  # of the loader, whose library to preload is not there
        raise Failed(f"{program}: {errors.strip()}")
    return {pattern: float(ns) for pattern, ns in map(str.split, out.splitlines())}


def instructions(program, environment, pattern):
    """Instructions a pair: the difference of two runs."""
    counts = []
    for pairs in (100_000, 300_000):
        _, errors, _ = launch(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
                               program, pattern, pairs, 1], environment)
        counts.append(int(re.search(r"Collected : (\d+)", errors).group(1)))
    return (counts[1] - counts[0]) / (200_000 * 17 / 16)  # a sixteenth of the pairs is to warm up


def main():
    parse = parser("memory", __doc__, out="results/memory", rounds=10)
    parse.add_argument("--mimalloc", default="libmimalloc.so.2", help="library to preload; '' for none")
    parse.add_argument("--instructions", action="store_true")
    options = parse.parse_args()
    require(options, "malloc_bench_lp", "malloc_bench_system")
    system = options.build / "bin/malloc_bench_system"
    allocators = {"LP heap": (options.build / "bin/malloc_bench_lp", {}), "glibc": (system, {})}
    if options.mimalloc and not options.instructions:  # where valgrind puts its own in its place
        allocators["mimalloc"] = (system, {"LD_PRELOAD": options.mimalloc})
    patterns = [line.split()[0] for line in launch([system, "--list"])[0].splitlines()]
    if options.instructions:
        series = [Series(name, lambda how=how: {p: instructions(*how, p) for p in patterns})
                  for name, how in allocators.items()]
        alternate(series, 1, "instructions")
    else:
        series = [Series(name, lambda how=how: times(*how)) for name, how in allocators.items()]
        alternate(series, options.rounds, "times")
    for one in series:
        if not one.samples:
            raise Failed(f"{one.name} {one.why()}")
    unit = "instructions" if options.instructions else "ns, lowest (median)"
    both = lambda pair: f"{pair[0]:.2f} ({pair[1]:>6.2f})"  # noqa: E731
    table = Table((unit + " a pair", 30, ""), *((one.name, 17, both) for one in series))
    table.head()
    for pattern in patterns:
        table.row(pattern, *((one.spread(pattern)[0], one.median(pattern)) for one in series))
    write_record(options.out, "memory", {pattern: {one.name: one.values(pattern) for one in series}
                                         for pattern in patterns})
    print(f"\n{options.out}: memory.json")


if __name__ == "__main__":
    command(main)
