#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does what docs/live.md shows, in an empty home: runs that serve their page, and a program that
reads the state of one and stops it."""

import pathlib
import re
import sys
import tempfile

from tutorial_test import run_tutorial

COMMAND = """```sh
orrery() { "$REPOSITORY/build/release/bin/orrery" "$@"; }
```
"""


def main(page_path, build):
    page = pathlib.Path(page_path).read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory(prefix="orrery-live-") as folder:
        output = run_tutorial(COMMAND + page, pathlib.Path(build).resolve(), pathlib.Path(folder))
    assert re.search(r"(?m)^orrery: live at http://127\.0\.0\.1:\d+/[0-9a-f]{32}/$", output)
    assert re.search(r"(?m)^running \d+ events$", output)
    assert re.search(r"(?m)^  simulated .* of 100000 s, interrupted$", output)


if __name__ == "__main__":
    main(*sys.argv[1:])
