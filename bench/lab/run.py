#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Real Linux hosts on virtual time: what is exact, what the machine's scheduler gets wrong, and how fast.

  exact    echoes and a bulk transfer on a link, to the nanosecond; a window a round trip
  reno     TCP Reno under independent losses against the model of Padhye and others (SIGCOMM 1998)
  frames   UDP of 1,470 bytes between two hosts (iperf3), frames a second of wall-clock time
  busy     64 hosts that all send and receive, two workers against one
  scale    2 to 128 hosts: time to boot, memory, an idle hour
  orders   CND and VND of Yoginath's thesis: messages whose order of arrival is known, 8 to 128 hosts,
           without virtual time beside (the fair-share case)
  computing-orders
           CND and VND among hosts that compute before each message, counted instruction by instruction;
           the fair-share case beside, with computations that take as long
  windows  CND and VND with windows of several lengths, in which hosts run at once: what the length costs
  mpi      CND and VND by Open MPI over TCP between 8 and 32 hosts, the fair-share case beside
  calls    SIP and RTP by sipp over three hops of 2 Mbit/s, 1 to 64 calls at once: calls that fail and
           packets that are lost
  calls-radio
           the same calls over three hops of one radio channel, alone and beside 60 other hosts, without
           virtual time beside
  staggering
           how far 8 to 64 busy hosts are apart in their own times, on virtual time and by the machine's
           scheduler
  worm     64 hosts, of which one is infected, with delays of 1, 10 and 100 ms: the curve of infection over
           seeds, beside a busy machine, and by the machine's scheduler
  mesh     64 radio stations, routed by babeld, batman-adv and OLSR; one stays or walks along the edge:
           CND over many hops
  mesh-worm
           the same stations: a worm that goes to next hops only
  clocks   a clock that drifts, corrected by chronyd over paths of equal and of different delays
  computing
           a web server whose computing takes time, under 10 to 200 requests a second: response times
           against M/D/1
  architectures
           a host with Linux whose instructions are counted, by architecture: its boot, memory, and
           instructions a second
  sensors  16 sensors on a radio channel: how long a battery lasts by the interval between reports, from
           executed instructions and the time of the radio; which reports are lost, by the drift of clocks
  counted  Linux hosts whose instructions are counted: instructions a second of a core, an idle hour of 16,
           the memory of one
  repeat   the same runs again and again, on all engines, beside a busy machine: equal to the byte; the
           first and each that differs are kept

Tables, a JSON and a picture are left. Bars are printed with what was measured, met or not; nothing fails on a
time. Needs the hosts' kernel (./dev lab builds it), iperf3, for 'mpi' and 'repeat' Debian's openmpi-bin
and libopenmpi-dev, for 'calls' its sip-tester, for 'clocks' its chrony, for 'computing' its nginx-light;
and for hosts whose instructions are counted ./dev lab --qemu.
"""

import argparse
import hashlib
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parent.parent)]
import architectures  # noqa: E402
import calls  # noqa: E402
import clocks  # noqa: E402
import computing  # noqa: E402
import counted  # noqa: E402
import mesh  # noqa: E402
import mpi  # noqa: E402
import orders  # noqa: E402
import sensors  # noqa: E402
import staggering  # noqa: E402
import tcp  # noqa: E402
import worm  # noqa: E402
from harness import (ROOT, Bars, Comparison, Table, at_least, command, numbers, parser, require,  # noqa: E402
                     show_ratio, some_of, write_record)
from hosts import KERNEL, Run, Workplace, need, parallel, star, two_hosts  # noqa: E402

SIZES = (8, 16, 32, 64, 128)
WINDOWS = ("0.1ms", "0.3ms", "1ms", "2.5ms")  # half of a link's delay is the longest
MOST_HOSTS = 254  # of 10.0.0.0/24
MOST_MEGABYTES, MOST_BOOT_S, MOST_IDLE_S = 15, 40, 60
LEAST_FRAMES, LEAST_BUSY = 20_000, 1.5
MOST_WINDOW_ERROR, MOST_PFTK_ERROR, MOST_CALL_LOSS_ERROR = 0.05, 0.15, 0.03
MOST_MEASURED_MS = 0.005  # chronyd's log has four digits of 10 ms
MOST_CORRECTED_US = 1
MOST_STANDARD_ERRORS = 3
RADIO_OTHERS = 60
MOST_DRIFT_PPM = 0.02  # 256 ns of 20 s, the steps of a host's clock
LEAST_MILLIONS, MOST_COUNTED_IDLE_S, MOST_COUNTED_MEGABYTES = 300, 120, 128 * 1.048576 + 80
MOST_ENERGY_ERROR, MOST_OF_LOSSES = 0.02, 0.1
LEAST_OF_KNEE, MOST_QUEUE_ERROR = 0.95, 0.05
MOST_WINDOWS_APART = 2.1  # one is executed, and the links promise another; a little is rounding


def ways(options):
    """Engines by the number of workers."""
    return {1: ["--engine", "sequential"], 2: parallel(options)}


def frames(place, options, rows, bars):
    path = two_hosts(place, "frames.toml", "iperf3 -c 10.0.0.2 -u -b 0 -l 1470 -t 4", "iperf3 -s -1",
                     'delay = "10ms"\nrate = "200 Mbit/s"', keys='system_call = "1us"')
    table = Table(("UDP of 1,470 bytes", 26, ""), ("frames", 9, ",.0f"), ("frames/s", 10, ",.0f"))
    table.head()
    rates = {}
    for _ in range(options.rounds):
        for workers, engine in ways(options).items():
            boot = Run(place, path, options.build, "--until", "1s", *engine)
            run = Run(place, path, options.build, "--until", "8s", *engine)
            rates.setdefault(workers, []).append(
                run.count("frames") / (run.wall_s - boot.wall_s))
            count = run.count("frames")
            boot.forget()
            run.forget()
    for workers, all_rates in rates.items():
        table.row(f"{workers} worker{'s' if workers > 1 else ''}", count,
                  statistics.median(all_rates))
        rows.append({"part": "frames", "workers": workers, "rates": all_rates})
    bars.add("frames a second, two workers", statistics.median(rates[2]), LEAST_FRAMES)


def busy(place, options, rows, bars):
    path = place.write("busy.toml", star(
        place, 64, "sleep 1; ping -q -i 0.002 -c 1000 10.0.0.$((({i} % 64) + 1)) | tail -2",
        delay="2ms"))
    walls = {1: [], 2: []}
    for _ in range(options.rounds):
        for workers, engine in ways(options).items():
            boot = Run(place, path, options.build, "--until", "900ms", *engine)
            run = Run(place, path, options.build, "--until", "4s", *engine)
            walls[workers].append(run.wall_s - boot.wall_s)
            boot.forget()
            run.forget()
    found = Comparison([one / two for one, two in zip(walls[1], walls[2])])
    table = Table(("64 busy hosts", 26, ""), ("1 worker", 10, ".2f"), ("2 workers", 10, ".2f"),
                  ("gain", 20, show_ratio))
    table.head("   (s)")
    table.row("64,000 echoes", statistics.median(walls[1]), statistics.median(walls[2]), found)
    rows.append({"part": "busy", "walls": walls, "gain": found.record()})
    bars.ratio("64 busy hosts: two workers against one", found, LEAST_BUSY)


def memory_of_hosts(folder):
    """MB of all processes of hosts below a folder, shared pages divided among those who share them."""
    total = 0
    for pid in subprocess.run(["pgrep", "-x", "kernel"], capture_output=True, text=True,
                              check=False).stdout.split():
        try:
            if not os.readlink(f"/proc/{pid}/fd/1").startswith(f"{folder}/"):  # its console
                continue
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().split("\n")
            total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
        except (OSError, IndexError):
            pass
    return total / 1000


def watch_memory(folder, seen, stop):
    while not stop.is_set():
        seen.append(memory_of_hosts(folder))
        time.sleep(0.5)


def watched(place, call):
    """(what it returns, most memory of hosts meanwhile)"""
    seen, stop = [0], threading.Event()
    watcher = threading.Thread(target=watch_memory, args=(place.folder, seen, stop))
    watcher.start()
    try:
        return call(), max(seen)
    finally:
        stop.set()
        watcher.join()


def by_architecture(place, options, rows, bars):
    computing.need_qemu()
    table = Table(("a counted host", 16, ""), ("boots after", 12, ".2f"), ("run, s", 8, ".1f"), ("MB", 6, ".0f"),
                  ("million instructions/s", 24, ".0f"))
    table.head()
    for arch in architectures.built():
        row = architectures.one(place, options, arch, lambda call: watched(place, call))
        table.row(arch, row["boot_virtual_s"], row["boot_s"], row["megabytes"],
                  row["million_instructions_a_second"])
        rows.append({"part": "architectures", **row})


def scale(place, options, rows, bars):
    table = Table(("idle hosts", 26, ""), ("boot", 9, ".2f"), ("an hour", 9, ".2f"),
                  ("MB a host", 10, ".1f"))
    table.head("   (s)")
    for hosts in (2, *SIZES):
        path = place.write("scale.toml", star(place, hosts, "sleep 4000"))
        for workers, engine in ways(options).items():
            boot = Run(place, path, options.build, "--until", "1s", *engine)
            hour, megabytes = watched(
                place, lambda path=path, engine=engine: Run(place, path, options.build, "--until", "3601s", *engine))
            idle = max(hour.wall_s - boot.wall_s, 0)
            table.row(f"{hosts}, {workers} worker{'s' if workers > 1 else ''}", boot.wall_s, idle,
                      megabytes / hosts)
            rows.append({"part": "scale", "hosts": hosts, "workers": workers, "boot_s": boot.wall_s,
                         "idle_hour_s": idle, "megabytes_a_host": megabytes / hosts})
            if hosts == SIZES[-1] and workers == 2:
                bars.add("128 hosts boot", boot.wall_s, MOST_BOOT_S, "s", at_most=True)
                bars.add("128 idle hosts: an hour", idle, MOST_IDLE_S, "s", at_most=True)
                bars.add("128 hosts: memory of one", megabytes / hosts, MOST_MEGABYTES, "MB",
                         at_most=True)
            boot.forget()
            hour.forget()


def table_of_orders(name):
    table = Table((name, 20, ""), ("E", 8, ".2f"), ("run, s", 8, ".1f"), ("fair E", 9, ".1f"),
                  ("lost", 6, ""), ("run, s", 8, ".0f"), ("late, ms", 9, ".2f"), ("most", 9, ".1f"))
    table.head()
    return table


def all_orders(place, options, rows, bars):
    table = table_of_orders("order of arrival")
    bars.add("a planted error: E", orders.planted(place, options), 0.1)
    for ranks in options.sizes:
        for kind in ("cnd", "vnd"):
            orders.one(place, options, table, bars, rows, kind, ranks)


def orders_of_computing_hosts(place, options, rows, bars):
    table = table_of_orders("hosts that compute")
    for ranks in options.computing_sizes:
        for kind in ("cnd", "vnd"):
            orders.computing(place, options, table, bars, rows, kind, ranks)
    error, missing = orders.one_has_more_work(place, options)
    table.row("cnd, 5, one slower", error, None)
    bars.add("hosts that compute, one longer: E off what is expected by",
             abs(error - orders.ERROR_OF_MORE_WORK) + missing, 0, at_most=True)


def orders_in_windows(place, options, rows, bars):
    ranks = min(options.sizes, key=lambda size: abs(size - 16))
    table = Table((f"order among {ranks}, windows", 26, ""), ("E", 8, ".2f"), ("lost", 6, ""),
                  ("run, s", 8, ".1f"))
    table.head()
    for kind in ("cnd", "vnd"):
        for window in WINDOWS:
            error, missing, wall_s = orders.in_windows(place, options, kind, ranks, window)
            table.row(f"{kind}, {window}", error, missing, wall_s)
            rows.append({"part": "windows", "kind": kind, "ranks": ranks, "window": window, "ours": error,
                         "ours_missing": missing, "ours_s": wall_s})
            bars.add(f"{kind} in windows of {window}: E", error + missing, 0, at_most=True)


def orders_by_mpi(place, options, rows, bars):
    table = table_of_orders("order by Open MPI")
    for ranks in options.mpi_sizes:
        for kind in ("cnd", "vnd"):
            mpi.one(place, options, table, bars, rows, kind, ranks)


def all_calls(place, options, rows, bars):
    path = calls.wired()
    table = Table(("calls over three hops", 22, ""), ("failed", 8, ""), ("set up, ms", 11, ",.0f"),
                  ("most", 8, ",.0f"), ("packets/s", 10, ".0f"), ("lost", 8, ".2%"), ("back", 8, ".2%"),
                  ("expected", 9, ".2%"), ("run, s", 8, ".1f"))
    table.head()
    measured = []
    for count in options.calls:
        row = calls.one(place, options, count, path)
        table.row(str(count), row["failed"], row["set_up_mean_ms"], row["set_up_most_ms"],
                  row["sent_a_second"], row["lost"], row["lost_back"], row["expected"],
                  row["wall_s"])
        measured.append(row)
        off = max(abs(row[key] - row["expected"]) for key in ("lost", "lost_back"))
        bars.add(f"{count} calls: loss off what is expected by", off, MOST_CALL_LOSS_ERROR,
                 at_most=True)
        if row["expected"] == 0:
            bars.add(f"{count} calls: failed", row["failed"], 0, at_most=True)
    rows += measured
    calls.picture(measured, path, options.out / "calls.png")


def calls_by_radio(place, options, rows, bars):
    table = Table(("calls over 3 radio hops", 40, ""), ("failed", 8, ""), ("sent again", 11, ""),
                  ("lost", 8, ".2%"), ("back", 8, ".2%"), ("run, s", 8, ".1f"))
    table.head()
    for count in options.radio_calls:
        found = {}
        for others, machine in ((0, "alone"), (RADIO_OTHERS, f"beside {RADIO_OTHERS} hosts")):
            for way, measure in (("virtual time", calls.on_radio), ("the scheduler", calls.on_radio_fair)):
                if way == "the scheduler" and options.without_fair:
                    continue
                row = found[others, way] = measure(place, options, count, others)
                table.row(f"{count}, {way}, {machine}", row["failed"], row["retransmissions"], row["lost"],
                          row["lost_back"], row["wall_s"])
                rows.append(row)
        alone, beside = (found[others, "virtual time"] for others in (0, RADIO_OTHERS))
        bars.add(f"{count} calls over radio: figures that differ beside other hosts",
                 sum(alone[key] != beside[key] for key in ("failed", "retransmissions", "lost", "lost_back")),
                 0, at_most=True)


def stagger(place, options, rows, bars):
    table = Table(("busy hosts", 30, ""), ("most apart, ms", 15, ",.2f"), ("mean", 10, ",.2f"),
                  ("noted", 9, ","))
    table.head()
    for hosts in options.busy_sizes:
        courses = {f"{hosts} hosts, {'one worker' if workers == 1 else f'{workers} workers'}":
                   staggering.on_virtual_time(place, options, hosts, engine)
                   for workers, engine in ways(options).items()}
        if not options.without_fair:
            courses[f"{hosts} hosts, fair share"] = staggering.by_the_scheduler(place, options, hosts)
        for name, course in courses.items():
            widest = staggering.widest(course)
            table.row(name, widest, staggering.mean_width(course), len(course))
            rows.append({"part": "staggering", "name": name, "hosts": hosts, "most_apart_ms": widest,
                         "mean_apart_ms": staggering.mean_width(course),
                         "window_ms": staggering.WINDOW_MS})
            if "fair" not in name:
                bars.add(f"{name}: windows apart", widest / staggering.WINDOW_MS, MOST_WINDOWS_APART,
                         at_most=True)
        staggering.picture(courses, options.out / f"staggering-{hosts}.png")


def exact(place, options, rows, bars):
    table = Table(("exact", 34, ""), ("of", 7, ""), ("expected", 14, ",.0f"), ("off by", 9, ".3g"))
    table.head()
    for name, (off, count, expected) in (
            ("echoes, round trips in ns", tcp.echoes(place, options)),
            ("a transfer, all frames, ns", tcp.transfer(place, options))):
        table.row(name, count, expected, off)
        rows.append({"part": "exact", "name": name, "count": count, "expected": expected, "off": off})
        bars.add(f"{name}: off by at most", off, 0, at_most=True)
    for rtt_ms in (10, 40, 160):
        measured, expected = tcp.window(place, options, rtt_ms)
        off = measured / expected - 1
        table.row(f"window / {rtt_ms} ms, bit/s", 1, expected, off)
        rows.append({"part": "exact", "name": f"window, {rtt_ms} ms", "measured": measured,
                     "expected": expected})
        bars.add(f"window / {rtt_ms} ms: off by", abs(off), MOST_WINDOW_ERROR, at_most=True)


def reno(place, options, rows, bars):
    table = Table(("TCP Reno, segments/s", 22, ""), ("measured", 10, ".1f"), ("PFTK", 10, ".1f"),
                  ("Mathis", 10, ".1f"), ("measured/PFTK", 14, ".3f"), ("losses", 8, ""))
    table.head()
    for p in options.losses:
        measured, model, simple, lost = tcp.reno(place, options, p, options.least_losses)
        table.row(f"loss {100 * p:g} %", measured, model, simple, measured / model, lost)
        rows.append({"part": "reno", "loss": p, "measured": measured, "pftk": model,
                     "mathis": simple, "losses": lost})
        bars.add(f"loss {100 * p:g} %: off PFTK by", abs(measured / model - 1), MOST_PFTK_ERROR,
                 at_most=True)


def spread_worm(place, options, rows, bars):
    hosts = options.worm_hosts
    table = Table((f"a worm among {hosts} hosts", 22, ""), ("infected", 9, ""), ("90 % after, s", 14, ".3f"),
                  ("least", 7, ".3f"), ("most", 7, ".3f"), ("repeated", 9, ""), ("failed", 7, ""),
                  ("took, s", 8, ".1f"), ("for, s", 7, ""))
    table.head()
    curves, simulations, fair = {}, {}, {}
    for delay_ms in map(int, options.delays):
        found = [worm.spread(place, options, hosts, delay_ms, seed)
                 for seed in range(1, options.seeds + 1)]
        rows += [{"part": "worm", **row} for row in found]
        curves[delay_ms] = [row["times"] for row in found]
        ends = row_of_worm(table, f"{delay_ms} ms, {options.seeds} seeds", found, hosts)
        simulations[delay_ms] = [worm.simulated(hosts, delay_ms, seed) for seed in range(worm.SIMULATIONS)]
        expected = [worm.until_share(times, hosts) for times in simulations[delay_ms]]
        table.row("  simulated", hosts, statistics.mean(expected), min(expected), max(expected))
        rows.append({"part": "worm", "delay_ms": delay_ms, "simulated": expected})
        bars.add(f"worm, {delay_ms} ms: hosts not infected",
                 sum(hosts - len(row["times"]) for row in found), 0, at_most=True)
        bars.add(f"worm, {delay_ms} ms: standard errors from what is simulated",
                 abs(statistics.mean(ends) - statistics.mean(expected))
                 / (statistics.stdev(expected) / math.sqrt(len(ends))), MOST_STANDARD_ERRORS,
                 at_most=True)
        if not options.without_fair:
            row = worm.fair_spread(place, options, hosts, delay_ms)
            rows.append({"part": "worm", "fair": True, **row})
            fair[delay_ms] = row["times"]
            row_of_worm(table, "  the machine's scheduler", [row], hosts)
    first = next(row for row in rows if row["part"] == "worm")
    again = worm.beside_hogs(lambda: worm.spread(place, options, hosts, first["delay_ms"], 1))
    bars.add("worm: seed 1 beside busy loops differs",
             int(again["fingerprint"] != first["fingerprint"]), 0, at_most=True)
    worm.picture(curves, simulations, fair, hosts, options.out / "worm.png")


def row_of_worm(table, name, found, hosts):
    ends = [worm.until_share(row["times"], hosts) for row in found]
    tried = sum((row["shots"] for row in found), start=Counter())
    table.row(name, min(len(row["times"]) for row in found), statistics.mean(ends), min(ends), max(ends),
              tried["repeated"], tried["failed"] + tried["opened"],
              statistics.mean(row["wall_s"] for row in found), found[0]["span_s"])
    return ends


def radio_mesh(place, options, rows, bars):
    columns, lines = options.mesh
    hosts = columns * lines + 1
    table = Table((f"CND over a mesh of {hosts}", 26, ""), ("E", 7, ".2f"), ("not there", 10, ""),
                  ("run, s", 8, ".0f"), ("fair E", 9, ".1f"), ("not there", 10, ""),
                  ("run, s", 8, ".0f"))
    table.head()
    for protocol in options.protocols:
        for moves in ("stays", "walks"):
            row = mesh.cnd(place, options, columns, lines, protocol, moves == "walks")
            table.row(f"{protocol}, one {moves}", row["ours"], row["ours_missing"], row["ours_s"],
                      row.get("fair"), row.get("fair_missing"), row.get("fair_s"))
            rows.append({"part": "mesh", "protocol": protocol, "moves": moves, **row})
            bars.add(f"mesh, {protocol}, one {moves}: E", row["ours"], 0, at_most=True)
            # No way leads to the one that walks, most of the time.
            bars.add(f"mesh, {protocol}, one {moves}: not there", row["ours_missing"],
                     orders.ROUNDS if moves == "walks" else 0, at_most=True)


def mesh_worm(place, options, rows, bars):
    columns, lines = options.mesh
    hosts = columns * lines + 1
    table = Table((f"a worm over next hops of {hosts}", 30, ""), ("infected", 9, ""),
                  ("the first, in this order", 26, ""))
    table.head()
    for protocol in options.protocols:
        curves = {"stays": [], "walks": []}
        for moves, spreads in curves.items():
            for seed in range(1, options.mesh_seeds + 1):
                spread = mesh.worm_spread(place, options, columns, lines, protocol, moves == "walks",
                                          seed)
                spreads.append(spread)
                table.row(f"{protocol}, the first {moves}, seed {seed}", len(spread),
                          " ".join(str(host) for host, _ in spread[:8]))
                rows.append({"part": "mesh-worm", "protocol": protocol, "moves": moves, "seed": seed,
                             "spread": spread})
        for moves, near in mesh.nearest(columns).items():
            found = curves[moves]
            bars.add(f"worm over {protocol}, the first {moves}: seeds whose second is not near it",
                     sum(spread[1][0] not in near for spread in found if len(spread) > 1), 0, at_most=True)
            if moves == "stays":
                bars.add(f"worm over {protocol}, the first stays: seeds in which it stays alone",
                         sum(len(spread) < 2 for spread in found), 0, at_most=True)
        mesh.picture(curves, hosts, options.out / f"mesh-{protocol}.png")


def drifting_clocks(place, options, rows, bars):
    (seen, one), (again, other) = (clocks.measured(place, options, engine)
                                   for engine in ways(options).values())
    off = max(abs(offset - clocks.MEASURED.error_ms()) for offset in seen)
    table = Table(("a clock, 10 s later chronyd", 28, ""), ("fast by, ms", 12, ".5f"),
                  ("expected", 10, ".3f"), ("drift, ppm", 11, ".4f"))
    table.head()
    table.row("measured only", statistics.mean(seen), clocks.MEASURED.error_ms())
    rows.append({"part": "clocks", "name": "measured only", "offsets_ms": seen})
    bars.add("clocks: chronyd measures the path's half difference, ms off", off, MOST_MEASURED_MS,
             at_most=True)
    bars.add("clocks: measured again, differs", int((seen, one) != (again, other)), 0, at_most=True)
    courses = {}
    for course in clocks.COURSES:
        courses[course] = clocks.offsets(place, options, course, parallel(options))
        fast_ms, drift_ppm = clocks.at_the_end(courses[course])
        expected = course.error_ms() if course.source else None
        table.row(course.name, fast_ms, expected, drift_ppm)
        rows.append({"part": "clocks", "name": course.name, "course": courses[course],
                     "fast_ms": fast_ms, "drift_ppm": drift_ppm})
        if course.source:
            bars.add(f"clocks, {course.name}: us from where NTP leads", 1000 * abs(fast_ms - expected),
                     MOST_CORRECTED_US, "us", at_most=True)
        else:
            bars.add("clocks: ppm off the drift, not corrected", abs(drift_ppm - clocks.DRIFT_PPM),
                     MOST_DRIFT_PPM, at_most=True)
    clocks.picture(courses, options.out / "clocks.png")


def computing_server(place, options, rows, bars):
    (found, fingerprint), again = (computing.serve(place, options, engine)
                                   for engine in ways(options).values())
    bars.add("a web server: on another engine, differs", int((found, fingerprint) != again), 0,
             at_most=True)
    alone, *loads = ([answered - asked for asked, answered in phase] for phase in found)
    rest = 2 * computing.DELAY_MS * 2 / 1000  # two round trips: a connection, a request
    service = statistics.median(alone) - rest
    ends = sorted(answered for _, answered in found[-1])
    under_load = (ends[-1] - ends[0]) / (len(ends) - 1)
    table = Table(("a web server, requests/s", 26, ""), ("load", 7, ".3f"), ("answers", 8, ""),
                  ("mean, ms", 9, ".2f"), ("95 %", 9, ".1f"), ("M/D/1", 9, ".2f"), ("in order", 9, ".2f"))
    table.head(f"   (service alone {1000 * service:.2f} ms, under overload {1000 * under_load:.2f} ms)")
    rows.append({"part": "computing", "service_s": service, "under_load_s": under_load,
                 "fingerprint": fingerprint})
    points = []
    for (rate, seconds, _), phase, times in zip(computing.LOADS, found[1:], loads):
        offered = len(times) / seconds
        in_order = statistics.mean(
            computing.services_in_order([at for at, _ in phase], under_load, rest))
        mean, high = statistics.mean(times), statistics.quantiles(times, n=20)[-1]
        expected = computing.md1(offered, service, rest)
        points.append((offered, mean, high, in_order))
        table.row(f"{rate}", offered * service, len(times), 1000 * mean, 1000 * high,
                  expected and 1000 * expected, 1000 * in_order)
        bars.add(f"a web server, {rate} a second: mean off equal services", abs(mean / in_order - 1),
                 MOST_QUEUE_ERROR, at_most=True)
        rows.append({"part": "computing", "rate": rate, "seconds": seconds, "mean_s": mean,
                     "in_order_s": in_order, "md1_s": expected, "answers": phase})
    computing.picture(points, service, under_load, rest, options.out / "computing.png")
    bars.add("a web server: answers under overload, of what one at a time allows", service / under_load,
             LEAST_OF_KNEE)


def sensor_network(place, options, rows, bars):
    table = Table(("16 sensors, a report each", 26, ""), ("instructions", 12, ",.0f"), ("radio, ms", 10, ".3f"),
                  ("uJ", 9, ",.1f"), ("days", 8, ",.1f"), ("expected", 9, ",.1f"))
    table.head()
    saving = {s: sensors.energy(place, options, s) for s in sensors.INTERVALS_S}
    always_on = {s: sensors.energy(place, options, s, 0) for s in sensors.ALWAYS_ON_S}
    # A report and a second asleep, from two intervals; the others follow.
    (one, other), reports = (1, 10), sensors.REPORTS // 2
    asleep_W = ((sensors.mean_W(saving[other]) * other - sensors.mean_W(saving[one]) * one) / (other - one))
    report_J = (sensors.mean_W(saving[one]) - asleep_W) * one
    for name, found in (("", saving), (", always on", always_on)):
        for interval, works in found.items():
            measured = sensors.mean_days(works)
            expected = (sensors.PARTS.battery_J() / sensors.DAY_S * interval
                        / sensors.expected_J(report_J, asleep_W, interval)) if found is saving else None
            table.row(f"{interval:g} s{name}", statistics.mean(work.instructions for work in works) / reports,
                      statistics.mean(1000 * work.on_s for work in works) / reports,
                      1e6 * sensors.mean_W(works) * interval, measured, expected)
            rows.append({"part": "sensors", "interval_s": interval, "always_on": found is always_on,
                         "works": works, "days": measured, "expected_days": expected})
            if expected:
                bars.add(f"sensors, a report in {interval:g} s: battery off arithmetic",
                         abs(measured / expected - 1), MOST_ENERGY_ERROR, at_most=True)
    lost = lost_reports(place, options, rows, bars)
    sensors.picture(saving, always_on, report_J, asleep_W, lost, options.out / "sensors.png")


def lost_reports(place, options, rows, bars):
    table = Table(("reports lost, %", 26, ""), ("first", 8, ".1%"), ("at last", 8, ".1%"), ("all", 8, ".1%"))
    table.head()
    lost, fingerprints = {}, {}
    for drift in sensors.DRIFTS_PPM:
        lost[drift], fingerprints[drift] = sensors.losses(place, options, drift)
        shares = [share for _, share in lost[drift]]
        table.row(f"drift up to {drift} ppm", shares[0], shares[-1], statistics.mean(shares))
        rows.append({"part": "sensors", "drift_ppm": drift, "lost": lost[drift]})
    again = sensors.losses(place, options, sensors.DRIFTS_PPM[-1], ways(options)[1])
    bars.add("sensors: on another engine, differs",
             int(again != (lost[sensors.DRIFTS_PPM[-1]], fingerprints[sensors.DRIFTS_PPM[-1]])), 0, at_most=True)
    bars.add("sensors: losses at the end, widest drift to none",
             lost[sensors.DRIFTS_PPM[-1]][-1][1] / lost[0][-1][1], MOST_OF_LOSSES, at_most=True)
    return lost


def counted_hosts(place, options, rows, bars):
    table = Table(("a counted host", 26, ""), ("million a second", 16, ".0f"), ("least", 8, ".0f"),
                  ("most", 8, ".0f"))
    table.head("   (instructions, of processor time)")
    for kind, found in counted.speeds(place, options).items():
        millions = [one / 1e6 for one in found]
        table.row(kind, statistics.median(millions), min(millions), max(millions))
        rows.append({"part": "counted", "kind": kind, "millions_a_second": millions})
        if kind != "memory":
            bars.add(f"a counted host, {kind}: million instructions a second", statistics.median(millions),
                     LEAST_MILLIONS)
    (_, boot_s, boot_wall_s, _), (_, all_s, all_wall_s, megabytes) = (
        counted.watched(place, options, counted.HOSTS, "sleep 100000", until, parallel(options))
        for until in (counted.BOOTED_S, counted.BOOTED_S + counted.IDLE_S))
    print(f"  {counted.HOSTS} hosts boot in {boot_wall_s:.0f} s, {boot_s:.0f} s of processor time; an idle hour takes "
          f"{all_wall_s - boot_wall_s:.0f} s, {all_s - boot_s:.0f} s of it; one has {megabytes:.0f} MB")
    rows.append({"part": "counted", "boot_s": boot_wall_s, "boot_processor_s": boot_s,
                 "hour_s": all_wall_s - boot_wall_s, "hour_processor_s": all_s - boot_s,
                 "megabytes_a_host": megabytes})
    bars.add(f"{counted.HOSTS} idle counted hosts: an hour", all_wall_s - boot_wall_s, MOST_COUNTED_IDLE_S, "s",
             at_most=True)
    bars.add("a counted host of 128 MiB: memory", megabytes, MOST_COUNTED_MEGABYTES, "MB", at_most=True)


def everything_of(run):
    """A digest of what hosts left, and the fingerprint."""
    digest = hashlib.sha256()
    for path in sorted(run.hosts.rglob("*")):
        if path.name == "console" or path.suffix == ".pcap" or ("out" in path.parts and path.is_file()):
            digest.update(path.relative_to(run.hosts).as_posix().encode() + path.read_bytes())
    return digest.hexdigest(), run.fingerprint


def repeated(place):
    """What is repeated: by name, how to make its topology."""
    ready = ROOT / "models/lab/topologies"
    return {**{name: lambda name=name: ready / f"{name}.toml"
               for name in ("three-hosts", "star-64", "manet-mobile")},
            "mpi-8": lambda: mpi.topology(place, "cnd", 8, rounds=1, capture=True),
            "sensors": lambda: ready / "sensors.toml",
            "counted-4": lambda: computing.four_hosts(place)}


def ways_of(name, number):
    """The engine of a run, and for hosts whose instructions are counted the window. `auto` hands over
    some hundreds of times."""
    events = 1000 if name == "manet-mobile" else 50
    engines = (["sequential"], ["conservative", "--workers", "2"], ["timewarp", "--workers", "2"],
               ["auto", "--hand-over-every", events])
    words = ["--engine", *engines[number % len(engines)]]
    if name == "sensors":
        words += ["--until", "5s"]
    if name in ("sensors", "counted-4"):
        words += ["--set", f"window={('1ms', '333333ns', '142857ns')[number % 3]}"]
    return words


def keep(run, to):
    """For someone who looks for the cause of a difference."""
    for folder, name in ((run.hosts, "hosts"), (run.out, "report")):
        shutil.copytree(folder, to / name, ignore=shutil.ignore_patterns("guest", "lab"), dirs_exist_ok=True)


def repeat(place, options, rows, bars):
    table = Table(("repetitions", 26, ""), ("runs", 6, ""), ("different", 10, ""), ("a run, s", 9, ".1f"))
    table.head()
    for name in options.repeated:
        topology = repeated(place)[name]()
        seen, begun = set(), time.monotonic()

        def one(number, name=name, topology=topology, seen=seen):
            run = Run(place, topology, options.build, *ways_of(name, number))
            found = everything_of(run)
            if found not in seen:  # the first, and each that differs
                keep(run, options.out / f"{name}-{number}")
            seen.add(found)
            run.forget()

        for number in range(options.repetitions):
            if number % 8 < 4:
                one(number)
            else:
                worm.beside_hogs(lambda number=number: one(number))
        table.row(name, options.repetitions, len(seen) - 1,
                  (time.monotonic() - begun) / options.repetitions)
        rows.append({"part": "repeat", "name": name, "runs": options.repetitions,
                     "different": len(seen) - 1, "seen": sorted(seen)})
        bars.add(f"{name}: runs that differ of {options.repetitions}", len(seen) - 1, 0, at_most=True)


def need_programs(parts, protocols):
    """What hosts run must be there; without it they would run nothing, and equally in each run."""
    if {"exact", "busy", "repeat"} & set(parts):
        need("iputils-ping", "ping")
    if {"exact", "frames", "reno"} & set(parts):
        need("iperf3", "iperf3")
    for protocol, program in {"babel": "babeld", "batman": "batctl"}.items():
        if {"mesh", "mesh-worm"} & set(parts) and protocol in protocols:
            need(program, program)


PARTS = {"exact": exact, "reno": reno, "frames": frames, "busy": busy, "scale": scale,
         "orders": all_orders, "computing-orders": orders_of_computing_hosts,
         "windows": orders_in_windows, "mpi": orders_by_mpi, "calls": all_calls,
         "calls-radio": calls_by_radio,
         "staggering": stagger, "worm": spread_worm, "mesh": radio_mesh, "mesh-worm": mesh_worm,
         "clocks": drifting_clocks, "computing": computing_server, "architectures": by_architecture,
         "sensors": sensor_network, "counted": counted_hosts, "repeat": repeat}


def grid(text):
    """'9x7': columns and lines."""
    found = re.fullmatch(r"(\d+)x(\d+)", text)
    columns, lines = map(int, found.groups()) if found else (0, 0)
    if min(columns, lines) < 2 or columns * lines >= MOST_HOSTS:
        raise argparse.ArgumentTypeError(f"it is like 9x7, with 2 or more each way and less than "
                                         f"{MOST_HOSTS} in all, and not '{text}'")
    return columns, lines


def main():
    made = parser("lab", __doc__, "results/bench-lab", 5)
    made.add_argument("--workers", type=at_least(2), default=2, help="where there is more than one (2)")
    made.add_argument("--parts", metavar="A,B", type=some_of(PARTS), default=",".join(PARTS),
                      help=f"some of {','.join(PARTS)} (all)")
    made.add_argument("--sizes", metavar="N,N", type=numbers(int, 3, MOST_HOSTS),
                      default=",".join(map(str, SIZES)), help="ranks of the orders (%(default)s)")
    made.add_argument("--computing-sizes", metavar="N,N", type=numbers(int, 3, MOST_HOSTS),
                      default="8,16", help="ranks of computing-orders (%(default)s)")
    made.add_argument("--mpi-sizes", metavar="N,N", type=numbers(int, 3, 128), default="8,32",
                      help="ranks of Open MPI; 64 take a quarter of an hour (%(default)s)")
    made.add_argument("--losses", metavar="P,P", type=numbers(float, 1e-6, 0.1),
                      default="0.01,0.003,0.001,0.0003,0.0001",
                      help="probabilities for Reno (%(default)s)")
    made.add_argument("--least-losses", type=at_least(1), default=1000,
                      help="losses to wait for at each (1000)")
    made.add_argument("--calls", metavar="N,N", type=numbers(int, 1, 1000),
                      default="1,2,4,8,16,20,24,28,32,48,64", help="at once (%(default)s)")
    made.add_argument("--radio-calls", metavar="N,N", type=numbers(int, 1, 100), default="2,4,6,8,12",
                      help="at once, over radio (%(default)s)")
    made.add_argument("--busy-sizes", metavar="N,N", type=numbers(int, 2, MOST_HOSTS),
                      default="8,16,32,64", help="hosts of staggering (%(default)s)")
    made.add_argument("--seeds", type=at_least(2), default=10, help="of the worm (10)")
    made.add_argument("--worm-hosts", type=at_least(8), default=64, help="it has (64)")
    made.add_argument("--delays", metavar="MS,MS", type=some_of([str(delay) for delay in worm.SPAN_S]),
                      default=",".join(map(str, worm.SPAN_S)), help="between its hosts (%(default)s)")
    made.add_argument("--mesh", metavar="CxR", type=grid, default="9x7",
                      help="grid of the mesh, and one station more (%(default)s)")
    made.add_argument("--protocols", metavar="A,B", type=some_of(mesh.PROTOCOLS),
                      default=",".join(mesh.PROTOCOLS), help="that route it (%(default)s)")
    made.add_argument("--mesh-seeds", type=at_least(1), default=5, help="of the worm there (5)")
    made.add_argument("--repetitions", type=at_least(2), default=100, help="of each (100)")
    made.add_argument("--repeated", metavar="A,B", type=some_of(repeated(None)),
                      default=",".join(repeated(None)), help="what (%(default)s)")
    made.add_argument("--without-fair", action="store_true",
                      help="orders, mpi, calls-radio, staggering, worm, mesh: only on virtual time, which is faster")
    options = made.parse_args()
    require(options, "lab_fair")
    if not KERNEL.exists():
        sys.exit(f"bench: {KERNEL} is not there; ./dev lab makes it")
    need_programs(options.parts, options.protocols)
    place, bars, rows = Workplace(), Bars(), []
    for i, part in enumerate(options.parts):
        if i > 0:
            print()
        PARTS[part](place, options, rows, bars)
        write_record(options.out, "bench", {"rows": rows, "bars": bars.rows})
    bars.show()
    print(f"\n{options.out}: bench.json")


if __name__ == "__main__":
    command(main)
