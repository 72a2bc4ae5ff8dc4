# SPDX-License-Identifier: Apache-2.0
"""How fast hosts with Linux are whose instructions are counted, on a core of this machine; what an idle
hour of 16 costs; the memory of one.

Other work on the machine changes how long a run takes, so the processor time of the hosts' processes is
told beside, which it changes less. A run without work is taken off from each with work."""

import os
import threading
from pathlib import Path

from harness import Failed
from hosts import Run, counted_star

from energy import rows

MHZ, HOSTS = 1000, 16
MILLIONS = {"loops": 3000, "calls": 1500, "memory": 300}
BOOTED_S, IDLE_S = 10, 3600
SAMPLE_S = 0.1


def processes_of(ancestor):
    """Process numbers of all descendants."""
    parents = {}
    for one in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(one.parent.name)] = int(one.read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            pass  # it has ended
    found, more = set(), {ancestor}
    while more:
        more = {child for child, parent in parents.items() if parent in more}
        found |= more
    return found


class Watch:
    """Looks at the processes of the runs meanwhile, until it is stopped."""

    def __init__(self):
        self.seconds, self.megabytes, self.over = {}, [0], threading.Event()
        self.thread = threading.Thread(target=self._look)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()

    def _look(self):
        while not self.over.wait(SAMPLE_S):
            memory = []
            for process in processes_of(os.getpid()):
                try:
                    if (Path(f"/proc/{process}/cmdline").read_bytes()).startswith(b"qemu\0"):
                        self._note(process, memory)
                except (OSError, IndexError):
                    pass  # it has ended
            if len(memory) == HOSTS:
                self.megabytes.append(sum(memory) / HOSTS)

    def _note(self, process, memory):
        fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
        self.seconds[process] = sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")
        share = [line for line in Path(f"/proc/{process}/smaps_rollup").read_text().split("\n")
                 if line.startswith("Pss:")]
        if share:
            memory.append(int(share[0].split()[1]) * 1024 / 1e6)

    def processor_s(self):
        return sum(self.seconds.values())


def watched(place, options, hosts, command, until_s, engine=(), memory=128):
    """(instructions of all hosts, processor s, wall s, MB of one of all hosts)."""
    place.compile("work", "gcc", "-static")
    path = place.write("work.toml", counted_star(place, hosts, MHZ, command, memory=memory,
                                                 files='"/root/work" = "work"'))
    with Watch() as watch:
        run = Run(place, path, options.build, "--until", f"{until_s}s", *engine)
    instructions = sum(int(row["instructions"]) for row in rows(run.out / "computed.csv"))
    run.forget()
    return instructions, watch.processor_s(), run.wall_s, max(watch.megabytes)


def speeds(place, options):
    """By kind of work: [instructions a second of processor time], a round each. The run ends after some idle
    time, so that the last look at its processes sees all that they did."""
    found = {kind: [] for kind in MILLIONS}
    for _ in range(options.rounds):
        idle, idle_s, _, _ = watched(place, options, 1, "sleep 100000", 1000, memory=256)
        for kind, millions in MILLIONS.items():
            done, done_s, _, _ = watched(place, options, 1, f"/root/work {kind} {millions} && sleep 100000", 1000,
                                         memory=256)
            if done - idle < millions * 1e6 / 2:
                raise Failed(f"the host has not executed the work '{kind}'")
            found[kind].append((done - idle) / (done_s - idle_s))
    return found
