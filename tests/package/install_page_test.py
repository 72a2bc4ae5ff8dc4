#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does what docs/install.md says of a folder of one's choice, in an empty home, and looks at what is
there then. Its package is tried by package_test.py."""

import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tutorial"))
from tutorial_test import run_tutorial  # noqa: E402


def main(page_path, build):
    page = pathlib.Path(page_path).read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory(prefix="orrery-install-") as folder:
        home = pathlib.Path(folder)
        output = run_tutorial(page, pathlib.Path(build).resolve(), home)
        manual = home / "orrery/share/man/man1"
        assert (home / "orrery-run.1").read_bytes() == (manual / "orrery-run.1").read_bytes()
        assert {path.name for path in manual.iterdir()} == {
            path.name for path in (home / ".local/share/man/man1").iterdir()}
        installed = home / "orrery/share/zsh/site-functions/_orrery"
        assert (home / ".zsh/_orrery").read_bytes() == installed.read_bytes()
        assert (home / "orrery/share/bash-completion/completions/orrery").is_file()
    assert "phold" in output


if __name__ == "__main__":
    main(*sys.argv[1:])
