#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The figures that benchmarks print: intervals, pairs of rounds, and nothing for nobody to watch."""

import argparse
import contextlib
import io
import subprocess
import sys
import unittest
from pathlib import Path

BENCH = Path(__file__).resolve().parent.parent.parent / "bench"
sys.path.insert(0, str(BENCH))
import harness  # noqa: E402


def series(name, rates):
    samples = iter(rates)

    def run():
        rate = next(samples)
        if rate is None:
            raise harness.Failed("no figures\nout of luck")
        return {"rate": rate}

    return harness.Series(name, run)


class OrderInterval(unittest.TestCase):
    """The ranks and coverages are those of tables of the sign test."""

    def ranks(self, n):
        low, high, confidence = harness.order_interval(list(range(n, 0, -1)))
        return low, high, round(confidence, 4)

    def test_ranks_of_tables(self):
        self.assertEqual(self.ranks(6), (1, 6, 0.9688))
        self.assertEqual(self.ranks(9), (2, 8, 0.9609))
        self.assertEqual(self.ranks(10), (2, 9, 0.9785))
        self.assertEqual(self.ranks(15), (4, 12, 0.9648))

    def test_too_few_rounds_say_what_they_are_worth(self):
        self.assertEqual(self.ranks(5), (1, 5, 0.9375))
        self.assertEqual(self.ranks(2), (1, 2, 0.5))
        self.assertEqual(self.ranks(1), (1, 1, 0.0))
        self.assertIn("at 50%", harness.Comparison([1, 2]).interval())
        self.assertNotIn("at", harness.Comparison(list(range(6))).interval())


class Comparisons(unittest.TestCase):
    def test_ratios_are_of_the_same_round(self):
        """A machine that slows down by half in each round: the ratios stay."""
        fast, slow = series("fast", [800, 400, 200]), series("slow", [400, 200, 100])
        harness.alternate([fast, slow], 3, "")
        found = harness.compare(fast, slow)
        self.assertEqual((found.median, found.low, found.high), (2, 2, 2))

    def test_what_failed_is_not_tried_again_and_compares_with_nothing(self):
        good, bad = series("good", [1, 2]), series("bad", [None])
        harness.alternate([bad, good], 2, "")
        self.assertEqual(len(bad.failures), 1)
        self.assertIsNone(harness.compare(good, bad))
        self.assertEqual(bad.why(), "failed: out of luck")


class Runs(unittest.TestCase):
    def test_exit_codes_that_are_accepted_are_no_failure(self):
        self.assertEqual(harness.launch("echo 7; exit 130", shell=True, accepted=(0, 130))[0], "7\n")
        for accepted in ((0,), (1,)):
            with self.assertRaisesRegex(harness.Failed, "exit status 130: why"):
                harness.launch("echo why >&2; exit 130", shell=True, accepted=accepted)

    def test_what_was_stopped_need_not_have_committed_the_same(self):
        def ran(fingerprint, **more):
            one = harness.Series(fingerprint, lambda: {"fingerprint": fingerprint, **more})
            one.measure()
            return one

        harness.check_fingerprints([ran("a", stopped=False), ran("b", stopped=True), ran("a")])
        with self.assertRaisesRegex(SystemExit, "fingerprints differ"):
            harness.check_fingerprints([ran("a"), ran("b", stopped=False)])


class Shown(unittest.TestCase):
    def test_progress_is_for_terminals_only(self):
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors):
            harness.alternate([series("one", [1])], 1, "label")
        self.assertEqual(errors.getvalue(), "")

    def test_tables_align_and_leave_cells_empty(self):
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            table = harness.Table(("", 4, ""), ("rate", 6, ".1f"), ("share", 6, ".0%"))
            table.head()
            table.row("a", 12.34, None, note=" !")
            table.row("b", None, 0.5)
        self.assertEqual(text.getvalue(), "         rate  share\n  a      12.3 !\n  b              50%\n")

    def test_bars_say_met_or_missed(self):
        bars = harness.Bars()
        bars.add("low", 1, 2)
        bars.add("small", 1, 2, at_most=True)
        bars.add("absent", None, 2)
        self.assertEqual([(r["what"], r["met"]) for r in bars.rows], [("low", False), ("small", True)])


class Options(unittest.TestCase):
    def refusal(self, parse, *words):
        """The last line of what is said of wrong words."""
        said = io.StringIO()
        with contextlib.redirect_stderr(said), self.assertRaises(SystemExit) as ended:
            parse(words)
        self.assertEqual(ended.exception.code, 2)
        return said.getvalue().splitlines()[-1]

    def test_numbers_have_bounds(self):
        parse = argparse.ArgumentParser()
        parse.add_argument("--sizes", type=harness.numbers(int, 3, 254))
        self.assertEqual(parse.parse_args(["--sizes", "3,254"]).sizes, [3, 254])
        self.assertIn("2 is not from 3 to 254", self.refusal(parse.parse_args, "--sizes", "8,2"))
        self.assertIn("list of int", self.refusal(parse.parse_args, "--sizes", "8,a"))

    def test_lists_of_names_name_the_wrong_one(self):
        parse = argparse.ArgumentParser()
        parse.add_argument("--parts", type=harness.some_of(["one", "two"]))
        self.assertEqual(parse.parse_args(["--parts", "two,one"]).parts, ["two", "one"])
        for wrong in ("one,three", "three,one"):
            self.assertIn("there is no 'three'; there are one, two",
                          self.refusal(parse.parse_args, "--parts", wrong))
        self.assertIn("there is no ''", self.refusal(parse.parse_args, "--parts", "one,"))

    def test_the_laboratory_refuses_before_it_runs(self):
        for words, said in ((["--mesh", "abc"], "it is like 9x7"), (["--mesh", "9x1"], "2 or more"),
                            (["--protocols", "olsr,foo"], "there is no 'foo'"),
                            (["--parts", "x"], "there is no 'x'"), (["--losses", "a"], "list of float"),
                            (["--losses", "0"], "is not from"), (["--sizes", "2"], "is not from")):
            done = subprocess.run([sys.executable, BENCH / "lab/run.py", *words], text=True,
                                  capture_output=True, check=False)
            self.assertEqual(done.returncode, 2, (words, done.stderr))
            self.assertIn(said, done.stderr.splitlines()[-1])


if __name__ == "__main__":
    unittest.main()
