# SPDX-License-Identifier: Apache-2.0
"""What a file of `orrery run --trace` holds, in Python: decoded by hand, as far as our traces go, so
that it needs no package (src/trace/format.h)."""

import collections
import pathlib
import struct

# Numbers of fields of the format.
PACKET, TIMESTAMP, SEQUENCE, EVENT, INTERNED, FLAGS, TRACK = 1, 8, 10, 11, 12, 13, 60
BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
COMMITTED = 1  # the sequence


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    """Number and value of each field of a message."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            value, at = struct.unpack_from("<Q", data, at)[0], at + 8
        elif kind == 2:
            size, at = varint(data, at)
            if at + size > len(data):
                raise ValueError("a field goes beyond its message")
            value, at = data[at:at + size], at + size
        else:
            raise ValueError(f"wire type {kind}")
        yield tag >> 3, value


def only(data, number, otherwise=None):
    return next((value for field, value in fields(data) if field == number), otherwise)


Event = collections.namedtuple("Event", "sequence time kind track name notes flows ends value")


class Trace:
    """All that a file holds."""

    def __init__(self, path):
        self.bytes = pathlib.Path(path).read_bytes()
        self.packets = [value for number, value in fields(self.bytes) if number == PACKET]
        self.events, self.tracks, self.committed_bytes = [], {}, []
        names, notes, begun = {}, {}, set()
        for packet in self.packets:
            sequence = only(packet, SEQUENCE)
            if only(packet, FLAGS) == 1:
                begun.add(sequence)
            assert sequence in begun, "a sequence begins with cleared state"
            if sequence == COMMITTED:
                self.committed_bytes.append(packet)
            for number, value in fields(only(packet, INTERNED, b"")):
                table = names if number == 2 else notes
                table[sequence, only(value, 1)] = only(value, 2).decode()
            track = only(packet, TRACK)
            if track is not None:
                name = only(track, 2) or only(only(track, 3, b""), 6)
                self.tracks[only(track, 1)] = (name.decode(), only(track, 5))
            event = only(packet, EVENT)
            if event is not None:
                self.events.append(self.event(packet, event, sequence, names, notes))

    @staticmethod
    def event(packet, event, sequence, names, notes):
        values = {}
        for number, value in fields(event):
            if number == 4:
                parts = dict(fields(value))
                iid = parts.pop(1)
                values[notes[sequence, iid]] = next(iter(parts.values()))
        iid = only(event, 10)
        return Event(sequence, only(packet, TIMESTAMP), only(event, 9), only(event, 11),
                     names[sequence, iid] if iid else None, values,
                     [value for number, value in fields(event) if number == 47],
                     [value for number, value in fields(event) if number == 48],
                     only(event, 30, only(event, 44)))

    def committed(self):
        return [event for event in self.events if event.sequence == COMMITTED and
                event.kind != END and event.track != 1]

    def handled(self):
        """Without what LPs did at the start."""
        return [event for event in self.committed() if event.name != "start"]

    def tail(self):
        return [event for event in self.events if event.track == 1][-1].notes

    def life(self):
        return [event for event in self.events if event.sequence != COMMITTED]

    def names_of_life(self):
        return {event.name for event in self.life() if event.kind == BEGIN}
