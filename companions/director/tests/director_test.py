#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""orrery director over processes of this test that compute: that they get equal shares, and their old
scheduling back however the director ends. Needs ORRERY in the environment (the command); ctest sets it.
What needs real-time priorities is skipped where they are not allowed."""

import csv
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ORRERY = os.environ["ORRERY"]
PATIENCE_S = 60
# Every director of a test ends by itself, and leaves half of each core to others.
GENTLE = ["--ceiling", "50%", "--quiet"]


def may_direct():
    """Whether the system allows real-time priorities and counters of other processes."""
    with subprocess.Popen(["sleep", "60"]) as process:
        done = subprocess.run([ORRERY, "director", "--pid", str(process.pid), "--duration", "0.05s",
                               *GENTLE], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        process.kill()
    refusals = ("may not set real-time priorities", "cannot be counted", "real time", "real-time threads")
    return not any(refusal in done.stderr for refusal in refusals)


needs_right = unittest.skipUnless(may_direct(), "real-time priorities or counters are not allowed here")


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="orrery-director-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def start(self, words, **options):
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, **options)
        for end in [process.stderr.close, process.stdout.close, process.wait, process.kill]:
            self.addCleanup(end)  # called in reverse
        return process

    def computing(self, number, **options):
        """Processes that compute, until the test ends or for a minute."""
        program = "import time\nend = time.monotonic() + 60\nwhile time.monotonic() < end: pass"
        return [self.start([sys.executable, "-c", program], **options) for _ in range(number)]

    def director(self, processes, *words):
        pids = [word for process in processes for word in ("--pid", str(process.pid))]
        return self.start([ORRERY, "director", *pids, *words])

    def run_director(self, *words):
        return subprocess.run([ORRERY, "director", *map(str, words)], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=PATIENCE_S, check=False)

    def refused(self, *words, says):
        done = self.run_director(*words)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertRegex(done.stderr, r"\Aorrery: [^\n]+\n\Z")
        self.assertRegex(done.stderr, says)


def scheduling_of(process):
    """Policy, priority, nice value and cores of a process."""
    pid = process.pid
    return (os.sched_getscheduler(pid) & ~os.SCHED_RESET_ON_FORK, os.sched_getparam(pid).sched_priority,
            os.getpriority(os.PRIO_PROCESS, pid), os.sched_getaffinity(pid))


class Refusals(Case):
    def test_what_is_directed(self):
        self.refused(says="needs processes: --pid NUMBER")
        self.refused("--pid", "none", says="--pid needs a whole number")
        self.refused("--pid", 0x7FFFFFF, says="there is no process 134217727")
        self.refused("--cgroup", "no/such/group", says="there is no control group 'no/such/group'")
        self.refused("--pid", os.getpid(), "--threads", "nobody", says="has a name like 'nobody'")

    def test_values(self):
        me = ["--pid", os.getpid(), "--watch"]
        self.refused(*me, "--tick", "1us", says="--tick needs a time from 100us to 100ms, not '1us'")
        self.refused(*me, "--tick", "soon", says="--tick needs a time")
        self.refused(*me, "--ceiling", "100%", says="--ceiling needs a share from 5% to 95%")
        self.refused(*me, "--ceiling", "much", says="--ceiling needs a share from 5% to 95%")
        self.refused(*me, "--ceiling", "50%", says="--ceiling means nothing beside it")
        self.refused(*me, "--duration", "0", says="--duration")
        self.refused("--pid", says="--pid needs a value")
        self.refused(*me, "--tock", "1ms", says="has no option '--tock'")

    def test_a_file_that_is_there_is_kept(self):
        times = self.folder / "times.csv"
        times.write_text("mine")
        self.refused("--pid", os.getpid(), "--watch", "--csv", times, says="replace it with --force")
        self.assertEqual(times.read_text(), "mine")

    @needs_right
    def test_a_real_time_thread_is_not_directed(self):
        process, = self.computing(1)
        os.sched_setscheduler(process.pid, os.SCHED_RR, os.sched_param(1))
        try:
            self.refused("--pid", process.pid, "--duration", "1s", says="is a real-time thread already")
            self.assertEqual(os.sched_getscheduler(process.pid), os.SCHED_RR)
        finally:
            process.kill()

    @unittest.skipUnless(os.getuid() == 0, "needs a user to become another")
    def test_without_the_right(self):
        command = [ORRERY, "director", "--pid", str(os.getpid())]
        done = subprocess.run(["setpriv", "--reuid=65534", "--clear-groups", "--inh-caps=-all",
                               "--bounding-set=-all", *command], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        if "execute" in done.stderr or done.returncode == 127:
            self.skipTest("another user cannot start the command here")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertRegex(done.stderr, r"\Aorrery: this process may not set real-time priorities")
        self.assertIn("--watch", done.stderr)


class Watching(Case):
    def test_figures_and_samples_without_any_change(self):
        processes, times = self.computing(3), self.folder / "times.csv"
        before = [scheduling_of(process) for process in processes]
        watch = self.director(processes, "--watch", "--duration", "1s", "--json", "--csv", times)
        self.assertEqual([scheduling_of(process) for process in processes], before)
        out, err = watch.communicate(timeout=PATIENCE_S)
        self.assertEqual((watch.returncode, err), (0, ""))
        told = json.loads(out)
        self.assertFalse(told["directed"])
        self.assertEqual([t["process"] for t in told["threads"]], [p.pid for p in processes])
        self.assertGreater(told["spread_ticks"]["samples"], 0)
        self.assertGreater(sum(t["consumed_seconds"] for t in told["threads"]), 0)
        with open(times, newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(len(rows), 3 * told["ticks"])
        self.assertEqual({int(row["thread"]) for row in rows}, {p.pid for p in processes})
        self.assertFalse(times.with_name("times.csv.part").exists())

    def test_it_ends_with_the_processes(self):
        process, = self.computing(1)
        watch = self.director([process], "--watch")
        time.sleep(0.5)
        process.kill()
        process.wait()
        out, err = watch.communicate(timeout=PATIENCE_S)
        self.assertEqual((watch.returncode, err), (0, ""))
        self.assertRegex(out, r"\Awatched for ")

    def test_a_signal_ends_it_with_a_summary(self):
        watch = self.director(self.computing(2), "--watch")
        time.sleep(0.5)
        watch.send_signal(signal.SIGINT)
        out, _ = watch.communicate(timeout=PATIENCE_S)
        self.assertEqual(watch.returncode, 130)
        self.assertRegex(out, r"(?m)^spread over \d+ samples: median .* ticks")


@needs_right
class Directing(Case):
    def wait_until(self, what, holds):
        deadline = time.monotonic() + PATIENCE_S
        while not holds():
            self.assertLess(time.monotonic(), deadline, what)
            time.sleep(0.02)

    def processes_with_scheduling(self):
        """Four, of which one is nice, one of batches and one on a core of its own."""
        processes = self.computing(4)
        os.setpriority(os.PRIO_PROCESS, processes[1].pid, 5)
        os.sched_setscheduler(processes[2].pid, os.SCHED_BATCH, os.sched_param(0))
        os.sched_setaffinity(processes[3].pid, {min(os.sched_getaffinity(0))})
        return processes, [scheduling_of(process) for process in processes]

    def directed(self, processes, before, *words):
        director = self.director(processes, *GENTLE, *(words or ["--duration", "20s"]))
        self.wait_until("nobody is directed", lambda: director.poll() is not None or all(
            scheduling_of(p)[0] != b[0] for p, b in zip(processes, before)))
        self.assertIsNone(director.poll(), director.poll() is not None and director.stderr.read())
        return director

    def assert_given_back(self, processes, before):
        self.wait_until("scheduling is not given back", lambda: [
            scheduling_of(process) for process in processes] == before)
        time.sleep(0.3)  # and stays so
        self.assertEqual([scheduling_of(process) for process in processes], before)

    def test_equal_shares(self):
        processes = self.computing(4)
        done = self.run_director(*[w for p in processes for w in ("--pid", p.pid)], "--ceiling", "80%",
                                 "--duration", "2s", "--json", "--quiet")
        self.assertEqual(done.returncode, 0, done.stderr)
        told = json.loads(done.stdout)
        consumed = [t["consumed_seconds"] for t in told["threads"]]
        self.assertTrue(told["directed"])
        self.assertGreater(told["spread_ticks"]["samples"], 0)
        self.assertGreater(min(consumed), 0.5 * max(consumed))

    @unittest.skipUnless(len(os.sched_getaffinity(0)) > 1, "needs two cores")
    def test_a_deputy_goes_on_where_the_core_of_the_beat_is_taken(self):
        program = """if True:
            import os, time
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(60))  # above everything of the director
            end = time.monotonic() + 0.4
            while time.monotonic() < end: pass"""
        processes = self.computing(4)
        before = [scheduling_of(process) for process in processes]
        director = self.directed(processes, before, "--duration", "2s", "--json")
        taker = self.start([sys.executable, "-c", program])
        self.assertEqual(taker.wait(PATIENCE_S), 0)
        out, err = director.communicate(timeout=PATIENCE_S)
        self.assertEqual(director.returncode, 0, err)
        # In ticks of a millisecond: 400 without a deputy.
        self.assertLess(json.loads(out)["delay_ticks"]["most"], 200)

    def test_given_back_at_the_end(self):
        processes, before = self.processes_with_scheduling()
        director = self.directed(processes, before, "--duration", "1s")
        self.assertEqual(director.wait(PATIENCE_S), 0)
        self.assert_given_back(processes, before)

    def test_given_back_after_signals(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            processes, before = self.processes_with_scheduling()
            director = self.directed(processes, before)
            director.send_signal(number)
            self.assertEqual(director.wait(PATIENCE_S), 128 + number)
            self.assert_given_back(processes, before)

    def test_given_back_after_a_kill(self):
        processes, before = self.processes_with_scheduling()
        director = self.directed(processes, before)
        director.kill()
        director.wait(PATIENCE_S)
        self.assert_given_back(processes, before)

    def test_given_back_while_it_is_stopped(self):
        processes, before = self.processes_with_scheduling()
        director = self.directed(processes, before)
        director.send_signal(signal.SIGSTOP)
        self.assert_given_back(processes, before)
        director.send_signal(signal.SIGCONT)
        self.wait_until("nobody is directed again", lambda: all(
            scheduling_of(p)[0] != b[0] for p, b in zip(processes, before)))
        director.terminate()
        director.wait(PATIENCE_S)
        self.assert_given_back(processes, before)

    def test_a_process_that_ends_is_no_error(self):
        processes, before = self.processes_with_scheduling()
        director = self.directed(processes, before)
        processes[0].kill()
        processes[0].wait()
        time.sleep(0.3)
        self.assertIsNone(director.poll())
        director.terminate()
        self.assertEqual(director.wait(PATIENCE_S), 143)
        self.assert_given_back(processes[1:], before[1:])

    def test_threads_that_come_are_directed_and_given_back(self):
        program = ("import threading, time\ndef work():\n    end = time.monotonic() + 40\n"
                   "    while time.monotonic() < end: pass\n"
                   "while True:\n    threading.Thread(target=work).start()\n    time.sleep(1)")
        process = self.start([sys.executable, "-c", program])
        director = self.director([process], *GENTLE, "--duration", "20s")
        threads = lambda: [int(name) for name in os.listdir(f"/proc/{process.pid}/task")]
        self.wait_until("no thread came", lambda: len(threads()) >= 3)
        director.terminate()
        out, _ = director.communicate(timeout=PATIENCE_S)
        self.assertGreaterEqual(len(re.findall(r"(?m)^  python", out)), 2, out)
        for thread in threads():
            self.assertEqual(os.sched_getscheduler(thread), os.SCHED_OTHER)


if __name__ == "__main__":
    unittest.main()
