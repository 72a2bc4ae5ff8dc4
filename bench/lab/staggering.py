# SPDX-License-Identifier: Apache-2.0
"""How far busy hosts are apart in their own times during a run (Yoginath's thesis, 3.1).

On virtual time the host that is furthest behind is executed next, and then for a window: so the least
and the greatest virtual time stay together (--set spread=, models/lab/spread.h). Without it the
machine's scheduler decides, and a host's own time is the processor time that it has had: of all its
processes, counted from one moment at which all are busy."""

import csv
import time
from pathlib import Path

from harness import Failed, panels, save_picture
from hosts import Run, parallel, run_fair, star

DELAY_MS = 10
WINDOW_MS = DELAY_MS / 2  # models/lab/lab.h
FIRST_S, BUSY_S = 1, 1
FAIR_BUSY_S, SAMPLE_S = 10, 0.1


def topology(place, hosts, first_s, busy_s):
    place.compile("spin")
    return place.write(f"spin{hosts}.toml", star(
        place, hosts, f"/root/spin {first_s} {busy_s}", delay=f"{DELAY_MS}ms",
        files='"/root/spin" = "spin"', keys='system_call = "50us"'))


def on_virtual_time(place, options, hosts, engine):
    """[(seconds of the machine's clock, least ms, most ms)] while all are busy."""
    noted = place.folder / "spread.csv"
    run = Run(place, topology(place, hosts, FIRST_S, BUSY_S), options.build, "--until",
              f"{FIRST_S + BUSY_S + 1}s", *engine, "--set", f"spread={noted}")
    run.forget()
    with noted.open() as file:
        lines = [tuple(map(int, line)) for line in list(csv.reader(file))[1:]]
    begin, end = (FIRST_S + 2 * WINDOW_MS / 1e3) * 1e9, (FIRST_S + BUSY_S) * 1e9
    busy = [line for line in lines if line[1] >= begin and line[2] <= end]
    return [((wall - busy[0][0]) / 1e9, least / 1e6, most / 1e6) for wall, least, most in busy]


def processes_of_hosts(parent):
    """A list of processes for each host; a host is a child of lab_fair."""
    children = {}
    for one in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = one.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended meanwhile
        children.setdefault(int(words[1]), []).append(int(one.parent.name))

    def below(process):
        return [process, *(one for child in children.get(process, []) for one in below(child))]

    return [below(host) for host in children.get(parent, [])]


def processor_ms(process):
    """What it has had; nothing of one that has ended."""
    try:
        return int(Path(f"/proc/{process}/schedstat").read_text().split()[0]) / 1e6
    except OSError:
        return 0


def sample(parent, after_s, found):
    """Appends what on_virtual_time() returns to `found`, of a lab_fair that has just begun."""
    time.sleep(after_s)
    hosts = processes_of_hosts(parent)
    begin = time.monotonic()
    first = [sum(map(processor_ms, processes)) for processes in hosts]
    while (wall := time.monotonic() - begin) < FAIR_BUSY_S:
        had = [sum(map(processor_ms, processes)) - own for processes, own in zip(hosts, first)]
        found.append((wall, min(had), max(had)))
        time.sleep(SAMPLE_S)


def by_the_scheduler(place, options, hosts):
    boot_s = 5 + hosts / 2  # what it takes at most, and all are busy as long again
    path = topology(place, hosts, boot_s, 2 * boot_s + FAIR_BUSY_S)
    found = []
    run_fair(place, path, options.build, 2 * boot_s + FAIR_BUSY_S + 2,
             meanwhile=lambda process: sample(process, 2 * boot_s, found))
    return found


def widest(course):
    if not course:
        raise Failed("no hosts were busy together")
    return max(most - least for _, least, most in course)


def mean_width(course):
    return sum(most - least for _, least, most in course) / len(course)


def picture(courses, to):
    """By name: least and most over the machine's clock, and how far apart."""
    figure, axes = panels(2, len(courses), 4.5, 3)
    for column, (name, course) in enumerate(courses.items()):
        walls, least, most = zip(*course)
        above, below = axes[0][column], axes[1][column]
        above.fill_between(walls, least, most, alpha=0.4)
        above.plot(walls, least, lw=0.7, label="least")
        above.plot(walls, most, lw=0.7, label="most")
        above.set_title(name, fontsize=9)
        above.set_ylabel("hosts' own times, ms")
        above.legend()
        below.plot(walls, [b - a for a, b in zip(least, most)], lw=0.7)
        below.set_xlabel("seconds of the machine's clock")
        below.set_ylabel("most - least, ms")
        below.set_ylim(bottom=0)
    save_picture(figure, to)
