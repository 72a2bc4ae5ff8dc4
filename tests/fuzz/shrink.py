# SPDX-License-Identifier: Apache-2.0
"""Makes a case that fails smaller while it still fails in the same way.

Failures may be races: a candidate is tried several times, more often if the original fails seldom.
Time is bounded; what is found until then is what is shown.
"""

import dataclasses
import re
import time

from case import Way
from runs import allowed_s, limit_s
from verdict import judge

# What is too slow and what does not end are one failure here: nobody waits a minute for each try.
TIMES = ("no end", "slow")
PATIENCE = 1.5  # times what is allowed
MOST_TRIES = 20
FIRST_TRIES = 6


class Trial:
    """Runs cases against their references, which are run once each."""

    def __init__(self, runner):
        self.runner, self.references = runner, {}

    def reference(self, case):
        text = case.reference().text()
        if text not in self.references:
            self.references[text] = self.runner.run(case.reference())
        return self.references[text]

    def failure(self, case, limit=None):
        """How it fails this time, or None."""
        expected = self.reference(case)
        if not expected.ended_well():
            return None  # nothing to compare with
        limit = limit or limit_s(expected)
        return judge(expected, self.runner.run(case, limit), limit)

    def fails(self, case, kind):
        """Whether it fails in this way this time."""
        if kind in TIMES:
            expected = self.reference(case)
            allowed = allowed_s(expected)
            return (expected.ended_well()
                    and self.runner.run(case, PATIENCE * allowed).seconds > allowed)
        failure = self.failure(case)
        return failure is not None and failure.kind == kind


def halves(text, least):
    """A smaller number with the same unit, or None."""
    number, unit = re.fullmatch(r"(\d+)(.*)", text).groups()
    half = int(number) // 2
    return f"{half}{unit}" if half >= least else None


SIZES = ("lps", "cells", "stations", "modules", "grid")


def candidates(case):
    """Smaller cases, the most worthwhile first."""
    if case.then is not None:
        yield case.but(snapshot_at=None, then=None)
        yield case.but(then=Way("sequential"))
        for flag in case.then.options:
            rest = {f: v for f, v in case.then.options.items() if f != flag}
            yield case.but(then=dataclasses.replace(case.then, options=rest))
    for flag in case.options:
        if flag != "--livelock" or int(case.options[flag]) >= 5000:
            yield case.but(options={f: v for f, v in case.options.items() if f != flag})
    for workers in (2, 3, 4):
        if case.workers is not None and workers < case.workers:
            yield case.but(workers=workers)
    if re.fullmatch(r"\d+.*", case.until) and (until := halves(case.until, 1)):
        yield case.but(until=until)
    for name in SIZES:
        if name in case.sets and (size := halves(str(case.sets[name]), 2)):
            yield case.but(sets=case.sets | {name: size})
    for name in case.sets:
        if name not in SIZES and name not in ("kind", "bad", "network", "at"):
            yield case.but(sets={n: v for n, v in case.sets.items() if n != name})


def fails(trial, case, kind, tries, deadline):
    """Whether it fails in this way in one of some tries."""
    for _ in range(tries):
        if time.monotonic() > deadline:
            return False
        if trial.fails(case, kind):
            return True
    return False


def share(trial, case, kind, tries, deadline):
    """How often it fails: (failures, tries made)."""
    failed = made = 0
    while made < tries and (made == 0 or time.monotonic() < deadline):
        failed += trial.fails(case, kind)
        made += 1
    return failed, made


def shrink(trial, case, kind, budget_s):
    """The smallest case found within the time."""
    deadline = time.monotonic() + budget_s
    failed, made = share(trial, case, kind, FIRST_TRIES, time.monotonic() + budget_s / 4)
    tries = min(MOST_TRIES, -(-3 * made // max(failed, 1)))
    smaller = True
    while smaller and time.monotonic() < deadline:
        smaller = False
        for candidate in candidates(case):
            if fails(trial, candidate, kind, tries, deadline):
                case, smaller = candidate, True
                break
    return case
