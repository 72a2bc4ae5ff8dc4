# SPDX-License-Identifier: Apache-2.0
"""Topologies of the laboratory's experiments, runs of them with and without virtual time, and what
runs leave."""

import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness import ROOT, Failed  # noqa: E402

sys.path.insert(0, str(ROOT / "models/lab"))  # captures, and energy for others
from captures import device_address, frames  # noqa: E402

KERNEL = ROOT / "build/lab/linux"
BUSYBOX = ROOT / "build/lab/x86_64/busybox"  # a small root
HERE = Path(__file__).resolve().parent


class Workplace:
    """A folder for topologies and for what hosts leave, gone at the end."""

    def __init__(self):
        self.holder = tempfile.TemporaryDirectory(prefix="lab-")
        self.folder = Path(self.holder.name)
        self.count = 0

    def compile(self, name, compiler="gcc", *flags):
        program = self.folder / name
        if not program.exists():
            subprocess.run([compiler, "-O2", *flags, "-o", program, HERE / f"{name}.c"], check=True)
        return program

    def write(self, name, text):
        (self.folder / name).write_text(text)
        return self.folder / name


def parallel(options):
    """The engine for hosts side by side."""
    return ["--engine", "conservative", "--workers", options.workers]


class Run:
    """One of `orrery run lab`: its report and the folder of its hosts."""

    def __init__(self, place, topology, build, *words):
        place.count += 1
        self.hosts = place.folder / f"hosts{place.count}"
        self.out = place.folder / f"out{place.count}"
        command = [build / "bin/orrery", "run", "lab", "--quiet", "--out", self.out, *words, "--set",
                   f"topology={topology}", f"folder={self.hosts}", f"kernel={KERNEL}",
                   f"qemu={KERNEL.parent}"]
        begun = time.monotonic()
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                              check=False)
        self.wall_s = time.monotonic() - begun
        if done.returncode != 0:
            raise Failed(f"{topology.name}: {done.stderr.strip()[-2000:]}")
        self.report = json.loads((self.out / "report.json").read_text())

    def count(self, metric):
        return self.report["metrics"][metric]["count"]

    @property
    def fingerprint(self):
        return self.report["run"]["fingerprint"]

    def left(self, host, path):
        return (self.hosts / host / "out" / path).read_text()

    def frames(self, host):
        """(ns, bytes) of what passed its first interface."""
        return frames(self.hosts / host / "eth0.pcap")

    def forget(self):
        shutil.rmtree(self.hosts, ignore_errors=True)
        shutil.rmtree(self.out, ignore_errors=True)


def run_fair(place, topology, build, seconds, meanwhile=None):
    """The same hosts under the machine's scheduler: (what lab_fair says, folder of its hosts).
    `meanwhile` is called with its process."""
    place.count += 1
    hosts = place.folder / f"hosts{place.count}"
    with subprocess.Popen([build / "bin/lab_fair", topology, hosts, KERNEL, str(seconds)],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        if meanwhile is not None:
            meanwhile(process.pid)
        said, complaint = process.communicate()
    if process.returncode != 0:
        raise Failed(f"lab_fair {topology.name}: {complaint.strip()}")
    return json.loads(said), hosts


def address_file(place, hosts, device="eth0",
                 line="neigh replace {ip} lladdr {address} dev {device} nud permanent"):
    """For `ip -batch`: all hosts' addresses, so that nobody has to ask."""
    return place.write(f"neighbours{hosts}", "".join(
        line.format(ip=f"10.0.0.{i}", address=device_address(f"h{i}").hex(":"), device=device) + "\n"
        for i in range(1, hosts + 1)))


def need(package, *programs):
    """What an experiment runs on its hosts is this machine's."""
    for program in programs:
        if shutil.which(program) is None:
            raise Failed(f"there is no program '{program}' on this machine: apt-get install {package}")


def need_qemu():
    if not (BUSYBOX / "bin/sh").exists():
        raise Failed(f"{BUSYBOX} is not there; ./dev lab --qemu makes it")


def counted_star(place, hosts, mhz, command, memory=128, **other):
    """star() of Linux hosts whose instructions are counted. They have busybox and no `ip -batch`."""
    need_qemu()
    neighbours = address_file(place, hosts, line="arp -s {ip} {address}")
    return star(place, hosts, command, memory=memory, neighbours=neighbours, setup="sh /root/neighbours",
                keys=f'machine = "qemu"\narch = "x86_64"\nspeed = "{mhz} MHz"\nroot = "{BUSYBOX}"', **other)


def star(place, hosts, command, *, delay="1ms", rate="100 Mbit/s", files="", memory=24, keys="",
         capture=False, more="", neighbours=None, setup="ip -batch /root/neighbours"):
    """Hosts h1 to hN around a switch."""
    neighbours = neighbours or address_file(place, hosts)
    files = ", ".join(filter(None, [f'"/root/neighbours" = "{neighbours.name}"', files]))
    return f"""
[[host]]
repeat = {hosts}
name = "h{{i}}"
memory = {memory}
ipv6 = false
{keys}
setup = ["{setup}"]
files = {{ {files} }}
[[host.program]]
command = '''{command}'''
[[switch]]
name = "s"
[[link]]
repeat = {hosts}
between = ["h{{i}}", "s"]
addresses = ["10.0.0.{{i}}/24", ""]
delay = "{delay}"
rate = "{rate}"
capture = {str(capture).lower()}
{more}"""


def two_hosts(place, name, first, second, link, *, keys="", setup=("true", "true")):
    """Hosts a and b on a link; a's program begins at 1 s."""
    return place.write(name, f"""
[[host]]
name = "a"
memory = 64
setup = ['''{setup[0]}''']
{keys}
[[host.program]]
at = "1s"
command = '''{first}'''
[[host]]
name = "b"
memory = 64
setup = ['''{setup[1]}''']
{keys}
[[host.program]]
command = '''{second}'''
[[link]]
between = ["a", "b"]
addresses = ["10.0.0.1/24", "10.0.0.2/24"]
{link}
""")
