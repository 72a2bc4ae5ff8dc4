#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The model of the scheduler (scheduler.pml) in all its states, by Spin: no deadlock and no livelock,
and the same model with an error in it, which must be found."""

import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

MODEL = pathlib.Path(__file__).resolve().parent / "scheduler.pml"
PATIENCE_S = 240


@unittest.skipIf(shutil.which("spin") is None or shutil.which("cc") is None,
                 "there is no spin or no cc (Debian packages spin and gcc)")
class Model(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="orrery-llf-spin-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def run_ok(self, *words):
        done = subprocess.run(words, cwd=self.folder, capture_output=True, text=True,
                              timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 0, f"{words}: {done.stdout}{done.stderr}")
        return done.stdout

    def errors(self, federates, tokens, error=None, fair=True):
        """How many were found, with all states looked at unless there is one."""
        words = [f"-DFEDERATES={federates}", f"-DTOKENS={tokens}", "-DEND=3"]
        if error:
            words.append(f"-D{error}")
        self.run_ok("spin", *words, "-a", str(MODEL))
        self.run_ok("cc", "-O2", "-w", f"-DNFAIR={federates}", "-o", "pan", "pan.c")
        told = self.run_ok("./pan", "-a", "-m1000000", *(["-f"] if fair else []))
        found = int(re.search(r"errors: (\d+)", told)[1])
        states = int(float(re.search(r"(\S+) states, stored", told)[1]))
        self.assertNotIn("max search depth too small", told)
        print(f"{federates} federates, {tokens} tokens, {error or 'no error'}: {states} states, "
              f"{found} errors")
        self.assertTrue(found or states > 50)
        return found

    def test_all_come_to_their_end(self):
        for federates, tokens in [(2, 1), (2, 2), (3, 1), (3, 2), (4, 2)]:
            with self.subTest(federates=federates, tokens=tokens):
                self.assertEqual(self.errors(federates, tokens), 0)

    def test_one_that_waits_with_its_token_is_found(self):
        """The livelock against which a scheduler that does not know who waits needs a threshold."""
        self.assertGreater(self.errors(3, 1, "SPINS"), 0)
        self.assertGreater(self.errors(3, 1, "KEEPS"), 0)

    def test_a_lost_wake_up_is_found(self):
        self.assertGreater(self.errors(3, 2, "FORGETS"), 0)


if __name__ == "__main__":
    unittest.main()
