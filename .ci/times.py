#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What CI took: the ten slowest units and tests, and its parts beside what is expected of them.

Usage: times.py FILE     a part a line, its name and its seconds of processor

Machines differ, and so does one machine from hour to hour, so parts are told in multiples of one unit
that is compiled here, with no cache. A part that takes a fifth more than .ci/expected says is warned
of; one that took much less (a compiler cache was there) is not.
"""

import pathlib
import re
import resource
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
UNIT = ROOT / "src/run/options/options.cpp"
MARGIN = 1.2
TEST = re.compile(r"^ *\d+/\d+ Test +#\d+: (\S+) \.*.*? ([\d.]+) sec$", re.MULTILINE)


def calibration_s():
    """Seconds of processor for the unit: the least of three."""
    def once():
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(["c++", "-std=c++20", "-O2", "-DFMT_SHARED", f"-I{ROOT}/include", f"-I{ROOT}/src",
                        "-c", str(UNIT), "-o", "/dev/null"], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return min(once() for _ in range(3))


def slowest(found, what):
    print(f"-- ci: the slowest {what}, in seconds by the clock")
    for seconds, name in sorted(found, reverse=True)[:10]:
        print(f"{seconds:9.1f}  {name}")


def units():
    for log in sorted(ROOT.glob("build/*/.ninja_log")):
        for line in log.read_text(encoding="utf-8").splitlines()[1:]:
            begin, end, _, name, *_ = line.split("\t")
            if name.endswith(".o"):
                yield (int(end) - int(begin)) / 1000, f"build/{log.parent.name}/{name}"


def tests():
    for log in sorted(ROOT.glob("build/*/ctest*.log")):
        for name, seconds in TEST.findall(log.read_text(encoding="utf-8", errors="replace")):
            yield float(seconds), f"build/{log.parent.name}: {name}"


def read_parts(path):
    return [(name, float(number)) for name, number in
            (line.rsplit(maxsplit=1) for line in path.read_text(encoding="utf-8").splitlines()
             if line and not line.startswith("#"))]


def main(path):
    slowest(units(), "units")
    slowest(tests(), "tests")
    unit_s = calibration_s()
    expected = dict(read_parts(ROOT / ".ci/expected"))
    parts = {}
    for name, seconds in read_parts(pathlib.Path(path)):
        parts[name] = parts.get(name, 0) + seconds
    print(f"-- ci: parts in seconds of processor and in units; a unit took {unit_s:.2f} s")
    for name, seconds in [*parts.items(), ("all", sum(parts.values()))]:
        count, most = seconds / unit_s, expected.get(name)
        print(f"{seconds:9.0f}  {count:7.0f}  {name}" + ("" if most is None else f" (expected: {most:.0f})"))
        if most is not None and count > MARGIN * most:
            print(f"-- ci: warning: {name} took {count / most:.1f} times what is expected")


if __name__ == "__main__":
    main(*sys.argv[1:])
