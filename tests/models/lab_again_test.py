#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs of the laboratory that repeat an earlier one: sessions at a shell, typed by a script and killed
anywhere, are the same again on another engine with another window; what has changed is refused.

Environment: as lab_test.py. SESSIONS: how many sessions are killed (3).
"""
import os
import random
import re
import shutil
import signal
import subprocess
import unittest

from lab_test import HAS_QEMU_LINUX, KERNEL, NEEDS_HOSTS, ORRERY, PATIENCE_S, Case, frames

SESSIONS = int(os.environ.get("SESSIONS", "3"))
PINGS = "ping -c 200 -i 0.05 10.0.0.2"
# What is random on a host, depends on times, or fills the network.
LINES = ["echo $RANDOM $$ $(hostname)", "date +%s.%N", "head -c 8 /dev/urandom | od -An -tx1",
         "ping -c 3 -i 0.1 10.0.0.1", "ip neigh", "ps | wc -l; cat /proc/uptime", "sleep 0.3; jobs",
         "for i in 1 2 3; do echo $i; sleep 0.05; done", "ls -la /proc | head -c 900",
         "ping -c 1 -s 1400 10.0.0.1 | tail -1"]


class Session:
    """A run with a shell on host b. A line is typed when the shell has said something since the line
    before, so nothing waits for the clock."""

    def __init__(self, words):
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, start_new_session=True)
        self.said = b""

    def type(self, line):
        self.read_until(self.is_prompted)
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()
        self.read_until(lambda: line.encode() in self.said)

    def is_prompted(self):
        """Busybox asks for the place of the cursor behind its prompt."""
        return self.said.removesuffix(b"\x1b[6n").endswith(b"b# ")

    def read_until(self, is_enough):
        while not is_enough():
            part = os.read(self.process.stdout.fileno(), 65536)
            if not part:
                raise AssertionError(f"the session has ended after {self.said}")
            self.said += part

    def kill(self):
        """Returns all that the session has said."""
        os.killpg(self.process.pid, signal.SIGKILL)  # `orrery lab` is a script
        self.process.stdin.close()
        with self.process.stdout:
            self.said += self.process.stdout.read()
        self.process.wait()
        return self.said


class AgainCase(Case):
    def repeat(self, *words, of="first", folder="again"):
        return subprocess.run([ORRERY, "run", "lab", "--quiet", "--set", f"again={self.folder / of}",
                               f"folder={self.folder / folder}", *words], capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=PATIENCE_S, check=False)

    def log(self, folder="first"):
        return self.folder / folder / "run.log"

    def records(self, folder="first"):
        head, records = self.log(folder).read_bytes().split(b"\nbegin\n")
        self.assertTrue(head.startswith(b"orrery lab 1\n"))
        return records.split(b"\n")[:-1]

    def end_ns(self, folder="first"):
        return max(int(one.split()[1]) for one in self.records(folder))

    def said(self, done, code=0):
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stderr.decode()

    def left(self, folder):
        return {str(path.relative_to(self.folder / folder)): path.read_bytes()
                for path in (self.folder / folder).glob("*/*")
                if path.name == "console" or path.suffix == ".pcap"}

    def topology(self):
        return self.two(PINGS)

    def session(self, *words, folder="first"):
        return Session(self.words(self.topology(), "shell=b", "rate=5", "--engine", "sequential",
                                  "--until", "1000s", *words, folder=folder))

    def compare(self, killed, said):
        """Repeats what was killed, and a second in which nothing was typed."""
        until = f"{self.end_ns(killed) + 1_000_000_000}ns"
        fingerprints, left = set(), []
        for name, words in (("one", ["--engine", "sequential"]),
                            ("two", ["--engine", "conservative", "window=333us"])):
            sets = [word for word in words if "=" in word]
            done = self.repeat(*sets, f"again_until={until}", "--until", until,
                               *(word for word in words if word not in sets), of=killed, folder=name)
            self.said(done)
            self.assertTrue(done.stdout.startswith(said), (said, done.stdout))
            fingerprints.add(re.search(rb"fingerprint +(0x\w+)", done.stdout)[1])
            left.append(self.left(name))
            self.assertLessEqual(set(self.records(killed)), set(self.records(name)))
        self.assertEqual(len(fingerprints), 1)
        self.assertEqual(left[0], left[1])

    def kill_sessions(self, count, lines):
        for seed in range(count):
            with self.subTest(seed=seed):
                chance = random.Random(seed)
                session = self.session()
                for _ in range(chance.randint(1, 5)):
                    session.type(chance.choice(lines))
                enough = len(session.said) + chance.randint(0, 60)
                session.read_until(lambda: len(session.said) >= enough or session.is_prompted())
                said = session.kill()
                log = self.log().read_bytes()
                # As if it had been killed while it wrote its last record.
                last = log[:-1].rfind(b"\n") + 1
                self.log().write_bytes(log[:len(log) - chance.randint(0, len(log) - last)])
                # The record that was cut may be that of a line, which is not typed again then.
                if b"typed" not in log[last:] or self.log().read_bytes() == log:
                    self.compare("first", said)


@NEEDS_HOSTS
class Again(AgainCase):
    def test_sessions_that_are_killed_anywhere_are_repeated(self):
        self.kill_sessions(SESSIONS, LINES)

    def test_a_session_that_goes_on_is_one_session(self):
        session = self.session()
        session.type("echo $RANDOM")
        session.kill()
        for i in range(2):
            records = self.records()
            session = Session([ORRERY, "lab", "again", str(self.folder / "first")])
            session.type(f"echo more{i} $RANDOM")
            session.read_until(lambda: re.search(rb"more%d \d+\r\n" % i, session.said))
            said = session.kill()
            self.assertLess(set(records), set(self.records()))
        self.assertEqual(re.findall(rb"(more\d) \d+\r\n", said), [b"more0", b"more1"])
        self.compare("first", said)

    def test_a_fork_has_other_events_from_a_time_on(self):
        topology = self.two(PINGS)
        self.fingerprint(self.run_lab(topology, "--until", "4s", folder="first"))
        cut = self.folder / "cut.toml"
        cut.write_text('[[event]]\nat = "2500ms"\nlink = ["a", "b"]\nup = false\n')
        done = subprocess.run([ORRERY, "lab", "again", str(self.folder / "first"), "--until", "2s",
                               f"folder={self.folder / 'fork'}", f"events={cut}"],
                              capture_output=True, timeout=PATIENCE_S, check=False)
        self.said(done)
        before = list(frames(self.folder / "first/a/eth0.pcap"))
        after = list(frames(self.folder / "fork/a/eth0.pcap"))
        begin, down = 2_000_000_000, 2_500_000_000
        self.assertTrue(all(at >= begin for at, _ in after), "no captures before 2 s")
        self.assertEqual([one for one in after if one[0] < down],
                         [one for one in before if begin <= one[0] < down])
        self.assertGreater(max(at for at, _ in before), down + 10**9)
        self.assertFalse([at for at, frame in after if at > down + 2 * 10**7 and frame[23:24] == b"\1"
                          and frame[34:35] == b"\0"], "no echo comes back over a link that is down")
        # A fork can be repeated like any run.
        done = self.repeat("--until", "4s", of="fork", folder="fork again")
        self.said(done)
        self.assertEqual(set(self.records("fork")), set(self.records("fork again")))

        for text, why in (('at = "1s"\nlink = ["a", "b"]\nup = false', "repeats an earlier one up to 2"),
                          ('at = "3s"\nhost = "a"\ncommand = "true"', "has no 'command'")):
            cut.write_text(f"[[event]]\n{text}\n")
            done = self.repeat("again_until=2s", f"events={cut}", folder="not")
            self.assertIn(why, self.said(done, 2))

    def test_a_repetition_that_differs_ends_with_the_name_of_the_host(self):
        self.fingerprint(self.run_lab(self.two(PINGS), "--until", "2s", folder="first"))
        text = self.log().read_text()
        self.said(self.repeat("--until", "2s"))
        self.assertIn("sent 600000000 b ", text)
        for new in ("", "sent 600000000 b 0123456789abcdef\n", "sent 610000000 b 0\n"):
            self.log().write_text(re.sub(r"sent 600000000 b \w+\n", new, text))
            self.assertRegex(self.said(self.repeat("--until", "2s"), 3),
                             "host b does something else than in the run that is repeated, .* 0.[67]")

    def test_what_has_changed_is_refused_by_name(self):
        tool = self.folder / "tool"
        tool.write_text("one\n")
        topology = self.two("cat /tool")
        topology.write_text(topology.read_text().replace(
            'name = "a"', 'name = "a"\nfiles = { "/tool" = "tool" }'))
        beside = self.folder / "kernel"
        beside.mkdir()
        for name in ("linux", "enter", "init", "off", "as", "shell", "olsrd"):
            shutil.copy(KERNEL.parent / name, beside / name)
        self.fingerprint(self.run_lab(topology, "--until", "1s", folder="first",
                                      kernel=beside / "linux"))
        self.said(self.repeat("--until", "1s"))
        for path, why in ((tool, f"the file /tool of host a '{tool}' has changed since"),
                          (topology, f"the file '{topology}' has changed since"),
                          (beside / "off", f"the hosts' program '{beside}/off' has changed since")):
            content = path.read_bytes()
            path.write_bytes(content + b"\n")
            self.assertIn(why, self.said(self.repeat("--until", "1s"), 2))
            path.write_bytes(content)
        log = self.log().read_text()
        self.log().write_text(re.sub(r"sees \w+ the program", "sees 00 the program", log))
        self.assertRegex(self.said(self.repeat("--until", "1s"), 2),
                         "the program '.*orrery' has changed since")
        self.log().write_text(log)
        self.assertIn("add --seed 1", self.said(self.repeat("--seed", "2"), 2))
        self.assertIn("'shell' was '', and cannot be another", self.said(self.repeat("shell=b"), 2))
        self.assertIn("folder=NEW", self.said(self.repeat("again_until=1ms", folder="first"), 2))


@NEEDS_HOSTS
@unittest.skipUnless(HAS_QEMU_LINUX, "there is no QEMU with Linux (./dev lab --qemu)")
class AgainCounted(AgainCase):
    def topology(self):
        path = super().topology()
        path.write_text(path.read_text().replace('name = "b"', f"""name = "b"
machine = "qemu"
arch = "x86_64"
speed = "1 GHz"
root = "{KERNEL.parent}/x86_64/busybox" """))
        return path

    def test_sessions_on_a_counted_host_are_repeated(self):
        self.kill_sessions(max(1, SESSIONS // 10), LINES)


class AgainRefusals(AgainCase):
    def refused(self, text):
        self.log().parent.mkdir(exist_ok=True)
        self.log().write_bytes(text)
        said = self.said(self.repeat("check=yes"), 2)
        self.assertRegex(said, r"\Aorrery: [^\n]*\n\Z")
        return said

    def test_a_log_of_a_stranger(self):
        head = b"orrery lab 1\nseed 1\nuntil 60000000000\n"
        for text, why in (
                (b"", "its head has no end"),
                (b"\0" * 100, "its head has no end"),
                (b"orrery lab 2\n", "does not begin with 'orrery lab 1'"),
                (head, "its head has no end"),
                (head + b"begin", "its head has no end"),
                (head + b"seed -1\nbegin\n", "'-1' is no number"),
                (head + b"seed 99999999999999999999999\nbegin\n", "is no number"),
                (head + b"set folder /home\nbegin\n", "its log sets 'folder'"),
                (head + b"set rate fast\nbegin\n", "rate"),
                (head + b"set topology /no/such/file\nbegin\n", "/no/such/file"),
                (head + b"what\nbegin\n", "line 4, is no log of a run: unknown record"),
                (head + b"begin\ntyped 1 %zz\n", "'%' is not followed by two digits"),
                (head + b"begin\ntyped 1 %0\n", "'%' is not followed by two digits"),
                (head + b"begin\ntyped -5 a\n", "'-5' is no number"),
                (head + b"begin\ntyped 9 a\ntyped 8 a\n", "earlier than that of the record before"),
                (head + b"begin\ntyped 9 " + b"a" * 1401 + b"\n", "more than 1400 bytes"),
                (head + b"begin\nsize 9 abc\n", "a size has four bytes"),
                (head + b"begin\nrate 9 nan\n", "a rate is a number"),
                (head + b"begin\nrate 9 1e999\n", "a rate is a number"),
                (head + b"begin\nsent 0 a 0\n", "not later"),
                (head + b"begin\nsent 5 a 0\nsent 5 a 0\n", "not later"),
                (head + b"begin\nsent 5 a 0x\n", "'0x' is no number"),
                (head + b"begin\nrun 5\n", "unknown record")):
            self.assertIn(why, self.refused(text), text)

    def test_what_is_no_file(self):
        self.assertIn("no run to repeat", self.said(self.repeat("check=yes"), 2))
        done = subprocess.run([ORRERY, "lab", "again", str(self.folder)], capture_output=True,
                              timeout=PATIENCE_S, check=False)
        self.assertIn("it has no run.log", self.said(done, 2))
        self.log().parent.mkdir()
        os.mkfifo(self.log())
        self.assertIn("it is no file", self.said(self.repeat("check=yes"), 2))
        self.log().unlink()
        self.log().symlink_to("/etc/passwd")
        self.assertIn("cannot be read", self.said(self.repeat("check=yes"), 2))

    def test_ranks(self):
        self.log().parent.mkdir()
        self.log().write_bytes(b"orrery lab 1\nbegin\n")
        self.assertIn("needs one process", self.said(self.repeat("--ranks", "2"), 2))


if __name__ == "__main__":
    unittest.main()
