# SPDX-License-Identifier: Apache-2.0
"""Places for the nodes of a network whose files give none, so that distances in the picture are
like travel times.

Pivot MDS (U. Brandes and C. Pich, Eigensolver methods for progressive multidimensional scaling of
large data, Graph Drawing 2006): travel times from a few pivots, far from each other, give the two
directions of largest extent. Small networks are then improved by stress majorization (E. Gansner, Y.
Koren and S. North, Graph drawing by stress majorization, Graph Drawing 2004), which also draws apart
what lies in the same place. Nothing is random: the same network gives the same picture.
"""
import heapq

import numpy as np

PIVOTS = 50
MOST_FOR_STRESS = 600  # nodes; its cost grows with their square
STRESS_ROUNDS = 200


def travel_times(neighbours, source):
    """From `source` to all nodes (Dijkstra); infinite where there is no way."""
    times = np.full(len(neighbours), np.inf)
    times[source] = 0
    queue = [(0.0, source)]
    while queue:
        time, node = heapq.heappop(queue)
        if time > times[node]:
            continue
        for other, step in neighbours[node]:
            if time + step < times[other]:
                times[other] = time + step
                heapq.heappush(queue, (time + step, other))
    return times


def times_from_pivots(neighbours, count):
    """One row a pivot; each next pivot is the node that is farthest from those before."""
    rows, pivot = [], 0
    for _ in range(count):
        rows.append(travel_times(neighbours, pivot))
        nearest = np.min(rows, axis=0)
        pivot = int(np.argmax(np.where(np.isinf(nearest), -1, nearest)))
    rows = np.array(rows)
    finite = rows[np.isfinite(rows)]
    rows[np.isinf(rows)] = 1.2 * finite.max()  # parts without a connection, a little apart
    return rows


def pivot_scaling(times):
    """Coordinates from the squared times, centred in both directions."""
    squares = times.T ** 2
    centred = -0.5 * (squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None]
                      + squares.mean())
    _, vectors = np.linalg.eigh(centred.T @ centred)
    return centred @ vectors[:, [-1, -2]]


def majorize(places, times):
    """Moves every node to where the others want it, weighted by 1 / time^2."""
    wanted = np.maximum(times, times[times > 0].min() / 2)
    weights = wanted ** -2.0
    np.fill_diagonal(weights, 0)
    # Equal places have no direction away from each other.
    angle = np.arange(len(places)) * 2.399963  # the golden angle
    places = places + 1e-3 * wanted.max() * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    for _ in range(STRESS_ROUNDS):
        apart = places[:, None, :] - places[None, :, :]
        distance = np.maximum(np.hypot(apart[..., 0], apart[..., 1]), 1e-9)
        pull = weights * wanted / distance
        moved = weights @ places + (pull[..., None] * apart).sum(axis=1)
        places = moved / weights.sum(axis=1)[:, None]
    return places


def place(links):
    """{"node", "x", "y"} for all ends of links."""
    numbers = np.unique(np.concatenate([links["from"], links["to"]]))
    neighbours = [[] for _ in numbers]
    steps = links.get("free_flow_time", np.ones(len(links["from"])))
    for a, b, step in zip(np.searchsorted(numbers, links["from"]),
                          np.searchsorted(numbers, links["to"]), np.maximum(steps, 1e-3)):
        neighbours[a].append((int(b), float(step)))
        neighbours[b].append((int(a), float(step)))
    if len(numbers) <= MOST_FOR_STRESS:
        times = times_from_all(neighbours)
        places = majorize(pivot_scaling(times), times)
    else:
        places = pivot_scaling(times_from_pivots(neighbours, PIVOTS))
    return {"node": numbers, "x": places[:, 0], "y": places[:, 1]}


def times_from_all(neighbours):
    times = np.array([travel_times(neighbours, node) for node in range(len(neighbours))])
    times[np.isinf(times)] = 1.2 * times[np.isfinite(times)].max()
    return times
