# SPDX-License-Identifier: Apache-2.0
"""From Python's values and keywords to the words of a command line.

A keyword is an option of the command or a parameter of the model. A name that is both is refused:
a model's author knows nothing of options, and one that is taken for the other would be a run that
nobody wanted. `options={...}` and `parameters={...}` say which. A name that is neither goes to the
command as a parameter, for its sentence with what may have been meant."""

import contextlib
import datetime
import difflib
import numbers
import os
import pathlib

from ._command import description, listing
from ._errors import UsageError

# What `orrery run` and `orrery sweep` take beside the options of runs, which `orrery list --json`
# names.
RUN_OPTIONS = frozenset({
    "engine", "out", "force", "config", "verbose", "ranks", "mpi", "survive", "snapshot-every",
    "snapshot-at", "snapshot-wall", "snapshot-share", "snapshots", "snapshot-check",
    "end-after-snapshot", "trace", "trace-lps", "trace-from", "trace-to", "trace-size"})
SWEEP_OPTIONS = frozenset({
    "engine", "out", "force", "seeds", "jobs", "confidence", "until-precision", "max-seeds",
    "compare", "show"})
# These are the package's own affair.
RESERVED = frozenset({"again", "live", "set", "json", "quiet", "help"})

WIDEST_VALUE = 60  # characters of one in an error
_UNITS = [("d", 86_400 * 10**9), ("h", 3600 * 10**9), ("min", 60 * 10**9), ("s", 10**9),
          ("ms", 10**6), ("us", 10**3), ("ns", 1)]


def value_text(value, name=None):
    """One value, as the command reads it. `name`: of the parameter or option, for the error."""
    given = value
    if type(value).__name__ == "timedelta64":
        import pandas
        value = pandas.Timedelta(value)
    elif hasattr(value, "item") and hasattr(value, "dtype"):  # NumPy's
        with contextlib.suppress(ValueError):  # several are none
            value = value.item()
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime.timedelta):
        return duration_text(value)
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, numbers.Real):
        number = float(value)
        # 10.0 of an arithmetic with real numbers is good for a parameter that counts, too.
        return str(int(number)) if number.is_integer() and abs(number) < 2**53 else repr(number)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, str):
        return value
    text = repr(given)
    if len(text) > WIDEST_VALUE or "\n" in text:
        text = f"an object of type {type(given).__name__}"
    raise UsageError(f"{f'{name}: ' if name else ''}{text} is no value; numbers, True and False, "
                     "texts, paths and datetime.timedelta are")


def duration_text(delta):
    """A timedelta to the nanosecond, which pandas' have: "1500ms"."""
    ns = ((delta.days * 86_400 + delta.seconds) * 10**6 + delta.microseconds) * 1000
    ns += getattr(delta, "nanoseconds", 0)
    for name, size in _UNITS:
        if ns % size == 0 and ns != 0:
            return f"{ns // size}{name}"
    return "0s"


def is_list(value):
    """Neither a dictionary nor a DataFrame, which would give their keys; a Series is one."""
    has_keys = hasattr(value, "keys") and getattr(value, "ndim", 0) != 1
    return not isinstance(value, (str, bytes)) and hasattr(value, "__iter__") and not has_keys


def values_text(name, value):
    """One value or several: what `orrery sweep` takes for a parameter."""
    if not is_list(value):
        return value_text(value, name)
    if isinstance(value, range) and len(value) > 1 and value.step > 0:
        return f"{value[0]}..{value[-1]}" + (f":{value.step}" if value.step != 1 else "")
    texts = [value_text(one, name) for one in value]
    for text in texts:
        if "," in text or ".." in text:
            raise UsageError(f"{name}: '{text}' cannot stand in a list, for it has a comma or two "
                             "dots, which mean something there; put the list into a study file, "
                             "orrery.sweep('FILE.toml')")
    if not texts:
        raise UsageError(f"{name}: the list is empty")
    return ",".join(texts)


def model_text(model):
    """A name, or a path. A Path is one even without a slash, which a name is told by."""
    if isinstance(model, pathlib.PurePath):
        text = os.fspath(model)
        return text if "/" in text else "./" + text
    text = os.fspath(model) if isinstance(model, os.PathLike) else model
    if not isinstance(text, str) or not text or text.startswith("-") or "=" in text.split("/")[0]:
        raise UsageError(f"{model!r} is neither the name of a model nor a path; orrery.models() "
                         "has the names")
    return text


def option_word(name, value):
    """--name=value; a flag by True, nothing by None and False."""
    if name in RESERVED:
        raise UsageError(f"the option --{name} is not for use from Python")
    if value is None or value is False:
        return []
    if name == "seeds" and isinstance(value, numbers.Real):
        count = int(value)
        raise UsageError(f"seeds={value} may mean {count} seeds or the seed {count}: write "
                         f"seeds=range(1, {count + 1}) or seeds=[{count}]")
    text = values_text(name, value)
    if name == "seeds" and is_list(value) and text.isdigit():
        text = f"{text}..{text}"  # one seed, not so many
    return ["--" + name if value is True else f"--{name}={text}"]


class Request:
    """What was asked for, sorted into options and parameters."""

    def __init__(self, model, named, keywords, options, parameters, own_options):
        self.model = model_text(model)
        self._own = own_options | set(listing()["options"])
        self._keywords = {name: value for name, value in named.items()
                          if value is not None and value is not False}
        self._keywords.update(keywords)
        known = {}
        if not self.model.endswith(".toml"):
            known = description(self.model).get("parameters", {})
            self._check_names(known)
        for name in self._keywords:
            if name in RESERVED and name not in known:
                raise UsageError(f"the option --{name} is not for use from Python, and the model "
                                 f"has no parameter '{name}'")
        self.options = {name.replace("_", "-"): value for name, value in (options or {}).items()}
        self.parameters = dict(parameters or {})
        for name, value in self._keywords.items():
            self._sort(name, value)

    def _check_names(self, known):
        """`known`: the model's parameters. What may be a misspelt one is the command's to tell."""
        for name in self._keywords:
            if self._is_option(name) and name in known:
                raise UsageError(f"'{name}' is an option of the command and a parameter of the "
                                 f"model; write options={{'{name}': ...}} or "
                                 f"parameters={{'{name}': ...}}")
            if self._is_option(name) or name in known or difflib.get_close_matches(name, known):
                continue
            if near := difflib.get_close_matches(name.replace("_", "-"), self._own, 1, 0.75):
                raise UsageError(f"'{name}' is neither a parameter of the model nor an option of "
                                 f"the command; did you mean the option '{near[0].replace('-', '_')}'?")

    def _is_option(self, name):
        return name.replace("_", "-") in self._own

    def _sort(self, name, value):
        is_option = self._is_option(name)
        group = self.options if is_option else self.parameters
        name = name.replace("_", "-") if is_option else name
        if name in group:
            raise UsageError(f"'{name}' is given twice, as a keyword and in "
                             f"{'options' if is_option else 'parameters'}={{...}}")
        group[name] = value

    def words(self, several=False):
        """What stands behind `orrery run`, or `orrery sweep` with several values of a parameter."""
        words = [self.model]
        for name, value in self.parameters.items():
            if value is None:
                raise UsageError(f"parameter '{name}' is None; leave it away for its default")
            text = values_text(name, value) if several else value_text(value, name)
            words += ["--set", f"{name}={text}"]
        for name, value in self.options.items():
            words += option_word(name, value)
        return words
