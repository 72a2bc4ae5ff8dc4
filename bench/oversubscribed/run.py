#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""More processes than cores: least LVT first against processes that poll, spinning or yielding.

PHOLD in ranks that are processes (phold.cpp), with rings and promises in shared memory, for 2, 4, 8
and 16 ranks on the cores that there are. A rank that finds nothing to execute spins, calls
sched_yield, or waits in llf (docs/llf.md). Spinning runs are shorter, or they would take minutes;
what is compared is events a second.

The runs of what is compared alternate; ratios are taken within a round. All ways commit the same
events, which is checked where they run as long. A table and a JSON are left; nothing fails on a time.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness import (Series, Table, alternate, at_least, check_fingerprints, command, compare,  # noqa: E402
                     launch, numbers, parser, require, show_ratio, write_record)

WAYS = ("spin", "yield", "llf")


def run_phold(options, way, ranks):
    end = options.end // options.shorter if way == "spin" else options.end
    out, _, _ = launch([options.build / "bin/oversubscribed_phold", way, ranks, options.lps, end,
                        options.work, options.remote])
    found = json.loads(out)
    if way == "spin":
        del found["fingerprint"]  # of fewer events
    return found


def main():
    made = parser("oversubscribed", __doc__, "bench/out/oversubscribed", 7)
    made.add_argument("--ranks", type=numbers(int, 1, 1024), default=[2, 4, 8, 16], metavar="A,B",
                      help="numbers of processes (2,4,8,16)")
    made.add_argument("--lps", type=at_least(1), default=512, help="of all ranks together (512)")
    made.add_argument("--end", type=at_least(1), default=200_000, help="in ticks (200000)")
    made.add_argument("--shorter", type=at_least(1), default=20,
                      help="by how much the spinning runs are (20)")
    made.add_argument("--work", type=at_least(0), default=1000,
                      help="of an event, in steps of about 3 ns (1000)")
    made.add_argument("--remote", type=at_least(0), default=20, help="per cent of the events (20)")
    options = made.parse_args()
    require(options, "oversubscribed_phold")
    table = Table(("ranks", 6, ""), ("way", 6, ""), ("events/s", 10, ".0f"), ("llf to it", 24, show_ratio),
                  ("switches", 9, ".0f"), ("CPU s", 7, ".2f"))
    table.head()
    rows = []
    for ranks in options.ranks:
        series = [Series(way, lambda way=way: run_phold(options, way, ranks)) for way in WAYS]
        alternate(series, options.rounds, f"{ranks} ranks")
        check_fingerprints(series)
        for one in series:
            if one.failures:
                table.failed(one)
                continue
            ratio = compare(series[-1], one) if one is not series[-1] else None
            table.row(ranks, one.name, one.median(), ratio, one.median("switches"),
                      one.median("cpu_seconds"))
            rows.append({"ranks": ranks, "way": one.name, "series": one.record(),
                         "llf_to_it": ratio and ratio.record()})
    write_record(options.out, "oversubscribed", {"rows": rows})


if __name__ == "__main__":
    command(main)
