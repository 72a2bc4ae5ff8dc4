# SPDX-License-Identifier: Apache-2.0
"""A case: one `orrery run`, and the sequential run that it must agree with. Its text is the words of
that command, so that a case can be read, typed, and run by hand without the fuzzer.

A run that is cut by a snapshot and goes on in another process has two words more: --snapshot-at TIME
and --then WORDS, the options of the `orrery resume` that ends it.
"""

import dataclasses
import shlex

# Options without a value.
FLAGS = {"--no-bind"}
# What changes results, and so belongs to the reference run too, and stays what it was when a run is
# resumed.
OF_THE_REFERENCE = {"--livelock", "--warm-up", "--series", "--record", "--batch-means", "--stop-when",
                    "--stop-check", "--trace", "--trace-size"}


@dataclasses.dataclass(frozen=True)
class Way:
    """How a simulation, or a part of it, is executed."""
    engine: str
    workers: int | None = None
    options: dict = dataclasses.field(default_factory=dict)

    def words(self):
        words = ["--engine", self.engine]
        if self.workers is not None:
            words += ["--workers", str(self.workers)]
        for flag, value in self.options.items():
            words += [flag] if flag in FLAGS else [flag, value]
        return words


@dataclasses.dataclass(frozen=True)
class Case:
    model: str
    sets: dict
    until: str
    seed: int
    engine: str
    workers: int | None = None
    options: dict = dataclasses.field(default_factory=dict)
    snapshot_at: str | None = None
    then: Way | None = None  # from the snapshot on; both or neither

    def words(self):
        """Of the run, up to the snapshot if there is one."""
        words = [self.model]
        for name, value in self.sets.items():
            words += ["--set", f"{name}={value}"]
        words += ["--until", self.until, "--seed", str(self.seed)]
        words += Way(self.engine, self.workers, self.options).words()
        if self.then is not None:
            words += ["--snapshot-at", self.snapshot_at]
        return words

    def text(self):
        then = ["--then", shlex.join(self.then.words())] if self.then is not None else []
        return shlex.join(self.words() + then)

    def reference(self):
        options = {f: v for f, v in self.options.items() if f in OF_THE_REFERENCE}
        return dataclasses.replace(self, engine="sequential", workers=None, options=options,
                                   snapshot_at=None, then=None)

    def but(self, **changes):
        return dataclasses.replace(self, **changes)


def parse(text):
    """The case that has this text."""
    words = shlex.split(text)
    if words[:2] == ["orrery", "run"]:
        words = words[2:]
    fields = {"model": words[0], "sets": {}, "until": "", "seed": 1}
    way = {"engine": "auto", "workers": None, "options": {}}
    for word, value in pairs(words[1:]):
        if word == "--set":
            name, _, setting = value.partition("=")
            fields["sets"][name] = setting
        elif word == "--until":
            fields["until"] = value
        elif word == "--seed":
            fields["seed"] = int(value)
        elif word == "--snapshot-at":
            fields["snapshot_at"] = value
        elif word == "--then":
            fields["then"] = parse_way(value)
        else:
            put_into_way(way, word, value)
    if not fields["until"]:
        raise ValueError("--case: --until is missing")
    if ("snapshot_at" in fields) != ("then" in fields):
        raise ValueError("--case: --snapshot-at and --then go together")
    return Case(**fields, **way)


def parse_way(text):
    way = {"engine": "auto", "workers": None, "options": {}}
    for word, value in pairs(shlex.split(text)):
        put_into_way(way, word, value)
    return Way(**way)


def pairs(words):
    """Options with their values; what has none, with an empty text."""
    at = iter(words)
    for word in at:
        if not word.startswith("--"):
            raise ValueError(f"--case: '{word}' is not an option of 'orrery run'")
        value = "" if word in FLAGS else next(at, None)
        if value is None:
            raise ValueError(f"--case: '{word}' has no value")
        yield word, value


def put_into_way(way, word, value):
    if word == "--engine":
        way["engine"] = value
    elif word == "--workers":
        way["workers"] = int(value)
    else:
        way["options"][word] = value
