# SPDX-License-Identifier: Apache-2.0
"""What the fuzzer prints: a status line where somebody watches, and what there is to say of each
failure, above all the one command that shows it again."""

import collections
import shlex
import sys
import time


# Of failures that look alike; the others are counted.
MOST_ALIKE = 3


class Reporter:
    def __init__(self, runner):
        self.runner = runner
        self.watched = sys.stderr.isatty()
        self.start = time.monotonic()
        self.alike = collections.Counter()

    def command(self, case):
        """What reproduces it, with one paste at the root of the repository."""
        fuzz = "./dev fuzz"
        if str(self.runner.build) != "build/release":
            fuzz = f"python3 tests/fuzz/fuzz.py --build {shlex.quote(str(self.runner.build))}"
        return f"{fuzz} --case {shlex.quote(case.text())}"

    def say(self, text):
        if self.watched:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
        print(text, flush=True)

    def progress(self, campaign):
        if not self.watched:
            return
        seconds = time.monotonic() - self.start
        print(f"\r\x1b[Kfuzz: {seconds:.0f} s, {campaign.passed} passed, {campaign.failed} failed",
              end="", file=sys.stderr, flush=True)

    def failure(self, case, failure, smaller, often):
        likeness = (case.model, case.engine, failure.kind)
        self.alike[likeness] += 1
        if self.alike[likeness] > MOST_ALIKE:
            return
        lines = [f"FAILED: {failure.sentence}"]
        if smaller != case:
            lines.append(f"  found with:   {case.text()}")
        if often is not None:
            lines += [f"  orrery run    {smaller.text()}",
                      f"  must agree:   {smaller.reference().text()}",
                      f"  it fails      {often[0]} of {often[1]} times"]
        self.say("\n".join([*lines, f"  reproduce:    {self.command(smaller)}"]))

    def expected(self, entry, failure):
        self.say(f"expected to fail: {entry.sentence} ({failure.kind})")

    def no_longer(self, entry, case):
        self.say(f"FAILED: no longer fails: remove its mark from tests/fuzz/expected.py: "
                 f"{entry.sentence}\n  the case:     {self.command(case)}")

    def summary(self, campaign):
        for (model, engine, kind), count in self.alike.items():
            if count > MOST_ALIKE:
                self.say(f"FAILED: {count - MOST_ALIKE} more of {model} on {engine}: {kind}")
        runs = ", ".join(f"{engine} {count}" for engine, count in sorted(campaign.runs_of.items()))
        self.say(f"\nruns: {runs or 'none'}; {campaign.rolled_back} of them rolled events back, "
                 f"{campaign.over_ranks} were over ranks, {campaign.resumed} went on from a snapshot")
        if campaign.expected:
            self.say(f"{campaign.expected} expected failures")
        self.say(f"{campaign.passed} passed, {campaign.failed} failed")
