# SPDX-License-Identifier: Apache-2.0
"""Topologies of the laboratory: made in Python, or imported from GraphML (the Internet Topology Zoo)
or from a lab of Kathará. The result is the TOML file of models/lab/README.md.

    python3 -m orrery.lab SOURCE > mine.toml      SOURCE: a .graphml file, or the folder of a lab"""

import graphlib
import json
import math
import os
import pathlib
import re
import sys
import tempfile
from xml.etree import ElementTree

from ._errors import UsageError
from ._run import run

PATHS = ("root", "image", "movement", "connectivity")  # keys whose values are relative to us


class Topology:
    """Hosts, switches, radio channels and what joins them. Keywords are the keys of the TOML file. A
    method that makes a node returns its name."""

    def __init__(self):
        self._tables = []

    def host(self, name, programs=(), **keys):
        """`programs`: commands, or dictionaries with `at`, `command` and `user`."""
        if "files" in keys:
            keys["files"] = {to: os.path.abspath(path) for to, path in keys["files"].items()}
        programs = [{"command": one} if isinstance(one, str) else one for one in programs]
        return self._node("host", name, keys, [("host.program", one) for one in programs])

    def switch(self, name, **keys):
        return self._node("switch", name, keys)

    def radio(self, name, **keys):
        return self._node("radio", name, keys)

    def link(self, one, other, **keys):
        self._add("link", {"between": [one, other], **keys})

    def station(self, host, radio, **keys):
        self._add("station", {"host": host, "radio": radio, **keys})

    def event(self, at, **keys):
        self._add("event", {"at": at, **keys})

    def text(self):
        """The TOML file."""
        # Nodes come first, since links name them.
        order = {"host": 0, "switch": 1, "radio": 2, "link": 3, "station": 4, "event": 5}
        tables = sorted(self._tables, key=lambda one: order[one[0][0]])
        return "\n".join("".join(f"{_head(name)}{_pairs(keys)}" for name, keys in group)
                         for group in (([(kind, keys), *more]) for (kind, keys), more in tables))

    def save(self, path):
        pathlib.Path(path).write_text(self.text(), encoding="utf-8")

    def run(self, **keywords):
        """`orrery.run("lab", ...)` with this topology; `check=True` only reads it."""
        with tempfile.TemporaryDirectory(prefix="orrery-topology-") as folder:
            path = pathlib.Path(folder) / "topology.toml"
            self.save(path)
            return run("lab", topology=path, **keywords)

    def _node(self, kind, name, keys, more=()):
        self._add(kind, {"name": name, **keys}, more)
        return name

    def _add(self, kind, keys, more=()):
        keys = {key: os.path.abspath(value) if key in PATHS else value for key, value in keys.items()}
        self._tables.append(((kind, keys), list(more)))


def _head(name):
    return f"[[{name}]]\n"


def _pairs(keys):
    return "".join(f"{key} = {_value(value)}\n" for key, value in keys.items())


def _value(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {_value(one)}" for key, one in value.items()) + " }"
    # A text of JSON is one of TOML, but for one character.
    return json.dumps(str(value), ensure_ascii=True).replace("\x7f", "\\u007f")


def _address(link, end):
    """The address of an end of a link: each link is a network of four."""
    if link >= 1 << 22:
        raise UsageError("there are more links than networks of four addresses in 10.0.0.0/8")
    number = (10 << 24) + link * 4 + 1 + end
    return ".".join(str(number >> shift & 255) for shift in (24, 16, 8, 0)) + "/30"


def _names(labels):
    """Names of nodes: letters, digits and '-', each different from the others."""
    names, taken = [], set()
    for label in labels:
        plain = re.sub("[^A-Za-z0-9]+", "-", label).strip("-") or "node"
        name, number = plain, 1
        while name in taken:
            number += 1
            name = f"{plain}-{number}"
        taken.add(name)
        names.append(name)
    return names


def _distance_km(one, other):
    """Along the surface of the Earth (haversine)."""
    (lat1, lon1), (lat2, lon2) = ([math.radians(x) for x in place] for place in (one, other))
    half = math.sin((lat2 - lat1) / 2) ** 2 + math.cos(lat1) * math.cos(lat2) * math.sin(
        (lon2 - lon1) / 2) ** 2
    return 2 * 6371 * math.asin(math.sqrt(half))


def from_graphml(path, router="/lab/olsrd {devices}"):
    """A host for each node and a link for each edge. Delays follow from the places of the nodes, at
    200 km/ms, and are 1 ms without places; rates from LinkSpeedRaw. `router` is the program of each
    host, with the names of its interfaces; None: no program."""
    root = ElementTree.parse(path).getroot()
    space = root.tag.removesuffix("graphml")
    keys = {one.get("id"): one.get("attr.name") for one in root.iter(f"{space}key")}
    graph = root.find(f"{space}graph")
    if graph is None:
        raise UsageError(f"'{path}' is no GraphML: it has no graph")

    def data(of):
        return {keys.get(one.get("key")): one.text or "" for one in of.iter(f"{space}data")}

    nodes = {one.get("id"): data(one) for one in graph.iter(f"{space}node")}
    names = dict(zip(nodes, _names([facts.get("label") or key for key, facts in nodes.items()])))
    edges = [one for one in graph.iter(f"{space}edge") if one.get("source") != one.get("target")]
    links, devices = [], dict.fromkeys(nodes, 0)
    for number, edge in enumerate(edges):
        ends = [edge.get("source"), edge.get("target")]
        if not set(ends) <= set(nodes):
            raise UsageError(f"'{path}': an edge leads from '{ends[0]}' to '{ends[1]}', and one of "
                             "them is no node")
        facts = {"addresses": [_address(number, 0), _address(number, 1)], "delay": "1ms"}
        try:
            places = [(float(nodes[one]["Latitude"]), float(nodes[one]["Longitude"])) for one in ends]
            facts["delay"] = f"{max(round(_distance_km(*places) / 200 * 1e6), 1000)}ns"
        except KeyError:
            pass
        if "LinkSpeedRaw" in data(edge):
            facts["rate"] = f"{float(data(edge)['LinkSpeedRaw']):.0f} bit/s"
        links.append((*ends, facts))
        for one in ends:
            devices[one] += 1
    topology = Topology()
    for key, name in names.items():
        own = " ".join(f"eth{i}" for i in range(devices[key]))
        topology.host(name, [router.format(devices=own)] if router and own else [])
    for one, other, facts in links:
        topology.link(names[one], names[other], **facts)
    return topology


def from_kathara(folder, delay="100us"):
    """The hosts of a lab.conf with their startup commands and files. A collision domain of two is a
    link, one of more is a switch. What else lab.conf sets (images, memory) is left out."""
    folder = pathlib.Path(folder)
    domains, devices = {}, {}
    for line in (folder / "lab.conf").read_text(encoding="utf-8").splitlines():
        found = re.fullmatch(r"""\s*([\w-]+)\[(\w+)\]\s*=\s*["']?([^"'#]*?)["']?\s*(#.*)?""", line)
        if not found or found[1].startswith("LAB_"):
            continue
        own = devices.setdefault(found[1], {})
        if found[2].isdecimal():
            own[int(found[2])] = found[3].split("/")[0]
            domains.setdefault(found[3].split("/")[0], []).append((found[1], int(found[2])))
    names = dict(zip([*devices, *domains], _names([*devices, *domains])))
    topology, order = Topology(), graphlib.TopologicalSorter()
    for device, own in devices.items():
        if sorted(own) != list(range(len(own))):
            raise UsageError(f"'{folder}/lab.conf': the interfaces of '{device}' are not 0, 1, 2, ...")
        topology.host(names[device], **_startup(folder, device))
        # A host's interfaces are numbered in the order of links.
        ends = [_wire(domains, own[i], device, i) for i in range(len(own))]
        for wire in ends:
            order.add(wire)
        for before, after in zip(ends, ends[1:]):
            order.add(after, before)
    try:
        wires = list(order.static_order())
    except graphlib.CycleError:
        raise UsageError(f"'{folder}/lab.conf': no order of the links gives all interfaces their "
                         "numbers; number them in another way") from None
    for domain, ends in domains.items():
        if len(ends) > 2:
            topology.switch(names[domain])
    for wire in wires:
        domain, ends = wire[0], wire[1:]
        two = [names[device] for device, _ in ends] + [names[domain]] * (2 - len(ends))
        if len(domains[domain]) == 1:
            topology.switch(names[domain])  # nobody else is there
        topology.link(*two, delay=delay)
    return topology


def _wire(domains, domain, device, number):
    """The link of an interface, which two interfaces may share."""
    ends = domains[domain]
    return (domain, *ends) if len(ends) == 2 else (domain, (device, number))


def _startup(folder, device):
    keys, script = {}, folder / f"{device}.startup"
    if script.exists():
        keys["setup"] = [script.read_text(encoding="utf-8").strip()]
    files = [path for path in sorted((folder / device).rglob("*")) if path.is_file()]
    if files:
        keys["files"] = {f"/{path.relative_to(folder / device)}": path for path in files}
    return keys


def _main(words):
    if len(words) != 1 or words[0] in ("-h", "--help"):
        print(__doc__)
        return 0 if words else 2
    try:
        source = pathlib.Path(words[0])
        made = from_kathara(source) if source.is_dir() else from_graphml(source)
    except (UsageError, OSError, ElementTree.ParseError, ValueError) as error:
        print(f"orrery.lab: '{words[0]}': {error}", file=sys.stderr)
        return 2
    print(made.text(), end="")
    return 0


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
