# SPDX-License-Identifier: Apache-2.0
"""Reads the captures that hosts of the laboratory leave (capture.h)."""

import struct
from pathlib import Path

MAGIC = 0xa1b23c4d  # nanoseconds


def frames(path):
    """(ns, bytes) of each frame."""
    data, at = Path(path).read_bytes(), 24
    if struct.unpack_from("<I", data)[0] != MAGIC:
        raise ValueError(f"{path} is no capture with nanoseconds")
    while at < len(data):
        seconds, nanoseconds, length, _ = struct.unpack_from("<IIII", data, at)
        yield seconds * 10**9 + nanoseconds, data[at + 16:at + 16 + length]
        at += 16 + length
