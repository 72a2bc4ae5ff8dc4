#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hosts of the laboratory that are QEMU: each instruction takes its time, runs repeat to the
nanosecond whatever the machine does, and neither a guest nor its QEMU gets anything of the machine.

Environment: as lab_test.py. What needs QEMU or a compiler for its guests is skipped without them.
"""
import contextlib
import csv
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from lab_test import ORRERY, HAS_QEMU, HAS_QEMU_LINUX, KERNEL, MODELS, PATIENCE_S, WHY_NO_HOSTS, Case, frames

ARCHITECTURES = {"arm": 40, "riscv32": 243}
HERE = Path(__file__).parent


def why_no_qemu():
    if WHY_NO_HOSTS:
        return WHY_NO_HOSTS
    if not all((KERNEL.parent / f"qemu-{name}").exists() for name in ("aarch64", "riscv64")):
        return "the hosts' QEMU is not built (./dev lab --qemu)"
    if not shutil.which("clang") or not shutil.which("ld.lld"):
        return "there is no clang or lld here, which compile guests without an operating system"
    return None


WHY_NO_QEMU = why_no_qemu()
NEEDS_QEMU = unittest.skipIf(WHY_NO_QEMU, WHY_NO_QEMU or "")
HOST = """
[[host]]
name = "{name}"
machine = "qemu"
arch = "{arch}"
speed = "{speed}"
image = "{image}"
arguments = "{arguments}"
{more}
"""
WIRE = """
[[switch]]
name = "s"
[[link]]
between = ["{name}", "s"]
delay = "1ms"
{more}
"""


@contextlib.contextmanager
def busy_machine(count):
    """Other processes that compute meanwhile."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for one in others:
            one.kill()
            one.wait()


LINK = """
[[link]]
between = ["a", "b"]
addresses = ["10.0.0.1/24", "10.0.0.2/24"]
delay = "10ms"
rate = "10 Mbit/s"
mtu = 9000
"""


class QemuCase(Case):
    @classmethod
    def setUpClass(cls):
        if not WHY_NO_QEMU:
            holder = tempfile.TemporaryDirectory(prefix="lab")
            cls.addClassCleanup(holder.cleanup)
            cls.images = Path(holder.name)
            subprocess.run([MODELS / "lab/sensor/build", cls.images, "bare", HERE / "lab_bare_guest.c"],
                           check=True)

    def left(self, host):
        """The files of its /out."""
        out = self.folder / "hosts" / host / "out"
        return {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*") if path.is_file()}

    def one(self, arch, arguments, speed="8 MHz", host="", link=""):
        """A topology of one guest, lab_bare_guest.c, and a switch."""
        path = self.folder / "one.toml"
        path.write_text(HOST.format(name="a", arch=arch, speed=speed, arguments=arguments, more=host,
                                    image=self.images / f"bare-{arch}")
                        + WIRE.format(name="a", more=link))
        return path

    def times(self, folder="hosts"):
        """When the guest sent its frames, which are numbered."""
        sent = list(frames(self.folder / folder / "a/eth0.pcap"))
        self.assertEqual([int.from_bytes(frame[-4:], "big") for _, frame in sent],
                         list(range(len(sent))))
        return [at for at, _ in sent]

    def rows(self, table):
        with (self.folder / f"report/{table}.csv").open() as file:
            return list(csv.DictReader(file))

    def results(self, folder="hosts"):
        return b"".join(path.read_bytes() for path in sorted(self.folder.glob(f"{folder}/*/**/*"))
                        if path.name == "console" or path.suffix == ".pcap" or
                        ("out" in path.parts and path.is_file()))


class QemuRefusals(Case):
    """What needs no QEMU: the sentences about wrong topologies."""

    def topology(self, image="image", machine=40, **other):
        (self.folder / "image").write_bytes(b"\x7fELF\x01\x01\x01" + bytes(9) +
                                            struct.pack("<HH", 2, machine))
        (self.folder / "text").write_text("no program")
        values = {"name": "a", "arch": "arm", "speed": "8 MHz", "arguments": "", "more": ""} | other
        path = self.folder / "one.toml"
        path.write_text(HOST.format(image=image, **values) + WIRE.format(name="a", more=""))
        return path

    def refusal(self, *sets, end="", **other):
        path = self.topology(**other)
        path.write_text(path.read_text() + end)
        done = self.run_lab(path, f"qemu={self.folder}/nothing", *sets)
        self.assertEqual(done.returncode, 2, done.stderr)
        return done.stderr

    def test_keys(self):
        for said, other in (
                (":9: 'packet' is for hosts with machine = \"uml\", and this host has machine = \"qemu\"",
                 {"more": 'packet = "1us"'}),
                (":9: 'processors' is for another 'arch' than arm", {"more": "processors = 2"}),
                (":9: 'ipv6' is for another 'arch' than arm, which runs an image",
                 {"more": "ipv6 = false"}),
                (":5: 'arch' is one of arm, aarch64, riscv32, riscv64, x86_64", {"arch": "pdp11"}),
                (":7: 'image' is for another 'arch' than x86_64, which runs Linux", {"arch": "x86_64"}),
                (":9: 'root' is for another 'arch' than arm, which runs an image", {"more": 'root = "."'}),
                (":6: 'speed' is 1 kHz to 10 GHz", {"speed": "900 Hz"}),
                (":6: 'speed' is a number with a unit", {"speed": "fast"}),
                (":8: 'arguments' has at most 4095 bytes", {"arguments": "x" * 4096}),
                (":20: host 'a' executes no commands: its machine is \"qemu\"",
                 {"end": '[[event]]\nat = "1s"\nhost = "a"\ncommand = "true"\n'})):
            self.assertIn(f"one.toml{said}", self.refusal(**other))

    def test_a_key_that_is_missing(self):
        for key in ("arch", "speed", "image"):
            path = self.topology()
            path.write_text("".join(line for line in path.read_text().splitlines(True)
                                    if not line.startswith(key)))
            self.assertIn(f'a host with machine = "qemu" needs \'{key}\'', self.run_lab(path).stderr)

    def test_images(self):
        self.assertIn(":7: there is no '", self.refusal(image="nothing"))
        self.assertIn("is no program of 32 bits in the format ELF", self.refusal(image="text"))
        self.assertIn("is for riscv32, and this host has arch = \"arm\"", self.refusal(machine=243))
        self.assertIn("is for another architecture (62 in its ELF header)", self.refusal(machine=62))

    def test_no_qemu(self):
        self.assertIn("/nothing/qemu-aarch64': ./dev lab --qemu builds it, or --set qemu=FOLDER",
                      self.refusal())
        self.assertFalse((self.folder / "hosts").exists())

    def test_too_many_links(self):
        links = "".join(f'[[switch]]\nname = "s{i}"\n[[link]]\nbetween = ["a", "s{i}"]\ndelay = "1ms"\n'
                        for i in range(8))
        for name in ("qemu-riscv64", "enter"):
            (self.folder / name).touch()
        done = self.run_lab(self.topology(arch="riscv32", machine=243, more=links + "#"),
                            f"qemu={self.folder}")
        self.assertIn('host a has 9 links, and a host with arch = "riscv32" has at most 8', done.stderr)

    def test_no_shell(self):
        self.assertIn("host 'a' has no shell; only hosts with Linux have one", self.refusal("shell=a"))


@NEEDS_QEMU
class Counted(QemuCase):
    """The bars of virtual time: an instruction takes its time, no more and no less."""

    # With as many digits each: the guest reads them between two frames.
    LENGTHS = (1_000_000, 1_000_000, 2_334_002, 9_000_000)

    def test_a_loop_takes_its_instructions_by_the_speed(self):
        for arch in ARCHITECTURES:
            done_at, in_all = {}, set()
            for speed in (1_000_000_000, 500_000_000, 333_000_000, 8_000_000):
                topology = self.one(arch, "loops " + " ".join(map(str, self.LENGTHS)), f"{speed} Hz")
                self.fingerprint(self.run_lab(topology, "--force", "--out", str(self.folder / "report")))
                done_at[speed] = self.times()
                (row,) = self.rows("computed")
                in_all.add(int(row["instructions"]))
                # It never waits: the last instruction begins when it switches itself off.
                self.assertEqual(round(float(row["up"]) * 1e9),
                                 (int(row["instructions"]) - 1) * 1_000_000_000 // speed)
                self.assertEqual(self.console("a").splitlines(), ["bare: begins", "bare: ends"])
            self.assertEqual(len(in_all), 1)
            # At 1 GHz the times are the numbers of executed instructions.
            executed = done_at[1_000_000_000]
            took = [b - a for a, b in zip(executed, executed[1:])]
            self.assertEqual(len(took), len(self.LENGTHS))
            # Nothing but the length of its loop makes one round longer than another.
            for i in (2, 3):
                self.assertEqual(took[i] - took[1], self.LENGTHS[i] - self.LENGTHS[1])
            for speed, times in done_at.items():
                self.assertEqual(times, [count * 1_000_000_000 // speed for count in executed])

    def test_a_frame_that_waits_for_the_link_leaves_when_it_can(self):
        """100 bytes take 800 us at 1 Mbit/s; the guest's queue holds the frames meanwhile."""
        for arch in ARCHITECTURES:
            topology = self.one(arch, "frames 20 100", "333 MHz", link='rate = "1 Mbit/s"')
            self.fingerprint(self.run_lab(topology))
            times = self.times()
            self.assertEqual([b - a for a, b in zip(times, times[1:])], [800_000] * 19)

    def test_a_restart_begins_anew(self):
        for arch in ARCHITECTURES:
            sent = set()
            for window in ("1s", "142857ns"):
                self.fingerprint(self.run_lab(self.one(arch, "restarts 5"), f"window={window}"))
                sent.add(tuple(at for at, _ in frames(self.folder / "hosts/a/eth0.pcap")))
                self.assertEqual(self.console("a"), "bare: begins\n" * 6 + "bare: ends\n")
            (times,) = sent
            self.assertEqual(len(times), 6)

    def test_what_a_guest_does_all_the_time_does_not_depend_on_grants(self):
        for arch in ARCHITECTURES:
            for work in ("storm", "spin"):
                seen = set()
                for window in ("1s", "333333ns", "7919ns"):
                    done = self.run_lab(self.one(arch, work), f"window={window}", "--until", "30ms")
                    seen.add((str(self.fingerprint(done)), self.results()))
                self.assertEqual(len(seen), 1, (arch, work))
                self.assertEqual(len(self.times()) > 5, work == "storm")

    def test_one_that_executes_nothing_is_named(self):
        """The handler of its exception is no instruction either: none ends, so time stands still."""
        done = self.run_lab(self.one("riscv32", "stray"), "patience=1s")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("host a: it has computed for 1 s of processor time without an end", done.stderr)

    def test_a_card_without_carrier_sends_nothing(self):
        events = "".join(f'[[event]]\nat = "{at}"\nlink = ["a", "s"]\nup = {up}\n'
                         for at, up in (("20ms", "false"), ("30ms", "true")))
        seen = set()
        for window in ("1s", "333333ns"):
            path = self.one("riscv32", "storm")
            path.write_text(path.read_text() + events)
            done = self.run_lab(path, f"window={window}", "--until", "40ms")
            sent = [at for at, _ in frames(self.folder / "hosts/a/eth0.pcap")]
            self.assertEqual([at for at in sent if 20_000_000 <= at < 30_000_000], [])
            self.assertTrue(min(sent) < 20_000_000 and max(sent) > 39_000_000)
            seen.add((str(self.fingerprint(done)), self.results()))
        self.assertEqual(len(seen), 1)

    def test_an_idle_guest_is_not_woken(self):
        """A year of virtual time."""
        topology = self.one("riscv32", "sleep")
        self.fingerprint(self.run_lab(topology, "--until", "31536000s"))
        self.assertEqual(len(self.times()), 1)


@NEEDS_QEMU
class Sensors(QemuCase):
    """The ready topology: 16 sensors, of two architectures, and a Linux gateway."""

    TOPOLOGY = MODELS / "lab/topologies/sensors.toml"

    def sensors(self, *words, folder="hosts"):
        done = self.run_lab(self.TOPOLOGY, "--until", "1s", *words, folder=folder)
        return str(self.fingerprint(done)), self.results(folder)

    def setUp(self):
        super().setUp()
        if not HAS_QEMU:
            self.skipTest("the sensors are not built (./dev lab --qemu)")

    def test_runs_are_equal_on_all_engines_and_in_all_windows(self):
        expected = self.sensors("--engine", "sequential")
        for engine in (["conservative", "--workers", "2"], ["timewarp", "--workers", "2"],
                       ["auto", "--hand-over-every", "20"]):
            self.assertEqual(self.sensors("--engine", *engine), expected, engine)
        for window in ("1ms", "333333ns", "142857ns"):
            self.assertEqual(self.sensors(f"window={window}"), expected, window)

    def test_runs_are_equal_beside_other_work(self):
        expected = self.sensors()
        with busy_machine(2 * os.cpu_count()):
            for engine in ("sequential", "conservative", "timewarp"):
                self.assertEqual(self.sensors("--engine", engine), expected, engine)

    def test_the_energy_of_sensors_with_radio(self):
        """Two reports each: 40,000 instructions and what sending takes, 3 ms of listening. The start, which
        clears memory, takes nearly as many."""
        seen = set()
        for window in ("1s", "7919ns"):
            done = self.run_lab(MODELS / "lab/topologies/sensor-radio.toml", f"window={window}", "--until",
                                "2.5s", "--force", "--out", str(self.folder / "report"))
            work = [str(self.fingerprint(done))] + [tuple(float(row[key]) for key in ("instructions", "up", "cards_on"))
                    for row in self.rows("computed")]
            seen.add(tuple(work))
        self.assertEqual(len(seen), 1)
        self.assertEqual(len(work), 17)
        for instructions, up, on in work[1:]:
            self.assertTrue(155_000 < instructions < 165_000 and up == 2.5 and 0.006 < on < 0.0065, work)
        told = subprocess.run([MODELS / "lab/energy.py", self.folder / "report"], capture_output=True,
                              text=True, check=True).stdout.splitlines()
        self.assertEqual([line.split()[0] for line in told[1:]],
                         [f"{kind}{i}" for kind in "ar" for i in range(1, 9)])
        self.assertTrue(all(450 < float(line.split()[-1]) < 700 for line in told[1:]), told)

    def test_what_the_gateway_hears(self):
        self.sensors()
        heard = [line.split() for line in self.console("gateway").splitlines()]
        by_sensor = {}
        for _, address, number, _, period in heard:
            by_sensor.setdefault(address, []).append((int(number), int(period)))
        self.assertEqual(len(by_sensor), 16)
        for address, values in by_sensor.items():
            if address != "10.0.1.3":
                self.assertEqual(values, [(number, 100_000) for number in range(1, 10)], address)
        # The third answers to its new period, measures with it, and answers that it is off.
        third = by_sensor["10.0.1.3"]
        self.assertEqual(third[:5], [(number, 100_000) for number in range(1, 6)])
        self.assertIn((5, 30_000), third)
        self.assertEqual(third[-1][1], 0)
        self.assertEqual(self.console("a3").splitlines(),
                         ["sensor: up", "sensor: a new period", "sensor: a new period", "sensor: off"])

    def test_a_request_wakes_a_sensor_at_its_nanosecond(self):
        """The sensor sleeps then, and answers after whole instructions of 125 ns."""
        self.sensors()
        last, took = None, []
        for at, frame in frames(self.folder / "hosts/a3/eth0.pcap"):
            if frame[:6] != b"\xff" * 6 and frame[12:14] == b"\x08\x00":
                if frame[26:30] == bytes((10, 0, 1, 3)):
                    took.append(at - last)
                last = at
        self.assertEqual(len(took), 2)
        self.assertEqual([time % 125 for time in took], [0, 0], took)
        self.assertLess(max(took), 1_000_000)

    def test_the_report_has_the_image(self):
        self.sensors()
        with open(self.folder / "hosts/executed.csv", encoding="utf-8") as file:
            images = [row for row in csv.DictReader(file) if row["path"] == "image"]
        self.assertEqual([row["hosts"] for row in images], ["8", "8"])


@NEEDS_QEMU
@unittest.skipUnless(HAS_QEMU_LINUX, "the Linux for counted hosts is not there (./dev lab --qemu)")
class CountedLinux(QemuCase):
    """Linux on a processor whose instructions are counted."""

    ROOT = KERNEL.parent / "x86_64/busybox"

    def linux(self, command, other="sleep 6", more=""):
        path = self.folder / "linux.toml"
        path.write_text("".join(f"""
[[host]]
name = "{name}"
machine = "qemu"
arch = "x86_64"
speed = "500 MHz"
root = "{self.ROOT}"
ipv6 = false
[[host.program]]
command = '''{program}'''
""" for name, program in (("a", command), ("b", other))) + LINK + more)
        return path

    def test_runs_are_equal_on_engines_and_in_windows(self):
        topology = self.linux("sleep 1; ping -c 3 10.0.0.2; i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); "
                              "done; cat /proc/uptime; head -c 16 /dev/urandom | md5sum; echo $$ >/out/number; hostname")
        seen = set()
        for words in (["--engine", "sequential"],
                      ["--engine", "conservative", "--workers", "2", "window=1428571ns"]):
            done = self.run_lab(topology, "--until", "30s", *words)
            seen.add((str(self.fingerprint(done)), self.results()))
        self.assertEqual(len(seen), 1)
        said = self.console("a")
        self.assertIn("3 packets transmitted, 3 packets received", said)
        self.assertIn("\na\n", said)
        self.assertIn("reboot: Power down", said)

    def test_what_hosts_leave_comes_back_however_they_end(self):
        """The first switches itself off, the second crashes, at the same time as the run's end before."""
        topology = self.linux(
            "mkdir -p /out/d/e /out/empty; echo deep >/out/d/e/f; dd if=/dev/zero of=/out/large bs=1M "
            "count=20 2>/dev/null; ln -s /etc/passwd /out/link; mkfifo /out/fifo; echo cold >/out/hot; "
            "mv /out/hot /out/cold; as=$(/lab/as nobody \"touch /out/nobody; id -u\"); echo $as",
            "while true; do echo $((i += 1)) >>/out/count; sleep 0.01; done")
        expected = {"d/e/f": b"deep\n", "large": bytes(20 << 20), "cold": b"cold\n", "nobody": b""}
        self.fingerprint(self.run_lab(topology, "--until", "6s"))
        self.assertEqual(self.left("a"), expected)
        self.assertTrue((self.folder / "hosts/a/out/empty").is_dir())
        self.assertIn("65534\n", self.console("a"))
        self.assertIn("Power down", self.console("a"))
        at_the_end = self.left("b")["count"]
        self.assertEqual(at_the_end, b"".join(b"%d\n" % i for i in range(1, at_the_end.count(b"\n") + 1)))
        self.assertGreater(len(at_the_end), 100)
        path = self.linux("true", "while true; do echo $((i += 1)) >>/out/count; sleep 0.01; done",
                          '[[event]]\nat = "6s"\nhost = "b"\ncrash = true\n')
        self.fingerprint(self.run_lab(path, "--until", "7s"))
        self.assertEqual(self.left("b")["count"], at_the_end)

    def test_what_does_not_fit_is_an_error(self):
        done = self.run_lab(self.linux("dd if=/dev/zero of=/out/full bs=1M count=100; ls -l /out; "
                                       "truncate -s 100M /out/long"), "--until", "30s")
        self.assertIn("No space left on device", self.console("a"))
        self.assertIn("lab: 'long' of /out could not be kept: File too large", self.console("a"))
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("host a: not all that it left in /out could be kept", done.stderr)
        self.assertGreater(len(self.left("a")["full"]), 63 << 20)

    def test_one_that_fills_its_disk_with_anything(self):
        done = self.run_lab(self.linux(
            "disk=$(grep ' /out ' /proc/mounts | cut -d' ' -f1); yes | dd of=$disk bs=1M 2>&1; "
            "echo lives"), "--until", "60s")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("host a: not all that it left in /out could be kept", done.stderr)
        self.assertIn("lives", self.console("a"))
        self.assertIn("lab: 'all' of /out could not be kept: Input/output error", self.console("a"))
        self.assertEqual(self.left("a"), {})
        self.assertEqual(self.hosts_left(), [])

    def test_events_links_and_users(self):
        """A link goes down and up, a command comes at its time, and packets are as long as the link takes."""
        topology = self.linux(
            "ip link show eth0; ping -c 1 -s 8900 10.0.0.2; ip -6 address; while sleep 0.05; do read now </proc/uptime; "
            "echo $now $(cat /sys/class/net/eth0/carrier); done", more="""
[[event]]
at = "5s"
link = ["a", "b"]
up = false
[[event]]
at = "6s"
link = ["a", "b"]
up = true
[[event]]
at = "1s"
host = "a"
command = "echo I am $(id -u); ping -c 1 -W 1 10.0.0.2"
user = "nobody"
[[event]]
at = "7s"
host = "a"
crash = true
""")
        done = self.run_lab(topology, "--until", "8s", "--out", str(self.folder / "report"))
        self.fingerprint(done)
        said = self.console("a")
        self.assertIn("mtu 9000", said)
        self.assertIn("1 packets transmitted, 1 packets received", said)
        self.assertIn("I am 65534", said)
        seen = [(float(words[0]), words[-1]) for words in map(str.split, said.splitlines())
                if words and words[-1] in "01" and re.fullmatch(r"\d+\.\d+", words[0])]
        self.assertEqual({carrier for at, carrier in seen if 5.1 < at < 5.8}, {"0"})
        self.assertEqual({carrier for at, carrier in seen if at < 4.8 or at > 6.1}, {"1"})
        self.assertLess(seen[-1][0], 7)
        self.assertIn("7000000000,1,", (self.folder / "report/ends.csv").read_text())

    def test_a_shell(self):
        done = subprocess.run([ORRERY, "lab", "shell", self.linux("true"), "b", "--rate", "0",
                               f"folder={self.folder / 'hosts'}", f"qemu={KERNEL.parent}"],
                              input="echo on $(hostname) $((6 * 7)); sleep 1\nexit\n", text=True,
                              capture_output=True, timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("on b 42", done.stdout)
        self.assertEqual(self.hosts_left(), [])

    def test_processors_share_the_speed(self):
        """Two that compute take twice the time of one; their turns do not follow the grants."""
        topology = self.linux(
            "f() { i=0; while [ $i -lt 30000 ]; do i=$((i + 1)); done; }; now() { cut -d' ' -f1 /proc/uptime; "
            "}; nproc; "
            "now; f; now; f & f & wait; now; yes >/dev/null & ping -c 3 -i 0.1 10.0.0.2; kill $!; now")
        topology.write_text(topology.read_text().replace('name = "a"', 'name = "a"\nprocessors = 2'))
        seen = set()
        for window in ("1s", "333333ns", "142857ns"):
            done = self.run_lab(topology, "--until", "30s", f"window={window}")
            seen.add((str(self.fingerprint(done)), self.results()))
        self.assertEqual(len(seen), 1)
        said = self.console("a").splitlines()
        self.assertEqual(said[0], "2")
        begun, alone, both = (float(word) for word in said[1:4])
        self.assertAlmostEqual((both - alone) / (alone - begun), 2, delta=0.08)

    def test_one_that_panics_is_named(self):
        done = self.run_lab(self.linux("echo here I am; echo c >/proc/sysrq-trigger"), "--until", "30s")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("host a: it has reset itself, or broken down, without being switched off; its "
                      "console ends with", done.stderr)
        self.assertIn("here I am", self.console("a"))


@NEEDS_QEMU
class Wrong(QemuCase):
    """Guests and QEMUs that end or do what they should not."""

    def fake(self, *compile_words):
        """A folder with a program in the place of QEMU."""
        at = self.folder / "fake"
        shutil.rmtree(at, ignore_errors=True)
        at.mkdir()
        shutil.copy(KERNEL.parent / "enter", at)
        subprocess.run(["gcc", "-O1", "-static", *compile_words, f"-I{MODELS}/lab/qemu", "-o",
                        at / "qemu-aarch64"], check=True)
        return f"qemu={at}"

    def test_one_that_is_killed_ends_the_run_with_its_name(self):
        process = subprocess.Popen(self.words(self.one("arm", "spin"), "--until", "1000000s"),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while not (name := self.emulators()):
            self.assertIsNone(process.poll())
        os.kill(name[0], signal.SIGKILL)
        _, said = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 3, said)
        self.assertIn("host a: its QEMU has ended; its console", said)
        self.assertEqual(self.hosts_left(), [])

    def emulators(self):
        """Processes that execute this test's QEMU and have begun to compute."""
        found = []
        for one in self.hosts_left():
            with contextlib.suppress(OSError):
                if Path(f"/proc/{one}/cmdline").read_bytes().startswith(b"qemu\0") and \
                        "bare: begins" in self.console("a"):
                    found.append(int(one))
        return found

    def test_nothing_is_left_of_a_run_that_is_killed(self):
        process = subprocess.Popen(self.words(self.one("arm", "spin"), "--until", "1000000s"),
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not self.emulators():
            self.assertIsNone(process.poll())
        process.kill()
        process.wait()
        while self.hosts_left():
            pass

    def test_a_console_ends_at_its_limit(self):
        done = self.run_lab(self.one("arm", "", host='on_exit = "continue"'),
                            self.fake("-DVARIANT=12", HERE / "lab_hostile_qemu.c"))
        self.fingerprint(done)
        self.assertEqual(os.path.getsize(self.folder / "hosts/a/console"), 64 << 20)

    def test_one_that_may_end_lets_the_run_go_on(self):
        topology = self.one("arm", "sleep", host='on_exit = "continue"')
        done = self.run_lab(topology, self.fake("-DVARIANT=10", HERE / "lab_hostile_qemu.c"), "--out",
                            str(self.folder / "report"))
        self.fingerprint(done)
        self.assertIn(",2,its QEMU has ended", (self.folder / "report/ends.csv").read_text())

    def test_a_qemu_that_speaks_wrongly_ends_the_run_with_a_sentence(self):
        for variant, sentence in ((1, "its QEMU is from another version: ./dev lab --qemu builds it"),
                                  (2, "its QEMU sent a message (1) about another time"),
                                  (3, "its QEMU sent a message (2) with a frame that no card sends"),
                                  (4, "its QEMU sent a message (2) with a frame that no card sends"),
                                  (5, "its QEMU sent a message (2) about another time"),
                                  (6, "its QEMU sent a message (1) about another time"),
                                  (7, "its QEMU sent a message (3) about another time"),
                                  (8, "its QEMU sent a message (7) that there is not"),
                                  (9, "its QEMU sends without an end"),
                                  (10, "its QEMU has ended"),
                                  (11, "it has computed for 1 s of processor time without an end"),
                                  (13, "its QEMU sent a message (1) about work that is undone")):
            done = self.run_lab(self.one("arm", ""), f"patience={60 if variant == 9 else 1}s",
                                self.fake(f"-DVARIANT={variant}", HERE / "lab_hostile_qemu.c"))
            self.assertEqual(done.returncode, 3, (variant, done.stderr))
            self.assertIn(f"host a: {sentence}; its console ends with", done.stderr)
            self.assertIn(f"variant {variant} begins", self.console("a"))
            self.assertEqual(self.hosts_left(), [])

    def test_a_qemu_that_calls_the_machine_reaches_nothing(self):
        secret = self.folder / "secret"
        secret.write_text("the secret of the machine\n")
        name = f"orrery-lab-qemu-test-{os.getpid()}"
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(f"\0{name}")
            listener.listen()
            done = self.run_lab(self.one("arm", ""),
                                self.fake(f'-DPLANTED="{secret}"', f'-DSOCKET="{name}"', "-DVARIANT=0",
                                          "-DAS_QEMU",
                                          HERE / "lab_hostile.c"))
        said = self.console("a")
        self.assertIn("hostile has tried all", said)
        self.assertNotIn("REACHED", said)
        self.assertEqual(secret.read_text(), "the secret of the machine\n")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("host a: its QEMU has ended; its console ends with", done.stderr)


if __name__ == "__main__":
    unittest.main()
