#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the blocks which a page marks with from=NAME are parts of the file NAME.

Usage: excerpts.py PAGE FILE
"""

import pathlib
import re
import sys


def main(page, file):
    text = pathlib.Path(page).read_text(encoding="utf-8")
    source = pathlib.Path(file).read_text(encoding="utf-8")
    name = re.escape(pathlib.Path(file).name)
    blocks = re.findall(rf"^```\w+ from={name}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    if not blocks:
        sys.exit(f"{page} has no block with from={pathlib.Path(file).name}")
    for block in blocks:
        if block not in source:
            sys.exit(f"{page} shows this, which is no part of {file}:\n{block}")


if __name__ == "__main__":
    main(*sys.argv[1:])
