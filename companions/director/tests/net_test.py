#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""orrery director net and set, with machine.cpp in place of QEMU: frames on virtual time, settings, and
machines that end, flood or send garbage. Needs ORRERY and MACHINE in the environment; ctest sets them."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "models/lab"))
from captures import frames  # noqa: E402
from director_test import PATIENCE_S, Case, needs_right

ORRERY = os.environ["ORRERY"]
MACHINE = os.environ["MACHINE"]
MILLISECOND = 1_000_000


def machine(name, task, more=""):
    return f"""
[[host]]
name = "{name}"
machine = "vm"
program = "{MACHINE}"
kernel = "{MACHINE}"
ready = "ready"
arguments = ["{task}"]
{more}
"""


def link(a, b, more='delay = "10ms"'):
    return f'\n[[link]]\nbetween = ["{a}", "{b}"]\n{more}\n'


class NetCase(Case):
    def setUp(self):
        super().setUp()
        self.out = self.folder / "out"

    def describe(self, *parts):
        path = self.folder / "machines.toml"
        path.write_text("".join(parts))
        return str(path)

    def net(self, description, *words):
        return self.run_director("net", description, "--out", self.out, "--ceiling", "50%", "--quiet",
                                 *words)

    def start_net(self, description, *words):
        run = self.start([ORRERY, "director", "net", description, "--out", str(self.out), "--ceiling",
                          "50%", "--quiet", *words])
        self.wait_until(lambda: (self.out / "control").exists() or run.poll() is not None)
        return run

    def set(self, *words):
        return self.run_director("set", self.out, *words)

    def status(self):
        return json.loads(self.set("status").stdout)

    def wait_until(self, is_true):
        end = time.monotonic() + PATIENCE_S
        while not is_true():
            self.assertLess(time.monotonic(), end, "nothing happened")
            time.sleep(0.02)

    def report(self):
        report = json.loads((self.out / "report.json").read_text())
        return report, {one["name"]: one for one in report["machines"]}


class NetRefusals(NetCase):
    def refuses(self, description, says):
        self.refused("net", description, "--out", self.out, says=says)

    def test_words(self):
        self.refused("nets", says="'orrery director' has 'net' and 'set', not 'nets'")
        self.refused("net", says="needs a file that describes machines")
        self.refused("net", "a.toml", "--pid", "1", says="--pid, --cgroup and --threads mean nothing")
        self.refused("--out", "x", "--pid", "1", says="--out and --seed are for 'orrery director net'")
        self.refused("set", "nowhere", says="needs the folder of a running director and settings")
        self.refused("set", self.folder, "status", says="no director runs in")

    def test_descriptions(self):
        self.refuses(str(self.folder / "none.toml"), "none.toml")
        self.refuses(self.describe('[[host]]\nname = "a"\nmachine = "uml"\n'),
                     "host 'a' .*'orrery run lab --set topology=")
        self.refuses(self.describe('[[host]]\nname = "a"\nmachine = "vm"\n'),
                     "needs an 'image' \\(of its disk\\) or a 'kernel'")
        self.refuses(self.describe(machine("a", "echo", 'system_call = "1us"')),
                     "'system_call' is for hosts with machine = \"uml\"")
        self.refuses(self.describe(machine("a", "echo", "weight = 0")), "weight")
        self.refuses(self.describe(machine("a", "echo", 'clock = { drift = "1 ppm" }')),
                     "leave 'clock' out")
        self.refuses(self.describe(machine("a", "echo"), '[[event]]\nat = "1s"\nhost = "a"\ncrash = true\n'),
                     "has no event 'crash'")

    def test_the_laboratory_refuses_virtual_machines(self):
        done = subprocess.run([ORRERY, "run", "lab", "--until", "1s", "--set",
                               "topology=" + self.describe(machine("a", "echo"))], capture_output=True,
                              text=True, timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("'orrery director net' runs it", done.stderr)

    def test_a_machine_that_does_not_start(self):
        self.refuses(self.describe(machine("a", "fail")),
                     "machine 'a' has ended before it was ready: exit code 3: the disk is on fire")
        missing = machine("a", "echo").replace(f'program = "{MACHINE}"', 'program = "nothing"')
        self.refuses(self.describe(missing), "exit code 127: nothing: No such file or directory")


@needs_right
class NetRuns(NetCase):
    def test_frames_take_the_delay_in_virtual_time(self):
        done = self.net(self.describe(machine("a", "echo"), machine("b", "ping"), link("a", "b")),
                        "--duration", "2s", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        report, machines = self.report()
        self.assertEqual(report, json.loads(done.stdout))
        self.assertGreater(machines["b"]["frames_arrived"], 2)
        sent = [at for at, frame in frames(self.out / "b-eth0.pcap") if frame[6:12] == b"\2\0\0\0\0\2"]
        arrived = [at for at, frame in frames(self.out / "a-eth0.pcap") if frame[0] == 255]
        self.assertGreater(len(arrived), 2)
        self.assertEqual(arrived, [at + 10 * MILLISECOND for at in sent[:len(arrived)]])

    def test_a_switch_and_losses(self):
        done = self.net(self.describe(
            machine("a", "sleepy-echo"), machine("b", "sleepy-ping"), machine("c", "sleep"),
            '[[switch]]\nname = "s"\n', link("a", "s"), link("b", "s"), link("c", "s", 'delay = "10ms"\nloss = 1.0')),
            "--duration", "1s")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"frames have arrived, late by")
        _, machines = self.report()
        self.assertGreater(machines["b"]["frames_arrived"], 2)
        self.assertEqual(machines["c"]["frames_arrived"], 0)

    def test_idle_machines_leap_to_the_next_frame(self):
        done = self.net(self.describe(machine("a", "sleepy-echo"), machine("b", "sleepy-ping"),
                                      link("a", "b", 'delay = "10s"')), "--duration", "1s")
        self.assertEqual(done.returncode, 0, done.stderr)
        _, machines = self.report()
        self.assertGreater(machines["b"]["frames_arrived"], 2)
        self.assertGreater(machines["b"]["virtual_over_real"], 20)

    def test_settings_while_it_runs(self):
        run = self.start_net(self.describe(machine("a", "echo"), machine("b", "ping"), link("a", "b")))
        told = json.loads(self.set("tick=2ms", "ceiling=40%", "weight.a=2").stdout)
        self.assertEqual((told["tick_seconds"], told["machines"][0]["weight"]), (0.002, 2))
        self.assertEqual(told["ceiling"], 0.4)
        self.assertTrue(json.loads(self.set("pause=yes").stdout)["paused"])
        self.wait_until(lambda: "stopped" in (self.out / "a/console").read_text())
        self.assertFalse(json.loads(self.set("pause=no", "pace=50%").stdout)["paused"])
        self.wait_until(lambda: "goes on" in (self.out / "a/console").read_text())
        for word, says in (("tick=1s", "tick needs a time from 100us to 100ms"), ("size=1", "no setting 'size'"),
                           ("weight.x=2", "there is no machine 'x'"), ("pause=maybe", "yes or no"),
                           ("pace=0", "'pace' is a number from 0.01 to 1")):
            self.refused("set", self.out, word, says=says)
        run.send_signal(signal.SIGINT)
        self.assertEqual(run.wait(PATIENCE_S), 130)
        self.assertFalse((self.out / "control").exists())
        self.assertEqual(self.report()[0]["pace"], 0.5)

    def test_a_machine_that_ends(self):
        run = self.start_net(self.describe(
            machine("a", "end"), machine("b", "ping"), machine("c", "echo"), '[[switch]]\nname = "s"\n',
            link("a", "s"), link("b", "s"), link("c", "s")))
        self.wait_until(lambda: self.status()["machines"][0]["ended"])
        before = self.status()["machines"][1]["frames_arrived"]
        self.wait_until(lambda: self.status()["machines"][1]["frames_arrived"] > before)
        run.send_signal(signal.SIGTERM)
        self.assertEqual(run.wait(PATIENCE_S), 143)
        self.assertIn("machine 'a' has ended (exit code 7); the others go on", run.stderr.read())

    def test_machines_that_flood_and_send_garbage(self):
        run = self.start_net(self.describe(
            machine("a", "flood"), machine("b", "garbage"), machine("c", "sleepy-echo"),
            machine("d", "ping"), '[[switch]]\nname = "s"\n', link("b", "s"), link("c", "s"), link("d", "s"),
            link("a", "c")))  # c does not read its second card
        self.wait_until(lambda: self.status()["machines"][0]["frames_sent"] > 200)
        self.wait_until(lambda: "ten answers" in (self.out / "d/console").read_text())
        run.send_signal(signal.SIGINT)
        self.assertEqual(run.wait(PATIENCE_S), 130)

    def test_watching_has_delays_in_real_time(self):
        done = self.net(self.describe(machine("a", "sleepy-echo"), machine("b", "sleepy-ping"), link("a", "b")),
                        "--duration", "1s", "--watch")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--ceiling means nothing", done.stderr)
        done = self.run_director("net", self.folder / "machines.toml", "--out", self.out, "--quiet",
                                 "--duration", "1s", "--watch")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("watched for", done.stdout)
        self.assertGreater(self.report()[1]["b"]["frames_arrived"], 2)

    def test_results_are_not_replaced_without_force(self):
        description = self.describe(machine("a", "sleep"))
        self.assertEqual(self.net(description, "--duration", "0.2s").returncode, 0)
        again = self.net(description, "--duration", "0.2s")
        self.assertEqual(again.returncode, 2)
        self.assertIn("--force", again.stderr)
        self.assertEqual(self.net(description, "--duration", "0.2s", "--force").returncode, 0)

    def test_machines_end_with_a_killed_director(self):
        run = self.start_net(self.describe(machine("a", "echo"), machine("b", "ping"), link("a", "b")))
        words = subprocess.run(["pgrep", "-P", str(run.pid)], capture_output=True, text=True,
                               check=False).stdout.split()
        children = [int(word) for word in words if program_of(word) == os.path.realpath(MACHINE)]
        self.assertEqual(len(children), 2)
        run.kill()
        run.wait()
        self.wait_until(lambda: not any(program_of(pid) for pid in children))


def program_of(pid):
    """None if the process has ended, also if nobody has waited for it."""
    try:
        return os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return None


if __name__ == "__main__":
    unittest.main()
