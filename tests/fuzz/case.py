# SPDX-License-Identifier: Apache-2.0
"""A case: one `orrery run`, and the sequential run that it must agree with. Its text is the words of
that command, so that a case can be read, typed, and run by hand without the fuzzer."""

import dataclasses
import shlex

# Options without a value.
FLAGS = {"--no-bind"}
# What changes results, and so belongs to the reference run too.
OF_THE_REFERENCE = {"--livelock"}


@dataclasses.dataclass(frozen=True)
class Case:
    model: str
    sets: dict
    until: str
    seed: int
    engine: str
    workers: int | None = None
    options: dict = dataclasses.field(default_factory=dict)

    def words(self):
        words = [self.model]
        for name, value in self.sets.items():
            words += ["--set", f"{name}={value}"]
        words += ["--until", self.until, "--seed", str(self.seed), "--engine", self.engine]
        if self.workers is not None:
            words += ["--workers", str(self.workers)]
        for flag, value in self.options.items():
            words += [flag] if flag in FLAGS else [flag, value]
        return words

    def text(self):
        return shlex.join(self.words())

    def reference(self):
        options = {f: v for f, v in self.options.items() if f in OF_THE_REFERENCE}
        return dataclasses.replace(self, engine="sequential", workers=None, options=options)

    def but(self, **changes):
        return dataclasses.replace(self, **changes)


def parse(text):
    """The case that has this text."""
    words = shlex.split(text)
    if words[:2] == ["orrery", "run"]:
        words = words[2:]
    fields = {"model": words[0], "sets": {}, "until": "", "seed": 1, "engine": "auto"}
    options, workers = {}, None
    at = iter(words[1:])
    for word in at:
        value = "" if word in FLAGS else next(at, None)
        if value is None:
            raise ValueError(f"--case: '{word}' has no value")
        if word == "--set":
            name, _, setting = value.partition("=")
            fields["sets"][name] = setting
        elif word in ("--until", "--engine"):
            fields[word[2:]] = value
        elif word == "--seed":
            fields["seed"] = int(value)
        elif word == "--workers":
            workers = int(value)
        elif word.startswith("--"):
            options[word] = value
        else:
            raise ValueError(f"--case: '{word}' is not an option of 'orrery run'")
    if not fields["until"]:
        raise ValueError("--case: --until is missing")
    return Case(**fields, workers=workers, options=options)
