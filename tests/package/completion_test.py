#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the command answers to scripts of completion, and the pages of its manual: each is compared
with what --help, list and describe say. Needs ORRERY and MISFIT in the environment (the command, and a
shared object with a model)."""

import json
import os
import re
import subprocess
import tempfile
import pathlib
import unittest

ORRERY = os.environ["ORRERY"]
MISFIT = os.environ["MISFIT"]


class Case(unittest.TestCase):
    def run_command(self, *words):
        return subprocess.run([ORRERY, *words], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=120, check=False)

    def ok(self, *words):
        done = self.run_command(*words)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def lines(self, *words):
        return [line.split("\t") for line in self.ok("complete", "--", *words).splitlines()]

    def words(self, *words):
        return [text for kind, text, _ in self.lines(*words) if kind in ["word", "part"]]

    def flags(self, command):
        help_text = self.ok(command, "--help")
        if "  all  " in help_text:
            help_text = self.ok(command, "--help", "all")
        return re.findall(r"(?m)^  (?:-h,)?(--[a-z-]+)", help_text)

    def commands(self):
        part = self.ok("--help").split("Subcommands:\n")[1].split("\n\n")[0]
        return re.findall(r"(?m)^  (\w+)", part)


class Completion(Case):
    def test_commands(self):
        self.assertLessEqual(set(self.commands()), set(self.words("")))
        self.assertEqual(self.words("sw"), ["sweep"])
        self.assertNotIn("complete", self.words(""))
        self.assertEqual(self.words("--v"), ["--version"])

    def test_all_options_of_all_commands(self):
        for command in self.commands():
            self.assertEqual(sorted(self.words(command, "-")), sorted(self.flags(command)), command)

    def test_subjects_of_help(self):
        self.assertEqual(self.words("run", "--help", "t"), ["timewarp", "trace"])
        self.assertEqual(self.words("list", "--help", ""), ["examples", "all"])

    def test_an_option_comes_once_unless_it_may_be_repeated(self):
        self.assertEqual(self.words("run", "phold", "--seed", "3", "--see"), [])
        self.assertEqual(self.words("run", "phold", "--seed=3", "--see"), [])
        self.assertEqual(self.words("run", "phold", "--set", "lps=3", "--set"), ["--set"])

    def test_only_options_that_the_engine_uses(self):
        self.assertIn("--window", self.words("run", "phold", "--engine", "timewarp", "--w"))
        self.assertNotIn("--window", self.words("run", "phold", "--engine=sequential", "--w"))

    def test_models_and_engines(self):
        listed = json.loads(self.ok("list", "--json"))
        self.assertEqual(self.words("run", ""), list(listed["models"]))
        self.assertEqual(self.words("run", "x", "--engine", ""), list(listed["engines"]))
        self.assertEqual(self.words("describe", ""), [*listed["models"], *listed["engines"]])
        self.assertIn("auto,timewarp", self.words("compare", "phold", "--engines", "auto,"))
        self.assertIn(["file", "*.so", ""], self.lines("run", ""))

    def test_parameters_of_the_model_on_the_line(self):
        for model in ["phold", MISFIT]:
            told = json.loads(self.ok("describe", model, "--json"))["parameters"]
            self.assertEqual(self.words("run", model, "--set", ""), [f"{name}=" for name in told])
        self.assertEqual(self.words("run", "--set", ""), [])
        self.assertEqual(self.words("run", "./none.so", "--set", ""), [])
        left = self.words("run", "phold", "--set", "lps=3", "remote=0", "")
        self.assertNotIn("lps=", left)
        self.assertIn("mean=", left)
        self.assertIn("channels", self.words("sweep", "pcs", "--compare", ""))

    def test_a_fork_may_change_some(self):
        told = json.loads(self.ok("describe", "phold", "--json"))["parameters"]
        with tempfile.TemporaryDirectory(prefix="orrery-fork-") as folder:
            warm = f"{folder}/warm"
            self.ok("run", "phold", "--set", "lps=8", "--until", "9s", "--snapshot-at", "5s",
                    "--end-after-snapshot", "--out", warm, "--quiet")
            self.assertEqual(self.words("fork", warm, "--set", ""),
                             [f"{name}=" for name, one in told.items() if one["fork_may_change"]])
            self.assertEqual(self.words("fork", folder, "--set", ""), [])

    def test_values_of_parameters(self):
        self.assertEqual(self.words("run", "traffic", "--set", "unreachable="),
                         ["unreachable=error", "unreachable=drop"])
        self.assertEqual(self.words("run", "traffic", "--set", "signals=y"), ["signals=yes"])
        self.assertEqual(self.words("sweep", "wireless", "--set", "access=csma,al"),
                         ["access=csma,aloha"])
        self.assertEqual(self.lines("run", "traffic", "--set", "net_file=a"),
                         [["file", "*", "net_file="]])

    def test_values_of_options(self):
        self.assertEqual(self.words("run", "phold", "--balance", ""), ["on", "off"])
        self.assertEqual(self.words("run", "phold", "--expanded-mode=bat"),
                         ["--expanded-mode=batched"])
        self.assertIn("periodic:", self.words("run", "phold", "--checkpoint", ""))
        self.assertEqual(self.words("run", "phold", "--mpi", "m"), ["mpich"])
        self.assertEqual(self.lines("run", "phold", "--out", ""), [["folder", "*", ""]])
        self.assertEqual(self.lines("run", "--config", ""), [["file", "*", ""]])
        self.assertEqual(self.words("run", "phold", "--seed", ""), [])

    def test_metrics_of_the_model_on_the_line(self):
        self.assertEqual(self.words("run", "pcs", "--batch-means", "power,call"),
                         ["power,call_duration"])
        self.assertEqual(self.words("run", "pcs", "--series", "pow"), ["power="])
        self.assertEqual(self.words("run", "pcs", "--record", "*.pow"), ["*.power"])
        self.assertEqual(self.words("run", "pcs", "--record", "*.power,1?.pow"), ["*.power,1?.power"])
        self.assertIn("*.power", self.words("run", "pcs", "--record", ""))
        self.assertEqual(self.words("run", "pcs", "--stop-when", "pow"), ["power."])

    def test_operands(self):
        self.assertEqual(self.words("snapshot", ""), ["info", "verify"])
        self.assertEqual(self.lines("snapshot", "info", ""), [["folder", "*", ""]])
        self.assertEqual(self.lines("fork", "")[0], ["folder", "*", ""])
        self.assertEqual(self.words("completion", ""), ["bash", "zsh"])
        self.assertIn("sweep", self.words("manual", ""))
        self.assertEqual(self.lines("report", "a", "b", ""), [["folder", "*", ""]])
        self.assertIn(["file", "*.toml", ""], self.lines("sweep", ""))

    def test_what_makes_no_sense_has_no_candidates(self):
        for words in [["run", "phold", "--nonsense="], ["run", "phold", "--set", "nothing="],
                      ["completion", "bash", "z"]]:
            self.assertEqual(self.words(*words), [])

    def test_scripts(self):
        for shell in ["bash", "zsh"]:
            self.assertIn("complete --", self.ok("completion", shell))
        for words in [[], ["fish"]]:
            done = self.run_command("completion", *words)
            self.assertEqual(done.returncode, 2)
            self.assertIn("bash", done.stderr)


class Manual(Case):
    def plain(self, page):
        """Without the escapes."""
        for written, read in [(r"\-", "-"), (r"\(aq", "'"), (r"\fB", ""), (r"\fI", ""), (r"\fR", "")]:
            page = page.replace(written, read)
        return page

    def test_a_page_has_all_options_and_sections(self):
        for command in self.commands():
            page = self.plain(self.ok("manual", command))
            for flag in self.flags(command):
                self.assertRegex(page, rf"(?m)^\.TP\n(-\w, )?{flag}\b", command)
            for heading in ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXAMPLES", "EXIT STATUS",
                            "ENVIRONMENT", "SEE ALSO"]:
                self.assertIn(f"\n.SH {heading}\n", page)
        self.assertIn("report.json", self.ok("manual", "run"))

    def test_the_first_page_names_the_others(self):
        page = self.plain(self.ok("manual"))
        for command in self.commands():
            self.assertIn(f"orrery-{command}(1)", page)

    def test_all_into_a_folder(self):
        with tempfile.TemporaryDirectory(prefix="orrery-manual-") as folder:
            self.ok("manual", "--into", f"{folder}/new/man1")
            pages = {path.name for path in pathlib.Path(folder, "new/man1").iterdir()}
            self.assertLessEqual({"orrery.1"} | {f"orrery-{name}.1" for name in self.commands()}, pages)
            done = self.run_command("manual", "--into", "/proc/none")
        self.assertEqual(done.returncode, 2)
        self.assertIn("/proc/none", done.stderr)

    def test_refusals(self):
        done = self.run_command("manual", "rnu")
        self.assertEqual(done.returncode, 2)
        self.assertIn("did you mean 'run'?", done.stderr)


if __name__ == "__main__":
    unittest.main()
