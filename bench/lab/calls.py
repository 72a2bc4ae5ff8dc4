# SPDX-License-Identifier: Apache-2.0
"""Calls over a path of several hops: SIP and RTP by sipp, between a host that calls and one that is
called. The more at once, the nearer the path to its rate, and then each packet in excess is lost. Calls
themselves fail late: SIP sends again what has no answer, and they only take longer to set up.

A call sends 50 packets a second each way, of 160 bytes of G.711 and 54 of headers (RTP, UDP, IP,
Ethernet without its check sequence, which links here do not send). What should be lost is arithmetic:
of n calls all that is beyond the path's rate. Over radio, stations share one channel, and nobody has
the arithmetic: there the same hosts alone on the machine are the measure."""

import re
import struct
from typing import NamedTuple

from harness import ROOT, panels, save_picture
from hosts import Run, need, parallel, run_fair
from mesh import PITCH_M

SCENARIOS = ROOT / "models/lab/topologies/calls"
FIRST_S, RAMP_S, TALK_S = 1, 3, 8  # calls begin one after the other, most of many on a full path
PATIENCE_S = 40  # what SIP tries again for, at most (64 T1 of RFC 3261), and more
BITS_A_SECOND = 50 * 8 * (160 + 12 + 8 + 20 + 14)
SIP_PORT = 5060


class Path(NamedTuple):
    """What is between who calls and who is called."""
    text: str  # hosts and links of the topology; links with 'caller' and 'called' at their ends
    caller: str  # addresses
    called: str
    to_called: str  # commands that set routes
    to_caller: str
    bits_a_second: float = 0  # that it carries each way; 0: not known


def wired(hops=3, megabits=2, delay="5ms", queue=50):
    """Links in a row, with a host that routes between two."""
    names = ["caller", *(f"r{i}" for i in range(1, hops)), "called"]
    text = ""
    for i in range(1, hops):
        routes = ['"echo 1 >/proc/sys/net/ipv4/ip_forward"']
        if i < hops - 1:
            routes.append(f'"ip route add 10.0.{hops}.0/24 via 10.0.{i + 1}.2"')
        if i > 1:
            routes.append(f'"ip route add 10.0.1.0/24 via 10.0.{i}.1"')
        text += f"""
[[host]]
name = "r{i}"
ipv6 = false
setup = [{", ".join(routes)}]
[[host.program]]
command = "sleep 1000"
"""
    for i in range(hops):
        text += f"""
[[link]]
between = ["{names[i]}", "{names[i + 1]}"]
addresses = ["10.0.{i + 1}.1/24", "10.0.{i + 1}.2/24"]
delay = "{delay}"
rate = "{megabits} Mbit/s"
queue = {queue}
"""
    return Path(text, "10.0.1.1", f"10.0.{hops}.2", "ip route add default via 10.0.1.2",
                f"ip route add default via 10.0.{hops}.1", megabits * 1e6)


def by_radio(others, hops=3):
    """Stations in a row that share a channel, each of which hears the next ones. On a channel of their
    own are others, routed by OLSR, which only load the machine."""
    names = ["caller", *(f"r{i}" for i in range(1, hops)), "called"]
    text = """
[[radio]]
name = "air"
rate = "6 Mbit/s"
carrier_sense = -93
"""
    for i, name in enumerate(names):
        if 0 < i < hops:
            text += f"""
[[host]]
name = "{name}"
ipv6 = false
setup = ["echo 1 >/proc/sys/net/ipv4/ip_forward", "echo 0 >/proc/sys/net/ipv4/conf/all/send_redirects",
         "{routes_of(i, hops)}"]
[[host.program]]
command = "sleep 1000"
"""
        text += f"""
[[station]]
host = "{name}"
radio = "air"
address = "10.0.0.{i + 1}/32"
position = [{i * PITCH_M}, 0]
"""
    if others > 0:
        text += f"""
[[host]]
repeat = {others}
name = "other{{i}}"
ipv6 = false
[[host.program]]
command = "/lab/olsrd --hello-interval 0.1 --tc-interval 1 eth0"
[[radio]]
name = "elsewhere"
rate = "6 Mbit/s"
layout = "grid"
spacing = {PITCH_M}
carrier_sense = -93
capture = false
[[station]]
repeat = {others}
host = "other{{i}}"
radio = "elsewhere"
address = "10.1.0.{{i}}/32"
"""
    return Path(text, "10.0.0.1", f"10.0.0.{hops + 1}", routes_of(0, hops), routes_of(hops, hops))


def routes_of(station, hops):
    """A command that routes to each station by the next one."""
    return "; ".join([f"ip route add 10.0.0.{other + 1} dev eth0" if abs(other - station) == 1 else
                      f"ip route add 10.0.0.{other + 1} via 10.0.0.{station + 1 + (1 if other > station else -1)}"
                      for other in sorted(range(hops + 1), key=lambda other: abs(other - station))
                      if other != station])


def topology(place, calls, path, first_s=FIRST_S):
    def end(name, route, command):
        return f"""
[[host]]
name = "{name}"
memory = 96
ipv6 = false
system_call = "1us"
files = {{ "/root/scenario.xml" = "{SCENARIOS}/{name}.xml" }}
setup = [
  "{route}",
  "head -c 16000 /dev/zero | tr '\\\\0' '\\\\325' >/root/speech.alaw",
]
[[host.program]]
{command}
[[host.program]]
command = "while sleep 1; do cp /proc/net/snmp /out/snmp; done"
"""
    return place.write(f"calls{calls}.toml", end("caller", path.to_called, f"""at = "{first_s}s"
command = '''
sipp {path.called} -sf /root/scenario.xml -i {path.caller} -mi {path.caller} -m {calls} -l {calls} \\
  -r {calls} -rp {1000 * RAMP_S} -d {1000 * TALK_S} -nostdin -trace_stat -stf /out/calls.csv >/out/screen
sleep 1000'''""") + end("called", path.to_caller, f"""command = '''
sipp -sf /root/scenario.xml -i {path.called} -mi {path.called} -nostdin >/out/screen'''""") + path.text)


def seconds(first_s=FIRST_S):
    """How long a run with calls is."""
    return first_s + RAMP_S + TALK_S + PATIENCE_S


def counts_of(folder):
    """What sipp counted at the end."""
    names, *_, last = (folder / "caller/out/calls.csv").read_text().strip().split("\n")
    return dict(zip(names.split(";"), last.split(";")))


def datagrams(folder, host):
    """(received, sent): packets of IP without those of ICMP. sipp reads no RTP, so that what has arrived
    is not in the counts of UDP."""
    counts = {}
    lines = [line.split() for line in (folder / host / "out/snmp").read_text().strip().split("\n")]
    for (name, *names), (_, *values) in zip(lines[::2], lines[1::2]):
        counts |= {name + key: int(value) for key, value in zip(names, values)}
    return (counts["Ip:InDelivers"] - counts["Icmp:InMsgs"],
            counts["Ip:OutRequests"] - counts["Icmp:OutMsgs"])


def rtp_packets(frames, sender):
    """{(port, port, sequence number, source): ns} of the packets of RTP that this address sends."""
    found = {}
    for time, frame in frames:
        if len(frame) < 54 or frame[12:14] != b"\x08\x00" or frame[23] != 17:
            continue
        ports = struct.unpack_from(">HH", frame, 34)
        if frame[26:30] != sender or SIP_PORT in ports:
            continue
        found[(*ports, *struct.unpack_from(">H", frame, 44), frame[50:54])] = time
    return found


def lost_share(run, sender, receiver, address):
    """(packets a second, share of them that did not arrive) while all calls stand."""
    begin, end = (FIRST_S + RAMP_S + 1) * 10**9, (FIRST_S + TALK_S - 1) * 10**9
    address = bytes(map(int, address.split(".")))
    sent = [key for key, time in rtp_packets(run.frames(sender), address).items()
            if begin <= time < end]
    arrived = rtp_packets(run.frames(receiver), address)
    lost = sum(key not in arrived for key in sent)
    return len(sent) / ((end - begin) / 1e9), lost / len(sent) if sent else 0


def set_up_ms(frames):
    """How long each call that was set up took for it, from its first INVITE to the answer."""
    begun, took = {}, {}
    for time, frame in frames:
        if len(frame) < 54 or frame[23] != 17 or SIP_PORT not in struct.unpack_from(">HH", frame, 34):
            continue
        text = frame[42:].decode(errors="replace")
        call, number = (re.search(rf"^{name}: *(.*?)\r?$", text, re.MULTILINE)
                        for name in ("Call-ID", "CSeq"))
        if not call or not number or number[1] != "1 INVITE":
            continue
        if text.startswith("INVITE"):
            begun.setdefault(call[1], time)
        elif text.startswith("SIP/2.0 200"):
            took.setdefault(call[1], (time - begun[call[1]]) / 1e6)
    return list(took.values())


def expected_loss(calls, path):
    return max(0, 1 - path.bits_a_second / (calls * BITS_A_SECOND))


def one(place, options, calls, path):
    """A row: calls that failed, packets sent and lost each way."""
    need("sip-tester", "sipp")
    run = Run(place, topology(place, calls, path), options.build, "--until", f"{seconds()}s",
              *parallel(options))
    counts = counts_of(run.hosts)
    there = lost_share(run, "caller", "called", path.caller)
    back = lost_share(run, "called", "caller", path.called)
    set_up = set_up_ms(run.frames("caller"))
    run.forget()
    return {"part": "calls", "calls": calls, "failed": calls - int(counts["SuccessfulCall(C)"]),
            "set_up_most_ms": max(set_up), "set_up_mean_ms": sum(set_up) / len(set_up),
            "retransmissions": int(counts["Retransmissions(C)"]),
            "sent_a_second": there[0], "lost": there[1], "sent_back_a_second": back[0],
            "lost_back": back[1], "expected": expected_loss(calls, path), "wall_s": run.wall_s}


def row_by_radio(folder, calls, others, way):
    counts = counts_of(folder)
    (received, sent), (received_there, sent_back) = datagrams(folder, "caller"), datagrams(folder, "called")
    return {"part": "calls-radio", "way": way, "calls": calls, "others": others,
            "failed": calls - int(counts["SuccessfulCall(C)"]),
            "retransmissions": int(counts["Retransmissions(C)"]),
            "lost": 1 - received_there / sent, "lost_back": 1 - received / sent_back}


def on_radio(place, options, calls, others):
    """A row of calls over radio on virtual time."""
    need("sip-tester", "sipp")
    run = Run(place, topology(place, calls, by_radio(others)), options.build, "--until",
              f"{seconds()}s", *parallel(options))
    row = row_by_radio(run.hosts, calls, others, "ours") | {"wall_s": run.wall_s}
    run.forget()
    return row


def on_radio_fair(place, options, calls, others):
    """The same by the machine's scheduler."""
    first_s = 5 + others
    path = topology(place, calls, by_radio(others), first_s)
    said, folder = run_fair(place, path, options.build, seconds(first_s) + 5)
    return row_by_radio(folder, calls, others, "fair") | {"wall_s": seconds(first_s) + 5, **said}


def picture(rows, path, to):
    """What is lost and what fails; how long it takes to set a call up."""
    import numpy as np

    calls = [row["calls"] for row in rows]
    grid = np.geomspace(calls[0], calls[-1], 200)
    figure, axes = panels(1, 2, 6, 4)
    lost, set_up = axes[0]
    lost.plot(grid, [100 * expected_loss(n, path) for n in grid], "--", color="0.3",
              label="packets beyond the path's rate")
    lost.plot(calls, [100 * row["lost"] for row in rows], "o", label="RTP lost, to the called")
    lost.plot(calls, [100 * row["lost_back"] for row in rows], "x", label="RTP lost, to the caller")
    lost.plot(calls, [100 * row["failed"] / row["calls"] for row in rows], "^-", label="calls failed")
    lost.set_ylabel("%")
    set_up.plot(calls, [row["set_up_most_ms"] for row in rows], "o-", label="longest")
    set_up.plot(calls, [row["set_up_mean_ms"] for row in rows], "s-", label="mean")
    set_up.set_ylabel("time to set a call up, ms")
    for ax in axes[0]:
        ax.set_xscale("log", base=2)
        ax.set_xticks(calls, calls)
        ax.set_xlabel("simultaneous calls")
        ax.legend()
    save_picture(figure, to)
