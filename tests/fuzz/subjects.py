# SPDX-License-Identifier: Apache-2.0
"""What is run: the models, with parameters that make small, busy runs of some milliseconds.

A subject draws the parameters, the horizon in ticks and options that belong to the model. Few LPs
and many ties make stragglers likely; that is what most mistakes need.
"""

import dataclasses
import re
import typing


@dataclasses.dataclass(frozen=True)
class Drawn:
    sets: dict
    until_ticks: int
    options: dict = dataclasses.field(default_factory=dict)
    commits: bool = True  # no fault is asked for
    state_bytes: int = 0  # of all LPs at the start
    # Wrong guesses breed in it: to be run with many workers and little memory.
    breeds: bool = False
    # Delays that keep LPs apart: to be run with engines that need them, too.
    promises: bool = False


@dataclasses.dataclass(frozen=True)
class Subject:
    model: str           # a name, or that of a shared object of tests/fuzz/models
    weight: int
    draw: typing.Callable
    loaded: bool = True
    reversible: bool = False
    small_requests: bool = False
    metrics: tuple = ()  # some of the model's


OBSERVED_SHARE = 0.4
TRACED_SHARE = 0.15


def traced(random):
    """What asks for a trace, of which the committed events are compared; a small one is cut off."""
    if random.random() > TRACED_SHARE:
        return {}
    return {"--trace": "run.pftrace"} | (
        {"--trace-size": "64KiB"} if random.random() < 0.3 else {})


def observed(random, subject, drawn):
    """What is asked to be observed beside what the model declares, and until when."""
    if not subject.metrics or random.random() > OBSERVED_SHARE:
        return {}
    chosen, until, metric = {}, drawn.until_ticks, some(random, *subject.metrics)
    if random.random() < 0.5:
        chosen["--warm-up"] = f"{int(until * 0.9 * random.random())}ticks"
    if random.random() < 0.5:
        chosen["--series"] = f"{metric}={max(1, until // some(random, 3, 50, 1000))}ticks"
    if random.random() < 0.5:
        every = some(random, "", f"={max(1, until // some(random, 3, 50))}ticks")
        chosen["--record"] = f"0.{some(random, *subject.metrics)},{some(random, '*', '0')}.{metric}{every}"
    if random.random() < 0.3:
        chosen["--batch-means"] = some(random, *subject.metrics)
    if random.random() < 0.3:
        # A level is watched for longer also where nothing happens.
        seconds = until * 1e-9 * some(random, 0.2, 1, 5)
        of_levels = some(random, f"latest.seconds >= {seconds:.9f}", "latest.current_total > 4e6",
                         "latest.current_minimum >= 2e5 and latest.current_maximum != 0")
        chosen["--stop-when"] = (of_levels if metric == "latest" else
                                 f"{metric}.count >= {some(random, 1, 10, 100)}")
        chosen["--stop-check"] = f"{max(1, until // some(random, 3, 20, 100))}ticks"
    return chosen


def some(random, *values):
    return random.choice(values)


def length(random, least, most):
    """From `least` to `most`, every magnitude as likely."""
    return int(least * (most / least) ** random.random())


SECOND = 1_000_000_000


def random_model(random, _):
    sets = {"shape": random.randrange(1_000_000), "lps": some(random, 1, 2, 5, 16, 64, 200),
            "grain": some(random, 1, 10), "durations": some(random, "yes", "no"),
            "phases": some(random, "no", "yes"),
            "rows": some(random, "yes", "no"), "held": some(random, "no", "no", "yes")}
    fails = random.random() < 0.2
    if fails:
        sets["fault_at"] = some(random, 1, 5, 20, 60)
    return Drawn(sets, length(random, 200, 10_000), commits=not fails,
                 breeds=random.random() < 0.2)


def delays(random, _):
    sets = {"shape": random.randrange(1_000_000), "lps": some(random, 12, 40, 150, 500),
            "grain": some(random, 1, 7), "promise": some(random, "all", "edge", "clusters", "mixed"),
            "durations": some(random, "no", "no", "yes"), "phases": some(random, "no", "yes"),
            "held": some(random, "no", "no", "yes")}
    fails = random.random() < 0.2
    if fails:
        sets[some(random, "fault_at", "breach_at")] = some(random, 1, 5, 20, 60)
    return Drawn(sets, length(random, 200, 5_000), commits=not fails, promises=True)


def processes(random, _):
    least = some(random, 0, 0, 200)
    sets = {"lps": some(random, 1, 2, 8, 30), "least": least,
            "durations": some(random, "no", "yes")}
    fails = random.random() < 0.15
    if fails:
        sets["fault_at"] = some(random, 1, 5, 20)
    return Drawn(sets, length(random, SECOND // 500, SECOND // 20), commits=not fails,
                 promises=least > 0)


def nasty(random, kinds):
    sets = {"kind": some(random, *kinds), "lps": some(random, 2, 4, 16, 50),
            "spread": some(random, 1, 3, 10, 100), "zero": some(random, 0, 0.1, 0.3),
            "remote": some(random, 0.1, 0.5, 1)}
    if random.random() < 0.4:
        sets["expanded"] = some(random, 0.3, 1)
    fails = random.random() < 0.15
    if fails:
        sets["fault_at"] = some(random, 1, 10, 50)
    return Drawn(sets, length(random, 100, 2_000), commits=not fails)


def causal(random, _):
    sets = {"lps": some(random, 2, 4, 8, 30), "spread": some(random, 1, 5, 20, 100),
            "zero": some(random, 0, 0.1, 0.3),
            "bad": some(random, "fail", "throw", "number", "twice", "negative", "nowhere",
                        "endless", "memory", "storm")}
    commits = random.random() < 0.8
    if not commits:
        sets["commits_at"] = some(random, 1, 5, 30)
        # Not every engine can see that memory is freed twice; then the system ends the process.
        sets["bad"] = some(random, "fail", "throw", "number", "negative", "nowhere", "endless")
    return Drawn(sets, length(random, 100, 3_000), commits=commits)


def flood(random, _):
    """Few LPs, many zero delays, and handlers that send more than they receive where causes are
    missing. Sequentially that takes milliseconds; who runs too far ahead takes minutes."""
    sets = {"lps": some(random, 4, 8, 12, 20, 30), "spread": some(random, 5, 20, 50, 100),
            "zero": some(random, 0.3, 0.6, 0.9), "bad": some(random, "flood", "flood", "storm",
                                                             "throw", "twice")}
    return Drawn(sets, length(random, 500, 10_000), breeds=True)


def livelock(random, _):
    """All LPs of the chain are on it, so that all engines must name the same."""
    sets = {"lps": some(random, 1, 3, 8), "at": some(random, 1, 20, 200), "circle": 100}
    return Drawn(sets, 1_000, {"--livelock": some(random, "100", "500", "3000")}, commits=False)


def reversible(random, _):
    sets = {"lps": some(random, 2, 8, 40), "spread": some(random, 1, 5, 50)}
    fails = random.random() < 0.15
    if fails:
        sets["fault_at"] = some(random, 1, 10, 50)
    return Drawn(sets, length(random, 100, 3_000), commits=not fails)


def phold(random, _):
    state = some(random, 0, 0, 200, 5_000, 200_000)
    sets = {"lps": some(random, 2, 8, 64, 500), "remote": some(random, 0.1, 0.5, 1),
            "population": some(random, 1, 4), "payload": some(random, 0, 8, 64, 256, 1024),
            "state": state, "touched": state and some(random, 0, 8, state // 10)}
    if random.random() < 0.2:
        sets["lookahead"] = "100ms"
    if random.random() < 0.2:
        sets["hot_share"] = 0.5
    if random.random() < 0.2:
        sets |= {"confined": some(random, 0, 1, 20), "committed": some(random, 1, 4)}
    return Drawn(sets, length(random, SECOND, 30 * SECOND), state_bytes=sets["lps"] * state,
                 promises="lookahead" in sets)


def pcs(random, _):
    sets = {"cells": some(random, 4, 16, 100), "channels": some(random, 2, 10, 50),
            "mobility": some(random, "yes", "no"), "handoff_delay": some(random, "10ms", "0s"),
            "fast_residence": some(random, "3min", "10s")}
    if random.random() < 0.3:
        sets["fading_period"] = "1s"
    return Drawn(sets, length(random, 10 * SECOND, 200 * SECOND),
                 promises=sets["handoff_delay"] != "0s")


def traffic(random, _):
    sets = {"network": some(random, "sioux-falls", "grid"), "signals": some(random, "yes", "no"),
            "departures": some(random, "poisson", "even"),
            "trips_table": some(random, "yes", "no"),
            "profile": some(random, "flat", "peak", "day"),
            "interval": some(random, "0s", "100s")}
    if sets["network"] == "grid":
        sets |= {"grid": some(random, 2, 4, 7), "grid_rate": some(random, 300, 900)}
    else:
        sets["demand"] = some(random, 0.05, 0.2)
        sets["routes"] = some(random, "free-flow", "equilibrium", "adaptive")
    return Drawn(sets, length(random, 60 * SECOND, 900 * SECOND), promises=True)


def wireless(random, _):
    sets = {"stations": some(random, 4, 16, 36), "access": some(random, "csma", "aloha",
                                                                "slotted_aloha"),
            "fading": some(random, "none", "rayleigh"), "traffic": some(random, "gateway", "random"),
            "layout": some(random, "scatter", "grid", "line"), "shadowing": some(random, 0, 4),
            "reception": some(random, "collision", "threshold", "error_rate")}
    return Drawn(sets, length(random, SECOND // 50, SECOND), promises=True)


def epidemic(random, _):
    sets = {"regions": some(random, 1, 4, 16), "locations": some(random, 1, 3, 10),
            "people": some(random, 1, 20, 60), "infected": 1, "beta": some(random, 1, 5, 50),
            "infected_region": some(random, "0", "all"), "near_share": some(random, 0.5, 0.9),
            "schedule": some(random, "random", "daily"), "interval": some(random, "0s", "3h"),
            "latent_time": some(random, "3h", "3d"), "infectious_shape": some(random, 1, 3),
            "vaccination_rate": some(random, 0, 0.5), "vaccinate_from": some(random, "0s", "10h"),
            "close_share": some(random, 0, 0.5), "travel_reduction": some(random, 0, 0.5)}
    return Drawn(sets, length(random, 3_600 * SECOND, 172_800 * SECOND), promises=True)


def null(random, _):
    sets = {"modules": some(random, 1, 3, 20), "events": some(random, 10, 300),
            "duration": some(random, "0ns", "500ns", "1us")}
    return Drawn(sets, length(random, 1_000, 400_000))


NASTY_METRICS = ("share", "latest")
SUBJECTS = [
    Subject("random", 6, random_model, small_requests=True, metrics=("values", "waits")),
    Subject("delays", 5, delays, small_requests=True, metrics=("values",)),
    Subject("processes", 3, processes, metrics=("stay", "present", "desk_queue")),
    Subject("containers", 4, nasty, metrics=NASTY_METRICS),
    Subject("objects", 4, nasty, metrics=NASTY_METRICS),
    Subject("control_flow", 4, nasty, metrics=NASTY_METRICS),
    Subject("allocators", 3, nasty, metrics=NASTY_METRICS),
    Subject("text", 2, nasty, metrics=NASTY_METRICS),
    Subject("library", 1, nasty, metrics=NASTY_METRICS),
    Subject("causal", 4, causal, metrics=("answered",)),
    Subject("causal", 7, flood, metrics=("answered",)),
    Subject("livelock", 1, livelock),
    Subject("reversible", 3, reversible, reversible=True, small_requests=True,
            metrics=("values", "latest")),
    Subject("phold", 3, phold, loaded=False, reversible=True),
    Subject("pcs", 2, pcs, loaded=False, metrics=("power", "call_duration")),
    Subject("traffic", 1, traffic, loaded=False, metrics=("trip_time",)),
    Subject("wireless", 2, wireless, loaded=False, metrics=("delay", "hops")),
    Subject("epidemic", 2, epidemic, loaded=False, metrics=("trips",)),
    Subject("null", 1, null, loaded=False),
    Subject("wrong", 0, nasty),  # wrong on purpose: for selfcheck.py, which asks for it
]


def kinds_of(runner, subject, hidden):
    """The kinds of a nasty model that may be drawn, by what it says of itself. "all" mixes them."""
    text = runner.text_of("describe", runner.model_path(subject.model))
    found = re.search(r"how LPs keep their state: all, ([a-z_, ]+)", text)
    names = found.group(1).strip().split(", ") if found else []
    shown = [name for name in names if (subject.model, name) not in hidden]
    return shown + ["all"] if shown == names else shown
