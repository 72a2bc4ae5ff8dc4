#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The package orrery of python/, seen from a user's script and compared with what the command itself
prints and leaves. Needs ORRERY, CLASH, MISFIT (the command and shared objects) and VERSION in the
environment, and the package in PYTHONPATH; ctest sets them."""

import contextlib
import datetime
import gc
import io
import json
import math
import os
import pathlib
import pickle
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import warnings

try:
    import numpy
    import pandas
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(0)

import orrery

PROGRAM = os.environ["ORRERY"]
CLASH = os.environ["CLASH"]
MISFIT = os.environ["MISFIT"]
PATIENCE_S = 120
PYTHON = pathlib.Path(orrery.__file__).resolve().parents[2]
SMALL = {"cells": 4, "inter_arrival": "20s", "until": "200s"}
SMALL_WORDS = ["pcs", "--set", "cells=4", "--set", "inter_arrival=20s", "--until", "200s"]
ENDLESS = "100000000s"


def by_hand(*words):
    return subprocess.run([PROGRAM, *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=PATIENCE_S, check=False)


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="orrery-python-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        before = os.environ["ORRERY"]
        self.addCleanup(os.environ.__setitem__, "ORRERY", before)

    def refused(self, kind, call, *says):
        with self.assertRaises(kind) as caught:
            call()
        self.assertIs(type(caught.exception), kind)
        for part in says:
            self.assertIn(part, str(caught.exception))
        return caught.exception

    def python(self, script, **options):
        """A script in a process of its own."""
        process = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
        for end in [process.stderr.close, process.stdout.close, process.wait, process.kill]:
            self.addCleanup(end)
        return process


class Command(Case):
    def test_version(self):
        self.assertEqual(orrery.__version__, os.environ["VERSION"])
        self.assertIn(f'version = "{os.environ["VERSION"]}"', (PYTHON / "pyproject.toml").read_text())

    def test_what_there_is(self):
        listed = by_hand("list").stdout
        for name, row in pandas.concat([orrery.models(), orrery.engines()]).iterrows():
            self.assertRegex(listed, rf"(?m)^  {name} +{re.escape(row.summary)}$")
        self.assertIn("checkpoint", orrery.options().index)

    def test_every_option_is_known(self):
        from orrery import _words
        for verb, own in [("run", _words.RUN_OPTIONS), ("sweep", _words.SWEEP_OPTIONS)]:
            flags = set(re.findall(r"(?m)^  (?:-h,)?--([a-z-]+)", by_hand(verb, "--help", "all").stdout))
            reserved = _words.RESERVED - ({"again", "live"} if verb == "sweep" else set())
            self.assertEqual(flags - {"seed"},
                             own | set(orrery.options().index) - {"seed"} | reserved, verb)

    def test_describe(self):
        text = by_hand("describe", "traffic").stdout
        told = orrery.describe("traffic")
        for name in [*told.parameters.index, *told.metrics.index, *told.tables]:
            self.assertRegex(text, rf"(?m)^  {name}\b")
        self.assertEqual(told.parameters.default["demand"], 1.0)
        self.assertEqual(told.tables["links"].type["volume"], "integer")
        self.assertIn("<b>traffic</b>", told._repr_html_())
        self.assertEqual(orrery.describe(pathlib.Path(CLASH)).parameters.type["flag"], "yes/no")
        self.refused(orrery.UsageError, lambda: orrery.describe("trafic"), "did you mean 'traffic'?")
        self.assertIn("--window", by_hand("describe", "timewarp").stdout)
        self.assertIn("window", orrery.describe("timewarp").options.index)
        self.refused(orrery.UsageError, lambda: orrery.run("timewarp"), "no model 'timewarp'")

    def test_where_the_command_is(self):
        self.assertEqual(orrery.command(), PROGRAM)
        os.environ["ORRERY"] = str(self.folder / "none")
        self.refused(orrery.CommandNotFound, orrery.models, "ORRERY", "names no program", "./dev build")
        os.environ["ORRERY"] = ""
        path = os.environ["PATH"]
        self.addCleanup(os.environ.__setitem__, "PATH", path)
        os.environ["PATH"] = str(self.folder)
        self.refused(orrery.CommandNotFound, lambda: orrery.run("phold"), "no command 'orrery' in PATH",
                     "orrery.command(")
        os.symlink(PROGRAM, self.folder / "orrery")
        self.assertEqual(orrery.command(), str(self.folder / "orrery"))
        self.refused(orrery.CommandNotFound, lambda: orrery.command(self.folder), "names no program")

    def stand_in(self, version):
        path = self.folder / f"orrery-{version}"
        listed = by_hand("list", "--json").stdout.replace(os.environ["VERSION"], version)
        path.write_text(f"#!/bin/sh\ncat <<'END'\n{listed}\nEND\n")
        path.chmod(0o755)
        return str(path)

    def test_another_version(self):
        os.environ["ORRERY"] = self.stand_in("7.5.0")
        with self.assertWarnsRegex(UserWarning, "is orrery 7.5.0 and this package " + orrery.__version__):
            orrery.models()
        os.environ["ORRERY"] = self.stand_in(os.environ["VERSION"] + "1")  # of the same line
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            orrery.models()

    def test_a_script_that_starts_it(self):
        path = self.folder / "orrery.sh"
        path.write_text(f'#!/bin/sh\n{PROGRAM} "$@"\nexit $?\n')
        path.chmod(0o755)
        os.environ["ORRERY"] = str(path)
        self.assertTrue(orrery.run("pcs", **SMALL).complete)

    def test_another_program(self):
        os.environ["ORRERY"] = shutil.which("true")
        self.refused(orrery.CommandNotFound, orrery.models, "is not the command orrery")


class Runs(Case):
    def test_a_run_is_that_of_the_command(self):
        run = orrery.run("pcs", **SMALL, seed=7)
        alone = json.loads(by_hand("run", *SMALL_WORDS, "--seed", "7", "--json").stdout)
        self.assertEqual(run.fingerprint, alone["run"]["fingerprint"])
        self.assertEqual(run["carried_load"], alone["results"]["carried_load"]["value"])
        self.assertEqual(dict(run.results.value), {name: one["value"]
                                                   for name, one in alone["results"].items()})
        for name, one in alone["metrics"].items():
            for field in ["count", "sum", "mean", "deviation", "minimum", "maximum", "unit", "help"]:
                if one[field] is None:
                    self.assertTrue(math.isnan(run.metrics[field][name]), (field, name))
                else:
                    self.assertEqual(run.metrics[field][name], one[field])
        self.assertEqual(run.metrics["count"].dtype, "int64")
        self.assertEqual(run.metrics["mean"].dtype, "float64")
        self.assertTrue(run.complete)
        self.assertGreater(run.seconds, 0)
        self.assertEqual(run.rate, run.report["run"]["events_per_second"])
        self.assertIn("auto", run.statistics.to_string() + repr(run))
        self.assertEqual(run.messages, [])
        self.assertIn("carried_load", run.output)

    def test_engines_and_options(self):
        runs = [orrery.run("phold", lps=64, until="20s", engine=engine, **more) for engine, more in [
            ("sequential", {}), ("timewarp", {"workers": 2, "checkpoint": "copy"}),
            ("timewarp", {"options": {"workers": 2, "no-bind": True, "gvt_period": "1ms"}}),
            ("sequential", {"no_bind": False, "pending": "heap"})]]
        self.assertEqual(len({run.fingerprint for run in runs}), 1)
        self.assertEqual([run.report["options"]["workers"] for run in runs], [0, 2, 2, 0])
        self.assertEqual(runs[1].report["options"]["checkpoint"], "copy")
        self.assertEqual([run.report["options"]["bind"] for run in runs], [True, True, False, True])
        self.assertEqual(runs[3].report["options"]["pending"], "heap")

    def test_notes(self):
        run = orrery.run("phold", lps=16, until="1s", engine="sequential", checkpoint="copy")
        self.assertIn("--checkpoint", " ".join(run.notes))
        self.assertIn("--checkpoint", run._repr_html_())

    def test_a_folder(self):
        run = orrery.run("pcs", **SMALL, out=self.folder / "out")
        self.assertTrue((self.folder / "out/results.sqlite").exists())
        again = lambda **more: orrery.run("pcs", **SMALL, out=str(self.folder / "out"), **more)
        self.refused(orrery.UsageError, again, "--force")
        self.refused(orrery.UsageError, lambda: orrery.run("pcs", **SMALL, out=""), "--out is given an empty")
        copy = pickle.loads(pickle.dumps(run))
        self.assertEqual(len(copy.tables["cells"]), 4)
        with self.assertRaisesRegex(TypeError, "out=..."):
            pickle.dumps(orrery.run("pcs", **SMALL))
        self.assertEqual(again(force=True).fingerprint, run.fingerprint)

    def test_temporary_folders_go_with_their_runs(self):
        self.addCleanup(setattr, tempfile, "tempdir", tempfile.tempdir)
        tempfile.tempdir = str(self.folder)
        tables = orrery.run("pcs", **SMALL).tables
        gc.collect()
        self.assertEqual(len(list(self.folder.iterdir())), 1)
        self.assertEqual(len(tables["cells"]), 4)
        del tables
        with self.assertRaises(orrery.UsageError):
            orrery.run("pcs", cells=-1)
        gc.collect()
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_in_a_notebook(self):
        shown = orrery.run("pcs", **SMALL)._repr_html_()
        for part in ["<b>pcs</b>", "blocking_probability", "call_duration", "tables: cells",
                     "<th>deviation</th>", "<th>sum</th>"]:
            self.assertIn(part, shown)
        shown = orrery.run(CLASH, text="<script>&", flag=True)._repr_html_()
        self.assertIn("&lt;script&gt;&amp;", shown)
        self.assertNotIn("<script>", shown)

    def test_in_threads(self):
        runs = []
        threads = [threading.Thread(target=lambda: runs.append(orrery.run("pcs", **SMALL)))
                   for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len({run.fingerprint for run in runs}), 1)
        self.assertEqual(len(runs), 3)


class Values(Case):
    def value(self, name, given):
        return orrery.run(CLASH, parameters={name: given}, until="2s").parameters.value[name]

    def test_kinds(self):
        for given in ["", " a b ", "x=y", "--out", "a,b", "ü€", "'\"\\$(x)", "0..3", "-1"]:
            self.assertEqual(self.value("text", given), given)
        self.assertEqual(self.value("text", pathlib.Path("a/b c")), "a/b c")
        for given in [True, False, numpy.bool_(True)]:
            self.assertEqual(self.value("flag", given), bool(given))
        for given in [7, numpy.int64(7), numpy.uint8(7), 7.0, numpy.float64(7)]:
            self.assertEqual(self.value("workers", given), 7)
        for given in [0.1, 1e-300, 1e300, -2.5, 3, numpy.float64(1 / 3), 2.0**60]:
            self.assertEqual(self.value("real", given), given)

    def test_durations(self):
        for given, text in [(datetime.timedelta(seconds=90), "90 s"),
                            (datetime.timedelta(days=2, microseconds=1), "172800.000001 s"),
                            (datetime.timedelta(0), "0 s"), ("250ms", "250 ms"),
                            (pandas.Timedelta(5, "ns"), "5 ns"), (numpy.timedelta64(3, "ms"), "3 ms"),
                            (datetime.timedelta(minutes=3), "3 min")]:
            with self.subTest(given=given):
                wanted = orrery.run(CLASH, span=text.replace(" ", ""), until="2s")
                self.assertEqual(self.value("span", given), wanted.parameters.value["span"])
        run = orrery.run(CLASH, until=datetime.timedelta(seconds=2.5))
        self.assertEqual(run.report["options"]["until"], "2.5 s")

    def test_what_is_no_value(self):
        for given in [None, [1, 2], object(), b"x", 1j, {"a": 1}, numpy.arange(3)]:
            self.refused(orrery.UsageError, lambda: orrery.run(CLASH, text=given))
        frame = pandas.DataFrame({"a": [0, 1], "b": [0, 1]})
        for call in [orrery.run, orrery.sweep]:
            error = self.refused(orrery.UsageError, lambda: call(CLASH, text=frame))
            self.assertTrue(str(error).startswith("text: an object of type DataFrame is no value; "), error)
        self.refused(orrery.UsageError, lambda: orrery.sweep(CLASH, text={"a": 1}), "text: {'a': 1} is no")
        self.refused(orrery.UsageError, lambda: orrery.sweep(CLASH, text=numpy.eye(2)), "text: array([1., 0.]) is no")
        self.refused(orrery.UsageError, lambda: orrery.run(CLASH, workers=2, parameters={"workers": 1}))

    def test_names_that_are_both(self):
        for name in ["workers", "checkpoint"]:
            self.refused(orrery.UsageError, lambda: orrery.run(CLASH, **{name: 1}),
                         f"'{name}' is an option of the command and a parameter of the model",
                         f"parameters={{'{name}': ...}}")
        run = orrery.run(CLASH, model="Z", parameters={"workers": 9}, options={"workers": 1})
        self.assertEqual(run["workers_twice"], 18)
        self.assertEqual(run.report["options"]["workers"], 1)
        self.assertEqual(run.parameters.value["model"], "Z")

    def test_names_that_are_there_twice(self):
        self.refused(orrery.UsageError, lambda: orrery.run("phold", lps=2, parameters={"lps": 2}),
                     "'lps' is given twice, as a keyword and in parameters={...}")
        self.refused(orrery.UsageError, lambda: orrery.run("phold", seed=2, options={"seed": 2}),
                     "'seed' is given twice", "options={...}")

    def test_names_that_are_neither(self):
        self.refused(orrery.UsageError, lambda: orrery.run("phold", lp=2), "no parameter 'lp'",
                     "did you mean 'lps'?")
        self.refused(orrery.UsageError, lambda: orrery.run("phold", engin="auto"), "option 'engine'?")
        self.refused(orrery.UsageError, lambda: orrery.run("phold", snapshot_evry="1s"),
                     "option 'snapshot_every'?")
        self.refused(orrery.UsageError, lambda: orrery.run("phold", options={"worker": 1}),
                     "no option '--worker", "'--workers'")
        for name in ["set", "json", "quiet", "live"]:
            self.refused(orrery.UsageError, lambda: orrery.run("phold", options={name: "x"}), "--" + name)
            for value in [0, True]:
                self.refused(orrery.UsageError, lambda: orrery.run("phold", **{name: value}),
                             f"option --{name} is not for use from Python", f"no parameter '{name}'")

    def test_models(self):
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(pathlib.Path(CLASH).parent)
        self.assertEqual(orrery.run(pathlib.Path("clash.so"), until="2s").model, "clash")
        for model in ["", "--help", "-x", "a=b", None, 3]:
            self.refused(orrery.UsageError, lambda: orrery.run(model), "neither the name of a model")
        self.refused(orrery.UsageError, lambda: orrery.run(self.folder / "none.so"), "none.so")


class Tables(Case):
    def test_hard_numbers(self):
        frame = orrery.run(CLASH).tables["hard"]
        self.assertEqual(list(frame.columns), ["time_ticks", "lp", "large", "value"])
        self.assertEqual(list(frame.dtypes.astype(str)), ["int64", "int64", "int64", "float64"])
        self.assertEqual(list(frame["large"]), [2**63 - 1, -2**63, 2**53 + 1, 0, 1])
        self.assertEqual(list(frame["value"])[:2], [0.1, math.inf])
        self.assertTrue(math.isnan(frame["value"][2]))
        self.assertEqual(list(frame["value"])[3:], [-5e-324, 1 / 3])
        self.assertEqual(list(frame["time_ticks"]), [10**9] * 5)
        self.assertEqual(frame.attrs["units"]["value"], "m/s")

    def test_empty(self):
        frame = orrery.run(CLASH).tables["empty"]
        self.assertEqual(len(frame), 0)
        self.assertEqual(list(frame.dtypes.astype(str)), ["int64", "int64", "int64", "float64"])

    def test_texts(self):
        frame = orrery.run(CLASH).tables["words"]
        self.assertEqual(list(frame.word), ["", "None", "NA", "nan", "1e3", "007", 'a,"b"',
                                            "two\nlines", " ", "\\xff is not UTF-8"])
        self.assertEqual(frame.value.dtype, "float64")
        self.assertEqual(list(frame.value.isna()), [True] * 9 + [False])

    def test_metrics_and_results_that_are_none(self):
        run = orrery.run(CLASH, text="7")
        self.assertEqual(list(run.metrics["count"]), [1, 0])
        self.assertEqual(run.metrics["mean"].dtype, "float64")
        self.assertIsNone(run["nothing"])
        self.assertEqual(run["said"], "7")
        self.assertEqual(orrery.run("phold", lps=4, until="1s").results.shape, (0, 3))
        with self.assertRaisesRegex(KeyError, r"\Athere is no result 'sad'; did you mean 'said'\?"):
            run["sad"]

    def test_figures_of_metrics(self):
        """All that the report has of each, and its series."""
        run = orrery.run("pcs", cells=4, until="2h", series="power=2min", batch_means="power,busy_channels")
        told = run.report["metrics"]
        for name, metric in told.items():
            for figure, value in metric.items():
                if figure not in ("batch_means", "figures") and value is not None:
                    self.assertEqual(run.metrics.loc[name, figure], value)
        half_widths = run.metrics["batch_means.half_width"]
        self.assertEqual(half_widths["power"], told["power"]["batch_means"]["half_width"])
        self.assertTrue(half_widths.drop("power").isna().all())
        self.assertIn("end of the run", run.metrics.loc["busy_channels", "no_batch_means"])
        self.assertTrue({"p50", "p99.9"} <= set(orrery.run("wireless", until="1s").metrics.columns))
        self.assertIn("power", run.series)
        self.assertEqual(len(run.series["power"]), 60)
        self.assertEqual(run.series["power"]["end_ticks"].iloc[-1], run.report["run"]["reached_ticks"])
        self.assertNotIn("power.series", run.tables)
        with self.assertRaisesRegex(KeyError, "no series 'powr'; did you mean 'power'"):
            run.series["powr"]

    def test_figures_of_single_lps(self):
        run = orrery.run("traffic", until="20min", record="node1?.trip_time=5min,*.started_trips")
        frame = run.lps["trip_time"]
        self.assertEqual(list(frame["name"]), [f"node{number}" for number in range(10, 20)])
        self.assertEqual(list(frame["lp"]), list(range(9, 19)))
        self.assertEqual(frame["count"].dtype, "int64")
        self.assertEqual(frame.attrs["units"]["mean"], "s")
        series = run.lp_series["trip_time"]
        self.assertEqual(len(series), 10 * 4)
        self.assertEqual(series.groupby("lp")["count"].sum().tolist(), frame["count"].tolist())
        self.assertEqual(run.lps["started_trips"]["sum"].sum(), run.metrics.loc["started_trips", "sum"])
        self.assertEqual((list(run.lps), list(run.lp_series)), (["trip_time", "started_trips"], ["trip_time"]))
        self.assertNotIn("lp_trip_time", run.tables)
        self.assertEqual(run.tables["orrery_lp_names"]["name"].iloc[0], "node1")
        self.assertNotIn("of_lps", run.metrics.columns)
        with self.assertRaisesRegex(KeyError, "no metric of single LPs 'trip_tim'"):
            run.lps["trip_tim"]

    def test_names(self):
        tables = orrery.run(CLASH).tables
        self.assertEqual(sorted(tables), ["empty", "hard", "words"])
        self.assertIs(tables["hard"], tables["hard"])
        with self.assertRaisesRegex(KeyError, "no table 'hart'; did you mean 'hard'"):
            tables["hart"]
        self.assertNotIn("hart", tables)

    def test_equal_to_the_database(self):
        import sqlite3
        run = orrery.run("traffic", until="10min", engine="sequential")
        with contextlib.closing(sqlite3.connect(run.folder / "results.sqlite")) as database:
            for name, frame in run.tables.items():
                stored = database.execute(f"SELECT * FROM {name}").fetchall()
                self.assertEqual([tuple(row) for row in frame.itertuples(index=False)], stored)
        self.assertGreater(len(run.tables["links"]), 70)


class Errors(Case):
    def test_usage(self):
        error = self.refused(orrery.UsageError, lambda: orrery.run("pholt"), "did you mean 'phold'?")
        self.assertEqual(error.code, 2)
        self.assertIsInstance(error, (orrery.OrreryError, ValueError))
        for wrong in [dict(lps=0), dict(until="soon"), dict(engine="timewrap"), dict(workers=0)]:
            words = [f"--set=lps=0"] if "lps" in wrong else [f"--{n}={v}" for n, v in wrong.items()]
            error = self.refused(orrery.UsageError, lambda: orrery.run("phold", **wrong))
            self.assertEqual(f"orrery: {error}\n", by_hand("run", "phold", *words).stderr)

    def test_model_fault(self):
        for progress in [None, False]:
            error = self.refused(orrery.ModelFault, lambda: orrery.run(
                MISFIT, does="throw", engine="sequential", progress=progress))
            told = by_hand("run", MISFIT, "--set=does=throw", "--engine=sequential")
            self.assertEqual(f"orrery: {error}\n", told.stderr)
            self.assertIn("the wheel came off", str(error))
            self.assertEqual(error.code, 3)
            self.assertEqual(error.result.report["run"]["end"], "fault")
            self.assertGreater(len(error.result.tables["track"]), 0)
            self.assertIn("the wheel came off", error.result._repr_html_())

    def test_a_folder_that_was_there_is_no_result(self):
        orrery.run("pcs", **SMALL, out=self.folder / "out")
        error = self.refused(orrery.UsageError,
                             lambda: orrery.run("pcs", **SMALL, out=self.folder / "out"))
        self.assertIsNone(error.result)

    def test_system_failure(self):
        script = f"""if True:
            import resource, orrery
            resource.setrlimit(resource.RLIMIT_AS, (2**31, 2**31))
            try:
                orrery.run("phold", lps=60_000_000, engine="sequential")
            except orrery.SystemFailure as error:
                print(error.code, "memory" in str(error))"""
        out, err = self.python(script).communicate(timeout=PATIENCE_S)
        self.assertEqual(out, "4 True\n", err)

    def test_killed(self):
        pids = []
        real = subprocess.Popen

        def start(*words, **options):
            process = real(*words, **options)
            pids.append(process.pid)
            threading.Timer(1, os.kill, [process.pid, signal.SIGKILL]).start()
            return process
        orrery.describe("phold")
        subprocess.Popen = start
        try:
            error = self.refused(orrery.ModelCrash, lambda: orrery.run("phold", lps=256, until=ENDLESS))
        finally:
            subprocess.Popen = real
        self.assertEqual((error.code, error.result), (137, None))

    def test_exceptions_travel(self):
        error = orrery.ModelFault("a", code=3, lines=["b"])
        copy = pickle.loads(pickle.dumps(error))
        self.assertEqual((str(copy), copy.code, copy.lines), ("a", 3, ["b"]))


class Interrupts(Case):
    def script(self, call):
        return f"""if True:
            import orrery
            orrery.describe("phold")
            print("begin", flush=True)
            try:
                {call}
            except KeyboardInterrupt as error:
                print(type(error).__name__, error.code, error.result, error.lines, flush=True)
                if error.result is not None:
                    print(error.result.report["run"]["end"], len(error.result.metrics))"""

    def descendants(self, pid):
        with contextlib.suppress(OSError):
            for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
                yield int(child)
                yield from self.descendants(child)

    def start(self, call):
        """Python's process and the number of the command's, which executes events by now."""
        process = self.python(self.script(call), start_new_session=True)
        self.assertEqual(process.stdout.readline(), "begin\n")
        deadline = time.monotonic() + PATIENCE_S
        while True:
            for child in self.descendants(process.pid):  # ranks are children of the command
                with contextlib.suppress(OSError):
                    status = pathlib.Path(f"/proc/{child}/status").read_text()
                    # It takes SIGINT from a descriptor, once it watches its run.
                    if int(re.search(r"(?m)^SigBlk:\s*(\w+)$", status)[1], 16) >> (signal.SIGINT - 1) & 1:
                        time.sleep(1)
                        return process, child
            if process.poll() is not None or time.monotonic() > deadline:
                process.kill()
                self.fail(process.communicate())
            time.sleep(0.02)

    def interrupt(self, call, times=1):
        process, _ = self.start(call)
        for _ in range(times):
            os.killpg(process.pid, signal.SIGINT)  # as terminals and notebooks do
            time.sleep(1)
        return process.communicate(timeout=PATIENCE_S)

    def test_one(self):
        for progress in [None, False]:
            out, err = self.interrupt(f"orrery.run('phold', lps=256, until='{ENDLESS}', progress={progress})")
            self.assertRegex(out, r"\AInterrupted 130 <orrery.Run phold on auto: interrupted at .*, "
                                  r"\d[\d,]* events", err)
            self.assertIn("\ninterrupted ", out)
            self.assertIn("stopping at the next commit point", err)

    def test_two(self):
        out, err = self.interrupt(f"orrery.run({MISFIT!r}, does='hang', engine='sequential')", times=2)
        self.assertRegex(out, r"\AInterrupted 130 None", err)

    def test_over_ranks(self):
        out, err = self.interrupt(f"orrery.run('phold', lps=256, until='{ENDLESS}', lookahead='100ms', ranks=2)")
        self.assertRegex(out, r"\AInterrupted 130 <orrery.Run phold on auto: interrupted at", err)

    def test_another_signal_to_the_command(self):
        process, child = self.start(f"orrery.run('phold', lps=256, until='{ENDLESS}')")
        os.kill(child, signal.SIGTERM)
        out, err = process.communicate(timeout=PATIENCE_S)
        self.assertRegex(out, r"\AInterrupted 143 <orrery.Run phold", err)

    def test_a_handler_is_left_as_it_was(self):
        before = signal.getsignal(signal.SIGINT)
        orrery.run("pcs", **SMALL)
        self.assertIs(signal.getsignal(signal.SIGINT), before)

    def test_nothing_outlives_python(self):
        process, child = self.start(f"orrery.run('phold', lps=256, until='{ENDLESS}')")
        process.kill()
        process.wait()
        deadline = time.monotonic() + PATIENCE_S
        while os.path.exists(f"/proc/{child}/exe"):
            self.assertLess(time.monotonic(), deadline, "the command goes on")
            time.sleep(0.05)

    def test_a_study_goes_on(self):
        out = self.folder / "study"
        call = (f"orrery.sweep('pcs', cells=16, channels=range(2, 9, 2), until='20000s', seeds=range(1, 6), "
                f"out='{out}')")
        process = self.python(self.script(call), start_new_session=True)
        deadline = time.monotonic() + PATIENCE_S
        while not list(out.glob("runs/*/*/report.json")):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGINT)
        told, err = process.communicate(timeout=PATIENCE_S)
        self.assertRegex(told, r"\Abegin\nInterrupted 130 None .*the same command goes on", err)
        self.refused(orrery.UsageError, lambda: orrery.load(out), "is not finished")
        study = eval(call)
        self.assertEqual(len(study.runs), 20)
        self.assertIn("runs are finished already and kept", study.messages[0])


class Progress(Case):
    CALL = "orrery.run('phold', lps=256, until='8000s', engine='sequential')"

    def in_terminal(self, call):
        try:
            ours, theirs = pty.openpty()
        except OSError as error:  # a chroot without /dev/pts
            self.skipTest(f"there is no terminal to be had: {error}")
        script = f"import orrery; orrery.describe('phold'); print({call})"
        process = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=theirs, text=True,
                                   env={**os.environ, "TERM": "xterm", "PYTHON_COLORS": "0"})
        os.close(theirs)
        shown = b""
        with contextlib.suppress(OSError):
            while data := os.read(ours, 4096):
                shown += data
        os.close(ours)
        out = process.communicate(timeout=PATIENCE_S)[0]
        return shown.decode(), out

    def test_terminal(self):
        shown, out = self.in_terminal(self.CALL)
        self.assertRegex(shown, r"\r +\d+ %.* ev/s")
        self.assertRegex(shown, r"\r +\r\Z")
        self.assertNotIn("\n", shown)
        self.assertIn("completed", out)

    def test_terminal_with_a_fault(self):
        shown, out = self.in_terminal(f"orrery.run({MISFIT!r}, does='throw')")
        self.assertIn("orrery.ModelFault: model fault in LP ", shown)
        self.assertEqual(shown.count("the wheel came off"), 1)

    def test_none(self):
        out, err = self.python(f"import orrery; {self.CALL[:-1]}, progress=False)").communicate(
            timeout=PATIENCE_S)
        self.assertEqual((out, err), ("", ""))

    def test_log(self):
        from orrery import _process, _progress
        lines, shown = [], io.StringIO()
        with contextlib.redirect_stderr(shown):
            reader = _process.Lines(_progress.Log())
            for part in [b"orrery:  12 %  se", b"q  1 M ev/s\nhel", b"lo\norrery: a\n  at x\n", b"\xc3", b"\xbc"]:
                reader.feed(part)
            lines = reader.end()
        self.assertEqual(shown.getvalue(), "orrery:  12 %  seq  1 M ev/s\nhello\nü\n")
        self.assertEqual(lines, ["hello", "orrery: a", "  at x", "ü"])

    def test_notebook(self):
        from orrery import _process, _progress
        told = []

        class Handle:
            def update(self, data, raw):
                told.append(data["text/plain"])
        screen = _progress.Notebook()
        reader = _process.Lines(screen)
        reader.feed(b"\r  1 %  early")
        screen._handle = Handle()
        reader.feed(b"\r 10 %  abc\r 20 %")
        reader.feed(b"  de\r        \rorrery: said\n")
        screen.finish()
        self.assertEqual(reader.end(), ["orrery: said"])
        self.assertIn(" 10 %  abc", told)
        self.assertIn(" 20 %  de", told)
        self.assertEqual(told[-1], "")


class Kernel(Case):
    """What a notebook's front end is told, by a kernel of its own."""

    def setUp(self):
        super().setUp()
        try:
            import ipykernel  # noqa: F401
            from jupyter_client.manager import KernelManager
        except ImportError as error:
            self.skipTest(f"{error}; apt-get install python3-nbconvert python3-ipykernel")
        manager = KernelManager(kernel_name="python3")
        manager.start_kernel(env={**os.environ, "HOME": str(self.folder), "IPYTHONDIR": str(self.folder),
                                  "PYDEVD_DISABLE_FILE_VALIDATION": "1"}, stderr=subprocess.DEVNULL)
        self.addCleanup(manager.shutdown_kernel, now=True)
        client = manager.client()
        client.start_channels()
        self.addCleanup(client.stop_channels)
        client.wait_for_ready(timeout=PATIENCE_S)
        self.manager, self.client = manager, client
        self.execute("import orrery; orrery.describe('phold').name")

    def execute(self, code, on_message=lambda kind, content: None):
        """All that the kernel says until it is idle: pairs of kind and content."""
        request, said = self.client.execute(code, stop_on_error=False), []
        while True:
            message = self.client.get_iopub_msg(timeout=PATIENCE_S)
            if message["parent_header"].get("msg_id") != request:
                continue
            kind, content = message["msg_type"], message["content"]
            if kind == "status" and content["execution_state"] == "idle":
                return said
            if kind not in ("status", "execute_input"):
                said.append((kind, content))
                on_message(kind, content)

    def test_a_short_run_shows_itself_and_no_progress(self):
        said = self.execute("orrery.run('phold', lps=16, until='1s')")
        self.assertEqual([kind for kind, _ in said], ["execute_result"])
        self.assertIn("<b>phold</b>", said[0][1]["data"]["text/html"])

    def test_progress_is_one_line_that_goes(self):
        said = self.execute("orrery.run('phold', lps=256, until='100000s', engine='sequential').complete")
        lines = [content["data"]["text/plain"] for kind, content in said if "display_data" in kind]
        self.assertEqual(said[0][0], "display_data")
        self.assertEqual({kind for kind, _ in said[1:-1]}, {"update_display_data"})
        self.assertEqual(len({content["transient"]["display_id"] for _, content in said[:-1]}), 1)
        self.assertRegex(lines[0], r"\A +\d+ %  .*ev/s")
        self.assertEqual(lines[-1], "")
        self.assertEqual(said[-1][1]["data"]["text/plain"], "True")

    def test_the_interrupt_button(self):
        interrupted = []

        def on_message(kind, content):
            if kind == "display_data":
                interrupted.append(content)
                self.manager.interrupt_kernel()
        said = self.execute(f"orrery.run('phold', lps=256, until='{ENDLESS}')", on_message)
        self.assertEqual(len(interrupted), 1)
        self.assertEqual((said[-1][0], said[-1][1]["ename"]), ("error", "Interrupted"))
        said = self.execute("import sys; print(sys.last_value.result.report['run']['end'])")
        self.assertEqual(said[-1][1]["text"], "interrupted\n")


class Studies(Case):
    GRID = {"cells": 4, "inter_arrival": datetime.timedelta(seconds=20), "until": "200s",
            "channels": range(2, 5, 2), "mobility": [True, False]}
    WORDS = [*SMALL_WORDS, "--set=channels=2..4:2", "--set=mobility=yes,no", "--seeds=1..3"]

    def test_a_study_is_that_of_the_command(self):
        ours = orrery.sweep("pcs", **self.GRID, seeds=range(1, 4), compare="mobility", out=self.folder / "a")
        self.assertEqual(by_hand("sweep", *self.WORDS, "--compare=mobility", "--quiet", "--out",
                                 self.folder / "b").returncode, 0)
        for name in ["runs.csv", "summary.csv", "comparison.csv"]:
            self.assertEqual((self.folder / "a" / name).read_bytes(), (self.folder / "b" / name).read_bytes())
        theirs = orrery.load(self.folder / "b")
        for name in ["runs", "summary", "comparison"]:
            pandas.testing.assert_frame_equal(getattr(ours, name), getattr(theirs, name))
        self.assertEqual(ours.parameters, ["channels", "mobility"])
        self.assertEqual((len(ours.runs), ours.complete, len(ours.failures)), (12, True, 0))
        self.assertEqual(list(ours.points["channels"]), [2, 2, 4, 4])
        self.assertEqual(ours.comparison["differs"].dtype, bool)
        self.assertIn("<b>pcs</b>", ours._repr_html_())

    def test_types(self):
        study = orrery.sweep("pcs", **self.GRID, seeds=[3, 2**63])
        runs = study.runs
        self.assertEqual(str(runs["channels"].dtype), "int64")
        self.assertEqual(set(runs["mobility"]), {"yes", "no"})
        self.assertTrue(all(re.fullmatch("[0-9a-f]{16}", text) for text in runs["fingerprint"]))
        self.assertEqual(set(runs["seed"]), {3, 2**63})
        self.assertEqual(runs["blocking_probability"].dtype, "float64")
        self.assertEqual(set(study.summary["unit"]) & {"", "s"}, {"", "s"})

    def test_runs_and_tables_of_a_study(self):
        study = orrery.sweep(MISFIT, rows=[0, 2], until="20s", seeds=range(1, 3))
        for row in study.runs.itertuples():
            self.assertEqual(study.run(row.point, row.seed).fingerprint, row.fingerprint)
        track = study.table("track")
        self.assertEqual(list(track.columns[:3]), ["point", "seed", "rows"])
        self.assertEqual(set(track["rows"]), {2})
        one = study.run(2, 1).tables["track"]
        pandas.testing.assert_frame_equal(track[track["seed"] == 1].reset_index(drop=True)[one.columns], one)
        with self.assertRaisesRegex(KeyError, "no run of point 9"):
            study.run(9, 1)
        with self.assertRaisesRegex(KeyError, "did you mean 'all_steps'"):
            study.means("all_step")
        self.assertEqual(len(study.means("steps")), 2)

    def test_names_that_the_tables_have(self):
        study = orrery.sweep(CLASH, parameters={"text": ["None", "NA"], "checkpoint": [1, 2]}, seeds=[1])
        self.assertEqual(list(study.runs["text"]), ["None", "None", "NA", "NA"])
        self.assertEqual(len(study.table("hard")), 20)

    def test_values(self):
        grid = dict(cells=4, inter_arrival="20s", until="50s", seeds="1..2")
        for given, texts in [("2..4:2", ["2", "4"]), (numpy.linspace(2, 4, 3), ["2", "3", "4"]),
                             (pandas.Series([5, 6]), ["5", "6"]), ((3, 2), ["3", "2"])]:
            study = orrery.sweep("pcs", **grid, channels=given)
            self.assertEqual(list(map(str, study.points["channels"])), texts)
        self.refused(orrery.UsageError, lambda: orrery.sweep("pcs", **grid, channels=[]), "list is empty")
        self.refused(orrery.UsageError, lambda: orrery.sweep(CLASH, text=["a,b", "c"]), "'a,b'", "study file")
        self.refused(orrery.UsageError, lambda: orrery.sweep("pcs", **grid, chanels=[1]), "'channels'")

    def test_seeds_are_several(self):
        for seeds in [5, numpy.int64(5)]:
            for given in [{"seeds": seeds}, {"options": {"seeds": seeds}}]:
                self.refused(orrery.UsageError, lambda: orrery.sweep("pcs", **given),
                             "seeds=5 may mean 5 seeds or the seed 5: write seeds=range(1, 6) or seeds=[5]")
        self.refused(orrery.UsageError, lambda: orrery.sweep("pcs", seeds="5"), "write 1..5 or 5..5")
        study = orrery.sweep("pcs", cells=4, until="50s", seeds=[5])
        self.assertEqual(list(study.runs["seed"]), [5])

    def test_what_is_shown(self):
        study = orrery.sweep("pcs", **SMALL, channels=[2, 4], seeds=[1, 2], show="power.mean", series="power=50s",
                             record="0.power=50s")
        self.assertEqual(study.shown(), ["power.mean"])
        self.assertEqual(len(study.series("power")), 16)
        self.assertEqual(list(study.series("power").columns[:3]), ["point", "seed", "channels"])
        self.assertEqual(list(study.lps("power")["lp"]), [0] * 4)
        self.assertEqual(len(study.lp_series("power")), 16)

    def test_precision(self):
        study = orrery.sweep("pcs", **SMALL, channels=[2, 4], until_precision={"carried_load": 0.05})
        rows = study.means("carried_load")
        self.assertTrue((rows["half_width"] <= 0.05 * rows["mean"]).all())
        study = orrery.sweep("pcs", **SMALL, until_precision="carried_load=0.0001", max_seeds=12)
        self.assertEqual(list(study.given_up["measure"]), ["carried_load"])

    def test_failures(self):
        call = lambda: orrery.sweep(MISFIT, does=["nothing", "throw"], seeds=[1, 2], until="20s",
                                    out=self.folder / "out")
        error = self.refused(orrery.ModelFault, call, "does=throw, seed 1", "the wheel came off",
                             "2 of 4 runs failed")
        self.assertEqual(len(error.result.runs), 2)
        self.assertEqual(list(error.result.failures["exit_code"]), [3, 3])
        self.assertIn("the wheel came off", error.result.failures["sentence"][0])

    def test_a_study_file(self):
        path = self.folder / "study.toml"
        path.write_text('model = "pcs"\nuntil = "200s"\nseeds = "1..2"\n[set]\ncells = 4\n'
                        'inter_arrival = "20s"\nchannels = [2, 4]\n')
        study = orrery.sweep(path, seeds=[5])
        self.assertEqual(list(study.runs["seed"]), [5, 5])

    def test_jobs_do_not_matter(self):
        a, b = [orrery.sweep("pcs", **self.GRID, seeds=[1, 2], **more) for more in
                [{"jobs": 1}, {"jobs": 3, "engine": "timewarp", "workers": 2}]]
        pandas.testing.assert_frame_equal(a.runs, b.runs)


class Folders(Case):
    def test_a_run(self):
        run = orrery.run("pcs", **SMALL, out=self.folder / "out")
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)
        again = orrery.load("out")
        os.chdir("/")
        self.assertEqual(again.report, run.report)
        pandas.testing.assert_frame_equal(again.tables["cells"], run.tables["cells"])
        self.assertEqual(str(again), str(run))

    def test_what_is_nothing(self):
        self.refused(orrery.UsageError, lambda: orrery.load(self.folder / "none"), "there is no folder")
        self.refused(orrery.UsageError, lambda: orrery.load(self.folder), "no finished run or study")
        by_hand("compare", "phold", "--set=lps=16", "--until=1s", "--engines=sequential", "--repeats=1", "--out",
                self.folder / "compared")
        self.refused(orrery.UsageError, lambda: orrery.load(self.folder / "compared"), "compare.json")

    def with_report(self, text, *says, name="report.json"):
        (self.folder / name).write_text(text)
        self.refused(orrery.UsageError, lambda: orrery.load(self.folder), name, *says)
        (self.folder / name).unlink()

    def test_reports_of_others(self):
        self.with_report("", "no whole JSON")
        self.with_report("[]", "not written by the orrery command")
        self.with_report('{"coverage": 1}', "not the report of an orrery run")
        self.with_report("{}", "not the report of an orrery study", name="study.json")
        orrery.run("pcs", **SMALL, out=self.folder / "out")
        text = (self.folder / "out/report.json").read_text()
        self.with_report(text[:len(text) // 2], "no whole JSON")
        self.with_report(text.replace('"schema_version": 2', '"schema_version": 3'), "schema 3", "newer")

    def test_schema_1(self):
        run = orrery.run("pcs", **SMALL, out=self.folder / "out")
        report = json.loads(json.dumps(run.report))
        del report["schema_version"]
        for metric in report["metrics"].values():
            del metric["kind"], metric["figures"]
        (self.folder / "out/report.json").write_text(json.dumps(report))
        frame = orrery.load(self.folder / "out").metrics
        self.assertTrue(frame.equals(run.metrics.drop(columns="kind")))

    def damaged(self, change, *says):
        folder = self.folder / "out"
        run = orrery.run(CLASH, out=folder, force=True)
        change(folder)
        self.refused(orrery.UsageError, lambda: orrery.load(folder).tables["hard"], *says)
        return run

    def test_tables_that_were_cut_off(self):
        def cut(name, share):
            def change(folder):
                os.truncate(folder / name, int(share * (folder / name).stat().st_size))
            return change
        for share in [0.3, 0.6, 0.95]:
            self.damaged(cut("hard.csv", share), "hard.csv")
        self.damaged(cut("hard.csv", 0), "hard.csv", "cut off")
        self.damaged(cut("results.sqlite", 0.5), "results.sqlite", "cut off")
        self.damaged(lambda folder: (folder / "hard.csv").unlink(), "hard.csv", "No such file")
        self.damaged(lambda folder: (folder / "hard.csv").write_text("a,b\n1,2\n"), "hard.csv")

    def test_without_the_database(self):
        orrery.run("pcs", **SMALL, out=self.folder / "out")
        wanted = orrery.load(self.folder / "out").tables["cells"]
        (self.folder / "out/results.sqlite").unlink()
        pandas.testing.assert_frame_equal(orrery.load(self.folder / "out").tables["cells"], wanted)


class Plots(Case):
    def setUp(self):
        super().setUp()
        try:
            import matplotlib  # noqa: F401
        except ImportError as error:
            self.skipTest(str(error))

    def test_of_a_run(self):
        run = orrery.run(MISFIT, until="30s")
        track = run.tables["track"]
        axes = run.plot("track", "step", by="lp")
        self.assertEqual(len(axes.lines), track["lp"].nunique())
        self.assertEqual(list(axes.lines[0].get_xdata()), list(track[track["lp"] == 0]["time_ticks"] / 1e9))
        self.assertEqual(axes.get_xlabel(), "simulated time [s]")
        self.assertIs(run.plot("track", "noise", x="step", ax=axes, linestyle="", marker="."), axes)
        with self.assertRaisesRegex(KeyError, "did you mean 'noise'"):
            run.plot("track", "nois")

    def test_of_a_study(self):
        study = orrery.sweep("pcs", **Studies.GRID, seeds=range(1, 4))
        axes = study.plot("carried_load")
        self.assertEqual([text.get_text() for text in axes.get_legend().get_texts()],
                         ["mobility = yes", "mobility = no"])
        self.assertEqual(list(axes.lines[0].get_xdata()), [2, 4])
        self.assertTrue(all(tick == int(tick) for tick in axes.get_xticks()))
        self.assertEqual(len(axes.collections), 2)
        rows = study.means("carried_load")
        self.assertEqual(list(axes.lines[1].get_ydata()), list(rows[rows["mobility"] == "no"]["mean"]))
        self.assertEqual(axes.get_ylabel(), "carried_load [Erlang]")
        study.plot("arrivals", x="mobility")
        with self.assertRaisesRegex(KeyError, "no parameter 'cells'"):
            study.plot(x="cells")

    def test_durations_and_points(self):
        study = orrery.sweep("pcs", cells=4, until="100s", seeds=[1], inter_arrival=["500ms", "20s", "1min"])
        axes = study.plot()
        self.assertEqual(list(axes.lines[0].get_xdata()), [0.5, 20, 60])
        self.assertEqual(axes.get_xlabel(), "inter_arrival [s]")
        self.assertEqual(len(orrery.sweep("pcs", **SMALL, seeds=[1, 2]).plot().lines), 1)

    def test_matplotlib_is_imported_for_plots_only(self):
        script = ("import orrery, sys; orrery.run('phold', lps=4, until='1s')._repr_html_(); "
                  "print('matplotlib' in sys.modules, 'IPython' in sys.modules)")
        self.assertEqual(self.python(script).communicate(timeout=PATIENCE_S)[0], "False False\n")


class Install(Case):
    def test_pip_installs_it(self):
        """Without network: the build needs setuptools of the system, pandas is seen from there, too."""
        if sys.prefix != sys.base_prefix:
            self.skipTest("this Python is in a virtual environment itself")
        source, home = self.folder / "python", self.folder / "venv"
        shutil.copytree(PYTHON, source, ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__"))
        try:
            import setuptools  # noqa: F401
            import wheel  # noqa: F401
            subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", home], check=True,
                           capture_output=True, timeout=PATIENCE_S)
        except (ImportError, subprocess.CalledProcessError) as error:
            self.skipTest(f"packages python3-venv, python3-setuptools and python3-wheel are needed: {error}")
        done = subprocess.run([home / "bin/pip", "install", "--no-index", "--no-build-isolation", "--no-deps",
                               "--disable-pip-version-check", source], capture_output=True, text=True,
                              timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        script = "import orrery; print(orrery.__file__, orrery.run('phold', lps=4, until='1s').complete)"
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        done = subprocess.run([home / "bin/python", "-W", "error", "-c", script], capture_output=True, text=True,
                              timeout=PATIENCE_S, check=False, env=environment, cwd=self.folder)
        self.assertRegex(done.stdout, rf"\A{home}/lib/.*/orrery/__init__.py True\n\Z", done.stderr)
        shown = subprocess.run([home / "bin/pip", "show", "orrery"], capture_output=True, text=True, check=True)
        self.assertIn(f"Version: {orrery.__version__}\n", shown.stdout)


@unittest.skipUnless("lab" in by_hand("list").stdout, "this build has no model 'lab'")
class Laboratory(Case):
    GRAPH = """<?xml version="1.0"?><graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key attr.name="label" for="node" id="a"/><key attr.name="Latitude" for="node" id="b"/>
<key attr.name="Longitude" for="node" id="c"/><key attr.name="LinkSpeedRaw" for="edge" id="d"/>
<graph edgedefault="undirected">
<node id="0"><data key="a">New York</data><data key="b">40.7</data><data key="c">-74</data></node>
<node id="1"><data key="a">New York</data><data key="b">40.7</data><data key="c">-74</data></node>
<node id="2"><data key="a">Zürich</data><data key="b">47.4</data><data key="c">8.5</data></node>
<node id="3"/>
<edge source="0" target="1"/><edge source="1" target="2"><data key="d">1000000000.0</data></edge>
<edge source="2" target="3"/></graph></graphml>"""

    def test_a_topology_has_what_it_was_given(self):
        from orrery.lab import Topology
        made = Topology()
        made.link("a", "s", addresses=["10.0.0.1/24", ""], delay="1ms", loss=0.5, reorder=True)
        (self.folder / "tool").write_text("")
        made.host("a", ["echo \"it's\\t\\ me\"", {"at": "1s", "command": "true", "user": "nobody"}],
                  clock={"drift": "1 ppm"}, files={"/x y": self.folder / "tool"}, setup=["a\nb", "\x7f"])
        made.switch("s", latency="1us")
        made.event("2s", link=["a", "s"], up=False)
        run = made.run(check=True)
        self.assertEqual((run["hosts"], run["switches"]), (1, 1))
        made.host("a")
        with self.assertRaisesRegex(orrery.UsageError, "there are two nodes 'a'"):
            made.run(check=True)

    def test_graphml(self):
        from orrery import lab
        path = self.folder / "zoo.graphml"
        path.write_text(self.GRAPH, encoding="utf-8")
        made = lab.from_graphml(path)
        self.assertEqual(made.run(check=True)["hosts"], 4)
        text = made.text()
        for line in ('name = "New-York-2"', 'name = "Z-rich"', 'delay = "1000ns"', 'delay = "1ms"',
                     'rate = "1000000000 bit/s"', 'command = "/lab/olsrd eth0 eth1"',
                     'addresses = ["10.0.0.5/30", "10.0.0.6/30"]'):
            self.assertIn(line, text)
        delay = int(re.search(r'"New-York-2", "Z-rich"\]\n.*\ndelay = "(\d+)ns"', text)[1])
        self.assertAlmostEqual(delay / 1e6, 6320 / 200, delta=0.2)  # New York - Zurich: 6320 km
        path.write_text(self.GRAPH.replace('target="3"', 'target="4"'), encoding="utf-8")
        done = subprocess.run([sys.executable, "-m", "orrery.lab", path], capture_output=True, text=True,
                              timeout=PATIENCE_S, check=False)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("one of them is no node", done.stderr)

    def test_kathara(self):
        from orrery import lab
        (self.folder / "lab.conf").write_text("""LAB_DESCRIPTION="a lab"
r1[0]="A"
r1[1]="B"   # to the others
r1[image]="kathara/frr"
pc1[0]='A/00:00:00:00:00:01'
pc2[0]=B
pc3[0]=B
""")
        (self.folder / "pc1.startup").write_text("ip address add 10.0.0.1/24 dev eth0\nfor i in 1 2; do\n  echo $i\ndone\n")
        (self.folder / "pc1/etc").mkdir(parents=True)
        (self.folder / "pc1/etc/motd").write_text("hello\n")
        made = lab.from_kathara(self.folder)
        run = made.run(check=True)
        self.assertEqual((run["hosts"], run["switches"]), (4, 1))
        text = made.text()
        self.assertLess(text.index('between = ["r1", "pc1"]'), text.index('between = ["r1", "B"]'))
        self.assertIn('"/etc/motd" = ', text)
        self.assertIn("for i in 1 2; do\\n  echo $i\\ndone", text)
        (self.folder / "lab.conf").write_text("a[0]=X\nb[0]=Y\na[1]=Y\nb[1]=X\n")
        with self.assertRaisesRegex(orrery.UsageError, "no order of the links"):
            lab.from_kathara(self.folder)
        (self.folder / "lab.conf").write_text("a[1]=X\n")
        with self.assertRaisesRegex(orrery.UsageError, "are not 0, 1, 2"):
            lab.from_kathara(self.folder)


if __name__ == "__main__":
    unittest.main()
