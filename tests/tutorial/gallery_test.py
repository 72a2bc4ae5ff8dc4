#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The gallery is what its script makes, and the runs of models on it leave the figures that it
tells: they are the same on every machine."""

import pathlib
import shutil
import subprocess
import sys
import tempfile


def main(script, docs, command):
    gallery = [sys.executable, script, "--command", command]
    subprocess.run([*gallery, "--check"], check=True)
    page = pathlib.Path(docs, "gallery.md")
    with tempfile.TemporaryDirectory(prefix="orrery-gallery-") as folder:
        into = pathlib.Path(folder, "docs")
        into.mkdir()
        shutil.copy(page, into)
        subprocess.run([*gallery, "traffic", "wireless", "pcs", "epidemic", "--into", into,
                        "--scratch", pathlib.Path(folder, "runs")], check=True)
        assert (into / page.name).read_text() == page.read_text(), \
            "the runs of the gallery leave other figures than it tells; run ./dev gallery"
        pictures = {path.name for path in (into / "gallery").iterdir()}
    assert len(pictures) == 4, pictures


if __name__ == "__main__":
    main(*sys.argv[1:])
