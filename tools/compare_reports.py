#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints two or more report.json side by side; exit code 1 if their fingerprints differ."""

import json
import sys


def seconds(value):
    return f"{value:.2f} s"


def rows(reports):
    runs = [report["run"] for report in reports]
    yield "", [report["options"]["engine"] for report in reports]
    yield "workers", [str(run["workers"]) for run in runs]
    yield "committed events", [f"{run['committed']:,}" for run in runs]
    yield "executed events", [f"{run['executed']:,}" for run in runs]
    yield "efficiency", [f"{100 * run['efficiency']:.1f} %" for run in runs]
    yield "wall time", [seconds(run["seconds"]["loop"]) for run in runs]
    yield "committed events/s", [f"{run['events_per_second']:,.0f}" for run in runs]
    yield "memory at most", [f"{run['peak_rss_bytes'] / 2**20:,.0f} MiB" for run in runs]
    yield "fingerprint", ["0x" + run["fingerprint"] for run in runs]


def main(paths):
    reports = [json.load(open(path, encoding="utf-8")) for path in paths]
    for name, cells in rows(reports):
        print(f"  {name:<20}" + "".join(f"{cell:>22}" for cell in cells))
    if len({report["run"]["fingerprint"] for report in reports}) > 1:
        print("The fingerprints differ.", file=sys.stderr)
        return 1
    print("\nThe fingerprints are equal.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
