#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the five examples of README.md in an empty home and looks for the files that they leave."""

import os
import pathlib
import subprocess
import sys
import tempfile

from tutorial_test import BLOCK

LEFT = ("results/sioux/report.json", "results/sioux/report.html", "results/channels/summary.csv",
        "results/channels/study.json")


def main(readme, build):
    blocks = [text for language, attributes, text in
              BLOCK.findall(pathlib.Path(readme).read_text(encoding="utf-8"))
              if language == "sh" and attributes.split() == ["example"]]
    assert len(blocks) == 1, f"{readme} has {len(blocks)} blocks of examples; one is expected"
    examples = [line for line in blocks[0].splitlines() if line.strip()]
    assert len(examples) == 5, f"{readme} has {len(examples)} examples; five are expected"
    with tempfile.TemporaryDirectory(prefix="orrery-readme-") as home:
        path = f"{pathlib.Path(build).resolve()}/bin:{os.environ.get('PATH', '/usr/bin:/bin')}"
        subprocess.run(["bash", "-c", "set -eu\n" + blocks[0]], cwd=home, check=True, timeout=600,
                       env={"HOME": home, "PATH": path, "LANG": "C.UTF-8"},
                       stdin=subprocess.DEVNULL)
        for name in LEFT:
            assert pathlib.Path(home, name).exists(), f"the examples leave no {name}"


if __name__ == "__main__":
    main(*sys.argv[1:])
