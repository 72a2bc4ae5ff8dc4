# SPDX-License-Identifier: Apache-2.0
"""Whether a run agrees with the sequential one, and in one sentence how it does not."""

import dataclasses
import signal

from runs import MOST_TIMES, SLACK_S, allowed_s


@dataclasses.dataclass(frozen=True)
class Failure:
    kind: str      # what shrinking keeps: "signal 11", "slow", "fingerprint", "refused", ...
    sentence: str


def signal_name(number):
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def last_line(text):
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return lines[-1][:400] if lines else "nothing on standard error"


def shorten(value):
    text = repr(value)
    return text if len(text) < 160 else text[:157] + "..."


def first_difference(expected, actual):
    """Where two values part, as text."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        for name in [*expected, *actual]:
            if expected.get(name) != actual.get(name):
                where, text = first_difference(expected.get(name), actual.get(name))
                return f" {name}{where}", text
    if isinstance(expected, str) and isinstance(actual, str):
        expected, actual = expected.splitlines(), actual.splitlines()
    if isinstance(expected, list) and isinstance(actual, list):
        for i, (one, other) in enumerate(zip(expected, actual)):
            if one != other:
                return f", line {i + 1}" if len(expected) > 1 else "", (
                    f"{shorten(one)} sequentially, {shorten(other)} here")
        return "", f"{len(expected)} lines sequentially, {len(actual)} here"
    return "", f"{shorten(expected)} sequentially, {shorten(actual)} here"


def judge_ending(expected, actual, limit):
    if actual.code is None:
        return Failure("no end", f"it did not end within {limit:.0f} s (sequentially it took "
                                 f"{expected.seconds:.2f} s)")
    if actual.code < 0:
        name = signal_name(-actual.code)
        return Failure(name, f"it ended with {name}: {last_line(actual.stderr)}")
    if actual.code == 2:
        return Failure("refused", "it was refused, and the rules in tests/fuzz/options.py do not "
                                  f"know that: {last_line(actual.stderr)}")
    if actual.code != expected.code:
        return Failure(f"exit code {actual.code}",
                       f"exit code {actual.code} instead of {expected.code}: "
                       f"{last_line(actual.stderr)}")
    return None


def judge(expected, actual, limit):
    """None if the run agrees with the sequential one."""
    failure = judge_ending(expected, actual, limit)
    if failure is not None:
        return failure
    if "report" in actual.facts:
        return Failure("report", actual.facts["report"])
    for name in [*expected.facts, *actual.facts]:
        one, other = expected.facts.get(name), actual.facts.get(name)
        if one != other:
            where, text = first_difference(one, other)
            return Failure(name, f"{name}{where} differs: {text}")
    if expected.stderr != actual.stderr:
        _, text = first_difference(expected.stderr, actual.stderr)
        return Failure("standard error", f"standard error differs: {text}")
    return judge_time(expected, actual)


def judge_time(expected, actual):
    """Too slow is wrong: who has to wait a minute for what takes milliseconds gives up."""
    if actual.seconds <= allowed_s(expected):
        return None
    return Failure("slow", f"it took {actual.seconds:.1f} s, more than {MOST_TIMES} times the "
                           f"{expected.engine_seconds:.4f} s of the sequential run and {SLACK_S} s")
