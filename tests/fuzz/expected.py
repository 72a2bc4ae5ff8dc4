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


EXPECTED: list[Expected] = []


def avoided(case):
    """Whether it is likely to fail for a reason that is known."""
    return any(entry.avoids is not None and entry.avoids(case) for entry in EXPECTED)


def hidden():
    """(model, kind) that is not drawn."""
    return {entry.hides for entry in EXPECTED if entry.hides}
