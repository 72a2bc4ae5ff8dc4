# SPDX-License-Identifier: Apache-2.0
"""A worm among hosts (worm.c): how many are infected over virtual time, at several delays of the network
and over several seeds, beside a simulation of the same worm without hosts and network, and beside the
same hosts under the machine's scheduler. The curve of a seed is the same whatever the machine does."""

import heapq
import math
import os
import random
import subprocess
import sys
import time
from collections import Counter

from harness import panels, save_picture
from hosts import Run, parallel, run_fair, star

FIRST_S = 2
START_OF_HOSTS = 1_700_000_000  # the date at which hosts start in virtual time
SPAN_S = {1: 3, 10: 4, 100: 16}  # by delay in ms, one way: when all hosts are infected
SIMULATIONS = 1000
FAIR_SLOWER = 3  # the machine's scheduler has as many times the span


def topology(place, hosts, delay_ms, first):
    """`first`: the date of the first infection."""
    place.compile("worm")
    return place.write(f"worm{delay_ms}.toml", star(
        place, hosts, f"/root/worm {{i}} {hosts} {first:.3f}", delay=f"{delay_ms / 2}ms",
        rate="100 Mbit/s", files='"/root/worm" = "worm"'))


def infections(folder, hosts):
    """(date, host) of those that were infected, in this order."""
    found = []
    for host in range(1, hosts + 1):
        file = folder / f"h{host}" / "out/infected"
        if file.exists() and file.read_text().strip():
            found.append((float(file.read_text()), host))
    return sorted(found)


def shots(folder, hosts):
    """How many shots had which outcome; 'repeated': those that needed more tries than two."""
    found = Counter()
    for host in range(1, hosts + 1):
        file = folder / f"h{host}" / "out/shots"
        for line in file.read_text().split("\n") if file.exists() else ():
            words = line.split()
            if len(words) == 3:
                found[words[2]] += 1
                found["repeated"] += int(words[1]) > (1 if words[2] == "closed" else 2)
    return found


def since_the_first(folder, hosts):
    times = [date for date, _ in infections(folder, hosts)]
    return [date - times[0] for date in times]


def spread(place, options, hosts, delay_ms, seed):
    """A row: seconds since the first infection, sorted; what became of shots; how long the run took."""
    run = Run(place, topology(place, hosts, delay_ms, START_OF_HOSTS + FIRST_S), options.build,
              "--seed", str(seed), "--until", f"{FIRST_S + SPAN_S[delay_ms]}s", *parallel(options))
    row = {"delay_ms": delay_ms, "seed": seed, "times": since_the_first(run.hosts, hosts),
           "shots": shots(run.hosts, hosts), "wall_s": run.wall_s,
           "span_s": FIRST_S + SPAN_S[delay_ms], "fingerprint": run.fingerprint}
    run.forget()
    return row


def fair_spread(place, options, hosts, delay_ms):
    """The same by the machine's scheduler, in real time."""
    boots_s = 10 + hosts
    span_s = FAIR_SLOWER * SPAN_S[delay_ms]
    path = topology(place, hosts, delay_ms, time.time() + boots_s)
    said, folder = run_fair(place, path, options.build, boots_s + span_s)
    return {"delay_ms": delay_ms, "times": since_the_first(folder, hosts),
            "shots": shots(folder, hosts), "span_s": span_s, "wall_s": span_s, **said}


def beside_hogs(action):
    hogs = [subprocess.Popen([sys.executable, "-c", "while True: pass"])
            for _ in range(os.cpu_count())]
    try:
        return action()
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()


def until_share(times, hosts, share=0.9):
    return times[math.ceil(share * hosts) - 1] if len(times) >= share * hosts else math.nan


def simulated(hosts, delay_ms, seed):
    """The times of `spread` by arithmetic alone. A shot begins with a connection and an exploit, which
    arrives after three delays; its answer arrives after four. The worm arrives after seven, and takes
    the time of its 4 KB on two links; its answer arrives after eight."""
    draw = random.Random(seed)
    delay, passage = delay_ms / 1000, 2 * 4300 * 8 / 100e6
    dates = {0: 0.0}
    events = [(0.0, 0, "began", 0)]

    def shoot_after(time, host):
        heapq.heappush(events, (time + draw.uniform(0.01, 0.1) + 3 * delay, host, "exploit", -1))

    while events and len(dates) < hosts:
        time, host, what, target = heapq.heappop(events)
        if what == "began":
            shoot_after(time, host)
        elif what == "exploit":
            target = draw.randrange(hosts - 1)
            target += target >= host
            if target in dates:
                shoot_after(time + delay, host)
            else:
                heapq.heappush(events, (time + 4 * delay + passage, host, "worm", target))
        elif target in dates:  # another was faster; the backdoor is closed
            shoot_after(time + 3 * delay, host)
        else:
            dates[target] = time
            heapq.heappush(events, (time, target, "began", 0))
            shoot_after(time + delay, host)
    return sorted(dates.values())


def picture(curves, simulations, fair, hosts, path):
    """Infected hosts over time, a panel for each delay: the mean over seeds and its 95 % band, what
    `simulated` says, and the same hosts by the machine's scheduler."""
    import numpy as np

    figure, axes = panels(1, len(curves), 5, 4)
    for ax, (delay_ms, times) in zip(axes[0], curves.items()):
        ends = [until_share(one, hosts, 0.98) for one in times]
        grid = np.linspace(0, 1.1 * max(end for end in ends if not math.isnan(end)), 200)
        infected = np.array([np.searchsorted(np.array(one), grid, side="right") for one in times])
        mean = infected.mean(axis=0)
        half = 1.96 * infected.std(axis=0, ddof=1) / math.sqrt(len(times))
        ax.fill_between(grid, mean - half, mean + half, alpha=0.3, label="95 % of the mean")
        ax.plot(grid, mean, label=f"virtual time, mean of {len(times)} seeds")
        ax.plot(grid, np.mean([np.searchsorted(np.array(one), grid, side="right")
                               for one in simulations[delay_ms]], axis=0), "--", color="tab:red",
                label="simulated without hosts")
        if delay_ms in fair:
            ax.step([*fair[delay_ms], grid[-1]], [*range(1, len(fair[delay_ms]) + 1),
                                                  len(fair[delay_ms])], where="post", color="0.3",
                    label="the machine's scheduler")
            ax.set_xlim(right=max(grid[-1], 1.05 * fair[delay_ms][-1]))
        ax.set_title(f"delay {delay_ms} ms")
        ax.set_xlabel("seconds since the first infection")
        ax.set_ylabel(f"infected of {hosts} hosts")
    axes[0][-1].legend(loc="upper left")
    save_picture(figure, path)
