# SPDX-License-Identifier: Apache-2.0
"""Ranks over MPI that share a machine: unchanged, yielding, with llf, and with the shim.

A conservative PHOLD over MPI with a loop that polls (mpi_phold.cpp), for 4, 8 and 16 ranks on the
cores of this machine, with each installed MPI. The ways: spin (the unchanged program), yield (Open
MPI's mpi_yield_when_idle, and sched_yield in the loop), llf (the program calls liborrery-llf itself),
and shim (the spinning program, unchanged, under 'orrery llf run'). Spinning runs are shorter, because
they would take minutes; the compared figure is events a second. Runs of one length check that all
ways commit the same events. ROSS itself is not run.

Compared runs alternate; ratios are taken within a round. The command writes a table and a JSON file;
no time makes it fail.
"""

import json
import os
import shutil
import sys

from harness import (Bars, Failed, Series, Table, alternate, at_least, check_fingerprints, compare,
                     launch, numbers, parser, require, show_ratio, some_of, write_record)

WAYS = ("spin", "yield", "llf", "shim")
LAUNCHERS = {
    "openmpi": ["mpirun.openmpi", "--oversubscribe", "--bind-to", "none"],
    "mpich": ["mpirun.mpich"],
}
BAR, BAR_RANKS = 5, 8


def launcher(mpi, way):
    words = list(LAUNCHERS[mpi])
    if mpi == "openmpi":
        if os.geteuid() == 0:
            words.append("--allow-run-as-root")
        # Where it knows that a machine has too many ranks it yields by itself.
        if way != "shim":
            words += ["--mca", "mpi_yield_when_idle", "1" if way == "yield" else "0"]
    return words


def run_phold(options, mpi, way, ranks, end):
    command = launcher(mpi, way) + ["-n", ranks, options.build / f"bin/mpi_phold_{mpi}",
                                    "spin" if way == "shim" else way, options.lps, end, options.work,
                                    options.remote]
    if way == "shim":
        command = [options.build / "bin/orrery", "llf", "run", "--", *command]
    out, _, _ = launch(command)
    try:
        return json.loads(out)
    except ValueError as error:
        raise Failed(f"mpi_phold printed no figures: {out[-500:]}") from error


def measured(options, mpi, way, ranks):
    end = options.end // options.shorter if way == "spin" else options.end
    found = run_phold(options, mpi, way, ranks, end)
    if way == "spin":
        del found["fingerprint"]  # of fewer events
    return found


def check_short_runs(options, mpi, ranks):
    """Checks that all ways commit the same events, in runs as long as the spinning runs."""
    series = [Series(way, lambda way=way: run_phold(options, mpi, way, ranks,
                                                    options.end // options.shorter))
              for way in WAYS]
    alternate(series, 1, f"{mpi}, {ranks} ranks, the same events")
    for one in series:
        if one.failures:
            raise Failed(one.failures[0])
    check_fingerprints(series)


def available(options):
    for mpi in options.mpis:
        if shutil.which(LAUNCHERS[mpi][0]) is None:
            print(f"  {mpi}: there is no {LAUNCHERS[mpi][0]}, so it is not measured")
        elif not (options.build / f"bin/mpi_phold_{mpi}").exists():
            print(f"  {mpi}: built without it (package lib{mpi}-dev), so it is not measured")
        else:
            yield mpi


def main():
    made = parser("oversubscribed --mpi", __doc__, "bench/out/oversubscribed", 7)
    made.add_argument("--mpi", action="store_true", help="this part of the experiment")
    made.add_argument("--mpis", type=some_of(LAUNCHERS), default=list(LAUNCHERS), metavar="A,B",
                      help="openmpi,mpich (both)")
    made.add_argument("--ranks", type=numbers(int, 1, 1024), default=[4, 8, 16], metavar="A,B",
                      help="numbers of ranks (4,8,16)")
    made.add_argument("--lps", type=at_least(1), default=512, help="of all ranks together (512)")
    made.add_argument("--end", type=at_least(1), default=20_000, help="in ticks (20000)")
    made.add_argument("--shorter", type=at_least(1), default=20,
                      help="by how much the spinning runs are (20)")
    made.add_argument("--work", type=at_least(0), default=1000,
                      help="of an event, in steps of about 3 ns (1000)")
    made.add_argument("--remote", type=at_least(0), default=20, help="per cent of the events (20)")
    options = made.parse_args()
    require(options)
    table = Table(("MPI", 7, ""), ("ranks", 5, ""), ("way", 6, ""), ("events/s", 10, ".0f"),
                  ("shim to it", 26, show_ratio), ("switches", 9, ".0f"), ("CPU s", 7, ".2f"))
    bars, rows = Bars(), []
    mpis = list(available(options))
    if not mpis:
        sys.exit("bench: there is no MPI to measure; install libopenmpi-dev or libmpich-dev, and build")
    table.head()
    for mpi in mpis:
        for ranks in options.ranks:
            check_short_runs(options, mpi, ranks)
            series = [Series(way, lambda way=way: measured(options, mpi, way, ranks)) for way in WAYS]
            alternate(series, options.rounds, f"{mpi}, {ranks} ranks")
            check_fingerprints(series)
            for one in series:
                if one.failures:
                    table.failed(one)
                    continue
                ratio = compare(series[-1], one) if one is not series[-1] else None
                if one.name == "spin" and ranks == BAR_RANKS:
                    bars.ratio(f"{mpi}, {ranks} ranks: shim to spinning", ratio, BAR)
                table.row(mpi, ranks, one.name, one.median(), ratio, one.median("switches"),
                          one.median("cpu_seconds"))
                rows.append({"mpi": mpi, "ranks": ranks, "way": one.name, "series": one.record(),
                             "shim_to_it": ratio and ratio.record()})
    bars.show()
    write_record(options.out, "oversubscribed-mpi", {"rows": rows, "bars": bars.rows})
