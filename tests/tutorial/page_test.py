#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does what a page says, in an empty home, and looks for each line of its text blocks in what the
commands print."""

import pathlib
import sys
import tempfile

from tutorial_test import BLOCK, run_tutorial


def check_promises(page, output):
    promised = [line for language, _, text in BLOCK.findall(page) if language == "text"
                for line in text.splitlines()]
    assert len(promised) > 5, "the page has lost its examples"
    for line in promised:
        assert line in output, f"the page promises '{line}'"


def main(page_path, build):
    page = pathlib.Path(page_path).read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory(prefix="orrery-page-") as folder:
        check_promises(page, run_tutorial(page, pathlib.Path(build).resolve(), pathlib.Path(folder)))


if __name__ == "__main__":
    main(*sys.argv[1:])
