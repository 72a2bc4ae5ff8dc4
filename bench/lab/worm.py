# SPDX-License-Identifier: Apache-2.0
"""A worm among hosts (worm.c): how many are infected over virtual time, over several seeds, and the
logistic curve of the SI model through it. The curve of a seed is the same whatever the machine does
beside."""

import math
import os
import subprocess
import sys

from harness import panels, save_picture
from hosts import Run, parallel, star

FIRST_S, SPAN_S = 2, 3


def topology(place, hosts):
    place.compile("worm")
    return place.write("worm.toml", star(
        place, hosts, f"/root/worm {{i}} {hosts} {FIRST_S}", delay="1ms", rate="100 Mbit/s",
        files='"/root/worm" = "worm"'))


def infections(run, hosts):
    """(second, host) of those that were infected, in this order."""
    found = []
    for host in range(1, hosts + 1):
        file = run.hosts / f"h{host}" / "out/infected"
        if file.exists() and file.read_text().strip():
            found.append((float(file.read_text()), host))
    return sorted(found)


def spread(place, options, path, hosts, seed):
    """(seconds since the first infection, sorted; fingerprint)"""
    run = Run(place, path, options.build, "--seed", str(seed), "--until", f"{FIRST_S + SPAN_S}s",
              *parallel(options))
    times = [time for time, _ in infections(run, hosts)]
    fingerprint = run.fingerprint
    run.forget()
    return [time - times[0] for time in times], fingerprint


def beside_hogs(action):
    hogs = [subprocess.Popen([sys.executable, "-c", "while True: pass"])
            for _ in range(os.cpu_count())]
    try:
        return action()
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()


def rate_of(times, hosts):
    """beta of I' = beta I (1 - I / N), by least squares through logit(I / N) from 5 to 90 %."""
    points = [(time, math.log((i + 1) / (hosts - i - 1))) for i, time in enumerate(times)
              if 0.05 * hosts <= i + 1 <= 0.9 * hosts]
    mean_t = sum(t for t, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    return (sum((t - mean_t) * (y - mean_y) for t, y in points)
            / sum((t - mean_t) ** 2 for t, _ in points))


def until_share(times, hosts, share=0.9):
    return times[math.ceil(share * hosts) - 1] if len(times) >= share * hosts else math.nan


def picture(curves, hosts, beta, path):
    """Infected hosts over time: the mean over seeds, its 95 % band, and the logistic curve."""
    import numpy as np

    grid = np.linspace(0, max(until_share(one, hosts, 0.98) for one in curves) * 1.1, 200)
    infected = np.array([np.searchsorted(np.array(one), grid, side="right") for one in curves])
    mean = infected.mean(axis=0)
    half = 1.96 * infected.std(axis=0, ddof=1) / math.sqrt(len(curves)) if len(curves) > 1 else 0
    middle = grid[np.argmax(mean >= hosts / 2)]
    figure, axes = panels(1, 1, 7, 4.5)
    ax = axes[0][0]
    ax.fill_between(grid, mean - half, mean + half, alpha=0.3, label="95 % of the mean")
    ax.plot(grid, mean, label=f"mean of {len(curves)} seeds")
    ax.plot(grid, hosts / (1 + np.exp(-beta * (grid - middle))), "--", color="0.3",
            label=f"SI model, {beta:.1f}/s")
    ax.set_xlabel("virtual seconds since the first infection")
    ax.set_ylabel(f"infected of {hosts} hosts")
    ax.legend()
    save_picture(figure, path)
