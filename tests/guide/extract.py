#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the block that a page marks with file=NAME to a file: what pages show is what is tested."""

import pathlib
import re
import sys


def main(page, name, target):
    text = pathlib.Path(page).read_text(encoding="utf-8")
    blocks = re.findall(rf"^```\w+ file={re.escape(name)}\n(.*?)^```$", text,
                        re.MULTILINE | re.DOTALL)
    if len(blocks) != 1:
        sys.exit(f"{page} has {len(blocks)} blocks with file={name}; one is expected")
    pathlib.Path(target).write_text(blocks[0], encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
