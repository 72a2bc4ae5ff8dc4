# SPDX-License-Identifier: Apache-2.0
"""Draws cases and runs them, several at once, until the time is over.

All draws of group number i follow from the seed and i alone, so a seed means the same cases however
fast the machine is. A group is one model with parameters and a seed: it is run sequentially once,
then in several other ways. A run that seems too slow is judged at the end, when it can have the
machine for itself.
"""

import collections
import concurrent.futures
import dataclasses
import itertools
import random
import threading
import time

import expected
import options
import subjects
from case import OF_THE_REFERENCE, Case, Way
from runs import addresses_can_be_fixed, limit_s
from shrink import Trial, share, shrink
from verdict import Failure, judge

VARIANTS = 5
# How often an engine is drawn; one that is not named here, as often as `OTHERS`.
ENGINE_WEIGHTS = {"sequential": 1, "timewarp": 8, "expanded": 4, "conservative": 8, "checker": 2, "auto": 4}
OTHERS = 6
WORKERS = (1, 2, 2, 2, 3, 3, 3, 4, 4, 5, 6, 7, 8)
# Processes, and threads in each: there are two cores or so for all of them.
RANKS, RANKS_SHARE, WORKERS_OF_A_RANK = (1, 2, 2, 3, 3, 4), 0.25, (1, 1, 2, 3)
SNAPSHOTS_SHARE = 0.15
# Of a model in which wrong guesses breed: on the engine that guesses, with little memory.
BREEDING_WORKERS = (2, 3, 4, 6, 8, 12, 16)
BREEDING_SHARE, LITTLE_MEMORY_SHARE = 0.8, 0.7
# The checker executes everything several times: only for runs up to so many events.
MOST_CHECKED = 4_000
MOST_SHRUNK = 4
COUNTING_TRIES = 20
COUNTING_S = 30
SUSPECT_TRIES = 2


class Campaign:
    def __init__(self, runner, settings, reporter):
        self.runner, self.settings, self.reporter = runner, settings, reporter
        self.trial = Trial(runner)
        self.engines = runner.engines()
        self.uses = {engine: runner.flags_of(engine) for engine in self.engines}
        self.spanning = {engine for engine in self.engines if runner.spans_ranks(engine)}
        self.fixed = addresses_can_be_fixed()
        hidden = expected.hidden()
        self.kinds = {s.model: subjects.kinds_of(runner, s, hidden)
                      for s in subjects.SUBJECTS if s.draw is subjects.nasty}
        self.lock = threading.Lock()
        self.passed = self.failed = self.expected = 0
        self.runs_of = collections.Counter()
        self.rolled_back = self.over_ranks = self.resumed = 0
        self.shrunk = set()
        self.suspects = []  # (case, failure): seems too slow
        self.end = time.monotonic() + 60 * settings.minutes
        self.stopped = False

    # --- draws ------------------------------------------------------------------------------------

    def draw_subject(self, rng):
        asked = self.settings.models
        weights = [s.model in asked if asked else s.weight for s in subjects.SUBJECTS]
        subject = rng.choices(subjects.SUBJECTS, weights)[0]
        drawn = subject.draw(rng, self.kinds.get(subject.model, ()))
        drawn = dataclasses.replace(
            drawn, options=drawn.options | subjects.observed(rng, subject, drawn)
            | subjects.traced(rng))
        model = self.runner.model_path(subject.model) if subject.loaded else subject.model
        case = Case(model, drawn.sets, f"{drawn.until_ticks}ticks", rng.randrange(1_000_000),
                    "sequential", None, drawn.options)
        return subject, drawn, case

    def draw_variant(self, rng, subject, drawn, case, committed):
        breeds = drawn.breeds and rng.random() < BREEDING_SHARE
        engine = "timewarp" if breeds else self.draw_engine(rng, drawn, committed)
        way = self.draw_way(rng, engine, subject, drawn, committed, breeds)
        variant = case.but(engine=way.engine, workers=way.workers,
                           options=drawn.options | way.options)
        if rng.random() < SNAPSHOTS_SHARE and self.travels(subject, drawn, variant):
            variant = self.draw_snapshot(rng, subject, drawn, variant, committed)
        return variant.but(options=drawn.options) if expected.avoided(variant) else variant

    def draw_way(self, rng, engine, subject, drawn, committed, breeds=False):
        place = options.Place(engine, self.uses[engine], drawn.until_ticks, subject.reversible,
                              subject.small_requests, drawn.commits, drawn.state_bytes,
                              committed)
        chosen = options.draw(rng, place, rng.choice((0, 0.1) if breeds else (0, 0.1, 0.3, 0.6)))
        if breeds and rng.random() < LITTLE_MEMORY_SHARE:
            chosen |= options.little_memory(rng)
        workers = rng.choice(BREEDING_WORKERS if breeds else WORKERS)
        if engine in self.spanning and not breeds and rng.random() < RANKS_SHARE:
            # An LP that must not roll back may cost a round an event, and guesses that breed wait
            # for rounds, too, which takes its time where processes share a core.
            rounds = drawn.sets.get("held") == "yes" or drawn.breeds
            chosen["--ranks"] = str(2 if rounds else rng.choice(RANKS))
            workers = 1 if rounds else rng.choice(WORKERS_OF_A_RANK)
            chosen = options.agree(chosen)
        return Way(engine, workers if "--workers" in place.uses else None, chosen)

    def travels(self, subject, drawn, variant):
        """Whether a snapshot can be taken of it and resumed. The LPs of the fuzzer's models hold
        addresses in libraries."""
        stays = {"confined", "committed"} & drawn.sets.keys() or drawn.sets.get("held") == "yes"
        may_end_before = "--stop-when" in drawn.options
        # That of a resumed run begins with it.
        is_traced = "--trace" in drawn.options
        return (variant.engine != "checker" and not stays and not may_end_before and not is_traced
                and (self.fixed or not subject.loaded))

    def draw_snapshot(self, rng, subject, drawn, variant, committed):
        """From it on, any engine that fits."""
        engine = variant.engine
        while engine == variant.engine or engine == "checker":
            engine = self.draw_engine(rng, drawn, committed)
        then = self.draw_way(rng, engine, subject, drawn, committed)
        at = max(1, int(drawn.until_ticks * rng.random()))
        own = {f: v for f, v in then.options.items() if f not in OF_THE_REFERENCE}
        return variant.but(snapshot_at=f"{at}ticks", then=Way(then.engine, then.workers, own))

    def draw_engine(self, rng, drawn, committed):
        fits = {"checker": committed <= MOST_CHECKED and "--stop-when" not in drawn.options,
                "conservative": drawn.promises}
        names = [e for e in self.engines if fits.get(e, True)]
        return rng.choices(names, [ENGINE_WEIGHTS.get(e, OTHERS) for e in names])[0]

    # --- runs -------------------------------------------------------------------------------------

    def over(self):
        late = self.settings.cases is None and time.monotonic() > self.end
        return late or self.stopped

    def run_group(self, index):
        if self.over():
            return
        rng = random.Random(f"{self.settings.seed}/{index}")
        subject, drawn, case = self.draw_subject(rng)
        reference = self.runner.run(case)
        if not reference.ended_well():
            self.count_failure(case, judge(reference, reference, 60) or Failure(
                "reference", f"the sequential engine ended with {reference.code}"))
            return
        for _ in range(VARIANTS):
            variant = self.draw_variant(rng, subject, drawn, case, reference.committed)
            if self.over():
                return
            self.run_variant(variant, reference)

    def run_variant(self, case, reference):
        limit = limit_s(reference)
        outcome = self.runner.run(case, limit)
        failure = judge(reference, outcome, limit)
        suspect = failure is not None and failure.kind == "slow"
        with self.lock:
            self.runs_of[case.engine] += 1
            self.over_ranks += "--ranks" in case.options
            self.resumed += case.then is not None
            self.rolled_back += outcome.rolled_back > 0
            self.passed += failure is None
            if suspect:
                self.suspects.append((case, failure))
            self.reporter.progress(self)
        if failure is not None and not suspect:
            self.count_failure(case, failure)

    def judge_suspects(self):
        """Nothing else runs now. Of those that look alike, the first is the one to be convicted."""
        convicted = set()
        for case, failure in self.suspects:
            alike = (case.model, case.engine)
            if alike in convicted or all(self.trial.failure(case) is not None
                                         for _ in range(SUSPECT_TRIES)):
                convicted.add(alike)
                self.count_failure(case, failure)
            else:
                self.passed += 1

    def count_failure(self, case, failure):
        """Shows it; the first of its kind is shrunk."""
        with self.lock:
            self.failed += 1
            known = (case.model, case.engine, failure.kind) in self.shrunk
            wanted = not known and len(self.shrunk) < MOST_SHRUNK and self.settings.shrink_s > 0
            if wanted:
                self.shrunk.add((case.model, case.engine, failure.kind))
        smaller, often = case, None
        if wanted and failure.kind not in ("refused", "reference"):
            smaller = shrink(self.trial, case, failure.kind, self.settings.shrink_s)
            often = share(self.trial, smaller, failure.kind, COUNTING_TRIES,
                          time.monotonic() + COUNTING_S)
        with self.lock:
            self.reporter.failure(case, failure, smaller, often)

    def run_expected(self, entry):
        case = self.runner.case(entry.case)
        failure = None
        for _ in range(entry.tries):
            failure = failure or self.trial.failure(case, entry.limit_s)
        with self.lock:
            if failure is not None and failure.kind != "refused":
                self.expected += 1
                self.reporter.expected(entry, failure)
            else:
                self.failed += 1
                self.reporter.no_longer(entry, case)
            self.reporter.progress(self)

    def expected_entries(self):
        rng = random.Random(f"{self.settings.seed}/expected")
        seldom = self.settings.all_expected or rng.random() < 0.05
        return [e for e in expected.EXPECTED if seldom or not e.seldom]

    def groups(self):
        if self.settings.cases is None:
            return itertools.count()
        return iter(range(-(-self.settings.cases // VARIANTS)))

    def run(self):
        with concurrent.futures.ThreadPoolExecutor(self.settings.jobs) as pool:
            try:
                self.run_all(pool)
            except BaseException:  # also Ctrl-C: what runs by now ends, nothing new begins
                self.stopped = True
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        self.judge_suspects()

    def run_all(self, pool):
        waiting = set()
        if self.settings.expected:
            waiting = {pool.submit(self.run_expected, e) for e in self.expected_entries()}
        for index in self.groups():
            while len(waiting) >= 2 * self.settings.jobs:
                waiting = wait_for_one(waiting)
            if self.over():
                break
            waiting.add(pool.submit(self.run_group, index))
        while waiting:
            waiting = wait_for_one(waiting)


def wait_for_one(waiting):
    """Those that still run; what went wrong in one that is done is raised."""
    done, rest = concurrent.futures.wait(waiting,
                                         return_when=concurrent.futures.FIRST_COMPLETED)
    for one in done:
        one.result()
    return rest
