#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The laboratory through the command: hosts whose times are those of the closed form on every
engine, that see and change nothing of the machine, and that leave nothing behind.

Environment: ORRERY (the command), MODELS (the folder models), LAB_KERNEL (the hosts' kernel; what
needs one is skipped where it is not built).
"""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ORRERY, MODELS = os.environ["ORRERY"], Path(os.environ["MODELS"])
sys.path.insert(0, str(MODELS / "lab"))
from captures import frames  # noqa: E402

KERNEL = Path(os.environ["LAB_KERNEL"])
NEEDS_KERNEL = unittest.skipUnless(KERNEL.exists(), "the hosts' kernel is not built (./dev lab)")
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


def hosts_left():
    """Processes of hosts; each has the socket of its time among its arguments."""
    left = []
    for one in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if b"time-travel=ext:0:/lab/t" in one.read_bytes():
                left.append(one.parent.name)
        except OSError:
            pass
    return left


class Case(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="lab")
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)

    def words(self, topology, *words, folder="hosts"):
        sets = [word for word in words if "=" in word and not word.startswith("-")]
        return [ORRERY, "run", "lab", "--quiet", "--set", f"topology={topology}",
                f"folder={self.folder / folder}", f"kernel={KERNEL}", *sets,
                *(word for word in words if word not in sets)]

    def run_lab(self, topology, *words, **options):
        return subprocess.run(self.words(topology, *words, **options), capture_output=True,
                              text=True, timeout=PATIENCE_S, check=False)

    def two(self, command):
        path = self.folder / "two.toml"
        path.write_text(TWO.format(command=command))
        return path

    def console(self, host, folder="hosts"):
        return (self.folder / folder / host / "console").read_text(errors="replace")


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
        self.assertIn("there is shell", done.stderr)

    def test_no_kernel(self):
        said = self.refusal(f"topology={MODELS}/lab/topologies/three-hosts.toml",
                            f"kernel={self.folder}/nothing", f"folder={self.folder}/hosts")
        self.assertIn("./dev lab builds it", said)
        self.assertFalse((self.folder / "hosts").exists())

    def test_a_mistake_has_its_line(self):
        path = self.two("true")
        path.write_text(path.read_text() + "lose = 1\n")
        self.assertIn("two.toml:14: there is no key 'lose' here", self.refusal(f"topology={path}"))

    def test_check_needs_no_kernel(self):
        done = subprocess.run([ORRERY, "run", "lab", "--quiet", "--set", "check=yes",
                               f"topology={self.two('true')}", f"kernel={self.folder}/nothing"],
                              capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)


@NEEDS_KERNEL
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

    def fingerprint(self, done):
        self.assertEqual(done.returncode, 0, done.stderr)
        return [line for line in done.stdout.splitlines() if "fingerprint" in line]

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
        for topology, windows in ((MODELS / "lab/topologies/three-hosts.toml", ("1s", "1ms", "1us")),
                                  (busy, ("1s", "1ms", "77us", "5us"))):
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
            hidden = report["results"]["processor_hidden"]["value"] == 1
            said.add(self.console("a") if hidden else
                     re.sub("(?m)^[0-9a-f]: .*\n", "", self.console("a")))
        self.assertEqual(len(said), 1)
        said = said.pop()
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

    def test_a_program_that_fails_is_told(self):
        self.fingerprint(self.run_lab(self.two("no-such-program")))
        self.assertIn("lab: program 1 ended with 127", self.console("a"))

    def test_a_host_that_forks_without_end_reaches_its_own_limits(self):
        done = self.run_lab(self.two(": ; f() { f | f & }; f; sleep 1; echo alive"))
        self.fingerprint(done)
        self.assertIn("fork", self.console("a"))
        self.assertEqual(hosts_left(), [])

    def test_a_host_whose_power_is_cut(self):
        path = self.two("while sleep 1; do echo here; done")
        path.write_text(path.read_text() + '[[event]]\nat = "2.5s"\nhost = "a"\ncrash = true\n')
        done = self.run_lab(path, "--until", "5s", "--out", str(self.folder / "report"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.console("a").count("here"), 2)
        ends = (self.folder / "report/ends.csv").read_text().splitlines()
        self.assertEqual(len(ends), 3, ends)
        self.assertTrue(any(line.endswith("2500000000,1") for line in ends), ends)

    def test_a_shell_on_a_host(self):
        begun = time.monotonic()
        done = subprocess.run([ORRERY, "lab", "shell", self.two("true"), "b", "--rate", "2",
                               f"folder={self.folder / 'hosts'}", f"kernel={KERNEL}"],
                              input="echo on $(hostname) $((6 * 7)); sleep 2\nexit\n", text=True,
                              capture_output=True, timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("on b 42", done.stdout)
        self.assertGreater(time.monotonic() - begun, 1, "two virtual seconds at twice the clock")
        self.assertEqual(hosts_left(), [])

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
        self.assertEqual(hosts_left(), [])

    def test_nothing_is_left_of_a_run_that_is_killed(self):
        topology = self.two("while sleep 0.001; do :; done")
        process = subprocess.Popen(self.words(topology, "--until", "1000000s"),
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while len(hosts_left()) < 2 and time.monotonic() < deadline:
            time.sleep(0.1)
        self.assertTrue(hosts_left())
        process.send_signal(signal.SIGKILL)
        process.wait()
        while hosts_left() and time.monotonic() < deadline:
            time.sleep(0.1)
        self.assertEqual(hosts_left(), [])
        self.assertNotIn(str(self.folder), Path("/proc/mounts").read_text())

    def kill_a(self, topology, *words):
        """A run whose host a is killed when its program has begun."""
        process = subprocess.Popen(self.words(topology, *words), stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 60
        console = self.folder / "hosts/a/console"
        while time.monotonic() < deadline and not (
                console.exists() and "here I am" in console.read_text()):
            time.sleep(0.02)
        for one in hosts_left():
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
        self.assertEqual(hosts_left(), [])

    def test_one_that_may_end_lets_the_others_go_on(self):
        path = self.two("echo here I am; while sleep 0.001; do :; done")
        path.write_text(path.read_text().replace('name = "a"\n', 'name = "a"\non_exit = "continue"\n'))
        process = self.kill_a(path, "--until", "8s", "--out", str(self.folder / "report"))
        _, said = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 0, said)
        ends = (self.folder / "report/ends.csv").read_text().splitlines()
        self.assertTrue(any(line.endswith(",2") for line in ends), ends)


if __name__ == "__main__":
    unittest.main()
