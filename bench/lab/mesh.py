# SPDX-License-Identifier: Apache-2.0
"""A mesh of radio stations (section 4.3 of Yoginath's thesis): a grid in which each hears the four
next to it, and one station more at its edge, which stays or walks along it, a step a second. Real
routing daemons find the ways: babeld (RFC 8966), batman-adv in the hosts' kernels, OLSR (RFC 3626)."""

import math

import orders
import worm
from harness import panels, save_picture
from hosts import Run, address_file, parallel

PITCH_M = 55  # at 6 Mbit/s and 20 dBm it is 12 dB above noise, the diagonal below what is received
PROTOCOLS = ("babel", "batman", "olsr")
OLSR_HELLO_S = 0.1


def interval_s(protocol, hosts):
    """Between messages. In that of babeld each host tells its neighbours of all hosts, and in that of
    batman-adv a message of each host is repeated by all: what that takes of the channel grows with
    the square of their number, and from 0.1 s among 21 it would be full among 64."""
    if protocol == "olsr":
        return OLSR_HELLO_S
    return max(0.1, (hosts / 21) ** 2 / 10) if protocol == "babel" else hosts**2 / 1000


def converged_s(protocol, hosts):
    """When all ways are found."""
    return max(15, math.ceil({"olsr": 0, "babel": 30, "batman": 50}[protocol]
                             * interval_s(protocol, hosts)))


def daemon(protocol, hosts):
    interval = round(interval_s(protocol, hosts), 2)
    return {
        "babel": ("babeld -I /run/babeld.pid -S /run/babeld.state -c /dev/null "
                  f"-h {interval} -H {interval} -C 'redistribute local ip 10.0.0.0/24 le 32' "
                  "-C 'redistribute local deny' eth0 2>/run/babeld.log"),
        "batman": ("ip link add bat0 type batadv; "
                   "ip link set bat0 address $(cat /sys/class/net/eth0/address); "
                   "ip link set eth0 master bat0; "
                   f"batctl meshif bat0 orig_interval {round(1000 * interval)}; "
                   "ip address add 10.0.0.{i}/24 dev bat0; "
                   "ip link set bat0 up; ip -batch /root/neighbours; sleep 100000"),
        "olsr": f"/lab/olsrd --hello-interval {interval} --tc-interval 1 eth0",
    }[protocol]


def places(columns, rows, first):
    """(x, y) in steps of the grid, of all stations; the one at the edge is number `first`."""
    grid = [(i % columns, i // columns) for i in range(columns * rows)]
    return grid[:first] + [(0, -1)] + grid[first:]


def walk(columns, begin_s, end_s):
    """Along the edge and back, a step a second."""
    points, x, step = [], 0, 1
    for second in range(begin_s, end_s):
        points += [f"{second}s {x * PITCH_M} {-PITCH_M}"]
        x += step
        if x in (0, columns - 1):
            step = -step
        points += [f"{second + 1}s {points[-1].split(' ', 1)[1]}"]
    return points


def stations(columns, rows, first, protocol, walk_s):
    """[[station]] of each; the one at the edge walks from walk_s[0] to walk_s[1], if there is such."""
    text = ""
    for i, (x, y) in enumerate(places(columns, rows, first)):
        where = f"position = [{x * PITCH_M}, {y * PITCH_M}]"
        if i == first and walk_s:
            where = f"waypoints = {walk(columns, *walk_s)}".replace("'", '"')
        address = "" if protocol == "batman" else f'address = "10.0.0.{i + 1}/32"\n'
        text += f'[[station]]\nhost = "h{i + 1}"\nradio = "air"\n{address}{where}\n'
    return text


def topology(place, name, columns, rows, protocol, command, *, first=0, walk_s=None, files=""):
    """Hosts h1 to hN, N = columns x rows + 1; `first`: the place of the one at the edge, from 0."""
    device = "bat0" if protocol == "batman" else "eth0"
    neighbours = address_file(place, columns * rows + 1, device)
    asked = ', "ip -batch /root/neighbours"' if device == "eth0" else ""
    return place.write(name, f"""
[[host]]
repeat = {columns * rows + 1}
name = "h{{i}}"
memory = 24
setup = ["echo 1 >/proc/sys/net/ipv4/ip_forward", "echo 1 >/proc/sys/net/ipv6/conf/all/forwarding",
         "echo 0 >/proc/sys/net/ipv4/conf/all/send_redirects"{asked}]
files = {{ "/root/neighbours" = "{neighbours.name}", {files} }}
[[host.program]]
at = "{{i}}7ms"
command = '''{daemon(protocol, columns * rows + 1)}'''
[[host.program]]
command = '''{command}'''
[[radio]]
name = "air"
rate = "6 Mbit/s"
carrier_sense = -93
capture = false
{stations(columns, rows, first, protocol, walk_s)}""")


# ---- CND

EVERY_S, APART_S = 5, 0.05
WALKER = 1  # its place in CND: rank 1; in the worm it is the first host


def orders_topology(place, columns, rows, protocol, walks, first_s):
    place.compile("orders")
    ranks = columns * rows + 1
    return topology(
        place, f"mesh-{protocol}.toml", columns, rows, protocol,
        f"/root/orders cnd {{i-1}} {ranks} {first_s} {EVERY_S} {orders.ROUNDS} {APART_S}",
        first=WALKER, files='"/root/orders" = "orders"',
        walk_s=(first_s - 5, first_s + EVERY_S * orders.ROUNDS) if walks else None)


def cnd(place, options, columns, rows, protocol, walks):
    """Each message goes from one corner of the grid by a host of it to the other corner: all ways are
    equally long, so they arrive in the order in which they were sent. A row (orders.compare)."""
    ranks = columns * rows + 1

    def describe(fair):
        first = converged_s(protocol, ranks) + (ranks if fair else 0)  # what booting takes at most
        return (orders_topology(place, columns, rows, protocol, walks, first),
                first + EVERY_S * orders.ROUNDS + 1)

    return orders.compare(place, options, "cnd", ranks, describe)


# ---- A worm over next hops

WORM_S = 25


def worm_spread(place, options, columns, rows, protocol, walks, seed):
    """Hosts (number, seconds since the first) in the order in which they were infected. It begins at
    the host at the edge, and each host infects only its neighbours, as the protocol knows them."""
    place.compile("worm")
    hosts = columns * rows + 1
    begin = converged_s(protocol, hosts)
    end = begin + WORM_S
    path = topology(place, f"worm-{protocol}.toml", columns, rows, protocol,
                    f"/root/worm {{i}} {hosts} {worm.START_OF_HOSTS + begin} "
                    f"{'bat0' if protocol == 'batman' else 'eth0'}",
                    files='"/root/worm" = "worm"',
                    walk_s=(begin - 5, end) if walks else None)
    run = Run(place, path, options.build, "--seed", str(seed), "--until", f"{end}s",
              *parallel(options))
    infected = worm.infections(run.hosts, hosts)
    run.forget()
    return [(host, at - infected[0][0]) for at, host in infected]


def nearest(columns):
    """Who can be infected by the first, h1, before anybody else is: if it stays, the one neighbour;
    if it walks, all of the edge along which it does."""
    return {"stays": {2}, "walks": set(range(2, columns + 2))}


def picture(curves, hosts, path):
    figure, axes = panels(1, 1, 7, 4.5)
    ax = axes[0][0]
    for name, spreads in curves.items():
        for i, spread in enumerate(spreads):
            ax.step([at for _, at in spread], range(1, len(spread) + 1), where="post",
                    color={"stays": "tab:blue", "walks": "tab:orange"}[name], alpha=0.7,
                    label=f"the first {name}" if i == 0 else None)
    ax.set_xlabel("virtual seconds since the first infection")
    ax.set_ylabel(f"infected of {hosts} hosts")
    ax.legend()
    save_picture(figure, path)
