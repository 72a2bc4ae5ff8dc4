# SPDX-License-Identifier: Apache-2.0
"""Many runs: `orrery.sweep` makes a study, `Study` is what it has left. As with a run, there always
is a folder: one that goes on where it was stopped if `out` names it, else a temporary one."""

import contextlib
import pathlib

import pandas

from . import _html as html, _words as words
from ._errors import UnknownName
from ._frames import frame_of, read_report, read_study_table, unknown
from ._run import Place, Run

SCHEMA = 1  # of study.json


def sweep(model, /, *, seeds=None, until=None, engine=None, workers=None, jobs=None, compare=None,
          until_precision=None, max_seeds=None, confidence=None, show=None, out=None, force=False,
          parameters=None, options=None, progress=None, **settings):
    """Runs a model at all combinations of its parameters' values, each with all seeds, and returns
    a Study. docs/python.md says all; in short:

    model       as in orrery.run, or the path of a study file (.toml)
    settings, parameters
                a value, or several: a list, a range, an array; or a text as `orrery sweep` takes
                it, "10..50:10"
    seeds       of the replications of each point (1..10)
    jobs        runs at once
    compare     a parameter: differences between its values, seed by seed
    until_precision
                {"measure": 0.05}: replications until the interval is that narrow (of the mean)
    out         folder of the study; the same call goes on there after an interruption

    Raises the error of the first run that failed; its `result` is the study of the others."""
    named = {"seeds": seeds, "until": until, "engine": engine, "workers": workers, "jobs": jobs,
             "compare": compare, "max-seeds": max_seeds, "confidence": confidence, "show": show,
             "out": out, "force": force}
    request = words.Request(model, named, settings, options, parameters, words.SWEEP_OPTIONS)
    rules = [f"--until-precision={rule}" for rule in _rules(until_precision)]
    place = Place(request.options, "study.json")
    return place.run(["sweep"], request.words(several=True) + rules, progress, Study)


def _rules(wanted):
    if wanted is None or isinstance(wanted, str):
        return [wanted] if wanted else []
    if hasattr(wanted, "items"):
        return [f"{name}={words.value_text(share)}" for name, share in wanted.items()]
    return list(wanted)


class Study:
    """What a study has left. `report` is all of study.json."""

    def __init__(self, folder, temporary=None, lines=(), output=""):
        self.folder = pathlib.Path(folder).absolute()
        self._temporary = temporary
        self.report = read_report(self.folder / "study.json", "study",
                                  {"plan", "measures", "points"}, SCHEMA)
        self.messages = list(lines)
        self.output = output
        self._frames = {}

    @property
    def model(self):
        return self.report["model"]["name"]

    @property
    def parameters(self):
        """Names of those that vary."""
        return list(self.report["plan"]["parameters"])

    @property
    def measures(self):
        """Results and metrics: unit, help."""
        return frame_of(self.report["measures"], ["unit", "help"])

    @property
    def confidence(self):
        return self.report["confidence"]

    @property
    def complete(self):
        """Whether no run has failed."""
        return self.report["complete"]

    @property
    def points(self):
        """The settings of each point, by its number, and its runs."""
        rows = {one["point"]: {**one["settings"], "runs": one["runs"]}
                for one in self.report["points"]}
        frame = pandas.DataFrame.from_dict(rows, orient="index")
        for name in self.parameters:
            with contextlib.suppress(ValueError):
                frame[name] = pandas.to_numeric(frame[name])
        frame.index.name = "point"
        return frame

    @property
    def runs(self):
        """A row for each run: point, seed, what varies, fingerprint, all results and metrics."""
        return self._table("runs")

    @property
    def summary(self):
        """A row for each measure and point: n, mean, deviation, half_width, low, high,
        confidence."""
        return self._table("summary")

    @property
    def comparison(self):
        """With compare=...: a row for each measure and pair of values; else None."""
        return self._table("comparison") if "comparison" in self.report else None

    @property
    def failures(self):
        """Runs that failed: point, seed, exit_code, sentence."""
        return pandas.DataFrame(self.report["failures"],
                                columns=["point", "seed", "exit_code", "sentence"])

    @property
    def given_up(self):
        """Precisions that were not reached."""
        return pandas.DataFrame(self.report["given_up"],
                                columns=["point", "measure", "wanted", "reached"])

    def _table(self, name):
        if name not in self._frames:
            texts = ["measure", "unit", "fingerprint"]
            frame = read_study_table(self.folder / f"{name}.csv", self.parameters, texts)
            if name == "comparison":
                frame["differs"] = frame["differs"].astype(bool)
            self._frames[name] = frame
        return self._frames[name]

    def shown(self):
        """What show=... names, or the model's results that are numbers, or its metrics' means."""
        if self.report.get("shown"):
            return list(self.report["shown"])
        names = list(dict.fromkeys(self.summary["measure"]))
        results = [name for name in names if "." not in name]
        return results or [name for name in names if name.endswith(".mean")]

    def means(self, measure):
        """The rows of the summary about one measure; a metric's own name means its mean."""
        rows = self.summary[self.summary["measure"] == measure]
        if rows.empty:
            rows = self.summary[self.summary["measure"] == f"{measure}.mean"]
        if rows.empty:
            raise unknown("measure", measure, self.measures.index)
        return rows.drop(columns=["measure", "unit"]).reset_index(drop=True)

    def run(self, point, seed):
        """One of its runs."""
        folder = self.folder / "runs" / f"point-{point}" / f"seed-{seed}"
        if not (folder / "report.json").exists():
            raise UnknownName(f"there is no run of point {point} with seed {seed}; .runs has all")
        return Run(folder, temporary=self._temporary)

    def table(self, name):
        """A table of the model, of all runs one after the other, with point, seed and what
        varies."""
        return self._of_all_runs(lambda run: run.tables[name])

    def series(self, metric):
        """The time series of a metric, likewise."""
        return self._of_all_runs(lambda run: run.series[metric])

    def lps(self, metric):
        """What record="LPS.METRIC" keeps of each LP, likewise."""
        return self._of_all_runs(lambda run: run.lps[metric])

    def lp_series(self, metric):
        """What record="LPS.METRIC=TIME" keeps of each LP, likewise."""
        return self._of_all_runs(lambda run: run.lp_series[metric])

    def _of_all_runs(self, part_of):
        parts = []
        for row in self.runs[["point", "seed", *self._columns()]].to_dict("records"):
            part = part_of(self.run(row["point"], row["seed"]))
            lead = pandas.DataFrame({key: [value] * len(part) for key, value in row.items()},
                                    index=part.index)
            parts.append(pandas.concat([lead, part], axis=1))
        return pandas.concat(parts, ignore_index=True)

    def _columns(self):
        """Of the parameters; one that is called as another column is has another name there."""
        return [name for name in self.parameters if name in self.runs.columns]

    def plot(self, measure=None, x=None, ax=None):
        """The means of a measure with bands of their intervals, over the parameter `x` (the first
        one that varies), a line for each combination of the others. Returns the axes."""
        from ._plot import plot_study
        return plot_study(self, measure, x, ax)

    def __repr__(self):
        return (f"<orrery.Study of {self.model}: {len(self.points)} points, {len(self.runs)} runs"
                f"{'' if self.complete else ', some failed'}>")

    def _repr_html_(self):
        return html.study_html(self)
