# SPDX-License-Identifier: Apache-2.0
"""Cases that are known to fail, a sentence each.

Each is run, and must fail: one that passes is reported as a failure, so that no mark outlives its
reason. To take a mark out, delete its entry: what it kept from being drawn is drawn from then on.
"""

import dataclasses
import typing


@dataclasses.dataclass(frozen=True)
class Expected:
    sentence: str
    case: str                 # '{models}': the folder of the models of tests/fuzz
    hides: tuple = ()         # (model, kind) that is not drawn as long as this fails
    avoids: typing.Callable | None = None  # says which cases are not drawn as long as this fails
    limit_s: float | None = None  # a run that takes longer counts as failed
    tries: int = 5            # runs, one of which must fail
    seldom: bool = False      # takes long or much memory: one fuzzing in twenty, or --all-expected


def coasts_far(case):
    """A window given by hand, and checkpoints that may lie hundreds of events apart."""
    name = case.options.get("--checkpoint", "")
    far = name.startswith("periodic:") and int(name.split(":")[1]) >= 20
    offloaded = case.options.get("--offload", "none") != "none"
    far |= offloaded and int(case.options.get("--max-checkpoint-distance", 40)) > 40
    return far and "--window" in case.options


EXPECTED = [
    Expected("std::locale(\"C.UTF-8\") in a handler crashes under Time Warp: the library counts "
             "references to locales in memory of its own",
             "{models}/library.so --set kind=locales --until 300ticks --seed 1 --engine timewarp "
             "--workers 3", hides=("library", "locales")),
    Expected("std::pmr::synchronized_pool_resource in an LP crashes under Time Warp: it keeps "
             "pools in thread-specific data",
             "{models}/library.so --set kind=synchronized_pools --until 300ticks --seed 1 "
             "--engine timewarp --workers 3", hides=("library", "synchronized_pools")),
    Expected("the checker refuses std::vector<bool>, which sets bits in words that it has not "
             "initialised as a whole",
             "{models}/library.so --set kind=bits --until 300ticks --seed 1 --engine checker",
             hides=("library", "bits")),
    Expected("a rounding mode that a handler leaves behind changes the results of other LPs",
             "{models}/library.so --set kind=rounding --until 300ticks --seed 1 --engine timewarp "
             "--workers 3", hides=("library", "rounding")),
    Expected("the sentence about a livelock names LPs that only guesses have visited",
             "{models}/livelock.so --set lps=40 --set stray=0.02 --until 300ticks --seed 1 "
             "--engine timewarp --workers 4 --livelock 500"),
    Expected("with a wide window given by hand, which nothing else throttles, and checkpoints far "
             "apart (by --checkpoint periodic or --max-checkpoint-distance), Time Warp spends its "
             "time with coasting forward and hardly gets on",
             "{models}/livelock.so --set lps=8 --set at=1 --set circle=100 --until 1000ticks "
             "--seed 286248 --engine timewarp --workers 3 --livelock 3000 --window 2000ticks "
             "--checkpoint periodic:1000", avoids=coasts_far, limit_s=10, tries=3),
    Expected("incremental checkpoints of very many LPs with 36 KiB each run out of ranges that "
             "the system tracks writes to, and the run aborts",
             "phold --set lps=90000 --set state=36864 --set touched=512 --until 3s --seed 1 "
             "--engine timewarp --workers 2 --checkpoint incremental", tries=1, seldom=True),
]


def avoided(case):
    """Whether it is likely to fail for a reason that is known."""
    return any(entry.avoids is not None and entry.avoids(case) for entry in EXPECTED)


def hidden():
    """(model, kind) that is not drawn."""
    return {entry.hides for entry in EXPECTED if entry.hides}
