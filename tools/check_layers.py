#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check that no part of Orrery includes headers of a part that it did not include before.

Usage: check_layers.py [--write]

tools/layers.txt lists which part includes which; docs/architecture.md says why. A new arrow between
two parts, or one that no file needs any more, is an error; all may use the public API. --write renews
the list: for a change that is right, together with the table in docs/architecture.md. Then
tools/draw_folders.py renews the picture.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIST = ROOT / "tools/layers.txt"
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
# Folders of these have a part for each of their own folders.
DIVIDED = {"src/engine", "src/run", "src/transport", "companions/llf", "companions/director"}


def part_of(path):
    folders = path.relative_to(ROOT).parts[:-1]
    if folders[0] == "include":
        return "include/orrery"
    part = "/".join(folders[:2])
    if part in DIVIDED and len(folders) > 2:
        return "/".join(folders[:3])
    return part


def find(name, beside):
    for base in (beside, ROOT / "src", ROOT / "companions", ROOT / "include", ROOT / "models"):
        if (base / name).is_file():
            return (base / name).resolve()
    return None  # of a library, or made by the build


def arrows():
    """{(from, to): the first file that has it}"""
    found = {}
    for folder in ("src", "companions", "include", "models"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix not in (".h", ".cpp", ".c") or path.parent == ROOT / folder:
                continue
            if "tests" in path.parts or "bench" in path.parts:  # of a companion
                continue
            for name in INCLUDE.findall(path.read_text(encoding="utf-8")):
                target = find(name, path.parent)
                arrow = part_of(path), target and part_of(target)
                if target is not None and arrow[0] != arrow[1] != "include/orrery":
                    found.setdefault(arrow, path.relative_to(ROOT))
    return found


def main(words):
    found = arrows()
    if words == ["--write"]:
        LIST.write_text("".join(f"{one} -> {other}\n" for one, other in sorted(found)), encoding="utf-8")
        return 0
    if words:
        print(__doc__)
        return 2
    listed = {tuple(line.split(" -> ")) for line in LIST.read_text(encoding="utf-8").splitlines()}
    for one, other in sorted(set(found) - listed):
        print(f"check_layers: {found[one, other]}: {one} includes headers of {other}, which is new. Do "
              f"without, or say why in docs/architecture.md and run tools/check_layers.py --write "
              f"and tools/draw_folders.py")
    for one, other in sorted(listed - set(found)):
        print(f"check_layers: {one} includes nothing of {other} any more: run tools/check_layers.py --write "
              f"and tools/draw_folders.py")
    return 1 if set(found) != listed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
