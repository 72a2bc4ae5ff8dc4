#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A host among which a worm spreads (topologies/worm-64.toml): a service, and a client that every 10 to
100 ms asks the service of another host. An infected client sends the worm, 4 KB, and the service's
host is infected then. After Yoginath's thesis, section 3.3.4.

Usage: worm.py HOST HOSTS FIRST_S      host HOST of HOSTS, 10.0.0.HOST; host 1 is infected at FIRST_S

Tells on the console when it is infected, and leaves the second in /out/infected.
"""
import random
import socket
import sys
import threading
import time

PORT, WORM = 9001, b"w" * 4096
infected = threading.Event()


def infect():
    if infected.is_set():
        return
    infected.set()
    print(f"infected at {time.monotonic():.6f}", flush=True)
    with open("/out/infected", "w", encoding="ascii") as file:
        file.write(f"{time.monotonic():.9f}\n")


def serve():
    with socket.create_server(("", PORT), backlog=128) as listener:
        while True:
            peer, _ = listener.accept()
            with peer:
                request = b"".join(iter(lambda: peer.recv(8192), b""))
                if request == WORM:
                    infect()
                peer.sendall(bytes(1024 * random.randint(1, 10)))


def ask(host):
    with socket.create_connection((f"10.0.0.{host}", PORT), timeout=1) as peer:
        peer.sendall(WORM if infected.is_set() else b"r")
        peer.shutdown(socket.SHUT_WR)
        while peer.recv(8192):
            pass


def main():
    host, hosts, first = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    threading.Thread(target=serve, daemon=True).start()
    time.sleep(max(first - time.monotonic(), 0))
    if host == 1:
        infect()
    others = [one for one in range(1, hosts + 1) if one != host]
    while True:
        time.sleep(random.uniform(0.01, 0.1))
        try:
            ask(random.choice(others))
        except OSError:
            pass


if __name__ == "__main__":
    main()
