#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""orrery report, seen from outside: pages of real runs are whole, say what the reports say, and need
nothing else. Needs the environment of cli_test.py, and SHOP, a model with odd texts. Where chromium
is installed, it shows a page once."""

import base64
import csv
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import unittest

from cli_test import Case, Done, wait_for_watch
from html_page import Page

SHOP = os.environ["SHOP"]
PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9"
                       "awAAAABJRU5ErkJggg==")
SVG = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'


class PageCase(Case):
    def run_in(self, name, *words, code=0):
        done = Done(["run", *words, "--out", self.folder / name, "--quiet"])
        self.assertEqual(done.code, code, done.err)
        return self.folder / name

    def page(self, *folders, out=None):
        out = out or self.folder / "page.html"
        done = self.run_ok("report", *folders, "--out", out)
        self.assertEqual(done.out, f"page in {out}\n")
        page = Page(out.read_text(encoding="utf-8"))
        self.is_alone(page)
        return page

    def is_alone(self, page):
        """Nothing is asked for: references lead into the page or hold what they mean."""
        for reference in page.references:
            self.assertRegex(reference, r"\A(#|data:image/(png|svg\+xml);base64,)")
            if reference.startswith("#"):
                self.assertIn(reference[1:], page.ids)
        for word in ["http:", "https:", "@import", "url(", "<link", "fetch(", "XMLHttp"]:
            self.assertNotIn(word, page.source)
        self.assertIn("default-src 'none'", page.source)
        self.assertEqual(page.tags.count("script"), 1)

    def says_what_the_report_says(self, page, report):
        facts = report["run"]
        self.assertIn("0x" + facts["fingerprint"], page.text)
        self.assertIn(f"{facts['committed']:,} committed of {facts['executed']:,} executed",
                      page.text)
        self.assertIn(report["started"], page.text)
        self.assertIn(report["host"]["cpu"], page.text)
        for name, result in report["results"].items():
            self.assertEqual(page.row(name, "Results")[1], result["value"], name)
            self.assertIn(result["help"], page.row(name, "Results"))
        for name, metric in report["metrics"].items():
            row = page.row(name, "Metrics")
            self.assertIn(metric["help"], row)
            if metric["count"] and metric["kind"] == "values":
                self.assertEqual(row[1:6], [metric[figure] for figure in
                                 ["count", "mean", "deviation", "minimum", "maximum"]], name)
        for name, parameter in report["parameters"].items():
            if parameter["type"] in ("integer", "text"):
                self.assertEqual(page.row(name, "Parameters")[1], str(parameter["value"]))
        for name, one in report["statistics"].items():
            self.assertEqual(page.row(name, "The engine over time")[1], one["value"], name)


class Pages(PageCase):
    def test_of_engines(self):
        for engine, words in [("sequential", []), ("timewarp", ["--workers", "2"]),
                              ("conservative", ["--workers", "2"]), ("expanded", []),
                              ("auto", []), ("checker", [])]:
            folder = self.run_in(engine, "pcs", "--set", "cells=16", "--until", "10min",
                                 "--engine", engine, *words)
            page = self.page(folder)
            report = self.report(folder)
            self.says_what_the_report_says(page, report)
            self.assertIn(report.get("account", ""), page.text)
            self.assertNotIn("not complete", page.text)
            self.assertIn(engine, page.text)

    def test_places_of_findings_are_in_the_report(self):
        folder = self.run_in("tw", "phold", "--engine", "timewarp", "--workers", "2", "--until",
                             "200s")
        page, report = self.page(folder), self.report(folder)
        places = re.findall(r"<code>([\w.]+)</code>", page.source)
        self.assertTrue(places)
        for place in places:
            outer, _, inner = place.partition(".")
            self.assertTrue(inner in report[outer] or outer == "engines" or
                            inner.split(".")[0] in report[outer], place)
        run = report["run"]
        undone = run["executed"] - run["committed"]
        self.assertIn(f"({undone:,} of {run['executed']:,}, in ", page.text)

    def test_with_all_that_a_model_can_have(self):
        folder = self.run_in("shop", SHOP, "--set", "shelves=5", "--seed", "12345678")
        (folder / "map.png").write_bytes(PNG)
        (folder / "odd <b>.svg").write_text(SVG)
        page, report = self.page(folder), self.report(folder)
        self.says_what_the_report_says(page, report)
        self.assertIn("seed 12345678", page.text)
        self.assertEqual(page.row("shelves")[1:], ["5", "4", "more than 1 & fewer than <many>"])
        self.assertIn("<script>alert('x')</script>", page.row("motto"))
        self.assertNotIn("<script>alert", page.source)
        wait = report["metrics"]["wait"]
        quantiles = [row for row in page.rows if row[0] == "wait"][1]
        self.assertEqual(quantiles[1:5], [wait[q] for q in ["p50", "p90", "p99", "p99.9"]])
        inside = report["metrics"]["inside"]
        self.assertEqual(page.row("inside")[1:6], [inside[figure] for figure in
                         ["total", "mean", "deviation", "minimum", "maximum"]])
        self.assertEqual(page.row("never")[1:3], [0, "-"])
        labels = " ".join(page.labels)
        for name in ["wait: time in <line> & \"more\"", "basket: things", "inside: customers",
                     "looks: things", "sales: price"]:
            self.assertIn(name, labels)
        self.assertNotIn("shelf", labels)  # which names things
        self.assertIn("map.png", page.text)
        self.assertIn("odd <b>.svg", page.text)
        images = [base64.b64decode(one.split(",")[1]) for one in page.references
                  if one.startswith("data:")]
        self.assertEqual(images, [PNG, SVG.encode()])

    def test_batch_means(self):
        folder = self.run_in("shop", SHOP, "--batch-means", "wait,inside,never")
        page, metrics = self.page(folder), self.report(folder)["metrics"]
        for name in ["wait", "inside"]:
            means = metrics[name]["batch_means"]
            row = [row for row in page.rows if row[0] == name and len(row) == 8][0]
            mean = "total" if name == "inside" else "mean"
            self.assertEqual(row[1:5], [means[figure] for figure in
                             [mean, "half_width", "confidence", "batches"]])
        self.assertIn("never: no interval: it has 0 values, in 0 of 30 batches; an interval needs 100", page.text)
        self.assertNotIn("Batch means", self.page(self.run_in("plain", SHOP)).text)

    def test_what_finish_records_has_no_batch_means(self):
        folder = self.run_in("pcs", "pcs", "--set", "cells=4", "--until", "200s", "--batch-means", "busy_channels")
        told = self.report(folder)["metrics"]["busy_channels"]
        self.assertIsNone(told["batch_means"])
        self.assertTrue(told["no_batch_means"].startswith("all its values are of the end of the run"))
        self.assertIn("busy_channels: no interval: all its values are of the end", self.page(folder).text)

    def test_names_have_no_course(self):
        """Whole numbers of what happens that may be names: their mean says nothing, even if it changes."""
        page = self.page(self.run_in("shop", SHOP))
        self.assertIn("sales: price", page.text)
        self.assertIn("looks: things", page.text)
        for column in ["shelf", "till"]:
            self.assertNotIn(f"sales: {column}", page.text)

    def test_bars_hold_all_values(self):
        folder = self.run_in("shop", SHOP)
        page = self.page(folder)
        with sqlite3.connect(folder / "results.sqlite") as database:
            counts = dict(database.execute("SELECT value, count FROM orrery_histograms "
                                           "WHERE metric = 'basket'"))
        titles = re.findall(r"<title>([\d.-]+) to ([\d.-]+): ([\d,]+) \(", page.source)
        bars = {(float(low) + float(high)) / 2: int(n.replace(",", "")) for low, high, n in titles}
        for value, count in counts.items():
            self.assertEqual(bars[value], count)
        shown = sum(int(n.replace(",", "")) for _, _, n in titles)
        metrics = self.report(folder)["metrics"]
        all_values = metrics["basket"]["count"] + metrics["wait"]["count"]
        self.assertAlmostEqual(shown / all_values, 1, delta=0.05)  # shares of buckets are rounded

    def test_rows_of_tables(self):
        folder = self.run_in("shop", SHOP)
        page = self.page(folder)
        with open(folder / "sales.csv", newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file))[1:]
        self.assertIn(f"{len(rows)} rows; the first ones:", page.text)
        shown = [row for row in page.rows if row[:2] == rows[0][:2] and len(row) == 6][0]
        self.assertAlmostEqual(float(shown[2]), float(rows[0][2]), places=5)
        self.assertEqual(shown[4], rows[0][4])
        self.assertIn("<b>Ann</b>, \"boss\"", {row[5] for row in page.rows if len(row) == 6})

    def test_of_a_fault(self):
        folder = self.run_in("shop", SHOP, "--set", "fail_at=20", code=3)
        page, report = self.page(folder), self.report(folder)
        self.assertIn("not complete (fault)", page.text)
        self.assertIn(report["run"]["fault"], page.text)
        self.assertIn('the till <burns> & "smokes"', page.text)
        self.assertLess(page.text.index("not complete"), page.text.index("Parameters"))

    def test_of_an_interrupted_run(self):
        folder = self.folder / "long"
        process = self.popen("run", "phold", "--until", "1000000s", "--out", folder, "--quiet")
        wait_for_watch(process)
        process.send_signal(signal.SIGINT)
        process.wait(60)
        page, report = self.page(folder), self.report(folder)
        self.assertIn("not complete (interrupted)", page.text)
        progress = report["progress"]
        self.assertGreater(len(progress["wall_seconds"]), 10)
        self.assertIn("Events a second", page.labels)

    def test_of_a_report_alone(self):
        folder = self.run_in("shop", SHOP)
        (folder / "results.sqlite").unlink()
        page = self.page(folder)
        self.says_what_the_report_says(page, self.report(folder))
        self.assertIn("no results.sqlite", page.text)
        (folder / "results.sqlite").write_text("not a database, but long enough to be read " * 30)
        page = self.page(folder)
        self.says_what_the_report_says(page, self.report(folder))
        self.assertIn("results.sqlite cannot be read", page.text)

    def test_of_schema_1(self):
        """Reports of earlier versions: metrics do not say their kind and figures."""
        folder = self.run_in("shop", SHOP)
        page, report = self.page(folder), self.report(folder)
        del report["schema_version"]
        for metric in report["metrics"].values():
            del metric["kind"], metric["figures"]
        report["metrics"]["never"]["mean"] = 0
        (folder / "report.json").write_text(json.dumps(report))
        self.assertEqual(self.page(folder).rows, page.rows)

    def test_lies_in_the_folder_until_its_run_is_replaced(self):
        words = ["phold", "--until", "1s", "--set", "lps=8"]
        folder = self.run_in("p", *words)
        self.run_ok("report", folder)
        self.run_ok("report", folder)
        self.assertTrue((folder / "report.html").exists())
        self.assertFalse((folder / "report.html.part").exists())
        self.run_in("p", *words, "--force")
        self.assertFalse((folder / "report.html").exists())
        (folder / "report.html").write_text("mine")
        self.refused(2, "report", folder, says=["is no page of 'orrery report'", "--force"])
        self.run_in("p", *words, "--force")
        self.assertEqual((folder / "report.html").read_text(), "mine")
        self.run_ok("report", folder, "--force")


class Progress(PageCase):
    def test_samples_are_in_the_report(self):
        folder = self.run_in("p", "phold", "--engine", "timewarp", "--workers", "2", "--until",
                             "400s")
        report = self.report(folder)
        progress, run = report["progress"], report["run"]
        self.assertLessEqual(len(progress["wall_seconds"]), 130)
        for name in ["simulated_seconds", "committed", "executed", "memory_bytes"]:
            self.assertEqual(len(progress[name]), len(progress["wall_seconds"]))
        for name in ["wall_seconds", "simulated_seconds", "committed", "executed"]:
            self.assertEqual(progress[name], sorted(progress[name]), name)
            self.assertEqual(progress[name][0], 0)
        self.assertEqual(progress["committed"][-1], run["committed"])
        self.assertEqual(progress["executed"][-1], run["executed"])
        self.assertEqual(progress["simulated_seconds"][-1], run["reached_seconds"])
        self.assertNotIn("engine", progress)

    def test_of_a_short_run(self):
        progress = self.run_json("null", "--until", "1s")["progress"]
        self.assertGreaterEqual(len(progress["wall_seconds"]), 2)

    def test_engines_of_the_moment(self):
        report = self.run_json("pcs", "--until", "2h")
        progress = report["progress"]
        self.assertEqual(len(progress["engine"]), len(progress["wall_seconds"]))
        self.assertLessEqual(set(progress["engine"]), {one["engine"] for one in report["engines"]})


class Comparisons(PageCase):
    def test_of_engines(self):
        words = ["pcs", "--set", "cells=16", "--until", "10min"]
        a = self.run_in("a", *words, "--engine", "sequential")
        b = self.run_in("b", *words, "--engine", "timewarp", "--workers", "2")
        page = self.page(a, b)
        self.assertIn("The fingerprints are equal", page.text)
        self.assertEqual(page.row("engine (option)")[1:], ["sequential", "timewarp"])
        first, second = self.report(a), self.report(b)
        for name, result in first["results"].items():
            row = [row for row in page.rows if re.match(rf"{name}( \(|$)", str(row[0]))][0]
            self.assertEqual(row[1:], [result["value"], result["value"], 0, "="])
        rate = page.row("committed events/s")
        self.assertEqual(rate[1:3], [one["run"]["events_per_second"] for one in (first, second)])
        self.assertAlmostEqual(rate[3], rate[2] - rate[1], places=6)

    def test_of_parameters(self):
        a = self.run_in("one/run", SHOP, "--set", "shelves=5")
        b = self.run_in("two/run", SHOP, "--set", "shelves=9", "town=A&B")
        page = self.page(a, b)
        self.assertIn("as is to be expected", page.text)
        self.assertEqual(page.row("shelves")[1:], ["5", "9"])
        self.assertEqual(page.row("town")[1:], ["Sioux", "A&B"])
        self.assertNotIn("fail_at", [row[0] for row in page.rows if row])
        self.assertIn(str(a), page.text)  # since the folders' own names are the same
        first, second = (self.report(run)["metrics"] for run in (a, b))
        for name in first:
            if first[name]["count"]:
                row = [row for row in page.rows if str(row[0]).startswith(f"{name}.mean")][0]
                self.assertEqual(row[1:3], [first[name]["mean"], second[name]["mean"]])
                relative = 100 * (row[2] - row[1]) / row[1]
                self.assertAlmostEqual(float(row[4].split()[0]), relative,
                                       delta=abs(relative) * 0.01)
        self.assertIn("never.count", [row[0] for row in page.rows if row])
        labels = " ".join(page.labels)
        for name in ["wait:", "inside:", "sales: price"]:
            self.assertIn(name, labels)

    def test_of_three_of_which_one_failed(self):
        runs = [self.run_in("a", SHOP), self.run_in("b", SHOP, "--seed", "2"),
                self.run_in("c", SHOP, "--set", "fail_at=20", code=3)]
        page = self.page(*runs)
        self.assertIn("Run c is not complete (fault)", page.text)
        self.assertIn("compare with nothing", page.text)
        self.assertIn("b - a", page.row("result"))

    def test_of_runs_that_should_be_equal(self):
        a, b = self.run_in("a", SHOP), self.run_in("b", SHOP)
        report = self.report(b)
        report["run"]["fingerprint"] = "0123456789abcdef"
        (b / "report.json").write_text(json.dumps(report))
        page = self.page(a, b)
        self.assertIn("are not equal, though", page.text)

    def test_lies_here_unless_told_otherwise(self):
        a, b = self.run_in("a", SHOP), self.run_in("b", SHOP)
        done = self.run_ok("report", a, b, cwd=self.folder)
        self.assertEqual(done.out, "page in comparison.html\n")
        self.assertTrue((self.folder / "comparison.html").exists())


class Studies(PageCase):
    def test_has_a_page(self):
        study = self.folder / "study"
        self.run_ok("sweep", "pcs", "--set", "cells=4", "--set", "channels=2..4:2", "--until",
                    "200s", "--seeds", "1..3", "--out", study, "--quiet")
        page = self.page(study)
        facts = json.loads((study / "study.json").read_text())
        for name in facts["measures"]:
            row = [row for row in page.rows if re.match(rf"{re.escape(name)}( \(|$)", str(row[0]))]
            means = [one["mean"] for one in facts["summary"] if one["measure"] == name]
            if means:
                self.assertEqual(row[0][1:], means)
        pictures = sorted(path.name for path in study.glob("*.svg"))
        self.assertEqual(page.tags.count("img"), len(pictures))
        self.assertIn(pictures[0], page.text)
        self.refused(2, "report", study, study / "runs/point-1/seed-1", says=["of a study"])
        self.page(study / "runs/point-1/seed-1", study / "runs/point-2/seed-1")

    def test_what_was_to_be_shown(self):
        """Comes first, the others in a section of their own; and between whole numbers is nothing."""
        study = self.folder / "study"
        self.run_ok("sweep", "pcs", "--set", "cells=4", "--set", "channels=2,3", "--until", "200s", "--seeds",
                    "1..10", "--out", study, "--quiet", "--show", "power.mean,carried_load", "--compare",
                    "channels", "--until-precision", "carried_load=0.5@0.9")
        page = self.page(study)
        self.assertEqual(json.loads((study / "study.json").read_text())["shown"], ["power.mean", "carried_load"])
        shown, others = page.source.split("Means at each point</h2>")[1].split("Means of other measures</h2>")
        for measure in ["power.mean", "carried_load"]:
            self.assertIn(measure, shown)
            self.assertNotIn(f"<td>{measure}", others)
        self.assertIn("blocking_probability", others)
        self.assertNotIn("blocking_probability", shown)
        self.assertNotIn("blocking_probability", page.source.split("Comparison</h2>")[1].split("Means at")[0])
        self.assertIn("carried_load=0.5@0.9", page.text)
        self.assertEqual(re.findall(r">([\d.]+)</text>", (study / "carried_load.svg").read_text())[-2:], ["2", "3"])


class Refusals(PageCase):
    def test_folders(self):
        self.refused(2, "report", says=["which run?"])
        self.refused(2, "report", self.folder / "none", says=["there is no folder", "none"])
        self.refused(2, "report", self.folder, says=["holds no report.json"])
        file = self.folder / "file"
        file.write_text("")
        self.refused(2, "report", file, says=["is no folder"])
        self.run_ok("compare", "null", "--engines", "sequential", "--repeats", "1", "--until", "1s",
                    "--quiet", "--out", self.folder / "compared")
        self.refused(2, "report", self.folder / "compared", says=["orrery compare", "compare.json"])

    def test_reports(self):
        folder = self.run_in("p", "null", "--until", "1s")
        report = folder / "report.json"
        whole = report.read_text()
        for text, words in [(whole[:500], "is damaged"), ("", "is damaged"),
                            ("[]", "is not the report of a run"),
                            ('{"run": {}}', "is not the report of a run"),
                            (whole.replace('"schema_version": 2', '"schema_version": 3'), "a later orrery")]:
            report.write_text(text)
            self.refused(2, "report", folder, says=[words, "report.json"])
            self.assertFalse((folder / "report.html").exists())

    def test_odd_reports_do_not_end_the_page(self):
        folder = self.run_in("p", "pcs", "--set", "cells=4", "--until", "60s")
        whole = self.report(folder)
        for name in list(whole):
            if name in ("schema", "schema_version", "model", "options", "run"):
                continue
            for odd in [None, 7, "text", [1, "two", None], {"a": {"b": []}}]:
                (folder / "report.json").write_text(json.dumps({**whole, name: odd}))
                self.page(folder)
        for name in ["run", "model", "options"]:
            (folder / "report.json").write_text(json.dumps({**whole, name: {}}))
            self.page(folder)

    def test_targets(self):
        folder = self.run_in("p", "null", "--until", "1s")
        self.refused(2, "report", folder, "--out", self.folder, says=["is a folder"])
        self.refused(2, "report", folder, "--out", "", says=["--out"])
        self.refused(2, "report", folder, "--out", self.folder / "no/such/page.html",
                     says=["cannot write", "page.html"])
        self.refused(2, "report", folder, "--oul", "x", says=["--out"])
        other = self.folder / "thesis.html"
        other.write_text("<!DOCTYPE html>")
        self.refused(2, "report", folder, "--out", other, says=["--force"])
        self.assertEqual(other.read_text(), "<!DOCTYPE html>")

    def test_help(self):
        done = self.run_ok("report", "--help")
        self.assertIn("Usage: orrery report DIR", done.out)
        self.assertIn("  orrery report results/sioux", done.out)
        self.assertRegex(self.run_ok("--help").out, r"(?m)^  report ")


class Browser(PageCase):
    @unittest.skipUnless(shutil.which("chromium"), "chromium is not installed")
    def test_shows_it(self):
        folder = self.run_in("shop", SHOP)
        self.page(folder, out=self.folder / "page.html")
        picture = self.folder / "page.png"
        subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu",
                        f"--user-data-dir={self.folder / 'browser'}", "--window-size=1100,2000",
                        f"--screenshot={picture}", f"file://{self.folder / 'page.html'}"],
                       check=True, timeout=120, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        self.assertEqual(picture.read_bytes()[:4], b"\x89PNG")
        self.assertGreater(picture.stat().st_size, 20000)


if __name__ == "__main__":
    unittest.main()
