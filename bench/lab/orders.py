# SPDX-License-Identifier: Apache-2.0
"""CND and VND of Yoginath's thesis (orders.c): in which order messages arrive, and in which they
should. E is the sum over messages of how many places one is from its own, averaged over rounds."""

from hosts import Run, parallel, run_fair, star

ROUNDS = 10


def topology(place, kind, ranks, first_s, every_s):
    """Round r has ways of 10 (r + 1) ms."""
    place.compile("orders")
    events = "".join(f"""
[[event]]
repeat = {ranks}
at = "{first_s + every_s * round_ - 1}s"
link = ["h{{i}}", "s"]
delay = "{5 * (round_ + 1)}ms"
""" for round_ in range(ROUNDS))
    text = star(place, ranks,
                f"/root/orders {kind} {{i-1}} {ranks} {first_s} {every_s} {ROUNDS}",
                delay="5ms", rate="1 Gbit/s", files='"/root/orders" = "orders"',
                more=events)
    return place.write(f"{kind}{ranks}.toml", text)


def expected(kind, ranks):
    return list(range(1, ranks - 1)) if kind == "cnd" else list(range(1, ranks + 1))


def error_of(lines, kind, ranks):
    """(E, messages that did not come)."""
    seen = [[] for _ in range(ROUNDS)]
    for line in lines.split("\n"):
        if line:
            round_, number = map(int, line.split())
            seen[round_].append(number)
    total = missing = 0
    for order in seen:
        place = {number: i for i, number in enumerate(order)}
        for i, number in enumerate(expected(kind, ranks)):
            if number in place:
                total += abs(place[number] - i)
            else:
                missing += 1
    return total / ROUNDS, missing


def seconds_of_a_round(kind, ranks):
    """The longest message at the longest delay, and a pause."""
    return 3 if kind == "cnd" else int(2 * ranks * 0.1) + 3


def one(place, options, table, bars, rows, kind, ranks):
    every = seconds_of_a_round(kind, ranks)
    path = topology(place, kind, ranks, 5, every)
    run = Run(place, path, options.build, "--until", f"{5 + every * ROUNDS + 2}s",
              *parallel(options))
    ours, ours_missing = error_of(run.left("h1", "order"), kind, ranks)
    run.forget()
    row = {"kind": kind, "ranks": ranks, "ours": ours, "ours_missing": ours_missing,
           "ours_s": run.wall_s}
    bars.add(f"{kind}, {ranks} ranks: E", ours + ours_missing, 0, at_most=True)
    if not options.without_fair:
        first = 10 + ranks  # what booting takes at most
        path = topology(place, kind, ranks, first, every)
        seconds = first + every * ROUNDS + 5
        said, hosts = run_fair(place, path, options.build, seconds)
        fair, fair_missing = error_of((hosts / "h1/out/order").read_text(), kind, ranks)
        row |= {"fair": fair, "fair_missing": fair_missing, "fair_s": seconds, **said}
    table.row(f"{kind}, {ranks} ranks", ours, row["ours_s"], row.get("fair"),
              row.get("fair_missing"), row.get("fair_s"), row.get("late_mean_ms"),
              row.get("late_most_ms"))
    rows.append(row)


def planted(place, options):
    """Frames that overtake each other must show."""
    path = topology(place, "cnd", 8, 5, 3).read_text().replace('delay = "5ms"\nrate',
                                                              'delay = "5ms"\njitter = "4ms"\n'
                                                              'reorder = true\nrate')
    run = Run(place, place.write("planted.toml", path), options.build, "--until", "37s")
    error, _ = error_of(run.left("h1", "order"), "cnd", 8)
    run.forget()
    return error
