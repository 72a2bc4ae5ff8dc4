#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does what docs/advise.md says, in an empty home, and looks for what does not depend on how fast the
machine is: the fields and files that the page names, and the headings that it shows."""

import json
import pathlib
import re
import sys
import tempfile

from tutorial_test import BLOCK, run_tutorial


def fields_of(page):
    """The names in the first column of the table of fields."""
    table = page[page.index("| field of `advise.json`"):]
    rows = table[:table.index("\n\n")].splitlines()[2:]
    return {name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])}


def check_headings(page, output):
    shown = [text for language, _, text in BLOCK.findall(page) if language == "output"]
    assert len(shown) == 1, "the page has lost its example"
    headings = [line.split() for line in shown[0].splitlines()
                if re.search("configuration +runs|machine +configuration", line)]
    assert len(headings) == 2, headings
    printed = [line.split() for line in output.splitlines()]
    for words in headings:
        assert words in printed, f"the page promises the heading {words}"


def main(page_path, build):
    page = pathlib.Path(page_path).read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory(prefix="orrery-advise-") as folder:
        home = pathlib.Path(folder)
        (home / "repository").mkdir()
        (home / "repository/docs").symlink_to(pathlib.Path(page_path).resolve().parent)
        output = run_tutorial(page, pathlib.Path(build).resolve(), home)
        answer = json.loads((home / "advice/advise.json").read_text())
        left = {path.name for path in (home / "advice").iterdir()}
    assert fields_of(page) == set(answer), fields_of(page) ^ set(answer)
    assert left == {*answer["files"], "advise.json"}, left
    for name in left:
        assert f"`{name}`" in page, f"the page does not name {name}"
    for one in answer["guidelines"]:
        assert f"`{one['name']}`" in page, f"the page does not tell of {one['name']}"
    assert f"`{answer['events']['basis']}`" in page
    check_headings(page, output)


if __name__ == "__main__":
    main(*sys.argv[1:])
