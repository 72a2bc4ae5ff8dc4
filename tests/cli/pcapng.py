# SPDX-License-Identifier: Apache-2.0
"""A strict reader of pcapng files of one section (draft-ietf-opsawg-pcapng), written from the
format's description, not from Orrery's writer. Raises ValueError for what the format forbids."""

import dataclasses
import struct

SECTION, INTERFACE, PACKET = 0x0A0D0D0A, 1, 6


@dataclasses.dataclass
class Interface:
    link: int
    snap_bytes: int
    name: str
    help: str
    resolution: int


@dataclasses.dataclass
class Packet:
    interface: int
    time: int
    data: bytes
    comment: str


def blocks(content):
    """Type and body of each block; both of its lengths must agree."""
    at = 0
    while at < len(content):
        kind, length = struct.unpack_from("<II", content, at)
        if length % 4 or length < 12 or at + length > len(content):
            raise ValueError(f"a block of {length} bytes at {at}")
        if struct.unpack_from("<I", content, at + length - 4)[0] != length:
            raise ValueError(f"the lengths of the block at {at} differ")
        yield kind, content[at + 8:at + length - 4]
        at += length


def options(body):
    """By code. Options end with an end-of-options, and nothing follows."""
    found, at = {}, 0
    while at < len(body):
        code, length = struct.unpack_from("<HH", body, at)
        at += 4
        if code == 0:
            if length or at != len(body):
                raise ValueError("bytes follow the end of the options")
            return found
        if body[at + length:at + (length + 3) // 4 * 4].strip(b"\0"):
            raise ValueError("padding is not zero")
        found[code] = body[at:at + length]
        at += (length + 3) // 4 * 4
    raise ValueError("options do not end")


def interface_of(body):
    link, reserved, snap = struct.unpack_from("<HHI", body)
    if reserved:
        raise ValueError("a reserved field is not zero")
    found = options(body[8:])
    return Interface(link, snap, found[2].decode(), found.get(3, b"").decode(), found[9][0])


def packet_of(body, interfaces):
    interface, high, low, captured, original = struct.unpack_from("<IIIII", body)
    if interface >= interfaces:
        raise ValueError(f"interface {interface} is not declared before its packet")
    if captured != original:
        raise ValueError("a packet is cut off")
    end = 20 + (captured + 3) // 4 * 4
    if body[20 + captured:end].strip(b"\0"):
        raise ValueError("padding is not zero")
    return Packet(interface, high << 32 | low, body[20:20 + captured], options(body[end:])[1].decode())


def read(path):
    """(interfaces, packets) of a file."""
    interfaces, packets = [], []
    for number, (kind, body) in enumerate(blocks(path.read_bytes())):
        if (kind == SECTION) != (number == 0):
            raise ValueError("a file of one section begins with it")
        if kind == SECTION:
            magic, major, minor, length = struct.unpack_from("<IHHq", body)
            if (magic, major, minor, length) != (0x1A2B3C4D, 1, 0, -1):
                raise ValueError("an unexpected head of a section")
            options(body[16:])
        elif kind == INTERFACE:
            interfaces.append(interface_of(body))
        elif kind == PACKET:
            packets.append(packet_of(body, len(interfaces)))
        else:
            raise ValueError(f"a block of type {kind}")
    return interfaces, packets
