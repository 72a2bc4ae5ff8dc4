#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The orrery command, seen from outside. Needs ORRERY, MISFIT, NO_MODEL, ENDER and PRINTER in the
environment (the command and shared objects), and SANITIZE; ctest sets them."""

import csv
import ctypes
import json
import os
import pathlib
import pty
import re
import resource
import select
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

import report_schema

ORRERY = os.environ["ORRERY"]
MISFIT = os.environ["MISFIT"]
SHOP = os.environ["SHOP"]
NO_MODEL = os.environ["NO_MODEL"]
ENDER = os.environ["ENDER"]
PRINTER = os.environ["PRINTER"]
SANITIZE = os.environ.get("SANITIZE", "")  # "address,undefined", "thread"
# Sanitizers end the process where the system's malloc would return nullptr.
for variable in ["ASAN_OPTIONS", "TSAN_OPTIONS"]:
    os.environ[variable] = os.environ.get(variable, "") + ":allocator_may_return_null=1"
ENGINES = ["sequential", "timewarp", "expanded"]
SMALL = ["--until", "20s", "--set", "lps=64"]
LONG = ["phold", "--until", "100000000s", "--set", "lps=256"]
PATIENCE_S = 120


class Done:
    """What a process left behind."""

    def __init__(self, words, **options):
        done = subprocess.run([ORRERY, *map(str, words)], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=PATIENCE_S, check=False,
                              **options)
        # With the option above sanitizers say so, and go on.
        warning = r"(?m)^==\d+==WARNING: \w+Sanitizer failed to allocate[^\n]*\n"
        self.code, self.out = done.returncode, done.stdout
        self.err = re.sub(warning, "", done.stderr)


def wait_for_watch(process):
    """Until it takes signals, which it does not before it has blocked SIGINT to read it from a
    descriptor (a crowded machine takes long to come there), and has executed something."""
    deadline = time.monotonic() + PATIENCE_S
    while process.poll() is None and time.monotonic() < deadline:
        status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
        if int(re.search(r"(?m)^SigBlk:\s*(\w+)$", status)[1], 16) >> (signal.SIGINT - 1) & 1:
            break
        time.sleep(0.05)
    time.sleep(1.5)


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="orrery-cli-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def popen(self, *words, **options):
        """The command, running; it is ended at the latest with the test."""
        process = subprocess.Popen([ORRERY, *map(str, words)], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   **options)
        for end in [process.stderr.close, process.stdout.close, process.wait, process.kill]:
            self.addCleanup(end)  # called in reverse
        return process

    def run_ok(self, *words, **options):
        done = Done(words, **options)
        self.assertEqual(done.code, 0, done.err)
        return done

    def refused(self, code, *words, says=(), **options):
        """The command ends with `code` and one sentence with these parts; nothing else."""
        done = Done(words, **options)
        self.assertEqual(done.code, code, done.err)
        self.assertRegex(done.err, r"\Aorrery: [^\n]+\n\Z")
        for part in says:
            self.assertIn(part, done.err)
        return done

    def report(self, folder):
        return report_schema.read((folder / "report.json").read_text())

    def run_json(self, *words):
        return report_schema.read(self.run_ok("run", *words, "--json", "--quiet").out)


class Help(Case):
    def test_no_command_shows_help(self):
        done = self.run_ok()
        for word in ["list", "describe", "run", "compare", "Examples:"]:
            self.assertIn(word, done.out)

    def test_every_command_has_help_with_examples(self):
        for command in ["list", "describe", "run", "compare", "sweep", "report"]:
            done = self.run_ok(command, "--help")
            self.assertIn(f"Usage: orrery {command}", done.out)
            self.assertIn(f"  orrery {command}", done.out)
            self.assertRegex(done.out, "Examples?:")

    FLAG = r"(?m)^  (?:-h,)?(--[a-z-]+)"

    COMMANDS = ["list", "describe", "run", "resume", "fork", "snapshot", "trace", "compare", "sweep",
                "advise", "director", "llf", "report", "manual", "completion"]

    def test_help_is_one_screen(self):
        for command in self.COMMANDS:
            self.assertLessEqual(len(self.run_ok(command, "--help").out.splitlines()), 50, command)

    def test_subjects_have_all_options(self):
        for command in ["describe", "run", "resume", "fork", "compare", "sweep", "advise"]:
            screen = self.run_ok(command, "--help").out
            options = set(re.findall(self.FLAG, screen))
            subjects = re.findall(r"(?m)^  (\w+)  ", screen.split("More options")[1].split("\n\n")[0])
            self.assertEqual(subjects[-2:], ["examples", "all"])
            for subject in subjects[:-2]:
                added = set(re.findall(self.FLAG, self.run_ok(command, "--help", subject).out))
                self.assertTrue(added, f"{command} --help {subject}")
                options |= added
            page = self.run_ok("manual", command).out.replace(r"\-", "-")
            self.assertEqual(options, set(re.findall(r"\\fB(--[a-z-]+)\\fR", page)))
            self.assertEqual(options,
                             set(re.findall(self.FLAG, self.run_ok(command, "--help", "all").out)))
        self.assertIn("--max-checkpoint-distance", self.run_ok("run", "--help", "checkpoints").out)
        self.assertIn("unreachable", self.run_ok("run", "--help", "examples").out)

    def test_unknown_subject(self):
        self.refused(2, "run", "--help", "checkpoint",
                     says=["no subject 'checkpoint'", "'checkpoints'", "timewarp"])
        for command in self.COMMANDS:
            self.refused(2, command, "--help", "nothing", says=["no subject 'nothing'", "examples"])
        for words in [("--help", "nothing"), ("nothing", "--help")]:
            self.refused(2, *words, says=["no command 'nothing'", "describe"])
        self.assertIn("More options", self.run_ok("run", "--help", "--workers", "2").out)

    def test_version(self):
        self.assertRegex(self.run_ok("--version").out, r"\Aorrery \d+\.\d+\.\d+\n\Z")

    def test_list_names_models_and_engines(self):
        done = self.run_ok("list")
        for name in ["phold", "pcs", "traffic", *ENGINES]:
            self.assertRegex(done.out, rf"(?m)^  {name}  +\S")

    def test_list_and_describe_as_json(self):
        listed = json.loads(self.run_ok("list", "--json").out)
        self.assertEqual(set(listed), {"orrery", "models", "engines", "options"})
        self.assertIn("reference", listed["engines"]["sequential"]["summary"])
        self.assertEqual(listed["options"]["no-bind"]["type"], "")
        model = json.loads(self.run_ok("describe", MISFIT, "--json").out)
        self.assertEqual((model["model"], model["tick_seconds"]), ("misfit", 1e-9))
        self.assertEqual(model["parameters"]["rows"],
                         {"type": "integer", "default": 1, "unit": "", "range": "0 .. 1000",
                          "help": "rows per step", "fork_may_change": False})
        self.assertEqual(model["metrics"], {"steps": {"unit": "1", "help": "steps done"}})
        self.assertEqual(model["tables"]["track"]["columns"]["noise"], {"type": "real", "unit": ""})
        engine = json.loads(self.run_ok("describe", "sequential", "--json").out)
        self.assertLess(set(engine["options"]), set(listed["options"]))
        self.refused(2, "describe", "trafic", "--json", says=["'traffic'"])

    def test_describe_shows_types_ranges_defaults(self):
        done = self.run_ok("describe", "phold")
        self.assertRegex(done.out, r"(?m)^  lps +integer +8192 +1 \.\. 67108864 +logical")
        self.assertRegex(done.out, r"(?m)^  mean +duration +1 s +at least 0 s")
        self.assertRegex(done.out, r"(?m)^  payload +integer +0 +B +one of 0, 8")
        self.assertRegex(done.out, r"(?m)^  horizon +100 s")

    def test_describe_shows_metrics_and_tables(self):
        done = self.run_ok("describe", MISFIT)
        self.assertRegex(done.out, r"(?m)^  steps +1 +steps done")
        self.assertIn("track: one row a step", done.out)
        self.assertRegex(done.out, r"(?m)^  noise +real")

    def test_describe_shows_what_is_promised(self):
        done = self.run_ok("describe", MISFIT)
        self.assertRegex(done.out, r"(?m)^  lookahead +400 ms$")
        self.assertRegex(done.out, r"(?m)^  communication +1 edge, 1 with a smallest delay, of "
                                   r"500 ms to 500 ms$")
        done = self.run_ok("describe", "pcs")
        self.assertRegex(done.out, r"(?m)^  communication +.*, and no others$")

    def test_describe_measures_sends(self):
        done = self.run_ok("describe", MISFIT, "--measure", "--until", "20s")
        self.assertRegex(done.out, r"\Amisfit: \d+ events, 20 s simulated\n")
        self.assertRegex(done.out, r"(?m)^  Walker +Step +Walker +\d+ +500 ms +500 ms \(LP 1 to 0\) "
                                   r"+0 s$")
        self.assertRegex(done.out, r"(?m)^  Walker +Step +itself +\d+ +1 s +free$")
        self.assertRegex(done.out, r"(?m)^all \d+ sends to other LPs keep what the model promises$")
        self.assertRegex(done.out, r"(?m)^  Walker +Step +[\d,]+ +1 s +500 ms +0 s +500 ms$")
        self.assertRegex(done.out, r"(?m)^These are observations of one run and no proof")
        self.assertEqual(done.err, "")

    def test_describe_measures_durations(self):
        done = self.run_ok("describe", "wireless", "--measure", "--until", "100ms", "--json")
        events = json.loads(done.out)["durations"]
        names = [one["event"] for one in events]
        self.assertEqual(names, sorted(names))
        for one in events:
            with self.subTest(event=one["event"]):
                self.assertGreater(one["duration_ticks"], 0)
                delays = [one[key] for key in ["to_itself_ticks", "to_others_ticks"]
                          if one[key] is not None]
                self.assertEqual(one["could_be_ticks"], min(delays))
                self.assertGreaterEqual(one["could_be_ticks"], one["duration_ticks"])
        start = next(one for one in events if one["event"] == "SignalStart")
        self.assertIsNone(start["to_others_ticks"])
        ender = self.run_ok("describe", "phold", "--measure", "--until", "0.01us", "--quiet").out
        self.assertNotIn("Durations", ender, "no event was handled")

    def test_describe_measures_as_json(self):
        words = ["describe", MISFIT, "--measure", "--until", "20s", "--json"]
        measured = json.loads(self.run_ok(*words).out)
        self.assertEqual([edge["smallest_delay_ticks"] for edge in measured["edges"]],
                         [500_000_000, 1_000_000_000])
        self.assertEqual(measured["edges"][0]["declared_ticks"], 500_000_000)
        self.assertEqual(measured["edges"][0]["slack_ticks"], 0)
        self.assertEqual((measured["broken"], measured["breaches"]), (0, []))
        self.assertEqual(measured, json.loads(self.run_ok(*words).out))
        other = json.loads(self.run_ok(*words, "--seed", "2", "--set", "lps=9").out)
        self.assertNotEqual(other["events"], measured["events"])

    def test_describe_measures_only_for_a_while(self):
        done = self.run_ok("describe", "phold", "--measure", "--quiet", "--set", "lps=65536")
        self.assertRegex(done.out, r"\Aphold: [\d,]+ events, .* of 100 s simulated, the limit without --until")
        self.assertIn("the model promises no delay; the smallest delay to another LP was", done.out)

    def test_describe_lists_broken_promises(self):
        done = Done(["describe", MISFIT, "--measure", "--until", "20s", "--set", "does=haste"])
        self.assertEqual(done.code, 3)
        self.assertRegex(done.out, r"(?m)^  Walker +Step +Walker .* 400 ms \(LP 3 to 1\) +-1 ms, broken$")
        self.assertRegex(done.out, r"(?m)^  LP 3, event Step at .*: it sent an event to LP 1 with the "
                                   r"delay 399 ms, but Model::lookahead\(\) promises")
        self.assertRegex(done.err, r"\Aorrery: 1 of \d+ sends to other LPs break what the model "
                                   r"promises\n\Z")

    def test_describe_measures_what_it_can(self):
        self.refused(2, "describe", MISFIT, "--until", "5s", says=["--until", "--measure"])
        self.refused(2, "describe", MISFIT, "--set", "lps=2", says=["--set", "--measure"])
        self.refused(2, "describe", MISFIT, "--measure", "--set", "lp=2", says=["'lps'"])
        self.refused(2, "describe", MISFIT, "--measure", "--set", "does=misdirect", says=["LP 4"])
        self.refused(2, "describe", "--measure", says=["which model"])
        self.refused(2, "describe", "sequential", "--measure", says=["no model 'sequential'"])
        done = Done(["describe", MISFIT, "--measure", "--set", "does=throw"])
        self.assertEqual(done.code, 3)
        self.assertIn("then it failed", done.out)
        self.assertIn("the wheel came off", done.err)

    def test_every_model_that_ships_runs(self):
        for model in ["phold", "pcs", "traffic"]:
            self.assertTrue(self.run_json(model, "--until", "10s")["complete"])


class Refusals(Case):
    def test_names_get_near_matches(self):
        self.refused(2, "rum", says=["no command 'rum'", "'run'"])
        self.refused(2, "run", "pholt", says=["no model 'pholt'", "'phold'", "orrery list"])
        self.refused(2, "describe", "trafic", says=["'traffic'"])
        self.refused(2, "run", "phold", "--engine", "timewrap", says=["'timewarp'"])
        self.refused(2, "run", "phold", "--worker", "2", says=["'--workers'"])
        self.refused(2, "--verison", says=["'--version'"])
        self.refused(2, "run", "phold", "--set", "remot=1", says=["'remot'", "'remote'"])
        self.refused(2, "compare", "phold", "--engines", "sequental", says=["'sequential'"])

    def test_values_get_ranges(self):
        self.refused(2, "run", "phold", "--set", "lps=0", says=["lps", "1 .. 67108864"])
        self.refused(2, "run", "phold", "--set", "remote=1.5", says=["remote", "0 .. 1"])
        self.refused(2, "run", "phold", "--set", "payload=9", says=["one of 0, 8, 64, 256, 1024"])
        self.refused(2, "run", "phold", "--set", "mean=soon", says=["mean", "'soon'", "2min"])
        self.refused(2, "run", "phold", "--set", "lps=12x", says=["whole number"])
        self.refused(2, "run", "phold", "--workers", "0", says=["--workers", "1 to 1024", "'0'"])
        self.refused(2, "run", "phold", "--workers", "two", says=["'two'"])
        self.refused(2, "run", "phold", "--seed", "-1", says=["--seed"])
        self.refused(2, "run", "phold", "--until", "-5s", says=["--until", "2h"])
        self.refused(2, "run", "phold", "--until", "5 parsecs", says=["--until", "2h"])
        self.refused(2, "run", "phold", "--memory", "lots", says=["--memory", "4GiB"])
        self.refused(2, "run", "phold", "--window", "0s", says=["--window"])
        self.refused(2, "compare", "phold", "--workers", "1,x", says=["--workers", "'x'"])
        self.refused(2, "compare", "phold", "--repeats", "0", says=["--repeats"])
        self.refused(2, "compare", "phold", "--workers", "1,,2", says=["--workers", "'1,,2'"])
        self.refused(2, "compare", "phold", "--engines", "sequential,", says=["'sequential,'"])

    def test_durations(self):
        for text, shown in [("1h30m", "1.5 h"), ("10sec", "10 s"), ("5µs", "5 us"), ("5μs", "5 us")]:
            report = self.run_json("phold", "--set", "lps=1", f"mean={text}", "--until", "1us")
            self.assertEqual(report["parameters"]["mean"]["value"], shown)
        for words in [["--until", "1h30"], ["--set", "mean=5 parsecs"]]:
            self.refused(2, "run", "phold", *words, says=["d, h, min, s, ms, us, ns or ticks"])

    def test_what_is_given_twice(self):
        self.refused(2, "run", "phold", "--set", "lps=1", "--set", "lps=2",
                     says=["'lps' is set more than once: 'lps=1' and 'lps=2'"])
        self.refused(2, "run", "phold", "--set", "lps=1", "lps=1", says=["'lps' is set more than"])
        self.refused(2, "compare", "phold", "--set", "lps=1", "lps=2", says=["more than once"])

    def test_near_matches_ignore_case(self):
        self.refused(2, "run", "PHOLD", says=["did you mean 'phold'?"])
        self.refused(2, "run", "phold", "--engine", "TimeWarp", says=["did you mean 'timewarp'?"])
        self.refused(2, "run", "phold", "--set", "LPS=1", says=["did you mean 'lps'?"])
        self.refused(2, "run", "phold", "--UNTIL", "1s", says=["did you mean '--until'?"])

    def test_what_is_no_text_does_not_reach_the_terminal(self):
        done = self.refused(2, "run", "\x1b[31mred", says=["'\\x1b[31mred'"])
        self.assertNotIn("\x1b", done.err)
        self.refused(2, "run", "phold", "--set", os.fsdecode(b"n\xffme=1"), says=["n\\xffme"])

    def test_a_folder_whose_name_is_too_long(self):
        self.refused(2, "run", "phold", *SMALL, "--out", self.folder / ("a" * 300),
                     says=["cannot make the output folder", "too long"])

    def test_empty_values(self):
        for option in ["--out", "--until", "--engine", "--workers", "--seed", "--memory",
                       "--checkpoint", "--set"]:
            # An option behind it is not its value.
            for words in [[option, ""], [option + "="], [option + "=", "--json"]]:
                done = Done(["run", "phold", *words])
                self.assertEqual(done.code, 2, done.out)
                self.assertRegex(done.err, rf"\Aorrery: {option} [^\n]+\n\Z")
        for option in ["--engines", "--repeats", "--workers", "--out"]:
            self.refused(2, "compare", "phold", option, "", says=[option, "empty"])
        self.refused(2, "run", "phold", "--config", "", says=["--config", "empty"])
        self.refused(2, "run", "phold", "--out", "--json", says=["--out needs a value", "'--json'"])
        self.assertFalse(os.path.exists("--json"))
        config = self.folder / "config.toml"
        config.write_text('model = "phold"\nout = ""\n')
        self.refused(2, "run", "--config", config, says=["--out", "empty"])

    def test_names_of_strategies(self):
        self.refused(2, "run", "phold", "--engine", "sequential", "--pending", "hep",
                     says=["'hep'", "heap"])
        self.refused(2, "run", "phold", "--engine", "timewarp", "--checkpoint", "photo",
                     says=["'photo'"])
        self.refused(2, "run", "pcs", "--engine", "timewarp", "--workers", "2", "--checkpoint",
                     "reverse", says=["reverse handlers", "auto"])
        expanded = ["run", "phold", "--engine", "expanded"]
        self.refused(2, *expanded, "--expanded-mode", "bached",
                     says=["--expanded-mode", "'bached'", "'batched'", "in-place"])

    def test_offloading(self):
        run = ["run", "phold", "--engine", "timewarp", "--workers", "2"]
        self.refused(2, *run, "--offload", "dual", says=["none, mono or multi", "'dual'"])
        self.refused(2, *run, "--offload", "multi", "--copiers", "0", says=["--copiers 1"])
        self.refused(2, *run, "--abort-threshold", "1.5", says=["from 0 to 1", "'1.5'"])
        self.refused(2, *run, "--burst", "3", says=["--burst", "'3'"])
        self.refused(2, *run, "--max-checkpoint-distance", "0", says=["1 to 1000000"])
        self.refused(2, *run, "--offload", "multi", "--copier", "dsa",
                     says=["no hardware copy engine", "thread, synchronous"])

    def test_states_beyond_the_memory_budget(self):
        self.refused(2, "run", "phold", "--engine", "timewarp", "--workers", "2", "--memory",
                     "16MiB", "--quiet", "--set", "lps=64", "--set", "state=1000000",
                     says=["memory budget of 16777216", "--memory"])

    def test_what_is_missing(self):
        self.refused(2, "run", says=["which model"])
        self.refused(2, "describe", says=["which model"])
        self.refused(2, "run", "phold", "--until", says=["--until needs a value"])
        self.refused(2, "run", "phold", "--seed", "1", "--seed", "2",
                     says=["--seed is given more than once"])
        self.refused(2, "run", "phold", "--set", "lps", says=["NAME=VALUE"])

    def test_what_is_too_much(self):
        self.refused(2, "run", "phold", "pcs", says=["'phold'", "'pcs'"])
        self.refused(2, "list", "phold", says=["'phold'"])

    def test_memory_options(self):
        for share in ("1.01", "-0.5", "nan", "half", "0.5x"):
            self.refused(2, "run", "phold", "--cache-share", share, says=["--cache-share", share])
        self.refused(2, "run", "phold", "--cache-aware", "maybe", says=["on or off", "maybe"])
        self.refused(2, "run", "phold", "--balance", "maybe", says=["on or off", "maybe"])
        self.refused(2, "run", "phold", "--oversize", "no", says=["reliable or deny", "'no'"])

    def test_contradictory_parameters(self):
        self.refused(2, "run", "phold", "--set", "touched=8", says=["touched=8", "state=0"])
        self.refused(2, "run", "phold", "--set", "heavy=0.5", says=["heavy=0.5", "work=0"])

    def test_input_files(self):
        self.refused(2, "run", MISFIT, "--set", "does=refuse", says=["map.txt, line 7"])
        self.refused(2, "run", "traffic", "--set", "network=/nowhere/x", says=["/nowhere/x"])


class Faults(Case):
    def each_engine(self, does, *says, more=()):
        for engine in ENGINES:
            with self.subTest(engine=engine):
                done = Done(["run", MISFIT, "--engine", engine, "--quiet", "--set", f"does={does}",
                             *more])
                self.assertEqual(done.code, 3, done.err)
                self.assertRegex(done.err, r"\Aorrery: [^\n]+\n\Z")
                for part in says:
                    self.assertIn(part, done.err)

    def test_exception(self):
        self.each_engine("throw", "LP 3", "Step", "tick", "the wheel came off")

    def test_negative_delay(self):
        self.each_engine("negative", "LP 3", "negative delay -1 s")

    def test_unknown_destination(self):
        self.each_engine("nowhere", "LP 4", "LPs 0 to 3")

    def test_broken_promise(self):
        self.each_engine("haste", "LP 3, event Step", "sent an event to LP 1 with the delay 399 ms",
                         "Model::lookahead() promises at least 400 ms to every other LP")

    def test_graph_without_sense(self):
        for engine in [*ENGINES, "auto", "checker"]:
            self.refused(2, "run", MISFIT, "--engine", engine, "--set", "does=misdirect",
                         says=["an edge from LP 0 to LP 4, but the model has LPs 0 to 3"])

    def test_livelock(self):
        self.each_engine("livelock", "livelock", "LPs on it: 3", more=["at=1", "rows=0", "--livelock", "5000"])

    def test_memory_that_nobody_has(self):
        self.each_engine("hoard", "LP 3", "Step", "it asked for 35184372088832 bytes")

    def test_oversize(self):
        run = ["run", MISFIT, "--quiet", "--until", "20s", "--workers", "2", "--set", "does=large"]
        self.assertEqual(Done(run).code, 0)
        self.assertEqual(Done([*run, "--oversize", "reliable"]).code, 0)
        self.refused(3, *run, "--oversize", "deny",
                     says=["LP 3", "it asked for 100000 bytes", "--oversize deny", "65536"])

    def test_outside_handlers(self):
        self.refused(3, "run", MISFIT, "--set", "does=prepare",
                     says=["prepare()", "no such street"])
        self.refused(3, "run", MISFIT, "--set", "does=signal", says=["SIGURG", "SIGRTMIN"])
        self.refused(3, "run", MISFIT, "--until", "5s", "--set", "does=report",
                     says=["report()", "nothing to divide by"])
        self.refused(3, "run", MISFIT, "--set", "lps=0", says=["0 logical processes"])

    def test_report_of_a_fault_is_not_complete(self):
        out = self.folder / "fault"
        self.assertEqual(Done(["run", MISFIT, "--set", "does=throw", "--out", out]).code, 3)
        report = self.report(out)
        self.assertFalse(report["complete"])
        self.assertEqual(report["run"]["end"], "fault")
        self.assertIn("the wheel came off", report["run"]["fault"])


class SuddenEnds(Case):
    """Model code that ends the process: a sentence says who, the exit code what."""
    HANDLER = "LP 3, event Step at "
    SIGNALS = {"segv": signal.SIGSEGV, "fpe": signal.SIGFPE, "abort": signal.SIGABRT,
               "terminate": signal.SIGABRT, "stack": signal.SIGSEGV}
    WORDS = {"terminate": "std::terminate was called", "stack": "the stack of "}
    VARIANTS = [["sequential"], ["timewarp", "--workers", "1"],
                ["timewarp", "--workers", "3"],
                ["expanded", "--workers", "1"],
                ["expanded", "--workers", "3", "--expanded-mode", "batched"]]

    def end(self, how, *words, where="handler", **options):
        return Done(["run", ENDER, "--quiet", "--set", f"how={how}", f"where={where}", *words],
                    **options)

    @staticmethod
    def last_sentence(said):
        """It and the lines below it, which say where it was."""
        lines = said.splitlines()
        last = max(i for i, line in enumerate(lines) if not line.startswith("  "))
        return lines[last:]

    @unittest.skipIf(SANITIZE, "sanitizers end the process in their way")
    def test_signals(self):
        for how, number in self.SIGNALS.items():
            for variant in self.VARIANTS:
                with self.subTest(how=how, variant=variant):
                    done = self.end(how, "--engine", *variant)
                    self.assertEqual(done.code, 3, done.err)
                    sentence, *place = self.last_sentence(done.err)
                    self.assertIn(f"orrery: model fault in {self.HANDLER}", sentence)
                    self.assertIn("--engine checker", sentence)
                    self.assertIn(self.WORDS.get(how, number.name), sentence)
                    self.assertEqual(done.err.splitlines(), [sentence, *place], done.err)
                    if how in ("segv", "fpe"):
                        self.assertRegex(place[0], r"^  in .*(end\(|ender\.so\+0x)", done.err)

    @unittest.skipUnless(SANITIZE, "without a sanitizer the test above says more")
    def test_signals_under_a_sanitizer(self):
        for how in ["segv", "abort"]:
            for variant in self.VARIANTS:
                with self.subTest(how=how, variant=variant):
                    done = self.end(how, "--engine", *variant)
                    self.assertNotEqual(done.code, 0)
                    self.assertIn(self.HANDLER, done.err)

    def test_exits(self):
        for how in ["exit", "quick_exit", "_exit", "_Exit"]:
            for variant in [*self.VARIANTS, ["checker"]]:
                with self.subTest(how=how, variant=variant):
                    done = self.end(how, "--engine", *variant)
                    self.assertEqual(done.code, 3, done.err)
                    self.assertIn(f"{self.HANDLER}", done.err)
                    self.assertIn(f"it called {how}()", done.err)

    @unittest.skipIf(SANITIZE, "sanitizers end the process in their way")
    def test_checker_says_it_in_its_own_words(self):
        for how in self.SIGNALS:
            with self.subTest(how=how):
                done = self.end(how, "--engine", "checker")
                self.assertEqual(done.code, 3, done.err)
                self.assertIn(self.HANDLER, done.err)
                self.assertIn("when it was executed first", done.err)

    @unittest.skipIf(SANITIZE, "sanitizers end the process in their way")
    def test_outside_of_handlers(self):
        places = {"prepare": "prepare()", "create": "LP 3, create()",
                  "start": "LP 3, start of the run", "finish": "LP 3, finish()",
                  "report": "report()", "lp_count": "lp_count()"}
        for where, text in places.items():
            for engine in ENGINES:
                with self.subTest(where=where, engine=engine):
                    done = self.end("segv", "--engine", engine, "--until", "10s", where=where)
                    contained = where in ("create", "start", "finish")
                    self.assertEqual(done.code, 3 if contained else -signal.SIGSEGV, done.err)
                    said = {"create": "LP 3, start of the run", "finish": "LP 3, event finish()"}
                    told = said.get(where, text) if contained else text
                    self.assertIn(f"model fault in {told}", done.err)
                    self.assertIn(": a crash", done.err)

    @unittest.skipIf(SANITIZE, "sanitizers end the process in their way")
    def test_the_platform_does_not_blame_the_model(self):
        process = subprocess.Popen([ORRERY, "run", *LONG, "--engine", "timewarp", "--quiet"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        time.sleep(1.5)
        main_thread = process.pid  # it waits for the workers
        ctypes.CDLL(None).tgkill(process.pid, main_thread, signal.SIGSEGV)
        _, stderr = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, -signal.SIGSEGV)
        self.assertIn("outside of the model's handlers", stderr)
        self.assertNotIn("model fault", stderr)

    @unittest.skipIf(SANITIZE, "sanitizers end the process in their way")
    def test_a_stack_that_ends_outside_of_handlers(self):
        for where in ["prepare", "report", "lookahead", "destructor"]:
            done = self.end("stack", "--until", "10s", where=where)
            self.assertEqual(done.code, -signal.SIGSEGV, done.err)
            place = "the model's destructor" if where == "destructor" else f"{where}()"
            self.assertIn(f"orrery: model fault in {place}: the stack of ", done.err)
        done = self.end("stack", "--ranks", "2", where="prepare")
        self.assertIn("orrery: model fault in prepare(): the stack of ", done.err)
        self.assertIn("was ended by signal 11", done.err)

    def test_the_models_own_numbers(self):
        """What it throws on the way, too, over ranks as in one process."""
        for where in ["lookahead", "tick_seconds", "default_horizon"]:
            for more in [[], ["--ranks", "2"]]:
                done = self.end("number", *more, where=where)
                self.assertEqual(done.code, 3, done.err)
                self.assertIn(f"model fault in {where}(): it threw something", done.err)
                self.assertNotIn("internal error", done.err)
        for tick in ["0", "-1e300"]:
            self.refused(3, "run", ENDER, "--set", f"tick={tick}",
                         says=[f"tick_seconds() is {tick.replace('e3', 'e+3')}; a tick is longer"])
        self.refused(3, "run", ENDER, "--set", "horizon=-5", says=["default_horizon() is -5 ns"])

    def test_the_models_destructor(self):
        done = self.end("exit", "--until", "10s", where="destructor")
        self.assertEqual(done.code, 3, done.err)
        self.assertIn("model fault in the model's destructor: it called exit()", done.err)
        self.assertNotIn("is lost", done.err)

    REFUSED = {"raise_term": "it called raise(SIGTERM); model code must not end the process",
               "raise_usr2": "it called kill(SIGUSR2); model code must not end the process",
               "fork": "it called fork(); a rollback could not undo it",
               "unguarded": "it called signal(SIGSEGV); Orrery handles this signal"}

    def test_calls_that_are_refused(self):
        """By name, in handlers; none leaves a process behind, which would hold the pipe open."""
        for how, words in self.REFUSED.items():
            if SANITIZE and how == "unguarded":
                continue
            for engine in [["sequential"], ["timewarp", "--workers", "2"], ["checker"]]:
                with self.subTest(how=how, engine=engine):
                    done = self.end(how, "--engine", *engine)
                    self.assertEqual(done.code, 3, done.err)
                    self.assertIn(f"model fault in {self.HANDLER}", done.err)
                    self.assertIn(words, done.err)
                    self.assertNotIn("(anonymous namespace)::on_", done.err)

    def test_a_model_may_ask_its_process_to_stop(self):
        """As the laboratory's terminal does; a thread alone would never hear of it."""
        for engine in ["sequential", "timewarp"]:
            done = self.end("kill_term", "--engine", engine, "--until", "10000000s")
            self.assertEqual(done.code, 128 + signal.SIGTERM, done.err)
            self.assertIn("stopping at the next commit point", done.err)

    @unittest.skipIf(SANITIZE, "sanitizers end the process in their way")
    def test_a_trap_is_a_crash(self):
        for engine, code in [("sequential", -signal.SIGTRAP), ("timewarp", 3)]:
            done = self.end("raise_trap", "--engine", engine)
            self.assertEqual(done.code, code, done.err)
            self.assertIn(f"model fault in {self.HANDLER}", done.err)
            self.assertIn("SIGTRAP", done.err)

    @unittest.skipIf(SANITIZE, "sanitizers have a malloc of their own")
    def test_free_of_what_malloc_never_gave(self):
        words = {"free": "free of an address that no allocation starts at",
                 "free_aligned": "a crash (SIGSEGV"}
        for how, said in words.items():
            done = self.end(how, "--engine", "timewarp")
            self.assertEqual(done.code, 3, done.err)
            self.assertIn(f"model fault in {self.HANDLER}", done.err)
            self.assertIn(said, done.err)
            self.assertEqual(self.end(how, "--engine", "checker").code, 3)

    def test_a_library_that_a_handler_opens(self):
        prints = {self.run_json(ENDER, "--until", "20s", "--set", "how=dlopen", "--engine", engine)
                  ["run"]["fingerprint"] for engine in ["sequential", "timewarp", "checker"]}
        self.assertEqual(len(prints), 1)

    @unittest.skipIf(SANITIZE, "sanitizers end the process in their way")
    def test_a_study_says_how_a_run_ended(self):
        done = Done(["sweep", ENDER, "--set", "how=segv,unnoticed", "--set", "where=prepare",
                     "--seeds", "1", "--quiet", "--out", self.folder / "study"])
        self.assertIn("failed: model fault in prepare(): a crash (SIGSEGV", done.err)
        self.assertIn("failed: it ended with exit code 9 and said nothing", done.err)

    def test_no_report_is_left(self):
        out = self.folder / "out"
        self.assertNotEqual(self.end("abort", "--out", out, where="report").code, 0)
        self.assertFalse((out / "report.json").exists())

    @unittest.skipIf(SANITIZE, "sanitizers end the process in their way")
    def test_a_dropped_handler_leaves_a_report(self):
        for engine in ENGINES:
            for how in ["segv", "stack", "exit"]:
                out = self.folder / engine / how
                done = self.end(how, "--out", out, "--engine", engine, "--workers", "2")
                self.assertEqual(done.code, 3, done.err)
                report = self.report(out)
                self.assertFalse(report["complete"])
                self.assertEqual(report["run"]["end"], "fault")
                self.assertIn(self.HANDLER, report["run"]["fault"])

    @unittest.skipIf(SANITIZE, "sanitizers end the process in their way")
    def test_a_crash_within_the_c_library_ends_the_process(self):
        done = self.end("library", "--engine", "sequential")
        self.assertEqual(done.code, -signal.SIGSEGV, done.err)
        self.assertIn(f"orrery: model fault in {self.HANDLER}", done.err)
        self.assertIn("is lost", done.err)

    def test_any_exception_is_a_sentence(self):
        places = {"handler": self.HANDLER, "create": "LP 3, start of the run",
                  "start": "LP 3, start of the run", "finish": "LP 3, event finish()",
                  "prepare": "prepare()", "report": "report()", "lp_count": "lp_count()"}
        for where, text in places.items():
            for engine in ENGINES:
                with self.subTest(where=where, engine=engine):
                    done = self.end("number", "--engine", engine, "--until", "10s", where=where)
                    self.assertEqual(done.code, 3, done.err)
                    self.assertRegex(done.err, r"\Aorrery: model fault in [^\n]+\n\Z")
                    self.assertIn(text, done.err)
                    self.assertIn("not a std::exception", done.err)
        environment = {**os.environ, "ENDER_CONSTRUCTOR": "number"}
        for command in ["run", "describe", "compare"]:
            self.refused(3, command, ENDER, says=["the model's constructor", "not a std::exception"],
                         env=environment)


@unittest.skipIf("thread" in SANITIZE, "the thread sanitizer holds signals back from a loop")
class EndlessHandlers(Case):
    SENTENCE = r"LP 3, event Step at \S+ s \(tick \d+\)"
    VARIANTS = [["sequential"], ["timewarp", "--workers", "1"],
                ["timewarp", "--workers", "3", "--preempt", "off"],
                ["expanded", "--workers", "3", "--expanded-mode", "batched"], ["checker"]]

    def start(self, *words, where="handler"):
        process = subprocess.Popen([ORRERY, "run", ENDER, "--set", "how=loop", f"where={where}",
                                    *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True)
        for end in [process.stderr.close, process.wait, process.kill]:
            self.addCleanup(end)  # called in reverse
        wait_for_watch(process)
        return process

    def test_a_run_that_can_interrupt_it_stops_in_order(self):
        if SANITIZE:
            self.skipTest("handlers are not interrupted with sanitizers")
        for variant in [["timewarp", "--workers", "3"], ["timewarp", "--workers", "2", "--preempt",
                                                         "tick"]]:
            with self.subTest(variant=variant):
                out = self.folder / str(len(variant))
                process = self.start("--engine", *variant, "--out", out)
                time.sleep(1.5)
                process.send_signal(signal.SIGINT)
                _, stderr = process.communicate(timeout=PATIENCE_S)
                self.assertEqual(process.returncode, 130, stderr)
                report = self.report(out)
                self.assertEqual(report["run"]["end"], "interrupted")
                self.assertRegex(" ".join(report["notes"]), self.SENTENCE + ": it had not returned")

    def test_a_limit_makes_a_fault_of_it(self):
        for variant in self.VARIANTS:
            for where in ["handler", "start", "finish"]:
                with self.subTest(variant=variant, where=where):
                    done = Done(["run", ENDER, "--set", "how=loop", f"where={where}", "--until",
                                 "10s", "--engine", *variant, "--event-time-limit", "300ms"])
                    self.assertEqual(done.code, 3, done.err)
                    self.assertRegex(done.err, r"model fault in LP 3, .*it ran for more than 0\.3 s")
                    if where == "handler" and not SANITIZE:
                        self.assertRegex(done.err, r"\n  in .*(end\(|ender)")

    def test_what_cannot_be_is_refused(self):
        for limit in ["99ms", "0", "-1s", "soon", ""]:
            self.refused(2, "run", "phold", "--event-time-limit", limit, says=["--event-time-limit"])
        self.refused(2, "run", "phold", "--preempt", "sometimes", says=["--preempt", "demand"])
        for tick in ["49us", "11ms", "1"]:
            self.refused(2, "run", "phold", "--tick", tick, says=["--tick", "from 50us to 10ms"])
        done = self.run_ok("run", "phold", *SMALL, "--engine", "timewarp", "--workers", "1",
                           "--preempt", "both", "--json")
        self.assertIn("no handler was interrupted", " ".join(json.loads(done.out)["notes"]))

    def test_a_signal_is_obeyed_after_a_while(self):
        asked = [(self.VARIANTS[0], signal.SIGINT), (self.VARIANTS[1], signal.SIGTERM),
                 (self.VARIANTS[3], signal.SIGINT)]
        started = [(self.start("--engine", *variant), variant, number) for variant, number in asked]
        for process, _, number in started:  # they wait for the same while
            process.send_signal(number)
        for process, variant, number in started:
            with self.subTest(variant=variant, signal=number):
                _, stderr = process.communicate(timeout=PATIENCE_S)
                self.assertEqual(process.returncode, 128 + number, stderr)
                self.assertRegex(stderr, self.SENTENCE + ": it does not return")

    def test_a_second_signal_is_obeyed_at_once(self):
        process = self.start("--engine", "sequential")
        process.send_signal(signal.SIGINT)
        self.assertIn("once more ends at once", process.stderr.readline())
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 130, stderr)
        self.assertRegex(stderr, self.SENTENCE + ": it does not return")

    def test_outside_of_handlers(self):
        process = self.start("--engine", "timewarp", "--until", "10s", where="finish")
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 130, stderr)
        self.assertIn("LP 3, finish(): it does not return", stderr)

    def test_progress_names_it(self):
        process = self.start("--engine", "timewarp", "--workers", "2")
        lines = []  # a busy machine takes a while to reach the event
        while len(lines) < 60 and not any(": running for" in line for line in lines):
            lines.append(process.stderr.readline())
        self.assertRegex(lines[-1], self.SENTENCE + ": running for \\d+ s")


class StandardOutput(Case):
    COMMANDS = [["list"], ["describe", "phold"], ["describe", "timewarp"],
                ["run", "phold", *SMALL, "--quiet"], ["run", "phold", *SMALL, "--quiet", "--json"],
                ["compare", "phold", *SMALL, "--quiet", "--repeats", "1", "--engines",
                 "sequential"],
                ["compare", "phold", *SMALL, "--quiet", "--repeats", "1", "--engines",
                 "sequential", "--json"], ["--help"], ["run", "--help"], ["--version"]]

    def shell(self, words, redirection):
        return subprocess.run(["sh", "-c", f'exec "$@" {redirection}', "sh", ORRERY,
                               *map(str, words)], capture_output=True, text=True,
                              timeout=PATIENCE_S, check=False)

    def test_that_cannot_be_written_is_an_error(self):
        snapshots = ["run", "phold", *SMALL, "--quiet", "--snapshots", "--out", self.folder / "out"]
        for redirection, says in [("> /dev/full", "No space left"), (">&-", "it is closed")]:
            for words in [*self.COMMANDS, snapshots]:
                with self.subTest(words=words, redirection=redirection):
                    done = self.shell(words, redirection)
                    self.assertEqual(done.returncode, 2, done.stderr)
                    self.assertRegex(done.stderr, r"\Aorrery: cannot write [^\n]+\n\Z")
                    self.assertIn(says, done.stderr)

    def test_results_in_the_folder_are_whole_all_the_same(self):
        out = self.folder / "out"
        done = self.shell(["run", "phold", *SMALL, "--quiet", "--out", out], "> /dev/full")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertTrue(self.report(out)["complete"])

    def test_a_fault_is_told_nevertheless(self):
        done = self.shell(["run", MISFIT, "--quiet", "--set", "does=throw"], "> /dev/full")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("the wheel came off", done.stderr)
        self.assertIn("cannot write", done.stderr)

    def test_no_file_takes_the_place_of_a_closed_stream(self):
        out = self.folder / "out"
        done = self.shell(["run", MISFIT, "--until", "20s", "--out", out], "<&- 2>&-")
        self.assertEqual(done.returncode, 0)
        self.assertIn("committed", done.stdout)
        with sqlite3.connect(out / "results.sqlite") as database:
            self.assertEqual(database.execute("PRAGMA integrity_check").fetchone(), ("ok",))


@unittest.skipIf(SANITIZE, "sanitizers need the address space")
class ScarceSystem(Case):
    @staticmethod
    def limit(mebibytes):
        def apply():
            resource.setrlimit(resource.RLIMIT_STACK, (8 << 20, 8 << 20))  # of each thread
            resource.setrlimit(resource.RLIMIT_AS, (mebibytes << 20, mebibytes << 20))
        return apply

    def test_a_small_model_runs_with_few_addresses(self):
        for engine in [["sequential"], ["timewarp", "--workers", "2"],
                       ["expanded", "--workers", "2"], ["checker"]]:
            with self.subTest(engine=engine):
                self.run_ok("run", "phold", *SMALL, "--quiet", "--engine", *engine,
                            preexec_fn=self.limit(512))

    def test_a_large_model_is_the_systems_failure(self):
        for engine in ENGINES:
            with self.subTest(engine=engine):
                out = self.folder / engine
                done = Done(["run", "phold", "--until", "20s", "--set", "lps=4000000", "--quiet",
                             "--engine", engine, "--memory", "4GiB", "--out", out],
                            preexec_fn=self.limit(256))
                self.assertEqual(done.code, 4, done.err)
                self.assertRegex(done.err, r"\Aorrery: [^\n]+\n\Z")
                self.assertIn("limited to 256 MiB", done.err)
                self.assertNotIn("model fault", done.err)
                report = self.report(out)
                self.assertFalse(report["complete"])
                self.assertEqual(report["run"]["end"], "failed")

    def test_who_watches_waits_for_memory(self):
        """Progress is shown several times while the model has taken all memory there is."""
        try:
            ours, theirs = pty.openpty()
        except OSError as error:  # a chroot without /dev/pts
            self.skipTest(f"there is no terminal to be had: {error}")
        self.addCleanup(os.close, ours)
        done = subprocess.run([ORRERY, "run", MISFIT, "--set", "does=starve", "at=1",
                               "--engine", "sequential", "--until", "20s"], stderr=theirs,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                              preexec_fn=self.limit(400), timeout=PATIENCE_S)
        os.close(theirs)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("fingerprint", done.stdout)

    def test_the_checker_does_not_blame_the_model(self):
        # What is left may suffice for some of an event's executions.
        for mebibytes in [200, 256, 300]:
            with self.subTest(mebibytes=mebibytes):
                self.refused(4, "run", "phold", "--until", "2s", "--quiet", "--engine", "checker",
                             "--set", "lps=200000", "state=16384", says=["the system failed in "],
                             preexec_fn=self.limit(mebibytes))

    def test_each_thread_and_file_that_the_system_refuses(self):
        """Whichever is the first to be refused, the run ends with a sentence. Threads are counted by user,
        so somebody runs who has none."""
        if os.geteuid() != 0 or not shutil.which("setpriv"):
            self.skipTest("only root can become a user without processes")
        as_nobody = ["setpriv", "--reuid=54321", "--regid=54321", "--clear-groups"]
        if subprocess.run([*as_nobody, "test", "-x", ORRERY], check=False).returncode != 0:
            self.skipTest("this folder is not for other users")
        for engine in [["sequential"], ["timewarp", "--workers", "2"], ["conservative", "--workers", "2", "--set", "lookahead=100ms"],
                       ["expanded", "--workers", "2"], ["timewarp", "--ranks", "2"], ["auto"]]:
            for limit, values in (("nproc", range(1, 7)), ("nofile", range(4, 13))):
                for value in values:
                    with self.subTest(engine=engine, limit=limit, value=value):
                        done = subprocess.run(
                            [*as_nobody, "prlimit", f"--{limit}={value}:{value}", ORRERY, "run", "phold",
                             *map(str, SMALL), "--quiet", "--engine", *engine],
                            capture_output=True, text=True, timeout=PATIENCE_S, check=False, cwd="/")
                        self.assertIn(done.returncode, (0, 4), done.stderr)
                        if done.returncode == 4:
                            self.assertTrue(done.stderr.startswith("orrery: "), done.stderr)

    @unittest.skipIf(SANITIZE, "sanitizers want to be loaded first")
    def test_each_mapping_and_socket_that_the_system_refuses(self):
        engines = [["sequential"], ["timewarp", "--workers", "2"],
                   ["conservative", "--workers", "2", "--set", "lookahead=100ms"],
                   ["expanded", "--workers", "2"], ["timewarp", "--ranks", "2"], ["auto"]]
        for engine in engines:
            for call, most in (("mmap", 12), ("socketpair", 3), ("pipe2", 3)):
                for number in range(1, most + 1):
                    with self.subTest(engine=engine, call=call, number=number):
                        done = subprocess.run(
                            [ORRERY, "run", "phold", *map(str, SMALL), "--quiet", "--engine", *engine],
                            capture_output=True, text=True, timeout=PATIENCE_S, check=False,
                            env={**os.environ, "LD_PRELOAD": os.environ["REFUSER"],
                                 "REFUSE": f"{call}:{number}"})
                        self.assertIn(done.returncode, (0, 4), done.stderr)
                        if done.returncode == 4:
                            self.assertTrue(done.stderr.startswith("orrery: "), done.stderr)

    def test_a_lower_limit_of_files_does_not_hold_a_run_up(self):
        process = subprocess.Popen([ORRERY, "run", "phold", "--until", "100000s", "--engine", "sequential"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        status, deadline = pathlib.Path(f"/proc/{process.pid}/status"), time.monotonic() + PATIENCE_S
        while "Threads:\t1\n" in status.read_text() and time.monotonic() < deadline:
            time.sleep(0.01)  # until somebody watches the run
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (2, 2))
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 130)

    def test_threads_that_the_system_refuses(self):
        # 64 stacks of 8 MiB are too many addresses. Time Warp's workers want memory as well.
        done = self.refused(4, "run", "phold", *SMALL, "--quiet", "--workers", "64", "--engine",
                            "expanded", "--expanded-mode", "batched",
                            preexec_fn=self.limit(400))
        # Which of the two fails first depends on what else was reserved.
        self.assertRegex(done.err, "refused to start 64 threads.*fewer --workers|ulimit -v")
        self.assertIn("failed", done.out)
        self.refused(4, "run", "phold", *SMALL, "--quiet", "--workers", "64", "--threads", "64",
                     "--engine", "timewarp", preexec_fn=self.limit(400))


class Checker(Case):
    """The engine for authors of models; tests/engine/checker/checker_test.cpp has a model for each mistake."""

    def test_passes_what_is_right_and_says_so(self):
        expected = self.run_json(MISFIT, "--until", "20s", "--engine", "sequential")
        report = self.run_json(MISFIT, "--until", "20s", "--engine", "checker")
        self.assertEqual(report["run"]["fingerprint"], expected["run"]["fingerprint"])
        self.assertEqual(report["metrics"], expected["metrics"])
        self.assertIn("the checker found no difference", report["notes"][0])
        done = self.run_ok("run", "phold", *SMALL, "--engine", "checker", "--quiet")
        self.assertIn("note: the checker found no difference", done.out)
        self.assertRegex(done.out, r"(?m)^  Node +Ball +Node +[\d,]+ ")
        self.assertIn("checker: the model promises no delay; the smallest delay to another LP was", done.out)
        self.assertEqual([edge["smallest_delay"] for edge in report["edges"]], ["500 ms", "1 s"])
        self.assertNotIn("edges", expected)

    def test_rows_are_those_of_the_sequential_engine(self):
        for engine in ["sequential", "checker"]:
            self.run_ok("run", MISFIT, "--until", "20s", "--engine", engine, "--out",
                        self.folder / engine)
        tables = [(self.folder / engine / "track.csv").read_bytes()
                  for engine in ["sequential", "checker"]]
        self.assertEqual(*tables)

    def test_faults_have_the_same_sentence(self):
        for does in ["throw", "negative", "nowhere"]:
            errors = {Done(["run", MISFIT, "--engine", engine, "--set", f"does={does}"]).err
                      for engine in ["sequential", "checker"]}
            self.assertEqual(len(errors), 1, errors)

    def test_names_the_clock(self):
        self.refused(3, "run", MISFIT, "--engine", "checker", "--quiet", "--set", "does=clock",
                     says=["LP 3", "event Step at", "clock_gettime", "context.now()"])

    def test_names_the_static_variable(self):
        self.refused(3, "run", MISFIT, "--engine", "checker", "--quiet", "--set", "does=static",
                     says=["latest_step", "misfit.so", "Walker"])

    def test_refuses_what_it_cannot_honour(self):
        for option, value in [("--workers", "4"), ("--window", "1s"), ("--gvt-period", "1ms"),
                              ("--memory", "1GiB"), ("--offload", "mono")]:
            self.refused(2, "run", "phold", "--engine", "checker", option, value,
                         says=[f"engine checker does not use {option}; leave it away"])
        self.refused(2, "run", "phold", "--engine", "checker", "--checkpoint", "sometimes",
                     says=["'sometimes'", "copy"])

    def test_compare_takes_it_only_by_name(self):
        done = self.run_ok("compare", "phold", *SMALL, "--repeats", "1", "--quiet")
        self.assertNotIn("checker", done.out)
        done = self.run_ok("compare", "phold", *SMALL, "--repeats", "1", "--quiet", "--engines",
                           "sequential,checker")
        self.assertIn("checker", done.out)


class CacheAwareness(Case):
    RUN = ["phold", "--until", "20s", "--set", "lps=64", "--engine", "timewarp"]

    def test_report_says_what_was_separated(self):
        half = self.run_json(*self.RUN, "--workers", "2", "--cache-share", "0.5")
        self.assertEqual(half["options"]["cache_share"], 0.5)
        if "cache_share" in half["statistics"]:  # a cache that can be separated
            self.assertEqual(half["statistics"]["cache_share"]["value"], 0.5)
            pages = half["statistics"]["huge_page_memory"]["value"]
            self.assertTrue(pages > 0 or any("huge pages" in note for note in half["notes"]))
        off = self.run_json(*self.RUN, "--workers", "2")
        alone = self.run_json(*self.RUN, "--workers", "1", "--cache-aware", "on")
        self.assertEqual(off["options"]["cache_share"], "auto")
        for report in (off, alone):
            self.assertNotIn("cache_share", report["statistics"])
            self.assertEqual(report["run"]["fingerprint"], half["run"]["fingerprint"])


class BareMachine(Case):
    def test_a_system_that_does_not_describe_itself(self):
        """Containers without /sys: nothing of hwloc's own reaches the user."""
        bare = dict(os.environ, HWLOC_FSROOT=str(self.folder))
        for engine in ENGINES:
            with self.subTest(engine=engine):
                done = self.run_ok("run", "phold", "--until", "2s", "--engine", engine,
                                   "--workers", "2", "--quiet", env=bare)
                self.assertEqual(done.err, "")


class SharedObjects(Case):
    def test_runs(self):
        report = self.run_json(MISFIT, "--until", "20s")
        self.assertEqual(report["model"]["name"], "misfit")
        self.assertEqual(report["model"]["path"], MISFIT)
        self.assertEqual(report["results"]["all_steps"]["value"], report["run"]["committed"])

    def test_missing_file(self):
        self.refused(2, "run", "./nowhere.so", says=["'./nowhere.so' does not exist"])

    def test_what_is_no_file(self):
        pipe = self.folder / "pipe.so"
        os.mkfifo(pipe)
        for path in [pipe, self.folder, "/dev/zero"]:
            self.refused(2, "run", f"{path}/." if path == self.folder else path, says=["is no file"])

    def test_not_a_shared_object(self):
        path = self.folder / "text.so"
        path.write_text("no ELF here")
        self.refused(2, "run", path, says=["cannot load", "text.so"])

    def test_without_model(self):
        self.refused(2, "run", NO_MODEL, says=["holds no model", "ORRERY_MODEL"])


@unittest.skipUnless(report_schema.jsonschema, report_schema.MISSING)
class ReportSchema(Case):
    """The other tests validate each report that they read, too."""

    def test_reports_of_all_kinds(self):
        out = self.folder / "out"
        for code, words in [(0, ["null", "--until", "1s"]), (0, ["traffic", "--until", "10min"]),
                            (0, ["wireless", "--until", "1s", "--engine", "checker"]),
                            (0, ["pcs", "--until", "1h", "--ranks", "2", "--engine", "timewarp"]),
                            (0, ["pcs", "--until", "1h", "--series", "power=2min",
                                 "--batch-means", "power,busy_channels"]),
                            (0, ["pcs", "--until", "1h", "--record", "1*.power=2min,*.busy_channels"]),
                            (0, ["phold", *SMALL, "--snapshot-every", "10s"]),
                            (3, [MISFIT, "--set", "does=throw"])]:
            with self.subTest(words=words):
                done = Done(["run", *words, "--quiet", "--force", "--out", out])
                self.assertEqual(done.code, code, done.err)
                self.assertEqual(self.report(out)["complete"], code == 0)

    def test_wrong_reports_are_refused(self):
        whole = self.run_json("pcs", "--until", "1s")
        power = whole["metrics"]["power"]
        for wrong in [{"schema_version": 1}, {"run": {**whole["run"], "end": "exploded"}},
                      {"metrics": {"power": {**power, "kind": "other"}}},
                      {"metrics": {"power": {**power, "mean": "much"}}},
                      {"metrics": {"power": {**power, "figures": None}}}]:
            with self.assertRaises(report_schema.jsonschema.ValidationError, msg=wrong):
                report_schema.read(json.dumps({**whole, **wrong}))


class Output(Case):
    def test_files(self):
        out = self.folder / "deep/er"
        done = self.run_ok("run", MISFIT, "--until", "50s", "--seed", "5", "--out", out)
        names = ["report.json", "results.sqlite", "track.csv"]
        self.assertEqual(sorted(path.name for path in out.iterdir()), names)
        self.assertIn(f"results in {out}", done.out)
        report = self.report(out)
        self.assertTrue(report["complete"])
        self.assertEqual((report["schema_version"], report["schema"]), (2, 1))
        self.assertEqual(report["options"]["seed"], 5)
        self.assertEqual(report["options"]["until"], "50 s")
        self.assertRegex(report["run"]["fingerprint"], r"\A[0-9a-f]{16}\Z")
        self.assertIn(report["run"]["fingerprint"], done.out)
        self.assertEqual(sorted(report["files"]), names[1:])
        self.assertEqual(report["parameters"]["lps"]["value"], 4)
        self.assertGreater(report["run"]["peak_rss_bytes"], 1 << 20)

    def test_database_and_csv_hold_the_same_rows_in_order(self):
        out = self.folder / "out"
        self.run_ok("run", MISFIT, "--until", "200s", "--out", out)
        with open(out / "track.csv", newline="", encoding="utf-8") as stream:
            heading, *rows = csv.reader(stream)
        self.assertEqual(heading, ["time_ticks", "lp", "step", "noise"])
        from_csv = [(int(t), int(lp), int(step), float(noise)) for t, lp, step, noise in rows]
        database = sqlite3.connect(out / "results.sqlite")
        self.addCleanup(database.close)
        self.assertEqual(database.execute("SELECT * FROM track ORDER BY rowid").fetchall(), from_csv)
        times = [row[0] for row in from_csv]
        self.assertEqual(times, sorted(times))
        report = self.report(out)
        self.assertEqual(len(from_csv), report["run"]["committed"])
        facts = dict(database.execute("SELECT name, value FROM orrery_run"))
        self.assertEqual(facts["fingerprint"], "0x" + report["run"]["fingerprint"])
        self.assertEqual(database.execute("SELECT count, sum FROM orrery_metrics").fetchone(),
                         (len(from_csv), len(from_csv)))

    def test_engines_write_equal_tables(self):
        texts = set()
        for engine, workers in [("sequential", 1), ("timewarp", 1), ("timewarp", 2),
                                ("timewarp", 4)]:
            out = self.folder / f"{engine}-{workers}"
            self.run_ok("run", MISFIT, "--engine", engine, "--workers", workers, "--until", "300s",
                        "--set", "lps=40", "rows=3", "--out", out)
            texts.add(((out / "track.csv").read_text(), self.report(out)["run"]["fingerprint"]))
        self.assertEqual(len(texts), 1)

    def test_finished_run_is_kept_unless_forced(self):
        out = self.folder / "out"
        self.run_ok("run", "phold", *SMALL, "--seed", "1", "--out", out)
        before = (out / "report.json").read_text()
        self.refused(2, "run", "phold", *SMALL, "--out", out, says=[str(out), "--force"])
        self.assertEqual((out / "report.json").read_text(), before)
        self.run_ok("run", "phold", *SMALL, "--seed", "2", "--out", out, "--force")
        self.assertEqual(self.report(out)["options"]["seed"], 2)

    def test_force_replaces_the_files_of_the_earlier_run_and_no_others(self):
        out = self.folder / "out"
        self.run_ok("run", MISFIT, "--until", "5s", "--out", out)
        (out / "notes.txt").write_text("mine")
        self.run_ok("run", "phold", *SMALL, "--out", out, "--force")
        self.assertEqual(sorted(path.name for path in out.iterdir()),
                         ["notes.txt", "report.json", "results.sqlite"])

    def test_refused_run_leaves_no_folder(self):
        out = self.folder / "out"
        self.refused(2, "run", MISFIT, "--set", "does=refuse", "--out", out)
        self.assertFalse(out.exists())

    def test_folder_that_cannot_be(self):
        file = self.folder / "file"
        file.write_text("")
        self.refused(2, "run", "phold", *SMALL, "--out", file, says=[str(file)])
        self.refused(2, "run", "phold", *SMALL, "--out", file / "below", says=["output folder"])

    def test_seed_and_sets_matter(self):
        prints = {self.run_json("phold", *SMALL, "--seed", seed)["run"]["fingerprint"]
                  for seed in ["1", "2", "1"]}
        self.assertEqual(len(prints), 2)

    def test_values_after_one_set(self):
        report = self.run_json("phold", "--until", "5s", "--set", "lps=16", "remote=0.5")
        self.assertEqual(report["parameters"]["lps"]["value"], 16)
        self.assertEqual(report["parameters"]["remote"]["value"], 0.5)

    def test_figures_of_the_engine_are_for_who_asks(self):
        words = ["run", "phold", *SMALL, "--engine", "timewarp", "--workers", "2", "--quiet"]
        plain, verbose = self.run_ok(*words).out, self.run_ok(*words, "--verbose").out
        sentence = r"(?m)^timewarp: .*roll.*$"
        self.assertRegex(plain, sentence)
        self.assertRegex(verbose, sentence)
        self.assertNotIn("gvt_rounds", plain)
        self.assertRegex(verbose, r"(?m)^  gvt_rounds +\d+")
        self.assertIn("gvt_rounds", self.run_json(*words[1:])["statistics"])

    def test_notes_of_the_model_are_shown_and_kept(self):
        run = ["traffic", "--until", "1min", "--set", "demand=0.001", "time_unit=seconds"]
        note = "above 250 km/h on 76 of 76 links"
        self.assertRegex(self.run_ok("run", *run).out, f"(?m)^note: .*{note}")
        self.assertIn(note, self.run_json(*run)["notes"][0])
        done = self.run_ok("compare", *run, "--engines", "sequential,timewarp", "--repeats", "1")
        self.assertRegex(done.out, f"(?m)^note: .*{note}")

    def test_summary_is_plain_where_nobody_watches(self):
        done = self.run_ok("run", "phold", *SMALL)
        self.assertNotIn("\x1b", done.out + done.err)
        self.assertTrue(done.out.isascii())
        self.assertRegex(done.out, r"(?m)^  events +[\d,]+ committed of [\d,]+ executed")


class Config(Case):
    def write(self, text):
        path = self.folder / "run.toml"
        path.write_text(text)
        return path

    def test_file_can_hold_everything(self):
        out = self.folder / "out"
        path = self.write(f'''# a comment
            model = "phold"
            engine = "timewarp"
            workers = 2
            until = "20s"
            seed = 9
            quiet = true
            no-bind = true
            out = "{out}"
            [set]
            lps = 32
            mean = "500ms"
        ''')
        self.run_ok("run", "--config", path)
        report = self.report(out)
        self.assertEqual(report["options"]["engine"], "timewarp")
        self.assertEqual(report["options"]["workers"], 2)
        self.assertEqual(report["options"]["seed"], 9)
        self.assertEqual(report["options"]["until"], "20 s")
        self.assertFalse(report["options"]["bind"])
        self.assertEqual(report["parameters"]["lps"]["value"], 32)
        self.assertEqual(report["parameters"]["mean"]["value"], "500 ms")

    def test_command_line_wins(self):
        path = self.write("model = phold\nuntil = 20s\nseed = 9\n[set]\nlps = 32\n")
        report = self.run_json("--config", path, "--seed", "4", "--set", "lps=8")
        self.assertEqual(report["options"]["seed"], 4)
        self.assertEqual(report["parameters"]["lps"]["value"], 8)

    def test_unknown_key(self):
        path = self.write("seeed = 9\n")
        self.refused(2, "run", "phold", "--config", path, says=[str(path), "'seeed'", "'seed'"])

    def wrong(self, text, line, key, *says):
        path = self.write(text)
        self.refused(2, "run", "--config", path, says=[f"config file '{path}', line {line}, '{key}': ", *says])

    def test_mistakes_are_told_with_line_and_key(self):
        head = "model = phold\n"
        self.wrong(head + "sede = 3\n", 2, "sede", "no such key", "'seed'")
        self.wrong(head + "until = soon\n", 2, "until", "not 'soon'")
        self.wrong(head + "quiet = perhaps\n", 2, "quiet", "it cannot be 'perhaps'")
        self.wrong(head + "engine = timewrap\n", 2, "engine", "'timewarp'")
        self.wrong(head + "ranks = x\n", 2, "ranks", "'x'")
        self.wrong(head + "trace-from = soon\ntrace = t\n", 2, "trace-from", "'soon'")
        self.wrong(head + "snapshot-every = soon\nout = o\n", 2, "snapshot-every", "'soon'")
        self.wrong(head + "live = soon\n", 2, "live", "'soon'")
        self.wrong("model = phlod\n", 1, "model", "'phold'")
        self.wrong(head + "[set]\nlps = -1\n", 3, "lps", "cannot be -1")
        self.wrong(head + "set = [lps=2,\nlpss=1]\n", 2, "lpss", "'lps'")
        self.wrong(head + "set = [lps]\n", 2, "set", "NAME=VALUE")
        self.wrong(head + "set = [lps=2,lps=3]\n", 2, "set", "more than once")
        path = self.write("engines = sequentail\n")
        self.refused(2, "compare", "phold", "--config", path, says=["line 1, 'engines': ", "sequential"])

    def test_unknown_section(self):
        path = self.write("[sets]\nlps = 9\n")
        self.refused(2, "run", "phold", "--config", path, says=[str(path), "'sets'", "[set]"])

    def test_unknown_parameter(self):
        path = self.write("[set]\nlpss = 9\n")
        self.refused(2, "run", "phold", "--config", path, says=[str(path), "'lpss'", "'lps'"])

    def test_unreadable(self):
        self.refused(2, "run", "phold", "--config", self.folder / "none", says=["none", "No such"])
        self.refused(2, "run", "phold", "--config", self.folder, says=["it is a directory"])
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        self.refused(2, "run", "phold", "--config", pipe, says=["it is a pipe"])
        self.refused(2, "run", "phold", "--config", "/dev/zero", says=["it is a device"])
        self.refused(2, "run", "phold", "--config", self.write(""), says=["it is empty"])
        self.refused(2, "run", "phold", "--config", self.write("# nothing\n"), says=["no option"])

    def test_what_is_no_text(self):
        path = self.folder / "binary"
        for content in [b"until = 1s\n\x1b[31mred = 1\n", b"until = 1s\n\x00\x01\n"]:
            path.write_bytes(content)
            done = self.refused(2, "run", "phold", "--config", path,
                                says=["line 2: a line of text is expected, found the byte 0x"])
            self.assertNotIn("\x1b", done.err)
        path.write_bytes(b"n\xffme = 1\n")
        self.refused(2, "run", "phold", "--config", path, says=["'n\\xffme': there is no such key"])
        path.write_bytes("until = 1s\n".encode("utf-16"))
        self.refused(2, "run", "phold", "--config", path, says=["UTF-16", "save it as UTF-8"])

    def test_damaged_lines_are_not_defaults(self):
        for line, says in [
                ("{", "'KEY = VALUE' is expected, such as 'seed = 7' or 'quiet = true', found '{'"),
                ("[", "a section '[set]' is expected"),
                ('"', "'KEY = VALUE' is expected"),
                ("engine", "'KEY = VALUE' is expected"),
                ("quiet", "'KEY = VALUE' is expected"),
                ("seed 5", "'KEY = VALUE' is expected"),
                ("= 5", "'KEY = VALUE' is expected"),
                ('"engine" # "quiet" = true', "'KEY = VALUE' is expected"),
                ("[nosuch]", "there is no section 'nosuch'; parameters go into [set]"),
                ("[[set]]", "there is no section '[set'"),
                ("[set] seed = 5", "behind '[set]' nothing is expected, found 'seed = 5'"),
                ("seed =", "'seed' has no value"),
                ("seed = # 5", "'seed' has no value"),
                ('seed = "5', 'the closing " is missing'),
                ('seed = "5" 7', "behind the value nothing is expected, found '7'"),
                ('seed = 5"', "text with such characters stands in quotes"),
                ("seed = {5}", "text with such characters stands in quotes"),
                ("workers = 1,,2", "a value is expected before ','"),
                ("workers = 1,", "a value is expected behind ','"),
                ("set = [lps=7", "the closing ] of 'set' is missing"),
                ("set = []", "'set' has no value")]:
            with self.subTest(line=line):
                self.refused(2, "run", "phold", "--config", self.write(f"until = 1s\n{line}\n"),
                             says=["run.toml', line 2: ", says])
        path = self.folder / "marks"
        path.write_bytes(b"until = 1s\n\xff\xfe\n")
        self.refused(2, "run", "phold", "--config", path, says=["line 2: ", "\\xff\\xfe"])

    def test_every_form_of_a_line(self):
        path = self.write("""; a comment, and another
            # until = 7s
            until = 10 s  # with its unit
            "seed" = '5'
            quiet = true
            [ set ]  # parameters
            lps = "64" # LPs
            mean = 2s
        """)
        report = self.run_json("phold", "--config", path)
        self.assertEqual((report["options"]["until"], report["options"]["seed"]), ("10 s", 5))
        self.assertEqual(report["parameters"]["lps"]["value"], 64)
        path = self.write("until = 1s\nset = [  # over lines\n  'lps=64', # one\n  mean=2s,\n]\n")
        self.assertEqual(self.run_json("phold", "--config", path)["parameters"]["mean"]["value"], "2 s")

    def test_byte_order_mark(self):
        path = self.folder / "marked"
        path.write_bytes(b"\xef\xbb\xbfuntil = 1s\n")
        self.assertEqual(self.run_json("phold", "--config", path)["options"]["until"], "1 s")

    def test_key_given_twice(self):
        self.refused(2, "run", "phold", "--config", self.write("until = 1s\nseed = 2\nuntil = 2s\n"),
                     says=["line 3: 'until' was given in line 1"])
        self.refused(2, "run", "phold", "--config", self.write("[set]\nlps = 1\n[set]\nlps = 1\n"),
                     says=["line 4: 'lps' was given in line 2"])
        path = self.write('until = 1s\nset = ["lps=1",\n "lps=2"]\n')
        self.refused(2, "run", "phold", "--config", path, says=["'lps' is set more than once"])
        path = self.write('set = ["lps=7",\n "mean=2s"]\nuntil = 1s\n')
        self.assertEqual(self.run_json("phold", "--config", path)["parameters"]["lps"]["value"], 7)

    def test_compare(self):
        path = self.write("engines = sequential,timewarp\nworkers = 1,2\nrepeats = 1\nuntil = 10s\n")
        done = self.run_ok("compare", "phold", "--config", path, "--json", "--quiet")
        self.assertEqual(len(json.loads(done.out)["rows"]), 3)

    def test_command_line_of_compare_wins(self):
        path = self.write("engines = sequential\nrepeats = 1\nuntil = 2s\n[set]\nlps = 32\n")
        done = self.run_ok("compare", "phold", "--config", path, "--set", "lps=8", "--json", "--quiet")
        self.assertEqual(json.loads(done.out)["parameters"]["lps"]["value"], 8)


class Again(Case):
    """--again repeats the run of a report, or says what is not as it was."""

    def setUp(self):
        super().setUp()
        self.first = self.folder / "first"

    def test_a_run(self):
        self.run_ok("run", "phold", *SMALL, "--seed", 5, "remote=0.5", "--engine", "timewarp", "--out", self.first)
        again = self.folder / "again"
        done = self.run_ok("run", "--again", self.first, "--engine", "sequential", "--out", again)
        self.assertIn(f"the same as '{self.first}/report.json'", done.out)
        first, second = self.report(self.first), self.report(again)
        for part in ["parameters", "metrics", "inputs"]:
            self.assertEqual(first[part], second[part])
        self.assertEqual(second["run"]["fingerprint"], first["run"]["fingerprint"])
        self.assertEqual(second["options"]["engine"], "sequential")
        self.assertEqual(second["command"][:2], ["run", "phold"])
        self.assertNotIn("--again", second["command"])
        self.assertEqual(second["command"].count("--out"), 1)
        # And of the repetition, over ranks.
        third = json.loads(self.run_ok("run", f"--again={again}/report.json", "--engine", "timewarp",
                                       "--ranks", 2, "--workers", 1, "--json", "--quiet").out)
        self.assertEqual(third["run"]["fingerprint"], first["run"]["fingerprint"])
        self.assertEqual(third["run"]["ranks"], 2)

    def test_input_files(self):
        config = self.folder / "small.toml"
        config.write_text('until = "20s"\n[set]\nlps = 64\n')
        self.run_ok("run", "phold", "--config", config, "--out", self.first)
        inputs = self.report(self.first)["inputs"]
        self.assertEqual([(one["path"], one["bytes"]) for one in inputs],
                         [(str(config), config.stat().st_size)])
        self.assertRegex(inputs[0]["xxh3_128"], r"\A[0-9a-f]{32}\Z")
        self.run_ok("run", "--again", self.first)
        config.write_text('until = "20s"\n[set]\nlps = 65\n')
        self.refused(2, "run", "--again", self.first,
                     says=[f"cannot repeat '{self.first}/report.json': input file '{config}' has changed"])
        config.unlink()
        self.refused(2, "run", "--again", self.first, says=["cannot read config file"])

    def test_what_a_run_leaves_is_not_repeated(self):
        """Neither from the command nor from its config file, and the run's folder stays as it is."""
        self.run_ok("run", "phold", *SMALL, "--snapshot-every", "8s", "--snapshot-wall", "1h",
                    "--snapshot-share", "0.5", "--out", self.first)
        done = self.run_ok("run", "--again", self.first)
        self.assertIn(f"the same as '{self.first}/report.json'", done.out)
        config = self.folder / "small.toml"
        second = self.folder / "second"
        config.write_text(f'until = "20s"\nout = "{second}"\nsnapshot-every = "8s"\nquiet = true\n'
                          f'trace = "{self.folder}/trace"\nverbose = true\n[set]\nlps = 64\n')
        self.run_ok("run", "phold", "--config", config)
        before = sorted(path.stat().st_mtime_ns for path in second.rglob("*"))
        self.assertIn("the same as", self.run_ok("run", "--again", second).out)
        self.assertEqual(sorted(path.stat().st_mtime_ns for path in second.rglob("*")), before)
        third = self.folder / "third"
        self.run_ok("run", "--again", second, "--out", third, "--snapshot-every", "10s")
        self.assertEqual(self.report(third)["snapshots"]["last"], 1)

    def test_input_files_of_a_model(self):
        network = pathlib.Path(os.environ["ORRERY_DATA"]) / "traffic/sioux-falls"
        files = {name: network.with_name(f"{network.name}_{name}.tntp").read_text()
                 for name in ["net", "trips"]}
        for name, text in files.items():
            (self.folder / f"city_{name}.tntp").write_text(text)
        words = ["traffic", "--set", f"network={self.folder}/city", "routes=free-flow", "--until", "10min"]
        self.run_ok("run", *words, "--out", self.first)
        read = [pathlib.Path(one["path"]).name for one in self.report(self.first)["inputs"]]
        self.assertEqual(sorted(read), ["city_net.tntp", "city_trips.tntp"])
        self.run_ok("run", "--again", self.first, "--engine", "sequential")
        with open(self.folder / "city_trips.tntp", "a", encoding="utf-8") as stream:
            stream.write("\n")
        self.refused(2, "run", "--again", self.first, says=["city_trips.tntp' has changed since"])

    def test_another_build(self):
        self.run_ok("run", MISFIT, "--until", "20s", "--out", self.first)
        revision = self.report(self.first)["orrery"]["revision"]
        self.assertTrue(revision is None or re.fullmatch(r"[0-9a-f]{40}(\+changes)?", revision), revision)
        self.run_ok("run", "--again", self.first)
        path = self.first / "report.json"
        whole = json.loads(path.read_text())
        for part, says in [("orrery", "another build of orrery"), ("model", f"'{MISFIT}' was another build")]:
            path.write_text(json.dumps(whole | {part: whole[part] | {"build": "00ff"}}))
            self.refused(2, "run", "--again", self.first, says=[says, "(00ff, this is "])

    def test_another_result(self):
        self.run_ok("run", "phold", *SMALL, "--out", self.first)
        path = self.first / "report.json"
        whole = json.loads(path.read_text())
        path.write_text(json.dumps(whole | {"run": whole["run"] | {"fingerprint": "0" * 16}}))
        done = Done(["run", "--again", self.first])
        self.assertEqual(done.code, 1)
        self.assertIn("the fingerprints differ", done.err)
        self.assertIn("events", done.out)
        path.write_text(json.dumps(whole | {"complete": False}))
        self.assertIn("not compared", self.run_ok("run", "--again", self.first).out)

    def test_refusals(self):
        self.run_ok("run", "phold", *SMALL, "--out", self.first)
        for words, says in [(["--seed", "3"], "'--seed 3' would make it another run"),
                            (["--set", "lps=3"], "'--set lps=3' would"),
                            (["--until=3s"], "'--until=3s' would"), (["pcs"], "'pcs' would")]:
            self.refused(2, "run", "--again", self.first, *words, says=[says])
        self.refused(2, "run", "--again", says=["--again needs a value"])
        self.refused(2, "run", "--again=", says=["--again is given an empty value"])
        self.refused(2, "run", "--again", self.first, "--again", self.first, says=["more than once"])
        self.refused(2, "run", "--again", self.folder / "none", says=["cannot read report", "No such"])
        other = self.folder / "other.json"
        for text, says in [("{}", "it is no report of a run"), ("[", "it is no report of a run"),
                           ('{"schema": 1, "command": ["resume", "x"]}', "went on from a snapshot"),
                           ('{"schema": 9}', "of another version"),
                           ('{"schema": 1, "schema_version": 3}', "of another version")]:
            other.write_text(text)
            self.refused(2, "run", "--again", other, says=[f"cannot repeat '{other}': ", says])
        config = self.folder / "again.toml"
        config.write_text(f'model = "phold"\nagain = "{self.first}"\n')
        self.refused(2, "run", "--config", config, says=["line 2, 'again': there is no such key"])


class Options(Case):
    """What is derived from the declarations of options; each that the help shows is tried."""

    # Valid for every option of its type, and no option's default.
    VALUES = {"TIME": "7s", "N": "3", "SIZE": "2MiB", "SHARE": "0.5", "on|off": "off",
              "ENGINE": "sequential", "EVENTS": "50"}
    # Where one value does not fit all options of a type, and what the others need beside it.
    NAMES = {"pending": "heap", "checkpoint": "copy", "offload": "mono", "copier": "synchronous",
             "expanded-mode": "batched",
             "oversize": "deny", "cache-aware": "on", "preempt": "tick", "tick": "200us",
             "warm-up": "1s", "series": "power=1s", "record": "*.power=1s", "batch-means": "power"}
    RETIRED = {"handover", "barrier", "conservative-mode"}
    OF_THE_COMMAND = RETIRED | {"help", "engine", "engines", "set", "config", "out", "force", "quiet", "json",
                      "repeats", "verbose", "snapshots", "snapshot-every", "snapshot-at",
                      "snapshot-wall", "snapshot-share", "snapshot-check", "end-after-snapshot", "ranks", "mpi", "survive",
                      "live", "again", "stop-when", "stop-check",  # which add notes; see Observation
                      "trace", "trace-lps", "trace-from", "trace-to", "trace-size"}

    def options(self):
        """Name and a value that is not the default (None for a flag), from the help."""
        found = {}
        parts = self.folder / "parts.txt"
        parts.write_text("0\n" * 8)
        names = self.NAMES | {"partition": str(parts), "write-partition": str(self.folder / "w.txt")}
        for line in self.run_ok("run", "--help", "all").out.splitlines():
            match = re.match(r"  (?:-\w,)?--([a-z-]+)(?: ([A-Z]+|on\|off)\b(?!=))?", line)
            if match and match[1] not in self.OF_THE_COMMAND:
                name, kind = match.groups()
                found[name] = names.get(name) or (None if kind is None else self.VALUES[kind])
        self.assertGreater(len(found), 20)
        return found

    def words(self, name, value):
        return [f"--{name}"] if value is None else [f"--{name}", value]

    def changed(self, report, plain):
        return {field for field, value in report["options"].items()
                if value != plain["options"][field]}

    def engine_of(self, name):
        """One that honours the option."""
        for engine in ["timewarp", "expanded", "conservative", "auto"]:
            if re.search(rf"(?m)^  --{name}\b(?!-)", self.run_ok("describe", engine).out):
                return engine
        self.fail(f"no engine honours --{name}")

    def test_each_reaches_the_report_by_every_way(self):
        run = ["pcs", "--set", "cells=8", "--set", "handoff_delay=100ms"]
        for name, value in self.options().items():
            until = [] if name == "until" else ["--until", "2s"]
            engine = self.engine_of(name)
            plain = self.run_json(*run, *until, "--engine", engine)
            with self.subTest(option=name, by="run"):
                direct = self.run_json(*run, *until, "--engine", engine, *self.words(name, value))
                expected = self.changed(direct, plain)
                self.assertTrue(expected, f"--{name} is not in the report")
                self.assertEqual([note for note in direct["notes"] if "does not use" in note], [])
            with self.subTest(option=name, by="config file"):
                path = self.folder / f"{name}.toml"
                path.write_text(f'{name} = {"true" if value is None else repr(value)}\n')
                by_file = self.run_json(*run, *until, "--engine", engine, "--config", path)
                self.assertEqual(by_file["options"], direct["options"])
            with self.subTest(option=name, by="compare"):
                done = self.run_ok("compare", *run, *until, "--engines", f"sequential,{engine}",
                                   "--repeats", "1", "--json", "--quiet", *self.words(name, value))
                reports = json.loads(done.out)["reports"]
                self.assertEqual(reports[1]["options"], direct["options"])
                noted = [note for note in reports[0]["notes"]
                         if "--pending" not in note and not note.startswith("the warm-up")]
                self.assertEqual(noted, [])

    def test_each_that_an_engine_does_not_use_is_noted(self):
        used = self.run_ok("describe", "sequential").out
        for name, value in self.options().items():
            with self.subTest(option=name):
                report = self.run_json("pcs", "--set", "cells=8", "--engine", "sequential",
                                       "--until", "2s", *(self.words(name, value) if name != "until"
                                                          else []))
                notes = [note for note in report["notes"] if "does not use" in note]
                if re.search(rf"(?m)^  --{name}\b(?!-)", used):
                    self.assertEqual(notes, [])
                else:
                    self.assertEqual(notes, [f"engine sequential does not use --{name}"])

    def test_retired_options_are_accepted_with_a_note(self):
        for name, value in [("handover", "pull"), ("barrier", "event")]:
            run = ["null", "--set", "events=20", "--engine", "expanded", f"--{name}", value]
            self.assertIn(f"engine expanded does not use --{name}; workers get events as "
                          "--expanded-mode says", self.run_json(*run)["notes"])
        self.run_ok("compare", "null", "--set", "events=20", "--engines", "sequential,expanded",
                    "--repeats", "1", "--quiet", "--handover", "pull")
        report = self.run_json("null", "--set", "events=20", "--engine", "expanded",
                               "--expanded-mode", "decentralised")
        self.assertIn("--expanded-mode decentralised is batched now", report["notes"])

    def test_an_option_of_earlier_reports_is_accepted_with_a_note(self):
        for name in ["ladder", "heap"]:
            report = self.run_json("pcs", "--set", "cells=8", "--until", "2s", "--pending", name)
            self.assertIn("the radix heap is the only pending event set now: "
                          f"--pending {name} changes nothing", report["notes"])

    def test_note_lists_all_and_is_shown(self):
        done = self.run_ok("run", "phold", *SMALL, "--engine", "sequential", "--quiet", "--window",
                           "1s", "--checkpoint", "copy", "--offload", "none")
        self.assertIn("note: engine sequential does not use --checkpoint and --window\n", done.out)

    def test_slips_are_refused_on_every_engine(self):
        slips = {"window": "soon", "burst": "3", "expanded-mode": "bached", "checkpoint": "photo",
                 "copier": "magic", "pending": "hep", "gvt-period": "0s"}
        for engine in [*ENGINES, "checker"]:
            for name, slip in slips.items():
                self.refused(2, "run", "phold", "--engine", engine, f"--{name}", slip,
                             says=[f"'{slip}'"])
            self.refused(2, "run", "phold", "--engine", engine, "--offload", "multi",
                         "--checkpoint", "incremental", says=["whole images"])

    def test_refused_options_leave_nothing(self):
        out = self.folder / "out"
        self.refused(2, "run", "phold", "--engine", "checker", "--window", "1s", "--out", out)
        self.refused(2, "run", "phold", "--engine", "sequential", "--window", "x", "--out", out)
        self.refused(2, "compare", "phold", "--window", "x", "--out", out, says=["--window", "'x'"])
        self.refused(2, "compare", "phold", "--engines", "sequential", "--window", "1s", "--out",
                     out, says=["engine sequential does not use --window; leave it away"])
        self.refused(2, "compare", "phold", "--engines", "sequential,expanded", "--window", "1s",
                     "--checkpoint", "copy", "--out", out,
                     says=["none of the engines sequential and expanded uses --checkpoint and "
                           "--window; leave them away"])
        self.assertFalse(out.exists())

    def test_flag_of_a_file_can_be_false(self):
        path = self.folder / "flag.toml"
        path.write_text("no-bind = false\n")
        self.assertTrue(self.run_json("phold", *SMALL, "--config", path)["options"]["bind"])

    def test_describe_shows_what_an_engine_honours(self):
        done = self.run_ok("describe", "expanded")
        self.assertRegex(done.out, r"(?m)^  --expanded-mode NAME +auto +\S.*: auto, in-place, batched$")
        self.assertNotIn("--window", done.out)


class Observation(Case):
    """What is observed beside what the model declares, and until when."""

    PCS = ["pcs", "--set", "cells=49", "--until", "20min", "--quiet"]
    WORLDS = [["sequential"], ["timewarp", "--workers", "2"], ["conservative", "--workers", "2"],
              ["expanded", "--workers", "2"], ["auto", "--workers", "2"]]

    def left(self, report):
        run = report["run"]
        return (run["fingerprint"], run["committed"], run["reached_ticks"], report["metrics"],
                report["results"])

    def ran(self, *words):
        return self.run_json(*self.PCS, *words)

    def test_a_warm_up_leaves_out_what_comes_before(self):
        words = [MISFIT, "--engine", "sequential"]
        whole = self.run_json(*words, "--until", "40s")["metrics"]["steps"]["count"]
        before = self.run_json(*words, "--until", "15s")["metrics"]["steps"]["count"]
        report = self.run_json(*words, "--until", "40s", "--warm-up", "15s")
        self.assertEqual(report["metrics"]["steps"]["count"], whole - before)
        self.assertEqual(report["options"]["warm_up_ticks"], 15_000_000_000)

    def test_a_warm_up_is_the_same_on_all_engines(self):
        words = ["--warm-up", "7min", "--series", "power=90s,call_duration=5min"]
        expected = self.left(self.ran(*words, "--engine", "sequential"))
        for engine in [*self.WORLDS, ["checker"]]:
            with self.subTest(engine=engine):
                self.assertEqual(self.left(self.ran(*words, "--engine", *engine)), expected)

    def test_series_of_any_metric(self):
        out = self.folder / "out"
        report = self.ran("--series", "power=90s", "--out", out)
        self.assertEqual(report["metrics"]["power"]["series_interval_ticks"], 90_000_000_000)
        with open(out / "power.series.csv", newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(len(rows), 14)
        self.assertEqual(sum(int(row["count"]) for row in rows), report["metrics"]["power"]["count"])

    def rows(self, path):
        with open(path, newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def test_figures_and_series_of_single_lps(self):
        out = self.folder / "out"
        asked = "3..5.power,1?.power=90s,*.busy_channels=5min"
        report = self.ran("--record", asked, "--out", out)
        power = report["metrics"]["power"]
        self.assertEqual(power["of_lps"], {
            "recorded": 13, "selected": 13, "table": "lp_power", "series_table": "lp_power_series",
            "series_interval_ticks": 90_000_000_000})
        rows = self.rows(out / "lp_power.csv")
        self.assertEqual([int(row["lp"]) for row in rows], [3, 4, 5, *range(10, 20)])
        self.assertEqual({row["name"] for row in rows}, {""}, "the model gives no names")
        series = self.rows(out / "lp_power_series.csv")
        self.assertEqual(len(series), 10 * 14)
        for row in rows[3:]:
            own = [one for one in series if one["lp"] == row["lp"]]
            self.assertEqual(sum(int(one["count"]) for one in own), int(row["count"]))
            self.assertAlmostEqual(sum(float(one["sum"]) for one in own), float(row["sum"]))
        busy = self.rows(out / "lp_busy_channels.csv")
        self.assertEqual(len(busy), 49)
        self.assertEqual(sum(int(row["count"]) for row in busy),
                         report["metrics"]["busy_channels"]["count"])
        with sqlite3.connect(out / "results.sqlite") as database:
            for table, count in [("lp_power", 13), ("lp_power_series", 140),
                                 ("lp_busy_channels", 49), ("lp_busy_channels_series", 49 * 4)]:
                self.assertEqual(database.execute(f"SELECT count(*) FROM {table}").fetchone(), (count,))
            self.assertEqual(database.execute("SELECT sum(count), max(maximum) FROM lp_power").fetchone(),
                             (sum(int(row["count"]) for row in rows),
                              max(float(row["maximum"]) for row in rows)))
        without = self.ran()
        self.assertEqual(report["run"]["fingerprint"], without["run"]["fingerprint"])
        self.assertNotIn("of_lps", without["metrics"]["power"])

    def test_levels_of_single_lps(self):
        out = self.folder / "out"
        report = self.run_json(os.environ["SHOP"], "--record", "*.inside=7s", "--out", out)
        rows = self.rows(out / "lp_inside.csv")
        inside = report["metrics"]["inside"]
        self.assertEqual(len(rows), inside["lps"])
        self.assertAlmostEqual(sum(float(row["mean"]) for row in rows), inside["total"])
        self.assertEqual(sum(int(row["count"]) for row in rows), inside["count"])
        area, lasts = 0, 0
        for row in self.rows(out / "lp_inside_series.csv"):
            if row["lp"] == rows[0]["lp"]:
                ticks = int(row["end_ticks"]) - int(row["begin_ticks"])
                area, lasts = area + float(row["mean"]) * ticks, lasts + ticks
        self.assertEqual(lasts, report["run"]["reached_ticks"])
        tick = report["model"]["tick_seconds"]
        self.assertAlmostEqual(area * tick, float(rows[0]["mean"]) * float(rows[0]["seconds"]))

    def test_figures_of_single_lps_are_the_same_everywhere(self):
        words = ["--warm-up", "7min", "--record", "*.power=90s,4*.busy_channels=2min"]
        names = ["lp_power.csv", "lp_power_series.csv", "lp_busy_channels.csv", "lp_busy_channels_series.csv"]
        def left(*engine):
            out = self.folder / "out"
            self.ran(*words, "--engine", *engine, "--out", out, "--force")
            return [(out / name).read_text() for name in names]
        expected = left("sequential")
        for engine in [*self.WORLDS, ["checker"], ["timewarp", "--workers", "1", "--ranks", "2"],
                       ["conservative", "--workers", "1", "--ranks", "3"]]:
            with self.subTest(engine=engine):
                self.assertEqual(left(*engine), expected)
        out = self.folder / "kept"
        self.run_ok("run", *self.PCS, *words, "--engine", "timewarp", "--snapshot-at", "13min",
                    "--end-after-snapshot", "--out", out)
        self.refused(2, "resume", out, "--record", "*.power", says=["--record", "keeps its observations"])
        self.run_ok("resume", out, "--engine", "sequential", "--quiet")
        self.assertEqual([(out / name).read_text() for name in names], expected)

    def test_lps_have_names(self):
        out = self.folder / "out"
        words = ["run", MISFIT, "--until", "30s", "--set", "names=plain", "--out", out, "--force", "--quiet"]
        done = self.run_ok(*words, "--record", "walker?.steps,3.steps=10s")
        self.assertRegex(done.out, r"(?m)^  LP 3 \(walker3\) ")
        self.assertEqual([row["name"] for row in self.rows(out / "lp_steps.csv")],
                         ["walker0", "walker1", "walker2", "walker3"])
        self.assertEqual([(row["lp"], row["name"]) for row in self.rows(out / "lp_steps_series.csv")],
                         [("3", "walker3")] * 3)
        self.assertEqual([row["name"] for row in self.rows(out / "orrery_lp_names.csv")],
                         ["walker0", "walker1", "walker2", "walker3"])
        with sqlite3.connect(out / "results.sqlite") as database:
            self.assertEqual(database.execute(
                "SELECT name, count(*) FROM track JOIN orrery_lp_names USING (lp) GROUP BY lp").fetchone()[0],
                "walker0")
        self.assertRegex(self.run_ok("describe", "traffic").out, r"LPs +24 \(node1, node2, ")
        self.run_ok("run", MISFIT, "--until", "30s", "--out", out, "--force", "--quiet")
        self.assertFalse((out / "orrery_lp_names.csv").exists())
        self.assertFalse((out / "lp_steps.csv").exists())

    def test_names_of_lps_are_only_text(self):
        out = self.folder / "out"
        words = ["run", MISFIT, "--until", "30s", "--out", out, "--force", "--quiet"]
        self.run_ok(*words, "--set", "names=markup", "--record", "*.steps=5s")
        self.assertEqual(self.rows(out / "lp_steps.csv")[0]["name"], '<b>"walker" & ,0')
        self.run_ok("report", out)
        page = (out / "report.html").read_text()
        self.assertIn("&lt;b&gt;", page)
        self.assertNotIn("<b>", page)
        self.assertIn("highest counts", page, "each value is 1")
        for names, says in [("control", ["name_of() of LP 0", "\\x1b[2Jwalker", "not UTF-8"]),
                            ("throw", ["name_of() of LP 0", "no such walker"])]:
            self.refused(3, *words, "--set", f"names={names}", "--record", "w*.steps", says=says)
        for names in ["control", "throw", "crash"]:
            for engine in ["sequential", "timewarp"]:
                with self.subTest(names=names, engine=engine):
                    done = Done([*words, "--engine", engine, "--set", f"names={names}", "does=negative", "rows=0"])
                    self.assertEqual(done.code, 3, done.err)
                    self.assertIn("in LP 3, event Step", self.report(out)["run"]["fault"])

    def test_batch_means(self):
        done = self.run_ok("run", *self.PCS, "--batch-means", "power,call_duration")
        self.assertRegex(done.out, r"(?m)^  batch means .*95 %")
        report = self.ran("--batch-means", "power,call_duration")
        power = report["metrics"]["power"]
        means = power["batch_means"]
        self.assertEqual((means["batches"], means["confidence"]), (30, 0.95))
        self.assertLess(abs(means["mean"] - power["mean"]), means["half_width"])
        self.assertGreater(means["half_width"], 0)
        self.assertNotIn("batch_means", report["metrics"]["arrivals"])

    def test_batches_need_values(self):
        words = [MISFIT, "--until", "20 ticks", "--batch-means", "steps"]
        self.assertIsNone(self.run_json(*words)["metrics"]["steps"]["batch_means"])
        self.assertIn("steps: no interval: ", self.run_ok("run", *words, "--quiet").out)

    def stopped(self, report):
        self.assertEqual(report["run"]["end"], "completed")
        note = [note for note in report["notes"] if "as asked for" in note]
        self.assertEqual(len(note), 1, report["notes"])
        return note[0]

    def test_a_run_stops_at_the_same_time_on_all_engines(self):
        words = ["--stop-when", "power.count >= 1500 and power.mean < 2", "--stop-check", "30s"]
        first = self.ran(*words, "--engine", "sequential")
        self.assertIn("power.count was ", self.stopped(first))
        ticks = first["run"]["reached_ticks"]
        self.assertEqual(ticks % 30_000_000_000, 0)
        self.assertLess(ticks, first["options"]["until_ticks"])
        cut = self.run_json(*self.PCS[:3], "--until", f"{ticks}ticks", "--engine", "sequential")
        self.assertEqual(self.left(cut), self.left(first))
        before = self.run_json(*self.PCS[:3], "--until", f"{ticks - 30_000_000_000}ticks")
        self.assertLess(before["metrics"]["power"]["count"], 1500)
        for engine in self.WORLDS[1:]:
            with self.subTest(engine=engine):
                again = self.ran(*words, "--engine", *engine)
                self.stopped(again)
                self.assertEqual(self.left(again), self.left(first))

    def test_committed_values_of_lps_end_a_run_at_the_same_time(self):
        engines = [*self.WORLDS, ["timewarp", "--workers", "1", "--ranks", "2"],
                   ["conservative", "--workers", "1", "--ranks", "2"]]
        for condition in ["inside.current_total == 0", "inside.current_minimum>=2",
                          "inside.current_mean < 0.75 and inside.current_maximum != 2"]:
            words = [SHOP, "--set", "shelves=4", "--until", "2000s", "--stop-check", "1s",
                     "--stop-when", "wait.count >= 50 and " + condition]
            first = self.run_json(*words, "--engine", "sequential")
            self.assertIn("inside.current_", self.stopped(first))
            reached = first["run"]["reached_ticks"]
            self.assertIn(reached, range(5_000_000_000, 2000_000_000_000, 1_000_000_000))
            inside = first["metrics"]["inside"]
            self.assertEqual(inside["current_mean"], inside["current_total"] / inside["lps"])
            cut = self.run_json(SHOP, "--set", "shelves=4", "--until", f"{reached}ticks")
            self.assertEqual(self.left(cut), self.left(first))
            for engine in engines[1:]:
                with self.subTest(condition=condition, engine=engine):
                    again = self.run_json(*words, "--engine", *engine)
                    self.assertEqual(self.stopped(again), self.stopped(first))
                    self.assertEqual(self.left(again), self.left(first))

    def test_over_ranks(self):
        words = ["--stop-when", "power.count>1500", "--warm-up", "1min", "--batch-means", "power"]
        expected = self.ran(*words, "--engine", "sequential")
        for engine in ["timewarp", "conservative"]:
            with self.subTest(engine=engine):
                over = self.ran(*words, "--engine", engine, "--ranks", "2", "--workers", "1")
                self.assertEqual(self.stopped(over), self.stopped(expected))
                self.assertEqual(self.left(over), self.left(expected))

    def test_until_an_interval_is_narrow(self):
        report = self.ran("--batch-means", "power", "--stop-when", "power.precision<=0.05",
                          "--warm-up", "2min")
        self.assertIn("power.precision was 0.0", self.stopped(report))
        means = report["metrics"]["power"]["batch_means"]
        self.assertLessEqual(means["half_width"] / means["mean"], 0.05)

    def test_a_condition_comes_by_every_way(self):
        words = ["--stop-when", "power.count >= 1500", "--stop-check", "30s"]
        direct = self.ran(*words)
        path = self.folder / "stop.toml"
        path.write_text('stop-when = "power.count >= 1500"\nstop-check = "30s"\n')
        by_file = self.ran("--config", path)
        self.assertEqual(by_file["options"], direct["options"])
        self.assertEqual(self.left(by_file), self.left(direct))
        done = self.run_ok("compare", *self.PCS, *words, "--engines", "sequential,timewarp",
                           "--repeats", "1", "--json")
        for report in json.loads(done.out)["reports"]:
            self.assertEqual(self.left(report), self.left(direct))

    def test_what_is_never_so_is_told(self):
        report = self.ran("--stop-when", "power.count >= 1e9")
        self.assertEqual(report["run"]["reached_ticks"], report["options"]["until_ticks"])
        self.assertTrue(any("was never true" in note for note in report["notes"]), report["notes"])
        whole = self.ran()
        self.assertEqual(self.left(report), self.left(whole))

    def test_what_has_no_value_fulfils_nothing(self):
        report = self.run_json(MISFIT, "--until", "9s", "--set", "lps=1", "--warm-up", "8500ms",
                               "--stop-when", "steps.mean < 5", "--stop-check", "1s")
        self.assertEqual(report["run"]["reached_ticks"], 9_000_000_000)

    def test_looks_behind_the_last_event_count(self):
        for engine in [["sequential"], ["timewarp", "--workers", "2"],
                       ["timewarp", "--workers", "1", "--ranks", "2"], ["auto"]]:
            with self.subTest(engine=engine):
                report = self.run_json(MISFIT, "--until", "9500ms", "--set", "lps=2",
                                       "--engine", *engine, "--stop-when", "steps.count >= 1",
                                       "--warm-up", "8500ms", "--stop-check", "4600ms")
                self.assertEqual(report["run"]["reached_ticks"], 9_200_000_000)
                self.stopped(report)

    def test_refusals(self):
        def no(*words, says):
            self.refused(2, "run", *self.PCS, *words, says=says)
        no("--warm-up", "20min", says=["--warm-up leaves nothing to observe: it ends at 20 min, and the run at 20 min"])
        no("--warm-up", "soon", says=["--warm-up", "'soon'", "units"])
        no("--warm-up", "auto:power", says=["--warm-up", "orrery sweep"])
        no("--series", "power", says=["--series", "'power'", "METRIC=TIME"])
        no("--series", "powr=1s", says=["did you mean 'power'?"])
        no("--series", "power=1us", says=["--series", "1048576", "power"])
        for wrong in ["power", "*.power=", "*.power=0s", "*.power=soon", ".power", "*.", "=1s"]:
            no("--record", wrong, says=["--record", f"'{wrong}'", "LPS.METRIC=TIME"])
        no("--record", "*.powr", says=["did you mean 'power'?", "(metrics: ", "busy_channels"])
        no("--record", "r*.power", says=["no LP matches 'r*'", "names no LPs", "0 to 48"])
        no("--record", "49.power", says=["there is no LP 49", "has 49"])
        no("--record", "*.power=1s,3.power=2s", says=["--record", "'power'", "1 s and of 2 s"])
        no("--record", "*.power=10us", says=["--record", "49 LPs", "5.88e+09 intervals", "412 GB", "10 million"])
        no("--batch-means", "delay", says=["--batch-means", "no metric 'delay'"])
        no("--stop-when", "power", says=["--stop-when", "'power'"])
        no("--stop-when", "power.count = 5", says=["--stop-when", "=="])
        no("--stop-when", "power.count ! 5", says=["--stop-when", "!="])
        no("--stop-when", "power.current_total == 5", says=["no figure 'current_total'"])
        no("--stop-when", "power.count > many", says=["--stop-when"])
        no("--stop-when", "power.count > 5 and", says=["--stop-when"])
        no("--stop-when", "power.p51 > 5", says=["no figure 'p51'"])
        no("--stop-when", "power.precision < 0.1", says=["--batch-means power"])
        no("--stop-check", "1s", says=["--stop-check needs --stop-when"])
        no("--stop-when", "power.count>5", "--engine", "checker", says=["checker", "--stop-when"])


class Committed(Case):
    """What an LP does outside, once and in order, whatever is rolled back around it."""
    ENGINES = [["sequential"], ["timewarp", "--workers", "2"], ["timewarp", "--workers", "4"],
               ["expanded", "--workers", "2"], ["auto", "--hand-over-every", "100"], ["checker"]]

    def said(self, done):
        return [line for line in done.out.splitlines() if line.startswith("said ")]

    def everywhere(self, code, *words):
        """The lines, which are the same on all engines, and those of the file."""
        expected = None
        for engine in self.ENGINES:
            path = self.folder / "lines"
            done = Done(["run", PRINTER, "--until", "2s", "--quiet", "--engine", *engine,
                         "--set", f"path={path}", *words])
            self.assertEqual(done.code, code, done.err)
            found = self.said(done), path.read_text()
            if expected is None:
                expected = found
            self.assertEqual(found, expected, engine)
        return expected

    def test_is_the_same_on_all_engines(self):
        lines, text = self.everywhere(0)
        self.assertGreater(len(lines), 1000)
        self.assertEqual(len(text.splitlines()), len(lines))

    def test_nothing_is_said_behind_a_fault(self):
        lines, text = self.everywhere(3, "--set", "fail_at=20")
        self.assertGreater(len(lines), 100)
        self.assertFalse([line for line in lines if " 20 at" in line])

    def test_describe_counts_such_lps(self):
        self.assertRegex(self.run_ok("describe", PRINTER).out, r"not rolled back +1 committed")
        self.assertNotIn("not rolled back", self.run_ok("describe", "phold").out)

    def test_the_checker_says_what_it_left_out(self):
        done = self.run_ok("run", "phold", "--engine", "checker", "--until", "2s",
                           "--set", "lps=16", "confined=2", "committed=1", "--quiet")
        self.assertIn("LPs that must not roll back (2 confined, 1 committed)", done.out)


class Conservative(Case):
    PARTED = ["phold", "--until", "20s", "--set", "lps=64", "--set", "lookahead=100ms"]

    def test_refuses_what_it_cannot_run_and_says_who_can(self):
        out = self.folder / "out"
        self.refused(2, "run", "phold", *SMALL, "--engine", "conservative", "--workers", "2",
                     "--threads", "2", "--out", out,
                     says=["engine conservative cannot run this model", "lookahead()", "timewarp"])
        self.refused(2, "compare", "phold", *SMALL, "--engines", "sequential,conservative",
                     "--workers", "2", "--threads", "2", "--out", out,
                     says=["engine conservative cannot run this model"])
        self.assertFalse(out.exists())
        self.run_ok("run", "phold", *SMALL, "--engine", "conservative", "--workers", "1")

    def test_comparison_leaves_it_out_with_a_note(self):
        words = ["--workers", "2", "--threads", "2", "--repeats", "1", "--quiet"]
        done = self.run_ok("compare", "phold", *SMALL, *words)
        self.assertIn("note: engine conservative is left out: the model promises no smallest", done.out)
        self.assertNotRegex(done.out, r"(?m)^  conservative ")
        compared = json.loads(self.run_ok("compare", *self.PARTED, *words, "--json").out)
        self.assertEqual(compared["notes"], [])
        self.assertIn("conservative", [row["engine"] for row in compared["rows"]])
        self.assertTrue(compared["fingerprints_equal"])

    def test_says_how_many_workers_execute(self):
        report = self.run_json(*self.PARTED, "--engine", "conservative", "--workers", "6",
                               "--threads", "3")
        self.assertEqual(report["run"]["workers"], 3)
        self.assertIn("3 workers execute, not 6: as many as threads (--threads)", report["notes"])
        self.assertIn("windows of time", report["account"])


class MoreThreadsThanCores(Case):
    """Time Warp: workers beyond the threads are none, threads beyond the cores are federates."""

    PHOLD = ["phold", "--until", "20s", "--set", "lps=400", "--engine", "timewarp"]
    CORES = len(os.sched_getaffinity(0))

    def test_no_more_workers_execute_than_there_are_cores(self):
        report = self.run_json(*self.PHOLD, "--workers", 3 * self.CORES)
        self.assertEqual(report["run"]["workers"], self.CORES)
        workers = "worker executes" if self.CORES == 1 else "workers execute"
        self.assertIn(f"{self.CORES} {workers}, not {3 * self.CORES}: as many as threads (--threads)",
                      report["notes"])

    def test_commit_the_same(self):
        alone = self.run_json(*self.PHOLD, "--workers", 1)
        threads = 2 * self.CORES + 1
        crowded = self.run_json(*self.PHOLD, "--workers", threads, "--threads", threads)
        self.assertEqual(crowded["run"]["workers"], threads)
        ranks = self.run_json(*self.PHOLD, "--workers", 1, "--ranks", threads)
        for report in (crowded, ranks):
            self.assertEqual(report["run"]["fingerprint"], alone["run"]["fingerprint"])
            self.assertFalse([note for note in report["notes"] if "as the system likes" in note])

    def test_a_run_that_is_killed_leaves_nothing(self):
        threads = 2 * self.CORES
        process = self.popen("run", *LONG, "--quiet", "--engine", "timewarp", "--workers", threads,
                             "--threads", threads)
        def left():
            return [path.name for path in pathlib.Path("/dev/shm").glob(f"*.orrery.{process.pid}.*")]
        wait_for_watch(process)
        deadline = time.monotonic() + PATIENCE_S
        while left() and time.monotonic() < deadline:  # until all threads are there
            time.sleep(0.05)
        self.assertIsNone(process.poll())
        process.kill()
        process.wait()
        self.assertEqual(left(), [])


class Compare(Case):
    def test_table_and_file(self):
        out = self.folder / "out"
        done = self.run_ok("compare", "phold", *SMALL, "--engines", "sequential,timewarp",
                           "--workers", "1,2", "--repeats", "2", "--out", out)
        self.assertIn("All fingerprints are equal: 0x", done.out)
        self.assertRegex(done.out, r"(?m)^  sequential +1 .* 1\.00 ")
        self.assertRegex(done.out, r"(?m)^  timewarp +2 ")
        self.assertLess(max(map(len, done.out.splitlines())), 80)
        comparison = json.loads((out / "compare.json").read_text())
        self.assertTrue(comparison["fingerprints_equal"])
        self.assertEqual([(row["engine"], row["workers"]) for row in comparison["rows"]],
                         [("sequential", 1), ("timewarp", 1), ("timewarp", 2)])
        self.assertEqual(len(comparison["reports"]), 6)
        self.refused(2, "compare", "phold", *SMALL, "--out", out, says=["compare.json", "--force"])

    def test_workers_asked_and_used(self):
        """More than are useful: each row says which of them it is."""
        done = self.run_ok("compare", "phold", "--until", "5s", "--set", "lps=2", "--engines",
                           "sequential,timewarp", "--workers", "1,512", "--repeats", "1",
                           "--out", self.folder / "out")
        self.assertRegex(done.out, r"(?m)^  engine +asked +used ")
        self.assertRegex(done.out, r"(?m)^  sequential +any +1 ")
        self.assertRegex(done.out, r"(?m)^  timewarp +512 +[12] ")
        rows = json.loads((self.folder / "out/compare.json").read_text())["rows"]
        self.assertEqual([row["workers_asked"] for row in rows], [None, 1, 512])
        self.assertLessEqual(max(row["workers"] for row in rows), 2)

    def test_difference_is_an_error(self):
        done = Done(["compare", MISFIT, "--until", "20s", "--engines", "sequential",
                     "--set", "does=clock", "--repeats", "3", "--quiet"])
        self.assertEqual(done.code, 1, done.err)
        self.assertRegex(done.err, r"\Aorrery: the fingerprints differ [^\n]+\n\Z")

    def test_error_of_a_run_is_its_own(self):
        self.refused(3, "compare", MISFIT, "--set", "does=throw", "--quiet",
                     says=["the wheel came off"])


class Interrupt(Case):
    def start(self, *words, **options):
        process = self.popen(*words, **options)
        wait_for_watch(process)
        self.assertIsNone(process.poll(), "the run is too short for this test")
        return process

    def test_first_signal_ends_in_order(self):
        for engine in ENGINES:
            for number in [signal.SIGINT, signal.SIGTERM]:
                with self.subTest(engine=engine, signal=number):
                    out = self.folder / f"{engine}-{number}"
                    process = self.start("run", *LONG, "--engine", engine, "--out", out)
                    process.send_signal(number)
                    stdout, stderr = process.communicate(timeout=PATIENCE_S)
                    self.assertEqual(process.returncode, 128 + number, stderr)
                    self.assertIn("interrupted", stdout)
                    report = self.report(out)
                    self.assertFalse(report["complete"])
                    self.assertEqual(report["run"]["end"], "interrupted")
                    self.assertGreater(report["run"]["committed"], 0)
                    self.assertLess(report["run"]["reached_ticks"], report["options"]["until_ticks"])

    def test_second_signal_ends_at_once(self):
        out = self.folder / "out"
        process = self.start("run", MISFIT, "--engine", "sequential", "--set", "does=hang",
                             "--out", out)
        process.send_signal(signal.SIGINT)
        time.sleep(1)
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE_S)
        # The same to a shell; which one depends on whether the handler was seen twice.
        self.assertIn(process.returncode, [130, -signal.SIGINT])
        self.assertFalse((out / "report.json").exists())

    def test_killed_run_leaves_no_report_and_no_obstacle(self):
        out = self.folder / "out"
        process = self.start("run", *LONG, "--out", out)
        process.kill()
        process.communicate(timeout=PATIENCE_S)
        self.assertFalse((out / "report.json").exists())
        self.run_ok("run", "phold", *SMALL, "--out", out)
        self.assertFalse([path for path in out.iterdir() if path.suffix == ".part"])

    def test_folder_in_use(self):
        out = self.folder / "out"
        self.start("run", *LONG, "--out", out)
        self.refused(2, "run", "phold", *SMALL, "--out", out, says=["another run"])


class OverRanks:
    """A run over processes: the same results, one voice, and no rank left behind."""

    MODEL = ["phold", "--until", "20s", "--set", "lps=300", "lookahead=0.1s"]
    ENDLESS = ["phold", "--until", "100000000s", "--set", "lps=300", "lookahead=0.1s"]

    def start(self, ranks, *words):
        process = self.popen("run", *self.ENDLESS, *self.OVER, "--ranks", ranks, *words)
        deadline = time.monotonic() + PATIENCE_S
        while (len(self.children(process)) < ranks or not self.is_watching(process)) and \
                time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(1)
        self.assertIsNone(process.poll(), "the run is too short for this test")
        return process

    def is_watching(self, process):
        """Whether rank 0 takes signals itself: it has blocked them, and waits."""
        status = pathlib.Path(f"/proc/{self.children(process)[0]}/status").read_text()
        blocked = int(re.search(r"SigBlk:\s*(\w+)", status)[1], 16)
        return blocked >> (signal.SIGINT - 1) & 1

    def children(self, process):
        path = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
        return [int(word) for word in path.read_text().split()]

    def expect_equal(self, alone, over, ranks):
        for field in ["fingerprint", "committed", "reached_ticks", "end"]:
            self.assertEqual(over["run"][field], alone["run"][field], field)
        for part in ["metrics", "results"]:
            self.assertEqual(over[part], alone[part])
        self.assertEqual(over["run"]["ranks"], ranks)
        self.assertEqual(len(over["run"]["hosts"]), ranks)

    def test_ranks_give_the_same(self):
        alone = self.run_json(*self.MODEL, "--engine", "sequential")
        self.assertEqual(alone["run"]["ranks"], 1)
        for ranks in [2, 3]:
            with self.subTest(ranks=ranks):
                over = self.run_json(*self.MODEL, *self.OVER, "--ranks", ranks)
                self.expect_equal(alone, over, ranks)
                self.assertEqual(over["run"]["back_end"], "local")

    def test_many_more_ranks_than_lps(self):
        words = ["phold", "--until", "5s", "--set", "lps=3", "lookahead=100ms"]
        alone = self.run_json(*words, "--engine", "sequential")
        self.expect_equal(alone, self.run_json(*words, *self.OVER, "--ranks", 7), 7)

    def test_rows_of_all_ranks_are_in_the_files(self):
        tables = []
        for name, words in [("alone", ["--engine", "sequential"]),
                            ("over", [*self.OVER, "--ranks", 2])]:
            out = self.folder / name
            self.run_ok("run", MISFIT, "--until", "20s", *words, "--out", out)
            tables.append((out / "track.csv").read_bytes())
        self.assertGreater(tables[0].count(b"\n"), 10)
        self.assertEqual(tables[0], tables[1])

    def test_faults_are_those_of_one_process(self):
        words = ["run", MISFIT, "--set", "does=throw", "--quiet"]
        alone = Done([*words, "--engine", "sequential"])
        over = Done([*words, *self.OVER, "--ranks", 2])
        self.assertEqual((alone.code, over.code), (3, 3))
        self.assertEqual(over.err, alone.err)

    def test_a_rank_that_dies_ends_the_run(self):
        out = self.folder / "results"
        out.mkdir()
        process = self.start(3, "--out", out / "run", "--trace", out / "trace")
        ranks = self.children(process)
        begin = time.monotonic()
        os.kill(ranks[1], signal.SIGKILL)
        _, stderr = process.communicate(timeout=PATIENCE_S)
        self.assertLess(time.monotonic() - begin, 20 if SANITIZE else 10)  # it promises 2 s
        self.assertEqual(process.returncode, 4, stderr)
        self.assertIn(f"rank 1 (process {ranks[1]}) was ended by signal 9", stderr)
        for rank in ranks:
            self.assertFalse(pathlib.Path(f"/proc/{rank}").exists())
        self.assertEqual([path.name for path in out.rglob("*")], [], "unfinished results are left")

    def test_a_rank_that_does_not_answer_is_ended(self):
        process = self.start(2)
        ranks = self.children(process)
        os.kill(ranks[0], signal.SIGSTOP)
        os.kill(ranks[1], signal.SIGKILL)
        _, stderr = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 4, stderr)
        self.assertIn(f"rank 1 (process {ranks[1]}) was ended by signal 9", stderr)
        self.assertFalse(pathlib.Path(f"/proc/{ranks[0]}").exists())

    def test_ctrl_c_ends_in_order(self):
        process = self.start(2)
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 130, stderr)
        self.assertIn("interrupted", stdout)
        self.assertEqual(stderr.count("stopping at the next commit point"), 1)

    def test_a_stopped_rank_is_waited_for(self):
        words = ["phold", "--until", "100s" if SANITIZE else "2000s", "--set", "lps=300",
                 "lookahead=0.1s"]
        alone = self.run_json(*words, "--engine", "sequential")
        process = subprocess.Popen(
            [ORRERY, "run", *words, *self.OVER, "--ranks", "3", "--json", "--quiet"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        deadline = time.monotonic() + PATIENCE_S
        while len(self.children(process)) < 3 and time.monotonic() < deadline:
            time.sleep(0.01)
        for rank in self.children(process):
            os.kill(rank, signal.SIGSTOP)
            time.sleep(0.3)
            os.kill(rank, signal.SIGCONT)
        stdout, stderr = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 0, stderr)
        self.expect_equal(alone, json.loads(stdout), 3)

    def mpi(self, library, *words, command="run", second=None, cwd=None):
        """A run by that launcher, or a reason to skip it. `second`: words of rank 1 that differ."""
        launcher = shutil.which(f"mpirun.{library}")
        plugin = pathlib.Path(ORRERY).parent / f"orrery-mpi-{library}.so"
        if launcher is None or not plugin.exists():
            self.skipTest(f"no launcher or no plugin of {library}")
        if SANITIZE:
            self.skipTest("the libraries of MPI are none of a sanitizer's")
        many = ["--oversubscribe"] if library == "openmpi" else []
        root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        ranks = ["-n", "2", ORRERY, command, *words]
        if second is not None:
            ranks = ["-n", "1", *ranks[2:], ":", "-n", "1", *second]
        return subprocess.run([launcher, *many, *ranks],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=PATIENCE_S, check=False, env=os.environ | root, cwd=cwd)

    def test_mpi_gives_the_same(self):
        alone = self.run_json(*self.MODEL, "--engine", "sequential")
        for library in ["openmpi", "mpich"]:
            with self.subTest(library=library):
                done = self.mpi(library, *self.MODEL, *self.OVER, "--json", "--quiet")
                self.assertEqual(done.returncode, 0, done.stderr)
                over = json.loads(done.stdout)
                self.expect_equal(alone, over, 2)
                self.assertIn("MPI", over["run"]["back_end"])

    def test_crashes_are_faults_under_mpi(self):
        """The libraries leave malloc and the signals of crashes to us."""
        for library in ["openmpi", "mpich"]:
            with self.subTest(library=library):
                done = self.mpi(library, ENDER, "--set", "how=segv", *self.OVER, "--quiet")
                self.assertIn("model fault in LP", done.stderr)
                self.assertIn("SIGSEGV", done.stderr)

    def test_snapshots_under_mpi(self):
        alone = self.run_json(*self.MODEL, "--engine", "sequential")
        for library in ["openmpi", "mpich"]:
            with self.subTest(library=library):
                out = self.folder / library
                done = self.mpi(library, *self.MODEL, *self.OVER, "--out", out, "--snapshot-at",
                                "5s,10s", "--end-after-snapshot", "--snapshot-check", "--quiet")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("came to the same world", done.stdout)
                done = self.mpi(library, out, *self.OVER, "--json", "--quiet", command="resume")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.expect_equal(alone, json.loads(done.stdout), 2)


class Ranks(OverRanks, Case):
    OVER = ["--engine", "conservative", "--workers", "1"]

    def test_refusals_are_one_sentence(self):
        for words, part in [([*self.MODEL, "--ranks", "0"], "--ranks can be 1 to 64"),
                            ([*self.MODEL, "--ranks", "2", "--engine", "sequential"],
                             "runs in one process"),
                            (["phold", "--ranks", "2", "--set", "lps=x"], "lps"),
                            (["phold", "--ranks", "2", "--engine", "conservative"],
                             "promise one, or use engine auto or timewarp"),
                            ([MISFIT, "--ranks", "2", "--set", "does=refuse"], "map.txt, line 7"),
                            (["nosuch", "--ranks", "2"], "there is no model")]:
            with self.subTest(words=words):
                self.refused(2, "run", *words, says=[part])

    def test_a_request_to_stop_before_the_run_waits_for_it(self):
        for moment in ["at the first rank", "at all ranks"]:
            out = self.folder / moment
            process = self.popen("run", *self.ENDLESS, *self.OVER, "--ranks", 3, "--out", out)
            ranks = 1 if moment == "at the first rank" else 3
            deadline = time.monotonic() + PATIENCE_S
            while len(self.children(process)) < ranks and time.monotonic() < deadline:
                time.sleep(0.001)
            process.send_signal(signal.SIGINT)
            _, told = process.communicate(timeout=PATIENCE_S)
            self.assertEqual(process.returncode, 130, told)
            self.assertEqual(self.report(out)["run"]["end"], "interrupted")

    def test_output_that_nobody_reads(self):
        out = self.folder / "out"
        words = [ORRERY, "run", *self.MODEL, *self.OVER, "--ranks", "2", "--quiet"]
        done = StandardOutput.shell(self, words[1:] + ["--out", out], ">&-")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("it is closed", done.stderr)
        self.assertFalse(out.exists(), "refused before the run")
        reading, writing = os.pipe()
        os.close(reading)
        # A rank that is ended while it looks for leaks would say so.
        no_leaks = os.environ | {"ASAN_OPTIONS": os.environ["ASAN_OPTIONS"] + ":detect_leaks=0"}
        with os.fdopen(writing, "w") as pipe:
            done = subprocess.run([*words, "--out", out], stdout=pipe, stderr=subprocess.PIPE,
                                  text=True, timeout=PATIENCE_S, check=False, env=no_leaks)
        self.assertEqual((done.returncode, done.stderr), (128 + signal.SIGPIPE, ""))
        self.assertTrue(self.report(out)["complete"])

    def test_ranks_go_with_their_parent(self):
        process = self.start(2)
        ranks = self.children(process)
        process.kill()
        process.communicate(timeout=PATIENCE_S)
        deadline = time.monotonic() + PATIENCE_S
        while any(self.is_alive(rank) for rank in ranks) and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertFalse([rank for rank in ranks if self.is_alive(rank)])

    def is_alive(self, pid):
        try:
            return " Z " not in pathlib.Path(f"/proc/{pid}/stat").read_text()
        except FileNotFoundError:
            return False

    def test_partitions(self):
        """Written, changed by hand, and read again; each rank has its LPs, whatever they are."""
        alone = self.run_json(*self.MODEL, "--engine", "sequential")
        file = self.folder / "parts.txt"
        over = self.run_json(*self.MODEL, *self.OVER, "--ranks", 2, "--write-partition", file)
        self.expect_equal(alone, over, 2)
        first, *parts = file.read_text().splitlines()
        self.assertEqual(first, "# rank of each of 300 LPs, 0 to 1")
        self.assertEqual({parts.count("0"), parts.count("1")}, {150})
        file.write_text("\n".join(str(int(lp % 10 == 3)) for lp in range(300)) + "\n")
        for words in [[*self.OVER, "--ranks", 2],
                      ["--engine", "conservative", "--workers", 2, "--threads", 2],
                      ["--engine", "timewarp", "--workers", 2]]:
            with self.subTest(words=words):
                ran = self.run_json(*self.MODEL, *words, "--partition", file)
                self.assertEqual(ran["run"]["fingerprint"], alone["run"]["fingerprint"])
                self.assertEqual(ran["options"]["partition"], str(file))
        self.refused(2, "run", *self.MODEL, *self.OVER, "--partition", file,
                     says=["line 4: there is no worker 1, the run has one, 0"])
        over = [*self.MODEL, *self.OVER, "--ranks", 2, "--partition"]
        self.refused(2, "run", *over, self.folder / "none", says=["cannot read it: No such file"])
        file.write_text("0\n1\n")
        self.refused(2, "run", *over, file, says=["it has 2 numbers, and the model 300 LPs"])
        # Of each process its own.
        self.refused(2, "run", *over, "/proc/self/stat",
                     says=["its partition '/proc/self/stat' differs from that of rank 0 on host "])

    def test_several_launchers_are_not_guessed(self):
        mixed = os.environ | {"OMPI_COMM_WORLD_SIZE": "2", "PMI_RANK": "0"}
        self.refused(2, "run", *self.MODEL, says=["--mpi openmpi or --mpi mpich"], env=mixed)
        openmpi = os.environ | {"OMPI_COMM_WORLD_SIZE": "2"}
        self.refused(2, "run", *self.MODEL, "--ranks", "2", says=["give one of both"], env=openmpi)
        self.refused(2, "compare", "phold", says=["runs in one process"], env=openmpi)
        self.refused(2, "run", *self.MODEL, "--mpi", "other", says=["openmpi or mpich"])

    def test_ranks_need_one_folder_for_snapshots(self):
        words = [ORRERY, "run", *self.MODEL, *self.OVER, "--snapshots", "--quiet", "--out"]
        here, elsewhere = self.folder / "here", self.folder / "elsewhere"
        elsewhere.mkdir()
        for library in ["openmpi", "mpich"]:
            for first, second, says in [(here, here, None), ("there", "there", "does not see folder"),
                                        (here, elsewhere, "what it was asked for differs")]:
                with self.subTest(library=library, second=second):
                    done = self.mpi(library, *words[2:], first, "--force", cwd=self.folder,
                                    second=["-wdir", elsewhere, *words, second, "--force"])
                    self.assertEqual(done.returncode != 0, says is not None, done.stderr)
                    self.assertIn(says or "", done.stderr)

    def test_ranks_that_differ_are_refused(self):
        words = [*self.MODEL, *self.OVER, "--quiet"]
        fewer = [word.replace("lps=300", "lps=299") for word in words]
        other = self.folder / "orrery"
        other.write_bytes(pathlib.Path(ORRERY).read_bytes() + b"another build")
        other.chmod(0o755)
        for plugin in pathlib.Path(ORRERY).parent.glob("orrery-mpi-*.so"):
            shutil.copy(plugin, self.folder)
        for library in ["openmpi", "mpich"]:
            for second, part in [([ORRERY, "run", *words, "--seed", "2"], "what it was asked for"),
                                 ([ORRERY, "run", *fewer], "what it was asked for"),
                                 ([other, "run", *words], "its build of orrery")]:
                with self.subTest(library=library, part=part):
                    done = self.mpi(library, *words, second=second)
                    self.assertEqual(done.stderr.count("orrery: "), 1, done.stderr)
                    self.assertRegex(done.stderr, f"rank 1 on host [^ ]+: {part} differs from that "
                                                  "of rank 0 on host ")
                    self.assertNotEqual(done.returncode, 0)


class AutoRanks(Case):
    """What runs over ranks without --engine."""

    MODEL = ["phold", "--until", "40s", "--set", "lps=300", "lookahead=200ms"]

    def test_tries_what_spans_ranks(self):
        alone = self.run_json(*self.MODEL, "--engine", "sequential")
        over = self.run_json(*self.MODEL, "--ranks", 2, "--workers", 2)
        self.assertEqual(over["options"]["engine"], "auto")
        self.assertEqual(over["run"]["fingerprint"], alone["run"]["fingerprint"])
        self.assertEqual(over["metrics"], alone["metrics"])
        self.assertLessEqual({one["engine"] for one in over["engines"]}, {"timewarp", "conservative"})

    def test_writes_the_partition_that_it_uses(self):
        """That of the engine that is particular about it, as --engine conservative does."""
        words = ["traffic", "--until", "5min", "--ranks", 2, "--workers", 1, "--write-partition"]
        alone, chosen = self.folder / "alone.txt", self.folder / "chosen.txt"
        self.run_ok("run", *words, alone, "--engine", "conservative", "--quiet")
        self.run_ok("run", *words, chosen, "--quiet")
        self.assertEqual(chosen.read_text(), alone.read_text())

    def test_changes_hands(self):
        words = ["phold", "--until", "400s", *self.MODEL[3:]]
        alone = self.run_json(*words, "--engine", "sequential")
        over = self.run_json(*words, "--ranks", 3, "--workers", 1, "--hand-over-every", 50)
        self.assertEqual(over["run"]["fingerprint"], alone["run"]["fingerprint"])
        self.assertGreater(over["statistics"]["hand_overs"]["value"], 0)

    def test_runs_what_only_one_of_them_can(self):
        """Without a promised delay, and where a file parts LPs that the other keeps together."""
        done = self.run_ok("run", "phold", "--until", "2s", "--set", "lps=64", "--ranks", 2, "--workers", 1)
        self.assertIn("timewarp", done.out)
        words = ["pcs", "--until", "2min", "--set", "cells=16", "handoff_delay=0s"]
        parts = self.folder / "parts.txt"
        parts.write_text("0\n1\n" * 8)
        alone = self.run_json(*words, "--engine", "sequential")
        over = self.run_json(*words, "--ranks", 2, "--workers", 1, "--partition", parts)
        self.assertEqual(over["run"]["fingerprint"], alone["run"]["fingerprint"])
        self.refused(2, "run", *words, "--ranks", 2, "--candidates", "sequential",
                     says=["it runs in one process"])


class TimeWarpRanks(OverRanks, Case):
    OVER = ["--engine", "timewarp", "--workers", "1"]

    def test_handlers_are_interrupted_under_mpi(self):
        """Its libraries leave the signal of interruptions to us, too."""
        words = ["phold", "--until", "5s", "--set", "lps=16", "work=2000000"]
        alone = self.run_json(*words, "--engine", "sequential")
        for library in ["openmpi", "mpich"]:
            with self.subTest(library=library):
                done = self.mpi(library, *words, *self.OVER, "--preempt", "both", "--json", "--quiet")
                self.assertEqual(done.returncode, 0, done.stderr)
                over = json.loads(done.stdout)
                self.expect_equal(alone, over, 2)
                self.assertGreater(over["statistics"]["interrupted"]["value"], 0)


class TwoHosts(Case):
    """Two namespaces with a cable in between, each with a network, a host name, and ranks that
    reach each other over TCP alone, as on two machines."""

    ADDRESSES = ["10.77.0.1", "10.77.0.2"]
    MODEL = ["phold", "--until", "20s", "--set", "lps=300", "lookahead=0.1s"]

    def setUp(self):
        super().setUp()
        self.names = [f"orrery{os.getpid()}{letter}" for letter in "ab"]
        self.agent = self.folder / "agent"
        if SANITIZE:
            self.skipTest("the libraries of MPI are none of a sanitizer's")
        if shutil.which("ip") is None or shutil.which("unshare") is None:
            self.skipTest("no commands ip and unshare (packages iproute2, util-linux)")
        for name in self.names:
            made = subprocess.run(["ip", "netns", "add", name], capture_output=True, check=False)
            if made.returncode != 0:
                self.skipTest(f"no network namespaces: {made.stderr.decode()}")
            self.addCleanup(subprocess.run, ["ip", "netns", "del", name], check=True)
        self.ip("link", "add", "cable", "netns", self.names[0], "type", "veth", "peer", "name", "cable",
                "netns", self.names[1])
        for name, address in zip(self.names, self.ADDRESSES):
            self.ip("-n", name, "addr", "add", f"{address}/24", "dev", "cable")
            for device in ["lo", "cable"]:
                self.ip("-n", name, "link", "set", device, "up")
        entered = subprocess.run(self.on_first_host("true"), capture_output=True, check=False)
        if entered.returncode != 0:
            self.skipTest(f"namespaces cannot be entered: {entered.stderr.decode()}")
        self.write_agent()

    def on_first_host(self, *words):
        return ["ip", "netns", "exec", self.names[0], "unshare", "--uts", "sh", "-c",
                f"hostname {self.names[0]} && exec \"$@\"", "sh", *words]

    def ip(self, *words):
        done = subprocess.run(["ip", *words], capture_output=True, check=False)
        if done.returncode != 0:
            self.skipTest(f"no cable between namespaces: {done.stderr.decode()}")

    def write_agent(self):
        """What launchers start commands on other hosts with, in place of ssh."""
        places = "".join(f"{address}) name={name};;\n"
                         for name, address in zip(self.names, self.ADDRESSES))
        self.agent.write_text("#!/bin/sh\nwhile [ \"${1#-}\" != \"$1\" ]; do shift; done\nhost=$1; shift\n"
                              f"case $host in\n{places}esac\n"
                              "exec ip netns exec $name unshare --uts sh -c \"hostname $name; $*\"\n")
        self.agent.chmod(0o755)

    def launch(self, library, *words):
        launcher = shutil.which(f"mpirun.{library}")
        if launcher is None or not (pathlib.Path(ORRERY).parent / f"orrery-mpi-{library}.so").exists():
            self.skipTest(f"no launcher or no plugin of {library}")
        hosts = ",".join(self.ADDRESSES)
        how = {"openmpi": ["--mca", "plm_rsh_agent", self.agent, "--mca", "pml", "ob1", "--mca", "btl",
                           "tcp,self", "--mca", "btl_tcp_if_include", "cable", "--mca",
                           "oob_tcp_if_include", "cable", "--oversubscribe", "--host", hosts],
               "mpich": ["-launcher", "rsh", "-launcher-exec", self.agent, "-iface", "cable",
                         "-hosts", hosts]}[library]
        root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        words = self.on_first_host(launcher, *how, "-n", "2", ORRERY, "run", *words)
        return subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=PATIENCE_S, check=False, env=os.environ | root)

    def test_give_the_same(self):
        alone = self.run_json(*self.MODEL, "--engine", "sequential")
        for library in ["openmpi", "mpich"]:
            for engine in ["timewarp", "conservative"]:
                with self.subTest(library=library, engine=engine):
                    done = self.launch(library, *self.MODEL, "--engine", engine, "--workers", "1",
                                       "--json", "--quiet")
                    self.assertEqual(done.returncode, 0, done.stderr)
                    over = json.loads(done.stdout)
                    self.assertEqual(over["run"]["fingerprint"], alone["run"]["fingerprint"])
                    self.assertEqual(over["metrics"], alone["metrics"])
                    self.assertEqual(over["run"]["hosts"], self.names)

    def test_what_fails_on_one_host_is_told_by_rank_0(self):
        """An input file that lies on the first one only."""
        seen, hidden = self.folder / "seen", self.folder / "hidden"
        for folder in [seen, hidden]:
            folder.mkdir()
        file = seen / "parts.txt"
        file.write_text("0\n1\n" * 150)
        self.agent.write_text(self.agent.read_text().replace(
            "unshare --uts sh -c \"", f"unshare --uts --mount sh -c \"mount --bind {hidden} {seen}; "))
        done = self.launch("openmpi", *self.MODEL, "--partition", file, "--engine", "timewarp",
                           "--workers", "1", "--quiet")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(f"rank 1 on host {self.names[1]}", done.stderr)


class FullDisk(Case):
    MANY_ROWS = ["--until", "3000s", "--set", "lps=200", "rows=10", "--quiet"]

    def check(self, out, says, engine, **options):
        done = Done(["run", MISFIT, "--engine", engine, "--out", out, *self.MANY_ROWS], **options)
        self.assertEqual(done.code, 2, done.err)
        self.assertRegex(done.err, r"\Aorrery: cannot write '[^\n]+\n\Z")
        self.assertIn(says, done.err)
        self.assertEqual(list(out.iterdir()) if out.exists() else [], [])

    def test_file_size_limit(self):
        def limit():
            # Ignored, the signal becomes an error of write(2).
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

        for engine in ENGINES:
            with self.subTest(engine=engine):
                self.check(self.folder / engine, "cannot write", engine, preexec_fn=limit,
                           restore_signals=False)

    def test_full_file_system(self):
        disk = self.folder / "disk"
        disk.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", disk],
                                 capture_output=True, check=False)
        if mounted.returncode != 0:
            self.skipTest("a small file system cannot be mounted here")
        self.addCleanup(subprocess.run, ["umount", disk], check=True)
        for engine in ENGINES:
            with self.subTest(engine=engine):
                self.check(disk / engine, "the disk is full", engine)


class Progress(Case):
    def watch(self, *words, **environment):
        """Runs a long run on a terminal of its own for a while; returns what it showed."""
        try:
            pid, terminal = pty.fork()
        except OSError as error:
            self.skipTest(f"no terminal can be made here: {error}")
        if pid == 0:
            os.environ.update(environment)
            os.execv(ORRERY, [ORRERY, "run", *LONG, *words])
        shown = b""
        end = time.monotonic() + 2.5
        while time.monotonic() < end:
            if select.select([terminal], [], [], 0.1)[0]:
                shown += os.read(terminal, 65536)
        os.write(terminal, b"\x03")  # Ctrl-C
        try:
            while data := os.read(terminal, 65536):
                shown += data
        except OSError:
            pass  # how a terminal says that the other side is gone
        _, status = os.waitpid(pid, 0)
        self.assertEqual(os.waitstatus_to_exitcode(status), 130)
        return shown.decode()

    def test_line_is_rewritten_on_a_terminal(self):
        shown = self.watch("--engine", "timewarp", TERM="xterm", LANG="C.UTF-8", LC_ALL="C.UTF-8")
        lines = [line for line in shown.split("\r") if "ev/s" in line]
        self.assertGreater(len(lines), 4)
        self.assertRegex(lines[-1], r"\d+ % .* ev/s .*/s .*eff \d+ % .*iB.* left")
        self.assertIn("·", lines[-1])
        self.assertIn("stopping at the next commit point", shown)
        self.assertIn("\x1b[1mphold", shown)

    def test_line_names_the_engine_of_the_moment(self):
        shown = self.watch(TERM="xterm")
        self.assertRegex(shown, r"\d+ %  .*(sequential|expanded x\d+|timewarp x\d+)  .* ev/s")

    def test_no_color_means_no_escape_codes(self):
        shown = self.watch(TERM="xterm", NO_COLOR="1", LC_ALL="C")
        self.assertNotIn("\x1b", shown)
        self.assertTrue(shown.isascii())
        self.assertIn(" ev/s", shown)

    def test_lines_where_nobody_watches(self):
        process = subprocess.Popen([ORRERY, "run", *LONG], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(6.5)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=PATIENCE_S)
        self.assertNotIn("\x1b", stderr)
        self.assertNotIn("\r", stderr)
        self.assertRegex(stderr, r"(?m)^orrery: +\d+ % .* ev/s")

    def test_quiet(self):
        process = subprocess.Popen([ORRERY, "run", *LONG, "--quiet"], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(6)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=PATIENCE_S)
        self.assertNotRegex(stderr, "ev/s")


if __name__ == "__main__":
    unittest.main(verbosity=2)
