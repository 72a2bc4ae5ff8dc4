#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""orrery advise, seen from outside: what it measures, leaves, refuses, and that what it recommends
can be run. No time is asserted, since a test may share its cores with others. Needs the environment
of cli_test.py."""

import csv
import json
import os
import re
import shlex
import signal
import subprocess
import time
import unittest

from cli_test import ORRERY, PATIENCE_S, Case

PHOLD = ["phold", "--set", "lps=256", "--set", "lookahead=0.1s"]
LONG = [*PHOLD, "--until", "30d"]
MACHINES = """currency = "shells"
[[machine]]
name = "small"
cores = 1
speed = 1
price_per_hour = 0.05
[[machine]]
name = "large"
cores = 64
speed = 1
price_per_hour = 3
"""


class AdviseCase(Case):
    def out(self):
        return self.folder / "advice"

    def advise(self, *words, **options):
        """The answer as JSON."""
        done = self.run_ok("advise", *words, "--quiet", "--json", **options)
        return json.loads(done.out)

    def machines(self, text=MACHINES):
        path = self.folder / "machines.toml"
        path.write_text(text)
        return path


class Advice(AdviseCase):
    def test_of_a_long_run(self):
        answer = self.advise(*LONG, "--budget", "3s")
        self.assertEqual(answer["schema"], 1)
        self.assertTrue(answer["complete"])
        self.assertEqual(answer["begin"]["at"], "snapshot")
        self.assertGreater(answer["begin"]["simulated_seconds"], 0)
        events = answer["events"]
        self.assertIn(events["basis"], ["settled", "unsettled"])
        # One event in a simulated second or so, of each LP.
        self.assertAlmostEqual(events["whole_run"]["value"] / (256 * 30 * 86400 / 1.1), 1, delta=0.2)
        self.assertLess(events["counted"], events["whole_run"]["value"])
        measured = [one for one in answer["configurations"] if one["runs"]]
        engines = {one["configuration"]["engine"] for one in measured}
        self.assertLessEqual({"sequential", "timewarp"}, engines)
        self.assertNotIn("auto", engines)
        for one in measured:
            self.assertGreater(one["seconds_per_event"], 0)
            self.assertGreater(one["whole_run_seconds"]["value"], 0)
        self.assertIsNone(answer["recommendation"]["price"])
        self.assertEqual(answer["machines"], [])

    def test_of_a_run_that_hardly_lasts_runs_it(self):
        words = [*PHOLD, "--until", "5s", "--seed", "3"]
        answer = self.advise(*words, "--budget", "2s")
        self.assertEqual(answer["begin"]["at"], "whole")
        self.assertEqual(answer["events"]["basis"], "counted")
        command = shlex.split(answer["recommendation"]["command"])
        self.assertEqual(command[:3], ["orrery", "run", "phold"])
        report = self.run_json(*command[2:])
        self.assertEqual(report["run"]["committed"], answer["events"]["whole_run"]["value"])
        self.assertEqual(report["options"]["seed"], 3)
        recommended = answer["recommendation"]["configuration"]
        self.assertEqual(report["options"]["engine"], recommended["engine"])
        self.assertEqual(report["run"]["workers"], recommended["workers"])

    def test_measures_what_it_is_told_to(self):
        answer = self.advise(*LONG, "--budget", "2s", "--engines", "timewarp", "--workers", "1,3",
                             "--ranks", "1", "--try", "checkpoint=copy")
        names = [one["configuration"]["name"] for one in answer["configurations"]
                 if not one["beyond_cores"]]
        self.assertEqual(names, ["timewarp, 1 worker", "timewarp, 3 workers",
                                 "timewarp, 1 worker, --checkpoint=copy",
                                 "timewarp, 3 workers, --checkpoint=copy"])

    def test_ranks(self):
        answer = self.advise(*LONG, "--budget", "2s", "--engines", "timewarp", "--workers", "1",
                             "--ranks", "2")
        shapes = [(one["configuration"]["workers"], one["configuration"]["ranks"])
                  for one in answer["configurations"] if not one["beyond_cores"] and one["runs"]]
        self.assertEqual(shapes, [(1, 1), (1, 2)])

    def test_names_engines_that_cannot_run_it(self):
        done = self.run_ok("advise", "phold", "--set", "lps=64", "--until", "5s", "--budget", "2s",
                           "--engines", "sequential,conservative", "--workers", "2", "--ranks", "1",
                           "--quiet")
        self.assertRegex(done.out, "note: conservative, 2 workers is left out: .*promises no")

    def test_models_without_snapshots_are_measured_from_the_start(self):
        answer = self.advise("phold", "--set", "lps=64", "--set", "committed=2", "--until", "30d",
                             "--budget", "2s", "--engines", "sequential")
        self.assertEqual(answer["begin"]["at"], "start")
        self.assertTrue(any("no snapshot can be taken" in note for note in answer["notes"]))

    def test_a_pilot_tells_of_a_load_that_changes(self):
        road = ["traffic", "--set", "network=grid", "--set", "grid=20", "--set", "period=60d",
                "--set", "profile=peak", "--until", "60d"]
        answer = self.advise(*road, "--budget", "8s", "--engines", "sequential", "--pilot",
                             "grid_rate=0.3")
        self.assertEqual(answer["events"]["basis"], "pilot")

    def test_a_pilot_that_is_not_small_is_told(self):
        self.refused(2, "advise", *LONG, "--budget", "1s", "--pilot", "lps=512", "--quiet",
                     says=["pilot", "smaller"])


class Machines(AdviseCase):
    def test_prices_and_files(self):
        done = self.run_ok("advise", *LONG, "--budget", "4s", "--machines", self.machines(), "--out",
                           self.out(), "--quiet")
        self.assertIn("shells", done.out)
        self.assertIn("* efficient", done.out)
        self.assertIn("time-cost.svg advise.json", done.out)
        answer = json.loads((self.out() / "advise.json").read_text())
        self.assertEqual([one["machine"] for one in answer["machines"]], ["small", "large"])
        self.assertFalse(answer["machines"][0]["extrapolated"])
        self.assertGreater(answer["speed"], 0)
        self.assertGreater(answer["recommendation"]["price"], 0)
        self.assertEqual(sorted(answer["files"]), sorted(
            ["configurations.csv", "machines.csv", "time-cost.svg"]))
        for name in answer["files"]:
            self.assertTrue((self.out() / name).exists(), name)
        with open(self.out() / "machines.csv", newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([row["machine"] for row in rows], ["small", "large"])
        self.assertEqual(float(rows[0]["price"]), answer["machines"][0]["price"])
        self.assertIn("efficient frontier", (self.out() / "time-cost.svg").read_text())

    def test_a_limit_that_no_machine_meets(self):
        done = self.run_ok("advise", *LONG, "--budget", "3s", "--engines", "sequential",
                           "--machines", self.machines(), "--time-limit", "1ms", "--quiet")
        self.assertIn("No machine of the table does it within 1 ms", done.out)

    def test_calibration_is_a_machine_for_the_table(self):
        done = self.run_ok("advise", "--calibrate", "--quiet")
        self.assertRegex(done.out, r"speed \d+\.\d+: .* events/s")
        self.machines(done.out[done.out.index("[[machine]]"):])
        self.advise(*LONG, "--budget", "2s", "--engines", "sequential", "--machines",
                    self.folder / "machines.toml")


class Refusals(AdviseCase):
    def test_wrong_options(self):
        for words, says in [
                ([], ["which model?", "orrery advise MODEL"]),
                (["fold"], ["'fold'", "orrery list"]),
                (["phold", "--set", "lsp=3"], ["'lsp'", "'lps'"]),
                (["phold", "--budget", "soon"], ["--budget", "'soon'"]),
                (["phold", "--budget", "0s"], ["--budget", "'0s'"]),
                (["phold", "--engines", "sequental"], ["'sequental'", "'sequential'"]),
                (["phold", "--workers", "0"], ["--workers"]),
                (["phold", "--ranks", "1,,2"], ["--ranks", "'1,,2'"]),
                (["phold", "--try", "checkpoint"], ["--try", "'checkpoint'"]),
                (["phold", "--try", "checkpont=copy"], ["'checkpont'", "'checkpoint'"]),
                (["phold", "--try", "checkpoint=tree"], ["checkpoint", "'tree'"]),
                (["phold", "--pilot", "lsp=2"], ["--pilot", "'lsp'"]),
                (["phold", "--time-limit", "x"], ["--time-limit", "'x'"]),
                (["phold", "--price-limit", "-1"], ["--price-limit", "'-1'"]),
                (["phold", "--stop-when", "a.count > 1"], ["--stop-when", "--until"]),
                (["phold", "--machines", "/none.toml"], ["/none.toml"]),
                (["phold", "--workers", ",".join(map(str, range(1, 99)))], ["configurations", "64"]),
                (["phold", "--calibrate"], ["--calibrate", "'phold'"]),
                (["--calibrate", "--budget", "1s"], ["--calibrate", "--budget"])]:
            with self.subTest(words):
                self.refused(2, "advise", *words, says=says)

    def test_a_wrong_line_of_the_table(self):
        path = self.machines(MACHINES.replace("cores = 64", "cores = many"))
        self.refused(2, "advise", "phold", "--machines", path, says=[f"'{path}', line 9:"])
        path = self.machines(MACHINES.replace("speed = 1\nprice_per_hour = 3",
                                              "speed = -1\nprice_per_hour = 3"))
        self.refused(2, "advise", "phold", "--machines", path,
                     says=[f"table of machines '{path}', line 10: speed is a number above 0"])

    def test_a_folder_with_another_answer(self):
        words = ["advise", *PHOLD, "--until", "5s", "--budget", "1s", "--engines", "sequential",
                 "--out", self.out(), "--quiet"]
        self.run_ok(*words)
        self.refused(2, *words, says=["--force"])
        self.run_ok(*words, "--force")

    def test_a_run_that_is_refused(self):
        self.refused(2, "advise", "traffic", "--set", "network=/nowhere/net", "--quiet",
                     says=["/nowhere/net"])


class Interrupt(AdviseCase):
    def start(self, *words):
        return subprocess.Popen([ORRERY, "advise", *LONG, *words], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def test_tells_what_is_known(self):
        process = self.start("--budget", "24s", "--engines", "sequential")
        for line in process.stderr:  # until measuring has begun
            if re.search(r": sequential$", line.strip()):
                break
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 130, err)
        self.assertIn("orrery run phold", out)
        self.assertIn("interrupted", err)

    def test_says_that_nothing_is_known_yet(self):
        process = self.start("--budget", "60s", "--quiet")
        time.sleep(1)  # the scout alone takes 15 s
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 143, err)
        self.assertEqual(out, "")
        self.assertIn("there are no results yet", err)

    def test_leaves_no_runs_behind(self):
        folder = self.folder / "tmp"
        folder.mkdir()
        done = subprocess.run([ORRERY, "advise", *PHOLD, "--until", "5s", "--budget", "1s", "--quiet",
                               "--engines", "sequential"], env={**os.environ, "TMPDIR": str(folder)},
                              capture_output=True, timeout=PATIENCE_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(list(folder.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
