# SPDX-License-Identifier: Apache-2.0
"""A clock that drifts, and chronyd that corrects it by NTP. NTP takes both ways of a path for equally
long, so the clock ends half of the difference off, which no measurement at the two ends can show. Here
it shows, since captures have virtual time: a program on the host sends the date of its clock
(models/lab/programs/clock.py), and its packets are in the capture."""

from typing import NamedTuple

from harness import ROOT, Failed, panels, save_picture
from hosts import Run, need

DRIFT_PPM, OFFSET_MS = 50, 3
START_S, CHRONYD_S, END_S = 1_700_000_000, 10, 60
EVERY_S, SETTLED_S = 0.25, 20  # of the clock; what counts as the end of its course
DISCARD_PORT, STEP_NS = 9, 256


class Course(NamedTuple):
    name: str
    forth_ms: float  # delay from the server to the client
    back_ms: float
    drifts: bool = True
    source: str = "iburst"  # options of chronyd's source; None: there is no chronyd

    def error_ms(self):
        """By which NTP is wrong: how far a corrected clock is fast."""
        return (self.back_ms - self.forth_ms) / 2


MEASURED = Course("measured only", 10, 30, drifts=False, source="noselect")
COURSES = (Course("no correction", 10, 10, source=None), Course("10 ms each way", 10, 10),
           Course("10 and 30 ms", 10, 30))


def topology(place, course):
    clock = f'clock = {{ drift = "{DRIFT_PPM} ppm", offset = "{OFFSET_MS} ms" }}' if course.drifts else ""
    chronyd = f"""
[[host.program]]
at = "{CHRONYD_S}s"
command = '''chronyd -4 -d 'server 10.0.0.1 minpoll 1 maxpoll 1 {course.source}' 'cmdport 0' \\
  'logdir /out' 'log measurements' '''
""" if course.source else ""
    return place.write("clocks.toml", f"""
[[host]]
name = "server"
ipv6 = false
[[host.program]]
command = "chronyd -4 -d -x 'local stratum 1' 'allow' 'cmdport 0'"
[[host]]
name = "client"
memory = 64
ipv6 = false
{clock}
files = {{ "/root/clock.py" = "{ROOT}/models/lab/programs/clock.py" }}
[[host.program]]
at = "1s"
command = "python3 /root/clock.py 10.0.0.1 {EVERY_S}"
{chronyd}
[[link]]
between = ["server", "client"]
addresses = ["10.0.0.1/24", "10.0.0.2/24"]
delay = ["{course.forth_ms}ms", "{course.back_ms}ms"]
""")


def by_captures(run):
    """[(virtual time in s, how far the clock is fast in ms)]. The first packet is left out: it waits
    for the address of the server."""
    found = []
    for at, frame in run.frames("client"):
        is_udp = frame[12:14] == b"\x08\x00" and frame[23] == 17
        if is_udp and int.from_bytes(frame[36:38], "big") == DISCARD_PORT:
            found.append((at / 1e9, (int(frame[42:]) - START_S * 10**9 - at) / 1e6))
    return found[1:]


def run(place, options, course, engine):
    need("chrony", "chronyd")
    return Run(place, topology(place, course), options.build, "--until", f"{END_S}s", *engine)


def measured(place, options, engine):
    """What chronyd measures if no clock drifts and it corrects nothing: (offsets in ms, fingerprint)."""
    done = run(place, options, MEASURED, engine)
    rows = [line.split() for line in done.left("client", "measurements.log").splitlines()]
    offsets = [1000 * float(row[11]) for row in rows if len(row) > 11 and row[2] == "10.0.0.1"]
    done.forget()
    if len(offsets) < 10:
        raise Failed(f"chronyd has measured {len(offsets)} times")
    return offsets, done.fingerprint


def offsets(place, options, course, engine):
    done = run(place, options, course, engine)
    found = by_captures(done)
    done.forget()
    return found


def at_the_end(found):
    """(how far the clock is fast in ms, how fast it gets faster in ppm)."""
    settled = [one for one in found if one[0] > END_S - SETTLED_S]
    (first, before), (last, after) = settled[0], settled[-1]
    return sum(offset for _, offset in settled) / len(settled), 1000 * (after - before) / (last - first)


def picture(courses, to):
    """By course: how far the clock is fast, and how far from what NTP can reach."""
    figure, axes = panels(1, 2, 6, 4)
    whole, rest = axes[0]
    for course, found in courses.items():
        times = [time for time, _ in found]
        whole.plot(times, [offset for _, offset in found], label=course.name)
        if course.source:
            rest.semilogy(times, [1000 * max(abs(offset - course.error_ms()), 1e-6) for _, offset in found],
                          color=whole.lines[-1].get_color(), label=course.name)
    rest.axhline(STEP_NS / 1000, color="0.3", ls="--", lw=0.8, label="a step of the host's clock")
    whole.set_ylabel("the clock is fast by, ms")
    rest.set_ylabel("distance from half of the ways' difference, us")
    for ax in axes[0]:
        ax.axvline(CHRONYD_S, color="0.6", ls=":", label="chronyd starts")
        ax.set_xlabel("virtual time, s")
        ax.set_xlim(0, END_S)
        ax.legend(loc="center right", bbox_to_anchor=(1, 0.8))
    save_picture(figure, to)
