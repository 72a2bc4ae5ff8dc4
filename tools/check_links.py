#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails if a relative link in a Markdown file or a notebook leads nowhere: no such file, or no such heading in it.

Usage: check_links.py [FILE ...]     without files: all of the repository's
"""

import functools
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]*)(#[^)\s]+)?\)")
FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$", re.MULTILINE)


def text_of(path):
    """Without fenced code, where neither links nor headings mean anything."""
    return FENCE.sub("", path.read_text(encoding="utf-8"))


@functools.cache
def anchors(path):
    """The names by which GitHub makes headings reachable: lower case, without punctuation, blanks
    as hyphens; those of a name that was there before are numbered."""
    names = set()
    for heading in HEADING.findall(text_of(path)):
        shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")
        numbered, count = name, 0
        while numbered in names:
            count += 1
            numbered = f"{name}-{count}"
        names.add(numbered)
    return names


def dead_links(path):
    for file, anchor in LINK.findall(text_of(path)):
        if "://" in file or file.startswith("mailto:"):
            continue
        target = path.parent / file if file else path
        if not target.exists():
            yield f"the link to '{file}' leads nowhere"
        elif anchor and target.suffix == ".md" and anchor[1:] not in anchors(target.resolve()):
            yield f"'{file or path.name}' has no heading '{anchor}'"


# What is made here, perhaps meanwhile; nothing of it is a document.
MADE = {"build", "results", "out", "node_modules", "__pycache__"}


def all_files(folder=ROOT):
    """The documents of the repository, which may be one without Git."""
    for path in sorted(folder.iterdir()):
        if path.is_dir() and not path.is_symlink():
            if path.name not in MADE and not path.name.startswith("."):
                yield from all_files(path)
        elif path.suffix in (".md", ".ipynb"):
            yield path


def main(names):
    dead = [f"{path}: {what}" for path in (map(pathlib.Path, names) if names else all_files())
            for what in dead_links(path)]
    for line in dead:
        print(line, file=sys.stderr)
    return 1 if dead else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
