#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A differential fuzzer: random models, engines, workers and options against the sequential engine.

All engines promise the same results to the last bit, with every option. This draws cases that no
test names, runs each as a user would, and compares exit code, fingerprint, events, metrics,
results and rows with those of the sequential engine. A run that takes more than 100 times as long
as the sequential one, and a second, is a failure too. A failure is made smaller and shown as a
command that reproduces it.

  case.py      a case and its text         subjects.py  the models and their parameters
  options.py   the options and their rules campaign.py  draws and runs
  runs.py      one run as a process        verdict.py   what differs
  shrink.py    smaller cases               expected.py  what is known to fail
"""

import argparse
import os
import pathlib
import random
import resource
import subprocess
import sys

import case as cases
import options
from campaign import COUNTING_TRIES, Campaign
from reporter import Reporter
from runs import Runner
from shrink import Trial

ROOT = pathlib.Path(__file__).resolve().parents[2]
SEED_WITHOUT_GIT = 20_260_101


def seed_of_commit():
    """A number that changes with the commit; a fixed one outside of a checkout."""
    done = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, cwd=ROOT,
                          check=False)
    if done.returncode == 0:
        return int(done.stdout[:12], 16)
    print(f"fuzz: this is no git checkout, so the seed is {SEED_WITHOUT_GIT}")
    return SEED_WITHOUT_GIT


def seed(text):
    if text == "commit":
        return seed_of_commit()
    return int(text)


def arguments():
    parser = argparse.ArgumentParser(
        prog="./dev fuzz", description="compares engines with the sequential one on random cases")
    add = parser.add_argument
    add("--minutes", type=float, default=2, metavar="N", help="how long (2)")
    add("--seed", type=seed, default=None, metavar="S",
        help="of all draws: a number, or 'commit' (drawn at random, and printed)")
    add("--case", metavar="TEXT", help="run this case, the words of 'orrery run', instead")
    add("--tries", type=int, default=COUNTING_TRIES, metavar="N",
        help=f"with --case: how often ({COUNTING_TRIES})")
    add("--cases", type=int, metavar="N", help="run about so many cases instead of --minutes")
    add("--models", type=lambda text: text.split(","), default=[], metavar="A,B",
        help="draw these models only")
    add("--jobs", type=int, default=len(os.sched_getaffinity(0)), metavar="N",
        help="cases at once (one for each core)")
    add("--shrink", dest="shrink_s", type=float, default=60, metavar="S",
        help="seconds for making one failure smaller (60); 0: show it as it is")
    add("--all-expected", action="store_true",
        help="also run the expected failures that take long")
    add("--no-expected", dest="expected", action="store_false", help="run no expected failures")
    add("--build", default="build/release", metavar="DIR", help="the build that is examined")
    return parser.parse_args()


def build_folder(text):
    """Relative to the repository where it lies in it."""
    path = pathlib.Path(text)
    if path.is_absolute() and path.is_relative_to(ROOT):
        return path.relative_to(ROOT)
    return path


def run_case(runner, reporter, settings):
    """One case, several times."""
    case = cases.parse(settings.case)
    trial = Trial(runner)
    reference = trial.reference(case)
    if not reference.ended_well():
        reporter.say(f"the sequential run ended with {reference.code}: {reference.stderr.strip()}")
        reporter.say("0 passed, 1 failed")
        return 1
    sentences, failed = set(), 0
    for _ in range(settings.tries):
        failure = trial.failure(case)
        if failure is not None:
            failed += 1
            if failure.sentence not in sentences:
                reporter.say(f"FAILED: {failure.sentence}")
            sentences.add(failure.sentence)
    reporter.say(f"it fails {failed} of {settings.tries} times\n"
                 f"{settings.tries - failed} passed, {failed} failed")
    return 1 if failed else 0


def run_campaign(runner, reporter, settings):
    problems = options.check(map(runner.flags_of, runner.engines()))
    for problem in problems:
        reporter.say(f"FAILED: {problem}")
    if settings.seed is None:
        settings.seed = random.SystemRandom().randrange(1_000_000_000)
    reporter.say(f"fuzz: seed {settings.seed}, {settings.jobs} at once; "
                 f"again with ./dev fuzz --seed {settings.seed}")
    campaign = Campaign(runner, settings, reporter)
    campaign.failed += len(problems)
    campaign.run()
    reporter.summary(campaign)
    return 1 if campaign.failed else 0


def main():
    settings = arguments()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # crashes are reported, not kept
    runner = Runner(build_folder(settings.build), ROOT)
    if not os.access(runner.orrery, os.X_OK):
        print(f"fuzz: there is no {runner.orrery}; './dev build' makes it", file=sys.stderr)
        return 2
    reporter = Reporter(runner)
    try:
        if settings.case is not None:
            return run_case(runner, reporter, settings)
        return run_campaign(runner, reporter, settings)
    except ValueError as error:
        print(f"fuzz: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nfuzz: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
