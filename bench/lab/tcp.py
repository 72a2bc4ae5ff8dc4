# SPDX-License-Identifier: Apache-2.0
"""What real TCP does on exact links: how long an echo and a frame take, a window a round trip, and
Reno under independent losses against the model of Padhye, Firoiu, Towsley and Kurose (SIGCOMM 1998)."""

import json
import math

from hosts import Run, device_address, two_hosts

DELAY_MS, RATE_MBITS = 10, 10
ECHO_BYTES = 98
SEGMENT = 1448
RENO = " ".join(f"echo {value} >/proc/sys/net/ipv4/{name};" for name, value in (
    ("tcp_congestion_control", "reno"), ("tcp_sack", 0), ("tcp_dsack", 0), ("tcp_recovery", 0),
    ("tcp_early_retrans", 0), ("tcp_frto", 0), ("tcp_no_metrics_save", 1)))


def transmission_ns(size):
    return size * 8 * 1000 // RATE_MBITS


def echoes(place, options):
    """Round trips on the tap of the asking host, all but the first, which asks for an address."""
    path = two_hosts(place, "echo.toml", "ping -c 20 -i 0.2 10.0.0.2", "sleep 6",
                     f'delay = "{DELAY_MS}ms"\nrate = "{RATE_MBITS} Mbit/s"')
    run = Run(place, path, options.build)
    sent, trips = {}, []
    for at, frame in run.frames("a"):
        if frame[12:14] == b"\x08\x00" and frame[23] == 1:
            if frame[34] == 8:
                sent[frame[40:42]] = at
            else:
                trips.append(at - sent[frame[40:42]])
    run.forget()
    expected = 2 * (transmission_ns(ECHO_BYTES) + DELAY_MS * 1_000_000)
    return max(abs(trip - expected) for trip in trips[1:]), len(trips) - 1, expected


def transfer(place, options):
    """All frames of a bulk transfer: each arrives when it, and those before it, have been sent, and the
    delay has passed. Sent times from the sender's tap, arrivals from the receiver's."""
    path = two_hosts(place, "transfer.toml", "iperf3 -c 10.0.0.2 -n 2M", "iperf3 -s -1",
                     f'delay = "{DELAY_MS}ms"\nrate = "{RATE_MBITS} Mbit/s"')
    run = Run(place, path, options.build)
    sent, arrived = ([(at, frame) for at, frame in run.frames(host)
                      if frame[6:12] == device_address("a")] for host in ("a", "b"))
    run.forget()
    off = busy_until = 0
    for (sent_at, frame), (arrived_at, same) in zip(sent, arrived):
        busy_until = max(busy_until, sent_at) + transmission_ns(len(frame))
        off = max(off, abs(arrived_at - busy_until - DELAY_MS * 1_000_000),
                  0 if frame == same else math.inf)
    return off, len(arrived), transmission_ns(1514) + DELAY_MS * 1_000_000


def window(place, options, rtt_ms):
    """Throughput under a receiver's window that is smaller than the path: (measured, window / RTT)."""
    limit = "echo 4096 32768 32768 >/proc/sys/net/ipv4/tcp_rmem"
    path = two_hosts(place, "window.toml", "iperf3 -c 10.0.0.2 -t 10 -J >/out/client",
                     "iperf3 -s -1", f'delay = "{rtt_ms / 2}ms"', setup=("true", limit))
    run = Run(place, path, options.build)
    bits = json.loads(run.left("a", "client"))["end"]["sum_received"]["bits_per_second"]
    largest = scale = 0
    for _, frame in run.frames("a"):
        if frame[12:14] != b"\x08\x00" or frame[23] != 6 or frame[26:30] != bytes([10, 0, 0, 2]):
            continue
        tcp = frame[34:]
        if tcp[13] & 2:  # SYN: its window is not scaled, its option says by how much others are
            scale = max(scale, scale_of(tcp[20:4 * (tcp[12] >> 4)]))
        else:
            largest = max(largest, int.from_bytes(tcp[14:16], "big") << scale)
    run.forget()
    return bits, largest * 8 / (rtt_ms / 1000)


def scale_of(options):
    at = 0
    while at < len(options) and options[at] != 0:
        if options[at] == 3:
            return options[at + 2]
        at += 1 if options[at] == 1 else options[at + 1]
    return 0


def pftk(p, rtt, rto, most, b=1):
    """Segments a second (their equation 30). `b`, the segments that let the window grow by as much as
    one acknowledgement does: 1, since Linux counts what is acknowledged and not acknowledgements."""
    if p == 0:
        return most / rtt
    return min(most / rtt, 1 / (rtt * math.sqrt(2 * b * p / 3)
                                + rto * min(1, 3 * math.sqrt(3 * b * p / 8)) * p
                                * (1 + 32 * p * p)))


def mathis(p, rtt, b=1):
    return math.sqrt(3 / (2 * b * p)) / rtt


def reno(place, options, p, losses):
    """(measured segments a second, PFTK, Mathis, losses)."""
    rtt = 0.02
    expected = pftk(p, rtt, 0.22, 1e9)
    seconds = math.ceil(losses / (p * expected))
    path = two_hosts(place, "reno.toml", f"iperf3 -c 10.0.0.2 -t {seconds} -J -i 0 >/out/client",
                     "iperf3 -s -1",
                     f'delay = "{rtt / 2 * 1000}ms"\nloss = [{p}, 0]\nqueue = 10000\nrate = "1 Gbit/s"\n'
                     "capture = false", setup=(RENO, RENO))
    run = Run(place, path, options.build, "--until", f"{seconds + 10}s")
    end = json.loads(run.left("a", "client"))["end"]
    measured = end["sum_received"]["bits_per_second"] / 8 / SEGMENT
    lost = run.count("lost")
    run.forget()
    return measured, expected, mathis(p, rtt), lost
