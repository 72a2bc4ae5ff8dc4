# SPDX-License-Identifier: Apache-2.0
"""CND and VND of Yoginath's thesis (orders.c): in which order messages arrive, and in which they
should. E is the sum over messages of how many places one is from its own, averaged over rounds."""

import subprocess

from harness import Failed
from hosts import Run, counted_star, parallel, run_fair, star

ROUNDS = 10


def longer_ways(ranks, begins_ms):
    """Events that give all links of a star 5 (r + 1) ms from the time of round r on."""
    return "".join(f"""
[[event]]
repeat = {ranks}
at = "{at_ms:.0f}ms"
link = ["h{{i}}", "s"]
delay = "{5 * (round_ + 1)}ms"
""" for round_, at_ms in begins_ms.items())


def topology(place, kind, ranks, first_s, every_s, made=star, instructions=0):
    """Round r has ways of 10 (r + 1) ms. `made` is star() or like it."""
    place.compile("orders", "gcc", "-static")
    begins_ms = {round_: 1000 * (first_s + every_s * round_ - 1) for round_ in range(ROUNDS)}
    text = made(place, ranks,
                f"/root/orders {kind} {{i-1}} {ranks} {first_s} {every_s} {ROUNDS} 0 {instructions}",
                delay="5ms", rate="1 Gbit/s", files='"/root/orders" = "orders"',
                more=longer_ways(ranks, begins_ms))
    return place.write(f"{kind}{ranks}.toml", text)


def expected(kind, ranks):
    return list(range(1, ranks - 1)) if kind == "cnd" else list(range(1, ranks + 1))


def error_of(lines, kind, ranks):
    """(E, messages that did not come). Places are among those that came."""
    seen = [[] for _ in range(ROUNDS)]
    for line in lines.split("\n"):
        if line:
            round_, number = map(int, line.split())
            seen[round_].append(number)
    total = missing = 0
    for order in seen:
        place = {number: i for i, number in enumerate(order)}
        came = [number for number in expected(kind, ranks) if number in place]
        total += sum(abs(place[number] - i) for i, number in enumerate(came))
        missing += len(expected(kind, ranks)) - len(came)
    return total / ROUNDS, missing


def seconds_of_a_round(kind, ranks):
    """The longest message at the longest delay, and a pause."""
    return 3 if kind == "cnd" else int(2 * ranks * 0.1) + 3


def order_of(hosts):
    """What rank 0 has written."""
    file = hosts / "h1/out/order"
    if not file.exists():
        raise Failed("the ranks have not begun: " + (hosts / "h1/console").read_text()[-1000:])
    return file.read_text()


def compare(place, options, kind, ranks, describe):
    """A row: E on virtual time and, if wanted, under the machine's scheduler. `describe(fair)` is
    the topology and how many seconds it takes."""
    path, seconds = describe(False)
    run = Run(place, path, options.build, "--until", f"{seconds:.0f}s", *parallel(options))
    error, missing = error_of(order_of(run.hosts), kind, ranks)
    run.forget()
    row = {"kind": kind, "ranks": ranks, "ours": error, "ours_missing": missing,
           "ours_s": run.wall_s}
    if not options.without_fair:
        path, seconds = describe(True)
        said, hosts = run_fair(place, path, options.build, seconds)
        error, missing = error_of(order_of(hosts), kind, ranks)
        row |= {"fair": error, "fair_missing": missing, "fair_s": seconds, **said}
    return row


def note(table, bars, rows, name, row):
    bars.add(f"{name}, {row['ranks']} ranks: E", row["ours"] + row["ours_missing"], 0, at_most=True)
    table.row(f"{row['kind']}, {row['ranks']} ranks", row["ours"], row["ours_s"], row.get("fair"),
              row.get("fair_missing"), row.get("fair_s"), row.get("late_mean_ms"),
              row.get("late_most_ms"))
    rows.append(row)


def one(place, options, table, bars, rows, kind, ranks):
    every = seconds_of_a_round(kind, ranks)

    def describe(fair):
        first, rest = (10 + ranks, 5) if fair else (5, 2)  # what booting takes at most
        return topology(place, kind, ranks, first, every), first + every * ROUNDS + rest

    note(table, bars, rows, kind, compare(place, options, kind, ranks, describe))


# Hosts whose computing takes time: each computes before each message that it sends.
MHZ, COMPUTED_MS = 500, 2
BOOTED_S = 10


def counted(place, ranks, command, **other):
    return counted_star(place, ranks, MHZ, command, **other)


def speed(place):
    """Instructions of the computation a second of this machine's core."""
    return float(subprocess.check_output([place.compile("orders", "gcc", "-static"), "speed"]))


def computing(place, options, table, bars, rows, kind, ranks):
    """Beside: hosts whose computations take as long on a core of this machine that is theirs alone."""
    every = seconds_of_a_round(kind, ranks)

    def describe(fair):
        first, rest = (10 + ranks, 5) if fair else (BOOTED_S, 2)
        a_second = speed(place) if fair else MHZ * 1e6
        made = star if fair else counted
        return (topology(place, kind, ranks, first, every, made, int(a_second * COMPUTED_MS / 1000)),
                first + every * ROUNDS + rest)

    note(table, bars, rows, f"{kind} with {COMPUTED_MS} ms of computing",
         {"part": "computing-orders", **compare(place, options, kind, ranks, describe)})


# What is expected if rank 1 of 5 computes five times as long: its message comes last of three.
ERROR_OF_MORE_WORK = 4


def one_has_more_work(place, options):
    """(E, messages that did not come)."""
    work = MHZ * 1000 * COMPUTED_MS
    path = topology(place, "cnd", 5, BOOTED_S, 3, counted, f"$(({{i}} == 2 ? {5 * work} : {work}))")
    run = Run(place, path, options.build, "--until", f"{BOOTED_S + 3 * ROUNDS + 2}s", *parallel(options))
    error, missing = error_of(order_of(run.hosts), "cnd", 5)
    run.forget()
    return error, missing


def in_windows(place, options, kind, ranks, window):
    """(E, messages that did not come, seconds that the run took) if hosts run at most so long at once."""
    every = seconds_of_a_round(kind, ranks)
    run = Run(place, topology(place, kind, ranks, 5, every), options.build, "--until",
              f"{5 + every * ROUNDS + 2}s", *parallel(options), "--set", f"window={window}")
    error, missing = error_of(order_of(run.hosts), kind, ranks)
    run.forget()
    return error, missing, run.wall_s


def planted(place, options):
    """Frames that overtake each other must show."""
    path = topology(place, "cnd", 8, 5, 3).read_text().replace('delay = "5ms"\nrate',
                                                              'delay = "5ms"\njitter = "4ms"\n'
                                                              'reorder = true\nrate')
    run = Run(place, place.write("planted.toml", path), options.build, "--until", "37s")
    error, _ = error_of(run.left("h1", "order"), "cnd", 8)
    run.forget()
    return error
