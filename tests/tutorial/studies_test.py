#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does what docs/studies.md says, in an empty home, looks for each line of its text blocks in what
the commands print, and that the study file gives what the command line did."""

import pathlib
import sys
import tempfile

from page_test import check_promises
from tutorial_test import run_tutorial


def main(page_path, build):
    page = pathlib.Path(page_path).read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory(prefix="orrery-studies-") as folder:
        home = pathlib.Path(folder)
        output = run_tutorial(page, pathlib.Path(build).resolve(), home)
        tables = [(home / name / "summary.csv").read_bytes() for name in ["channels", "compared"]]
        assert (home / "channels/blocking_probability.svg").read_text().startswith("<svg")
    check_promises(page, output)
    assert tables[0] == tables[1], "the study file gives another study"


if __name__ == "__main__":
    main(*sys.argv[1:])
