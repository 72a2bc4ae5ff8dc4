# SPDX-License-Identifier: Apache-2.0
"""Which command is started, and what it says of itself.

The package and the command are made from one source. The command's reports, tables and exit codes
are the interface between them, so a simulation runs as fast as from a shell, and what ends it (an
interrupt, a crash, a lack of memory) stays outside of the Python process."""

import functools
import json
import os
import pathlib
import shutil
import subprocess
import warnings

from ._errors import CommandNotFound, error_of

VERSION = "0.1.0"
HOW_TO = ("build it ('./dev build' in the repository; then it is build/release/bin/orrery) and say "
          "where it is: by PATH, by the environment variable ORRERY, or by "
          "orrery.command('/path/to/orrery')")

_chosen = None


def command(path=None):
    """The path of the command that is started. With `path`: this one from now on."""
    global _chosen
    if path is not None:
        _chosen = _program(path, f"orrery.command({os.fspath(path)!r})")
    if _chosen:
        return _chosen
    if os.environ.get("ORRERY"):
        path = os.environ["ORRERY"]
        return _program(path, f"the environment variable ORRERY ({path})")
    found = shutil.which("orrery")
    if found is None:
        raise CommandNotFound(f"there is no command 'orrery' in PATH; {HOW_TO}")
    return os.path.abspath(found)


def _program(path, who):
    path = os.path.abspath(os.path.expanduser(path))
    if not os.path.isfile(path) or not os.access(path, os.X_OK):
        raise CommandNotFound(f"{who} names no program that can be executed; {HOW_TO}")
    return path


def _stamp(path):
    status = os.stat(path)
    return path, status.st_mtime_ns, status.st_size


def _json(*words):
    """What the command prints as JSON, when it is asked and not to run anything."""
    done = subprocess.run([command(), *words], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, errors="replace", check=False)
    if done.returncode != 0:
        lines = done.stderr.splitlines()
        code = done.returncode if done.returncode > 0 else 128 - done.returncode
        raise error_of(code, sentence_of(lines), lines)
    return json.loads(done.stdout)


def sentence_of(lines):
    """What the command itself says among all lines; there is one sentence, but for a study."""
    said = [line[len("orrery: "):] for line in lines if line.startswith("orrery: ")]
    return "\n".join(said) or "\n".join(lines)


def listing():
    """Models, engines and options, as `orrery list --json` has them."""
    return _listing(_stamp(command()))


@functools.lru_cache(maxsize=8)
def _listing(stamp):
    path = stamp[0]
    try:
        found = _json("list", "--json")
        version = found["orrery"]["version"]
    except Exception as error:
        raise CommandNotFound(f"'{path}' is not the command orrery {VERSION} "
                              f"({_version_text(path)}); {HOW_TO}") from error
    if version.split(".")[:2] != VERSION.split(".")[:2]:
        warnings.warn(f"the command '{path}' is orrery {version} and this package {VERSION}; "
                      "install both from one source", stacklevel=2)
    return found


def _version_text(path):
    try:
        done = subprocess.run([path, "--version"], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, errors="replace", timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return "--version: " + (done.stdout.strip().split("\n")[0] or f"exit code {done.returncode}")


def description(model):
    """What `orrery describe MODEL --json` says. A model that was compiled anew is asked again."""
    listing()
    path = pathlib.Path(model)
    return _description(_stamp(command()), _stamp(model) if path.is_file() else model, os.getcwd())


@functools.lru_cache(maxsize=64)
def _description(_, model, __):
    return _json("describe", model if isinstance(model, str) else model[0], "--json")
