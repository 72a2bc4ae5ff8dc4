#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Networks of virtual machines: `orrery director net` against the system's scheduler with delays in real
time (--watch), after Yoginath's thesis (chapters 2 to 4).

orders: CND and VND (net_guest.c) among guests of one or two processors. E is the sum over messages of
how many places one is from its own, the mean over rounds, for several ticks; beside it the spread of
the guests' clocks. Guests stay up while the tick changes.
worm: infections over TCP with delays of 1, 10 and 100 ms. The shift of the curve beside arithmetic:
a generation takes three ways more for each further delay. Repeated segments are counted, since the
timeouts of guests are real time.
idle: what guests that sleep cost, of a core.

Needs root, qemu-system-x86, and 130 MB for each guest. Guests boot in software emulation.
"""

import json
import os
import re
import resource
import signal
import statistics
import struct
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "bench"))
from harness import (Bars, Failed, Progress, Table, at_least, command, numbers, panels,  # noqa: E402
                     parser, require, save_picture, some_of, write_record)
sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "models/lab"))
from captures import frames  # noqa: E402
from guests import UNCALIBRATED, card_modules, initial_files, kernel  # noqa: E402

PATIENCE_S = 600
PARTS = ("orders", "worm", "idle")
FAIR = "system"


# --- a network of guests --------------------------------------------------------------------------

class Net:
    """A running `orrery director net` of guests around a switch; ended with the block."""

    def __init__(self, options, task, guests, processors=1, delay_ms=5, loops=0, watch=False):
        self.folder = options.out / "net"
        self.options, self.guests = options, guests
        files = initial_files(Path(__file__).with_name("net_guest.c"), card_modules())
        description = options.out / "machines.toml"
        options.out.mkdir(parents=True, exist_ok=True)
        description.write_text(f"""
[[host]]
repeat = {guests}
name = "h{{i}}"
machine = "vm"
accelerator = "tcg"
memory = 128
processors = {processors}
kernel = "{kernel()}"
initrd = "{files}"
append = "console=ttyS0 quiet panic=-1 {UNCALIBRATED} task={task} rank={{i-1}} ranks={guests} rounds=60000 apart={loops}"
ready = "guest is ready"
arguments = ["-no-reboot"]

[[switch]]
name = "s"

[[link]]
repeat = {guests}
between = ["h{{i}}", "s"]
delay = "{delay_ms}ms"
rate = "1 Gbit/s"
""")
        self.words = [options.build / "bin/orrery", "director", "net", description, "--out", self.folder,
                      "--force", "--quiet", *(["--watch"] if watch else [])]

    def __enter__(self):
        (self.folder / "control").unlink(missing_ok=True)
        # The director and its machines end with this process, however it ends.
        self.process = subprocess.Popen(list(map(str, self.words)), stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True,
                                        env={**os.environ, "ORRERY_PARENT": str(os.getpid())})
        self.wait_until(lambda: (self.folder / "control").exists())
        self.began = time.monotonic()
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def wait_until(self, is_true):
        end = time.monotonic() + PATIENCE_S
        while not is_true():
            if self.process.poll() is not None:
                raise Failed(f"the director has ended: {self.process.stderr.read().strip()}")
            if time.monotonic() > end:
                raise Failed(f"nothing happened for {PATIENCE_S} s; see {self.folder}")
            time.sleep(0.1)

    def set(self, *words):
        done = subprocess.run([self.words[0], "director", "set", self.folder, *words], text=True,
                              capture_output=True, check=False)
        if done.returncode != 0:
            raise Failed(done.stderr.strip())
        return json.loads(done.stdout)

    def console(self, guest):
        return (self.folder / f"h{guest}/console").read_text(errors="replace")

    def orders(self):
        """For each round so far, the messages in the order in which they arrived."""
        return [list(map(int, line.split()[2:])) for line in self.console(1).splitlines()
                if re.fullmatch(r"order \d+( \d+)+", line)]


# --- CND and VND ----------------------------------------------------------------------------------

def error_of(order, kind, guests):
    expected = list(range(1, guests - 1) if kind == "cnd" else range(1, guests + 1))
    place = {number: i for i, number in enumerate(order)}
    came = [number for number in expected if number in place]
    return sum(abs(place[number] - i) for i, number in enumerate(came))


def rounds_from_now(net, options, kind):
    """E of each of the next rounds, without the one that goes on now."""
    first = len(net.orders()) + 1
    net.wait_until(lambda: len(net.orders()) >= first + options.rounds)
    return [error_of(order, kind, net.guests) for order in net.orders()[first:first + options.rounds]]


def orders_case(options, kind, guests, processors, progress):
    """A row for each tick, and one for the system's scheduler."""
    rows = []
    where = {"kind": kind, "guests": guests, "processors": processors}
    for watch in (False, True):
        progress.say(f"{kind} among {guests} guests of {processors} processor(s)"
                     + (" by the system's scheduler" if watch else ""))
        with Net(options, kind, guests, processors, loops=options.loops, watch=watch) as net:
            net.wait_until(lambda: len(net.orders()) > 1)  # the first warms up
            for tick in [None] if watch else options.ticks:
                if not watch:
                    net.set(f"tick={tick}ms")
                    time.sleep(0.2)
                began = time.monotonic()
                errors = rounds_from_now(net, options, kind)
                status = net.set("status")
                spread = status["spread_ticks"]
                unit = status["tick_seconds"] * 1e3
                rows.append({**where, "tick_ms": tick, "E": statistics.mean(errors), "errors": errors,
                             "spread_ms": spread["p50"] * unit, "spread_p99_ms": spread["p99"] * unit,
                             "late_us": status["late_microseconds"]["p99"],
                             "seconds": (time.monotonic() - began) / options.rounds})
    return rows


def orders_part(options, bars):
    progress = Progress()
    table = Table(("", 26, ""), ("tick ms", 8, ""), ("E", 7, ".2f"), ("spread ms", 10, ".2f"),
                  ("p99", 7, ".2f"), ("s a round", 10, ".2f"))
    table.head()
    rows = []
    for guests, processors in options.cases:
        for kind in options.kinds:
            made = orders_case(options, kind, guests, processors, progress)
            progress.clear()
            fair = made[-1]["E"]
            for row in made:
                table.row(f"{kind}, {guests} x {processors}", row["tick_ms"] or FAIR, row["E"],
                          row["spread_ms"], row["spread_p99_ms"], row["seconds"])
            for row in made[:-1]:
                if 1 <= row["tick_ms"] <= 10 and fair > 0:
                    bars.add(f"{kind}, {guests} x {processors}, tick {row['tick_ms']} ms: E of the system's",
                             100 * row["E"] / fair, 10, "%", at_most=True)
            rows += made
    return rows


def orders_picture(rows, path):
    kinds = sorted({row["kind"] for row in rows})
    figure, axes = panels(1, len(kinds), 5, 3.6)
    for axis, kind in zip(axes[0], kinds):
        cases = sorted({(row["guests"], row["processors"]) for row in rows if row["kind"] == kind})
        for i, case in enumerate(cases):
            mine = [r for r in rows if r["kind"] == kind and (r["guests"], r["processors"]) == case]
            ticks = [r for r in mine if r["tick_ms"]]
            axis.plot([r["tick_ms"] for r in ticks], [r["E"] for r in ticks], "o-", color=f"C{i}",
                      label=f"{case[0]} guests of {case[1]}")
            for row in mine:
                if not row["tick_ms"]:
                    axis.axhline(row["E"], linestyle="--", color=f"C{i}", linewidth=0.8)
        axis.set_xscale("log")
        axis.set_title(f"{kind.upper()} (dashed: the system's scheduler)")
        axis.set_xlabel("tick in ms")
        axis.set_ylim(bottom=0)
    axes[0][0].set_ylabel("E")
    axes[0][0].legend()
    save_picture(figure, path)


# --- the worm -------------------------------------------------------------------------------------

def infections(net, guests):
    """Seconds from the first connection to the infection of each guest, and the repeated segments."""
    begin, times, repeated = None, [], 0
    for guest in range(1, guests + 1):
        seen, infected = set(), None
        for at, frame in frames(net.folder / f"h{guest}-eth0.pcap"):
            if frame[12:14] != b"\x08\x00" or frame[23] != 6:
                continue
            head = 34 + 4 * (frame[46] >> 4)
            payload = struct.unpack_from(">H", frame, 16)[0] - 20 - 4 * (frame[46] >> 4)
            flags = frame[47]
            own = frame[29] == guest
            if own and guest == guests and flags & 2 and begin is None:
                begin = at
            if own and (flags & 3 or payload > 0):
                key = (frame[30:34], frame[34:42], flags & 3, payload)
                repeated += key in seen
                seen.add(key)
            if not own and payload > 0 and infected is None and len(frame) > head:
                infected = at
        if guest < guests:
            times.append(infected)
    if begin is None or None in times:
        raise Failed(f"the worm did not reach all guests; see {net.folder}")
    return sorted((at - begin) * 1e-9 for at in times), repeated


def worm_part(options, bars):
    guests = options.worm_guests
    table = Table(("delay of a link", 16, ""), ("last", 9, ".4f"), ("shift", 9, ".4f"), ("arithmetic", 11, ".4f"),
                  ("repeated", 9, ".0f"))
    table.head("   (times of the last infection in virtual seconds)")
    generations = guests.bit_length() - 1  # 1, 2, 4, ... are infected
    rows, first, progress = [], None, Progress()
    for delay_ms in (1, 10, 100):
        progress.say(f"worm with {delay_ms} ms")
        with Net(options, "worm", guests, delay_ms=delay_ms) as net:
            net.wait_until(lambda: all("infected" in net.console(i) for i in range(1, guests + 1)))
        progress.clear()
        times, repeated = infections(net, guests)
        # Three ways over two links each in a generation.
        first = first or (delay_ms, times[-1])
        arithmetic = generations * 6e-3 * (delay_ms - first[0])
        rows.append({"delay_ms": delay_ms, "times": times, "repeated": repeated, "arithmetic": arithmetic})
        table.row(f"{delay_ms} ms", times[-1], times[-1] - first[1], arithmetic, repeated)
        if delay_ms > first[0]:
            bars.add(f"worm, {delay_ms} ms: shift against arithmetic", 100 * (times[-1] - first[1]) / arithmetic,
                     105, "%", at_most=True)
    return rows


# --- idle guests ----------------------------------------------------------------------------------

def idle_part(options, bars):
    """Processor time of the director's own threads, guests not counted."""
    table = Table(("16 idle guests", 16, ""), ("% of a core", 12, ".2f"))
    table.head()
    rows = []
    with Net(options, "idle", 16) as net:
        for name, words in (("tick 1 ms", ["tick=1ms"]),):
            net.set(*words)
            time.sleep(2)
            before = used(net.process.pid)
            began = time.monotonic()
            time.sleep(20)
            share = 100 * (used(net.process.pid) - before) / (time.monotonic() - began)
            rows.append({"name": name, "percent": share})
            table.row(name, share)
            bars.add("16 idle guests: the director, of a core", share, 1, "%", at_most=True)
    return rows


def used(process):
    """Seconds that the threads of a process have consumed."""
    words = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


# --- the command ----------------------------------------------------------------------------------

def read_cases(text):
    return [tuple(map(int, word.split("x"))) for word in text.split(",")]


def main():
    made = parser("director", __doc__, "bench/out/director-net", 10)
    made.add_argument("--parts", type=some_of(PARTS), default=list(PARTS), help="of: orders, worm, idle (all)")
    made.add_argument("--kinds", type=some_of(("cnd", "vnd")), default=["cnd", "vnd"], help="cnd, vnd (both)")
    made.add_argument("--cases", type=read_cases, default=read_cases("8x1,16x1,32x1,8x2,16x2"),
                      help="guests x processors (8x1,16x1,32x1,8x2,16x2)")
    made.add_argument("--ticks", type=numbers(float, 0.1, 100), default=[0.5, 1, 5, 10, 30],
                      help="in ms (0.5,1,5,10,30)")
    made.add_argument("--loops", type=at_least(0), default=800,
                      help="thousand rounds of a loop between two messages (800, about 2 ms)")
    made.add_argument("--worm-guests", type=at_least(2), default=16, help="(16)")
    options = made.parse_args()
    require(options)
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
    bars, record = Bars(), {}
    for part in options.parts:
        record[part] = {"orders": orders_part, "worm": worm_part, "idle": idle_part}[part](options, bars)
    bars.show()
    write_record(options.out, "network", {"bars": bars.rows, **record})
    if "orders" in record:
        orders_picture(record["orders"], options.out / "orders.png")
    print(f"\n{options.out}: network.json, orders.png")


if __name__ == "__main__":
    command(main)
