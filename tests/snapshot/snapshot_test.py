#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Snapshots, resumed and forked runs, seen from outside. Needs ORRERY (the command), STRAY,
DRAWN and SHOPS (models), FUZZ (a folder with the fuzzer's models, which may be empty) and SANITIZE in the environment;
ctest sets them."""

import ctypes
import errno
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

ORRERY = os.environ["ORRERY"]
STRAY = os.environ["STRAY"]
DRAWN = os.environ["DRAWN"]
SHOPS = os.environ["SHOPS"]
FUZZ = pathlib.Path(os.environ["FUZZ"])
SANITIZE = os.environ.get("SANITIZE", "")
ENGINES = ["sequential", "timewarp", "expanded", "auto"]
PATIENCE_S = 300
SYS_PERSONALITY = 135
SECTIONS = ["model", "ground", "lps", "index", "events", "tally"]
# (model, parameters, horizon, a time on the way); small enough for many runs.
MODELS = [
    ("phold", ["lps=200"], "20s", "8s"),
    ("pcs", ["cells=49"], "9min", "4min"),
    ("wireless", ["stations=12"], "500ms", "200ms"),
    ("traffic", [], "20min", "8min"),
] if SANITIZE else [
    ("phold", ["lps=600"], "40s", "15s"),
    ("pcs", ["cells=49"], "20min", "7min"),
    ("wireless", ["stations=12"], "1s", "300ms"),
    ("traffic", [], "40min", "15min"),
]


def run(*words, **options):
    return subprocess.run([ORRERY, *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=PATIENCE_S, check=False, **options)


def sets(parameters):
    return ["--set", *parameters] if parameters else []


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="orrery-snapshot-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.runs = 0

    def ok(self, *words, **options):
        done = run(*words, **options)
        self.assertEqual(done.returncode, 0, f"{words}: {done.stderr}")
        return done

    def refused(self, *words, says, code=2, **options):
        done = run(*words, **options)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertRegex(done.stderr, r"\Aorrery: [^\n]+\n\Z")
        self.assertIn(says, done.stderr)

    def out(self):
        self.runs += 1
        return self.folder / f"run{self.runs}"

    def left(self, out):
        """What of a run's results does not depend on how it was executed."""
        report = json.loads((out / "report.json").read_text())
        self.assertTrue(report["complete"], out)
        tables = {file.name: file.read_bytes() for file in sorted(out.glob("*.csv"))}
        return (report["run"]["fingerprint"], report["run"]["committed"], report["run"]["reached_ticks"],
                report["metrics"], report["results"], tables)

    def notes(self, out):
        return "\n".join(json.loads((out / "report.json").read_text())["notes"])

    def whole(self, *words):
        """A run without interruption."""
        out = self.out()
        self.ok("run", *words, "--engine", "sequential", "--out", out, "--quiet")
        return self.left(out)

    def interrupted(self, *words, out=None, engine="sequential"):
        """A run that ended at a snapshot."""
        out = out or self.out()
        self.ok("run", *words, "--engine", engine, "--out", out, "--end-after-snapshot", "--quiet")
        return out

    def resumed(self, out, *words):
        self.ok("resume", out, *words, "--quiet")
        return self.left(out)

    def copy(self, out):
        copy = self.out()
        shutil.copytree(out, copy)
        return copy

    def manifest(self, out, number=None):
        number = number or self.numbers(out)[-1]
        return json.loads((out / f"snapshots/{number:06}.json").read_text())

    def numbers(self, out):
        """Of those that are whole: with a manifest of the run, not only of a rank's part."""
        try:
            names = os.listdir(out / "snapshots")
        except FileNotFoundError:  # not yet, or a run that begins anew has just removed it
            return []
        stems = [name.removesuffix(".json") for name in names if name.endswith(".json")]
        return sorted(int(stem) for stem in stems if stem.isdigit())

    def start(self, *words):
        process = subprocess.Popen([ORRERY, *map(str, words)], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for end in (process.stderr.close, process.stdout.close, process.wait, process.kill):
            self.addCleanup(end)  # called in reverse
        return process

    def wait_until(self, condition, what):
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            self.assertLess(time.monotonic(), deadline, what)
            time.sleep(0.02)


def addresses_can_be_fixed():
    """Containers often refuse what switches chance in addresses off (Docker's default filter)."""
    ask = ("import ctypes; p = ctypes.CDLL(None).personality; "
           "raise SystemExit(p(p(0xffffffff) | 0x40000) == -1)")
    return subprocess.run([sys.executable, "-c", ask], check=False).returncode == 0


class Equality(Case):
    def test_what_is_observed_goes_on(self):
        words = ["pcs", "--set", "cells=49", "--until", "20min", "--warm-up", "4min", "--series",
                 "power=90s", "--batch-means", "call_duration", "--stop-when", "power.count>=15000"]
        expected = self.whole(*words)
        for at in ["3min", "9min"]:
            out = self.interrupted(*words, "--snapshot-at", at)
            for engine in ENGINES if not SANITIZE else ["timewarp"]:
                with self.subTest(engine=engine, at=at):
                    self.assertEqual(self.resumed(self.copy(out), "--engine", engine), expected)
        for option in [["--warm-up", "1min"], ["--series", "power=1min"], ["--batch-means", "power"]]:
            self.refused("resume", out, *option, says="a resumed run keeps its observations")

    def test_every_engine_to_every_engine(self):
        for model, parameters, until, at in MODELS:
            words = [model, "--until", until, *sets(parameters)]
            expected = self.whole(*words)
            sums = set()
            for before in ENGINES if not SANITIZE else ["expanded", "timewarp"]:
                out = self.interrupted(*words, "--snapshot-at", at, engine=before)
                sums.add((self.manifest(out)["fingerprint"], self.manifest(out)["committed"]))
                for after in ENGINES if not SANITIZE else ["timewarp"]:
                    with self.subTest(model=model, before=before, after=after):
                        self.assertEqual(self.resumed(self.copy(out), "--engine", after), expected)
            with self.subTest(model=model):
                self.assertEqual(len(sums), 1, "all engines come to the same world")

    def test_numbers_of_workers(self):
        words = ["pcs", "--until", "20min", "--set", "cells=49"]
        expected = self.whole(*words)
        for before in (1, 2, 8) if not SANITIZE else (2,):
            out = self.interrupted(*words, "--workers", before, "--snapshot-at", "7min",
                                   engine="timewarp")
            for after in (1, 2, 8) if not SANITIZE else (1, 3):
                with self.subTest(before=before, after=after):
                    self.assertEqual(self.resumed(self.copy(out), "--engine", "timewarp",
                                                  "--workers", after), expected)

    def test_conservative(self):
        words = ["wireless", "--until", "1s", "--set", "stations=12"]
        expected = self.whole(*words)
        for before, after in (("conservative", "timewarp"), ("timewarp", "conservative"),
                              ("conservative", "conservative")):
            with self.subTest(before=before, after=after):
                out = self.interrupted(*words, "--snapshot-at", "300ms", engine=before)
                self.assertEqual(self.resumed(out, "--engine", after), expected)

    def test_metrics_of_every_kind(self):
        """What they have counted goes on with the run; levels last over the halt."""
        words = [DRAWN, "--until", "100s"]
        expected = self.whole(*words)
        kept = expected[3]
        self.assertLess(kept["waits"]["p50"], kept["waits"]["p99.9"])
        self.assertGreater(kept["pace"]["total"], 0)
        self.assertEqual(len(expected[5]["waits.series.csv"].splitlines()), 16)
        self.assertIn("pace.series.csv", expected[5])
        for before, after in (("sequential", "timewarp"), ("timewarp", "expanded"),
                              ("expanded", "sequential"), ("auto", "auto")):
            with self.subTest(before=before, after=after):
                out = self.interrupted(*words, "--snapshot-at", "33s", engine=before)
                self.assertEqual(self.resumed(out, "--engine", after), expected)

    @unittest.skipIf(SANITIZE, "the fuzzer's models are not built with sanitizers")
    def test_objects_of_all_sorts(self):
        kinds = [("library", kind) for kind in (
            "calendar", "bits", "locales", "facets", "sentences", "synchronized_pools", "rounding")]
        for name, kind in [(name, None) for name in (
                "containers", "objects", "allocators", "text", "delays", "reversible",
                "random")] + kinds:
            words = [FUZZ / f"{name}.so", *sets([f"kind={kind}"] if kind else [])]
            expected = self.whole(*words)
            until = json.loads((self.folder / f"run{self.runs}/report.json").read_text())
            half = until["run"]["reached_ticks"] // 2
            for before, after in (("sequential", "timewarp"), ("timewarp", "sequential")):
                with self.subTest(model=name, kind=kind, before=before, after=after):
                    out = self.interrupted(*words, "--snapshot-at", f"{half}ticks", engine=before)
                    if self.manifest(out)["references"] and not addresses_can_be_fixed():
                        self.refused("resume", out, says="addresses by chance cannot be switched off")
                        continue
                    self.assertEqual(self.resumed(out, "--engine", after), expected)


class Waiting(Case):
    """Processes that wait where a snapshot is taken go on in another program, on any engine."""

    WORDS = [SHOPS, "--until", "120ms"]

    def test_on_every_engine(self):
        expected = self.whole(*self.WORDS)
        sums = set()
        for before in ENGINES:
            out = self.interrupted(*self.WORDS, "--snapshot-at", "50ms", engine=before)
            sums.add(self.manifest(out)["fingerprint"])
            self.ok("snapshot", "verify", out)
            for after in ENGINES if not SANITIZE else ["timewarp"]:
                with self.subTest(before=before, after=after):
                    self.assertEqual(self.resumed(self.copy(out), "--engine", after), expected)
        self.assertEqual(len(sums), 1, "all engines come to the same world")

    def test_again_and_again(self):
        """Also of frames that lie where an earlier program has put them, and over ranks."""
        expected = self.whole(*self.WORDS)
        out = self.interrupted(*self.WORDS, "--snapshot-at", "10ms")
        for at, engine in enumerate((["timewarp", "--workers", 2], ["expanded"],
                                     ["timewarp", "--ranks", 2, "--workers", 1], ["sequential"]), 2):
            self.ok("resume", out, "--engine", *engine, "--snapshot-at", f"{at}0ms",
                    "--end-after-snapshot", "--quiet")
        self.assertEqual(self.resumed(out, "--engine", "auto"), expected)

    @unittest.skipIf(SANITIZE, "sanitizers leave traces of their own on the stack")
    def test_nothing_differs_on_the_checker(self):
        """Frames are compared byte for byte, and compilers lay them out as they like: here those of
        a shared object."""
        done = self.ok("run", SHOPS, "--until", "60ms", "--engine", "checker", "--quiet")
        self.assertIn("the checker found no difference", done.stderr + done.stdout)

    def test_forks_draw_other_numbers(self):
        out = self.interrupted(*self.WORDS, "--snapshot-at", "50ms")
        fork = self.out()
        self.ok("fork", out, "--out", fork, "--seed", 6, "--engine", "timewarp", "--quiet")
        other = self.out()
        self.ok("fork", out, "--out", other, "--seed", 6, "--engine", "sequential", "--quiet")
        self.assertEqual(self.left(fork), self.left(other))
        self.assertNotEqual(self.left(fork), self.whole(*self.WORDS))


class Moments(Case):
    """When snapshots are taken, and what a resumed run does with its own."""

    WORDS = ["pcs", "--until", "20min", "--set", "cells=49"]

    def test_at_multiples(self):
        expected = self.whole(*self.WORDS)
        for engine in ENGINES:
            out = self.out()
            with self.subTest(engine=engine):
                self.ok("run", *self.WORDS, "--snapshot-every", "3min", "--engine", engine,
                        "--out", out, "--quiet")
                self.assertEqual(self.left(out), expected, "halts change nothing")
                self.assertEqual(self.numbers(out), [5, 6], "two are kept")
                self.assertGreaterEqual(self.manifest(out)["cut"]["ticks"], 18 * 60 * 10**9)
                self.assertEqual(self.resumed(out), expected)
                self.assertEqual(self.numbers(out), [5, 6], "none are left")

    def test_a_resumed_run_takes_more(self):
        expected = self.whole(*self.WORDS)
        out = self.interrupted(*self.WORDS, "--snapshot-at", "3min")
        for at in ("6min", "9min", "12min"):
            self.ok("resume", out, "--engine", "timewarp", "--snapshot-at", at,
                    "--end-after-snapshot", "--quiet")
        self.assertEqual(self.numbers(out), [3, 4])
        self.assertEqual(self.resumed(out), expected)

    def test_schedule_goes_on(self):
        out = self.interrupted(*self.WORDS, "--snapshot-every", "3min", "--snapshot-at", "4min")
        self.assertEqual(self.numbers(out), [1, 2])
        self.resumed(out)
        self.assertEqual(self.numbers(out), [6, 7], "6, 9, 12, 15 and 18 minutes follow")

    def test_a_resumed_run_counts_anew(self):
        """Nothing of the snapshot that a run began at is told of its own."""
        words = ["phold", "--until", "40s", "--set", "lps=600"]
        whole = self.interrupted(*words, "--snapshot-at", "20s")
        out = self.interrupted(*words, "--snapshot-at", "10s")
        self.ok("resume", out, "--engine", "sequential", "--snapshot-at", "20s",
                "--end-after-snapshot", "--quiet")
        expected, told = self.manifest(whole), self.manifest(out)
        for field in ("pending", "committed", "fingerprint", "references"):
            self.assertEqual(told[field], expected[field], field)

    def test_lower_horizon(self):
        expected = self.whole("pcs", "--until", "12min", "--set", "cells=49")
        out = self.interrupted(*self.WORDS, "--snapshot-at", "7min")
        self.assertEqual(self.resumed(out, "--until", "12min"), expected)

    def test_by_the_clock_they_starve_no_run(self):
        """Asked for more often than they can be taken, in a run and in what goes on from it."""
        for engine in ["sequential", "timewarp"]:
            out = self.out()
            run = ["run", "phold", "--until", "1000000s", "--set", "lps=64", "--out", out,
                   "--snapshot-wall", "1us"]
            for command, share in [(run, 3), (["resume", out, "--snapshot-share", "0.2"], 20)]:
                with self.subTest(engine=engine, command=command[0]):
                    before = (self.numbers(out) or [0])[-1]
                    process = self.start(*command, "--engine", engine, "--quiet")
                    self.wait_until(lambda: self.numbers(out)[-1:] >= [before + 2], "by the clock")
                    process.send_signal(signal.SIGINT)
                    _, told = process.communicate(timeout=PATIENCE_S)
                    self.assertEqual(process.returncode, 130, told)
                    self.assertIn(f"may be {share} % of its time (--snapshot-share)", self.notes(out))
                    cuts = [self.manifest(out, number)["committed"] for number in self.numbers(out)]
                    self.assertEqual(cuts, sorted(set(cuts)), "each is further than the one before")
                    self.assertEqual(self.manifest(out)["run"]["snapshot_share"], share / 100)

    def test_signals(self):
        words = ["phold", "--until", "2000s", "--set", "lps=64"]
        expected = self.whole(*words)
        for engine in ENGINES:
            with self.subTest(engine=engine):
                out = self.out()
                process = self.start("run", *words[:2], "1000000s", *words[3:], "--engine", engine,
                                     "--snapshot-wall", "50ms", "--snapshot-share", "1",
                                     "--out", out)
                self.wait_until(lambda out=out: self.numbers(out), "by the clock")
                before = self.numbers(out)[-1]
                process.send_signal(signal.SIGUSR1)
                self.wait_until(lambda out=out, n=before: self.numbers(out)[-1] > n, "by USR1")
                process.send_signal(signal.SIGINT)
                said, told = process.communicate(timeout=PATIENCE_S)
                self.assertEqual(process.returncode, 130, told)
                self.assertIn(f"'orrery resume {out}' goes on from", said)
                report = json.loads((out / "report.json").read_text())
                self.assertEqual(report["run"]["end"], "interrupted")
                self.assertEqual(report["snapshots"]["last"], self.numbers(out)[-1])
                if self.manifest(out)["cut"]["ticks"] < 2000 * 10**9:
                    self.assertEqual(self.resumed(out, "--until", "2000s")[0], expected[0])


class Killed(Case):
    WORDS = ["pcs", "--until", "3h", "--set", "cells=64"]
    KILLS = 6 if SANITIZE else 40

    def engine(self, generator):
        return ["--engine", generator.choice(ENGINES)]

    def victim(self, process, generator):
        return process.pid

    def test_at_any_moment(self):
        """kill -9 at random, resumed until it is through, engine after engine."""
        expected = self.whole(*self.WORDS)
        generator = random.Random(7)
        kills = resumed = 0
        while kills < self.KILLS:
            out = self.out()
            command = ["run", *self.WORDS, "--out", out, "--snapshot-wall", "30ms",
                       "--snapshot-share", "1"]
            while not self.is_through(command, out, generator, kills):
                kills += 1
                if self.numbers(out):
                    command = ["resume", out]
                    resumed += 1
                else:
                    command = [*command, *([] if "--force" in command else ["--force"])]
            self.assertEqual(self.left(out), expected)
            self.ok("snapshot", "verify", out)
        self.assertGreater(resumed, self.KILLS // 4)

    def is_through(self, command, out, generator, kills):
        """Or it was killed; every other time not before there is a snapshot of it."""
        resumes = kills % 2 == 1
        patience = generator.uniform(0.01, 0.3 if resumes else 1.0)
        process = subprocess.Popen(
            [ORRERY, *map(str, [*command, *self.engine(generator)]), "--quiet"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        while resumes and not self.numbers(out) and process.poll() is None:
            time.sleep(0.005)
        try:
            _, told = process.communicate(timeout=patience if kills < self.KILLS else PATIENCE_S)
        except subprocess.TimeoutExpired:
            try:
                os.kill(self.victim(process, generator), signal.SIGKILL)
            except ProcessLookupError:
                pass
            _, told = process.communicate(timeout=PATIENCE_S)
            if process.returncode != 0:
                return False
        self.assertEqual(process.returncode, 0, told)
        return True


def children(process):
    """Of a run over ranks: their processes."""
    try:
        file = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
        return [int(pid) for pid in file.read_text().split()]
    except OSError:
        return []


class RanksKilled(Killed):
    """The same where a rank is killed, or the process that has started them."""

    KILLS = 4 if SANITIZE else 16

    WORDS = [*Killed.WORDS, "handoff_delay=5s"]

    def engine(self, generator):
        return ["--ranks", generator.choice([2, 3]), "--workers", 1,
                "--engine", generator.choice(["timewarp", "conservative"])]

    def victim(self, process, generator):
        return generator.choice([process.pid, *children(process)])


class Survival(Case):
    """Ranks that die and are started again by --survive."""

    KILLS = int(os.environ.get("KILLS", 3 if SANITIZE else 8))
    WORDS = ["pcs", "--set", "cells=64", "handoff_delay=5s"]

    def survivor(self, *words):
        return self.start("run", *words, "--out", self.folder / "run", "--survive", "--ranks", "2..3",
                          "--workers", 1, "--quiet")

    def test_random_ranks_at_random_moments(self):
        """Each is killed some time after a snapshot, often while the next one is written."""
        words = [*self.WORDS, "--until", f"{self.KILLS * (2 if SANITIZE else 6)}h"]
        expected = self.whole(*words)
        generator = random.Random(11)
        out = self.folder / "run"
        process = self.survivor(*words, "--engine", "timewarp", "--snapshot-wall", "40ms",
                                "--snapshot-share", "1")
        killed, dead = 0, None
        for _ in range(self.KILLS):
            over = lambda: process.poll() is not None
            self.wait_until(lambda: over() or len(set(children(process)) - {dead}) >= 2, "ranks")
            known = self.numbers(out)[-1:]
            self.wait_until(lambda: over() or self.numbers(out)[-1:] > known, "a snapshot")
            time.sleep(generator.uniform(0, 0.1))
            ranks = children(process)
            if over() or not ranks:
                break
            dead = generator.choice(ranks)
            try:
                os.kill(dead, signal.SIGKILL)
                killed += 1
            except ProcessLookupError:
                pass
        _, told = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 0, told)
        self.assertGreater(killed, self.KILLS // 3)
        self.assertEqual(self.left(out), expected)
        self.assertIn("died during the run", self.notes(out))
        self.assertIn("the run goes on from snapshot", told)

    def test_before_the_first_snapshot(self):
        words = [*self.WORDS, "--until", "8h"]
        expected = self.whole(*words)
        process = self.survivor(*words)
        self.wait_until(lambda: len(children(process)) >= 2, "ranks")
        os.kill(children(process)[1], signal.SIGKILL)
        _, told = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 0, told)
        self.assertIn("the run goes on from its beginning", told)
        self.assertEqual(self.left(self.folder / "run"), expected)

    def test_the_same_death_twice(self):
        process = self.survivor(*self.WORDS, "--until", "1000h")
        seen = set()
        for _ in range(2):
            self.wait_until(lambda: len(set(children(process)) - seen) >= 2, "ranks")
            seen |= set(children(process))
            os.kill(children(process)[1], signal.SIGKILL)
        _, told = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 4, told)
        self.assertIn("not started again, since the same has happened before", told)

    def test_refusals(self):
        self.refused("run", "pcs", "--survive", "--out", self.out(), says="--survive needs --ranks")
        self.refused("run", "pcs", "--survive", "--ranks", 2, says="--survive needs --out")
        self.refused("run", "pcs", "--ranks", "3..2", says="the first number must not be the larger")
        self.refused("run", "pcs", "--ranks", "1..x", says="'1..x'")


class OverRanks(Case):
    """Taken and resumed over any number of ranks."""

    # With promises that pay under the conservative engine.
    MODELS = [("phold", ["lps=600", "lookahead=500ms"], "40s", "15s"),
              ("pcs", ["cells=49", "handoff_delay=5s"], "20min", "7min"),
              ("traffic", [], "40min", "15min")]
    WAYS = [["sequential"], ["timewarp", "--ranks", 2, "--workers", 1],
            ["conservative", "--ranks", 3, "--workers", 2], ["timewarp", "--ranks", 3, "--workers", 2]]

    def test_every_way_to_every_way(self):
        short = [("phold", ["lps=200", "lookahead=500ms"], "20s", "8s")]
        for model, parameters, until, at in short if SANITIZE else self.MODELS:
            words = [model, "--until", until, *sets(parameters)]
            expected = self.whole(*words)
            sums = set()
            for before in self.WAYS[1:2] if SANITIZE else self.WAYS:
                out = self.out()
                self.ok("run", *words, "--engine", *before, "--out", out, "--snapshot-at", at,
                        "--end-after-snapshot", "--quiet")
                sums.add((self.manifest(out)["fingerprint"], self.manifest(out)["committed"]))
                self.ok("snapshot", "verify", out)
                for after in self.WAYS[2:] if SANITIZE else self.WAYS:
                    with self.subTest(model=model, before=before, after=after):
                        self.assertEqual(self.resumed(self.copy(out), "--engine", *after), expected)
            with self.subTest(model=model):
                self.assertEqual(len(sums), 1, "all come to the same world")

    def test_metrics_of_every_kind(self):
        """What ranks have counted is added up once, however many go on."""
        words = [DRAWN, "--until", "100s"]
        expected = self.whole(*words)
        for before, after in ((2, 3), (3, 1), (1, 2))[:1 if SANITIZE else 3]:
            with self.subTest(before=before, after=after):
                out = self.out()
                self.ok("run", *words, "--engine", "timewarp", "--ranks", before, "--workers", 1,
                        "--out", out, "--snapshot-at", "40s", "--end-after-snapshot", "--quiet")
                for at in ("60s", "80s"):
                    self.ok("resume", out, "--engine", "timewarp", "--ranks", after, "--workers", 1,
                            "--snapshot-at", at, "--end-after-snapshot", "--quiet")
                self.assertEqual(self.resumed(out, "--engine", "timewarp", "--ranks", before,
                                              "--workers", 1), expected)

    def test_from_ranks_to_ranks_to_ranks(self):
        """LPs change ranks, and what they have taken since then lies elsewhere for each."""
        words = ["pcs", "--until", "12min" if SANITIZE else "20min", "--set", "cells=49"]
        expected = self.whole(*words)
        out = self.out()
        parts = self.folder / "parts.txt"
        self.ok("run", *words, "--ranks", 2, "--workers", 1, "--out", out, "--snapshot-at", "2min",
                "--end-after-snapshot", "--quiet")
        for turn, ranks in enumerate([3, 1, 2] if SANITIZE else [3, 2, 3, 1, 2]):
            parts.write_text("\n".join(str((lp * 7 + turn) % 10 % ranks) for lp in range(49)) + "\n")
            self.ok("resume", out, "--engine", "timewarp", "--ranks", ranks, "--workers", 1,
                    "--partition", parts, "--snapshot-at", f"{3 * turn + 4}min",
                    "--end-after-snapshot", "--quiet")
            self.assertEqual(self.manifest(out)["ranks"], ranks)
        self.assertEqual(self.resumed(out), expected)

    def test_signals(self):
        words = ["phold", "--until", "2000s", "--set", "lps=64"]
        out = self.out()
        process = self.start("run", *words[:2], "1000000s", *words[3:], "--ranks", 2, "--workers", 1,
                             "--snapshot-wall", "50ms", "--snapshot-share", "1", "--out", out)
        for number in (signal.SIGUSR1, signal.SIGINT):
            before = self.numbers(out)
            self.wait_until(lambda n=before: n[-1:] < self.numbers(out)[-1:], "by the clock")
            process.send_signal(number)
        said, told = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 130, told)
        self.assertIn(f"'orrery resume {out}' goes on from", said)
        report = json.loads((out / "report.json").read_text())
        self.assertEqual(report["run"]["end"], "interrupted")
        if self.manifest(out)["cut"]["ticks"] < 2000 * 10**9:
            self.assertEqual(self.resumed(out, "--until", "2000s", "--ranks", "3", "--workers", "1")[0],
                             self.whole(*words)[0])

    def test_check(self):
        done = self.ok("run", "pcs", "--until", "12min", "--set", "cells=49", "--ranks", "2",
                       "--workers", "1", "--out", self.out(), "--snapshot-at", "4min,8min",
                       "--snapshot-check")
        self.assertIn("came to the same world (--snapshot-check)", done.stdout)
        done = run("run", STRAY, "--until", "100s", "--ranks", "2", "--workers", "1", "--out",
                   self.out(), "--snapshot-every", "20s", "--snapshot-check", "--quiet")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertRegex(done.stderr, "came to another world|which lies elsewhere in this process")

    def test_damaged_parts(self):
        words = ["pcs", "--until", "12min", "--set", "cells=49"]
        expected = self.whole(*words)
        kept = self.out()
        self.ok("run", *words, "--ranks", "2", "--workers", "1", "--out", kept, "--snapshot-at",
                "4min,8min", "--end-after-snapshot", "--quiet")
        def gone(out):
            (out / "snapshots/000002.rank1.json").unlink()
        def of_another(out):
            shutil.copy(out / "snapshots/000001.rank1.json", out / "snapshots/000002.rank1.json")
        def cut_off(out):
            os.truncate(out / "snapshots/000002.rank1.world", 1000)
        for damage, says in ((gone, "cannot read"), (of_another, "another snapshot"),
                             (cut_off, "is damaged")):
            out = self.copy(kept)
            damage(out)
            with self.subTest(damage=damage.__name__):
                self.assertIn(says, run("snapshot", "verify", out).stderr)
                done = self.ok("resume", out, "--quiet", "--ranks", "2", "--workers", "1")
                self.assertEqual(done.stderr.count("going on with the snapshot before it"), 1)
                self.assertEqual(self.left(out), expected)

    def test_a_part_that_cannot_be_written(self):
        """Of the second rank, where a folder lies in its place: the others go on."""
        words = ["pcs", "--until", "12min", "--set", "cells=49"]
        expected = self.whole(*words)
        out = self.out()
        self.ok("run", *words, "--ranks", "2", "--workers", "1", "--out", out, "--snapshot-at", "2min",
                "--end-after-snapshot", "--quiet")
        (out / "snapshots/000002.rank1.world").mkdir()
        (out / "snapshots/000002.rank1.world/kept").touch()
        done = self.ok("resume", out, "--ranks", "2", "--workers", "1", "--snapshot-at", "4min,6min",
                       "--quiet")
        self.assertIn("is given up", done.stderr)
        self.assertIn("another rank could not write its part", done.stderr)
        self.assertEqual(self.left(out), expected)
        self.assertEqual(self.numbers(out), [1, 3])


class Damage(Case):
    def setUp(self):
        super().setUp()
        # The series is for the tally, which would be empty.
        self.words = ["pcs", "--until", "12min", "--set", "cells=49", "--series", "power=1min"]
        self.expected = self.whole(*self.words)
        self.kept = self.interrupted(*self.words, "--snapshot-at", "4min,8min", engine="timewarp")

    def flip(self, file, at):
        with file.open("r+b") as stream:
            stream.seek(at)
            byte = stream.read(1)
            stream.seek(at)
            stream.write(bytes([byte[0] ^ 4]))

    def test_a_bit_in_each_section(self):
        sizes = self.manifest(self.kept)["contents"]["sections"]
        begin = 0
        for section in SECTIONS:
            with self.subTest(section=section):
                out = self.copy(self.kept)
                self.flip(out / "snapshots/000002.world", begin + sizes[section] // 2)
                self.refused("snapshot", "verify", out, says=section)
                done = self.ok("resume", out, "--quiet")
                self.assertIn("is damaged", done.stderr)
                self.assertIn("going on with the snapshot before it", done.stderr)
                self.assertEqual(self.left(out), self.expected)
            begin += sizes[section]

    def test_manifest(self):
        text = (self.kept / "snapshots/000002.json").read_bytes()
        for change in (text[:-20], text.replace(b'"committed": ', b'"committed": 1'), b"", b"[1]\n"):
            out = self.copy(self.kept)
            (out / "snapshots/000002.json").write_bytes(change)
            with self.subTest(bytes=len(change)):
                self.refused("snapshot", "verify", out, says="damaged")
                self.assertEqual(self.resumed(out), self.expected)

    def test_cut_off_and_gone(self):
        out = self.copy(self.kept)
        os.truncate(out / "snapshots/000002.world", 1000)
        self.assertEqual(self.resumed(out), self.expected)
        out = self.copy(self.kept)
        (out / "snapshots/000002.world").unlink()
        self.assertEqual(self.resumed(out), self.expected)

    def test_all_damaged(self):
        out = self.copy(self.kept)
        for number in (1, 2):
            os.truncate(out / f"snapshots/{number:06}.world", 1000)
        done = run("resume", out)
        self.assertEqual(done.returncode, 2)
        self.assertIn("000001.world' is damaged", done.stderr)

    def test_rows(self):
        words = ["epidemic", "--until", "40min"]
        self.expected = self.whole(*words)
        out = self.interrupted(*words, "--snapshot-at", "20min", engine="timewarp")
        log = out / "snapshots/rows.log"
        self.assertGreater(self.manifest(out)["rows_bytes"], 1000)
        with log.open("ab") as stream:  # what a killed run had begun to write
            stream.write(b"unfinished")
        self.assertEqual(self.resumed(self.copy(out)), self.expected)
        self.flip(log, self.manifest(out)["rows_bytes"] // 2)
        self.refused("resume", out, says="rows.log' is damaged at byte")


class Refusals(Case):
    WORDS = ["phold", "--until", "20s", "--set", "lps=64"]

    def test_running(self):
        out = self.out()
        self.refused("run", *self.WORDS, "--snapshot-every", "1s", says="needs --out")
        self.refused("run", *self.WORDS, "--snapshots", says="--snapshots needs --out")
        self.refused("run", *self.WORDS, "--snapshot-every", "soon", "--out", out,
                     says="--snapshot-every cannot be 'soon'")
        self.refused("run", *self.WORDS, "--snapshot-at", "1s,0s", "--out", out,
                     says="--snapshot-at cannot be '0s'")
        self.refused("run", *self.WORDS, "--end-after-snapshot", "--out", out,
                     says="needs --snapshot-at")
        self.refused("run", *self.WORDS, "--engine", "checker", "--snapshots", "--out", out,
                     says="engine checker can neither take nor resume snapshots")

    def test_resuming(self):
        out = self.interrupted(*self.WORDS, "--snapshot-at", "10s")
        self.refused("resume", self.folder / "nowhere", says="there is no folder")
        self.refused("resume", self.folder, says="holds no snapshot")
        self.refused("resume", says="which run?")
        self.refused("resume", out, "--snapshot", "7", says="holds no snapshot 7")
        self.refused("resume", out, "--snapshot", "x", says="--snapshot cannot be 'x'")
        self.refused("resume", out, "--until", "30s", says="--until asks for 30 s")
        self.refused("resume", out, "--until", "5s", says="the snapshot is at 10 s")
        self.refused("resume", out, "--seed", "3", says="keeps its seed")
        self.refused("resume", out, "--set", "lps=3", says="keeps its parameters")
        self.refused("resume", out, "--out", "x", says="does not take --out")
        self.refused("resume", out, "--engine", "checker", says="engine checker can neither take nor resume")
        self.refused("run", *self.WORDS, "--out", out, says="report.json of an earlier run")

    def test_unfinished_run_is_not_overwritten(self):
        out = self.interrupted(*self.WORDS, "--snapshot-at", "10s")
        (out / "report.json").unlink()  # as if it had been killed
        self.refused("run", *self.WORDS, "--out", out, says="'orrery resume")
        self.ok("run", *self.WORDS, "--out", out, "--force", "--quiet")
        self.assertEqual(self.numbers(out), [])

    def test_another_ground(self):
        out = self.interrupted(*self.WORDS, "--snapshot-at", "10s")
        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (64 << 30, 64 << 30))
        if not SANITIZE:
            self.refused("resume", out, says="is the limit of addresses another", preexec_fn=limit)
        manifest = out / "snapshots/000001.json"
        other = self.out()
        shutil.copytree(out, other)
        text = manifest.read_text()
        self.assertIn('"program": "', text)

    @unittest.skipIf(SANITIZE, "the fuzzer's models are not built with sanitizers")
    def test_another_build_of_a_model(self):
        model = self.folder / "model.so"
        shutil.copy(FUZZ / "containers.so", model)
        out = self.interrupted(model, "--snapshot-at", "20ticks")
        shutil.copy(FUZZ / "objects.so", model)
        self.refused("resume", out, says="is another build than the snapshot's")

    def test_changed_input(self):
        network = self.folder / "net.tntp"
        shutil.copy(pathlib.Path(os.environ["ORRERY_DATA"]) / "traffic/sioux-falls_net.tntp", network)
        trips = pathlib.Path(os.environ["ORRERY_DATA"]) / "traffic/sioux-falls_trips.tntp"
        words = ["traffic", "--until", "20min", "--set", f"net_file={network}", f"trips_file={trips}"]
        out = self.interrupted(*words, "--snapshot-at", "10min")
        lines = network.read_text().splitlines(keepends=True)
        network.write_text("".join(lines[:-3]).replace("NUMBER OF LINKS> 76", "NUMBER OF LINKS> 73"))
        done = run("resume", out)
        self.assertEqual(done.returncode, 2, done.stderr)


class Forks(Case):
    WORDS = ["phold", "--until", "30s", "--set", "lps=200"]

    def test_unchanged_is_the_same(self):
        words = ["pcs", "--until", "12min", "--set", "cells=49"]
        expected = self.whole(*words)
        out = self.interrupted(*words, "--snapshot-at", "5min")
        new = self.out()
        self.ok("fork", out, "--out", new, "--quiet")
        self.assertEqual(self.left(new), expected)
        report = json.loads((new / "report.json").read_text())
        self.assertEqual(report["snapshots"]["forked_from"], str(out))

    def test_other_seed(self):
        out = self.interrupted(*self.WORDS, "--snapshot-at", "10s")
        prints = set()
        for seed, engine in (("1", "sequential"), ("2", "sequential"), ("2", "timewarp")):
            new = self.out()
            self.ok("fork", out, "--out", new, "--seed", seed, "--engine", engine, "--quiet")
            prints.add(self.left(new)[0])
        self.assertEqual(len(prints), 2, "one for each seed")

    def test_what_was_drawn_stays(self):
        """By prepare() and create(), with the seed that the run began with, fork after fork."""
        words = [DRAWN, "--seed", "5", "--until", "100s"]
        out = self.interrupted(*words, "--snapshot-at", "30s")
        self.assertEqual(self.resumed(self.copy(out), "--engine", "timewarp"), self.whole(*words))
        fork = self.out()
        self.ok("fork", out, "--out", fork, "--seed", "6", "--snapshot-at", "60s", "--quiet")
        expected = self.left(fork)
        self.assertNotEqual(expected, self.whole(*words))
        run = self.manifest(fork)["run"]
        self.assertEqual([int(run[name], 16) for name in ("seed", "model_seed")], [6, 5])
        self.assertEqual(self.resumed(fork, "--engine", "timewarp"), expected)
        again = self.out()
        self.ok("fork", fork, "--out", again, "--quiet")
        self.assertEqual(self.left(again), expected)

    def test_config_file(self):
        out = self.interrupted(*self.WORDS, "--snapshot-at", "10s")
        config = self.folder / "fork.ini"
        config.write_text("[set]\nremote = 0.9\n")
        new = self.out()
        self.ok("fork", out, "--out", new, "--config", config, "--snapshot-at", "20s", "--quiet")
        self.assertEqual(self.manifest(new)["model"]["changes"], {"remote": "0.9"})
        self.refused("resume", out, "--config", config, says="keeps its parameters")
        self.refused("fork", out, "--out", self.out(), "--set", "remote=0.1", "remote=0.2",
                     says="'remote' is set more than once")

    def test_parameters(self):
        out = self.interrupted(*self.WORDS, "--snapshot-at", "10s")
        new = self.out()
        self.refused("fork", out, says="needs --out")
        self.refused("fork", out, "--out", new, "--set", "lps=3", says="a fork cannot change")
        self.refused("fork", out, "--out", new, "--set", "nothing=3", says="no parameter 'nothing'")
        prints = {}
        for remote, engine in (("0.1", "sequential"), ("0.1", "timewarp"), ("0.9", "sequential")):
            new = self.out()
            self.ok("fork", out, "--out", new, "--set", f"remote={remote}", "--engine", engine,
                    "--snapshot-at", "20s", "--quiet")
            prints.setdefault(remote, set()).add(self.left(new)[0])
            self.assertEqual(self.manifest(new)["model"]["changes"], {"remote": remote})
            prints[remote].add(self.resumed(new)[0])
        self.assertEqual({len(one) for one in prints.values()}, {1})
        self.assertNotEqual(prints["0.1"], prints["0.9"])


class Commands(Case):
    def test_info(self):
        out = self.interrupted("phold", "--until", "20s", "--set", "lps=64", "--snapshot-at", "5s,10s")
        said = self.ok("snapshot", "info", out).stdout
        for part in ("phold lps=64", "5 s (tick 5000000000)", "10 s (tick 10000000000)", "64 LPs"):
            self.assertIn(part, said)
        told = json.loads(self.ok("snapshot", "info", out, "--json").stdout)
        self.assertEqual([one["number"] for one in told], [1, 2])
        self.assertIn("all of it is whole", self.ok("snapshot", "verify", out).stdout)
        self.refused("snapshot", says="needs 'info' or 'verify'")
        self.refused("snapshot", "info", self.folder / "nowhere", says="there is no folder")
        self.refused("snapshot", "info", self.folder, says="holds no snapshot")

    def test_check(self):
        words = ["pcs", "--until", "9min", "--set", "cells=49"]
        for engine in ENGINES:
            out = self.out()
            done = self.ok("run", *words, "--engine", engine, "--snapshot-every", "2min",
                           "--snapshot-check", "--out", out, "--quiet")
            self.assertIn("up to 4 min", done.stdout)
            self.assertIn("came to the same world", done.stdout)
            self.assertFalse((out / "snapshots/check").exists())

    def test_check_finds_what_does_not_travel(self):
        words = [STRAY, "--until", "100s", "--engine", "sequential"]
        out = self.out()
        done = run("run", *words, "--snapshot-every", "20s", "--snapshot-check", "--out", out, "--quiet")
        self.assertEqual(done.returncode, 3, done.stderr)
        # Where it lies by chance, and chance cannot be switched off, it is refused before that.
        self.assertRegex(done.stderr, "came to another world|which lies elsewhere in this process")

    @unittest.skipIf(SANITIZE, "sanitizers have pthread_create for themselves")
    def test_threads_are_refused(self):
        self.refused("run", STRAY, "--set", "threads=yes", "--until", "10s", "--snapshots",
                     "--out", self.out(), says="starts threads while it is made or prepared")

    def test_help(self):
        for command in ("resume", "fork", "snapshot"):
            self.assertIn("Examples:", self.ok(command, "--help").stdout)
        self.assertIn("--snapshot-every", self.ok("run", "--help", "snapshots").stdout)


def refuse_personality():
    """What the default filter of many containers does: the calling process, and what it executes,
    cannot switch off that addresses are by chance."""
    libc = ctypes.CDLL(None, use_errno=True)
    allow, fail = 0x7FFF0000, 0x00050000 | errno.EPERM
    load, jump_if_equal, give = 0x20, 0x15, 0x06  # BPF_LD | W | ABS; BPF_JMP | JEQ | K; BPF_RET | K
    number, argument, ask = 0, 16, 0xFFFFFFFF
    lines = [(load, 0, 0, number), (jump_if_equal, 0, 3, SYS_PERSONALITY), (load, 0, 0, argument),
             (jump_if_equal, 1, 0, ask), (give, 0, 0, fail), (give, 0, 0, allow)]
    text = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in lines))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(lines), ctypes.addressof(text)))
    no_new_privileges, set_filter, mode_filter = 38, 22, 2
    if libc.prctl(no_new_privileges, 1, 0, 0, 0) or libc.prctl(set_filter, mode_filter, program, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


@unittest.skipIf(os.uname().machine != "x86_64", "numbers of system calls are another machine's")
class AddressesByChance(Case):
    """Containers often refuse what switches them off."""

    def test_resumed_all_the_same(self):
        for model, parameters, until, at in MODELS:
            words = [model, "--until", until, *sets(parameters)]
            expected = self.whole(*words)
            with self.subTest(model=model):
                out = self.out()
                self.ok("run", *words, "--out", out, "--snapshot-at", at, "--end-after-snapshot",
                        "--quiet", preexec_fn=refuse_personality)
                self.ok("resume", out, "--quiet", preexec_fn=refuse_personality)
                self.assertEqual(self.left(out), expected)

    def test_addresses_that_do_not_travel(self):
        """A stream in an LP points into the C++ library."""
        if not (FUZZ / "text.so").exists():
            self.skipTest("the fuzzer's models are not built")
        words = [FUZZ / "text.so", "--until", "400ticks", "--snapshot-at", "200ticks",
                 "--end-after-snapshot"]
        out = self.out()
        self.ok("run", *words, "--out", out, "--quiet", preexec_fn=refuse_personality)
        self.refused("resume", out, "--quiet", preexec_fn=refuse_personality,
                     says="addresses by chance cannot be switched off here")


class FullDisk(Case):
    """A snapshot that finds no room is given up; the run and the snapshots before go on."""

    def test_limits(self):
        words = ["phold", "--until", "20s", "--set", "lps=20000"]
        expected = self.whole(*words)
        for kib in (2600, 1500, 300):
            def limit(kib=kib):
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (kib << 10, kib << 10))
            with self.subTest(kib=kib):
                out = self.out()
                done = run("run", *words, "--snapshot-every", "5s", "--out", out, "--quiet",
                           preexec_fn=limit, restore_signals=False)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("is given up: cannot write", done.stderr)
                self.assertIn("could not be written", done.stdout)
                self.assertEqual(self.left(out), expected)
                self.assertEqual(self.numbers(out), [])

    def test_full_file_system(self):
        disk = self.folder / "disk"
        disk.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=7m", "none", disk],
                          capture_output=True, check=False).returncode != 0:
            self.skipTest("a small file system cannot be mounted here")
        self.addCleanup(subprocess.run, ["umount", disk], check=True)
        words = ["phold", "--until", "20s", "--set", "lps=20000"]
        expected = self.whole(*words)
        out = disk / "run"
        done = run("run", *words, "--snapshot-every", "5s", "--out", out, "--quiet")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("the disk is full", done.stderr)
        self.assertIn("the one before is kept", done.stderr)
        self.assertEqual(self.left(out), expected)
        self.assertGreaterEqual(len(self.numbers(out)), 1)
        self.ok("snapshot", "verify", out)
        self.assertEqual(self.resumed(out), expected)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
