#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A gateway of sensors (topologies/sensors.toml): writes what arrives, with its time in microseconds,
and can ask sensors.

Usage: gateway.py [SECONDS ADDRESS TEXT]...      asks the sensor ADDRESS after so many seconds
"""
import socket
import sys
import threading
import time

PORT = 5000


def main():
    channel = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    channel.bind(("", PORT))
    words = iter(sys.argv[1:])
    for seconds, address, text in zip(words, words, words):
        question = threading.Timer(float(seconds), channel.sendto,
                                   (text.encode("ascii"), (address, PORT)))
        question.daemon = True
        question.start()
    while True:
        text, (address, _) = channel.recvfrom(2048)
        print(f"{time.monotonic_ns() // 1000} {address} {text.decode('ascii', 'replace').strip()}",
              flush=True)


main()
