#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pictures of traffic runs: what their titles say, and that there is one without coordinates. Needs
ORRERY and MODELS (the folder of the models) in the environment; ctest sets them."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

MODELS = pathlib.Path(os.environ["MODELS"])
sys.path[:0] = [str(MODELS / "traffic"), str(MODELS / "common")]
sys.dont_write_bytecode = True  # the models may lie in a folder that is not ours
try:
    import matplotlib  # noqa: F401  (plot.py ends the process where it is missing)
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(0)
import layout
import plot
import plot_course


def run(out, *settings):
    subprocess.run([os.environ["ORRERY"], "run", "traffic", "--engine", "sequential", "--quiet",
                    "--until", "90min", "--set", "demand=0.01", *settings, "--out", out],
                   check=True, stdout=subprocess.DEVNULL, timeout=120)


class Pictures(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="orrery-plot-")
        self.addCleanup(folder.cleanup)
        self.out = pathlib.Path(folder.name) / "out"

    def draw(self, by):
        picture = self.out / "picture.png"
        subprocess.run([sys.executable, MODELS / "traffic/plot.py", self.out, "--output", picture,
                        "--by", by], check=True, stdout=subprocess.DEVNULL, timeout=120,
                       env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
        self.assertEqual(picture.read_bytes()[:4], b"\x89PNG")

    def test_title_names_what_is_shown_of_which_file_and_hours(self):
        run(self.out)
        self.draw("ratio")
        title = plot.title(plot.read_report(self.out), "ratio", placed=False)
        self.assertEqual(title, "Volume by capacity: sioux-falls\n"
                                "hours 0:00 to 1:30 of the run; demand × 0.01, departures within 1 h")
        self.assertTrue(plot.title({}, "delay", placed=False).startswith("Waits at the stop lines"))

    def test_without_node_file(self):
        town = MODELS / "traffic/sioux-falls"
        run(self.out, f"net_file={town}_net.tntp", f"trips_file={town}_trips.tntp")
        self.assertEqual(len((self.out / "nodes.csv").read_text().splitlines()), 1)
        self.draw("delay")
        report = plot.read_report(self.out)
        report["net_file"] = "/somewhere/EMA_net.tntp"
        title = plot.title(report, "delay", placed=True)
        self.assertIn("stop lines: EMA\n", title)
        self.assertIn("no node file was read", title)

    def test_ratio_is_by_the_capacity_of_the_period(self):
        for period, hours in [("1 h", 1), ("1 d", 24), ("1.5 min", 0.025), ("soon", 1), (None, 1)]:
            self.assertAlmostEqual(plot.departure_hours({"period": period}), hours)
        self.assertEqual(plot.departure_hours({}), 1)

    def test_the_course_of_two_runs(self):
        other = self.out.parent / "other"
        for out, routes in [(self.out, "free-flow"), (other, "adaptive")]:
            run(out, "interval=10min", "profile=peak", f"routes={routes}")
        picture = self.out / "speed.png"
        subprocess.run([sys.executable, MODELS / "traffic/plot_course.py", self.out, other,
                        "--output", picture], check=True, stdout=subprocess.DEVNULL, timeout=120,
                       env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
        self.assertEqual(picture.read_bytes()[:4], b"\x89PNG")
        courses = [plot_course.Course(out) for out in (self.out, other)]
        self.assertEqual(plot_course.names_of(courses),
                         ["routes = free-flow", "routes = adaptive"])
        self.assertEqual(plot_course.names_of(courses[:1]), ["routes = free-flow"])
        for course in courses:
            self.assertAlmostEqual(course.hours[0], 1 / 6)
            self.assertLessEqual(np.nanmax(course.speed), 60.01)
            self.assertGreater(np.sum(course.started * course.width), 2000)

    def test_a_run_without_a_course(self):
        run(self.out)
        with self.assertRaisesRegex(SystemExit, "interval=15min"):
            plot_course.Course(self.out)

    def test_report_that_is_none(self):
        self.out.mkdir()
        self.assertEqual(plot.read_report(self.out), {})
        (self.out / "report.json").write_text(json.dumps({"parameters": {}}))
        self.assertEqual(plot.read_report(self.out), {})


class Layout(unittest.TestCase):
    def links(self, pairs, times):
        return {"from": np.array([a for a, _ in pairs], float),
                "to": np.array([b for _, b in pairs], float),
                "free_flow_time": np.array(times, float)}

    def distance(self, places, a, b):
        at = {int(node): (x, y) for node, x, y in zip(places["node"], places["x"], places["y"])}
        return np.hypot(at[a][0] - at[b][0], at[a][1] - at[b][1])

    def test_a_line_is_drawn_to_scale(self):
        places = layout.place(self.links([(7, 8), (8, 1000), (1000, 5)], [10, 20, 30]))
        self.assertEqual(list(places["node"]), [5, 7, 8, 1000])
        for a, b, time in [(7, 8, 10), (8, 1000, 20), (1000, 5, 30), (7, 5, 60)]:
            self.assertAlmostEqual(self.distance(places, a, b), time, delta=0.5)

    def test_nothing_lies_on_another(self):
        places = layout.place(self.links([(1, 2), (3, 4), (1, 5), (1, 6), (1, 7)], [1, 1, 0, 0, 0]))
        for a in range(1, 8):
            for b in range(1, a):
                self.assertGreater(self.distance(places, a, b), 0)

    def test_large_networks_keep_their_extent(self):
        side = 30
        pairs = [(side * y + x, side * y + x + 1) for y in range(side) for x in range(side - 1)]
        pairs += [(n, n + side) for n in range(side * (side - 1))]
        self.assertGreater(side * side, layout.MOST_FOR_STRESS)
        places = layout.place(self.links(pairs, [1] * len(pairs)))
        corners = [0, side - 1, side * (side - 1), side * side - 1]
        far = min(self.distance(places, corners[0], corners[3]),
                  self.distance(places, corners[1], corners[2]))
        self.assertGreater(far, 10 * self.distance(places, 0, 1))


if __name__ == "__main__":
    unittest.main(verbosity=2)
