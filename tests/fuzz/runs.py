# SPDX-License-Identifier: Apache-2.0
"""Runs a case as a process and keeps what must be equal on all engines."""

import dataclasses
import json
import os
import pathlib
import signal
import sqlite3
import subprocess
import tempfile
import time

import case
import options

# Nothing that is drawn takes a second on the sequential engine.
LEAST_LIMIT_S = 60
LIMIT_FACTOR = 100
LIMIT_EXTRA_S = 10


@dataclasses.dataclass
class Outcome:
    code: int | None      # exit code, -signal, or None: did not end
    seconds: float
    stderr: str
    facts: dict = dataclasses.field(default_factory=dict)  # what must be equal, by its name
    rolled_back: int = 0
    committed: int = 0

    def ended_well(self):
        return self.code in (0, 3)


def limit_s(reference):
    return max(LEAST_LIMIT_S, LIMIT_FACTOR * reference.seconds + LIMIT_EXTRA_S)


class Runner:
    """Finds what a build has: the command, and the models of tests/fuzz."""

    def __init__(self, build, root):
        self.build, self.root = pathlib.Path(build), pathlib.Path(root)
        self.orrery = str(self.root / self.build / "bin" / "orrery")

    def model_path(self, model):
        """Relative to the repository where that can be, so that a case's text is short."""
        return os.path.join(self.build, "tests", "fuzz", model + ".so")

    def case(self, text):
        """The case of a text in which '{models}' is the folder of the fuzzer's models."""
        return case.parse(text.replace("{models}", os.path.dirname(self.model_path("any"))))

    def text_of(self, *words):
        return subprocess.run([self.orrery, *words], capture_output=True, text=True, check=True,
                              cwd=self.root).stdout

    def engines(self):
        """By `orrery list`: the lines below the heading 'Engines', a name each."""
        lines = iter(self.text_of("list").splitlines())
        for line in lines:
            if line.strip() == "Engines":
                break
        names = []
        for line in lines:
            if not line.startswith(" "):
                break
            names.append(line.split()[0])
        return names

    def flags_of(self, engine):
        return options.flags_of(self.text_of("describe", engine))

    def run(self, one, limit=LEAST_LIMIT_S):
        with tempfile.TemporaryDirectory(prefix="orrery-fuzz-") as folder:
            out = pathlib.Path(folder) / "out"
            words = [self.orrery, "run", *one.words(), "--json", "--quiet", "--out", str(out)]
            start = time.monotonic()
            code, stdout, stderr = ended(words, limit, self.root)
            outcome = Outcome(code, time.monotonic() - start, stderr)
            if outcome.ended_well():
                keep_facts(outcome, stdout, out)
            return outcome


def ended(words, limit, folder):
    """Exit code (None: killed at the limit), standard output and error."""
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, errors="replace", cwd=folder,
                          start_new_session=True) as process:
        try:
            stdout, stderr = process.communicate(timeout=limit)
            return process.returncode, stdout, stderr
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            stdout, stderr = process.communicate()
            return None, stdout, stderr
        except BaseException:  # Ctrl-C: leave no run behind
            os.killpg(process.pid, signal.SIGKILL)
            raise


def keep_facts(outcome, stdout, out):
    # Numbers stay text: they are compared to the last digit.
    try:
        report = json.loads(stdout, parse_float=str, parse_int=str)
    except ValueError:
        outcome.facts["report"] = "standard output is not the report: " + stdout[:200]
        return
    run = report["run"]
    outcome.committed = int(run["committed"])
    rolled_back = report["statistics"].get("rolled_back", {"value": "0"})["value"]
    outcome.rolled_back = int(float(rolled_back))
    facts = {name: run.get(name) for name in ("fingerprint", "end", "fault", "committed",
                                              "reached_ticks")}
    facts["report.json"] = read(out / "report.json") == stdout
    for part in ("model", "parameters", "results", "metrics", "files"):
        facts[part] = report[part]
    for path in sorted(out.glob("*.csv")):
        facts[path.name] = read(path)
    facts |= tables(out / "results.sqlite")
    outcome.facts = facts


def read(path):
    return path.read_bytes().decode(errors="replace") if path.exists() else None


def tables(path):
    """The rows of the model's tables; those about the run itself are named orrery_..."""
    if not path.exists():
        return {}
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
        names = [row[0] for row in database.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
        found = {f"table {name}": database.execute(f'SELECT * FROM "{name}"').fetchall()
                 for name in names if not name.startswith(("orrery_", "sqlite_"))}
    database.close()
    return found
