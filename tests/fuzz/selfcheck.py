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
import time
import types
import unittest
import unittest.mock

import case
import expected
import fuzz as program
import options
import runs
import shrink
import subjects
from campaign import Campaign
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

    def test_slow_is_a_hundred_times_the_sequential_run_and_a_second(self):
        reference = Outcome(0, 0.1, "", engine_seconds=0.02)
        for seconds, kind in [(2.9, None), (3.1, "slow"), (59, "slow")]:
            failure = judge(reference, Outcome(0, seconds, ""), 60)
            self.assertEqual(failure and failure.kind, kind)
        self.assertGreater(runs.limit_s(reference), runs.allowed_s(reference))

    def test_a_run_is_not_to_blame_for_a_busy_machine(self):
        for share_of_others, seconds in [(0, 5), (0.04, 5), (0.5, 0.5), (0.9, 0.1), (1, 0)]:
            busy = iter((100, 100 + 1 + share_of_others * 5 * os.cpu_count()))
            wall = iter((10, 15))
            with unittest.mock.patch.object(runs, "machine_busy_s", lambda: next(busy)), \
                    unittest.mock.patch.object(runs.time, "monotonic", lambda: next(wall)):
                self.assertAlmostEqual(runs.Clock().seconds(1), seconds)

    def test_the_machine_has_worked_when_we_have(self):
        start, before = time.process_time(), runs.machine_busy_s()
        while time.process_time() - start < 0.2:
            pass
        self.assertGreater(runs.machine_busy_s() - before, 0.1)


class Shrinking(unittest.TestCase):
    def test_what_fails_without_a_snapshot_is_shown_without(self):
        class Fails:
            def run(self, one, limit=60):
                bad = one.engine == "timewarp"
                return Outcome(0, 0.1, "", {"fingerprint": "2" if bad else "1"}, engine_seconds=0.01)

        big = case.parse("null --until 9ticks --engine timewarp --snapshot-at 3ticks --then "
                         "'--engine expanded --burst 64'")
        self.assertIsNone(shrink.shrink(shrink.Trial(Fails()), big, "fingerprint", 30).then)

    def test_what_is_slow_is_made_smaller_while_it_is_slow(self):
        class ThreeAreSlow:
            """For a runner."""

            def run(self, one, limit=60):
                slow = (one.workers or 1) >= 3
                return Outcome(None if slow else 0, limit if slow else 0.1, "",
                               engine_seconds=0.01)

        runner = ThreeAreSlow()
        big = case.parse("causal --set lps=16 --set zero=0.6 --until 4000ticks --engine timewarp "
                         "--workers 16 --memory 2MiB")
        for kind in shrink.TIMES:
            small = shrink.shrink(shrink.Trial(runner), big, kind, 30)
            self.assertEqual(small.text(), "causal --set lps=2 --until 1ticks --seed 1 --engine "
                                           "timewarp --workers 3")


class Cases(unittest.TestCase):
    def test_a_text_is_its_case(self):
        one = case.Case("phold", {"lps": "4", "remote": "0.5"}, "100ticks", 7, "timewarp", 3,
                        {"--checkpoint": "periodic:2", "--no-bind": ""})
        self.assertEqual(case.parse(one.text()), one)
        self.assertEqual(one.reference().text(), "phold --set lps=4 --set remote=0.5 --until "
                                                 "100ticks --seed 7 --engine sequential")

    def test_a_text_has_the_snapshot_that_it_goes_on_from(self):
        one = case.Case("phold", {"lps": "4"}, "100ticks", 7, "timewarp", 3, {"--ranks": "2"},
                        "40ticks", case.Way("expanded", 2, {"--no-bind": "", "--burst": "64"}))
        self.assertEqual(case.parse(one.text()), one)
        self.assertIsNone(one.reference().then)
        self.assertNotIn("--snapshot-at", one.reference().text())
        for text in ("--snapshot-at 3ticks", "--then '--engine sequential'"):
            with self.assertRaises(ValueError):
                case.parse(f"phold --until 9ticks {text}")

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


class Draws(unittest.TestCase):
    def test_a_good_share_is_of_each_sort(self):
        runner = Runner(BUILD, FOLDER.parents[1])
        campaign = Campaign(runner, types.SimpleNamespace(models=[], minutes=0), None)
        self.assertEqual(campaign.spanning, {"auto", "timewarp", "conservative"})
        groups, many, little, ranks, snapshots = 1_000, 0, 0, 0, 0
        seen = set()
        for index in range(groups):
            rng = random.Random(f"1/{index}")
            subject, drawn, one = campaign.draw_subject(rng)
            variant = campaign.draw_variant(rng, subject, drawn, one, 10_000)
            seen |= one.options.keys()
            ranks += "--ranks" in variant.options
            snapshots += variant.then is not None
            if drawn.breeds and variant.engine == "timewarp" and 2 <= variant.workers <= 16:
                many += 1
                little += variant.options.get("--memory") in ("1MiB", "2MiB", "3MiB", "4MiB")
        self.assertGreater(many, groups / 10)
        self.assertGreater(little, groups / 20)
        self.assertGreater(ranks, groups / 20)
        self.assertGreater(snapshots, groups / 50)
        self.assertEqual(seen, case.OF_THE_REFERENCE)


class Judged(Runner):
    """Runs nothing: Time Warp is slow, always or only while others run."""

    def __init__(self, slow):
        super().__init__(BUILD, FOLDER.parents[1])
        self.slow, self.seen = slow, set()

    def run(self, one, limit=60):
        first = one.text() not in self.seen
        self.seen.add(one.text())
        slow = one.engine == "timewarp" and (first or self.slow == "always")
        return Outcome(0, 9 if slow else 0.1, "", engine_seconds=0.01, committed=9_000)


class Suspects(unittest.TestCase):
    def campaign(self, slow):
        settings = types.SimpleNamespace(models=["causal"], minutes=1, seed=1, cases=50, jobs=1,
                                         expected=False, shrink_s=0)
        campaign = Campaign(Judged(slow), settings, unittest.mock.Mock())
        campaign.run()
        self.assertEqual(campaign.passed + campaign.failed, 50)
        return campaign

    def test_what_is_slow_again_has_failed(self):
        campaign = self.campaign("always")
        self.assertGreater(campaign.failed, 10)
        self.assertEqual(campaign.failed, campaign.runs_of["timewarp"])
        shown = campaign.reporter.failure.call_args_list
        self.assertEqual({call.args[1].kind for call in shown}, {"slow"})

    def test_what_is_slow_once_was_held_up(self):
        self.assertEqual(self.campaign("once").failed, 0)

    def test_a_case_is_judged_alike(self):
        for engine, failed in [("timewarp", 2), ("expanded", 0)]:
            reporter = unittest.mock.Mock()
            settings = types.SimpleNamespace(case=f"null --until 9ticks --engine {engine}", tries=2)
            self.assertEqual(program.run_case(Judged("always"), reporter, settings), failed > 0)
            said = "\n".join(call.args[0] for call in reporter.say.call_args_list)
            self.assertIn(f"it fails {failed} of 2 times", said)
            self.assertEqual("more than 100 times" in said, failed > 0)


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
        shown = re.findall(r"FAILED: fingerprint differs.*?reproduce: +(?:\./dev|python3 \S+)([^\n]+)",
                           out, re.DOTALL)
        self.assertTrue(shown, out)
        # The shortest may have been right again but for a race.
        said = ""
        for line in shown:
            words = shlex.split(line)
            code, again, _ = fuzz("--case", words[words.index("--case") + 1])
            said += again
            if code == 1:
                self.assertIn("fingerprint differs", again)
                return
        self.fail(f"none fails again: {said}")

    def test_a_case_that_is_right_passes(self):
        code, out, _ = fuzz("--tries", "2", "--case",
                            "phold --set lps=4 --until 2s --engine timewarp --workers 2")
        self.assertEqual((code, closing_line(out)), (0, "2 passed, 0 failed"), out)


if __name__ == "__main__":
    unittest.main()
