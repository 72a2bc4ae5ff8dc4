#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The fuzzer, examined: it knows every option, passes what is right, and finds what is wrong.

Needs ORRERY_BUILD in the environment, the folder of a build; ctest sets it."""

import os
import pathlib
import random
import re
import shlex
import subprocess
import sys
import unittest

import case
import expected
import options
import subjects
from runs import Outcome, Runner
from verdict import judge

FOLDER = pathlib.Path(__file__).resolve().parent
BUILD = os.environ.get("ORRERY_BUILD", "build/release")
PATIENCE_S = 500


def fuzz(*words):
    """Exit code and output of the fuzzer, its lines ended and nothing else."""
    done = subprocess.run([sys.executable, str(FOLDER / "fuzz.py"), "--build", BUILD, *words],
                          capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    return done.returncode, done.stdout, done.stderr


def closing_line(text):
    return text.strip().splitlines()[-1]


class Options(unittest.TestCase):
    DESCRIPTION = ("plain: a sketch\n\nOptions\n  option         default  meaning\n"
                   "  --until TIME   -        Until\n  --pending NAME auto     Pending set\n"
                   "  --copiers N    1        More than --burst\n")

    def test_every_option_of_the_engines_is_known(self):
        runner = Runner(BUILD, FOLDER.parents[1])
        self.assertEqual(options.check(map(runner.flags_of, runner.engines())), [])

    def test_reads_the_options_and_nothing_else(self):
        self.assertEqual(options.flags_of(self.DESCRIPTION), {"--until", "--pending", "--copiers"})

    def test_names_an_option_that_is_missing(self):
        flags = options.flags_of(self.DESCRIPTION.replace("--copiers N", "--brand-new N"))
        said = options.check([flags])
        self.assertTrue(any("does not know --brand-new" in line for line in said))
        self.assertTrue(any("no engine uses --copiers" in line for line in said))
        self.assertFalse(any("--until" in line for line in said))

    def test_complains_of_a_description_that_it_cannot_read(self):
        self.assertIn("does not read", options.check([options.flags_of("nothing")])[0])

    def test_every_option_is_drawn_somewhere(self):
        rng, drawn = random.Random(1), set()
        runner = Runner(BUILD, FOLDER.parents[1])
        for engine in runner.engines():
            place = options.Place(engine, runner.flags_of(engine), 1000, True, True, True)
            for _ in range(50):
                drawn |= options.draw(rng, place, 0.5).keys()
        self.assertEqual(drawn, options.VALUES.keys())


class Verdicts(unittest.TestCase):
    GOOD = Outcome(0, 0.1, "", {"fingerprint": "1", "metrics": {"delay": {"sum": "0.1"}},
                                "cars.csv": "a\nb\n"})

    def kind(self, **changes):
        fields = {"code": 0, "seconds": 0.1, "stderr": "", "facts": dict(self.GOOD.facts)}
        failure = judge(self.GOOD, Outcome(**(fields | changes)), 60)
        return failure and failure.kind

    def test_equal_runs_agree(self):
        self.assertIsNone(self.kind())

    def test_every_difference_is_one(self):
        self.assertEqual(self.kind(code=None), "no end")
        self.assertEqual(self.kind(code=-11), "SIGSEGV")
        self.assertEqual(self.kind(code=134), "exit code 134")
        self.assertEqual(self.kind(code=2), "refused")
        self.assertEqual(self.kind(code=3), "exit code 3")
        self.assertEqual(self.kind(stderr="orrery: something"), "standard error")
        for name, value in [("fingerprint", "2"), ("metrics", {"delay": {"sum": "0.2"}}),
                            ("cars.csv", "a\nc\n"), ("cars.csv", None), ("table cars", [[1]])]:
            self.assertEqual(self.kind(facts=self.GOOD.facts | {name: value}), name)


class Cases(unittest.TestCase):
    def test_a_text_is_its_case(self):
        one = case.Case("phold", {"lps": "4", "remote": "0.5"}, "100ticks", 7, "timewarp", 3,
                        {"--checkpoint": "periodic:2", "--no-bind": ""})
        self.assertEqual(case.parse(one.text()), one)
        self.assertEqual(one.reference().text(), "phold --set lps=4 --set remote=0.5 --until "
                                                 "100ticks --seed 7 --engine sequential")

    def test_what_changes_results_stays_in_the_reference(self):
        one = case.parse("null --until 9ticks --livelock 500 --pending heap")
        self.assertEqual(one.reference().options, {"--livelock": "500"})

    def test_nothing_that_is_hidden_is_drawn(self):
        runner = Runner(BUILD, FOLDER.parents[1])
        subject = next(s for s in subjects.SUBJECTS if s.model == "library")
        everything = subjects.kinds_of(runner, subject, set())
        self.assertIn("all", everything)
        self.assertIn("calendar", everything)
        shown = subjects.kinds_of(runner, subject, {("library", "calendar")})
        self.assertEqual(set(everything) - set(shown), {"all", "calendar"})
        for model, kind in expected.hidden():
            self.assertEqual(model, "library")
            self.assertIn(kind, everything)


class Fuzzing(unittest.TestCase):
    def test_passes_what_is_right(self):
        code, out, err = fuzz("--seed", "5", "--cases", "60", "--no-expected")
        self.assertEqual(code, 0, out + err)
        self.assertEqual(closing_line(out), "60 passed, 0 failed")
        self.assertNotIn("\r", out + err)

    def test_a_seed_means_the_same_cases(self):
        words = ["--seed", "9", "--cases", "10", "--no-expected", "--jobs", "1"]
        first, second = (fuzz(*words)[1] for _ in range(2))
        runs = re.compile(r"runs: (.*);")  # how many rolled back is chance
        self.assertEqual(runs.findall(first), runs.findall(second))
        self.assertEqual(closing_line(first), "10 passed, 0 failed")

    def test_finds_a_wrong_model_and_a_command_that_shows_it(self):
        code, out, _ = fuzz("--seed", "3", "--cases", "40", "--no-expected", "--models", "wrong",
                            "--shrink", "10", "--jobs", "1")
        self.assertEqual(code, 1, out)
        self.assertRegex(closing_line(out), r"^\d+ passed, [1-9]\d* failed$")
        shown = re.search(r"FAILED: fingerprint differs.*?reproduce: +(?:\./dev|python3 \S+)([^\n]+)",
                          out, re.DOTALL)
        self.assertIsNotNone(shown, out)
        words = shlex.split(shown.group(1))
        code, again, _ = fuzz("--case", words[words.index("--case") + 1])
        self.assertEqual(code, 1, again)
        self.assertIn("fingerprint differs", again)

    def test_a_case_that_is_right_passes(self):
        code, out, _ = fuzz("--tries", "2", "--case",
                            "phold --set lps=4 --until 2s --engine timewarp --workers 2")
        self.assertEqual((code, closing_line(out)), (0, "2 passed, 0 failed"), out)


if __name__ == "__main__":
    unittest.main()
