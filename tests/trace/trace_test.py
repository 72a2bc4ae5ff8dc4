#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Traces of runs, seen from outside. Needs ORRERY (the command), SHOP (a model) and SANITIZE in the
environment; ctest sets them. Files are decoded by tools/trace_packets.py, and where the package
perfetto of pip is installed by its classes, too."""

import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
from trace_packets import BEGIN, END, EVENT, Trace, only

try:
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2
except ImportError:
    perfetto_trace_pb2 = None

ORRERY = os.environ["ORRERY"]
SHOP = os.environ["SHOP"]
PATIENCE_S = 300
SMALL = ["phold", "--until", "20s", "--set", "lps=32", "lookahead=100ms"]
CROSSING = ["phold", "--until", "30s", "--set", "lps=64", "remote=0.9"]


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="orrery-trace-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.traces = 0

    def run_any(self, *words, locale="C"):
        return subprocess.run([ORRERY, *map(str, words)], stdin=subprocess.DEVNULL,
                              env=os.environ | {"LC_ALL": locale}, encoding="utf-8",
                              capture_output=True, timeout=PATIENCE_S, check=False)

    def ok(self, *words, code=0):
        done = self.run_any(*words)
        self.assertEqual(done.returncode, code, f"{words}: {done.stderr}")
        return done

    def file(self, *words):
        """The file of a run's trace."""
        self.traces += 1
        path = self.folder / f"{self.traces}.pftrace"
        self.last = self.ok("run", *words, "--quiet", "--trace", path).stdout
        return path

    def trace(self, *words):
        return Trace(self.file(*words))

    def assertRefused(self, words, pattern, code=2):
        done = self.run_any(*words)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertRegex(done.stderr, pattern)


class Committed(Case):
    """What is committed is the same bytes on all engines."""

    ENGINES = [["sequential"], ["checker"], ["conservative", "--workers", "1"],
               ["conservative", "--workers", "2"], ["timewarp", "--workers", "1"],
               ["timewarp", "--workers", "2"], ["timewarp", "--workers", "3"],
               ["expanded", "--workers", "2"], ["auto", "--hand-over-every", "150"]]

    def assertSameEverywhere(self, words):
        plain = self.trace(*words, "--engine", "sequential")
        for engine in self.ENGINES[1:]:
            with self.subTest(engine=engine):
                other = self.trace(*words, "--engine", *engine)
                self.assertEqual(other.committed_bytes, plain.committed_bytes)
        return plain

    def test_model_without_tables(self):
        trace = self.assertSameEverywhere(SMALL)
        self.assertGreater(len(trace.handled()), 300)

    def test_model_with_tables_and_timers(self):
        trace = self.assertSameEverywhere(["pcs", "--until", "3min", "--set", "cells=9",
                                           "handoff_delay=100ms"])
        self.assertGreater(len({event.name for event in trace.handled()}), 3)

    def test_events_that_last(self):
        words = ["null", "--set", "modules=8", "events=20", "work=10"]
        plain = self.trace(*words, "--engine", "sequential")
        self.assertTrue(all(event.kind == BEGIN and event.notes["duration"] > 0
                            for event in plain.handled()))
        for engine in [["expanded", "--workers", "2"], ["timewarp", "--workers", "2"]]:
            with self.subTest(engine=engine):
                self.assertEqual(self.trace(*words, "--engine", *engine).committed_bytes,
                                 plain.committed_bytes)

    def test_over_ranks(self):
        plain = self.trace(*SMALL, "--engine", "sequential")
        for engine in ["timewarp", "conservative"]:
            with self.subTest(engine=engine):
                other = self.trace(*SMALL, "--engine", engine, "--ranks", "2", "--workers", "1")
                self.assertEqual(other.committed_bytes, plain.committed_bytes)
                self.assertEqual({event.sequence for event in other.life()}, {2, 3})

    def test_holds_each_event_that_was_committed_once(self):
        report = self.folder / "out"
        trace = self.trace(*SMALL, "--out", report)
        run = json.loads((report / "report.json").read_text())["run"]
        self.assertEqual(len(trace.handled()), run["committed"])
        self.assertEqual(trace.tail(), {"events": len(trace.handled()), "whole": 1})
        keys = [(e.notes["ticks"], e.notes.get("microstep", 0), e.notes["sender"], e.notes["send"])
                for e in trace.handled()]
        self.assertEqual(keys, sorted(set(keys)))

    def test_changes_no_result(self):
        out = [self.folder / "with", self.folder / "without"]
        self.ok("run", SHOP, "--quiet", "--out", out[0], "--trace", self.folder / "t")
        self.ok("run", SHOP, "--quiet", "--out", out[1])
        for name in ["looks.csv", "sales.csv"]:
            self.assertEqual((out[0] / name).read_bytes(), (out[1] / name).read_bytes())

    def test_fault_is_where_it_ends(self):
        files = []
        for i, engine in enumerate(["sequential", "timewarp"]):
            files.append(self.folder / f"fault-{i}")
            self.ok("run", SHOP, "--set", "fail_at=20", "--engine", engine, "--workers", "2",
                    "--trace", files[-1], code=3)
        self.assertEqual(Trace(files[0]).committed_bytes, Trace(files[1]).committed_bytes)

    def test_resumed_run_is_traced_from_its_snapshot_on(self):
        whole = self.trace(*SMALL)
        out = self.folder / "out"
        first = self.trace(*SMALL, "--out", out, "--snapshot-at", "8s", "--end-after-snapshot")
        rest = self.folder / "rest"
        self.ok("resume", out, "--trace", rest)
        bodies = [[packet for packet in trace.committed_bytes if only(packet, EVENT)][1:-1]
                  for trace in (first, Trace(rest), whole)]
        self.assertEqual(len(bodies[0]) + len(bodies[1]), len(bodies[2]))


class Structure(Case):
    """What the viewer relies on."""

    def assertWhole(self, trace):
        open_, last, began, ended = collections.defaultdict(list), {}, set(), set()
        for event in trace.events:
            self.assertIn(event.track, trace.tracks)
            self.assertIn(trace.tracks[event.track][1], {None} | set(trace.tracks))
            self.assertGreaterEqual(event.time, last.get(event.track, 0))
            last[event.track] = event.time
            if event.kind == BEGIN:
                self.assertTrue(event.name)
                open_[event.track].append(event.time)
            elif event.kind == END:
                self.assertGreaterEqual(event.time, open_[event.track].pop())
            for flow in event.ends:
                self.assertIn(flow, began)
                self.assertNotIn(flow, ended)
                ended.add(flow)
            for flow in event.flows:
                self.assertNotIn(flow, began)
                began.add(flow)
        self.assertFalse(any(open_.values()), "each slice ends")
        self.assertEqual(began, ended, "each arrow leads somewhere")
        self.assertParses(trace)
        return began

    def assertParses(self, trace):
        if perfetto_trace_pb2 is None:
            return
        parsed = perfetto_trace_pb2.Trace()
        self.assertEqual(parsed.ParseFromString(trace.bytes), len(trace.bytes))
        self.assertEqual(len(parsed.packet), len(trace.packets))
        for packet in parsed.packet:
            self.assertTrue(packet.IsInitialized())
            self.assertTrue(packet.HasField("track_event") or packet.HasField("track_descriptor"))
        known = parsed.ByteSize()
        parsed.DiscardUnknownFields()
        self.assertEqual(parsed.ByteSize(), known)

    def test_engines(self):
        for engine in [["sequential"], ["conservative", "--workers", "2"],
                       ["timewarp", "--workers", "2"], ["expanded", "--workers", "2"],
                       ["auto", "--hand-over-every", "300"]]:
            with self.subTest(engine=engine):
                trace = self.trace(*SMALL, "--engine", *engine)
                flows = self.assertWhole(trace)
                # All but the first events of LPs, whose cause is start().
                self.assertEqual(len(flows), len(trace.handled()))

    def test_rollbacks_and_ranks(self):
        self.assertWhole(self.trace(*CROSSING, "--engine", "timewarp", "--workers", "2",
                                    "--checkpoint", "periodic:7"))
        self.assertWhole(self.trace(*CROSSING, "--engine", "timewarp", "--ranks", "2"))

    def test_interrupted_handlers(self):
        """With preemption wherever handlers call the platform."""
        self.assertWhole(self.trace(*CROSSING, "--engine", "timewarp", "--workers", "2",
                                    "--preempt", "both", "--tick", "50us"))

    def test_events_that_last(self):
        self.assertWhole(self.trace("null", "--set", "modules=8", "events=50", "work=10",
                                    "--engine", "expanded", "--workers", "2"))

    def test_flows_are_those_of_causes(self):
        """The sender of an event is the LP that its arrow comes from."""
        trace = self.trace(*SMALL)
        cause = {flow: event for event in trace.committed() for flow in event.flows}
        for event in trace.handled():
            sender = cause[event.ends[0]]
            self.assertEqual(trace.tracks[sender.track][0], f"LP {event.notes['sender']}")
            first = sender.notes["first send"]
            self.assertIn(event.notes["send"], range(first, first + sender.notes["sends"]))

    @unittest.skipIf(perfetto_trace_pb2 is None, "the package perfetto of pip is not installed")
    def test_perfetto_reads_every_packet(self):
        self.assertParses(self.trace(*SMALL))


class Life(Case):
    """What the engines did."""

    def test_time_warp(self):
        plain = self.trace(*CROSSING, "--engine", "sequential")
        for _ in range(20):  # until the two have met
            trace = self.trace(*CROSSING, "--engine", "timewarp", "--workers", "2")
            self.assertEqual(trace.committed_bytes, plain.committed_bytes)
            self.assertIn("GVT round", trace.names_of_life())
            if "rollback" in trace.names_of_life():
                break
        rollbacks = [event for event in trace.life() if event.name == "rollback"]
        undone = sum(event.notes["undone"] for event in rollbacks)
        executed = sum(event.kind == BEGIN and event.name == plain.handled()[0].name
                       for event in trace.life())
        self.assertEqual(executed, len(plain.handled()) + undone)

    def test_checkpoints_and_coasting(self):
        names = set()
        for _ in range(20):
            names |= self.trace(*CROSSING, "--engine", "timewarp", "--workers", "2",
                                "--checkpoint", "periodic:7").names_of_life()
            if "coasting forward" in names:
                break
        self.assertLessEqual({"checkpoint", "rollback", "restore", "coasting forward"}, names)

    def test_tracks(self):
        trace = self.trace(*SMALL, "--engine", "timewarp", "--workers", "2")
        names = {name for name, _ in trace.tracks.values()}
        self.assertLessEqual({"LPs (simulated time)", "workers (wall-clock time)", "run",
                              "worker 0", "worker 1", "GVT", "committed", "LP 0", "LP 31"}, names)

    def test_hand_overs(self):
        trace = self.trace(*SMALL, "--engine", "auto", "--hand-over-every", "100",
                           "--candidates", "sequential,timewarp:2")
        self.assertLessEqual({"sequential", "timewarp", "set-up", "finish"}, trace.names_of_life())

    def test_expanded_and_conservative(self):
        null = ["null", "--set", "modules=8", "events=200", "work=10", "--engine", "expanded",
                "--workers", "2", "--expanded-mode", "batched"]
        self.assertLessEqual({"batched block", "batch"}, self.trace(*null).names_of_life())
        names = self.trace(*SMALL, "--engine", "conservative", "--workers", "2").names_of_life()
        self.assertIn("GVT round", names)


class Limits(Case):
    def test_size(self):
        """A trace that is full ends at the same event on every engine, and says where."""
        words = ["phold", "--until", "60s", "--set", "lps=64", "--trace-size", "100KiB"]
        plain = self.trace(*words, "--engine", "sequential")
        self.assertLessEqual(len(plain.bytes), 100 << 10)
        self.assertGreater(len(plain.bytes), 40 << 10)
        self.assertRegex(self.last, r"the trace holds all committed events before \S+ s")
        self.assertRegex(self.last, r"records of the workers' activity did not fit into the trace")
        tail = plain.tail()
        self.assertEqual((tail["whole"], tail["events"]), (0, len(plain.handled())))
        self.assertLessEqual(plain.committed()[-1].notes["ticks"], tail["until"])
        for engine in [["timewarp", "--workers", "2"], ["expanded", "--workers", "2"]]:
            other = self.trace(*words, "--engine", *engine)
            self.assertEqual(other.committed_bytes, plain.committed_bytes)
            self.assertLessEqual(len(other.bytes), 100 << 10)

    def test_lps_and_times(self):
        words = [*SMALL, "--trace-lps", "3..5,9", "--trace-from", "5s", "--trace-to", "12s"]
        trace, whole = self.trace(*words), self.trace(*SMALL)
        lps = {f"LP {lp}" for lp in (3, 4, 5, 9)}
        self.assertEqual({trace.tracks[event.track][0] for event in trace.committed()}, lps)

        def key(event, of):
            return (of.tracks[event.track][0], event.notes["ticks"], event.notes["fingerprint"])
        expected = [key(event, whole) for event in whole.handled()
                    if whole.tracks[event.track][0] in lps and
                    5 * 10**9 <= event.notes["ticks"] < 12 * 10**9]
        self.assertEqual([key(event, trace) for event in trace.committed()], expected)
        self.assertEqual(self.trace(*words, "--engine", "timewarp", "--workers", "2")
                         .committed_bytes, trace.committed_bytes)

    def test_what_is_refused(self):
        run = ["run", "phold", "--until", "1s", "--trace", self.folder / "t"]
        for words, pattern in [
                (["--trace-lps", "5..3"], "a range goes from the lower"),
                (["--trace-lps", "x"], "--trace-lps"),
                (["--trace-lps", "99999999"], "there is no LP 99999999"),
                (["--trace-from", "soon"], "--trace-from needs a simulated time"),
                (["--trace-from", "2s", "--trace-to", "1s"], "nothing lies between"),
                (["--trace-size", "1"], "--trace-size"),
        ]:
            with self.subTest(words=words):
                self.assertRefused([*run, *words], pattern)
        self.assertRefused(["run", "phold", "--trace-lps", "1"], "--trace-lps needs --trace")
        other = self.folder / "letter.txt"
        other.write_text("Dear Ada")
        self.assertRefused([*run[:-1], other], "is no trace of orrery, so it is not replaced")
        self.assertEqual(other.read_text(), "Dear Ada")
        self.assertRefused([*run[:-1], self.folder / "none" / "t"], "cannot")
        under_way = self.folder / "t.part"  # of another run
        under_way.write_text("half of a trace")
        self.assertRefused([*run, "--stop-when", "nothing.mean > 1"], "--stop-when")
        self.assertEqual(under_way.read_text(), "half of a trace")

    def test_replaces_a_trace_and_leaves_nothing_half_written(self):
        path = self.file(*SMALL)
        self.ok("run", *SMALL, "--seed", "2", "--trace", path)
        self.assertEqual([name.name for name in self.folder.iterdir()], [path.name])


class Diff(Case):
    def diff(self, a, b, code):
        return self.ok("trace", "diff", a, b, code=code).stdout

    def test_equal(self):
        a = self.file(*SMALL, "--engine", "sequential")
        b = self.file(*SMALL, "--engine", "timewarp", "--workers", "2")
        events = len(Trace(a).handled())
        self.assertEqual(self.diff(a, b, 0), f"the same {events:,} committed events\n")

    def test_seeds(self):
        a, b = self.file(*SMALL), self.file(*SMALL, "--seed", "2")
        text = self.diff(a, b, 1)
        self.assertIn("A has seed 1, B seed 2", text)
        self.assertRegex(text, r"the same \d+ committed events, and then")

    def test_names_the_first_that_differs(self):
        """Found again by comparing the two by hand."""
        a = self.file("pcs", "--until", "2min", "--set", "cells=9")
        b = self.file("pcs", "--until", "2min", "--set", "cells=9", "channels=11")
        text = self.diff(a, b, 1)
        one, two = Trace(a), Trace(b)
        pairs = list(zip(one.committed(), two.committed()))
        place = next((i for i, (x, y) in enumerate(pairs)
                      if (one.tracks[x.track], x.name, x.notes) !=
                      (two.tracks[y.track], y.name, y.notes)), None)
        starts = len(one.committed()) - len(one.handled())
        self.assertIn(f"the same {place - starts:,} committed events, and then", text)
        event = pairs[place][0]
        self.assertIn(f"{one.tracks[event.track][0]}, {event.name} at", text)
        self.assertIn("A has channels=50, B channels=11\n", text)

    def test_one_ends_sooner(self):
        a, b = self.file(*SMALL), self.file(*SMALL[:2], "10s", *SMALL[3:])
        text = self.diff(a, b, 1)
        self.assertIn("it is missing in B", text)
        self.assertIn("B has no more events", text)
        self.assertIn("it is missing in A", self.diff(b, a, 1))
        self.assertRegex(text, r"before it at that LP, the same in both:\n  LP \d+, ")
        self.assertRegex(text, r"its cause:\n  LP \d+, ")

    def test_limited(self):
        a, b = self.file(*SMALL), self.file(*SMALL, "--trace-size", "64KiB")
        text = self.diff(a, b, 0)
        self.assertRegex(text, r"the same \d+ committed events; the size of .* was limited")

    def test_what_is_refused(self):
        a = self.file(*SMALL)
        for words, pattern in [
                ([], "'orrery trace' needs"), (["diff", a], "'orrery trace' needs"),
                (["paint", a], "'orrery trace' needs"),
                (["info", self.folder / "none"], "cannot read trace"),
                (["info", __file__], "is no trace"), (["info", self.folder], "is no trace"),
                (["diff", a, self.file(*CROSSING, "--trace-lps", "1")], "cannot be compared"),
                (["diff", a, self.file("null", "--set", "events=3")], "one is of model phold"),
                (["info", a, "--limit", "3"], "--limit is for 'orrery trace show'"),
                (["show", a, "--limit", "0"], "--limit"),
        ]:
            with self.subTest(words=words):
                self.assertRefused(["trace", *words], pattern)

    def test_damage(self):
        whole = self.file(*SMALL).read_bytes()
        path = self.folder / "damaged"
        for size in [0, 1, 100, 1500, len(whole) // 5]:
            path.write_bytes(whole[:size])
            with self.subTest(size=size):
                self.assertRefused(["trace", "info", path], "is no trace|is damaged, or not all")
        for at in range(1200, 20000, 501):
            path.write_bytes(whole[:at] + b"\xff\xff\xff" + whole[at + 3:])
            done = self.run_any("trace", "info", path)
            self.assertIn(done.returncode, (0, 2), done.stderr)


class Show(Case):
    def test_chart(self):
        path = self.file(*SMALL)
        text = self.ok("trace", "show", path, "--lps", "0..3", "--from", "1s", "--limit",
                       "12").stdout
        lines = text.splitlines()
        self.assertRegex(lines[0], r"time +LP \d")
        self.assertEqual(len(lines), 14)
        self.assertTrue(all(len(line) <= 120 for line in lines))
        self.assertRegex(lines[-1], "more events of these LPs follow")
        self.assertRegex(text, "sent at")
        # Nor is there a column for others that sent to these.
        self.assertLessEqual(set(re.findall(r"LP (\d+)", lines[0])), set("0123"))
        self.assertRegex(text, r"from LP \d")

    def test_arrows(self):
        """From the sender's column to that of the event."""
        path = self.file("phold", "--until", "10s", "--set", "lps=2", "remote=1")
        text = self.run_any("trace", "show", path).stdout
        self.assertRegex(text, r"\+-+>o")
        self.assertRegex(text, r"o<-+\+")
        text = self.run_any("trace", "show", path, locale="C.UTF-8").stdout
        self.assertRegex(text, "├─+▶●")
        self.assertRegex(text, "●◀─+┤")

    def test_info(self):
        path = self.file(*SMALL, "--engine", "timewarp", "--workers", "2")
        text = self.ok("trace", "info", path).stdout
        self.assertIn(f"{len(Trace(path).handled()):,} committed events, from ", text)
        self.assertRegex(text, r"GVT round +\d")

    def digest(self, path):
        return re.search(r"^digest (0x[0-9a-f]{16})$", self.ok("trace", "info", path).stdout,
                         re.MULTILINE).group(1)

    def test_the_digest_says_whether_events_differ(self):
        a = self.digest(self.file(*SMALL))
        self.assertEqual(a, self.digest(self.file(*SMALL, "--engine", "timewarp", "--workers", "2")))
        self.assertNotEqual(a, self.digest(self.file(*SMALL, "--seed", "2")))

    def test_nothing_to_show(self):
        path = self.file(*SMALL, "--trace-from", "90s")
        self.assertIn("no event of the trace", self.ok("trace", "show", path).stdout)
        self.assertIn("0 committed events", self.ok("trace", "info", path).stdout)


if __name__ == "__main__":
    unittest.main()
