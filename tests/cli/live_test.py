#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--live, seen from outside: the page of a run that goes on, what it tells to whom, and that the run
is none the worse for it. Needs the environment of cli_test.py. Where chromium is installed, it shows
the page."""

import functools
import http.client
import json
import re
import signal
import socket
import time
import unittest
import urllib.parse

from browser import CHROMIUM, Browser
from cli_test import LONG, MISFIT, PATIENCE_S, SANITIZE, Case
from html_page import Page


class Reader:
    """Who has been given the address."""

    def __init__(self, address):
        parts = urllib.parse.urlsplit(address)
        self.address, self.port, self.path = address, parts.port, parts.path

    def ask(self, name, method="GET", **headers):
        """Status, headers and text; `name` begins with a slash where it is all of the path."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        path = name if name.startswith("/") else self.path + name
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, answer.headers, text

    def state(self, wait=False, look=0):
        status, headers, text = self.ask(f"state.json?wait={int(wait)}&look={look}")
        assert (status, headers["Content-Type"]) == (200, "application/json"), text
        return json.loads(text)

    def until(self, is_so):
        """The first state for which that is so."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            state = self.state(wait=True)
            if is_so(state):
                return state
        raise AssertionError("it did not come to that")

    def follow(self):
        """All states up to the end of the run."""
        states = []
        try:
            while not states or states[-1]["phase"] != "ended":
                states.append(self.state(wait=True))
        except OSError:
            pass  # it is gone
        return states


class LiveCase(Case):
    def start(self, *words, command="run"):
        """A run and its reader, when it has said where its page is."""
        process = self.popen(command, *words, "--live", "--quiet")
        line = process.stderr.readline()
        found = re.fullmatch(r"orrery: live at (http://127\.0\.0\.1:\d+/[0-9a-f]{32}/)\n", line)
        self.assertIsNotNone(found, line)
        return process, Reader(found[1])


class Address(LiveCase):
    def test_only_who_knows_it_is_told(self):
        process, reader = self.start(*LONG)
        good = f"127.0.0.1:{reader.port}"
        for path in ["/", "/state.json", "/favicon.ico", reader.path[:-2] + "/",
                     "/" + "0" * 32 + "/", "/" + "0" * 32 + "/stop", "/../" + reader.path]:
            for method in ["GET", "POST"]:
                status, _, text = reader.ask(path, method)
                self.assertEqual(status, 403, (path, method))
                self.assertNotIn("phold", text)
        self.assertEqual(reader.ask("", Host="evil.example")[0], 403)
        self.assertEqual(reader.ask("", Host=f"localhost:{reader.port}")[0], 200)
        self.assertEqual(reader.ask("", "PUT")[0], 405)
        self.assertEqual(reader.ask("none.such")[0], 404)
        self.assertEqual(reader.ask("stop")[0], 405)
        self.assertEqual(reader.ask("stop", "POST", Host=good, Origin="http://evil.example")[0], 403)
        self.assertEqual(reader.state()["phase"], "running")
        self.assertIsNone(process.poll())

    def test_is_on_the_loopback_address_alone(self):
        _, reader = self.start(*LONG)
        with open("/proc/net/tcp", encoding="ascii") as table:
            listening = [line.split()[1] for line in table if line.split()[3] == "0A"]
        ours = [place for place in listening if place.endswith(f":{reader.port:04X}")]
        self.assertEqual(ours, [f"0100007F:{reader.port:04X}"])

    def test_a_port_may_be_named(self):
        with socket.create_server(("127.0.0.1", 0)) as other:
            port = other.getsockname()[1]
            out = self.folder / "out"
            self.refused(2, "run", "phold", f"--live={port}", "--out", out,
                         says=[f"port {port}", "in use", "--live without a number"])
            self.assertFalse(out.exists())
        done = self.run_ok("run", "phold", "--until", "5s", f"--live={port}", "--json")
        self.assertIn(f"http://127.0.0.1:{port}/", done.err)
        json.loads(done.out)

    def test_refusals(self):
        for text in ["70000", "-1", "soon", "80x"]:
            self.refused(2, "run", "phold", f"--live={text}", says=["--live=PORT", f"'{text}'"])
        self.refused(2, "sweep", "phold", "--live", says=["no option '--live'"])
        self.refused(2, "compare", "phold", "--live", says=["no option '--live'"])

    def test_config_files_may_ask_for_it(self):
        config = self.folder / "live.ini"
        config.write_text("model = phold\nuntil = 5s\nlive = true\n")
        self.assertIn("orrery: live at ", self.run_ok("run", "--config", config, "--quiet").err)
        config.write_text("model = phold\nuntil = 5s\nlive = false\n")
        self.assertEqual(self.run_ok("run", "--config", config, "--quiet").err, "")


class States(LiveCase):
    def test_tell_how_the_run_goes(self):
        process, reader = self.start("pcs", "--until", "100000h", "--engine", "timewarp",
                                     "--workers", "2", "--set", "cells=64")
        first = reader.until(lambda state: state["committed"] > 0)
        state = reader.until(lambda state: state["look"] and state["look"]["number"] >= 2)
        self.assertEqual((state["phase"], state["end"], state["model"]), ("running", None, "pcs"))
        self.assertGreater(state["committed"], first["committed"])
        self.assertLessEqual(state["committed"], state["executed"])
        self.assertGreater(state["simulated_seconds"], 0)
        self.assertGreater(state["memory_bytes"], 1 << 20)
        self.assertEqual(state["horizon_seconds"], 100000 * 3600)
        self.assertAlmostEqual(state["share"], state["simulated_seconds"] / 3.6e8)
        progress = state["progress"]
        self.assertEqual(sorted(progress["committed"]), progress["committed"])
        self.assertEqual(progress["committed"][-1], state["committed"])
        look = state["look"]
        self.assertLessEqual(look["reached_seconds"], state["simulated_seconds"])
        self.assertGreater(look["metrics"]["call_duration"]["count"], 0)
        self.assertEqual(look["map"]["lps"], len(look["map"]["sent"]) * look["map"]["lps_a_cell"])
        self.assertEqual((look["map"]["owned_by"], look["map"]["owners"]), ("worker", 2))
        self.assertEqual(set(look["map"]["owner"]), {0, 1})
        self.assertNotIn("map", reader.state(look=look["number"])["look"])
        process.send_signal(signal.SIGTERM)
        end = reader.follow()[-1]
        self.assertEqual((end["phase"], end["end"]), ("ended", "interrupted"))
        self.assertEqual(process.wait(PATIENCE_S), 143)

    def test_the_page_stops_the_run(self):
        out = self.folder / "out"
        process, reader = self.start(*LONG, "--out", out)
        reader.until(lambda state: state["committed"] > 0)
        origin = {"Host": f"127.0.0.1:{reader.port}", "Origin": f"http://127.0.0.1:{reader.port}"}
        self.assertEqual(reader.ask("stop", "POST", **origin)[0], 202)
        states = reader.follow()
        self.assertEqual(process.wait(PATIENCE_S), 130)
        self.assertEqual(states[-1]["end"], "interrupted")
        report = self.report(out)
        self.assertEqual(report["run"]["end"], "interrupted")
        self.assertEqual(states[-1]["committed"], report["run"]["committed"])
        self.assertIn("0x" + report["run"]["fingerprint"], states[-1]["show"]["state"])

    def test_a_run_in_the_background_of_a_script_is_stopped_too(self):
        process = self.popen("run", *LONG, "--live", "--quiet",
                             preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
        reader = Reader(re.search(r"http://\S+", process.stderr.readline())[0])
        self.assertEqual(reader.ask("stop", "POST")[0], 202)
        self.assertEqual(process.wait(PATIENCE_S), 130)

    def test_a_fault_is_told(self):
        process, reader = self.start(MISFIT, "--set", "does=throw", "--until", "20s")
        states = reader.follow()
        self.assertEqual(process.wait(PATIENCE_S), 3)
        if states and states[-1]["phase"] == "ended":  # it may be over before anybody asks
            self.assertEqual(states[-1]["end"], "fault")
            self.assertIn("the wheel came off", states[-1]["sentence"])

    def test_short_runs_are_not_kept(self):
        done = self.run_ok("run", "phold", "--until", "1s", "--live")
        self.assertIn("orrery: live at ", done.err)

    def test_who_hangs_does_not_hold_the_run_up(self):
        process, reader = self.start(*LONG)
        silent = socket.create_connection(("127.0.0.1", reader.port))
        half = socket.create_connection(("127.0.0.1", reader.port))
        half.sendall(f"GET {reader.path} HTTP/1.1\r\nHost: 127.0".encode())
        deaf = socket.create_connection(("127.0.0.1", reader.port))
        deaf.sendall(f"GET {reader.path}state.json?wait=1 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
                     .encode())
        reader.until(lambda state: state["committed"] > 0)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(PATIENCE_S), 130)
        for one in [silent, half, deaf]:
            one.close()


class Runs(LiveCase):
    # Long enough to be looked at. Sanitizers take ten times as long for each event.
    HOURS, VALUES = (1.5, 110_000) if SANITIZE else (12, 800_000)

    @functools.cache  # one reference for all engines
    def reference(self, hours):
        return self.run_json("pcs", "--set", "cells=64", "--until", f"{hours}h", "--engine",
                             "sequential")

    def equal_while_it_is_looked_at(self, hours, *words):
        expected = self.reference(hours)
        process, reader = self.start("pcs", "--set", "cells=64", "--until", f"{hours}h", "--json",
                                     *words)
        states = reader.follow()
        out, err = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 0, err)
        report = json.loads(out)
        self.assertEqual(report["run"]["fingerprint"], expected["run"]["fingerprint"])
        self.assertEqual(report["metrics"], expected["metrics"])
        for state in states:
            self.assertLessEqual(state["committed"], report["run"]["committed"])

    def test_are_equal_on_all_engines(self):
        for engine, more in [("sequential", []), ("timewarp", ["--workers", "2"]),
                             ("conservative", ["--workers", "2"]), ("expanded", []),
                             ("auto", [])]:
            with self.subTest(engine=engine):
                self.equal_while_it_is_looked_at(self.HOURS, "--engine", engine, *more)

    def test_are_equal_over_ranks(self):
        self.equal_while_it_is_looked_at(self.HOURS / 2, "--engine", "timewarp", "--workers", "1",
                                         "--ranks", "2")

    def test_over_ranks_the_first_one_serves(self):
        process, reader = self.start(*LONG, "--engine", "timewarp", "--ranks", "2", "--workers", "1")
        state = reader.until(lambda state: state["look"])
        self.assertEqual(state["look"]["map"]["owned_by"], "rank")
        self.assertEqual(set(state["look"]["map"]["owner"]), {0, 1})
        for rank in [0, 1]:
            self.assertGreater(sum(sent for sent, owner in zip(state["look"]["map"]["sent"],
                                                               state["look"]["map"]["owner"])
                                   if owner == rank), 0)
        self.assertEqual(reader.ask("stop", "POST")[0], 202)
        self.assertEqual(process.wait(PATIENCE_S), 130)

    def test_the_checker_shows_what_it_can(self):
        process, reader = self.start(*LONG, "--engine", "checker")
        state = reader.until(lambda state: state["committed"] > 0)
        self.assertIn("checker does not give its LPs away", state["show"]["metrics"])
        self.assertIsNone(state["look"])
        self.assertEqual(reader.ask("stop", "POST")[0], 202)
        self.assertEqual(process.wait(PATIENCE_S), 130)

    def test_go_on_from_snapshots_without_a_page(self):
        words = [MISFIT, "--until", "400s"]
        expected = self.run_json(*words)
        out = self.folder / "out"
        process, _ = self.start(*words, "--out", out, "--snapshot-at", "100s",
                                "--end-after-snapshot")
        self.assertEqual(process.wait(PATIENCE_S), 0, process.stderr.read())
        self.run_ok("resume", out, "--quiet")
        self.assertEqual(self.report(out)["run"]["fingerprint"], expected["run"]["fingerprint"])

    def test_stop_for_their_metrics_and_take_snapshots_besides(self):
        words = ["pcs", "--set", "cells=64", "--until", "400h", "--stop-when",
                 f"power.count >= {self.VALUES}", "--stop-check", "1h"]
        expected = self.run_json(*words, "--engine", "sequential")
        out = self.folder / "out"
        process, reader = self.start(*words, "--engine", "timewarp", "--workers", "2", "--out", out,
                                     "--snapshot-every", "1h")
        reader.follow()
        self.assertEqual(process.wait(PATIENCE_S), 0, process.stderr.read())
        report = self.report(out)
        self.assertEqual(report["run"]["fingerprint"], expected["run"]["fingerprint"])
        self.assertEqual(report["notes"][0][:30], expected["notes"][0][:30])
        self.assertGreater(report["statistics"]["snapshots"]["value"], 0)


class Pages(LiveCase):
    def test_is_one_document(self):
        _, reader = self.start("phold", "--set", "remote=0.5", "--until", "100000000s")
        status, headers, text = reader.ask("")
        self.assertEqual((status, headers["Content-Type"]), (200, "text/html; charset=utf-8"))
        page = Page(text)
        self.assertEqual([one for one in page.references if not one.startswith("#")], ["data:,"])
        self.assertEqual(page.tags.count("script"), 1)
        self.assertEqual(page.row("remote")[1:3], ["0.5", "0.25"])
        policy = headers["Content-Security-Policy"]
        nonce = re.search(r"script-src 'nonce-([0-9a-f]+)'", policy)[1]
        self.assertIn(f'<script nonce="{nonce}">', text)
        self.assertNotRegex(text, r"<script>|<style>| style=| on\w+=")

    def browser(self):
        return Browser(self.folder / "browser", PATIENCE_S)

    @unittest.skipUnless(CHROMIUM, "chromium is not installed")
    def test_a_browser_shows_it(self):
        process, reader = self.start("pcs", "--set", "cells=64", "--until", "100000h", "--engine",
                                     "timewarp", "--workers", "2")
        with self.browser() as browser:
            browser.open(reader.address)
            browser.wait_for("map !== null && map.owners === 2")
            page = Page("<!DOCTYPE html>" + browser.value("document.documentElement.outerHTML"))
            self.assertIn("running", page.text)
            for name in ["Events a second", "Memory of the process"]:
                self.assertIn(name, page.labels)
            self.assertIn("64 LPs in the order of their numbers", page.text)
            self.assertGreater(page.row("power", "Metrics")[1], 0)
            browser.value("by('byowner').click()")
            self.assertIn("worker 1", browser.value("by('legend').textContent"))
            for width, height, dark in [(1200, 900, False), (400, 800, True)]:
                browser.show_on(width, height, dark)
                self.assertGreater(len(browser.picture()), 20000)
                self.assertLessEqual(browser.value("document.documentElement.scrollWidth"), width)
            self.assertEqual(browser.troubles, [])
        self.assertIsNone(process.poll())

    @unittest.skipUnless(CHROMIUM, "chromium is not installed")
    def test_the_button_asks_and_then_stops(self):
        process, reader = self.start(*LONG)
        with self.browser() as browser:
            browser.open(reader.address)
            browser.wait_for("document.querySelector('#state b') !== null")
            browser.value("by('stop').click()")
            self.assertTrue(browser.value("by('ask').open"))
            browser.value("by('goon').click()")
            self.assertFalse(browser.value("by('ask').open"))
            self.assertIsNone(process.poll())
            browser.value("by('stop').click()")
            browser.value("by('sure').click()")
            self.assertEqual(process.wait(PATIENCE_S), 130)
            browser.wait_for("by('state').textContent.includes('interrupted at')")
            self.assertTrue(browser.value("by('stop').hidden"))

    @unittest.skipUnless(CHROMIUM, "chromium is not installed")
    def test_a_run_that_is_killed_is_told_to_be_gone(self):
        process, reader = self.start(*LONG)
        with self.browser() as browser:
            browser.open(reader.address)
            browser.wait_for("document.querySelector('#state b') !== null")
            process.kill()
            browser.wait_for("getComputedStyle(by('gone')).display === 'block'")


if __name__ == "__main__":
    unittest.main()
