#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""'orrery llf run' and the shims: programs over MPI get what they get without, with each MPI that is
installed, with more ranks than cores. What a program does is in mpi_program.c, which is compiled here.
Needs BUILD (the folder of the build) in the environment. Also 'orrery llf status' and 'clean'."""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

BUILD = pathlib.Path(os.environ["BUILD"])
ORRERY = BUILD / "bin/orrery"
PROGRAM = pathlib.Path(__file__).resolve().with_name("mpi_program.c")
PATIENCE_S = 240
RANKS = 8
ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
# An MPI that there is no shim for.
TOY = """
#include <string.h>
int PMPI_Init(int *count, char ***words) { return 0; }
int MPI_Init(int *count, char ***words) { return 0; }
int PMPI_Get_library_version(char *text, int *length) {
  strcpy(text, "Toy MPI 1.0");
  *length = 11;
  return 0;
}
"""
USER_OF_TOY = "int MPI_Init(int *, char ***); int main(void) { return MPI_Init(0, 0); }"


def run(*words, patience=PATIENCE_S, **variables):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=patience,
                          check=False, env={**os.environ, **ROOT, **variables},
                          stdin=subprocess.DEVNULL)


def llf(*words, **variables):
    return run(ORRERY, "llf", *words, **variables)


@contextlib.contextmanager
def started(words, **rest):
    """A process that is killed where the test fails, lest the wait for its end hide that."""
    with subprocess.Popen([str(word) for word in words], **rest) as running:
        try:
            yield running
        finally:
            running.kill()


class ScratchCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="orrery-llf-mpi-")
        cls.addClassCleanup(folder.cleanup)
        cls.root = pathlib.Path(folder.name)

    def assertRefused(self, done, pattern):
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertRegex(done.stderr, pattern)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)


class Programs:
    """With one MPI."""
    name = ""
    launch = ()

    @classmethod
    def setUpClass(cls):
        compiler = f"mpicc.{cls.name}"
        if shutil.which(compiler) is None or shutil.which(cls.launch[0]) is None:
            raise unittest.SkipTest(f"there is no {compiler} (package lib{cls.name}-dev)")
        if not (BUILD / f"bin/orrery-llf-{cls.name}.so").exists():
            raise unittest.SkipTest(f"orrery was built without {cls.name}")
        super().setUpClass()
        cls.program = cls.root / "mpi_program"
        done = run(compiler, "-w", "-O1", PROGRAM, "-o", cls.program, "-pthread")
        assert done.returncode == 0, done.stderr

    def command(self, part, ranks=RANKS):
        return [*self.launch, "-n", ranks, self.program, part]

    def assertSame(self, part, ranks=RANKS):
        """All ranks print the same with the shim as without it."""
        plain = run(*self.command(part, ranks))
        self.assertEqual(plain.returncode, 0, plain.stdout + plain.stderr)
        shimmed = llf("run", "--", *self.command(part, ranks))
        self.assertEqual(shimmed.returncode, 0, shimmed.stdout + shimmed.stderr)
        self.assertEqual(sorted(shimmed.stdout.splitlines()), sorted(plain.stdout.splitlines()))
        self.assertNotIn("orrery:", shimmed.stderr)
        return shimmed.stdout

    def test_collective_operations(self):
        self.assertGreater(len(self.assertSame("collectives").splitlines()), 500)

    def test_messages_of_all_sizes(self):
        self.assertEqual(len(self.assertSame("messages").splitlines()), RANKS)

    def test_statuses_and_errors(self):
        self.assertEqual(len(self.assertSame("corners").splitlines()), RANKS)

    def test_loops_that_poll(self):
        self.assertIn(f"loops at 3: {30 * RANKS}", self.assertSame("loops"))

    def test_ranks_that_sleep_with_their_turn(self):
        self.assertEqual(len(self.assertSame("sleepers").splitlines()), RANKS)

    def test_threads(self):
        self.assertSame("threads", ranks=4)

    def test_one_token(self):
        done = llf("run", "--tokens", 1, "--", *self.command("loops", 4))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("loops at 3: 120", done.stdout)

    def test_peers_without_the_shim(self):
        """Half of the ranks have none: collective operations have to match all the same."""
        both = [*self.launch, "-n", 2, self.program, "collectives", ":", "-n", 2, "env", "-u",
                "LD_PRELOAD", self.program, "collectives"]
        plain = run(*self.command("collectives", 4))
        mixed = llf("run", "--", *both)
        self.assertEqual(mixed.returncode, 0, mixed.stderr)
        self.assertEqual(sorted(mixed.stdout.splitlines()), sorted(plain.stdout.splitlines()))

    def test_spawned_peers(self):
        plain = run(*self.command("parents", 2))
        if "Error in spawn call" in plain.stderr + plain.stdout:
            self.skipTest(f"{self.name} cannot spawn processes on this machine")
        out = self.assertSame("parents", ranks=2)
        self.assertIn("parent 0: 202 101", out)
        self.assertIn("child 1: 202", out)

    def test_abort(self):
        plain = run(*self.command("abort"))
        shimmed = llf("run", "--", *self.command("abort"))
        self.assertEqual(plain.returncode, 7, plain.stderr)
        self.assertEqual(shimmed.returncode, 7, shimmed.stderr)

    def test_a_rank_that_is_killed(self):
        plain = run(*self.command("killed"))
        shimmed = llf("run", "--", *self.command("killed"))
        self.assertNotEqual(plain.returncode, 0)
        self.assertEqual(shimmed.returncode, plain.returncode, shimmed.stderr)

    def test_a_program_that_does_not_call_mpi(self):
        done = llf("run", "--", *self.command("nothing", 2))
        self.assertEqual((done.returncode, done.stdout), (0, "nothing of MPI\n" * 2))
        self.assertRegex(done.stderr, r"orrery: no process of '.*' has begun MPI through the shim")

    def test_a_shim_that_was_not_built(self):
        """The stub alone, as where the other MPI was not there."""
        alone = self.root / "alone"
        alone.mkdir(exist_ok=True)
        shutil.copy(BUILD / "bin/orrery-llf-mpi.so", alone)
        done = run(self.program, "corners", LD_PRELOAD=str(alone / "orrery-llf-mpi.so"),
                   ORRERY_LLF_GROUP=f"alone.{os.getpid()}")
        self.assertRefused(done, f"install the package lib{self.name}-dev and build orrery again")

    def test_status_and_clean(self):
        group = f"status.{self.name}.{os.getpid()}"
        words = [ORRERY, "llf", "run", "--group", group, "--", *self.command("wait", 3)]
        with started(words, stdin=subprocess.PIPE, env={**os.environ, **ROOT}) as running:
            shown = ""
            for _ in range(PATIENCE_S * 10):
                shown = llf("status", group).stdout
                if shown.count("rank-") == 3 and re.search(r"rank-[12]\S* +\d+ +waiting", shown):
                    break
                time.sleep(0.1)
            self.assertRegex(shown, r"federate +process +state +LVT +unread")
            self.assertRegex(shown, r"rank-2\S* +\d+ +\w+ +\d+ +none")
            self.assertRegex(llf("status").stdout, rf"{re.escape(group)} +3\b")
            self.assertRefused(llf("clean", group), f"group '{group}' has federates that live")
            running.communicate(b"x", timeout=PATIENCE_S)
            self.assertEqual(running.returncode, 0)
        self.assertNotIn(group, llf("status").stdout)
        self.assertRefused(llf("status", group), f"there is no group '{group}'")


class OpenMpi(Programs, ScratchCase):
    name = "openmpi"
    launch = ("mpirun.openmpi", "--oversubscribe")


class Mpich(Programs, ScratchCase):
    name = "mpich"
    launch = ("mpirun.mpich",)


class WrongInput(ScratchCase):
    def test_words(self):
        for words, pattern in (
                ([], r"'orrery llf' needs 'run -- COMMAND', 'status"),
                (["stop"], r"'orrery llf' needs 'run -- COMMAND', 'status"),
                (["status", "a", "b"], r"'orrery llf' needs 'run -- COMMAND', 'status"),
                (["clean", "--", "a"], r"'orrery llf' needs 'run -- COMMAND', 'status"),
                (["run"], r"'orrery llf run' needs a command"),
                (["run", "--"], r"'orrery llf run' needs a command"),
                (["run", "--", "no-such-program"], r"'no-such-program' cannot be started: No such file"),
                (["run", "--group", "a/b", "--", "true"], r"--group 'a/b' is no name of a group"),
                (["run", "--tokens", "none", "--", "true"], r"--tokens"),
                (["run", "--tokens", "0", "--", "true"], r"--tokens"),
                (["status", "--tokens", "2"], r"--group and --tokens are for 'orrery llf run'"),
                (["status", "no.such.group"], r"there is no group 'no.such.group'"),
                (["clean", "no/name"], r"is no name of a group")):
            with self.subTest(words=words):
                self.assertRefused(llf(*words), pattern)

    def test_exit_codes_and_words_are_the_commands(self):
        self.assertEqual(llf("run", "--", "sh", "-c", "exit 5").returncode, 5)
        self.assertEqual(llf("run", "--", "sh", "-c", "kill -9 $$").returncode, 128 + signal.SIGKILL)
        self.assertEqual(llf("run", "--", "echo", "--out=", "--", "-n").stdout, "--out= -- -n\n")

    def test_signals_reach_the_command(self):
        words = [ORRERY, "llf", "run", "--", "sh", "-c",
                 "trap 'exit 9' TERM; echo there; while :; do sleep 0.1; done"]
        with started(words, stdout=subprocess.PIPE, text=True) as running:
            self.assertEqual(running.stdout.readline(), "there\n")
            running.terminate()
            self.assertEqual(running.wait(timeout=PATIENCE_S), 9)

    def test_signals_that_come_at_once_reach_the_command(self):
        """The command's first act is to send one, often before the launcher knows its number."""
        program = ("trap 'exit 9' TERM; kill -TERM $PPID; i=0; "
                   "while [ $i -lt 200 ]; do sleep 0.05; i=$((i+1)); done")
        for _ in range(100):
            self.assertEqual(llf("run", "--", "sh", "-c", program).returncode, 9)

    def test_signals_that_are_ignored_stay_so(self):
        program = "kill -HUP $PPID; kill -HUP $$; exit 4"
        done = run("sh", "-c", 'trap "" HUP; exec "$@"', "sh", ORRERY, "llf", "run", "--", "sh", "-c", program)
        self.assertEqual(done.returncode, 4, done.stderr)

    def test_a_command_without_its_stub(self):
        alone = self.root / "orrery"
        shutil.copy(ORRERY, alone)
        self.assertRefused(run(alone, "llf", "run", "--", "true"), "orrery-llf-mpi.so, which .* is not there")

    @unittest.skipIf(shutil.which("cc") is None, "there is no cc")
    def test_an_mpi_that_there_is_no_shim_for(self):
        (self.root / "toy.c").write_text(TOY)
        (self.root / "user.c").write_text(USER_OF_TOY)
        library = self.root / "libtoy.so"
        done = run("cc", "-shared", "-fPIC", self.root / "toy.c", "-o", library)
        self.assertEqual(done.returncode, 0, done.stderr)
        done = run("cc", self.root / "user.c", library, f"-Wl,-rpath,{self.root}", "-o", self.root / "user")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(run(self.root / "user").returncode, 0)
        self.assertRefused(llf("run", "--", self.root / "user"), "uses the MPI 'Toy MPI 1.0'; there are shims")

    def test_groups_that_nobody_lives_in(self):
        left = pathlib.Path(f"/dev/shm/orrery-llf.{os.geteuid()}.left.{os.getpid()}")
        left.touch()
        self.addCleanup(left.unlink, missing_ok=True)
        done = llf("clean")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"^\d+ groups? removed$")
        self.assertFalse(left.exists())
        self.assertEqual(llf("clean", "no.such.group").returncode, 0)


if __name__ == "__main__":
    unittest.main()
