"""Bytes that are no request, by what is wrong with them. Knows the frame and a request's head."""

from __future__ import annotations

import struct

from tests.gateway.wire_client import join
from tests.wire_client import framed

NO_PROTOCOLS = framed("JoinGroup", 0, "", **join() | {"protocols": []})

GARBAGE = {
    "a length of 2 GB": struct.pack(">i", 2**31 - 1),
    "a negative length": struct.pack(">i", -1),
    "one byte more than is read": struct.pack(">i", 2_097_153),
    "HTTP": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "TLS where there is none": bytes.fromhex("16030100c8010000c40303"),
    "an empty frame": struct.pack(">i", 0),
    "an unknown API": struct.pack(">ihhih", 10, 999, 0, 1, 0),
    "a negative API": struct.pack(">ihhih", 10, -1, 0, 1, 0),
    "an API of brokers": struct.pack(">ihhih", 10, 4, 0, 1, 0),
    "an unknown version": struct.pack(">ihhih", 10, 12, 99, 1, 0),
    "a negative version": struct.pack(">ihhih", 10, 12, -1, 1, 0),
    "a Heartbeat without its fields": struct.pack(">ihhih", 10, 12, 4, 1, 0),
    "an array of two thousand million groups": struct.pack(">ihhihi", 14, 15, 0, 1, 0, 2**31 - 1),
    "a client id longer than the frame": struct.pack(">ihhih", 10, 12, 0, 1, 9999),
    "null where there must be protocols": NO_PROTOCOLS[:-4] + b"\xff\xff\xff\xff",
}
