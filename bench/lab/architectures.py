# SPDX-License-Identifier: Apache-2.0
"""What a counted host with Linux costs, by its architecture: a boot, in the host's time and in the
machine's; its memory; and how many instructions a second of the machine it executes in a loop of its
shell. An architecture whose Linux is not built is left out."""

import statistics

from hosts import KERNEL, Run

ARCHITECTURES = ("x86_64", "aarch64", "riscv64")
MHZ, MEMORY = 500, 128
AFTER_S = 40  # all has been done


def built():
    return [arch for arch in ARCHITECTURES
            if all((KERNEL.parent / arch / file).exists() for file in ("linux", "busybox/bin/sh"))]


def topology(place, arch, command):
    return place.write(f"{arch}.toml", f"""
[[host]]
name = "a"
machine = "qemu"
arch = "{arch}"
speed = "{MHZ} MHz"
memory = {MEMORY}
root = "{KERNEL.parent / arch / "busybox"}"
ipv6 = false
[[host.program]]
command = '''cut -d" " -f1 /proc/uptime >/out/up; {command}'''
""")


def end_s(run):
    """When the host switched itself off."""
    return int((run.out / "ends.csv").read_text().splitlines()[1].split(",")[0]) / 1e9


def one(place, options, arch, watch):
    """A row. `watch(call)` calls, and returns what it returns and the most memory of hosts meanwhile."""
    boots, loops = [], []
    for _ in range(options.rounds):
        boot = Run(place, topology(place, arch, ":"), options.build, "--until", f"{AFTER_S}s")
        up, end = float(boot.left("a", "up")), end_s(boot)
        boots.append(boot.wall_s)
        run, megabytes = watch(lambda: Run(
            place, topology(place, arch, "i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done"),
            options.build, "--until", f"{AFTER_S}s"))
        loops.append((end_s(run) - end) * MHZ / (run.wall_s - boot.wall_s))
        boot.forget()
        run.forget()
    return {"arch": arch, "boot_virtual_s": up, "boot_s": statistics.median(boots), "megabytes": megabytes,
            "million_instructions_a_second": statistics.median(loops)}
