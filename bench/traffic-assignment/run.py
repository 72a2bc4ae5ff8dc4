#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Link flows of the traffic model against published equilibria.

The networks are Sioux Falls, Anaheim and Chicago Sketch of the collection "Transportation Networks
for Research" (github.com/bstabler/TransportationNetworks). First the static assignment of the model,
a computation without a simulation, is compared with the best known flows (*_flow.tntp). Then the
volumes of a simulation of the same hour are compared, by the drivers' routes. A simulated hour is not
a static hour: queues hold back traffic that exceeds a capacity, and vehicles that depart late in the
hour pass after it. So the volumes are those of all vehicles until the last queue has cleared.

  ./dev bench traffic-assignment --data DIR    DIR holds SiouxFalls_net.tntp and so on

Needs the collection's files, which are not part of Orrery; missing networks are skipped. Writes
traffic-assignment.json and a picture of simulated against published flows.
"""

import csv
import math
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness import (ROOT, Failed, Progress, Table, command, launch, orrery_command,  # noqa: E402
                     panels, parser, require, save_picture, write_record)

# Name, and the weights of generalised cost that the collection gives for it: of toll, of distance.
NETWORKS = {"SiouxFalls": (0, 0), "Anaheim": (0, 0), "ChicagoSketch": (0.02, 0.04)}
ROUTES = ["free-flow", "equilibrium", "adaptive"]
BAR = 0.01  # of what was published, on every link


def published_flows(path):
    """{(from, to): flow}; lines are 'from to flow cost' under a heading."""
    flows = {}
    for line in path.read_text().splitlines():
        words = line.split()
        if len(words) >= 3 and words[0].isdigit():
            flows[int(words[0]), int(words[1])] = float(words[2])
    return flows


def correlation(pairs):
    a, b = zip(*pairs)
    return statistics.correlation(a, b)


def agreement(found, published):
    """How two sets of link flows agree."""
    if set(found) != set(published):
        raise Failed("the published flows are of other links than the network has")
    pairs = [(found[link], published[link]) for link in published]
    errors = [abs(a - b) for a, b in pairs]
    rms = math.sqrt(sum(error * error for error in errors) / len(errors))
    used = [(error / b, link) for error, (_, b), link in zip(errors, pairs, published) if b > 0]
    return {"correlation": correlation(pairs), "rms": rms,
            "rms_by_mean": rms / statistics.fmean(published.values()),
            "largest": max(errors), "largest_by_flow": max(used)[0],
            "sum_by_published": sum(found.values()) / sum(published.values())}


def assign(options, name):
    """The static assignment: its flows and the figures of its first line."""
    words = [options.build / "bin/traffic_assignment", options.data / f"{name}_net.tntp",
             options.data / f"{name}_trips.tntp", options.gap, 1000, *NETWORKS[name]]
    seconds = []
    for _ in range(options.rounds):
        lines = launch(words)[0].splitlines()
        gap, rounds, paths, took = map(float, lines[0].split())
        seconds.append(took)
    flows = {(int(a), int(b)): float(flow) for a, b, flow, _ in map(str.split, lines[1:])}
    return flows, {"gap": gap, "rounds": int(rounds), "paths": int(paths),
                   "seconds": statistics.median(seconds)}


def simulate(options, name, routes):
    """Volumes of a simulated hour, to the end of its last trip."""
    toll, distance = NETWORKS[name]
    sets = {"network": options.data / name, "routes": routes, "toll_factor": toll,
            "distance_factor": distance, "report_interval": options.report_interval}
    with tempfile.TemporaryDirectory(prefix="orrery-bench-") as folder:
        launch(orrery_command("traffic", ["--engine", "sequential", "--out", folder, "--force"],
                              sets, options.build))
        with open(Path(folder) / "links.csv", newline="", encoding="utf-8") as file:
            return {(int(row["from"]), int(row["to"])): float(row["volume"])
                    for row in csv.DictReader(file)}


def picture(results, path):
    figure, axes = panels(len(results), len(ROUTES), 4, 4)
    for row, result in zip(axes, results):
        for axis, routes in zip(row, ROUTES):
            published, found = result["published"], result["volumes"][routes]
            top = max(published.values())
            axis.plot([0, top], [0, top], color="0.6", linewidth=0.8)
            axis.scatter([published[link] for link in published],
                         [found[link] for link in published], s=6, alpha=0.6)
            axis.set_title(f"{result['name']}, {routes}: "
                           f"r = {result['simulated'][routes]['correlation']:.3f}", fontsize=10)
            axis.set_xlabel("published equilibrium flow (veh)")
            axis.set_ylabel("simulated volume (veh)")
    save_picture(figure, path)


def measure(options, name, progress):
    progress.say(f"{name}: static assignment")
    published = published_flows(options.data / f"{name}_flow.tntp")
    flows, facts = assign(options, name)
    result = {"name": name, "published": published, "volumes": {}, "simulated": {},
              "static": {**facts, **agreement(flows, published)}}
    for routes in options.routes:
        progress.say(f"{name}: simulation, routes={routes}")
        result["volumes"][routes] = simulate(options, name, routes)
        result["simulated"][routes] = agreement(result["volumes"][routes], published)
    progress.clear()
    return result


def show(results):
    share = lambda value: f"{100 * value:.2g} %"  # noqa: E731
    print("Static assignment against the published flows")
    table = Table(("", 14, ""), ("gap", 9, ".1e"), ("rounds", 7, "d"), ("paths", 8, ",d"),
                  ("seconds", 8, ".3f"), ("1 - correlation", 16, ".1e"), ("RMS (veh)", 10, ".2g"),
                  ("RMS/mean", 10, share), ("largest (veh)", 14, ".2g"), ("of its link", 12, share))
    table.head()
    for result in results:
        s = result["static"]
        table.row(result["name"], s["gap"], s["rounds"], s["paths"], s["seconds"],
                  1 - s["correlation"], s["rms"], s["rms_by_mean"], s["largest"],
                  s["largest_by_flow"], note="" if s["largest_by_flow"] <= BAR else "  MISSED 1 %")
    print("\nSimulated volumes against the published flows")
    table = Table(("", 28, ""), ("correlation", 12, ".4f"), ("RMS (veh)", 10, ",.0f"),
                  ("RMS/mean", 10, share), ("sum/sum", 9, ".3f"))
    table.head()
    for result in results:
        for routes, s in result["simulated"].items():
            table.row(f"{result['name']}, {routes}", s["correlation"], s["rms"], s["rms_by_mean"],
                      s["sum_by_published"])


def parse_arguments():
    parse = parser("traffic-assignment", __doc__, out="results/traffic-assignment", rounds=3)
    parse.add_argument("--data", type=Path, default=ROOT.parent / "shared/data/tntp",
                       help="folder of the collection's files (../shared/data/tntp)")
    parse.add_argument("--gap", type=float, default=1e-12, help="relative gap to reach (1e-12)")
    parse.add_argument("--networks", default=",".join(NETWORKS))
    parse.add_argument("--static-only", action="store_true", help="no simulations")
    parse.add_argument("--report-interval", default="60s", help="of adaptive routes (60s)")
    options = parse.parse_args()
    options.routes = [] if options.static_only else ROUTES
    return options


def main():
    options = parse_arguments()
    require(options, "traffic_assignment")
    results, progress = [], Progress()
    for name in options.networks.split(","):
        missing = [kind for kind in ("net", "trips", "flow")
                   if not (options.data / f"{name}_{kind}.tntp").exists()]
        if name not in NETWORKS or missing:
            print(f"skipped {name}: there is no {options.data}/{name}_{(missing or ['net'])[0]}.tntp")
            continue
        results.append(measure(options, name, progress))
    if not results:
        return
    show(results)
    write_record(options.out, "traffic-assignment",
                 [{key: result[key] for key in ("name", "static", "simulated")}
                  for result in results])
    if options.routes:
        picture(results, options.out / "traffic-assignment.png")
    print(f"\n{options.out}: traffic-assignment.json"
          + (", traffic-assignment.png" if options.routes else ""))
    if any(result["static"]["largest_by_flow"] > BAR for result in results):
        sys.exit(1)


if __name__ == "__main__":
    command(main)
