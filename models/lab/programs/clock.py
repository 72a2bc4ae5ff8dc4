#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sends the date of this host's clock to another host, every so often. In a capture, the packet
(UDP, port 9, nanoseconds of Unix time in digits) has the virtual time beside the date.

Usage: clock.py ADDRESS INTERVAL_S
"""
import socket
import sys
import time

address, interval_s = sys.argv[1], float(sys.argv[2])
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
while True:
    udp.sendto(str(time.time_ns()).encode(), (address, 9))
    time.sleep(interval_s)
