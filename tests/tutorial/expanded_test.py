#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does what the example in docs/engines/expanded.md says, in an empty home: builds the ring of
routers against an installed Orrery and compares the engines on it."""

import pathlib
import sys
import tempfile

from tutorial_test import run_tutorial


def main(page_path, build):
    page = pathlib.Path(page_path).read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory(prefix="orrery-expanded-") as folder:
        output = run_tutorial(page, pathlib.Path(build).resolve(), pathlib.Path(folder))
    assert "All fingerprints are equal" in output
    for engine in ["sequential", "expanded", "timewarp"]:
        assert engine in output, f"{engine} took no part"


if __name__ == "__main__":
    main(*sys.argv[1:])
