#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The cost of LPs that must not roll back: confined and committed LPs against speculative LPs.

PHOLD on Time Warp and on the conservative engine, with some or all of its LPs held until their
events are certain, with a lookahead and without. Few held LPs among many show their cost for the
others. Two LPs that send to each other show the cost of a round or a meeting, because every event
waits for one.

Compared runs alternate; ratios to speculative LPs are taken within a round. The command writes a
table and a JSON file. It prints goals beside the measured figures, met or not; no time makes the
command fail.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness import (Bars, Table, at_least, command, compare, length, measured,  # noqa: E402
                     parser, require, show_rate, show_ratio, write_record)

# Name, LPs, of these held, lookahead in shares of the mean delay.
CASES = [("64 of 1024 LPs", 1024, 64, 0), ("64 of 1024, lookahead 0.1", 1024, 64, 0.1),
         ("all of 1024", 1024, 1024, 0), ("all of 1024, lookahead 0.1", 1024, 1024, 0.1),
         ("2 of 2", 2, 2, 0), ("2 of 2, lookahead 0.5", 2, 2, 0.5)]
LEAST_WITHOUT, LEAST_WITH = 10_000, 100_000


def engine_of(name, workers):
    return ["--engine", name, "--workers", workers]


def one_case(options, table, bars, rows, engine_name, case):
    name, lps, held, lookahead = case
    engine = engine_of(engine_name, options.workers)
    sets = ["--set", f"lps={lps}", "--set", "remote=1", "--set", f"lookahead={lookahead}s"]
    kinds = ("confined", "committed")
    ways = {"speculative": engine, **{kind: [*engine, "--set", f"{kind}={held}"] for kind in kinds}}
    # About 200,000 events tell how long that takes.
    until = length(options, "phold", [*sets, "--set", f"committed={held}"], 200_000 // lps, engine)
    series = measured(options, ways, "phold", [*sets, "--until", f"{until:.0f}s"], name)
    found = {one.name: compare(one, series[0]) for one in series[1:]}
    held_rates = {one.name: one.median() * held / lps for one in series[1:]}
    table.row(f"{engine_name}, {name}", series[0].median(), *(found[kind] for kind in kinds),
              *(held_rates[kind] for kind in kinds))
    rows.append({"engine": engine_name, "name": name, "held_rates": held_rates,
                 "series": [one.record() for one in series],
                 "ratios": {kind: one.record() for kind, one in found.items()}})
    for kind in kinds:
        bars.add(f"{engine_name}, {name}: {kind}", held_rates[kind],
                 LEAST_WITH if lookahead else LEAST_WITHOUT, "/s")


def main():
    made = parser("held", __doc__, "results/bench-held", 11)
    made.add_argument("--workers", type=at_least(2), default=2, help="of the runs (2)")
    made.add_argument("--seconds", type=float, default=0.5, help="about, of a run (0.5)")
    options = made.parse_args()
    require(options)
    table = Table(("", 41, ""), ("speculative", 11, show_rate), ("confined", 17, show_ratio),
                  ("committed", 17, show_ratio), ("confined", 10, show_rate),
                  ("committed", 10, show_rate))
    bars, rows = Bars(), []
    table.head("   (ratios to speculative; held events a second)")
    for engine_name in ("timewarp", "conservative"):
        for case in CASES:
            if engine_name == "timewarp" or case[3] > 0:
                one_case(options, table, bars, rows, engine_name, case)
    bars.show()
    write_record(options.out, "bench", {"rows": rows, "bars": bars.rows})
    print(f"\n{options.out}: bench.json")


if __name__ == "__main__":
    command(main)
