# SPDX-License-Identifier: Apache-2.0
"""Runs a case as a process and keeps what must be equal on all engines, and how long it took.

A time limit is of no use if it says how busy the machine was. What counts is therefore the wall
time where a run had the machine for itself. Where it had not, it is the processor time, less what
it spent waiting for threads of its own that had no core: the share of the machine that others had.
Two threads that agree with each other thousands of times take a millisecond or 3 s of wall time,
and a tenth of that or most of it in processor time, as the system lets them run side by side or
not.
"""

import dataclasses
import hashlib
import json
import os
import pathlib
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

import case
import options

# No run may take more than so many times the sequential one, and a little for its start. Nothing
# that is drawn takes a second on the sequential engine.
MOST_TIMES = 100
SLACK_S = 1
# When a run is ended by force. One that gets hardly any of a busy machine has more time, but not
# without end.
LEAST_LIMIT_S = 60
LIMIT_EXTRA_S = 10
MOST_DELAY = 3
# How a run tells its results.
TOLD = ("--json", "--quiet")
# Share of the machine that others may have had in a run that was undisturbed.
LITTLE = 0.05


@dataclasses.dataclass
class Outcome:
    code: int | None      # exit code, -signal, or None: did not end
    seconds: float        # as far as the run is to blame for them
    stderr: str
    facts: dict = dataclasses.field(default_factory=dict)  # what must be equal, by its name
    rolled_back: int = 0
    committed: int = 0
    # Without the start of the process, by its own account.
    engine_seconds: float = 0

    def ended_well(self):
        return self.code in (0, 3)


def allowed_s(reference):
    """What any run of the same model may take."""
    return MOST_TIMES * reference.engine_seconds + SLACK_S


def limit_s(reference):
    """When it is ended: late enough that a run that is only slow tells how slow."""
    return max(LEAST_LIMIT_S, allowed_s(reference) + LIMIT_EXTRA_S)


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

    def spans_ranks(self, engine):
        words = [self.orrery, "run", "null", "--set", "modules=3", "--until", "1ticks", "--quiet",
                 "--engine", engine, "--ranks", "2"]
        return subprocess.run(words, capture_output=True, check=False).returncode == 0

    def run(self, one, limit=LEAST_LIMIT_S):
        with tempfile.TemporaryDirectory(prefix="orrery-fuzz-") as folder:
            out, trace = pathlib.Path(folder) / "out", None
            if "--trace" in one.options:  # where it does not stay
                trace = os.path.join(folder, one.options["--trace"])
                one = one.but(options=one.options | {"--trace": trace})
            words = [self.orrery, "run", *one.words(), *TOLD, "--out", str(out)]
            if one.then is not None:
                words.append("--end-after-snapshot")
            code, seconds, stdout, stderr = ended(words, limit, folder, self.root)
            # A run that ends before has nothing to go on from: it has a fault, or no more events.
            if code == 0 and one.then is not None and any(out.glob("snapshots/*.json")):
                words = [self.orrery, "resume", str(out), *one.then.words(), *TOLD]
                before, said = seconds, stderr
                code, seconds, stdout, stderr = ended(words, limit, folder, self.root)
                seconds, stderr = before + seconds, said + stderr
            outcome = Outcome(code, seconds, stderr)
            if outcome.ended_well():
                keep_facts(outcome, stdout, out)
                if trace is not None:
                    outcome.facts["trace"] = committed_in(self.text_of("trace", "info", trace))
                outcome.stderr = outcome.stderr.replace(folder, "")
            return outcome


def committed_in(text):
    """Of what 'orrery trace info' says, what is to be equal: not what workers did."""
    lines = text.splitlines()
    digest = next(i for i, line in enumerate(lines) if line.startswith("digest "))
    return lines[:digest + 1]


def addresses_can_be_fixed():
    """Containers often refuse what switches chance in addresses off (Docker's default filter). Then
    LPs that hold addresses in libraries cannot travel (docs/snapshots.md)."""
    ask = ("import ctypes; p = ctypes.CDLL(None).personality; "
           "raise SystemExit(p(p(0xffffffff) | 0x40000) == -1)")
    return subprocess.run([sys.executable, "-c", ask], check=False).returncode == 0


def ended(words, limit, scratch, folder):
    """Exit code (None: killed at the limit), seconds, standard output and error."""
    output, errors = pathlib.Path(scratch) / "stdout", pathlib.Path(scratch) / "stderr"
    clock = Clock()
    with open(output, "wb") as to_output, open(errors, "wb") as to_errors:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=to_output,
                                   stderr=to_errors, cwd=folder, start_new_session=True)
    over, killed = threading.Event(), threading.Event()

    def kill():
        killed.set()
        os.killpg(process.pid, signal.SIGKILL)

    def watch():
        wait = limit
        while not over.wait(wait):
            left = limit - clock.seconds(processor_s(process.pid))
            if left <= 0 or clock.wall_s() > MOST_DELAY * limit:
                return kill()
            wait = max(left, 0.1)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        # Its number is not used again before it is waited for below: kill() hits nobody else.
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    except BaseException:  # Ctrl-C: leave no run behind
        kill()
        raise
    finally:
        over.set()
        watcher.join()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    code = None if killed.is_set() else process.returncode
    return code, clock.seconds(used.ru_utime + used.ru_stime), read(output), read(errors)


class Clock:
    """Seconds of a run since its start, as the head of this file defines them."""

    def __init__(self):
        self.start, self.machine = time.monotonic(), machine_busy_s()

    def wall_s(self):
        return time.monotonic() - self.start

    def seconds(self, processor):
        wall = self.wall_s()
        others = machine_busy_s() - self.machine - processor
        share = min(max(others, 0) / (wall * os.cpu_count()), 1)
        return wall if share < LITTLE else min(wall, processor * (1 - share))


def processor_s(pid):
    """What a process has used so far, that nobody has waited for yet."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2]
    return sum(map(int, fields.split()[11:13])) / os.sysconf("SC_CLK_TCK")


def machine_busy_s():
    """Processor time that all cores together have worked, or been withheld by a host."""
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system, _, _, irq, softirq, steal = map(int, file.readline().split()[1:9])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def keep_facts(outcome, stdout, out):
    # Numbers stay text: they are compared to the last digit.
    try:
        report = json.loads(stdout, parse_float=str, parse_int=str)
    except ValueError:
        outcome.facts["report"] = "standard output is not the report: " + stdout[:200]
        return
    run = report["run"]
    outcome.committed = int(run["committed"])
    outcome.engine_seconds = min(float(run["seconds"]["wall"]), outcome.seconds)
    rolled_back = report["statistics"].get("rolled_back", {"value": "0"})["value"]
    outcome.rolled_back = int(float(rolled_back))
    facts = {name: run.get(name) for name in ("fingerprint", "end", "fault", "committed",
                                              "reached_ticks")}
    facts["report.json"] = read(out / "report.json") == stdout
    for part in ("model", "parameters", "results", "metrics", "files"):
        facts[part] = report[part]
    if "path" in report["model"]:  # absolute where a run was resumed
        facts["model"] = report["model"] | {"path": os.path.basename(report["model"]["path"])}
    for path in sorted(out.glob("*.csv")):
        facts[path.name] = read(path)
    for path in sorted(out.glob("*.pcapng")):
        facts[path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
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
