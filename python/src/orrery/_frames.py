# SPDX-License-Identifier: Apache-2.0
"""DataFrames from what the command writes: objects of JSON, and the CSV files of a run's tables and
of a study, with the types that the command has given their columns rather than those that the texts
look like (a fingerprint may look like a number, and a table may be empty)."""

import csv
import difflib
import errno
import json
import pathlib
import sqlite3
import urllib.parse
from collections.abc import Mapping

import pandas

from ._errors import UnknownName, UsageError

# To the last bit; from pandas 3.1 on without being asked.
EXACTLY = {} if tuple(map(int, pandas.__version__.split(".")[:2])) >= (3, 1) else \
    {"float_precision": "round_trip"}
TYPES = {"integer": "int64", "real": "float64", "text": "object"}


def read_json(path):
    try:
        found = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"cannot read '{path}': {error.strerror}") from None
    except ValueError as error:
        raise UsageError(f"'{path}' is no whole JSON file: {error}") from None
    if not isinstance(found, dict):
        raise UsageError(f"'{path}' was not written by the orrery command")
    return found


def read_report(path, kind, keys, schema):
    """report.json or study.json, if it is one that this package knows."""
    found = read_json(path)
    if not keys | {"schema", "orrery"} <= found.keys():
        raise UsageError(f"'{path}' is not the report of an orrery {kind}")
    version = found.get("schema_version", found["schema"])
    if version > schema:
        raise UsageError(f"'{path}' has the schema {version}, this package reads {schema}; "
                         "install a newer one")
    return found


def frame_of(objects, columns=None):
    """A row for each name; a number that is not finite is null in JSON."""
    if not objects:
        return pandas.DataFrame(columns=columns).rename_axis(index="name")
    frame = pandas.DataFrame.from_dict(objects, orient="index")
    if columns:
        frame = frame.reindex(columns=columns)
    for column in frame:
        values = frame[column]
        if values.isna().any() and not any(isinstance(value, str) for value in values):
            frame[column] = values.astype("float64")
    frame.index.name = "name"
    return frame


def metrics_frame(metrics):
    """A row for each metric, and a column for each figure that some metrics have, called as in
    report.json. The columns of batch means are "batch_means.half_width" and so on, missing where
    there is no interval."""
    rows, columns = {}, []
    for name, metric in metrics.items():
        rows[name] = {key: value for key, value in metric.items()
                      if key not in ("batch_means", "figures", "of_lps")}
        if "batch_means" in metric:
            batches = metric["batch_means"] or {"half_width": None}
            rows[name].update({f"batch_means.{key}": value for key, value in batches.items()})
        columns += [key for key in rows[name] if key not in columns]
    return frame_of(rows, columns or ["kind", "unit", "help"])


def table_facts(folder):
    """By table: the types and units of its columns and how many rows it has; {} without
    the database."""
    path = pathlib.Path(folder, "results.sqlite").absolute()
    if not path.is_file():
        return {}
    facts = {}
    try:
        uri = f"file:{urllib.parse.quote(str(path))}?mode=ro&immutable=1"
        database = sqlite3.connect(uri, uri=True)
        try:
            for table, column, kind, unit in database.execute(
                    "SELECT table_name, column_name, type, unit FROM orrery_columns"):
                facts.setdefault(table, {"types": {}, "units": {}})
                facts[table]["types"][column] = TYPES.get(kind, "object")
                facts[table]["units"][column] = unit
            for table, fact in facts.items():
                quoted = table.replace('"', '""')
                # Rows are numbered as they come; counting them would read them all.
                found = database.execute(f'SELECT max(rowid) FROM "{quoted}"').fetchone()
                fact["rows"] = found[0] or 0
        finally:
            database.close()
    except sqlite3.Error as error:
        raise UsageError(f"cannot read '{path}': {error}; it was cut off or changed") from None
    return facts


def read_table(folder, name, facts):
    """One of a run's tables, complete or not at all."""
    path = pathlib.Path(folder, name + ".csv")
    fact = facts.get(name)
    require_line_end(path)
    frame = read_csv(path, **options_of(fact))
    if fact and len(frame) != fact["rows"]:
        raise UsageError(f"'{path}' has {len(frame)} rows and results.sqlite {fact['rows']}; one "
                         "of them was cut off or changed")
    if fact:
        frame.attrs["units"] = fact["units"]
    return frame


def options_of(fact):
    """How to read a table of which this is known: a text may be empty, or "None"."""
    if not fact:
        return {}
    types = fact["types"]
    if TYPES["text"] not in types.values():
        return {"dtype": types}
    numbers = [column for column in types if types[column] != TYPES["text"]]
    return {"dtype": types, "keep_default_na": False, "encoding_errors": "backslashreplace",
            "na_values": {column: ["", "nan", "-nan"] for column in numbers}}


def require_line_end(path):
    """Half of a number is a number, too."""
    try:
        with open(path, "rb") as file:
            file.seek(-1, 2)
            last = file.read()
    except OSError as error:
        last = b"\n" if error.errno != errno.EINVAL else b""  # it is not there, or it is empty
    if last != b"\n":
        raise UsageError(f"the last line of '{path}' has no end; it was cut off")


def read_csv(path, **options):
    try:
        return pandas.read_csv(path, **EXACTLY, **options)
    except OSError as error:
        raise UsageError(f"cannot read '{path}': {error.strerror}") from None
    except (ValueError, OverflowError) as error:  # of the parser, too
        raise UsageError(f"'{path}' is not what the command wrote: {error}; it was cut off or "
                         "changed") from None


def read_study_table(path, names, texts):
    """A table of a study. `names`: of parameters; their values are numbers if all are, else
    texts, and a text may be "None"; all else that is empty is missing."""
    try:
        with open(path, newline="", encoding="utf-8") as file:
            header = next(csv.reader(file), [])
    except OSError as error:
        raise UsageError(f"cannot read '{path}': {error.strerror}") from None
    return read_csv(path, keep_default_na=False,
                    na_values={column: [""] for column in header
                               if column not in {*names, *texts}},
                    dtype={column: str for column in texts if column in header})


class Tables(Mapping):
    """By name, read when they are asked for. What was read is kept. `files`: their names, without
    the ending."""

    def __init__(self, folder, files, temporary=None, kind="table"):
        self._temporary = temporary  # is there as long as its tables are wanted
        self._folder, self._files, self._kind = folder, dict(files), kind
        self._frames, self._facts = {}, None

    def __iter__(self):
        return iter(self._files)

    def __len__(self):
        return len(self._files)

    def __contains__(self, name):
        return name in self._files

    def files(self):
        return self._files.values()

    def __getitem__(self, name):
        if name not in self._files:
            raise unknown(self._kind, name, self._files)
        if name not in self._frames:
            if self._facts is None:
                self._facts = table_facts(self._folder)
            self._frames[name] = read_table(self._folder, self._files[name], self._facts)
        return self._frames[name]

    def __repr__(self):
        return f"{plural(self._kind)}: {', '.join(self._files) or 'none'}"


def plural(kind):
    return kind if kind.endswith("s") else kind + "s"


def unknown(kind, name, names):
    """The error for a name that is not there."""
    names = list(names)
    near = difflib.get_close_matches(str(name), names, 1)
    meant = f"; did you mean '{near[0]}'?" if near else ""
    return UnknownName(f"there is no {kind} '{name}'{meant} "
                       f"({plural(kind)}: {', '.join(names) or 'none'})")
