# SPDX-License-Identifier: Apache-2.0
"""Reads the captures that hosts of the laboratory leave (capture.h), and knows the addresses in them."""

import struct
from pathlib import Path

MAGIC = 0xa1b23c4d  # nanoseconds


def device_address(host, device=0):
    """The Ethernet address of an interface, as in device_address.h: FNV-1a of the host's name."""
    name = 0x811c9dc5
    for letter in host.encode():
        name = (name ^ letter) * 0x01000193 % 2**32
    return b"\x02" + name.to_bytes(4, "big") + bytes([device])


def frames(path):
    """(ns, bytes) of each frame."""
    data, at = Path(path).read_bytes(), 24
    if struct.unpack_from("<I", data)[0] != MAGIC:
        raise ValueError(f"{path} is no capture with nanoseconds")
    while at < len(data):
        seconds, nanoseconds, length, _ = struct.unpack_from("<IIII", data, at)
        yield seconds * 10**9 + nanoseconds, data[at + 16:at + 16 + length]
        at += 16 + length
