# SPDX-License-Identifier: Apache-2.0
"""One run: `orrery.run` starts it, `Run` is what it has left.

A run always has a folder, as `orrery run --out` leaves it; without `out` it is a temporary one that
lives as long as the Run. So a table is read when it is asked for, and never twice in memory."""

import os
import pathlib
import shutil
import tempfile
import weakref

from . import _html as html, _progress as progress_lines, _words as words
from ._command import sentence_of
from ._errors import Interrupted, UsageError, error_of
from ._frames import Tables, frame_of, metrics_frame, read_report, unknown
from ._process import call

SCHEMA = 2  # of report.json; the one before is read, too
VALUE_COLUMNS = ["value", "unit", "help"]


def run(model, /, *, engine=None, until=None, seed=None, workers=None, ranks=None, out=None,
        force=False, parameters=None, options=None, progress=None, **settings):
    """Runs a model and returns a Run. docs/python.md says all; in short:

    model       a name (orrery.models()), or the path of a shared object
    until       simulated time, a timedelta or a text such as "100s", "2h"
    out         folder of the results; without it a temporary one, which goes with the Run
    force       replaces the results of an earlier run in that folder
    settings    parameters of the model (orrery.describe(model)) and further options of
                `orrery run`, such as checkpoint="copy"
    parameters, options
                the same, for names that are both or that Python does not take
    progress    False: show none

    Raises UsageError, ModelFault, SystemFailure, or Interrupted at Ctrl-C, whose `result` is what
    was committed."""
    named = {"engine": engine, "until": until, "seed": seed, "workers": workers, "ranks": ranks,
             "out": out, "force": force}
    request = words.Request(model, named, settings, options, parameters, words.RUN_OPTIONS)
    return Place(request.options, "report.json").run(["run"], request.words(), progress, Run)


class TemporaryFolder:
    """One that lives as long as this object, or the process."""

    def __init__(self):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="orrery-"))
        # Not by tempfile.TemporaryDirectory, which warns of being left to its end.
        self._end = weakref.finalize(self, _remove, self.path, os.getpid())

    def __reduce__(self):
        raise TypeError("results in a temporary folder cannot be sent to another process; give "
                        "them a folder: out=...")


def _remove(path, owner):
    if os.getpid() == owner:  # and not a fork of it
        shutil.rmtree(path, ignore_errors=True)


class Place:
    """The folder of results: the one that was asked for, or a temporary one."""

    def __init__(self, options, report):
        self.temporary, out = None, options.pop("out", None)
        if out is None:
            self.temporary = TemporaryFolder()
            out = self.temporary.path / "results"
        self._out, self._report = words.value_text(out), report
        self.folder = pathlib.Path(self._out)

    def run(self, verb, request, progress, kind):
        before = self._stamp()
        done = call([*verb, *request, f"--out={self._out}"], progress_lines.screen(progress))
        result = None
        if self._stamp() != before:
            result = kind(self.folder, self.temporary, done.lines, done.output)
        sentence = sentence_of(done.lines)
        if done.interrupts:
            if self.temporary and result is None:
                sentence = "interrupted; there is nothing to keep without out=..."
            raise Interrupted(sentence or "interrupted", code=done.code, lines=done.lines,
                              result=result)
        if done.code != 0:
            raise error_of(done.code, sentence, done.lines, result)
        if result is None:  # a study whose files are the same is written again all the same
            raise UsageError(f"the command has left no report in '{self.folder}'")
        return result

    def _stamp(self):
        """Of the report; it is renamed into place, so a new one is another file."""
        try:
            status = (self.folder / self._report).stat()
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns


class Run:
    """What a run has left. `report` is all of report.json; the rest of the properties are views."""

    def __init__(self, folder, temporary=None, lines=(), output=""):
        self.folder = pathlib.Path(folder).absolute()
        self._temporary = temporary
        self.report = read_report(self.folder / "report.json", "run",
                                  {"run", "metrics", "results", "files"}, SCHEMA)
        self.messages = list(lines)
        self.output = output
        files = [name[:-len(".csv")] for name in self.report["files"] if name.endswith(".csv")]
        series = {f"{name}.series": name for name, metric in self.report["metrics"].items()
                  if "series_interval_ticks" in metric}
        of_lps = {name: metric["of_lps"] for name, metric in self.report["metrics"].items()
                  if "of_lps" in metric}
        self.lps = Tables(self.folder, {name: one["table"] for name, one in of_lps.items()},
                          temporary, "metric of single LPs")
        self.lp_series = Tables(self.folder, {name: one["series_table"]
                                              for name, one in of_lps.items()
                                              if "series_table" in one},
                                temporary, "series of single LPs")
        others = {*series, *self.lps.files(), *self.lp_series.files()}
        self.tables = Tables(self.folder, {name: name for name in files if name not in others},
                             temporary)
        self.series = Tables(self.folder, {series[name]: name for name in files if name in series},
                             temporary, "series")

    @property
    def model(self):
        return self.report["model"]["name"]

    @property
    def parameters(self):
        """By name: value, default, type, unit."""
        return frame_of(self.report["parameters"], ["value", "default", "type", "unit"])

    @property
    def results(self):
        """What the model derived: value, unit, help. run["NAME"] is a value alone."""
        return frame_of(self.report["results"], VALUE_COLUMNS)

    @property
    def metrics(self):
        """Over all committed events: kind, unit, help, and a column for each figure that the report
        names."""
        return metrics_frame(self.report["metrics"])

    @property
    def statistics(self):
        """The engine's own figures."""
        return frame_of(self.report["statistics"], VALUE_COLUMNS)

    @property
    def complete(self):
        """Whether the run has reached its horizon."""
        return self.report["complete"]

    @property
    def fingerprint(self):
        return self.report["run"]["fingerprint"]

    @property
    def notes(self):
        return self.report["notes"]

    @property
    def seconds(self):
        """Wall-clock time."""
        return self.report["run"]["seconds"]["wall"]

    @property
    def rate(self):
        """Committed events per second."""
        return self.report["run"]["events_per_second"]

    @property
    def tick_seconds(self):
        return self.report["model"]["tick_seconds"]

    def __getitem__(self, name):
        """A result."""
        if name not in self.report["results"]:
            raise unknown("result", name, self.report["results"])
        return self.report["results"][name]["value"]

    def plot(self, table, y, x=None, by=None, ax=None, **options):
        """A column of a table over simulated time, or over the column `x`; a line for each value of
        the column `by`. Returns the axes."""
        from ._plot import plot_table
        return plot_table(self, table, y, x, by, ax, options)

    def __repr__(self):
        facts, engine = self.report["run"], self.report["options"]["engine"]
        return (f"<orrery.Run {self.model} on {engine}: {facts['end']} at {facts['reached']}, "
                f"{facts['committed']:,} events, fingerprint {self.fingerprint}>")

    def _repr_html_(self):
        return html.run_html(self)
