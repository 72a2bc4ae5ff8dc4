# SPDX-License-Identifier: Apache-2.0
"""What the fuzzer gives the options of engines, and which combinations mean nothing.

The table must name every option that `orrery describe ENGINE` shows for some engine: check()
compares them, so that nobody adds an option that is never tried. An engine gets what it uses, and
nothing else. A combination that the command refuses tests nothing, so none is drawn; if the rules
here and in the command differ, the run that is refused is reported as a failure.
"""

import dataclasses
import re

# They are part of every case.
# "--pending" is of earlier reports and changes nothing.
OF_THE_CASE = {"--until", "--seed", "--workers", "--pending", "--warm-up", "--series", "--record", "--batch-means",
               "--stop-when", "--stop-check", "--trace", "--trace-size"}
# A file that fits the model and its workers, which a case as a command does not carry along;
# tests/run/partition_file_test.cpp compares engines by several.
FROM_A_FILE = {"--partition"}


@dataclasses.dataclass(frozen=True)
class Place:
    """Where an option is to be used."""
    engine: str
    uses: frozenset      # the flags of the engine's options
    horizon_ticks: int
    reversible: bool     # the model has reverse handlers
    small_requests: bool  # no LP asks for more than 64 KiB at once
    commits: bool        # the run completes: no fault
    state_bytes: int = 0  # of all LPs at the start
    events: int = 1000   # that the run commits


def one_of(*values):
    return lambda random, place: random.choice(values)


def memory(random, place):
    """A budget that does not even hold the LPs is refused."""
    least_mib = 2 * place.state_bytes // 2**20 + 1
    return random.choice([f"{mib}MiB" for mib in (1, 2, 8, 64, 1024) if mib >= least_mib])


def little_memory(random):
    """For a model whose LPs have hardly any state."""
    return {"--memory": f"{random.choice((1, 2, 3, 4, 8))}MiB"}


def window(random, place):
    """Each window takes a round of all ranks, half a millisecond where they are more than the cores:
    there are to be few."""
    share = random.choice((0.005, 0.02, 0.1, 0.5, 2))
    return f"{max(1, int(place.horizon_ticks * share))}ticks"


def checkpoint(random, place):
    names = ["auto", "copy", "adaptive", "incremental", "periodic"]
    name = random.choice(names + ["reverse"] * (2 if place.reversible else 0))
    if name != "periodic":
        return name
    lengths = [1, 2, 3, 7, 20, 64] + ([] if place.engine == "checker" else [1000])
    return f"periodic:{random.choice(lengths)}"


def oversize(random, place):
    return random.choice(("reliable", "deny")) if place.small_requests else "reliable"


def hand_over_every(random, place):
    """A hand-over takes some milliseconds, as long as many of these runs: there are to be few."""
    times = random.choice((0, 1, 2, 5, 10, 20))
    return str(max(1, place.events // times)) if times else "never"


def livelock(random, place):
    return random.choice(("5000", "1000000", "1048575")) if place.commits else None


# Option -> its values; None from a function leaves the option away.
VALUES = {
    "--memory": memory,
    "--checkpoint": checkpoint,
    "--offload": one_of("none", "mono", "multi"),
    "--copiers": one_of("1", "2", "3"),
    "--copier": one_of("thread", "synchronous"),
    "--burst": one_of("64", "100", "1KiB", "1MiB"),
    "--abort-threshold": one_of("0", "0.3", "1", "auto"),
    "--max-checkpoint-distance": one_of("1", "2", "5", "40", "1000"),
    "--window": window,
    "--gvt-period": one_of("1us", "20us", "200us", "1ms", "20ms"),
    "--balance": one_of("on", "off"),
    "--expanded-mode": one_of("auto", "in-place", "batched"),
    "--livelock": livelock,
    "--event-time-limit": one_of("off", "1min"),  # far from what an event of the fuzzer takes
    "--cache-aware": one_of("on", "off"),
    "--cache-share": one_of("0", "0.1", "0.5", "0.875", "1", "auto"),
    "--oversize": oversize,
    "--no-bind": one_of(""),
    "--threads": one_of("auto", "1", "2", "3", "8"),
    "--candidates": one_of("sequential,timewarp", "timewarp:2,timewarp:5", "expanded:3,timewarp:4",
                           "sequential,expanded,timewarp:1", "timewarp:3",
                           "sequential,conservative:3,timewarp:2"),
    "--hand-over-every": hand_over_every,
    "--preempt": one_of("auto", "off", "demand", "tick", "both", "both"),
    "--tick": one_of("50us", "100us", "1ms"),
    "--write-partition": one_of("/dev/null"),
}

# Runs of the fuzzer are too short for an engine that chooses to see a reason for it.
USUALLY = {"--hand-over-every"}

def agree(options):
    """Takes out what cannot be combined."""
    if options.get("--checkpoint") == "incremental" and options.get("--offload") in (
            "mono", "multi"):
        del options["--offload"]
    return options


def draw(random, place, share):
    """Each option that the engine uses, with probability `share`."""
    chosen = {}
    for flag, values in VALUES.items():
        wanted = random.random() < (max(share, 0.9) if flag in USUALLY else share)
        value = values(random, place)  # drawn in any case: one option does not shift the others
        if wanted and value is not None and flag in place.uses:
            chosen[flag] = value
    return agree(chosen)


def flags_of(description):
    """The options in what `orrery describe ENGINE` prints, a line each."""
    return frozenset(re.findall(r"^\s+(--[a-z][a-z0-9-]*)", description, re.MULTILINE))


def check(flags_of_engines):
    """Sentences about options that the table and the engines do not both have."""
    used = frozenset().union(*flags_of_engines) - OF_THE_CASE - FROM_A_FILE
    if not used:
        return ["no engine shows an option: flags_of() does not read 'orrery describe ENGINE'"]
    missing = [f"the fuzzer does not know {flag}: give it values in VALUES of tests/fuzz/options.py"
               for flag in sorted(used - VALUES.keys())]
    gone = [f"no engine uses {flag}: take it out of VALUES of tests/fuzz/options.py"
            for flag in VALUES if flag not in used]
    return missing + gone
