#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The captures of runs: the same bytes on every engine, over ranks and through snapshots, and a file
that other programs read. Needs ORRERY, WIRE (a model) and SANITIZE in the environment."""

import csv
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import pcapng

ORRERY = os.environ["ORRERY"]
WIRE = os.environ["WIRE"]
SANITIZE = os.environ.get("SANITIZE", "")
NAME = "captures.pcapng"
PATIENCE_S = 300
WAYS = [["timewarp", "--workers", 1], ["timewarp", "--workers", 3], ["conservative", "--workers", 2],
        ["expanded", "--workers", 2], ["auto", "--workers", 2], ["checker"],
        ["timewarp", "--ranks", 2, "--workers", 2], ["conservative", "--ranks", 3, "--workers", 1]]


def run(*words):
    return subprocess.run([ORRERY, *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=PATIENCE_S, check=False)


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="orrery-capture-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.runs = 0

    def out(self):
        self.runs += 1
        return self.folder / f"run{self.runs}"

    def ran(self, engine, *words, verb="run", out=None):
        """The folder of a run."""
        out = out or self.out()
        first = [verb, WIRE, "--out", out] if verb == "run" else [verb, out]
        done = run(*first, "--engine", *engine, *words, "--quiet")
        self.assertEqual(done.returncode, 0, done.stderr)
        return out

    def left(self, out):
        report = json.loads((out / "report.json").read_text())
        self.assertIn(NAME, report["files"])
        return (report["run"]["fingerprint"], (out / "lengths.csv").read_bytes(),
                (out / NAME).read_bytes())


class Equality(Case):
    def test_on_every_engine_and_over_ranks(self):
        expected = self.left(self.ran(["sequential"]))
        self.assertGreater(len(expected[2]), 2_000_000)
        for way in WAYS if not SANITIZE else WAYS[1:3]:
            with self.subTest(way=way):
                self.assertEqual(self.left(self.ran(way)), expected)

    def test_through_rollbacks(self):
        expected = self.left(self.ran(["sequential"]))
        for checkpoint in ["copy", "periodic:5", "incremental"]:
            with self.subTest(checkpoint=checkpoint):
                out = self.ran(["timewarp", "--workers", 3], "--checkpoint", checkpoint)
                self.assertEqual(self.left(out), expected)

    def test_through_snapshots(self):
        expected = self.left(self.ran(["sequential"]))
        ways = [["sequential"], ["timewarp", "--workers", 2],
                ["timewarp", "--ranks", 2, "--workers", 1]]
        for before in ways:
            out = self.ran(before, "--snapshot-at", "5000000ticks", "--end-after-snapshot")
            self.assertLess(len((out / NAME).read_bytes()), len(expected[2]))
            for after in ways[:1] if SANITIZE else ways:
                with self.subTest(before=before, after=after):
                    copy = self.out()
                    shutil.copytree(out, copy)
                    self.assertEqual(self.left(self.ran(after, verb="resume", out=copy)), expected)

    def test_captured_bytes_are_part_of_the_fingerprint(self):
        without = self.ran(["sequential"], "--set", "captured=no")
        self.assertEqual(len(pcapng.read(without / NAME)[1]), 12, "those of finish()")
        self.assertNotEqual(self.left(self.ran(["sequential"]))[0], self.left(without)[0])


class Files(Case):
    def test_what_is_in_it(self):
        out = self.ran(["timewarp", "--workers", 2])
        interfaces, packets = pcapng.read(out / NAME)
        self.assertEqual([(one.link, one.name, one.help, one.resolution) for one in interfaces],
                         [(1, "eth0", "what stations receive", 9), (147, 'radio "2"', "", 9)])
        with open(out / "lengths.csv", newline="", encoding="utf-8") as file:
            rows = [(int(row["time_ticks"]), f"LP {row['lp']}", int(row["bytes"]))
                    for row in csv.DictReader(file)]
        wired = [(one.time, one.comment, len(one.data)) for one in packets if one.interface == 0]
        self.assertEqual(wired, rows)
        self.assertEqual(max(one[2] for one in wired), 65535)
        self.assertEqual(min(one[2] for one in wired), 0)
        self.assertEqual([one.time for one in packets], sorted(one.time for one in packets))
        last = packets[-12:]
        self.assertEqual([one.comment for one in last], [f"LP {lp}" for lp in range(12)])
        received = [int.from_bytes(one.data, "little") for one in last]
        self.assertEqual(sum(received), len(wired))
        for before, one in zip(packets, packets[1:]):
            if one.interface == 1 and one.time < 12_000_000:
                self.assertEqual(before.data[:len(one.data)], one.data)

    def test_ticks_become_nanoseconds(self):
        times = [one.time for one in pcapng.read(self.ran(["sequential"]) / NAME)[1]]
        for tick, expected in [("1e-6", lambda ticks: ticks * 1000),
                               ("1e-12", lambda ticks: ticks // 1000),
                               ("2.5e-9", lambda ticks: ticks * 5 // 2)]:
            with self.subTest(tick=tick):
                out = self.ran(["sequential"], "--set", f"tick={tick}", "--until", "12000000ticks")
                self.assertEqual([one.time for one in pcapng.read(out / NAME)[1]],
                                 list(map(expected, times)))

    def test_other_programs_read_it(self):
        if not shutil.which("capinfos") or not shutil.which("tshark"):
            self.skipTest("capinfos and tshark are not installed")
        out = self.ran(["sequential"])
        packets = pcapng.read(out / NAME)[1]
        told = subprocess.run(["capinfos", "-c", "-M", "-T", "-r", out / NAME], text=True,
                              capture_output=True, check=True).stdout
        self.assertEqual(int(told.split()[-1]), len(packets))
        told = subprocess.run(["tshark", "-r", out / NAME, "-T", "fields", "-e", "frame.len", "-e",
                               "frame.interface_name"], text=True, capture_output=True, check=True)
        self.assertEqual([int(line.split("\t")[0]) for line in told.stdout.splitlines()],
                         [len(one.data) for one in packets])

    def test_without_a_folder_there_is_none(self):
        done = run("run", WIRE, "--json", "--quiet")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["files"], [])

    def test_models_without_interfaces_have_no_file(self):
        out = self.out()
        self.assertEqual(run("run", "pcs", "--set", "cells=4", "--until", "100s", "--out", out,
                             "--quiet").returncode, 0)
        self.assertFalse((out / NAME).exists())

    def test_describe(self):
        done = run("describe", WIRE)
        self.assertRegex(done.stdout, r"(?m)^  eth0 +1 +what stations receive$")
        told = json.loads(run("describe", WIRE, "--json").stdout)["captures"]
        self.assertEqual(told["eth0"], {"link_type": 1, "help": "what stations receive"})


class Refusals(Case):
    def test_too_many_bytes(self):
        before = set()
        for engine in [["sequential"], ["timewarp", "--workers", 2], ["conservative"],
                       ["timewarp", "--ranks", 2, "--workers", 1], ["checker"]]:
            for excess in [65536, 5_000_000]:
                with self.subTest(engine=engine, excess=excess):
                    out = self.out()
                    done = run("run", WIRE, "--engine", *engine, "--set", f"excess={excess}",
                               "--out", out, "--quiet")
                    self.assertEqual(done.returncode, 3, done.stderr)
                    self.assertIn(f"it captures {excess} bytes at interface 'eth0'; at most 65535 "
                                  "are possible", done.stdout + done.stderr)
                    before.add((out / NAME).read_bytes())
        self.assertEqual(len(before), 1, "captures up to the fault are kept, and no others")
        pcapng.read(out / NAME)
        self.ran(["sequential"], "--set", "excess=65535")

    def test_names(self):
        for name, says in [("eth0", "two interfaces for captures called 'eth0'"),
                           ("", "a name has 1 to 1024"), ("x" * 1025, "1025 bytes of name")]:
            with self.subTest(name=name[:10]):
                done = run("run", WIRE, "--set", f"second={name}", "--quiet")
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertRegex(done.stderr, r"\Aorrery: [^\n]+\n\Z")
                self.assertIn(says, done.stderr)


if __name__ == "__main__":
    unittest.main()
