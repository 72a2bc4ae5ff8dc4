#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the Python blocks of docs/python.md, one after the other as one script in an empty folder, and
looks for each line of its text blocks in what the script prints.

Usage: page_test.py PAGE     with ORRERY and PYTHONPATH in the environment
"""

import pathlib
import re
import subprocess
import sys
import tempfile

try:
    import pandas  # noqa: F401
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(0)

BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def main(path):
    blocks = BLOCK.findall(pathlib.Path(path).read_text(encoding="utf-8"))
    script = "".join(text for kind, text in blocks if kind == "python")
    promised = [line for kind, text in blocks if kind == "text" for line in text.splitlines()]
    assert len(promised) > 5, "the page has lost its examples"
    with tempfile.TemporaryDirectory(prefix="orrery-page-") as folder:
        done = subprocess.run([sys.executable, "-W", "error", "-c", script], cwd=folder, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=600, check=False)
    print(done.stdout)
    assert done.returncode == 0, "an example has failed"
    for line in promised:
        assert line in done.stdout, f"the page promises '{line}'"


if __name__ == "__main__":
    main(*sys.argv[1:])
