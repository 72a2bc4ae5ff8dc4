#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the command lines of all documents with the command: each command, option, shipped model
and parameter that a document shows must exist. docs/options.md must name each option of 'run'.

Options come from 'orrery manual COMMAND', which lists all of them. Lines that run a model of the
reader (./mine.so), and words with placeholders, are checked as far as they go.
"""

import functools
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
from check_links import all_files  # noqa: E402  (a folder of the repository is not a package)

# A line of a shell block, of an indented block, or a span of code that begins with the command.
LINE = re.compile(r"^(?:    |\t)?(?:\$ )?(?:mpirun [^|`\n]*?|srun [^|`\n]*?)?"
                  r"((?:build/release/bin/)?orrery .*)$", re.MULTILINE)
SPAN = re.compile(r"`(orrery [a-z][^`\n]*)`")
FENCED = re.compile(r"^ *```(\w*)[^\n]*\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"(?:^(?: {4}|\t).*\n)+", re.MULTILINE)
MODEL_COMMANDS = {"run", "compare", "sweep", "advise", "describe"}
ENGINE_OR_MODEL = re.compile(r"[a-z]+\Z")


class Command:
    def __init__(self, path):
        self.path = path
        text = self.output("list")
        self.models = self.names(text, "Models")
        self.engines = self.names(text, "Engines")
        # 'lab' is a program of its own, orrery-lab, which not every build has.
        self.commands = {"lab", *re.findall(r"^  ([a-z]+) ", self.output("--help"), re.MULTILINE)}

    @staticmethod
    def names(text, heading):
        part = text.split(heading, 1)[1].split("\n\n", 1)[0]
        return set(re.findall(r"^  ([a-z]+) ", part, re.MULTILINE))

    def output(self, *words):
        return subprocess.run([self.path, *words], check=True, text=True, capture_output=True,
                              env={**os.environ, "COLUMNS": "200"}).stdout

    @functools.cache
    def options(self, command):
        page = self.output("manual", command).replace("\\-", "-")
        return set(re.findall(r"\\fB(--[a-z-]+)\\fR", page))

    @functools.cache
    def parameters(self, model):
        return set(re.findall(r"^  ([a-z_0-9]+) +(?:integer|real|text|yes/no|duration) ",
                              self.output("describe", model), re.MULTILINE))


def lines_of(page):
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        text = "\n".join("".join(cell["source"]) for cell in cells)
    # Words that a shell block continues on the next line belong to one command.
    blocks = [body for language, body in FENCED.findall(text) if language in ("", "sh", "bash")]
    blocks += INDENTED.findall(FENCED.sub("", text))
    for block in blocks:
        yield from LINE.findall(block.replace("\\\n", " "))
    yield from SPAN.findall(FENCED.sub("", text))


def words_of(line):
    """Without comments, redirections and what follows in the shell; nothing if there is none. Text
    behind several blanks explains the command in a listing."""
    line = re.split(r" {2,}[^ \-=]", line.split("orrery ", 1)[1], maxsplit=1)[0]
    try:
        words = shlex.split(line, comments=True)
    except ValueError:
        return []
    for end, word in enumerate(words):
        if word in ("|", "||", "&&", ";", "&") or word.startswith((">", "<", "2>")):
            return words[:end]
    return words


def mistakes(command, words):
    if not words or not re.fullmatch(r"[a-z]+", words[0]):
        return
    name, rest = words[0], words[1:]
    if name not in command.commands:
        yield f"there is no command '{name}'"
        return
    if name == "lab":
        return
    if "--" in rest:
        rest = rest[:rest.index("--")]
    model = next((word for word in rest if not word.startswith("-")), "")
    if name in MODEL_COMMANDS and rest and rest[0] == model and ENGINE_OR_MODEL.match(model):
        known = command.models | (command.engines if name == "describe" else set())
        if model not in known:
            yield f"there is no model '{model}'"
    last = ""
    for word in rest:
        if word.startswith("--"):
            last = word.split("=")[0].split("[")[0]
            if last not in command.options(name):
                yield f"'orrery {name}' has no option '{last}'"
        elif last in ("--set", "--pilot") and model in command.models:
            parameter = re.fullmatch(r"([a-z_0-9]+)=.*", word)
            if parameter and parameter[1] not in command.parameters(model):
                yield f"model {model} has no parameter '{parameter[1]}'"


def main(path):
    command = Command(path)
    found, checked = [], 0
    for page in all_files():
        if page.name == "CHANGELOG.md":  # tells of earlier versions
            continue
        for line in lines_of(page):
            checked += 1
            found += [f"{page.relative_to(ROOT)}: {mistake}: {line}"
                      for mistake in mistakes(command, words_of(line))]
    named = set(re.findall(r"--[a-z-]+", (ROOT / "docs/options.md").read_text(encoding="utf-8")))
    found += [f"docs/options.md does not name {option}"
              for option in sorted(command.options("run") - named)]
    print(f"{checked} command lines")
    for line in found:
        print(line)
    assert checked > 150, "the documents have lost their command lines"
    assert not found, f"{len(found)} mistakes"


if __name__ == "__main__":
    main(*sys.argv[1:])
