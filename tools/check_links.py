#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails if a relative link in one of the Markdown files given leads nowhere."""

import pathlib
import re
import sys

LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")


def dead_links(path):
    for target in LINK.findall(path.read_text(encoding="utf-8")):
        if "://" not in target and not (path.parent / target).exists():
            yield target


def main(names):
    dead = [(name, target) for name in names for target in dead_links(pathlib.Path(name))]
    for name, target in dead:
        print(f"{name}: the link to '{target}' leads nowhere", file=sys.stderr)
    return 1 if dead else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
