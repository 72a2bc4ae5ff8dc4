#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does what docs/tutorial.md says, in an empty home, and checks what comes out against M/M/1 theory.

Blocks whose first line says file=NAME become files in the current folder of the tutorial's shell,
blocks marked sh are run as they are written, in order, in one shell that stops at the first error.
The only stand-in is the folder of the repository in which the first block runs: it holds a link
build/release to the build under test.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def script_of(tutorial):
    """The tutorial as one shell script; files are here-documents at their place in it."""
    parts = ["set -eu"]
    for language, attributes, text in BLOCK.findall(tutorial):
        name = re.search(r"file=(\S+)", attributes)
        if name:
            parts.append(f"cat > {name[1]} <<'END-OF-FILE'\n{text}END-OF-FILE")
        elif language == "sh":
            parts.append(f"(\ncd \"$REPOSITORY\"\n{text})" if "in=repository" in attributes else text)
    return "\n".join(parts) + "\n"


def run_tutorial(tutorial, build, home):
    repository = home / "repository"
    (repository / "build").mkdir(parents=True)
    (repository / "build/release").symlink_to(build)
    script = script_of(tutorial)
    environment = {
        "HOME": str(home),
        "REPOSITORY": str(repository),
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
    }
    done = subprocess.run(["bash", "-c", script], cwd=home, env=environment, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=1500, check=False)
    print(done.stdout)
    assert done.returncode == 0, f"the tutorial's commands ended with {done.returncode}"
    return done.stdout


def check_against_theory(report, load, tolerance):
    """Mean stay and mean number present of M/M/1, mean time between arrivals 1 s."""
    assert report["complete"] and report["parameters"]["load"]["value"] == load
    stay = report["results"]["mean_stay"]["value"]
    present = report["results"]["mean_present"]["value"]
    theory = load / (1 - load)
    for name, value in [("mean stay", stay), ("mean number present", present)]:
        print(f"load {load}: {name} {value:.3f}, theory {theory:.3f}")
        assert abs(value - theory) <= tolerance * theory, f"{name} is off by more than {tolerance}"
    # Little's law holds for every path, up to those still present at the end.
    assert abs(present - stay * report["metrics"]["stay"]["count"] / report["run"]["reached_seconds"]) < 0.01


def main(tutorial_path, build):
    tutorial = pathlib.Path(tutorial_path).read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory(prefix="orrery-tutorial-") as folder:
        home = pathlib.Path(folder)
        output = run_tutorial(tutorial, pathlib.Path(build).resolve(), home)
        reports = {name: json.loads((home / f"mm1/{name}/report.json").read_text())
                   for name in ["sequential", "timewarp"]}
        both = (home / "mm1/both.html").read_text(encoding="utf-8")
        comparison = json.loads((home / "mm1/comparison/compare.json").read_text())
    # At load 0.8 and 200,000 customers a standard error of the mean stay is about 2 %.
    check_against_theory(reports["timewarp"], 0.8, 0.08)
    check_against_theory(reports["sequential"], 0.5, 0.03)  # replaced by the tutorial's last run
    assert comparison["fingerprints_equal"]
    assert "The fingerprints are equal" in both
    assert "the checker found no difference" in output
    assert re.search(r"customer \d+ stayed \d+\.\d s", output)


if __name__ == "__main__":
    main(*sys.argv[1:])
