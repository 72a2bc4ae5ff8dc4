#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The laboratory through the command: hosts whose times are those of the closed form on every
engine, that see and change nothing of the machine, and that leave nothing behind.

Environment: ORRERY (the command), OLSRD (the hosts' routing daemon), MODELS (the folder models),
LAB_KERNEL (the hosts' kernel). What needs hosts is skipped where the kernel is not built, and where
the machine allows no namespaces.
"""
import contextlib
import csv
import hashlib
import json
import math
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request
from fractions import Fraction
from pathlib import Path
from xml.etree import ElementTree

ORRERY, OLSRD, MODELS = os.environ["ORRERY"], os.environ["OLSRD"], Path(os.environ["MODELS"])
sys.path.insert(0, str(MODELS / "lab"))
from captures import device_address, frames  # noqa: E402

KERNEL = Path(os.environ["LAB_KERNEL"])


def why_no_hosts():
    """None: there can be some. Asked of the machine, not of a host, which is what is tested."""
    if not KERNEL.exists():
        return "the hosts' kernel is not built (./dev lab)"
    namespaces = subprocess.run(["unshare", "--user", "--map-root-user", "--mount", "--net", "--pid",
                                 "--fork", "mount", "-t", "tmpfs", "none", "/mnt"],
                                capture_output=True, text=True, check=False)
    if namespaces.returncode != 0:
        return f"this machine allows no namespaces: {namespaces.stderr.strip()}"
    return None


WHY_NO_HOSTS = why_no_hosts()
# The sensors lie where the topology names them.
HAS_QEMU = all((folder / name).exists() for name in ("sensor-arm", "sensor-riscv32", "qemu-aarch64",
                                                     "qemu-riscv64")
               for folder in (MODELS.parent / "build/lab", KERNEL.parent))


def has_linux(arch):
    """Whether there are counted hosts with Linux of this architecture."""
    return HAS_QEMU and all((folder / arch / file).exists() for file in ("linux", "busybox/bin/sh")
                            for folder in (MODELS.parent / "build/lab", KERNEL.parent))


HAS_QEMU_LINUX = has_linux("x86_64")
NEEDS_HOSTS = unittest.skipIf(WHY_NO_HOSTS, WHY_NO_HOSTS or "")
PATIENCE_S = 240
TWO = """
[[host]]
name = "a"
[[host.program]]
command = '''{command}'''
[[host]]
name = "b"
[[host.program]]
command = "sleep 3"
[[link]]
between = ["a", "b"]
addresses = ["10.0.0.1/24", "10.0.0.2/24"]
delay = "10ms"
"""


def groups_left(process):
    """Control groups of the hosts of a run."""
    return [path for path, _, _ in os.walk("/sys/fs/cgroup") if f"/orrery-{process}-" in path]


class Case(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="lab")
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)

    def words(self, topology, *words, folder="hosts", kernel=KERNEL):
        sets = [word for word in words if "=" in word and not word.startswith("-")]
        return [ORRERY, "run", "lab", "--quiet", "--set", f"topology={topology}",
                f"folder={self.folder / folder}", f"kernel={kernel}",
                *([] if any(one.startswith("qemu=") for one in sets) else [f"qemu={KERNEL.parent}"]),
                *sets,
                *(word for word in words if word not in sets)]

    def run_lab(self, topology, *words, **options):
        return subprocess.run(self.words(topology, *words, **options), capture_output=True,
                              text=True, timeout=PATIENCE_S, check=False)

    def hosts_left(self):
        """Processes of this test's hosts: what they say goes to a console below its folder."""
        left = []
        for one in Path("/proc").glob("[0-9]*"):
            try:
                said_to = os.readlink(one / "fd/1")
                if said_to.startswith(f"{self.folder}/") and said_to.endswith("/console"):
                    left.append(one.name)
            except OSError:
                pass
        return left

    def of_hosts(self, name):
        """What the machine tells of these processes, those that have ended meanwhile left out."""
        told = []
        for one in self.hosts_left():
            with contextlib.suppress(OSError):
                told.append(Path(f"/proc/{one}/{name}").read_text())
        return [text for text in told if text]

    def two(self, command):
        path = self.folder / "two.toml"
        path.write_text(TWO.format(command=command))
        return path

    def fingerprint(self, done):
        self.assertEqual(done.returncode, 0, done.stderr)
        return [line for line in done.stdout.splitlines() if "fingerprint" in line]

    def console(self, host, folder="hosts"):
        return (self.folder / folder / host / "console").read_text(errors="replace")


def olsr_row(hosts, devices, seconds, delay, files=""):
    """Hosts in a row, each with OLSR on these devices for so many seconds."""
    return f"""
[[host]]
repeat = {hosts}
name = "h{{i}}"
ipv6 = false
{files}
[[host.program]]
command = "exec timeout {seconds} /lab/olsrd --hello-interval 0.2 --tc-interval 0.3 {devices}"
[[link]]
repeat = {hosts - 1}
between = ["h{{i}}", "h{{i+1}}"]
addresses = ["10.0.{{i}}.1/24", "10.0.{{i}}.2/24"]
delay = "{delay}"
"""


class Refusals(Case):
    def refusal(self, *sets):
        done = subprocess.run([ORRERY, "run", "lab", "--set", *sets], capture_output=True, text=True,
                              timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 2, done.stderr)
        return done.stderr

    def test_no_topology(self):
        self.assertIn("--set topology=FILE.toml", self.refusal("check=no"))

    def test_a_shell_needs_a_host(self):
        self.assertIn("there is no host 'z'",
                      self.refusal(f"topology={self.two('true')}", "shell=z"))
        done = subprocess.run([ORRERY, "lab", "ssh"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("there are shell, again and draw", done.stderr)

    def test_no_kernel(self):
        said = self.refusal(f"topology={MODELS}/lab/topologies/three-hosts.toml",
                            f"kernel={self.folder}/nothing", f"folder={self.folder}/hosts")
        self.assertIn("./dev lab builds it", said)
        self.assertFalse((self.folder / "hosts").exists())

    def test_an_olsrd_that_is_no_program(self):
        topology, other = self.two("true"), self.folder / "other"
        kernel = self.folder / "kernel"
        kernel.touch()

        def refused():
            said = self.refusal(f"topology={topology}", f"kernel={kernel}", f"olsrd={other}",
                                f"folder={self.folder}/hosts")
            self.assertFalse((self.folder / "hosts").exists())
            return said

        self.assertIn(f"--set olsrd=: there is no program '{other}'", refused())
        other.write_text("#!/bin/sh\n")
        self.assertIn(f"--set olsrd=: '{other}' cannot be executed", refused())
        other.unlink()
        other.mkdir()
        self.assertIn(f"there is no program '{other}'", refused())

    def test_wrong_words_for_olsrd(self):
        for words, said in (
                ([], "on which interfaces?"),
                (["--hello"], "needs a value"),
                (["--no-such-option", "eth0"], "there is no option '--no-such-option'"),
                (["--hello-interval", "0", "eth0"], "--hello-interval takes seconds"),
                (["--hello-interval", "2x", "eth0"], "and not '2x'"),
                (["--tc-interval", "601", "eth0"], "--tc-interval takes seconds"),
                (["--willingness", "8", "eth0"], "--willingness is from 0"),
                (["--willingness", "", "eth0"], "and not ''"),
                (["--main-address", "224.0.0.1", "eth0"], "'224.0.0.1' is no IPv4 address of a host"),
                (["--hna", "10.0.0.0/33", "eth0"], "and not '10.0.0.0/33'"),
                (["no-such-device"], "there is no interface 'no-such-device'"),
                (["a-name-that-is-longer-than-any"], "there is no interface")):
            done = subprocess.run([OLSRD, *words], capture_output=True, text=True, check=False,
                                  timeout=PATIENCE_S)
            self.assertEqual(done.returncode, 2, words)
            self.assertRegex(done.stderr, r"\Aolsrd: [^\n]*\n\Z")
            self.assertIn(said, done.stderr)
        done = subprocess.run([OLSRD, "--help"], capture_output=True, text=True, check=True,
                              timeout=PATIENCE_S)
        self.assertIn("olsrd [OPTIONS] INTERFACE...", done.stdout)

    def test_ranks_are_refused_for_a_shell(self):
        for one in ("shell=a", "rate=1", f"spread={self.folder}/spread.csv"):
            done = subprocess.run([ORRERY, "run", "lab", "--ranks", "2", "--set",
                                   f"topology={self.two('true')}", "check=yes", one],
                                  capture_output=True, text=True, timeout=PATIENCE_S, check=False)
            self.assertEqual(done.returncode, 2, one)
            self.assertRegex(done.stderr, "model lab: .* one process; leave out --ranks")

    def test_a_mistake_has_its_line(self):
        path = self.two("true")
        path.write_text(path.read_text() + "lose = 1\n")
        self.assertIn("two.toml:14: there is no key 'lose' here", self.refusal(f"topology={path}"))

    def test_a_picture_has_all_nodes_and_links(self):
        for name, hosts, switches, radios, lines in (("dumbbell", 6, 0, 0, 5),
                                                     ("datacentre-128", 128, 9, 0, 136),
                                                     ("manet-static", 64, 0, 1, 0)):
            picture = self.folder / f"{name}.svg"
            done = subprocess.run([ORRERY, "lab", "draw", MODELS / f"lab/topologies/{name}.toml", picture],
                                  capture_output=True, text=True, timeout=PATIENCE_S, check=False)
            self.assertEqual((done.returncode, done.stdout), (0, f"{picture}\n"), done.stderr)
            root = ElementTree.parse(picture).getroot()
            shapes = [one.get("class") for one in root]
            self.assertEqual([shapes.count(kind) for kind in ("host", "switch", "radio", "wire")],
                             [hosts, switches, radios, lines])
            left, top, width, height = map(float, root.get("viewBox").split())
            places = [(float(one.get("cx")), float(one.get("cy"))) for one in root
                      if one.get("class") == "host"]
            self.assertTrue(all(left < x < left + width and top < y < top + height for x, y in places))
            nearest = min(math.dist(a, b) for i, a in enumerate(places) for b in places[:i])
            self.assertGreater(nearest, 26, "no two hosts lie over one another")

    def test_check_needs_no_kernel(self):
        done = subprocess.run([ORRERY, "run", "lab", "--quiet", "--set", "check=yes",
                               f"topology={self.two('true')}", f"kernel={self.folder}/nothing"],
                              capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)


@NEEDS_HOSTS
class Hosts(Case):
    def test_times_are_those_of_the_closed_form_on_every_engine(self):
        expected = None
        for engine in (["sequential"], ["conservative", "--workers", "2"],
                       ["timewarp", "--workers", "2"], ["auto", "--hand-over-every", "20"]):
            name = engine[0]
            done = self.run_lab(MODELS / "lab/topologies/three-hosts.toml", "--engine", *engine,
                                folder=name)
            self.assertEqual(done.returncode, 0, done.stderr)
            fingerprint = [line for line in done.stdout.splitlines() if "fingerprint" in line]
            left = {path.relative_to(self.folder / name): path.read_bytes()
                    for path in sorted((self.folder / name).glob("*/*"))
                    if path.name == "console" or path.suffix == ".pcap"}
            self.assertEqual(len(left), 7)
            expected = expected or (fingerprint, left)
            self.assertEqual((fingerprint, left), expected, name)
        # Echoes of 98 bytes at 10 and 1 Mbit/s, and 15 ms, there and back.
        exact = 2 * (98 * 8 * 100 + 98 * 8 * 1000 + 15_000_000)
        sent, seen = {}, []
        for at, frame in frames(self.folder / "sequential/a/eth0.pcap"):
            if frame[12:14] != b"\x08\x00" or frame[23] != 1:
                continue
            kind, number = frame[34], frame[40:42]
            if kind == 8:
                sent[number] = at
            else:
                seen.append(at - sent[number])
        self.assertEqual(len(seen), 5)
        self.assertEqual(seen[1:], [exact] * 4, "all but the first, which asks for addresses")
        self.assertIn("time=31.7 ms", self.console("a", "sequential"))

    def test_results_do_not_depend_on_how_far_hosts_run_at_once(self):
        busy = self.folder / "busy.toml"
        (self.folder / "talk.py").write_text("""
import socket, sys, threading, time
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
if sys.argv[1] == "b":
    udp.bind(("", 5000))
    udp.settimeout(2)
    server = socket.create_server(("", 5000))
    def take():
        peer, _ = server.accept()
        with peer:
            print("TCP", sum(len(part) for part in iter(lambda: peer.recv(4000), b"")), time.time())
    threading.Thread(target=take, daemon=True).start()
    try:
        count = 0
        while True:
            udp.recv(2000)
            count += 1
    except TimeoutError:
        print("UDP", count, time.time())
else:
    time.sleep(0.5)
    with socket.create_connection(("10.0.0.2", 5000)) as peer:
        for i in range(200):
            udp.sendto(bytes(1400), ("10.0.0.2", 5000))
            peer.sendall(bytes(1000))
            time.monotonic()
        peer.shutdown(socket.SHUT_WR)
        peer.recv(1)
""")
        busy.write_text("""
[[host]]
name = "a"
memory = 64
system_call = "1us"
packet = "500ns"
files = { "/root/talk.py" = "talk.py" }
[[host.program]]
command = "python3 /root/talk.py a"
[[host]]
name = "b"
memory = 64
system_call = "1us"
files = { "/root/talk.py" = "talk.py" }
[[host.program]]
command = "python3 /root/talk.py b"
[[link]]
between = ["a", "b"]
addresses = ["10.0.0.1/24", "10.0.0.2/24"]
delay = "3ms"
rate = "20 Mbit/s"
jitter = "200us"
loss = 0.02
""")
        drifting = self.folder / "drifting.toml"
        drifting.write_text(busy.read_text()
                            .replace('name = "a"', 'name = "a"\nclock = { drift = "-99999 ppm" }')
                            .replace('name = "b"', 'name = "b"\nclock = { drift = "7.3 ppm" }'))
        for topology, windows in ((MODELS / "lab/topologies/three-hosts.toml", ("1s", "1ms", "1us")),
                                  (busy, ("1s", "1ms", "77us", "5us")),
                                  (drifting, ("1s", "1ms", "77us", "5us"))):
            said = set()
            for window in windows:
                folder = f"{topology.stem}-{window}"
                done = self.run_lab(topology, f"window={window}", folder=folder)
                left = b"".join(path.read_bytes()
                                for path in sorted(self.folder.glob(f"{folder}/*/*"))
                                if path.name == "console" or path.suffix == ".pcap")
                said.add((str(self.fingerprint(done)), left))
            self.assertEqual(len(said), 1, topology)
        self.assertIn("TCP 200000", self.console("b", "busy-5us"))

    def test_clocks_drift_exactly(self):
        """Times at which frames arrive, by the captures and by the clock of the host. They differ by
        the drift and the offset, rounded up to a nanosecond and then down to a reading's 256 ns."""
        (self.folder / "stamp.py").write_text("""
import socket, time
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.setsockopt(socket.SOL_SOCKET, 35, 1)  # SO_TIMESTAMPNS
udp.bind(("", 5000))
for _ in range(5):
    data, (stamp, *_), _, peer = udp.recvmsg(100, 100)
    seconds, ns = (int.from_bytes(stamp[2][i:i + 8], "little") for i in (0, 8))
    print("STAMP", data.decode(), seconds * 10**9 + ns, flush=True)
    udp.sendto(str(time.time_ns()).encode(), peer)
""")
        (self.folder / "ask.py").write_text("""
import socket, time
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(5):
    udp.sendto(str(i).encode(), ("10.0.0.2", 5000))
    time.sleep(0.7)
""")
        topology = self.folder / "clocks.toml"
        for drift, offset in (("123.456 ppm", -3_000_000), ("-99999.9 ppm", 10**9), ("1 ppb", 0)):
            topology.write_text(f"""
[[host]]
name = "a"
memory = 64
files = {{ "/root/ask.py" = "ask.py" }}
clock = {{ drift = "-100000 ppm" }}
[[host.program]]
at = "1s"
command = "python3 /root/ask.py"
[[host]]
name = "b"
memory = 64
clock = {{ drift = "{drift}", offset = "{offset} ns" }}
files = {{ "/root/stamp.py" = "stamp.py" }}
[[host.program]]
command = "python3 /root/stamp.py"
[[link]]
between = ["a", "b"]
addresses = ["10.0.0.1/24", "10.0.0.2/24"]
delay = "10ms"
""")
            self.fingerprint(self.run_lab(topology))
            number, unit = drift.split()
            rate = 1 + Fraction(number) / {"ppm": 10**6, "ppb": 10**9}[unit]
            udp = {frame[42:]: at for at, frame in frames(self.folder / "hosts/b/eth0.pcap")
                   if frame[12:14] == b"\x08\x00" and frame[23] == 17}
            stamps = re.findall(r"^STAMP (\d) (\d+)$", self.console("b"), re.MULTILINE)
            self.assertEqual([number for number, _ in stamps], list("01234"))
            start = 1_700_000_000 * 10**9 + offset
            for number, stamp in stamps:
                arrived = next(at for data, at in udp.items() if data.rstrip(b"\0") == number.encode())
                self.assertEqual(int(stamp) - start, math.ceil(arrived * rate) // 256 * 256)
            replies = {int(data): at for data, at in udp.items() if len(data.rstrip(b"\0")) == 19}
            self.assertEqual(len(replies), 5)
            for said, left in replies.items():
                self.assertGreaterEqual(left, (said - start) / rate)
                self.assertLess(left, (said - start) / rate + 1000)
        # The program of a began at 1 s by the clock of a, which shows 0.9 s in a second.
        first = min(at for at, frame in frames(self.folder / "hosts/a/eth0.pcap") if frame[23] == 17)
        self.assertGreater(first * 0.9, 10**9)
        self.assertLess(first * 0.9, 1.3 * 10**9)

    def test_a_host_that_nobody_talks_to_changes_nothing(self):
        """What is random has its name, not its number: losses, jitter, the air, and the hosts."""
        others = """
[[host]]
name = "x"
[[host.program]]
command = "echo $$ $RANDOM; head -c 8 /dev/urandom | od -x; ping -q -s 8 -i 0.02 -w 3 10.0.0.2"
[[host]]
name = "y"
[[host.program]]
command = "ping -q -s 8 -i 0.02 -w 3 10.0.1.3"
[[host]]
name = "z"
[[switch]]
name = "s"
[[radio]]
name = "air"
layout = "line"
fading = "rayleigh"
LINK[[link]]
between = ["x", "s"]
addresses = ["10.0.0.1/24", ""]
delay = "1ms"
jitter = "100us"
loss = 0.1
corruption = 0.1
[[link]]
between = ["s", "y"]
addresses = ["", "10.0.0.2/24"]
delay = "1ms"
jitter = "100us"
[[station]]
host = "y"
radio = "air"
address = "10.0.1.2/24"
[[station]]
host = "z"
radio = "air"
address = "10.0.1.3/24"
"""
        new = '[[host]]\nname = "new"\nipv6 = false\n'
        link = '[[link]]\nbetween = ["new", "s"]\ndelay = "5ms"\n'
        found = set()
        for name, text in (("without", others.replace("LINK", "")),
                           ("alone", new + others.replace("LINK", "")),
                           ("linked", new + others.replace("LINK", link))):
            topology = self.folder / f"{name}.toml"
            topology.write_text(text)
            self.fingerprint(self.run_lab(topology, "--until", "5s", folder=name))
            left = [path.read_bytes() for host in "xyz"
                    for path in sorted((self.folder / name / host).glob("*"))
                    if path.name == "console" or path.suffix == ".pcap"]
            self.assertEqual(len(left), 3 + 4)
            found.add(b"".join(left))
        self.assertEqual(len(found), 1)
        self.assertRegex(self.console("x", "linked"), "[1-9]% packet loss")
        another = self.run_lab(topology, "--until", "5s", "--seed", "2", folder="another")
        self.fingerprint(another)
        self.assertNotEqual(self.console("x", "another"), self.console("x", "linked"))

    def test_how_far_hosts_are_apart(self):
        """Two hosts of which each has something to do in each window, of 5 ms."""
        work = "i=0; while [ $i -lt 300 ]; do sleep 0.001; i=$((i + 1)); done"
        topology = self.two(work)
        topology.write_text(topology.read_text().replace('"sleep 3"', f'"{work}"'))
        alone = self.run_lab(topology, "--until", "2s", folder="alone")
        for engine in (["sequential"], ["conservative", "--workers", "2"]):
            file = self.folder / f"{engine[0]}.csv"
            done = self.run_lab(topology, f"spread={file}", "--until", "2s", "--engine", *engine)
            self.assertEqual(self.fingerprint(done), self.fingerprint(alone))
            head, *lines = file.read_text().splitlines()
            self.assertEqual(head, "wall_ns,least_ns,most_ns")
            self.assertGreater(len(lines), 60)  # 0.3 s, in windows
            noted = [tuple(map(int, line.split(","))) for line in lines]
            for wall, least, most in noted:
                self.assertTrue(wall >= 0 and 0 <= least <= most <= 2 * 10**9)
            apart = max(most - least for _, least, most in noted)
            self.assertGreater(apart, 0)
            if engine[0] == "sequential":  # who is behind goes on, for a window
                self.assertLessEqual(apart, 10 * 10**6)
                self.assertEqual([wall for wall, *_ in noted], sorted(wall for wall, *_ in noted))
        refused = self.run_lab(topology, f"spread={self.folder}/nowhere/file")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("--set spread=", refused.stderr)
        self.assertIn("No such file", refused.stderr)

    def test_each_ready_topology_runs(self):
        """As far as its hosts have begun."""
        ready = sorted((MODELS / "lab/topologies").glob("*.toml"))
        self.assertGreaterEqual(len(ready), 8)
        for topology in ready:
            every = all(map(has_linux, ("x86_64", "aarch64", "riscv64")))
            if {"sensors": not HAS_QEMU, "sensor-radio": not HAS_QEMU, "counted": not HAS_QEMU_LINUX,
                    "architectures": not every}.get(topology.stem):
                continue
            with self.subTest(topology.name):
                done = self.run_lab(topology, "--engine", "conservative", "--workers", "2", "--until",
                                    "200ms", folder=topology.stem)
                self.fingerprint(done)
                consoles = list((self.folder / topology.stem).glob("*/console"))
                self.assertTrue(consoles)
                for console in consoles:
                    self.assertNotIn("panic", console.read_text())
        self.assertEqual(self.hosts_left(), [])

    @unittest.skipUnless(shutil.which("sipp"), "there is no sipp here (Debian's sip-tester)")
    def test_the_live_page_shows_hosts_and_links(self):
        path = self.folder / "live.toml"
        path.write_text(TWO.format(command="while true; do echo '<b>here</b>'; sleep 1; done")
                        .replace("sleep 3", "sleep 100000"))
        with subprocess.Popen(self.words(path, "rate=50", "--live", "--until", "100000s"),
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as run:
            said = run.stderr.readline()
            if "http" not in said:
                run.kill()
                self.skipTest(f"there is no live page here: {said}")
            address = said[said.index("http"):].strip()
            for _ in range(PATIENCE_S):
                with urllib.request.urlopen(address + "state.json?wait=1", timeout=PATIENCE_S) as answer:
                    picture = json.load(answer)["show"]["picture"]
                if "here" in picture:
                    break
            urllib.request.urlopen(address + "stop", data=b"", timeout=PATIENCE_S).close()
            run.communicate(timeout=PATIENCE_S)
        self.assertIn("<td>&lt;b&gt;here&lt;/b&gt;</td>", picture)
        self.assertIn("a to b: ", picture)
        self.assertEqual(run.returncode, 130)

    def test_calls(self):
        said = set()
        for engine in (["sequential"], ["conservative", "--workers", "2"]):
            done = self.run_lab(MODELS / "lab/topologies/calls.toml", "--engine", *engine)
            said.add(str(self.fingerprint(done)))
            self.assertRegex(self.console("caller"), r"Successful call .* 8 *\n")
            self.assertRegex(self.console("caller"), r"Failed call .* 0 *\n")
        self.assertEqual(len(said), 1)
        # 50 packets of 214 bytes a second and call, each way, for the 4 s that it stands.
        packets = [frame for _, frame in frames(self.folder / "hosts/called/eth0.pcap")
                   if len(frame) == 214]
        self.assertAlmostEqual(len(packets), 2 * 8 * 4 * 50, delta=2 * 8 * 5)


@NEEDS_HOSTS
class Networks(Case):
    """Links, switches, radio channels and routes, and what the report says of hosts."""

    def test_a_switch_and_what_links_do(self):
        path = self.folder / "switch.toml"
        path.write_text("""
[[host]]
repeat = 3
name = "h{i}"
[[host.program]]
at = "9s"
command = "true"
[[switch]]
name = "s"
latency = "3us"
[[link]]
repeat = 3
between = ["h{i}", "s"]
addresses = ["10.0.0.{i}/24", ""]
delay = "1ms"
rate = "10 Mbit/s"
carrier = false
[[event]]
at = "1s"
host = "h1"
command = "ping -c 6 -i 1 -W 0.5 10.0.0.2"
[[event]]
at = "2.9s"
link = ["s", "h2"]
up = false
[[event]]
at = "3.9s"
link = ["s", "h2"]
up = true
delay = "2ms"
[[event]]
at = "5.5s"
partition = ["h1"]
""")
        said = set()
        for engine in (["sequential"], ["conservative", "--workers", "2"],
                       ["timewarp", "--workers", "2"]):
            said.add(str(self.fingerprint(self.run_lab(path, "--engine", *engine))))
        self.assertEqual(len(said), 1)
        sent, trips = {}, {}
        for at, frame in frames(self.folder / "hosts/h1/eth0.pcap"):
            if frame[12:14] != b"\x08\x00" or frame[23] != 1:
                continue
            number = int.from_bytes(frame[40:42], "big")
            if frame[34] == 8:
                sent[number] = at
            else:
                trips[number] = at - sent[number]
        # Echoes of 98 bytes, twice each way; the first asks for the address.
        exact = 2 * (2 * 98 * 8 * 100 + 2_000_000 + 3_000)
        self.assertEqual(sorted(sent), [1, 2, 3, 4, 5, 6])
        self.assertEqual(sorted(trips), [1, 2, 4, 5])
        self.assertEqual([trips[2], trips[4], trips[5]], [exact, exact + 2_000_000, exact + 2_000_000])
        self.assertIn("6 packets transmitted, 4 received", self.console("h1"))
        asked = [frame for _, frame in frames(self.folder / "hosts/h3/eth0.pcap")
                 if frame[12:14] == b"\x08\x00" and frame[23] == 1]
        self.assertEqual(asked, [], "the switch knows where the others are")

    def test_a_radio_channel(self):
        """Out of range, by way of another, from elsewhere; the rate of a saturated channel."""
        (self.folder / "flood.py").write_text("""
import socket
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(1000):
    udp.sendto(bytes(1000), ("10.0.0.2", 5000))
""")
        path = self.folder / "radio.toml"
        path.write_text("""
[[host]]
repeat = 3
name = "h{i}"
memory = 64
files = { "/root/flood.py" = "flood.py" }
setup = ["echo 1 >/proc/sys/net/ipv4/ip_forward",
         "echo 0 >/proc/sys/net/ipv4/conf/all/send_redirects"]
[[host.program]]
command = "sleep 8"
[[radio]]
name = "air"
layout = "line"
spacing = 50
queue = 10000
[[station]]
host = "h1"
radio = "air"
address = "10.0.0.1/24"
[[station]]
host = "h2"
radio = "air"
address = "10.0.0.2/24"
[[station]]
host = "h3"
radio = "air"
address = "10.0.0.3/24"
waypoints = ["3s 100 0", "3s 60 0"]
[[event]]
at = "1s"
host = "h1"
command = "ping -q -c 2 -i 0.2 -W 0.5 10.0.0.3"
[[event]]
at = "2s"
host = "h3"
command = "ip route add 10.0.0.1 via 10.0.0.2"
[[event]]
at = "2s"
host = "h1"
command = "ip route add 10.0.0.3 via 10.0.0.2; ping -c 2 -i 0.2 10.0.0.3; ip route del 10.0.0.3"
[[event]]
at = "3.5s"
host = "h3"
command = "ip route del 10.0.0.1; ping -c 2 -i 0.2 10.0.0.1"
[[event]]
at = "5s"
host = "h1"
command = "python3 /root/flood.py"
""")
        said = set()
        for words in (["--engine", "sequential"], ["window=7us", "--engine", "sequential"],
                      ["--engine", "conservative", "--workers", "2"],
                      ["--engine", "timewarp", "--workers", "2"]):
            done = self.run_lab(path, *words, "--out", str(self.folder / "report"), "--force")
            said.add(str(self.fingerprint(done)) + self.console("h1") + self.console("h3"))
        self.assertEqual(len(said), 1)
        first, second = self.console("h1"), self.console("h3")
        self.assertIn("2 packets transmitted, 0 received", first)
        self.assertIn("2 received", first)
        self.assertIn("ttl=63", first, "passed on by h2")
        self.assertIn("ttl=64", second, "it is nearer now")
        begun = []
        with open(self.folder / "report/air.csv", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                if int(row["bytes"]) == 1042 and int(row["tries"]) == 1:
                    begun.append(int(row["sent_ns"]))
        self.assertEqual(len(begun), 1000)
        # A frame of 1028 + 36 bytes at 12 Mbit/s, its acknowledgement of 14, and the pauses.
        cycle = 34_000 + 7.5 * 9_000 + 732_000 + 16_000 + 32_000 + 2 * 167
        measured = (max(begun) - min(begun)) / (len(begun) - 1)
        self.assertLess(abs(measured / cycle - 1), 0.01, (measured, cycle))

    def test_a_link_that_goes_down_is_seen_at_its_exact_time(self):
        # When the kernel of c says that a link has changed, it broadcasts which and how at once.
        source, program = self.folder / "tell.c", self.folder / "tell"
        source.write_text("""
#include <arpa/inet.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
int main(void) {
  const struct sockaddr_nl links = {.nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK};
  const struct sockaddr_in all = {AF_INET, htons(9), {inet_addr("10.0.9.255")}};
  const int kernel = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE), yes = 1;
  const int network = socket(AF_INET, SOCK_DGRAM, 0);
  struct { struct nlmsghdr header; struct ifinfomsg link; char rest[4000]; } message;
  setsockopt(network, SOL_SOCKET, SO_BROADCAST, &yes, sizeof yes);
  bind(kernel, (const struct sockaddr *)&links, sizeof links);
  while (recv(kernel, &message, sizeof message, 0) > 0) {
    char said[2] = {'0' + message.link.ifi_index - 2, message.link.ifi_flags & IFF_RUNNING ? 'U' : 'D'};
    sendto(network, said, 2, 0, (const struct sockaddr *)&all, sizeof all);
  }
  return 1;
}
""")
        subprocess.run(["gcc", "-O1", "-o", program, source], check=True)
        # The kernel tells of one that goes down at most once a second.
        down, up, apart, again = 1_503_217_123, 2_304_771_456, 4_000_000_001, 4_706_431_017
        path = self.folder / "links.toml"
        path.write_text(f"""
[[host]]
repeat = 2
name = "h{{i}}"
[[host]]
name = "c"
ipv6 = false
files = {{ "/root/tell" = "tell" }}
[[host.program]]
at = "1s"
command = "timeout 5 /root/tell; true"
[[link]]
between = ["h1", "h2"]
addresses = ["10.0.0.1/24", "10.0.0.2/24"]
delay = "3ms"
rate = "1 Mbit/s"
[[link]]
between = ["c", "h1"]
delay = "5ms"
[[link]]
between = ["c", "h2"]
addresses = ["10.0.9.1/24", "10.0.9.2/24"]
delay = "5ms"
[[link]]
between = ["c", "h1"]
delay = "5ms"
carrier = false
[[event]]
at = "1s"
host = "h1"
command = "cat /sys/class/net/eth0/carrier; ping -q -i 0.002 -c 900 10.0.0.2; true"
[[event]]
at = "1s"
host = "h2"
command = "ping -q -i 0.003 -c 500 10.0.0.1; true"
[[event]]
at = "2s"
host = "h2"
command = "cat /sys/class/net/eth0/carrier; ip link show eth0"
[[event]]
at = "{down}ns"
link = ["h1", "c"]
up = false
[[event]]
at = "{down}ns"
link = ["h1", "h2"]
up = false
[[event]]
at = "{up}ns"
link = ["h1", "c"]
up = true
[[event]]
at = "{up}ns"
link = ["h1", "h2"]
up = true
[[event]]
at = "{apart}ns"
partition = ["h1"]
until = "{again}ns"
""")
        said = set()
        for words in (["--engine", "sequential"], ["--engine", "conservative", "--workers", "2"],
                      ["--engine", "timewarp", "--workers", "2"], ["window=1ms"], ["window=41us"]):
            left = str(self.fingerprint(self.run_lab(path, "--until", "7s", *words)))
            said.add((left, self.console("h1"), self.console("h2")))
            told = [(at, frame[42:44]) for at, frame in frames(self.folder / "hosts/c/eth1.pcap")
                    if at > 1_000_000_000 and frame[:6] == b"\xff" * 6 and frame[12:14] == b"\x08\x00"]
            self.assertEqual(told, [(down, b"0D"), (up, b"0U"), (apart, b"0D"), (again, b"0U")], words)
        self.assertEqual(len(said), 1)
        self.assertTrue(self.console("h1").startswith("1\n"), "it is up")
        self.assertRegex(self.console("h2"), r"(?m)^0$", "it is down")
        self.assertIn("NO-CARRIER", self.console("h2"))

    def test_the_report_says_what_hosts_executed(self):
        (self.folder / "tool").write_text("#!/bin/sh\necho a tool\n")
        (self.folder / "tool").chmod(0o755)
        path = self.folder / "two.toml"
        path.write_text(TWO.format(
            command="/root/tool; cp /bin/true /tmp/made; /tmp/made; mount --bind /tmp/made "
                    "/usr/bin/env; /usr/bin/env; cp /bin/true /usr/bin/false; /usr/bin/false").replace(
                        'name = "a"\n', 'name = "a"\nfiles = { "/root/tool" = "tool" }\n'))
        said = set()
        for engine in (["sequential"], ["conservative", "--workers", "2"]):
            done = self.run_lab(path, "--out", str(self.folder / "report"), "--force", "--engine",
                                *engine)
            said.add(str(self.fingerprint(done)) + (self.folder / "hosts/executed.csv").read_text())
        self.assertEqual(len(said), 1)
        with open(self.folder / "hosts/executed.csv", newline="", encoding="ascii") as file:
            rows = {(row["path"], row["origin"]): row for row in csv.DictReader(file)}
        shell = Path("/bin/sh").resolve()
        for name, origin, of in ((str(shell), "machine", shell),
                                 ("/root/tool", "put in", self.folder / "tool"),
                                 ("/lab/init", "laboratory", KERNEL.with_name("init"))):
            content = of.read_bytes()
            row = rows[name, origin]
            self.assertEqual(row["sha256"], hashlib.sha256(content).hexdigest(), name)
            self.assertEqual(int(row["bytes"]), len(content))
        self.assertEqual(rows[str(shell), "machine"]["hosts"], "2")
        self.assertEqual(rows["/root/tool", "put in"]["hosts"], "1")
        self.assertTrue(any("/ld-linux" in name or "/ld-" in name for name, _ in rows))
        self.assertTrue(any(name.endswith("/libc.so.6") for name, _ in rows))
        for own in ("/tmp/made", "/usr/bin/false"):
            self.assertEqual(rows[own, "host"]["sha256"], "")
        self.assertNotIn(("/usr/bin/false", "machine"), rows)
        self.assertNotIn(("/usr/bin/env", "machine"), rows)
        self.assertEqual([key for key in rows if key[1] == "unknown"], [])
        results = json.loads((self.folder / "report/report.json").read_text())["results"]
        self.assertEqual(results["executed"]["value"], hashlib.sha256(
            (self.folder / "hosts/executed.csv").read_bytes()).hexdigest())
        self.assertEqual(results["executed_files"]["value"], len(rows))
        self.assertEqual(results["executed_cut"]["value"], 0)

    def test_a_ring_that_olsr_routes(self):
        """The shorter way is found, the longer one when a link of that is down; equal on engines."""
        path = self.folder / "ring.toml"
        path.write_text(olsr_row(5, "eth0 eth1", 7, "5ms") + """
[[link]]
between = ["h5", "h1"]
addresses = ["10.0.5.1/24", "10.0.5.2/24"]
delay = "5ms"
[[event]]
at = "2.5s"
host = "h1"
command = "ping -c 2 -i 0.2 10.0.3.1; ip route show proto 98"
[[event]]
at = "3.5s"
link = ["h2", "h3"]
up = false
[[event]]
at = "5.5s"
host = "h1"
command = "ping -c 2 -i 0.2 10.0.3.1"
[[event]]
at = "7.5s"
host = "h1"
command = "echo left: $(ip route show proto 98 | wc -l)"
""")
        said = set()
        for words in (["sequential"], ["conservative", "--workers", "2"]):
            done = self.run_lab(path, "--until", "9s", "--engine", *words)
            said.add(str(self.fingerprint(done)) + self.console("h1"))
        self.assertEqual(len(said), 1)
        console = self.console("h1")
        self.assertEqual(console.count("2 packets transmitted, 2 received"), 2, console)
        # An answer has passed one router less than there are hops.
        self.assertEqual(re.findall(r"bytes from 10.0.3.1: icmp_seq=2 ttl=(\d+)", console),
                         ["63", "62"], "by h2, and then by h5 and h4")
        self.assertRegex(console, r"10\.0\.3\.1 via 10\.0\.1\.2 dev eth0 .*metric 2 onlink")
        self.assertIn("left: 0", console, "a daemon that ends takes its routes with it")

    def test_olsrd_misses_routes_that_the_kernel_has_dropped(self):
        """As it does where an interface is switched off or loses its address, for a time in which no
        neighbour is lost."""
        path = self.folder / "dropped.toml"
        path.write_text(olsr_row(3, "$(ls /sys/class/net | grep eth)", 6, "1ms",
                                 'files = { "/root/drop" = "drop" }') + """
[[event]]
at = "3s"
host = "h1"
command = "sh /root/drop; ping -c 2 -i 0.2 10.0.2.2"
""")
        (self.folder / "drop").write_text("""
count() { echo $1: $(ip route show proto 98 | wc -l); }
count first
ip link set eth0 down
sleep 0.05
count off
ip link set eth0 up
sleep 0.01
count on
ip address del 10.0.1.1/24 dev eth0
sleep 0.05
count without
ip address add 10.0.1.1/24 dev eth0
sleep 0.01
count with
ip link set eth0 mtu 1400
sleep 0.01
count unchanged
""")
        self.fingerprint(self.run_lab(path, "--until", "7s"))
        console = self.console("h1")
        self.assertEqual(re.findall(r"(?m)^(.*): (\d)$", console),
                         [("first", "3"), ("off", "0"), ("on", "3"), ("without", "0"), ("with", "3"),
                          ("unchanged", "3")], console)
        self.assertIn("2 packets transmitted, 2 received", console)
        self.assertNotIn("the kernel takes no route", console)


@NEEDS_HOSTS
class Machines(Case):
    """What a host sees of its processor and its files."""

    def test_the_processor_is_the_same_everywhere(self):
        source, program = self.folder / "p.c", self.folder / "p"
        source.write_text("""
#include <cpuid.h>
#include <stdio.h>
#include <x86intrin.h>
int main(void) {
  unsigned a, b, c, d, core;
  char text[49] = "";
  for (unsigned leaf = 0; leaf < 16; ++leaf) {
    __cpuid_count(leaf, 0, a, b, c, d);
    printf("%x: %x %x %x %x\\n", leaf, a, b, c, d);
    if (leaf == 1) printf("rdrand %d avx %d\\n", !!(c & bit_RDRND), !!(c & bit_AVX));
  }
  for (unsigned i = 0; i < 3; ++i)
    __cpuid(0x80000002 + i, *(unsigned *)(text + 16 * i), *(unsigned *)(text + 16 * i + 4),
            *(unsigned *)(text + 16 * i + 8), *(unsigned *)(text + 16 * i + 12));
  puts(text);
  unsigned long long first = __rdtsc(), second = __rdtscp(&core);
  printf("%llu %llu\\n", first, second - first);
  unsigned long limit = 0;
  char valid;
  __asm__ volatile("lsl %2, %0" : "+r"(limit), "=@ccz"(valid) : "r"(0x7bUL));
  puts(valid ? "LSL shows a core" : "LSL shows nothing");
  return 0;
}
""")
        subprocess.run(["gcc", "-O1", "-o", program, source], check=True)
        path = self.folder / "two.toml"
        text = TWO.format(command="/root/p; cat /proc/cpuinfo /proc/version; python3 -c "
                          "\"import os, random; print(random.SystemRandom().random())\"")
        path.write_text(text.replace('name = "a"\n', f'name = "a"\nfiles = {{ "/root/p" = "{program}" }}\n'))
        said = set()
        for _ in range(3):
            self.fingerprint(self.run_lab(path, "--out", str(self.folder / "report"), "--force"))
            report = json.loads((self.folder / "report/report.json").read_text())
            shown = report["results"]["processor_shown"]["value"].split(", ")
            self.assertEqual(report["results"]["processor_hidden"]["value"], int(shown == ["none"]))
            hidden = "CPUID" not in shown
            said.add(self.console("a") if hidden else
                     re.sub("(?m)^[0-9a-f]: .*\n", "", self.console("a")))
        self.assertEqual(len(said), 1)
        said = said.pop()
        self.assertIn("LSL shows a core" if "LSL" in shown else "LSL shows nothing", said)
        if hidden:
            self.assertIn("Orrery laboratory, a processor in virtual time\n", said)
            self.assertIn("rdrand 0 avx 0", said)
        first, delta = next(line.split() for line in said.splitlines()
                            if line.replace(" ", "").isdigit() and len(line.split()) == 2)
        self.assertLess(int(first), 3 * 10**9, "since the start of the host")
        self.assertEqual(int(delta), 256, "what reading a clock takes")
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            model = next(line.split(":")[1].strip() for line in file if "model name" in line)
        if hidden:
            self.assertNotIn(model, said)
        self.assertNotIn(model, said[said.index("processor\t"):])

    def test_files_go_in_and_come_out(self):
        (self.folder / "in.txt").write_text("from outside\n")
        path = self.folder / "two.toml"
        path.write_text(TWO.format(
            command="cat /root/in.txt; mkdir /out/d; echo result >/out/d/f; ln -s /etc/hostname "
                    "/out/l; head -c 100M /dev/zero >/out/full; ls -l /out/full").replace(
                        'name = "a"\n', 'name = "a"\nfiles = { "/root/in.txt" = "in.txt" }\n'))
        self.fingerprint(self.run_lab(path))
        self.assertIn("from outside", self.console("a"))
        out = self.folder / "hosts/a/out"
        self.assertEqual((out / "d/f").read_text(), "result\n")
        self.assertFalse(os.path.lexists(out / "l"))
        self.assertLessEqual((out / "full").stat().st_size, 64 << 20)

    def test_files_show_no_dates_of_the_machine(self):
        """All that the run itself has made, in the host's root and in /out; and a file of /out has the
        time at which the host wrote it, also when nobody has it open any more."""
        path = self.folder / "two.toml"
        path.write_text(TWO.format(
            command="""
show() { stat -c "%n %x %y %z" "$@"; }
show / /home /etc/passwd /lab /lab/* /lab/files/* /root/in.txt /out
echo x >/out/f; mkdir /out/d; ln -s f /out/l; : >/out/empty; sleep 1
show /out/*
echo y >>/out/f; sleep 1
show /out /out/*
touch -d "2023-11-14 20:00:00" /out/d /out/f
show /out/d /out/f
[ /out/empty -nt /out/f ] && echo newer; cat /usr/bin/env >/dev/null
""").replace('name = "a"\n', 'name = "a"\nfiles = { "/root/in.txt" = "in.txt" }\n'))
        said = set()
        for text in ("one", "other"):
            (self.folder / "in.txt").write_text(text)
            self.fingerprint(self.run_lab(path))
            said.add(self.console("a"))
        self.assertEqual(len(said), 1)
        lines = said.pop().splitlines()
        self.assertIn("newer", lines)
        times = {}
        for line in lines:
            if line.startswith("/"):
                name, *dates = line.split(" ", 1)[0], *re.findall(r"\d+-\d\d-\d\d \S+", line)
                self.assertEqual(len(dates), 3, line)
                for date in dates:
                    self.assertRegex(date, r"2023-11-14 2[02]:\d\d:\d\d\.\d+\Z", line)
                times.setdefault(name, []).append(dates[1])
        written, again, given = times["/out/f"]
        self.assertGreater(float(again[-12:]) - float(written[-12:]), 0.99, times)
        self.assertEqual(given, "2023-11-14 20:00:00.000000000")
        self.assertEqual(times["/out/d"][-1], given)
        self.assertEqual(times["/out/empty"][0][:22], written[:22])

    def test_files_show_no_numbers_of_the_machine(self):
        """Nor do folders, what files take, and how full the machine is; and a file keeps its number
        when it gets another name, and shares it with no other."""
        path = self.folder / "two.toml"
        path.write_text(TWO.format(
            command="""
show() { stat -c "%n %i %b" "$@"; }
show / /etc/passwd /lab /lab/* /lab/files/* /root/in.txt /usr /usr/bin/env /out
ls -iaU /lab /lab/files; ls -ia /etc; df -B1 --output=target,size,avail,iavail /lab /usr /out
stat -f -c "%i %b %f" /lab /out
mkdir /out/d; echo x >/out/d/f; echo x >/out/g; show /out/* /out/d/*
mv /out/d /out/e; mkdir /out/d; echo y >/out/d/f; show /out/* /out/?/*; ls -iaU /out /out/e
cmp -s /out/d/f /out/e/f || echo differ
python3 -c "
import os
for folder in ('/lab', '/out', '/out/e'):
    for entry in os.scandir(folder):
        is_same = entry.inode() == entry.stat(follow_symlinks=False).st_ino
        print(entry.path, 'same' if is_same else 'other')"
""").replace('name = "a"\n', 'name = "a"\nfiles = { "/root/in.txt" = "in.txt" }\n'))
        said = set()
        for text in ("one", "other"):
            (self.folder / "in.txt").write_text(text)
            self.fingerprint(self.run_lab(path))
            said.add(self.console("a"))
        self.assertEqual(len(said), 1, said)
        said = said.pop()
        self.assertIn("differ\n", said)
        self.assertRegex(said, r"\n/lab\S* same\n")
        self.assertRegex(said, r"\n/out/e/f same\n")
        self.assertNotIn(" other\n", said)
        self.assertNotRegex(said, rf"\b{os.stat('/usr/bin/env').st_ino}\b")
        self.assertEqual(len(set(re.findall(r"(?m)^/out/\w(?:/f)? (\d+) ", said))), 5, said)

    def test_folders_are_read_in_an_order_that_is_not_the_machines(self):
        """It is made of the names, and a folder is read wholly, although entries go meanwhile."""
        def number(name):
            """FNV-1a of 48 bits, of a name below '/' (kernel/lab_file_order.c)."""
            found = 0
            for byte in ("/" + name).encode():
                found = (found ^ byte) * 0x100000001b3 % 2**48
            return found

        (self.folder / "in").mkdir()
        names = sorted((f"file{i}" for i in range(30)), key=number)
        for name in names[::2] + names[1::2]:
            (self.folder / "in" / name).touch()
        path = self.folder / "two.toml"
        path.write_text(TWO.format(command="""
ls -1aU /lab/files/0; mkdir /out/d; cp /lab/files/0/* /out/d; ls -1aU /out/d
python3 -c "
import os
os.mkdir('/out/long')
for i in range(2000):
    open(f'/out/long/{i:050}', 'w').close()
found = os.listdir('/out/long')
print(len(found), len(set(found)))"
rm -r /out/long && ls -1aU /out
""").replace('name = "a"\n', 'name = "a"\nfiles = { "/root/in" = "in" }\n'))
        self.fingerprint(self.run_lab(path, "--until", "20s"))
        expected = [".", "..", *names] * 2 + ["2000 2000", ".", "..", "d"]
        self.assertEqual(self.console("a").splitlines()[:len(expected)], expected)

    def test_a_program_that_fails_is_told(self):
        self.fingerprint(self.run_lab(self.two("no-such-program")))
        self.assertIn("lab: program 1 ended with 127", self.console("a"))

    def test_a_host_that_forks_without_end_reaches_its_own_limits(self):
        done = self.run_lab(self.two(": ; f() { f | f & }; f; sleep 1; echo alive"))
        self.fingerprint(done)
        self.assertIn("fork", self.console("a"))
        self.assertEqual(self.hosts_left(), [])

    def test_a_host_whose_power_is_cut(self):
        path = self.two("while sleep 1; do echo here; done")
        path.write_text(path.read_text() + '[[event]]\nat = "2.5s"\nhost = "a"\ncrash = true\n')
        done = self.run_lab(path, "--until", "5s", "--out", str(self.folder / "report"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.console("a").count("here"), 2)
        ends = (self.folder / "report/ends.csv").read_text().splitlines()
        self.assertEqual(len(ends), 3, ends)
        self.assertTrue(any(line.endswith("2500000000,1,") for line in ends), ends)

    def test_a_shell_on_a_host(self):
        begun = time.monotonic()
        done = subprocess.run([ORRERY, "lab", "shell", self.two("true"), "b", "--rate", "2",
                               f"folder={self.folder / 'hosts'}", f"kernel={KERNEL}"],
                              input="echo on $(hostname) $((6 * 7)); sleep 2\nexit\n", text=True,
                              capture_output=True, timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("on b 42", done.stdout)
        self.assertGreater(time.monotonic() - begun, 1, "two virtual seconds at twice the clock")
        self.assertEqual(self.hosts_left(), [])

    def test_the_same_in_every_run_and_another_by_seed(self):
        topology = self.two("head -c 8 /dev/urandom | od -An -tx1; date -u +%s.%N; "
                            "python3 -c 'print(hash(\"x\"))' || true")
        said = []
        for seed in (1, 1, 2):
            done = self.run_lab(topology, "--seed", str(seed))
            self.assertEqual(done.returncode, 0, done.stderr)
            said.append(self.console("a"))
        self.assertEqual(said[0], said[1])
        self.assertNotEqual(said[0], said[2])

    def test_a_host_sees_and_changes_nothing_of_the_machine(self):
        secret = self.folder / "secret"
        secret.write_text("the secret of the machine\n")
        usr = sorted(os.listdir("/usr"))
        topology = self.two(
            f"cat {secret}; cat /../../..{secret}; ln -s {secret} /tmp/l; cat /tmp/l; "
            f"echo spoilt >{secret}; echo spoilt >/lab/host && echo WROTE; rm -rf /usr/bin; "
            "echo spoilt >/usr/spoilt; ls /proc/1/root/home /home /root; ip route add default dev "
            "eth0; cat /etc/shadow; mount -o remount,rw /; ls /usr/spoilt && echo own")
        done = self.run_lab(topology)
        self.assertEqual(done.returncode, 3 if "switched off" in done.stderr else 0, done.stderr)
        said = self.console("a")
        self.assertNotIn("the secret of the machine", said)
        self.assertNotIn("WROTE", said)
        self.assertEqual(secret.read_text(), "the secret of the machine\n")
        self.assertEqual(sorted(os.listdir("/usr")), usr)
        self.assertTrue(os.listdir("/usr/bin"))
        self.assertEqual(self.hosts_left(), [])


@NEEDS_HOSTS
class Ranks(Case):
    """Hosts on several processes, which share no folder."""

    def left(self, folder):
        """What hosts have left, with its modes, and the list of what they executed."""
        top, left = self.folder / folder, {}
        for path in sorted(top.rglob("*")):
            name = path.relative_to(top)
            if name.name == "run.log":  # of a run in one process only
                continue
            kept = len(name.parts) == 1 or name.parts[1] in ("console", "out") or path.suffix == ".pcap"
            if not kept or (path.is_dir() and "out" not in name.parts[:-1]):
                continue
            facts = path.stat()
            what = path.read_bytes() if path.is_file() else None
            left[str(name)] = (what, facts.st_mode if "out" in name.parts else 0)
        return left

    def run_over(self, ranks, topology, *words):
        over = ["--ranks", str(ranks)] if ranks > 1 else []
        done = self.run_lab(topology, "--engine", "conservative", "--workers", "1", *over, *words,
                            folder=f"over{ranks}")
        self.assertEqual([str(one) for one in (self.folder / f"over{ranks}").glob(".rank*")], [])
        return self.fingerprint(done), self.left(f"over{ranks}")

    def test_three_hosts_and_a_star_are_those_of_one_process(self):
        star = self.folder / "star.toml"
        text = (MODELS / "lab/topologies/star-64.toml").read_text()
        self.assertIn("64", text)
        star.write_text(text.replace("64", "9"))
        for topology, left in ((MODELS / "lab/topologies/three-hosts.toml", 8), (star, 19)):
            alone = self.run_over(1, topology)
            self.assertGreaterEqual(len(alone[1]), left)
            for ranks in (2, 4):
                self.assertEqual(self.run_over(ranks, topology), alone, (topology, ranks))

    def test_what_hosts_leave_comes_to_rank_0(self):
        topology = self.two("mkdir -p /out/a/b; echo one >/out/a/b/one; chmod 640 /out/a/b/one; "
                            "dd if=/dev/zero of=/out/large bs=1M count=20 2>/dev/null; "
                            "truncate -s 3M /out/hole; mkfifo /out/pipe; ln -s /etc /out/link")
        topology.write_text(topology.read_text().replace(
            "sleep 3", "sleep 7; echo two >/out/two"))
        alone = self.run_over(1, topology)
        self.assertEqual(alone[1]["a/out/a/b/one"][0], b"one\n")
        self.assertEqual(len(alone[1]["a/out/large"][0]), 20 << 20)
        self.assertEqual(alone[1]["b/out/two"][0], b"two\n")
        self.assertIn("executed.csv", alone[1])
        self.assertEqual(self.run_over(2, topology), alone)

    def over_namespaces(self, of_rank_1, *words):
        """Two ranks with mounts of their own; the second executes `of_rank_1` first."""
        mpirun = shutil.which("mpirun")
        if mpirun is None:
            self.skipTest("there is no mpirun")
        script = self.folder / "rank.sh"
        script.write_text(f'''#!/bin/sh -e
[ "$OMPI_COMM_WORLD_RANK$PMI_RANK" = 0 ] || {of_rank_1}
exec "$@"
''')
        script.chmod(0o755)
        if os.geteuid() != 0:
            self.skipTest("mounts of two ranks, in which hosts start, need root")
        return subprocess.run(["unshare", "--mount", mpirun,
                               "--allow-run-as-root", "--oversubscribe", "-n", "2", "unshare",
                               "--mount", str(script), *words],
                              capture_output=True, text=True, timeout=PATIENCE_S, check=False)

    def test_machines_need_no_common_folder(self):
        topology = self.two("mkdir /out/a; echo one >/out/a/one; ping -c 3 10.0.0.2")
        topology.write_text(topology.read_text().replace("sleep 3", "sleep 5; echo two >/out/two"))
        alone = self.run_over(1, topology)
        (self.folder / "over2").mkdir()
        done = self.over_namespaces(f"mount -t tmpfs none {self.folder}/over2", *self.words(
            topology, "--engine", "conservative", "--workers", "1", folder="over2"))
        self.assertEqual((self.fingerprint(done), self.left("over2")), alone)

    def test_two_machines_with_networks_of_their_own(self):
        """Namespaces of mounts, network and name stand for machines; Open MPI's agent starts the second."""
        topology = self.two("mkdir /out/a; echo one >/out/a/one; ping -c 3 10.0.0.2")
        alone = self.run_over(1, topology)
        mpirun = shutil.which("mpirun")
        version = subprocess.run([mpirun or "false", "--version"], capture_output=True, text=True, check=False)
        if "Open MPI" not in version.stdout or os.geteuid() != 0:
            self.skipTest("there is no mpirun of Open MPI, or this is not root")
        (self.folder / "over2").mkdir()
        first, second = (f"orr{os.getpid()}{letter}" for letter in "ab")
        for command in (f"netns add {first}", f"netns add {second}",
                        f"link add v{first} netns {first} type veth peer name v{second} netns {second}"):
            if subprocess.run(["ip", *command.split()], capture_output=True, check=False).returncode != 0:
                self.skipTest("this machine has no network namespaces")
            if command.startswith("netns"):
                self.addCleanup(subprocess.run, ["ip", "netns", "del", command.split()[-1]], check=False)
        for number, name in enumerate((first, second), 1):
            for command in ("link set lo up", f"addr add 10.99.0.{number}/24 dev v{name}",
                            f"link set v{name} up"):
                subprocess.run(["ip", "-n", name, *command.split()], check=True)
        agent = self.folder / "agent"
        agent.write_text(f'''#!/bin/sh
shift
exec nsenter --net=/run/netns/{second} unshare --uts --mount sh -c "hostname second
mount -t tmpfs none {self.folder}/over2; $*"
''')
        agent.chmod(0o755)
        only = [word for kind in ("btl", "oob") for word in ("--mca", f"{kind}_tcp_if_include", "10.99.0.0/24")]
        words = [mpirun, "--allow-run-as-root", "--host", "10.99.0.1:1,10.99.0.2:1", "-n", "2", "--mca",
                 "plm_rsh_agent", str(agent), "--mca", "btl", "tcp,self", *only,
                 *self.words(topology, "--engine", "conservative", "--workers", "1", folder="over2")]
        done = subprocess.run(["nsenter", f"--net=/run/netns/{first}", "unshare", "--uts", "sh", "-c",
                               'hostname first; exec "$@"', "sh", *words],
                              capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        self.assertEqual((self.fingerprint(done), self.left("over2")), alone)

    def test_a_rank_that_dies_is_named_with_its_hosts(self):
        process = subprocess.Popen(self.words(self.two("while sleep 0.001; do :; done"), "--ranks", "2",
                                              "--engine", "conservative", "--until", "1000000s"),
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + PATIENCE_S
        while len(self.hosts_left()) < 2 and time.monotonic() < deadline:
            time.sleep(0.1)
        ranks = sorted(map(int, Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
                           .split()))
        os.kill(ranks[1], signal.SIGKILL)
        _, said = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 4, said)
        self.assertRegex(said, rf"rank 1 \(process {ranks[1]}, LPs \d \([ab]\)\) was ended by signal 9")

    def test_a_rank_with_other_files_is_refused_by_name(self):
        (self.folder / "tool.py").write_text("print(1)\n")
        (self.folder / "other.py").write_text("print(2)\n")
        topology = self.two("true")
        topology.write_text(topology.read_text().replace(
            'name = "a"', 'name = "a"\nfiles = { "/root/tool.py" = "tool.py" }'))
        done = self.over_namespaces(f"mount --bind {self.folder}/other.py {self.folder}/tool.py",
                                    *self.words(topology))
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, "rank 1 on host .*: the file /root/tool.py of host a "
                                      "'.*tool.py' differs from that of rank 0")


@NEEDS_HOSTS
class Ends(Case):
    """How hosts and runs end."""

    def test_nothing_is_left_of_a_run_that_is_killed(self):
        topology = self.two("while sleep 0.001; do :; done")
        process = subprocess.Popen(self.words(topology, "--until", "1000000s"),
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while len(self.hosts_left()) < 2 and time.monotonic() < deadline:
            time.sleep(0.1)
        limits = self.of_hosts("limits")
        self.assertTrue(limits)
        self.assertTrue(all(re.search(r"Max core file size +0 +0 ", one) for one in limits))
        self.assertTrue(all(re.search(fr"Max file size +{288 << 20} +{288 << 20} ", one)
                            for one in limits))
        process.send_signal(signal.SIGKILL)
        process.wait()
        while (self.hosts_left() or groups_left(process.pid)) and time.monotonic() < deadline:
            time.sleep(0.1)
        self.assertEqual(self.hosts_left(), [])
        self.assertEqual(groups_left(process.pid), [])
        self.assertNotIn(str(self.folder), Path("/proc/mounts").read_text())

    def test_control_groups_bound_a_host_where_there_are_some(self):
        topology = self.two("while sleep 0.001; do :; done")
        done = self.run_lab(topology, "--until", "1s", "--out", str(self.folder / "report"))
        self.fingerprint(done)
        results = json.loads((self.folder / "report/report.json").read_text())["results"]
        process = subprocess.Popen(self.words(topology, "--until", "1000000s"),
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        groups_of = {}
        while len(groups_of) < 6 and time.monotonic() < deadline:
            for one in self.hosts_left():
                try:
                    groups = Path(f"/proc/{one}/cgroup").read_text()
                    # One that ends loses its command line before its group.
                    if Path(f"/proc/{one}/cmdline").read_bytes().startswith(b"kernel\0"):
                        groups_of[one] = groups
                except OSError:
                    pass
        groups = groups_left(process.pid)
        process.send_signal(signal.SIGINT)
        process.wait()
        self.assertEqual(groups_left(process.pid), [])
        if results["limited_by_cgroup"]["value"] == 0:
            self.assertEqual(groups, [])
            self.skipTest("this machine lets us make no control groups")
        self.assertIn(len(groups), (2, 4))
        self.assertGreaterEqual(len(groups_of), 6, "kernels and their programs")
        for one in groups_of.values():
            self.assertIn(f"/orrery-{process.pid}-", one)

    @staticmethod
    def signal_all(processes, number):
        for one in processes:
            with contextlib.suppress(OSError):
                os.kill(int(one), number)

    @staticmethod
    def are_stopped(processes):
        """Whether all that are left are stopped, some for their tracer."""
        for one in processes:
            with contextlib.suppress(OSError):
                if Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()[0] not in "TtZX":
                    return False
        return True

    def stop_and_continue(self, process):
        """Once all processes of a run, once those of hosts, and once these are only continued."""
        for first in ([str(process.pid)], []):
            stopped = first + self.hosts_left()
            self.signal_all(stopped, signal.SIGSTOP)
            deadline = time.monotonic() + 60
            while not self.are_stopped(stopped):
                self.assertLess(time.monotonic(), deadline, "a stop signal does not stop")
            self.signal_all(stopped, signal.SIGCONT)
        self.signal_all(self.hosts_left(), signal.SIGCONT)

    def test_a_run_that_is_stopped_and_continued_has_the_same_results(self):
        topology = self.two("for i in $(seq 300); do /bin/true; done; ping -c 20 -i 0.1 10.0.0.2; date +%N")

        def left(folder):
            return [(self.folder / folder / one).read_bytes()
                    for one in ("a/console", "a/eth0.pcap", "b/console", "b/eth0.pcap")]

        expected = self.fingerprint(self.run_lab(topology, folder="whole"))
        for attempt in range(3):
            process = subprocess.Popen(self.words(topology), stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True)
            rounds = 0
            while process.poll() is None:
                if self.hosts_left():
                    self.stop_and_continue(process)
                    rounds += 1
            said, complaint = process.communicate(timeout=PATIENCE_S)
            self.assertEqual(process.returncode, 0, complaint)
            self.assertGreater(rounds, 3, attempt)
            self.assertEqual([line for line in said.splitlines() if "fingerprint" in line], expected)
            self.assertEqual(left("hosts"), left("whole"))

    def kill_a(self, topology, *words):
        """A run whose host a is killed when its program has begun."""
        process = subprocess.Popen(self.words(topology, *words), stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 60
        console = self.folder / "hosts/a/console"
        while time.monotonic() < deadline and not (
                console.exists() and "here I am" in console.read_text()):
            time.sleep(0.02)
        for one in self.hosts_left():
            link = Path(f"/proc/{one}/fd/1")
            if Path(f"/proc/{one}/cmdline").read_bytes().startswith(b"kernel\0") and \
                    os.readlink(link).endswith("/hosts/a/console"):
                os.kill(int(one), signal.SIGKILL)
                break
        return process

    def test_a_host_that_is_killed_ends_the_run_with_its_name(self):
        topology = self.two("echo here I am; while sleep 0.001; do :; done")
        process = self.kill_a(topology, "--until", "1000000s")
        _, said = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 3, said)
        self.assertRegex(said, r"host a: it has ended without being switched off; its console")
        self.assertEqual(self.hosts_left(), [])

    def test_a_program_that_outlives_the_others_does_not_hide_the_end(self):
        """It writes behind the last line of its host's kernel, for its interface goes then."""
        path = self.two("(ip monitor link &); sleep 1")
        path.write_text(path.read_text().replace("sleep 3", "(ip monitor link &); sleep 1"))
        prints = set()
        for engine in ("sequential", "conservative", "auto"):
            done = self.run_lab(path, "--engine", engine, "--out", str(self.folder / "report"), "--force")
            prints.add(str(self.fingerprint(done)))
            self.assertTrue(self.console("a").startswith("reboot: Power down\n"), self.console("a"))
            with open(self.folder / "report/ends.csv", encoding="utf-8") as file:
                self.assertEqual([(end["how"], end["why"]) for end in csv.DictReader(file)], [("0", "")] * 2)
        self.assertEqual(len(prints), 1)

    def test_one_that_may_end_lets_the_others_go_on(self):
        path = self.two("echo here I am; while sleep 0.001; do :; done")
        path.write_text(path.read_text().replace('name = "a"\n', 'name = "a"\non_exit = "continue"\n'))
        process = self.kill_a(path, "--until", "8s", "--out", str(self.folder / "report"))
        _, said = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 0, said)
        ends = (self.folder / "report/ends.csv").read_text().splitlines()
        self.assertTrue(any(",2,it has ended without being switched off" in line for line in ends), ends)
        self.assertEqual(self.repeatable(), "yes")

    def repeatable(self):
        report = json.loads((self.folder / "report/report.json").read_text())
        return report["results"]["repeatable"]["value"]

    def test_one_that_the_machine_gives_up_makes_the_run_one_of_its_kind(self):
        path = self.two("while :; do :; done")
        path.write_text(path.read_text().replace('name = "a"\n', 'name = "a"\non_exit = "continue"\n'))
        self.fingerprint(self.run_lab(path, "--until", "4s", "patience=1s", "--out",
                                      str(self.folder / "report")))
        why = "it has computed for 1 s of processor time without an end"
        self.assertEqual(self.repeatable(), f"no: host a: {why}")
        self.assertIn(f",2,{why}", (self.folder / "report/ends.csv").read_text())

    def test_one_that_computes_without_an_end_is_named(self):
        topology = self.two("echo here I am; while :; do :; done")
        done = self.run_lab(topology, "--until", "8s", "patience=1s")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertRegex(done.stderr, r"(?s)host a: it has computed for 1 s of processor time without "
                         r"an end; its console ends with.*here I am")
        self.assertEqual(self.hosts_left(), [])

    def test_one_that_writes_while_it_computes_is_named(self):
        """What it writes moves its time a little, so that it stops at the ends of its windows."""
        path = self.two("python3 -c 'while True: print(sum(range(50000)))'")
        path.write_text(path.read_text().replace('delay = "10ms"', 'delay = "100us"'))
        done = self.run_lab(path, "--until", "8s", "patience=1s")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("host a: it has computed for 1 s of processor time without an end", done.stderr)

    def test_one_that_panics_is_named(self):
        topology = self.two("echo 2 >/proc/sys/vm/panic_on_oom; tail /dev/zero")
        done = self.run_lab(topology, "--until", "8s")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertRegex(done.stderr, r"(?s)host a: .*; its console ends with.*panic_on_oom")
        self.assertEqual(self.hosts_left(), [])

    def test_a_second_run_in_the_same_folder_is_refused(self):
        topology = self.two("sleep 1000000")
        process = subprocess.Popen(self.words(topology, "--until", "1000000s"), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while len(self.hosts_left()) < 2 and time.monotonic() < deadline:
            time.sleep(0.1)
        done = self.run_lab(topology)
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(f"the folder of hosts '{self.folder}/hosts' is that of another run", done.stderr)

    def test_no_patience_is_refused(self):
        done = self.run_lab(self.two("true"), "patience=0s")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--set patience= is 1 s or more", done.stderr)

# What a host's kernel has, by commands of iproute2 (which each host has) and Python.
FEATURES = {
    "netem": "tc qdisc replace dev eth0 root netem delay 1ms",
    "tbf": "tc qdisc replace dev eth0 root tbf rate 1mbit burst 10k latency 50ms",
    "htb": "tc qdisc replace dev eth0 root handle 1: htb default 1 && "
           "tc class add dev eth0 parent 1: classid 1:1 htb rate 1mbit && "
           "tc filter add dev eth0 parent 1: u32 match ip dport 80 0xffff flowid 1:1",
    "fq_codel": "tc qdisc replace dev eth0 root fq_codel",
    "cake": "tc qdisc replace dev eth0 root cake bandwidth 10mbit",
    "police": "tc qdisc add dev eth0 ingress && tc filter add dev eth0 parent ffff: matchall "
              "action police rate 1mbit burst 10k",
    "veth": "ip link add v0 type veth peer name v1",
    "bridge": "ip link add b0 type bridge && ip link set v0 master b0",
    "vlan": "ip link add link eth0 name eth0.5 type vlan id 5",
    "bond": "ip link add bd0 type bond mode active-backup",
    "dummy": "ip link add d0 type dummy",
    "ifb": "ip link add i0 type ifb",
    "macvlan": "ip link add link eth0 name m0 type macvlan",
    "ipvlan": "ip link add link v1 name p0 type ipvlan",
    "vxlan": "ip link add x0 type vxlan id 1 dev eth0 dstport 4789",
    "geneve": "ip link add n0 type geneve id 1 remote 10.0.0.2",
    "gre": "ip link add g0 type gre remote 10.0.0.2 local 10.0.0.1",
    "ipip": "ip link add t0 type ipip remote 10.0.0.2 local 10.0.0.1",
    "sit": "ip link add s0 type sit remote 10.0.0.2 local 10.0.0.1",
    "tun": "ip tuntap add dev tun0 mode tun",
    "vrf": "ip link add vrf0 type vrf table 10",
    "wireguard": "ip link add wg0 type wireguard",
    "team": "ip link add team0 type team",
    "ECMP": "ip route add 10.9.0.0/24 nexthop via 10.0.0.2 nexthop via 10.0.0.3",
    "MPLS": "echo 1000 >/proc/sys/net/mpls/platform_labels && ip -f mpls route add 100 via inet 10.0.0.2",
    "rules": "ip rule add fwmark 1 table 100",
    "IPsec": "ip xfrm state add src 10.0.0.1 dst 10.0.0.2 proto esp spi 1 "
             "enc 'cbc(aes)' 0x00112233445566778899aabbccddeeff "
             "auth 'hmac(sha256)' 0x0011223344556677",
    "BBR": "echo bbr >/proc/sys/net/ipv4/tcp_congestion_control",
    "DCTCP": "grep dctcp /proc/sys/net/ipv4/tcp_available_congestion_control",
    "MPTCP": "grep 1 /proc/sys/net/mptcp/enabled",
    "SCTP": "python3 -c 'import socket; socket.socket(2, 1, 132)'",
    "AF_ALG": "python3 -c 'import socket; a = socket.socket(38, 5); a.bind((\"hash\", \"sha256\"))'",
    "AF_KEY": "python3 -c 'import socket; socket.socket(15, 3, 2)'",
    "ss": "ss -tuln",
    "network namespace": "ip netns add x && ip netns exec x ip link set lo up",
    "PID namespace": "test \"$(unshare -fp --mount-proc sh -c 'echo $$')\" = 1",
    "user namespace": "test \"$(unshare -Ur id -u)\" = 0",
    "user namespace of a user": "/lab/as nobody 'unshare -Ur true'",
    "control groups": "mkdir /sys/fs/cgroup/one && echo +memory +pids +cpu "
                      ">/sys/fs/cgroup/cgroup.subtree_control && test -e /sys/fs/cgroup/one/cpu.max",
    "seccomp": "grep 'Seccomp_filters' /proc/self/status",
    "mqueue": "touch /dev/mqueue/x",
    "io_uring": "python3 -c 'import ctypes; b = ctypes.create_string_buffer(256); "
                "assert ctypes.CDLL(None).syscall(425, 8, b) >= 0'",
    "BPF": "python3 -c 'import ctypes; b = ctypes.create_string_buffer(bytes([2, 0, 0, 0, 4, 0, 0, 0, "
           "4, 0, 0, 0, 1]), 72); assert ctypes.CDLL(None).syscall(321, 0, b, 72) >= 0'",
    "loop": "head -c 1000000 /dev/zero >/tmp/disk && losetup /dev/loop0 /tmp/disk",
    "fanotify": "python3 -c 'import ctypes; assert ctypes.CDLL(None).fanotify_init(0, 0) >= 0'",
    "keys": "test -e /proc/keys",
    "/dev/fd": "test -e /dev/fd/0 && test -e /dev/stderr",
    "configuration": "zcat /proc/config.gz | grep CONFIG_UML=y",
    "iptables": "iptables -t nat -A POSTROUTING -s 10.1.0.0/16 -j MASQUERADE && iptables -A INPUT -p "
                "tcp -m conntrack --ctstate NEW -m limit --limit 5/s -j LOG && "
                "iptables -t mangle -A FORWARD -p tcp --tcp-flags SYN,RST SYN -j TCPMSS "
                "--clamp-mss-to-pmtu",
    "ip6tables": "ip6tables -A INPUT -p icmpv6 -j REJECT",
    "nft": "nft add table inet t && nft 'add chain inet t c { type filter hook input priority 0; }' && "
           "nft add rule inet t c ct state established counter accept && "
           "nft add rule inet t c tcp dport 80 limit rate 5/second reject",
    "wg": "wg show wg0",
    "tcpdump": "timeout 1 tcpdump -i lo -c 1 -w /dev/null; test $? = 124",
    "strace": "strace -o /dev/null true",
}


@NEEDS_HOSTS
class Daily(Case):
    """What people who know Linux expect of a host."""

    def test_the_kernel_has_what_networks_are_made_of(self):
        tools = {name for name in ("iptables", "ip6tables", "nft", "wg", "tcpdump", "strace")
                 if shutil.which(name, path="/usr/sbin:/usr/bin:/sbin:/bin")}
        tried = {name: command for name, command in FEATURES.items()
                 if command.split()[0] in tools or name not in
                 ("iptables", "ip6tables", "nft", "wg", "tcpdump", "strace")}
        (self.folder / "try").write_text("".join(
            f"if said=$( ({command}) 2>&1); then echo has {name}; else echo lacks {name}: $said; fi\n"
            for name, command in tried.items()))
        path = self.folder / "two.toml"
        path.write_text(TWO.format(command="sh /root/try").replace(
            'name = "a"\n', 'name = "a"\nmemory = 64\nfiles = { "/root/try" = "try" }\n'))
        self.fingerprint(self.run_lab(path, "--until", "4s"))
        console = self.console("a")
        self.assertEqual(re.findall("(?m)^lacks .*$", console), [])
        self.assertEqual(re.findall("(?m)^has (.*)$", console), list(tried))

    @unittest.skipUnless(shutil.which("chronyd", path="/usr/sbin:/usr/bin"),
                         "there is no chronyd (package chrony)")
    def test_chronyd_corrects_a_clock(self):
        """The drift, and all of the offset but half of the difference between the two ways."""
        ready = (MODELS / "lab/topologies/clocks.toml").read_text().replace(
            "../programs", str(MODELS / "lab/programs"))
        topology = self.folder / "clocks.toml"
        topology.write_text(ready)
        fingerprints = {str(self.fingerprint(self.run_lab(topology, "--until", "40s", *words)))
                        for words in ([], ["window=1ms", "--engine", "conservative", "--workers", "2"])}
        self.assertEqual(len(fingerprints), 1)
        fast = [int(frame[42:]) - 1_700_000_000 * 10**9 - at
                for at, frame in frames(self.folder / "hosts/client/eth0.pcap")
                if frame[12:14] == b"\x08\x00" and frame[23] == 17 and frame[36:38] == b"\0\x09"]
        at_2_s, at_8_s = fast[8], fast[32]  # four packets a second
        self.assertAlmostEqual((at_8_s - at_2_s) / 6.0, 50_000, delta=100)
        for one in fast[-20:]:
            self.assertAlmostEqual(one, 10_000_000, delta=1_000)
        # The client's clock is the server's, and chronyd only measures: it sees 10 ms, again and again.
        topology.write_text(re.sub("(?m)^clock = .*$", "", ready).replace("iburst'", "noselect'"))
        self.fingerprint(self.run_lab(topology, "--until", "40s"))
        rows = [line.split() for line in (self.folder / "hosts/client/out/measurements.log")
                .read_text().splitlines()]
        measured = [row[11] for row in rows if "10.0.0.1" in row]
        self.assertGreater(len(measured), 10)
        self.assertEqual(set(measured), {"1.000e-02"})

    def test_long_frames_pass_where_the_link_takes_them(self):
        path = self.folder / "long.toml"
        path.write_text("""
[[host]]
name = "a"
[[host.program]]
command = \"\"\"
cat /sys/class/net/eth0/mtu
ping -q -c 2 -i 0.1 -s 8972 -M do 10.0.0.2 | grep received
ping -q -c 2 -i 0.1 -W 1 -s 4000 -M do 10.0.0.3 | grep received\"\"\"
[[host]]
name = "b"
[[host.program]]
command = "sleep 3"
[[host]]
name = "c"
[[host.program]]
command = \"\"\"
ip link set eth0 mtu 9000 || echo refused
ip link add link eth0 name eth0.5 type vlan id 5
ip link add link eth0.5 name twice type vlan id 6
ip link set eth0.5 up
ip link set twice up
ip address add 10.0.6.1/24 dev twice
ip neighbour add 10.0.6.2 lladdr ADDRESS_OF_A dev twice
ping -q -c 1 -W 1 -s 1472 -M do 10.0.6.2 | grep received\"\"\"
[[switch]]
name = "s"
[[link]]
between = ["a", "s"]
addresses = ["10.0.0.1/24", ""]
mtu = 9000
delay = "1ms"
[[link]]
between = ["b", "s"]
addresses = ["10.0.0.2/24", ""]
mtu = 9000
delay = "1ms"
[[link]]
between = ["c", "s"]
addresses = ["10.0.0.3/24", ""]
delay = "1ms"
""".replace("ADDRESS_OF_A", device_address("a").hex(":")))
        said = set()
        for engine in (["sequential"], ["conservative", "--workers", "2"]):
            done = self.run_lab(path, "--until", "4s", "--out", str(self.folder / "report"), "--force",
                                "--engine", *engine)
            said.add(str(self.fingerprint(done)) + self.console("a") + self.console("c"))
        self.assertEqual(len(said), 1)
        self.assertRegex(self.console("a"), r"(?s)9000\n2 packets transmitted, 2 received.*\n"
                                            r"2 packets transmitted, 0 received")
        self.assertIn("refused", self.console("c"))
        with open(self.folder / "report/traffic.csv", newline="", encoding="ascii") as file:
            fates = [(int(row["bytes"]), int(row["fate"])) for row in csv.DictReader(file)]
        self.assertEqual([one for one in fates if one[0] > 1518 and one[1] != 0], [(1522, 5)],
                         "two tags are one too many for this link")
        self.assertEqual(max(fates), (9014, 0))

    def test_names_users_and_folders_are_there(self):
        path = self.folder / "two.toml"
        path.write_text(TWO.format(command="""
getent hosts b localhost | tr -s " "; hostname
id postgres; readlink /var/run; stat -c "%a %U %n" /run/postgresql /var/log /tmp /home/user
cat /etc/fstab /etc/resolv.conf | wc -l; echo $(ls /sys/class/net); . /etc/os-release; echo "$ID"
""") + """
[[event]]
at = "1s"
host = "a"
user = "www-data"
command = "echo $(id -un) in $(pwd), 'all  quoted'"
[[event]]
at = "1s"
host = "b"
user = "nemo"
command = "true"
""")
        self.fingerprint(self.run_lab(path))
        system = re.search("(?m)^ID=(.*)$", Path("/usr/lib/os-release").read_text()).group(1)
        self.assertEqual(self.console("a").splitlines(), [
            "10.0.0.2 b", "::1 localhost ip6-localhost ip6-loopback", "a",
            "uid=101(postgres) gid=101(postgres) groups=101(postgres),111(ssl-cert)", "/run",
            "2775 postgres /run/postgresql", "755 root /var/log", "1777 root /tmp",
            "755 user /home/user", "2", "bonding_masters eth0 lo", system, "www-data in /var/www, all  quoted", "reboot: Power down"])
        self.assertIn("this host has no user 'nemo'", self.console("b"))
        self.assertIn("program 2 ended with 125", self.console("b"))

    def test_programs_that_poll_any_clock_get_on(self):
        """Each reading takes 256 ns, also of clocks that only ticks or processor time move."""
        source, program = self.folder / "poll.c", self.folder / "poll"
        source.write_text("""
#include <stdio.h>
#include <time.h>
#include <unistd.h>
static long now(int clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return time.tv_sec * 1000000000 + time.tv_nsec;
}
static void poll(int clock) {
  const long first = now(CLOCK_MONOTONIC), begun = now(clock);
  while (now(clock) == begun);
  printf("clock %d: %d\\n", clock, now(CLOCK_MONOTONIC) - first < 25000000);
}
int main(void) {
  poll(CLOCK_MONOTONIC_COARSE);
  poll(CLOCK_REALTIME_COARSE);
  poll(CLOCK_PROCESS_CPUTIME_ID);
  poll(CLOCK_THREAD_CPUTIME_ID);
  const clock_t begun = clock();
  while (clock() - begun < 1000);
  puts("clock()");
  usleep(980000 - now(CLOCK_REALTIME) % 1000000000 / 1000);
  const time_t second = time(NULL);
  while (time(NULL) == second);
  puts("time()");
  return 0;
}
""")
        subprocess.run(["gcc", "-O1", "-w", "-o", program, source], check=True)
        path = self.folder / "two.toml"
        for more in ("", 'system_call = "1us"\n'):
            path.write_text(TWO.format(command="/root/poll").replace(
                'name = "a"\n', f'name = "a"\n{more}files = {{ "/root/poll" = "{program}" }}\n'))
            self.fingerprint(self.run_lab(path, "--until", "4s"))
            self.assertEqual(self.console("a").splitlines()[:6],
                             ["clock 6: 1", "clock 5: 1", "clock 2: 1", "clock 3: 1", "clock()", "time()"])

    def test_hosts_differ_in_what_programs_take_for_random(self):
        path = self.folder / "six.toml"
        path.write_text("""
[[host]]
repeat = 6
name = "h{i}"
[[host.program]]
at = "1s"
command = "bash -c 'echo $RANDOM $$ $(date +%N)'"
""")
        said = set()
        for words in (["--engine", "sequential"], ["--engine", "conservative", "--workers", "2"]):
            self.fingerprint(self.run_lab(path, "--until", "2s", *words))
            said.add(tuple(self.console(f"h{i}").splitlines()[0] for i in range(1, 7)))
        self.assertEqual(len(said), 1, "and they are the same in each run")
        for column in zip(*(one.split() for one in said.pop())):
            self.assertEqual(len(set(column)), 6, column)

    def test_programs_lie_in_the_results_once(self):
        path = self.two("true")
        self.fingerprint(self.run_lab(path))
        first, second = (self.folder / f"hosts/{host}/guest/olsrd" for host in "ab")
        self.assertTrue(first.samefile(second))

    def daemons(self, name, until):
        """What hosts of a topology show, the same on two engines."""
        said = set()
        for engine in (["sequential"], ["conservative", "--workers", "2"]):
            done = self.run_lab(MODELS / f"lab/topologies/{name}.toml", "--until", until, "--engine",
                                *engine)
            said.add(str(self.fingerprint(done)) + "".join(
                one.read_text() for one in sorted((self.folder / "hosts").glob("*/console"))))
        self.assertEqual(len(said), 1)
        return said.pop()

    @unittest.skipUnless(shutil.which("dnsmasq", path="/usr/sbin") and
                         shutil.which("dhclient", path="/usr/sbin:/sbin"),
                         "there is no dnsmasq-base or no isc-dhcp-client here")
    def test_addresses_come_from_dnsmasq(self):
        said = self.daemons("addresses", "25s")
        self.assertEqual(len(set(re.findall(r"bound to (192\.168\.7\.\d+)", said))), 2, said)
        self.assertEqual(said.count("1 packets transmitted, 1 received"), 4, said)

    @unittest.skipUnless(shutil.which("sshd", path="/usr/sbin") and shutil.which("ssh"),
                         "there is no openssh-server here")
    def test_a_user_logs_in_by_ssh(self):
        said = self.daemons("ssh", "20s")
        self.assertIn("user on server\n200000 zeros\n", said)

    @unittest.skipUnless(list(Path("/usr/lib/postgresql").glob("*/bin/initdb")) and
                         shutil.which("psql"), "there is no postgresql here")
    def test_a_database_answers(self):
        said = self.daemons("database", "20s")
        self.assertIn("SELECT 1000\n333833500\n", said)

    @unittest.skipUnless(Path("/usr/lib/frr/ospfd").exists(), "there is no frr here")
    def test_routers_speak_ospf(self):
        said = self.daemons("ospf", "40s")
        self.assertEqual(re.findall(r"bytes from 10.1.0.2: icmp_seq=2 ttl=(\d+)", said), ["64", "62"],
                         said)


@NEEDS_HOSTS
class Hostile(Case):
    """Who has a host, as its root or in its kernel's place, has nothing of the machine."""

    def setUp(self):
        super().setUp()
        self.secret = self.folder / "secret"
        self.secret.write_text("the secret of the machine\n")

    def hostile_kernel(self, variant, abstract="nobody"):
        """A folder with what a host needs, of which the kernel is lab_hostile.c."""
        at = self.folder / f"kernel-{variant}"
        at.mkdir()
        for name in ("enter", "init", "off", "as", "shell", "olsrd"):
            shutil.copy(KERNEL.parent / name, at)
        subprocess.run(["gcc", "-O1", "-static", f'-DPLANTED="{self.secret}"', f'-DSOCKET="{abstract}"',
                        f"-DVARIANT={variant}", "-o", at / "linux",
                        Path(__file__).with_name("lab_hostile.c")], check=True)
        return at / "linux"

    def test_a_kernel_that_calls_the_machine_reaches_nothing(self):
        name = f"orrery-lab-test-{os.getpid()}"
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(f"\0{name}")
            listener.listen()
            done = self.run_lab(self.two("true"), kernel=self.hostile_kernel(0, name))
        said = self.console("a")
        self.assertIn("hostile has tried all", said)
        self.assertNotIn("REACHED", said)
        self.assertNotIn("no sockets at all", said)
        self.assertEqual(self.secret.read_text(), "the secret of the machine\n")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("host a: it could not be started; its console ends with", done.stderr)
        self.assertEqual(stat.S_IMODE((self.folder / "hosts/a/console").stat().st_mode) & 0o7111, 0)

    def test_a_kernel_that_speaks_wrongly_ends_the_run_with_a_sentence(self):
        for variant, sentence in ((1, "it shares memory that it could take away again"),
                                  (2, "it has computed for 1 s of processor time without an end"),
                                  (3, "its time went from [0-9]+ ns to [0-9]+ ns"),
                                  (5, "a table of its queue lies outside of the memory that it shares"),
                                  (6, "its queue offers more than it has")):
            done = self.run_lab(self.two("true"), "patience=1s", kernel=self.hostile_kernel(variant))
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertRegex(done.stderr, f"host [ab]: {sentence}; its console ends with")
            self.assertIn(f"variant {variant} begins", self.console("a"))
            self.assertNotIn("REACHED", self.console("a"))
            self.assertEqual(self.hosts_left(), [])

    def test_a_kernel_that_changes_a_queue_gets_nothing_back_into_another(self):
        done = self.run_lab(self.two("true"), "--until", "3s", kernel=self.hostile_kernel(4))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("variant 4 begins", self.console("a"))

    def test_signals_to_its_group_stay_with_a_host(self):
        topology = self.two("sleep 1000000")
        topology.write_text(topology.read_text().replace("sleep 3", "sleep 1000000"))
        process = subprocess.Popen(self.words(topology, "--until", "1000000s"),
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        # The outer process of a host is in a session of its own, and all that is the guest's in another.
        sessions = {}
        deadline = time.monotonic() + 60
        while len(sessions) < 4 and time.monotonic() < deadline:
            time.sleep(0.1)
            sessions = {}
            for one in self.hosts_left():
                with contextlib.suppress(OSError):
                    sessions.setdefault(os.getsid(int(one)), []).append(one)
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.assertNotIn(os.getsid(0), sessions)
        self.assertGreaterEqual(len(sessions), 4)

    def test_the_keys_of_the_machine_are_not_shown(self):
        self.fingerprint(self.run_lab(self.two("ls /etc/ssl; ls -A /etc/ssl/private /dev/sda /dev/vda")))
        self.assertNotIn("private\n", self.console("a").replace("/etc/ssl/private", ""))

    def test_a_root_that_mounts_what_it_likes_stays_in_its_root(self):
        """hostfs takes any path; and what it shows has no date of the run."""
        topology = self.two(f"""
mkdir /m
for path in /.. /../.. /out/.. /out/../.. /../result /../lab /../proc/1/root /lab/../.. /bin/../..; do
  mount -t hostfs -o $path none /m && echo MOUNTED $path
done
for number in 0 1 2 3 4 5 6 7 8 9 10 11 12; do
  mount -t hostfs -o /../proc/1/fd/$number/../../../.. none /m && echo MOUNTED $number
done
mount -t hostfs -o / none /m && stat -c "%n %x %y %z" /m /m/out /m/etc /m/lab; cat /m/{self.secret} /m/out/../..{self.secret}
umount /m; mount -t hostfs -o /out none /m && stat -c "%n %x %y %z" /m; echo kept >/m/kept
ln -s {self.secret} /out/link; cat /out/link; mkfifo /out/fifo; mknod /out/disk b 254 0
""")
        self.fingerprint(self.run_lab(topology))
        said = self.console("a")
        self.assertNotIn("MOUNTED", said)
        self.assertNotIn("the secret", said)
        dates = re.findall(r"(?m)^/m\S* (.*)$", said)
        self.assertEqual(len(dates), 5, said)
        for date in dates:
            self.assertEqual(set(re.findall(r"\d{4}-\d{2}-\d{2} \d{2}:\d{2}", date)), {"2023-11-14 22:13"})
        out = self.folder / "hosts/a/out"
        self.assertEqual(os.listdir(out), ["kept"])

    def test_the_vsyscall_page_shows_virtual_time(self):
        (self.folder / "v.c").write_text("""
#include <stdio.h>
#include <sys/time.h>
int main(void) {
  struct timeval now = {0, 0};
  unsigned core = 7;
  ((long (*)(struct timeval *, void *))0xffffffffff600000UL)(&now, 0);
  printf("%ld %ld", (long)now.tv_sec, ((long (*)(long *))0xffffffffff600400UL)(0));
  ((long (*)(unsigned *, void *, void *))0xffffffffff600800UL)(&core, 0, 0);
  printf(" %u\\n", core);
  return 0;
}
""")
        subprocess.run(["gcc", "-O1", "-o", self.folder / "v", self.folder / "v.c"], check=True)
        path = self.two("sleep 2; /root/v")
        path.write_text(path.read_text().replace(
            'name = "a"\n', f'name = "a"\nfiles = {{ "/root/v" = "{self.folder}/v" }}\n'))
        self.fingerprint(self.run_lab(path))
        self.assertIn("1700000002 1700000002 0\n", self.console("a"))

    def test_what_is_left_in_out_comes_home_or_is_an_error(self):
        """Depth, holes and links are the host's to choose; 64 MiB are the most."""
        path = self.two("mkdir -p /out/kept; echo result >/out/kept/f; chmod 0 /out/kept; cd /out; "
                        "truncate -s 200M holes; for i in $(seq 150); do mkdir deep; cd deep; done; "
                        "echo last >f; truncate -s 1G /out/kept/big; echo ended with $?")
        self.fingerprint(self.run_lab(path))
        self.assertIn("ended with 1", self.console("a"))
        out = self.folder / "hosts/a/out"
        self.assertEqual((out / "kept/f").read_text(), "result\n")
        self.assertEqual((out / "/".join(["deep"] * 150) / "f").read_text(), "last\n")
        self.assertLess((out / "holes").stat().st_blocks, 1000)
        for command, sentence in (
                ("echo x >/out/x; cd /out; for i in $(seq 600); do mkdir d; cd d; done",
                 "'d' of /out could not be kept: folders are nested too deeply"),
                ("head -c 20M /dev/zero >/out/a; ln /out/a /out/b; ln /out/a /out/c; ln /out/a /out/x",
                 "of /out could not be kept: there is more than /out may hold")):
            done = self.run_lab(self.two(command))
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn("host a: not all that it left in /out could be kept; its console ends with",
                          done.stderr)
            self.assertIn(sentence, done.stderr)
            self.assertTrue((out / "x").exists() or (out / "b").exists())

    def test_a_program_that_looks_at_many_files_at_once_has_memory(self):
        """Each level looks for all above it, which are 11,000 files in no time."""
        done = self.run_lab(self.two("python3 -c 'import os; os.makedirs(\"/out\" + \"/deep\" * 150)'; "
                                     "find /out -name deep | wc -l"))
        self.fingerprint(done)
        self.assertEqual(self.console("a").splitlines()[0], "150", self.console("a"))

    def test_a_root_that_cannot_be_made_ends_the_run(self):
        root = self.folder / "root"
        shell = Path("/bin/sh").resolve()
        for one in ("/bin/sh", *re.findall(r"/\S+", subprocess.run(
                ["ldd", shell], capture_output=True, text=True, check=True).stdout)):
            (root / one[1:]).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(one, root / one[1:])
        path = self.two("echo $(while read -r line; do echo $line; done </etc/hostname)")
        path.write_text(path.read_text().replace('name = "a"\n', f'name = "a"\nroot = "{root}"\n'))
        self.fingerprint(self.run_lab(path, "--until", "1s"))
        self.assertIn("a\n", self.console("a"), "a shell is all that a host needs")
        (root / "bin/sh").unlink()
        done = self.run_lab(path)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("lab: open /bin/sh: No such file or directory", done.stderr)

    def test_the_same_without_being_root(self):
        """Hosts of another user of the machine do the same to the bit."""
        if os.geteuid() != 0:
            self.skipTest("only root can become somebody else")
        as_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        if subprocess.run([*as_nobody, "test", "-x", ORRERY, "-a", "-r", KERNEL], check=False).returncode:
            self.skipTest("this folder is not for other users")
        topology = self.two("id; ls -ln / /etc /usr/bin/mount /out; touch /usr/x && echo x >/out/f; df /out; "
                            "mount; chmod 400 /out/f; echo y >>/out/f; ls -l /out; cat /out/f")
        prints = set()
        for who in ([], as_nobody):
            self.folder.chmod(0o777)
            shutil.rmtree(self.folder / "hosts", ignore_errors=True)
            done = subprocess.run([*who, *self.words(topology)], capture_output=True, text=True,
                                  timeout=PATIENCE_S, check=False, cwd=self.folder)
            prints.add((str(self.fingerprint(done)), self.console("a")))
            self.assertEqual((self.folder / "hosts/a/out/f").read_text(), "x\ny\n")
        self.assertEqual(len(prints), 1)


if __name__ == "__main__":
    unittest.main()
