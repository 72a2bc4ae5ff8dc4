# SPDX-License-Identifier: Apache-2.0
"""16 sensors without an operating system, a radio channel, and a Linux gateway (models/lab/sensor,
models/lab/topologies/sensor-radio.toml).

Energy: a sensor executes a known number of instructions for a report, and its card is on for a known
time. So the energy of a report is arithmetic, and with it how long a battery lasts at each interval. The
laboratory counts instructions and the time of the card (models/lab/energy.py).

Losses: reports go to all, so nobody repeats them. Sensors with equal clocks all send at once, each time.
As clocks drift apart, reports meet less often."""

import statistics
from collections import Counter

from harness import ROOT, Failed, panels, save_picture
from hosts import Run, need_qemu, parallel

from energy import DAY_S, KINDS, Parts, days, rows, work_of_hosts

SENSORS, LISTEN_US, COMPUTED = 16, 3000, 40_000
# Intervals between reports, in seconds, and of how many there are.
INTERVALS_S, REPORTS = (0.1, 0.3, 1, 3, 10, 30, 60), 20
ALWAYS_ON_S = (0.1, 1, 10)
DRIFTS_PPM, DRIFTED_S, BIN_S = (0, 2, 20, 100), 300, 15
PARTS = Parts()


def topology(place, interval_s, *, listen_us=LISTEN_US, drift_ppm=20):
    """Clocks are spread evenly between -drift_ppm and drift_ppm."""
    need_qemu()
    text = ""
    for i in range(1, SENSORS + 1):
        arch = "arm" if i <= SENSORS // 2 else "riscv32"
        drift_ppb = round(1000 * drift_ppm * (2 * (i - 1) / (SENSORS - 1) - 1))
        text += f"""
[[host]]
name = "s{i}"
machine = "qemu"
arch = "{arch}"
speed = "8 MHz"
image = "{ROOT}/build/lab/sensor-{arch}"
arguments = "10 0 1 {i} {round(1e6 * interval_s)} {COMPUTED} {listen_us}"
clock = {{ drift = "{drift_ppb} ppb" }}
[[station]]
host = "s{i}"
radio = "air"
"""
    return place.write("sensors.toml", text + f"""
[[host]]
name = "gateway"
ipv6 = false
files = {{ "/root/gateway.py" = "{ROOT}/models/lab/programs/gateway.py" }}
[[host.program]]
command = "exec python3 /root/gateway.py"
[[station]]
host = "gateway"
radio = "air"
address = "10.0.1.100/24"
[[radio]]
name = "air"
layout = "grid"
spacing = 5
""")


def run(place, options, seconds, engine=None, **other):
    return Run(place, topology(place, **other), options.build, "--until", f"{seconds}s",
               *(engine or parallel(options)))


def energy(place, options, interval_s, listen_us=LISTEN_US):
    """Of sensors s1 to s16: Work of the first half and of all of a run. The difference has no start."""
    found = []
    for reports in (REPORTS // 2, REPORTS):
        seconds = interval_s * (reports + 0.5)
        done = run(place, options, round(seconds, 3), interval_s=interval_s, listen_us=listen_us)
        works = work_of_hosts(done.out)
        found.append([works[f"s{i}"] for i in range(1, SENSORS + 1)])
        done.forget()
    half, whole = found
    return [type(after)(*(b - a for a, b in zip(before, after))) for before, after in zip(half, whole)]


def expected_J(report_J, asleep_W, interval_s):
    return report_J + asleep_W * interval_s


def losses(place, options, drift_ppm, engine=None):
    """([(s, share of reports lost)], fingerprint). A sensor's reports are its frames; each has its number,
    which is the second of the sensor's clock in which it began."""
    done = run(place, options, DRIFTED_S, engine, interval_s=1, drift_ppm=drift_ppm)
    frames, sent, came = Counter(), Counter(), Counter()
    for row in rows(done.out / "traffic.csv"):
        if int(row["lp"]) < SENSORS:
            frames[row["lp"]] += 1
            sent[frames[row["lp"]] // BIN_S] += 1
    for line in (done.hosts / "gateway/console").read_text().splitlines():
        _, address, number, *_ = line.split()
        if address.startswith("10.0.1."):
            came[int(number) // BIN_S] += 1
    done.forget()
    if not came:
        raise Failed("the gateway has heard no sensor")
    return ([((bin_ + 0.5) * BIN_S, 1 - came[bin_] / sent[bin_]) for bin_ in range(DRIFTED_S // BIN_S)],
            done.fingerprint)


def mean_W(works):
    return statistics.mean(sum(work.energy(PARTS).values()) / work.up_s for work in works)


def mean_days(works):
    return statistics.mean(days(work, PARTS) for work in works)


def by_kind_J(works):
    """Of one report and what is asleep after it."""
    return {kind: statistics.mean(work.energy(PARTS)[kind] for work in works) / (REPORTS // 2)
            for kind in KINDS}


def picture(saving, always_on, report_J, asleep_W, lost, to):
    """`saving`, `always_on`: works by interval. `lost`: losses by drift."""
    figure, axes = panels(1, 3, 5, 4)
    life, energies, losing = axes[0]
    curve = [INTERVALS_S[0] * (INTERVALS_S[-1] / INTERVALS_S[0]) ** (i / 100) for i in range(101)]
    life.loglog(curve, [PARTS.battery_J() * at / expected_J(report_J, asleep_W, at) / DAY_S for at in curve],
                color="0.4", lw=1, label="arithmetic")
    life.loglog(list(saving), [mean_days(works) for works in saving.values()], "o", mfc="none",
                label=f"radio on for {LISTEN_US / 1000:g} ms a report")
    life.loglog(list(always_on), [mean_days(works) for works in always_on.values()], "s", mfc="none",
                label="radio always on")
    life.set_ylabel("the battery lasts, days")
    life.legend()
    bottom = [0] * len(saving)
    kinds = [by_kind_J(works) for works in saving.values()]
    for kind in KINDS:
        heights = [1e6 * by[kind] for by in kinds]
        energies.bar(range(len(saving)), heights, bottom=bottom, label=kind)
        bottom = [low + height for low, height in zip(bottom, heights)]
    energies.set_xticks(range(len(saving)), [f"{interval:g}" for interval in saving])
    energies.set_ylabel("energy of an interval, uJ")
    energies.legend()
    for drift, course in lost.items():
        losing.plot([at for at, _ in course], [100 * share for _, share in course], "o-", ms=3,
                    label=f"drift up to {drift} ppm" if drift else "no drift")
    losing.set_xlabel("virtual time, s")
    losing.set_ylabel("reports that do not arrive, %")
    losing.set_ylim(bottom=0)
    losing.legend()
    for ax in (life, energies):
        ax.set_xlabel("interval between reports, s")
    save_picture(figure, to)
