#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The experiments of models/lab/EXPERIMENTS.md in a small form: bench/lab with few hosts, on virtual
time only, where all that it asks is exact.

Environment: ORRERY (the command), MODELS (the folder models), LAB_KERNEL (the hosts' kernel).
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BUILD = Path(os.environ["ORRERY"]).parents[1]
RUN = Path(os.environ["MODELS"]).parent / "bench/lab/run.py"
PATIENCE_S = 500


@unittest.skipUnless(Path(os.environ["LAB_KERNEL"]).exists(), "the hosts' kernel is not built (./dev lab)")
class Experiments(unittest.TestCase):
    def all_are_met(self, *words):
        with tempfile.TemporaryDirectory(prefix="lab") as out:
            done = subprocess.run([sys.executable, RUN, "--build", BUILD, "--out", out, "--without-fair",
                                   *words], capture_output=True, text=True, timeout=PATIENCE_S,
                                  check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            bars = json.loads((Path(out) / "bench.json").read_text())["bars"]
        self.assertGreater(len(bars), 0)
        self.assertEqual([bar for bar in bars if not bar["met"]], [], done.stdout)

    def test_messages_arrive_in_order_in_any_window(self):
        self.all_are_met("--parts", "orders,windows", "--sizes", "5")

    @unittest.skipUnless((Path(os.environ["LAB_KERNEL"]).parent / "x86_64/busybox").exists(),
                         "the hosts' QEMU is not built (./dev lab --qemu)")
    def test_messages_of_hosts_that_compute_arrive_in_order(self):
        self.all_are_met("--parts", "computing-orders", "--computing-sizes", "3")

    def test_a_worm_spreads_as_a_simulation_of_it_says(self):
        self.all_are_met("--parts", "worm", "--delays", "10", "--worm-hosts", "16", "--seeds", "6")

    def test_a_worm_goes_to_neighbours_of_a_radio_mesh(self):
        self.all_are_met("--parts", "mesh-worm", "--mesh", "3x2", "--protocols", "olsr", "--mesh-seeds", "1")


if __name__ == "__main__":
    unittest.main()
