#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The small simulators that share a machine (bench/oversubscribed): each way, kernel, model and number
of ranks commits what a sequential run commits, also where rings are nearly always full; and what they
say of wrong words and of runs that are given up. Needs BUILD (the folder of the build) in the
environment."""

import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(os.environ["BUILD"])
RUN = pathlib.Path(__file__).resolve().parents[2] / "bench/oversubscribed/run.py"
MODELS, KERNELS = ("phold", "epidemic", "traffic"), ("conservative", "optimistic")
WAYS = ("spin", "yield", "block", "llf")
PATIENCE_S = 100


def run(**words):
    return subprocess.run([BUILD / "bin/oversubscribed_ranks",
                           *(f"{name}={value}" for name, value in words.items())],
                          capture_output=True, text=True, timeout=PATIENCE_S, check=False)


def found(**words):
    done = run(**words)
    if done.returncode != 0:
        raise AssertionError(f"{words}: {done.stderr}")
    return json.loads(done.stdout)


class Commits(unittest.TestCase):
    def check(self, words, ways, ranks=(2, 4)):
        for model in MODELS:
            same = {"model": model, "lps": 32, "work": 0, "remote": 50, "limit": PATIENCE_S} | words
            wanted = found(kernel="sequential", ranks=1, **same)
            self.assertGreater(wanted["committed"], 50)
            for kernel, way, count in itertools.product(KERNELS, ways, ranks):
                with self.subTest(model=model, kernel=kernel, way=way, ranks=count):
                    one = found(kernel=kernel, way=way, ranks=count, round=32, **same)
                    self.assertTrue(one["complete"])
                    self.assertEqual((one["fingerprint"], one["committed"]),
                                     (wanted["fingerprint"], wanted["committed"]))
                    self.assertEqual(one["efficiency"] == 1, one["executed"] == one["committed"])
                    if kernel == "conservative":
                        self.assertEqual(one["executed"], one["committed"])

    def test_all_commit_the_same(self):
        self.check({"end": 4000}, ways=("yield", "block", "llf"))
        # Spinning ranks beyond the cores take a slice of the scheduler's for every message.
        self.check({"end": 2000}, ways=("spin",))

    def test_more_ranks_than_a_word_has_bits(self):
        self.check({"end": 500, "lps": 128, "interval": 30}, ways=("llf",), ranks=(100,))

    def test_also_over_rings_that_are_full(self):
        self.check({"end": 4000, "room": 1}, ways=("yield", "block", "llf"), ranks=(3,))

    def test_other_events_are_another_fingerprint(self):
        prints = {found(kernel="sequential", ranks=1, lps=16, work=0, end=4000, remote=remote)
                  ["fingerprint"] for remote in (0, 50, 100)}
        self.assertEqual(len(prints), 3)

    def test_stragglers_are_rolled_back(self):
        """With many ranks on few cores some are ahead of others."""
        one = found(kernel="optimistic", way="yield", ranks=16, lps=64, work=0, remote=90, end=30_000)
        self.assertGreater(one["rollbacks"], 0)
        self.assertLess(one["efficiency"], 1)


class Says(unittest.TestCase):
    def test_wrong_words_are_refused(self):
        for words, said in (({"model": "x"}, "there is no model 'x'; there are phold"),
                            ({"way": "wait"}, "there is no way 'wait'"),
                            ({"ranks": "129"}, "ranks is a number from 1 to 128, not '129'"),
                            ({"ranks": "2x"}, "not '2x'"), ({"speed": 1}, "there is no 'speed'"),
                            ({"kernel": "sequential"}, "has one rank, not 2"),
                            ({"ranks": 8, "lps": 4}, "8 ranks need at least as many LPs, not 4")):
            with self.subTest(words):
                done = run(**words)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn(said, done.stderr)

    def test_a_run_that_is_given_up_says_how_far_it_came(self):
        for way in ("llf", "spin"):
            one = found(way=way, hogs=1, limit=1, end=10**12)
            self.assertFalse(one["complete"])
            self.assertNotIn("fingerprint", one)
            self.assertGreater(one["committed"], 0)


class Experiment(unittest.TestCase):
    def test_a_record_grows(self):
        with tempfile.TemporaryDirectory() as out:
            for ranks in ("2", "3"):
                done = subprocess.run(
                    ["/usr/bin/python3", RUN, "--build", BUILD, "--out", out, "--rounds", "1",
                     "--events", "300", "--lps", "32", "--shorter", "3", "--limit", "10", "--add",
                     "--models", "phold", "--kernels", "optimistic", "--ranks", ranks],
                    capture_output=True, text=True, timeout=PATIENCE_S, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("rates.png", done.stdout)
            rows = json.loads((pathlib.Path(out) / "oversubscribed.json").read_text())["rows"]
            self.assertEqual({(row["ranks"], row["way"]) for row in rows},
                             set(itertools.product((2, 3), WAYS)))
            self.assertTrue((pathlib.Path(out) / "efficiency.png").stat().st_size > 0)

    def test_wrong_options_are_refused(self):
        for words, said in ((["--models", "x"], "there is no 'x'"), (["--ranks", "129"], "129 is not"),
                            (["--intervals", "101"], "101 is not"),
                            (["--hog", "65"], "64 are the most"), (["--lps", "4"], "at least as many")):
            done = subprocess.run([sys.executable, RUN, *words], capture_output=True, text=True,
                                  timeout=PATIENCE_S, check=False)
            self.assertEqual(done.returncode, 2, (words, done.stderr))
            self.assertIn(said, done.stderr.splitlines()[-1])


if __name__ == "__main__":
    unittest.main()
