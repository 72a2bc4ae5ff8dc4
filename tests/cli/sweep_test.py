#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""orrery sweep, seen from outside: what it runs, what it leaves, what it refuses, and that a study
that was stopped or killed goes on to the same results. Needs the environment of cli_test.py."""

import csv
import json
import math
import os
import pathlib
import random
import signal
import sqlite3
import statistics
import subprocess
import time
import unittest

from cli_test import MISFIT, ORRERY, PATIENCE_S, Case, Done

SMALL = ["pcs", "--set", "cells=4", "--set", "inter_arrival=20s", "--until", "200s"]
GRID = [*SMALL, "--set", "channels=2..4:2", "--set", "mobility=yes,no"]
TABLES = ["runs.csv", "summary.csv", "study.sqlite", "study.json"]


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def files_of(folder):
    """All that is meant to be the same, whatever happened on the way."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


class SweepCase(Case):
    def sweep(self, *words, **options):
        return self.run_ok("sweep", *words, "--quiet", **options)

    def out(self, name="study"):
        return self.folder / name

    def write(self, text, name="study.toml"):
        path = self.folder / name
        path.write_text(text)
        return path


class Study(SweepCase):
    def test_a_grid_with_seeds(self):
        done = self.sweep(*GRID, "--seeds", "1..3", "--out", self.out())
        rows = rows_of(self.out() / "runs.csv")
        keys = [(row["point"], row["seed"], row["channels"], row["mobility"]) for row in rows]
        self.assertEqual(keys, [(str(1 + 2 * i + k), str(seed), channels, mobility)
                                for i, channels in enumerate(["2", "4"])
                                for k, mobility in enumerate(["yes", "no"]) for seed in [1, 2, 3]])
        self.assertIn("blocking_probability: share of new calls that found no channel", done.out)
        self.assertRegex(done.out, r"(?m)^ +channels +mobility +n +mean +interval +relative")
        self.assertRegex(done.out, r"(?m)^ +2 +yes +3 +0\.\d+ +\+/- 0\.\d+ ")
        self.assertIn("results in ", done.out)

    def test_runs_are_those_of_run(self):
        self.sweep(*SMALL, "--set", "channels=2,4", "--seeds", "5..5", "--out", self.out())
        alone = self.run_json(*SMALL, "--set", "channels=4", "--seed", "5")
        row = rows_of(self.out() / "runs.csv")[1]
        self.assertEqual(row["fingerprint"], alone["run"]["fingerprint"])
        self.assertEqual(float(row["blocking_probability"]),
                         alone["results"]["blocking_probability"]["value"])
        self.assertEqual(float(row["arrivals.mean"]), alone["metrics"]["arrivals"]["mean"])
        report = json.loads((self.out() / "runs/point-2/seed-5/report.json").read_text())
        self.assertEqual(report["options"]["seed"], 5)
        self.assertEqual(report["command"][:2], ["run", "pcs"])

    def test_quantiles_are_measures(self):
        words = ["wireless", "--until", "300ms", "--set", "stations=8"]
        done = self.sweep(*words, "--seeds", "1..3", "--show", "delay.p99", "--out", self.out())
        self.assertIn("delay.p99", done.out)
        alone = self.run_json(*words, "--seed", "2")
        row = rows_of(self.out() / "runs.csv")[1]
        self.assertEqual(float(row["delay.p99.9"]), alone["metrics"]["delay"]["p99.9"])

    def test_summary_is_that_of_the_runs(self):
        self.sweep(*GRID, "--seeds", "1..5", "--confidence", "0.9", "--out", self.out())
        runs = rows_of(self.out() / "runs.csv")
        for row in rows_of(self.out() / "summary.csv"):
            values = [float(run[row["measure"]]) for run in runs
                      if run["point"] == row["point"] and run[row["measure"]]]
            self.assertEqual(int(row["n"]), len(values))
            self.assertTrue(math.isclose(float(row["mean"]), statistics.fmean(values),
                                         rel_tol=1e-12, abs_tol=1e-300), row)
            if len(values) == 5:
                deviation = statistics.stdev(values)
                self.assertTrue(math.isclose(float(row["half_width"]),
                                             2.131847 * deviation / math.sqrt(5), rel_tol=1e-6,
                                             abs_tol=1e-15), row)  # Student, 4 degrees, 0.90

    def test_database_holds_the_same(self):
        self.sweep(*GRID, "--seeds", "1..2", "--out", self.out())
        with sqlite3.connect(self.out() / "study.sqlite") as database:
            stored = database.execute("SELECT blocking_probability FROM runs").fetchall()
            kinds = database.execute("SELECT DISTINCT typeof(channels), typeof(mobility) FROM runs")
            self.assertEqual(kinds.fetchall(), [("integer", "text")])
            measures = database.execute("SELECT count(DISTINCT measure) FROM summary").fetchone()[0]
        told = [float(row["blocking_probability"]) for row in rows_of(self.out() / "runs.csv")]
        self.assertEqual([row[0] for row in stored], told)
        self.assertGreater(measures, 10)

    def test_tables_do_not_depend_on_jobs_or_engines(self):
        words = [*GRID, "--seeds", "1..2", "--compare", "mobility"]
        for name, more in [("a", ["--jobs", "1"]), ("b", ["--jobs", "3"]),
                           ("c", ["--jobs", "8", "--engine", "timewarp", "--workers", "2"])]:
            self.sweep(*words, *more, "--out", self.out(name))
        first = files_of(self.out("a"))
        self.assertEqual(set(first) >= {*TABLES, "comparison.csv", "blocking_probability.svg",
                                        "plan.json"}, True, first.keys())
        self.assertEqual(first, files_of(self.out("b")))
        self.assertEqual(first, files_of(self.out("c")))

    def test_compares_by_seed(self):
        done = self.sweep(*GRID, "--seeds", "1..4", "--compare", "channels", "--show",
                          "blocking_probability,arrivals", "--out", self.out())
        self.assertIn("difference in blocking_probability", done.out)
        self.assertRegex(done.out, r"(?m)^ +yes +4 - 2 +4 +-0\.\d+")
        runs = rows_of(self.out() / "runs.csv")
        of = lambda channels: [float(run["blocking_probability"]) for run in runs
                               if run["channels"] == channels and run["mobility"] == "no"]
        row = next(row for row in rows_of(self.out() / "comparison.csv")
                   if row["measure"] == "blocking_probability" and row["mobility"] == "no")
        self.assertEqual((row["first"], row["second"]), ("2", "4"))
        differences = [b - a for a, b in zip(of("2"), of("4"))]
        self.assertAlmostEqual(float(row["mean"]), statistics.fmean(differences), places=12)
        self.assertAlmostEqual(float(row["deviation"]), statistics.stdev(differences), places=12)
        self.assertFalse((self.out() / "carried_load.svg").exists())
        self.assertTrue((self.out() / "arrivals.mean.svg").exists())

    def test_a_model_without_results(self):
        done = self.sweep("phold", "--set", "lps=16", "--until", "2s", "--seeds", "1", "--out",
                          self.out())
        self.assertIn("the model reports neither results nor metrics", done.out)
        self.assertEqual(len(rows_of(self.out() / "runs.csv")), 1)

    def test_json_and_no_folder(self):
        done = self.sweep(*SMALL, "--seeds", "1..2", "--json", cwd=self.folder)
        study = json.loads(done.out)
        self.assertEqual((study["complete"], study["files"]), (True, []))
        self.assertEqual(study["points"], [{"point": 1, "settings": {}, "runs": 2}])
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_what_is_there_is_told(self):
        self.sweep(*SMALL, "--seeds", "1..2", "--out", self.out())
        done = self.run_ok("sweep", *SMALL, "--seeds", "1..2", "--out", self.out())
        self.assertEqual(done.err, "orrery: 2 of 2 runs are finished already and kept\n")


class Precision(SweepCase):
    WORDS = [*SMALL, "--set", "channels=2,4"]

    def test_replications_follow_the_precision(self):
        words = [*self.WORDS, "--until-precision", "carried_load=0.05"]
        self.sweep(*words, "--out", self.out("a"))
        self.sweep(*words, "--jobs", "7", "--out", self.out("b"))
        self.assertEqual(files_of(self.out("a")), files_of(self.out("b")))
        study = json.loads((self.out("a") / "study.json").read_text())
        counts = [point["runs"] for point in study["points"]]
        self.assertTrue(all(count >= 10 for count in counts), counts)
        self.assertGreater(max(counts), 10)
        for row in study["summary"]:
            if row["measure"] == "carried_load":
                self.assertLessEqual(row["half_width"], 0.05 * row["mean"])
        self.assertEqual(study["given_up"], [])
        self.assertEqual(study["plan"]["until_precision"], ["carried_load=0.05@0.95"])

    def test_what_never_differs_is_not_known(self):
        done = self.sweep(MISFIT, "--until", "12s", "--until-precision", "steps.mean=0.05", "--max-seeds", "12")
        self.assertIn("note: after 12 replications the interval of steps.mean is unknown", done.out)

    def test_the_ceiling_says_so(self):
        done = self.sweep(*self.WORDS, "--until-precision", "carried_load=0.0001",
                          "--max-seeds", "12", "--out", self.out())
        self.assertRegex(done.out, r"note: with channels=2, after 12 replications the interval of "
                                   r"carried_load is \+/- [\d.]+ %, and \+/- 0.01 % of the mean was asked "
                                   r"for; raise --max-seeds")
        study = json.loads((self.out() / "study.json").read_text())
        self.assertEqual([point["runs"] for point in study["points"]], [12, 12])
        self.assertEqual(len(study["given_up"]), 2)

    def test_refusals(self):
        rule = "--until-precision"
        self.refused(2, "sweep", *SMALL, rule, "carried_load", says=["MEASURE=SHARE"])
        self.refused(2, "sweep", *SMALL, rule, "carried_load=2", says=["between 0 and 1"])
        self.refused(2, "sweep", *SMALL, rule, "carried_load=0.1", "--seeds", "1..9",
                     says=["at least 10", "names 9"])
        self.refused(2, "sweep", *SMALL, rule, "carried_load=0.1", "--max-seeds", "5",
                     says=["--max-seeds 5 is less than the 10 seeds"])
        self.refused(2, "sweep", *SMALL, "--max-seeds", "5", says=["only with --until-precision"])
        self.refused(2, "sweep", *SMALL, rule, "carryed_load=0.1", "--quiet",
                     says=["no run reports", "did you mean 'carried_load'"])


class WarmUp(SweepCase):
    WORDS = ["pcs", "--set", "cells=9", "--set", "channels=2,6", "--set", "inter_arrival=20s",
             "--until", "2h", "--warm-up", "auto:power", "--seeds", "1..3"]

    def test_pilots_fix_it(self):
        done = self.sweep(*self.WORDS, "--out", self.out())
        study = json.loads((self.out() / "study.json").read_text())
        told = study["warm_up"]
        self.assertEqual((told["metric"], told["pilots"]), ("power", 5))
        self.assertIn(f"warm-up: {told['text']}, by 5 pilots at each point for power", done.out)
        for point in (1, 2):
            report = json.loads((self.out() / f"runs/point-{point}/seed-2/report.json").read_text())
            self.assertEqual(report["options"]["warm_up_ticks"], told["ticks"])
            pilots = sorted(path.name for path in (self.out() / f"pilots/runs/point-{point}").iterdir())
            self.assertEqual(pilots, [f"seed-{1_000_003 + i}" for i in range(1, 6)])
        self.assertLess(told["ticks"], 3_600_000_000_000)

    def test_it_is_the_same_when_the_study_goes_on(self):
        self.sweep(*self.WORDS, "--out", self.out())
        left = files_of(self.out())
        pilot = next((self.out() / "pilots/runs/point-1").iterdir()) / "report.json"
        made = pilot.stat().st_mtime_ns
        self.sweep(*self.WORDS, "--out", self.out())
        self.assertEqual(files_of(self.out()), left)
        self.assertEqual(pilot.stat().st_mtime_ns, made)

    def test_refusals(self):
        def no(warm_up, says, code=2):
            self.refused(code, "sweep", *SMALL, "--warm-up", warm_up, "--quiet", says=says)
        no("auto", ["--warm-up auto", "auto:METRIC"])
        no("auto:", ["auto:METRIC"])
        no("auto:powr", ["did you mean 'power'?"])
        no("soon", ["--warm-up", "'soon'"])

    def test_what_finish_records(self):
        """No run is long enough for it."""
        self.refused(2, "sweep", *SMALL, "--warm-up", "auto:busy_channels", "--quiet",
                     says=["--warm-up auto:busy_channels: all its values are of the end of the run", "finish()"])

    def test_runs_that_are_too_short(self):
        self.refused(2, "sweep", MISFIT, "--until", "12s", "--seeds", "1..2", "--quiet",
                     "--warm-up", "auto:steps", says=["too short", "--until"])

    def test_pilots_that_fail(self):
        done = Done(["sweep", MISFIT, "--until", "20s", "--set", "does=throw", "--quiet",
                     "--warm-up", "auto:steps"])
        self.assertEqual(done.code, 3, done.err)
        self.assertIn("the wheel came off", done.err)
        self.assertIn("5 of 5 pilots for the warm-up failed", done.err)


class StudyFile(SweepCase):
    def test_a_file_holds_the_same(self):
        path = self.write(f'''
            # A comment.
            model = "pcs"
            seeds = "1..2"
            until = "200s"
            out = "{self.out('a')}"
            quiet = true
            [set]
            cells = 4
            inter_arrival = "20s"
            channels = [2, 4]
            mobility = [true, false]
        ''')
        self.run_ok("sweep", path)
        self.sweep(*SMALL, "--set", "channels=2,4", "--set", "mobility=true,false", "--seeds",
                   "1..2", "--out", self.out("b"))
        self.assertEqual(files_of(self.out("a")), files_of(self.out("b")))
        # The command line wins.
        done = self.run_ok("sweep", path, "--seeds", "7..7", "--set", "channels=3", "--out",
                           self.out("c"))
        self.assertEqual(done.err, "")
        rows = rows_of(self.out("c") / "runs.csv")
        self.assertEqual([(row["seed"], row["mobility"]) for row in rows],
                         [("7", "true"), ("7", "false")])

    def test_points(self):
        path = self.write('''
            model = "pcs"
            seeds = [3, 1]
            until = "200s"
            [set]
            cells = 4
            mobility = ["yes", "no"]
            [[point]]
            channels = 2
            inter_arrival = "20s"
            [[point]]
            inter_arrival = "10s"
            channels = 4
        ''')
        self.run_ok("sweep", path, "--out", self.out(), "--quiet")
        rows = rows_of(self.out() / "runs.csv")
        self.assertEqual([(row["channels"], row["inter_arrival"], row["mobility"], row["seed"])
                          for row in rows if row["mobility"] == "no"],
                         [("2", "20s", "no", "3"), ("2", "20s", "no", "1"),
                          ("4", "10s", "no", "3"), ("4", "10s", "no", "1")])

    def test_one_seed(self):
        for number, seeds in enumerate(("[7]", '"7..7"')):
            path = self.write(f'model = "pcs"\nseeds = {seeds}\nuntil = "50s"\n[set]\ncells = 4\n')
            out = self.out(str(number))
            self.run_ok("sweep", path, "--out", out, "--quiet")
            self.assertEqual([row["seed"] for row in rows_of(out / "runs.csv")], ["7"])

    def wrong(self, text, line, key, *says):
        path = self.write(text)
        self.refused(2, "sweep", path, says=[f"study file '{path}', line {line}, '{key}': ", *says])

    def test_mistakes_are_told_with_line_and_key(self):
        head = 'model = "pcs"\n'
        self.wrong(head + 'sedes = 3\n', 2, "sedes", "no such key", "'seeds'")
        self.wrong(head + 'seeds = "1..x"\n', 2, "seeds", "'x' is no number")
        self.wrong(head + 'seeds = []\n', 2, "seeds", "the list is empty")
        self.wrong(head + 'seeds = 5\n', 2, "seeds", "may mean 5 seeds or the seed 5")
        self.wrong(head + 'until = "soon"\n', 2, "until", "'soon'")
        self.wrong(head + 'until = 2026-01-01\n', 2, "until", "a text in quotes")
        self.wrong(head + 'engine = "timewrap"\n', 2, "engine", "'timewarp'")
        self.wrong(head + 'jobs = 0\n', 2, "jobs", "'0'")
        self.wrong(head + 'confidence = 95\n', 2, "confidence", "between 0 and 1")
        self.wrong(head + 'until-precision = "a"\n', 2, "until-precision", "MEASURE=SHARE")
        self.wrong(head + 'compare = "channels"\n', 2, "compare", "several values")
        self.wrong('model = "psc"\n', 1, "model", "'pcs'")
        self.wrong(head + 'set = 3\n', 2, "set", "[set]")
        self.wrong(head + '[set]\nchanels = 2\n', 3, "chanels", "'channels'")
        self.wrong(head + '[set]\nchannels = "2..x"\n', 3, "channels", "'x' is no number")
        self.wrong(head + '[set]\nchannels = [2, 2]\n', 3, "channels", "there twice")
        self.wrong(head + '[set]\nchannels = [2, 0]\n', 3, "channels", "1 .. 65536")
        self.wrong(head + '[set]\nchannels = { a = 1 }\n', 3, "channels", "a number")
        self.wrong(head + 'point = 3\n', 2, "point", "[[point]]")
        self.wrong(head + '[[point]]\nchannels = 0\n', 2, "channels", "1 .. 65536")
        self.wrong(head + '[[point]]\nchannels = 1\n[[point]]\ncells = 2\n', 4, "point",
                   "does not set 'channels'")
        self.wrong(head + '[set]\nchannels = 3\n[[point]]\nchannels = 1\n', 4, "channels",
                   "beside the points")

    def test_words_without_quotes(self):
        """As in config files."""
        path = self.write('model = pcs # cells\nuntil = 1 min\nseeds = 1,2\n[set]\n'
                          'channels = 2..4:2\ncells = 9\nmobility = [yes, no]\n')
        plan = json.loads(self.run_ok("sweep", path, "--json", "--quiet").out)["plan"]
        self.assertEqual((plan["seeds"], plan["options"], plan["settings"]),
                         ([1, 2], ["--until=1 min"], {"cells": "9"}))
        self.assertEqual([(point["channels"], point["mobility"]) for point in plan["points"]],
                         [("2", "yes"), ("2", "no"), ("4", "yes"), ("4", "no")])
        self.wrong("model = pcs\nuntil = soon\n", 2, "until", "not 'soon'")

    def test_files_that_are_none(self):
        path = self.write("model = \n")
        self.refused(2, "sweep", path, says=[f"study file '{path}', line 1: "])
        path = self.write('model = "pcs"\nmodel = "phold"\n')
        self.refused(2, "sweep", path, says=[f"study file '{path}', line 2: "])
        path = self.write("seeds = 3\n")
        self.refused(2, "sweep", path, says=["names no model"])
        self.refused(2, "sweep", self.folder / "none.toml", says=["study file", "none.toml"])


class Refusals(SweepCase):
    def test_wrong_words(self):
        self.refused(2, "sweep", says=["which model?", "study file"])
        self.refused(2, "sweep", "psc", says=["'pcs'"])
        self.refused(2, "sweep", "pcs", "phold", says=["two models"])
        self.refused(2, "sweep", "pcs", "--seed", "3", says=["--seed", "--seeds"])
        self.refused(2, "sweep", "pcs", "--seeds", "1..", says=["--seeds: ", "'' is no number"])
        self.refused(2, "sweep", "pcs", "--seeds", "1,1", says=["there twice"])
        self.refused(2, "sweep", "pcs", "--seeds", "0.5", says=["is no seed"])
        self.refused(2, "sweep", "pcs", "--seeds", "5", says=[
            "--seeds: 5 may mean 5 seeds or the seed 5: write 1..5 or 5..5"])
        self.refused(2, "sweep", "pcs", "--jobs", "none", says=["--jobs"])
        self.refused(2, "sweep", "pcs", "--confidence", "95", says=["--confidence", "0.95"])
        self.refused(2, "sweep", "pcs", "--set", "channels", says=["NAME=VALUE"])
        self.refused(2, "sweep", "pcs", "--set", "channels=5..1", says=["--set channels: ", "below"])
        self.refused(2, "sweep", "pcs", "--set", "channels=0..3", says=["channels", "1 .. 65536"])
        self.refused(2, "sweep", "pcs", "--set", "channels=1", "channels=2", says=["more than once"])
        self.refused(2, "sweep", "pcs", "--set", "chanels=1,2", says=["'channels'"])
        self.refused(2, "sweep", "pcs", "--set", "cells=1..1000", "--seeds", "1..2000",
                     says=["1000 points with 2000 seeds are more than the 1000000 runs"])
        self.refused(2, "sweep", "pcs", "--until", "soon", says=["--until"])
        self.refused(2, "sweep", "pcs", "--engine", "timewrap", says=["'timewarp'"])
        self.refused(2, "sweep", "pcs", "--compare", "cells", says=["--compare", "cells=1,2"])
        self.refused(2, "sweep", "pcs", "--set", "cells=1,4", "--compare", "cell",
                     says=["does not vary", "'cells'"])
        self.refused(2, "sweep", *SMALL, "--seeds", "1", "--show", "load", "--quiet",
                     says=["--show names 'load'", "offered_load"])

    def test_another_study_in_the_folder(self):
        self.sweep(*SMALL, "--seeds", "1", "--out", self.out())
        before = files_of(self.out())
        self.refused(2, "sweep", *SMALL, "--seeds", "2..2", "--out", self.out(),
                     says=["another study", "its 'seeds' is [1], not [2]", "--out", "--force"])
        self.refused(2, "sweep", *SMALL, "--seeds", "1", "--set", "channels=3", "--out", self.out(),
                     says=["its 'settings' differs"])
        self.assertEqual(before, files_of(self.out()))
        # With --force, and what both have is kept.
        done = self.run_ok("sweep", *SMALL, "--seeds", "1..2", "--force", "--out", self.out())
        self.assertIn("1 of 2 runs are finished already", done.err)
        self.assertEqual(len(rows_of(self.out() / "runs.csv")), 2)

    def test_nothing_of_a_study_that_was_replaced_is_left(self):
        self.sweep(*SMALL, "--set", "channels=2,4", "--seeds", "1", "--out", self.out())
        self.assertTrue((self.out() / "offered_load.svg").exists())
        self.sweep(*SMALL, "--seeds", "1", "--force", "--out", self.out())
        self.assertEqual(set(files_of(self.out())), {*TABLES, "plan.json"})

    def test_folders_of_others(self):
        self.run_ok("run", *SMALL, "--out", self.out())
        self.refused(2, "sweep", *SMALL, "--seeds", "1", "--out", self.out(),
                     says=["report.json of a run"])

    def test_a_failed_run_is_named_and_others_go_on(self):
        done = Done(["sweep", MISFIT, "--set", "does=nothing,throw,refuse", "--seeds", "1..2",
                     "--until", "20s", "--quiet", "--out", self.out()])
        self.assertEqual(done.code, 3, done.err)
        self.assertEqual(done.err.count("the run with does=throw, seed "), 2)
        self.assertIn("the wheel came off", done.err)
        self.assertIn("the run with does=refuse, seed 1, failed: map.txt, line 7: a number is "
                      "expected", done.err)
        self.assertTrue(done.err.endswith("4 of 6 runs failed; the tables hold the others\n"))
        self.assertEqual([(row["does"], row["seed"]) for row in rows_of(self.out() / "runs.csv")],
                         [("nothing", "1"), ("nothing", "2")])
        study = json.loads((self.out() / "study.json").read_text())
        self.assertFalse(study["complete"])
        self.assertEqual([(one["point"], one["seed"], one["exit_code"])
                          for one in study["failures"]], [(2, 1, 3), (2, 2, 3), (3, 1, 2), (3, 2, 2)])
        # Failed runs are made again, the others are not.
        again = Done(["sweep", MISFIT, "--set", "does=nothing,throw,refuse", "--seeds", "1..2",
                      "--until", "20s", "--out", self.out()])
        self.assertEqual(again.code, 3)
        self.assertIn("2 of 6 runs are finished already", again.err)


class Resume(SweepCase):
    # Some tens of milliseconds a run.
    WORDS = ["pcs", "--set", "cells=16", "channels=2..8:2", "--until", "2000s", "--seeds", "1..5",
             "--jobs", "2", "--quiet"]

    def start(self, out):
        return self.popen("sweep", *self.WORDS, "--out", out, start_new_session=True)

    def finished(self, out):
        return len(list(out.glob("runs/*/*/report.json")))

    def wait_until_finished(self, out, count, process):
        deadline = time.monotonic() + PATIENCE_S
        while self.finished(out) < count and process.poll() is None:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.005)

    def test_killed_at_random_moments(self):
        whole = self.out("whole")
        self.run_ok("sweep", *self.WORDS, "--out", whole)
        killed, chance, kills = self.out("killed"), random.Random(15), 0
        for target in [1, 4, 8, 13, 17]:
            process = self.start(killed)
            self.wait_until_finished(killed, target, process)
            time.sleep(chance.uniform(0, 0.03))
            process.kill()
            process.communicate(timeout=PATIENCE_S)
            kills += process.returncode == -signal.SIGKILL
            # study.json is written last, and the kill may come between it and the end of the process.
            if (killed / "study.json").exists():
                self.assertEqual(self.finished(killed), 20)
            else:
                self.assertEqual(process.returncode, -signal.SIGKILL)
        self.assertGreaterEqual(kills, 1)
        done = Done(["sweep", *[word for word in self.WORDS if word != "--quiet"], "--out", killed])
        self.assertEqual(done.code, 0, done.err)
        self.assertRegex(done.err, r"orrery: \d+ of 20 runs are finished already and kept\n")
        self.assertEqual(files_of(whole), files_of(killed))
        self.assertEqual([path for path in killed.rglob("*.part")], [])

    def test_changed_input_is_run_again(self):
        data = pathlib.Path(os.environ["ORRERY_DATA"]) / "traffic"
        for part in ["net", "trips"]:
            (self.folder / f"city_{part}.tntp").write_text((data / f"sioux-falls_{part}.tntp").read_text())
        words = ["sweep", "traffic", "--set", f"network={self.folder}/city", "routes=free-flow",
                 "--until", "1min", "--seeds", "1..3", "--out", self.out()]
        self.run_ok(*words)
        self.assertIn("3 of 3 runs are finished already", Done(words).err)
        with open(self.folder / "city_trips.tntp", "a", encoding="utf-8") as stream:
            stream.write("\n")
        self.assertIn("3 finished runs are of another build of the program or the model, or of input "
                      "files that have changed", Done(words).err)
        # Where they fail this time, the reports that lie there are no part of the study.
        (self.folder / "city_trips.tntp").write_text("nonsense")
        failed = Done([*words, "--json"])
        self.assertEqual(failed.code, 2)
        self.assertIn("3 of 3 runs failed", failed.err)
        self.assertEqual(rows_of(self.out() / "runs.csv"), [])

    def test_signals_end_it_in_order(self):
        whole = self.out("whole")
        self.run_ok("sweep", *self.WORDS, "--out", whole)
        stopped = self.out("stopped")
        for number in [signal.SIGINT, signal.SIGTERM]:
            process = self.start(stopped)
            self.wait_until_finished(stopped, self.finished(stopped) + 2, process)
            process.send_signal(number)
            _, errors = process.communicate(timeout=PATIENCE_S)
            self.assertEqual(process.returncode, 128 + number, errors)
            self.assertRegex(errors, r"orrery: interrupted: \d+ of 20 runs are finished and kept in "
                                     r".*; the same command goes on\n\Z")
            self.assertFalse((stopped / "study.json").exists())
        self.run_ok("sweep", *self.WORDS, "--out", stopped)
        self.assertEqual(files_of(whole), files_of(stopped))

    def test_runs_end_where_the_study_was_started_in_the_background_of_a_script(self):
        out = self.out()
        process = self.popen("sweep", "phold", "--until", "1000000s", "--seeds", "1", "--jobs", "1",
                             "--out", out,
                             preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
        children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
        deadline = time.monotonic() + PATIENCE_S
        while not children.read_text().split():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        time.sleep(0.5)  # it runs
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 128 + signal.SIGTERM, errors)

    def test_a_run_that_is_killed_has_failed(self):
        out = self.out()
        process = self.popen("sweep", MISFIT, "--set", "does=nothing,hang", "--until", "20s",
                             "--seeds", "1", "--jobs", "1", "--out", out)
        self.wait_until_finished(out, 1, process)
        children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
        deadline = time.monotonic() + PATIENCE_S
        while not (running := [int(word) for word in children.read_text().split()
                               if (out / "runs/point-2/seed-1").exists()]):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        os.kill(running[0], signal.SIGKILL)
        _, errors = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 128 + signal.SIGKILL, errors)
        self.assertIn("does=hang, seed 1, failed: it was ended by signal 9 (Killed)", errors)

    def test_folder_in_use(self):
        out = self.out()
        process = self.start(out)
        self.wait_until_finished(out, 1, process)
        self.refused(2, "sweep", *self.WORDS, "--out", out, says=["another run"])


if __name__ == "__main__":
    unittest.main()
