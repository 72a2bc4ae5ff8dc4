#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Virtual machines by least virtual time: 'orrery director' against the system's own scheduler.

QEMU guests of one virtual processor each, in software emulation, more of them than cores (16 by
default): all computing; half of them idle and busy in turn; the same beside ordinary processes that
compute, as many as there are cores. In each case 'orrery director' and 'orrery director --watch', which
changes nothing, measure the spread of the guests' virtual times at every tick, in turn.

Before, the same for as many processes that only read clocks (witness.c). They tell what the kernel
charges threads for time in which they did not run, since the machine below had taken the core away:
no scheduler can keep the spread below that.

A guest is Debian's kernel for clouds, unpacked into the build folder, and one program (guest.c). It
needs root, the package qemu-system-x86, and memory for the guests (about 100 MB each). A table, a
JSON and a picture are left. Bars are printed with what was measured, met or not.
"""

import csv
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "bench"))
from harness import (Bars, Failed, Progress, Series, Table, alternate, at_least,  # noqa: E402
                     command, launch, panels, parser, require, save_picture, write_record)
from guests import FOLDER, UNCALIBRATED, initial_files, kernel  # noqa: E402

PATIENCE_S = 240
P99_BAR, MOST_BAR = 2, 4  # in ticks
WAYS = {"director": [], "system": ["--watch"]}
CASES = ("computing", "idle to busy", "beside a hog")


# --- guests ---------------------------------------------------------------------------------------

class Guest:
    def __init__(self, number, image, files):
        self.log = tempfile.NamedTemporaryFile()
        self.process = subprocess.Popen(
            ["qemu-system-x86_64", "-M", "microvm", "-accel", "tcg", "-smp", "1",
             "-m", "128", "-nodefaults", "-no-user-config", "-display", "none", "-serial", "stdio",
             "-name", f"guest=guest-{number},debug-threads=on", "-kernel", image, "-initrd", files,
             "-append", f"console=ttyS0 quiet panic=-1 reboot=t {UNCALIBRATED}"],
            stdin=subprocess.PIPE, stdout=self.log, stderr=subprocess.STDOUT)

    def wait_for(self, text):
        deadline = time.monotonic() + PATIENCE_S
        while text not in self.said():
            if time.monotonic() > deadline or self.process.poll() is not None:
                raise Failed(f"a guest did not say '{text}'; it said: {self.said()[-500:]}")
            time.sleep(0.1)

    def said(self):
        return Path(self.log.name).read_text(errors="replace")

    def order(self, text):
        self.process.stdin.write(text.encode() + b"\n")
        self.process.stdin.flush()

    def end(self):
        self.process.kill()
        self.process.wait()


class Guests:
    """All of them, up to their program; ended with the block."""

    def __init__(self, options):
        self.options = options

    def __enter__(self):
        if shutil.which("qemu-system-x86_64") is None:
            raise Failed("there is no qemu-system-x86_64; the Debian package is qemu-system-x86")
        image, progress = self.options.kernel or kernel(), Progress()
        files = initial_files(Path(__file__).with_name("guest.c"))
        self.all = []
        try:
            for number in range(self.options.guests):
                self.all.append(Guest(number, image, files))
            for number, guest in enumerate(self.all):
                progress.say(f"guest {number + 1} of {len(self.all)} starts")
                guest.wait_for("guest is ready")
        except BaseException:
            self.__exit__()
            raise
        progress.clear()
        return self

    def __exit__(self, *_):
        for guest in self.all:
            guest.end()

    def begin(self, case):
        half = len(self.all) // 2 if case != "computing" else 0
        for number, guest in enumerate(self.all):
            guest.order(f"turns {self.options.turns} {number + 1}" if number < half else "compute")
        for guest in self.all:
            guest.wait_for("guest does")
        time.sleep(1)

    def processes(self):
        return [word for guest in self.all for word in ("--pid", guest.process.pid)]


class Witnesses:
    """As many processes of witness.c."""

    def __init__(self, number):
        self.number, self.all = number, []

    def __enter__(self):
        FOLDER.mkdir(parents=True, exist_ok=True)
        program = FOLDER / "witness"
        subprocess.run(["cc", "-O1", "-o", program, Path(__file__).with_name("witness.c")], check=True)
        for _ in range(self.number):
            log = tempfile.NamedTemporaryFile()
            self.all.append((subprocess.Popen([program], stdout=log), log))
        time.sleep(1)
        return self

    def __exit__(self, *_):
        for process, _ in self.all:
            process.kill()
            process.wait()

    def processes(self):
        return [word for process, _ in self.all for word in ("--pid", process.pid)]

    def charged(self):
        """Milliseconds, one for each time, so far."""
        return [float(line) for _, log in self.all
                for line in Path(log.name).read_text().splitlines()]


class Hogs:
    """Ordinary processes that compute while a case with them is measured."""

    def __init__(self, number):
        self.number, self.all = number, []

    def __enter__(self):
        self.all = [subprocess.Popen([sys.executable, "-c", "while True: pass"])
                    for _ in range(self.number)]
        return self

    def __exit__(self, *_):
        for process in self.all:
            process.kill()
            process.wait()


# --- measuring ------------------------------------------------------------------------------------

def measure(options, guests, way, course):
    """One run of the director: figures of the spread; `course` gets its times, for the picture."""
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "times.csv"
        out, _, _ = launch([options.build / "bin/orrery", "director", *guests.processes(), "--tick",
                            options.tick, "--duration", f"{options.seconds}s", "--json", "--quiet",
                            "--csv", table, *WAYS[way]])
        course[way] = spreads_of(table)
    told = json.loads(out)
    shares = [t["consumed_seconds"] / told["seconds"] for t in told["threads"] if not t["is_helper"]]
    return {**told["spread_ticks"], "tick_ms": told["tick_seconds"] * 1e3,
            "missed": told["missed_ticks"], "late": told["delay_ticks"]["most"],
            "used": sum(shares) / told["cores"]}


def spreads_of(path):
    """Seconds and spreads in milliseconds, of threads that want to run."""
    times, values, last, group = [], [], None, []

    def close():
        if len(group) > 1:
            times.append(float(last))
            values.append(1e3 * (max(group) - min(group)))

    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            if row["time_s"] != last:
                close()
                last, group = row["time_s"], []
            if row["state"] != "idle":
                group.append(float(row["virtual_s"]))
    close()
    return times, values


FIGURES = ("samples", "p50", "p99", "p999", "most", "used", "missed", "late")


def tell(one, case, table, rows):
    """A way's row of the table, and its record."""
    if one.failures:
        raise Failed(one.failures[0])
    table.row(f"{case}, {one.name}", *(one.median(key) for key in FIGURES))
    rows.append({"case": case, "way": one.name, "series": one.record()})


def one_case(options, guests, case, table, bars, rows, courses):
    courses[case] = {}
    guests.begin(case)
    series = [Series(way, lambda way=way: measure(options, guests, way, courses[case]))
              for way in WAYS]
    with Hogs(options.hogs if case == "beside a hog" else 0):
        alternate(series, options.rounds, case)
    for one in series:
        tell(one, case, table, rows)
        if one.name == "director":
            bars.add(f"{case}: p99 of the spread", one.median("p99"), P99_BAR, "", at_most=True)
            bars.add(f"{case}: largest spread", one.median("most"), MOST_BAR, "", at_most=True)


def witness_case(options, table, rows):
    """What lies below the scheduler: only the director, since the system's keeps no thread on a core
    for long enough to be charged for much."""
    def one_round():
        with Witnesses(options.guests) as witnesses:
            before = len(witnesses.charged())
            figures = measure(options, witnesses, "director", {})
            found = witnesses.charged()[before:]
        return {**figures, "charged": max(found, default=0) / figures["tick_ms"], "charges": len(found)}

    series = Series("director", one_round)
    alternate([series], options.rounds, "witnesses")
    tell(series, "witnesses", table, rows)
    pairs = ", ".join(f"{one['most']:.2f} and {one['charged']:.2f}" for one in series.samples)
    print(f"    (the largest spread, and the most that a witness was charged for without running, of "
          f"each round: {pairs})")


def picture(courses, path):
    figure, axes = panels(1, len(courses), 5, 3.6, sharey=True)
    for axis, (case, ways) in zip(axes[0], courses.items()):
        for way, (times, values) in ways.items():
            axis.plot(times, values, linewidth=0.6, label=way)
        axis.set_yscale("log")
        axis.set_ylim(bottom=0.1)
        axis.set_title(case)
        axis.set_xlabel("time in s")
    axes[0][0].set_ylabel("spread of virtual times in ms")
    axes[0][0].legend()
    save_picture(figure, path)


def main():
    made = parser("director", __doc__, "bench/out/director", 3)
    made.add_argument("--guests", type=at_least(2), default=16, help="virtual machines (16)")
    made.add_argument("--seconds", type=float, default=11, help="of each measurement (11)")
    made.add_argument("--tick", default="1ms", help="of the director (1ms)")
    made.add_argument("--turns", type=at_least(1), default=300,
                      help="mean time in ms for which guests are idle, and busy (300)")
    made.add_argument("--hogs", type=at_least(1), default=2, help="ordinary processes (2)")
    made.add_argument("--kernel", type=Path, help="an image for the guests (Debian's for clouds)")
    options = made.parse_args()
    require(options)
    table = Table(("", 24, ""), ("samples", 8, ".0f"), ("median", 7, ".2f"), ("p99", 7, ".2f"),
                  ("p99.9", 7, ".2f"), ("largest", 8, ".2f"), ("cores used", 10, ".0%"),
                  ("missed", 7, ".0f"), ("latest", 7, ".2f"))
    bars, rows, courses = Bars(), [], {}
    table.head("   (spreads and the latest wake-up in ticks)")
    witness_case(options, table, rows)
    with Guests(options) as guests:
        for case in CASES:
            one_case(options, guests, case, table, bars, rows, courses)
    bars.show()
    write_record(options.out, "director", {"bars": bars.rows, "rows": rows})
    picture(courses, options.out / "director.png")
    print(f"\n{options.out}: director.json, director.png")


if __name__ == "__main__":
    command(main)
