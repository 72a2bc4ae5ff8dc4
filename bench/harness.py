# SPDX-License-Identifier: Apache-2.0
"""The code that all benchmarks share: single runs, alternating series, medians, intervals, tables, records.

Runs that are compared alternate (A B C, A B C, ...), each in a process of its own, so that a drift
of the machine's speed affects all of them equally. Two series are compared by the ratios of runs of
the same round, so drift that is slower than a round cancels. The result is the median of these
ratios with a confidence interval by order statistics: of n independent values the k-th lowest and
the k-th highest enclose the median with a probability that follows from the binomial distribution
alone, for any distribution of the values (David and Nagaraja: Order Statistics, Wiley, 2003, section
7.1). The interval is exact and needs no resampling. Fewer than six rounds cannot give 95 %; then the
interval is that from lowest to highest, printed with its confidence.
"""

import argparse
import json
import math
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build/release"
CONFIDENCE = 0.95
INTERRUPTED = 130  # exit code of a run that was stopped by the interrupt key


class Failed(Exception):
    """A run without figures; the text names the run and the reason."""


# --- single runs ----------------------------------------------------------------------------------

def launch(command, environment=None, shell=False, accepted=(0,)):
    """Runs a program to its end. Returns its output, its errors, and the resources that it used (a
    struct rusage). An exit code that is not accepted is a failure."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(command if shell else list(map(str, command)), shell=shell,
                                   stdout=out, stderr=err, env={**os.environ, **(environment or {})})
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read().decode(errors="replace"))
    if process.returncode not in accepted:
        shown = command if shell else shlex.join(map(str, command))
        raise Failed(f"{shown}\nexit status {process.returncode}: {texts[1].strip()[-2000:]}")
    return texts[0], texts[1], usage


def orrery_command(model, arguments, sets=None, build=BUILD):
    command = [str(build / "bin/orrery"), "run", str(model), "--json", "--quiet",
               *map(str, arguments)]
    for name, value in (sets or {}).items():
        command += ["--set", f"{name}={value}"]
    return command


def run_orrery(model, arguments, sets=None, build=BUILD, limit_s=None):
    """One run: the figures of its report and of the system, with the engine's statistics by name. A
    run that takes longer than `limit_s` is stopped, and its figures are those up to then."""
    command, accepted = orrery_command(model, arguments, sets, build), (0,)
    if limit_s is not None:
        command = ["timeout", "--preserve-status", "--foreground", "--signal=INT",
                   "--kill-after=60", str(limit_s), *command]
        accepted = (0, INTERRUPTED)
    out, _, usage = launch(command, accepted=accepted)
    report = json.loads(out)
    run = report["run"]
    return {
        "stopped": run["end"] == "interrupted",
        # Stopped before it began, it has no time.
        "rate": run["committed"] / run["seconds"]["loop"] if run["committed"] else 0.0,
        "committed": run["committed"],
        "seconds": run["seconds"]["loop"],
        "efficiency": run["efficiency"],
        "fingerprint": run["fingerprint"],
        "rss": run["peak_rss_bytes"],
        "start": run["seconds"]["startup"],
        "end": run["seconds"]["shutdown"],
        "switches": usage.ru_nvcsw + usage.ru_nivcsw,
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
        "periods": report.get("engines", []),
        "statistics": {name: s["value"] for name, s in report.get("statistics", {}).items()},
    }


# --- series ---------------------------------------------------------------------------------------

class Series:
    """A measured way to run: a name, a function that runs it once, and the results."""

    def __init__(self, name, run):
        self.name, self.run, self.samples, self.failures = name, run, [], []

    def measure(self):
        try:
            self.samples.append(self.run())
        except Failed as failure:
            self.failures.append(str(failure))

    def values(self, key="rate"):
        return [s[key] if key in s else s["statistics"][key] for s in self.samples
                if key in s or key in s.get("statistics", {})]

    def median(self, key="rate"):
        values = self.values(key)
        return statistics.median(values) if values else None

    def spread(self, key="rate"):
        """Lowest and highest."""
        values = self.values(key)
        return (min(values), max(values)) if values else (None, None)

    def why(self):
        """The reason why there are no samples, on a line."""
        return f"failed: {self.failures[0].splitlines()[-1]}" if self.failures else "not run"

    def record(self):
        return {"name": self.name, "samples": self.samples, "failures": self.failures}


class Progress:
    """A line on a terminal that names the present run; nothing without a terminal."""

    def __init__(self):
        self.watched = sys.stderr.isatty()

    def say(self, text):
        if self.watched:
            print(f"\r  {text}\x1b[K", end="", file=sys.stderr, flush=True)

    def clear(self):
        if self.watched:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def alternate(series, rounds, label):
    """Measures each series once a round. A series that failed is not tried again, so the n-th
    sample of every series is that of round n."""
    progress = Progress()
    for turn in range(rounds):
        for one in series:
            progress.say(f"{label}: round {turn + 1} of {rounds}, {one.name}")
            if not one.failures:
                one.measure()
    progress.clear()


def check_fingerprints(series):
    """Fails unless all runs of a workload commit the same events. Runs that were stopped are not
    compared."""
    prints = {s["fingerprint"]: one.name for one in series for s in one.samples
              if "fingerprint" in s and not s.get("stopped")}
    if len(prints) > 1:
        sys.exit("bench: fingerprints differ: " +
                 ", ".join(f"{value} ({name})" for value, name in sorted(prints.items())))


def measured(options, ways, model, arguments, label):
    """Series of the model by the ways that engines run it, all of them complete."""
    series = [Series(name, lambda way=way: run_orrery(model, [*arguments, *way], build=options.build))
              for name, way in ways.items()]
    alternate(series, options.rounds, label)
    check_fingerprints(series)
    for one in series:
        if one.failures:
            raise Failed(one.failures[0])
    return series


def length(options, model, arguments, least_seconds, engine=("--engine", "sequential")):
    """Simulated seconds, at least `least_seconds`, that take about options.seconds on that engine.
    Rates fall as models become busier, so the function repeats with longer runs until a run takes a
    third of that time."""
    until = least_seconds
    while True:
        probe = run_orrery(model, [*arguments, "--until", f"{until}s", *engine],
                           build=options.build)
        factor = options.seconds / max(probe["seconds"], 1e-4)
        if factor < 3:
            return max(least_seconds, until * factor)
        until *= min(factor, 8) / 2


# --- comparisons ----------------------------------------------------------------------------------

def order_interval(values):
    """(lowest, highest, confidence) of the narrowest interval between order statistics, symmetric
    in rank, that contains the median with at least CONFIDENCE; without such an interval, of the
    widest."""
    ordered, n = sorted(values), len(values)

    def covered(k):  # by the k-th lowest and the k-th highest
        return 1 - 2 * sum(math.comb(n, i) for i in range(k)) / 2**n

    k = max([k for k in range(1, n // 2 + 1) if covered(k) >= CONFIDENCE], default=1)
    return ordered[k - 1], ordered[n - k], max(covered(k), 0.0)


class Comparison:
    """One series over another: the median of the ratios of each round, and its interval."""

    def __init__(self, ratios):
        self.median = statistics.median(ratios)
        self.low, self.high, self.confidence = order_interval(ratios)

    def interval(self, digits=2):
        """'[1.02, 1.07]', with its confidence unless that is 95 %."""
        text = f"[{self.low:.{digits}f}, {self.high:.{digits}f}]"
        return text if self.confidence >= CONFIDENCE else f"{text} at {self.confidence:.0%}"

    def gain(self):
        """'+3.1% [+1.0, +5.2]'"""
        low, high = 100 * (self.low - 1), 100 * (self.high - 1)
        text = f"{self.median - 1:+.1%} [{low:+.1f}, {high:+.1f}]"
        return text if self.confidence >= CONFIDENCE else f"{text} at {self.confidence:.0%}"

    def record(self):
        return {"median": self.median, "low": self.low, "high": self.high,
                "confidence": self.confidence}


def compare(one, other, key="rate"):
    """The ratio one / other, or None if no round has both. For seconds, compare(b, a)."""
    if one is None or other is None:
        return None
    ratios = [a / b for a, b in zip(one.values(key), other.values(key)) if b]
    return Comparison(ratios) if ratios else None


# --- what is shown and left -----------------------------------------------------------------------

class Table:
    """Rows under headings, printed as they come. A column is (heading, width, format); the first
    column is to the left, the others to the right. A format is that of format() or a function."""

    def __init__(self, *columns):
        self.columns = columns

    def _line(self, cells):
        texts = [f"{text:{'<' if i == 0 else '>'}{width}}"
                 for i, (text, (_, width, _)) in enumerate(zip(cells, self.columns))]
        return "  " + " ".join(texts).rstrip()

    def head(self, note=""):
        print(self._line([heading for heading, _, _ in self.columns]) + note)

    def row(self, *values, note=""):
        """A value that is None leaves its cell empty."""
        cells = []
        for value, (_, _, how) in zip(values, self.columns):
            cells.append("" if value is None else how(value) if callable(how) else format(value, how))
        print(self._line(cells) + note, flush=True)

    def failed(self, one):
        print(f"  {one.name:<{self.columns[0][1]}} {one.why()}", flush=True)


def show_rate(rate):
    return f"{rate / 1e6:.2f} M/s"


def show_ratio(comparison):
    return f"{comparison.median:.2f} {comparison.interval()}"


class Bars:
    """The goals of the project beside the measured figures, met or not."""

    def __init__(self):
        self.rows = []

    def add(self, what, value, bar, unit="", at_most=False, comparison=None):
        if value is None:
            return
        met = value <= bar if at_most else value >= bar
        self.rows.append({"what": what, "measured": value, "bar": bar, "met": met, "unit": unit,
                          "at_most": at_most,
                          "comparison": comparison.record() if comparison else None,
                          "interval": comparison.interval() if comparison else ""})

    def ratio(self, what, comparison, bar, at_most=False):
        if comparison is not None:
            self.add(what, comparison.median, bar, "x", at_most, comparison)

    def show(self):
        print("\nBars (ratios: median of the rounds' ratios, [95 % interval])")
        for r in self.rows:
            sign = "<=" if r["at_most"] else ">="
            print(f"  {'met   ' if r['met'] else 'MISSED'} {r['what']:<58} {r['measured']:>9.2f} "
                  f"{r['unit']:<3} ({sign} {r['bar']:g}) {r['interval']}".rstrip())


def write_record(folder, name, record):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n")


def panels(rows, columns, width, height, **options):
    """A picture of `rows` x `columns` panels of this size in inches: (figure, grid of axes)."""
    import matplotlib  # here, since --help and tables need none

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt.subplots(rows, columns, figsize=(width * columns, height * rows), squeeze=False,
                        **options)


def save_picture(figure, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.tight_layout()
    figure.savefig(path, dpi=110)


# --- commands -------------------------------------------------------------------------------------

def numbers(kind, least=-math.inf, most=math.inf):
    """For options: 'type=numbers(int)' reads '1,2,4', all of them from `least` to `most`."""
    def read(text):
        values = [kind(word) for word in text.split(",") if word]
        for value in values:
            if not least <= value <= most:
                raise argparse.ArgumentTypeError(f"{value} is not from {least} to {most}")
        return values
    read.__name__ = f"list of {kind.__name__}"
    return read


def some_of(known):
    """For options: 'type=some_of(names)' reads 'a,b', all of them known."""
    def read(text):
        words = text.split(",")
        for word in words:
            if word not in known:
                raise argparse.ArgumentTypeError(
                    f"there is no '{word}'; there are {', '.join(known)}")
        return words
    return read


def at_least(lowest):
    """For options: an integer that is not lower."""
    def read(text):
        if int(text) < lowest:
            raise argparse.ArgumentTypeError(f"{text} is below {lowest}")
        return int(text)
    read.__name__ = "integer"
    return read


def parser(experiment, text, out, rounds, fewest=1):
    """The options that all benchmarks have."""
    made = argparse.ArgumentParser(prog=f"./dev bench {experiment}".rstrip(), description=text,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--rounds", type=at_least(fewest), default=rounds,
                      help=f"alternating rounds ({rounds})")
    made.add_argument("--out", type=Path, default=ROOT / out, help=f"folder for what is left ({out})")
    made.add_argument("--build", type=Path, default=BUILD, help="whose programs run (build/release)")
    return made


def require(options, *programs):
    """Fails unless the programs that an experiment runs are built."""
    for program in ("orrery", *programs):
        if not (options.build / "bin" / program).exists():
            sys.exit(f"bench: {options.build / 'bin' / program} is not there; ./dev build makes it")


def command(main):
    """Runs an experiment. Failures and the interrupt key end it with a sentence."""
    try:
        main()
    except Failed as failure:
        sys.exit(f"bench: {failure}")
    except KeyboardInterrupt:
        sys.exit(130)
