#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draw docs/folders.svg: the parts of Orrery in layers, and which part includes headers of which.

Usage: draw_folders.py [--check]      --check fails if the picture is not what this program draws

The parts and arrows are those of tools/layers.txt (tools/check_layers.py). No place is chosen by hand:
parts go to layers, an order within the layers and coordinates by the method of Sugiyama, Tagawa and
Toda (Methods for visual understanding of hierarchical system structures, IEEE Transactions on Systems,
Man, and Cybernetics 11(2), 1981). If parts include each other in a circle, some arrows lead upwards;
they are red. An arrow that a chain of other arrows implies is not drawn: its target is a grey name in
the box. Parts of one folder that have the same arrows share a box.
"""

import itertools
import pathlib
import sys
from xml.sax.saxutils import escape

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIST = ROOT / "tools/layers.txt"
PICTURE = ROOT / "docs/folders.svg"

PADDING, NAME, NOTE = 8, 15, 12  # pixels: inside a box, height of a line of names, of grey names
BETWEEN_BOXES, BETWEEN_LINES, BETWEEN_LAYERS, MARGIN = 18, 10, 46, 14
NOTE_LETTERS = 26  # a line of grey names
FILLS = ["#dbe9f6", "#fde7cf", "#dff0d8", "#eadff2", "#f9dcdc", "#e8e8d0", "#d6efef"]


def short(part):
    """The name of a part in a grey line: without the folders that most parts lie in."""
    return part.removeprefix("src/")


class Graph:
    """Parts and the arrows between them: `below[part]` is what the part includes."""

    def __init__(self, arrows):
        self.below = {}
        for one, other in arrows:
            self.below.setdefault(one, set()).add(other)
            self.below.setdefault(other, set())

    def parts(self):
        return sorted(self.below)

    def above(self, part):
        return sorted(one for one in self.below if part in self.below[one])

    def arrows(self):
        return [(one, other) for one in self.parts() for other in sorted(self.below[one])]


def merge(graph):
    """Gives parts of one folder that have the same arrows one box. Returns the graph of the boxes,
    each named by its first part, and the parts of each box."""
    boxes = {}
    for part in graph.parts():
        arrows = part.rpartition("/")[0], tuple(sorted(graph.below[part])), tuple(graph.above(part))
        boxes.setdefault(arrows, []).append(part)
    first = {part: parts[0] for parts in boxes.values() for part in parts}
    merged = Graph((first[one], first[other]) for one, other in graph.arrows())
    return merged, {parts[0]: parts for parts in boxes.values()}


def order_without_circles(graph):
    """An order of the parts in which few arrows lead backwards (Eades, Lin, Smyth: A fast and effective
    heuristic for the feedback arc set problem, Information Processing Letters 47(6), 1993)."""
    left, front, back = set(graph.parts()), [], []
    while left:
        below = {part: len(graph.below[part] & left) for part in sorted(left)}
        above = {part: len(left.intersection(graph.above(part))) for part in sorted(left)}
        last = next((part for part in below if not below[part]), None)
        first = next((part for part in above if not above[part]), None)
        if last is not None:
            back.insert(0, last)
        elif first is not None:
            front.append(first)
        else:
            front.append(max(below, key=lambda part: below[part] - above[part]))
        left.remove(last or (front[-1]))
    return front + back


def layers_of(order, down):
    """{part: layer}, 0 at the bottom, such that all arrows `down` lead to lower layers."""
    layer = {}
    for part in reversed(order):
        layer[part] = 1 + max((layer[other] for one, other in down if one == part), default=-1)
    for part in order:  # up, if that makes more arrows shorter than longer
        above = [layer[one] for one, other in down if other == part]
        if above and len(above) >= sum(one == part for one, _ in down):
            layer[part] = min(above) - 1
    return layer


def implied(down, order):
    """The arrows that a chain of other arrows implies."""
    reached = {}
    for part in reversed(order):
        direct = [other for one, other in down if one == part]
        reached[part] = set(direct).union(*(reached[other] for other in direct))
    return {(one, other) for one, other in down
            if any(other in reached[between] for first, between in down if first == one)}


def spread(wanted, gaps):
    """The places nearest to those wanted whose neighbours are at least `gaps` apart (regression by
    pooling adjacent violators)."""
    offsets = [0, *itertools.accumulate(gaps)]
    pools = []  # [sum, number]
    for place, offset in zip(wanted, offsets):
        pools.append([place - offset, 1])
        while len(pools) > 1 and pools[-2][0] * pools[-1][1] > pools[-1][0] * pools[-2][1]:
            total, number = pools.pop()
            pools[-1][0] += total
            pools[-1][1] += number
    means = [total / number for total, number in pools for _ in range(number)]
    return [mean + offset for mean, offset in zip(means, offsets)]


class Drawing:
    def __init__(self, arrows):
        graph, self.boxes = merge(Graph(arrows))
        order = order_without_circles(graph)
        place = {part: index for index, part in enumerate(order)}
        down = [(one, other) for one, other in graph.arrows() if place[one] < place[other]]
        up = [(one, other) for one, other in graph.arrows() if place[one] > place[other]]
        left_out = implied(down, order)
        self.notes = {part: self.lines_of(sorted(short(other) for one, other in left_out if one == part))
                      for part in order}
        self.layer = layers_of(order, down)
        self.lines = []  # of each arrow: its nodes from top to bottom, whether it leads down, up
        drawn = [arrow for arrow in down if arrow not in left_out]
        for one, other in drawn:
            self.lines.append((self.nodes_between(one, other), True, (other, one) in up))
        for one, other in up:
            if (other, one) not in drawn:
                self.lines.append((self.nodes_between(other, one), False, True))
        # A node is a part, or the place (upper part, lower part, layer) where a line crosses a layer.
        self.rows = [[] for _ in range(1 + max(self.layer.values()))]
        for node in sorted({node for nodes, *_ in self.lines for node in nodes}.union(order), key=str):
            self.rows[self.layer_of(node)].append(node)
        self.put_in_order()
        self.put_in_place()

    @staticmethod
    def lines_of(names):
        lines = []
        for name in names:
            if lines and len(lines[-1]) + len(name) < NOTE_LETTERS:
                lines[-1] += f" {name},"
            else:
                lines.append(f"{name}," if lines else f"+ {name},")
        return [*lines[:-1], *(line[:-1] for line in lines[-1:])]  # no comma behind the last name

    def nodes_between(self, upper, lower):
        crossed = range(self.layer[upper] - 1, self.layer[lower], -1)
        return [upper, *((upper, lower, layer) for layer in crossed), lower]

    def layer_of(self, node):
        return self.layer[node] if isinstance(node, str) else node[2]

    def pieces(self):
        return [pair for nodes, *_ in self.lines for pair in itertools.pairwise(nodes)]

    def crossings(self):
        index = {node: number for row in self.rows for number, node in enumerate(row)}
        count = 0
        for (a, b), (c, d) in itertools.combinations(self.pieces(), 2):
            if self.layer_of(a) == self.layer_of(c):
                count += (index[a] - index[c]) * (index[b] - index[d]) < 0
        return count

    def put_in_order(self):
        """Sorts each row by the mean places of its neighbours, up and down, and keeps the best order."""
        neighbours = {node: ([], []) for row in self.rows for node in row}
        for upper, lower in self.pieces():
            neighbours[upper][0].append(lower)
            neighbours[lower][1].append(upper)
        best, fewest = None, None
        for turn in range(24):
            side = turn % 2  # 0: by the row below
            for row in self.rows if side == 0 else reversed(self.rows):
                index = {node: (number + 0.5) / len(other) for other in self.rows
                         for number, node in enumerate(other)}

                def mean(node):
                    places = [index[other] for other in neighbours[node][side]]
                    return sum(places) / len(places) if places else index[node]
                row.sort(key=mean)
            count = self.crossings()
            if fewest is None or count < fewest:
                best, fewest = [list(row) for row in self.rows], count
        self.rows, self.neighbours = best, neighbours

    def width(self, node):
        if not isinstance(node, str):
            return 0
        names = max(8 * len(name) for name in self.names(node))
        notes = max((6.4 * len(line) for line in self.notes[node]), default=0)
        return round(max(names, notes, 54) + 2 * PADDING)

    def height(self, node):
        return 2 * PADDING + NAME * len(self.names(node)) + NOTE * len(self.notes[node])

    def names(self, node):
        """The lines of a box: its part, or the folder and what of it shares the box."""
        parts = self.boxes[node]
        if len(parts) == 1:
            return parts
        folder = parts[0].rpartition("/")[0]
        return [f"{folder}/", *(f" {part.rpartition('/')[2]}" for part in parts)]

    def put_in_place(self):
        self.x, gaps = {}, []
        for row in self.rows:
            gaps.append([(self.width(one) + self.width(other)) / 2 +
                         (BETWEEN_BOXES if isinstance(one, str) or isinstance(other, str) else BETWEEN_LINES)
                         for one, other in itertools.pairwise(row)])
            for node, place in zip(row, spread([0] * len(row), gaps[-1])):
                self.x[node] = place
        for turn in range(40):
            numbers = range(len(self.rows))
            for number in numbers if turn % 2 else reversed(numbers):
                row = self.rows[number]
                wanted = []
                for node in row:
                    places = [self.x[other] for side in self.neighbours[node] for other in side]
                    wanted.append(sum(places) / len(places) if places else self.x[node])
                for node, place in zip(row, spread(wanted, gaps[number])):
                    self.x[node] = place
        left = min(self.x[node] - self.width(node) / 2 for node in self.x)
        self.x = {node: place - left + MARGIN for node, place in self.x.items()}
        self.total_width = round(MARGIN + max(self.x[node] + self.width(node) / 2 for node in self.x))
        self.y, place = {}, MARGIN  # the middle of a node
        self.tall = {}
        for row in reversed(self.rows):
            tall = max(self.height(node) if isinstance(node, str) else 0 for node in row)
            for node in row:
                self.y[node], self.tall[node] = place + tall / 2, tall
            place += tall + BETWEEN_LAYERS
        self.bottom = place - BETWEEN_LAYERS + 18

    # --- the picture ------------------------------------------------------------------------------

    def svg(self):
        height = round(self.bottom + 34 + MARGIN)
        yield (f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.total_width}" height="{height}" '
               f'viewBox="0 0 {self.total_width} {height}" font-family="Helvetica, Arial, sans-serif">')
        yield "<!-- Made by tools/draw_folders.py; do not edit. -->"
        yield ('<defs>' + "".join(
            f'<marker id="{name}" viewBox="0 0 8 8" refX="{tip}" refY="4" markerWidth="7" '
            f'markerHeight="7" orient="auto"><path d="{shape}" fill="{colour}"/></marker>'
            for name, tip, shape, colour in (("down", 7, "M0 0.8 L8 4 L0 7.2 z", "#555"),
                                             ("both", 7, "M0 0.8 L8 4 L0 7.2 z", "#c22"),
                                             ("up", 1, "M8 0.8 L0 4 L8 7.2 z", "#c22"))) + '</defs>')
        yield f'<rect width="{self.total_width}" height="{height}" rx="8" fill="#fff"/>'
        yield from self.draw_lines()
        folders = sorted({node.rpartition("/")[0] for node in self.boxes})
        for row in reversed(self.rows):
            for node in row:
                if isinstance(node, str):
                    fill = FILLS[folders.index(node.rpartition("/")[0]) % len(FILLS)]
                    yield from self.draw_box(node, fill)
        yield (f'<rect x="{MARGIN}" y="{self.bottom:.0f}" width="{self.total_width - 2 * MARGIN}" height="34" '
               f'rx="5" fill="#f2f2f2" stroke="#888"/>')
        yield (f'<text x="{self.total_width // 2}" y="{self.bottom + 22:.0f}" font-size="13" '
               f'text-anchor="middle">include/orrery: every part may include it; models include nothing '
               f'else but models/common</text>')
        yield "</svg>"

    def draw_box(self, node, fill):
        width, height = self.width(node), self.height(node)
        left, top = self.x[node] - width / 2, self.y[node] - height / 2
        yield (f'<rect x="{left:.0f}" y="{top:.0f}" width="{width}" height="{height}" rx="5" '
               f'fill="{fill}" stroke="#555"/>')
        line = top + PADDING + NAME - 4
        for name in self.names(node):
            yield (f'<text x="{left + PADDING:.0f}" y="{line:.0f}" font-size="13" xml:space="preserve">'
                   f'{escape(name)}</text>')
            line += NAME
        for note in self.notes[node]:
            yield (f'<text x="{left + PADDING:.0f}" y="{line - 2:.0f}" font-size="11" fill="#777">'
                   f'{escape(note)}</text>')
            line += NOTE

    def ports(self):
        """{(line, end): x}: lines leave and reach a box side by side, in the order of where they lead."""
        at = {}
        for number, (nodes, *_) in enumerate(self.lines):
            at.setdefault((nodes[0], 0), []).append((self.x[nodes[1]], number))
            at.setdefault((nodes[-1], 1), []).append((self.x[nodes[-2]], number))
        found = {}
        for (node, end), lines in at.items():
            room = min(16, (self.width(node) - 16) / len(lines))
            for place, (_, number) in enumerate(sorted(lines)):
                found[number, end] = self.x[node] + (place - (len(lines) - 1) / 2) * room
        return found

    def draw_lines(self):
        ports = self.ports()
        for number, (nodes, down, up) in enumerate(self.lines):
            x, y = ports[number, 0], self.y[nodes[0]] + self.height(nodes[0]) / 2
            path = f"M{x:.0f} {y:.0f}"
            for node in nodes[1:]:
                last = node is nodes[-1]
                half = (self.height(node) if last else self.tall[node]) / 2
                to_x, to_y = ports[number, 1] if last else self.x[node], self.y[node] - half
                bend = (to_y - y) / 2
                path += f" C{x:.0f} {y + bend:.0f} {to_x:.0f} {to_y - bend:.0f} {to_x:.0f} {to_y:.0f}"
                if not last:
                    to_y = self.y[node] + half
                    path += f" L{to_x:.0f} {to_y:.0f}"
                x, y = to_x, to_y
            colour = "#c22" if up else "#555"
            heads = (' marker-end="url(#down)"' if down and not up else "") + \
                (' marker-start="url(#up)"' if up else "") + \
                (' marker-end="url(#both)"' if down and up else "")
            yield f'<path d="{path}" fill="none" stroke="{colour}"{heads}/>'


def picture(text):
    arrows = [tuple(line.split(" -> ")) for line in text.splitlines()]
    return "\n".join(Drawing(arrows).svg()) + "\n"


def main(words):
    if words not in ([], ["--check"]):
        print(__doc__)
        return 2
    made = picture(LIST.read_text(encoding="utf-8"))
    if not words:
        PICTURE.write_text(made, encoding="utf-8")
    elif not PICTURE.is_file() or PICTURE.read_text(encoding="utf-8") != made:
        print("draw_folders: docs/folders.svg is not the picture of tools/layers.txt: run "
              "tools/draw_folders.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
