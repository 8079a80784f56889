"""The state codec: a settled group to its state row and back."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.figures import Figure, at_most, bench, cpu_seconds
from benchmarks.groups import GROUP_ID, stable_group
from coordinator_udfs import state_codec

MEMBERS = 200
TIMES = 50


@bench
def codec() -> Iterator[Figure]:
    """Encoding and decoding a group of 200 members, and how much text each takes."""
    group = stable_group(MEMBERS)
    document = state_codec.encode(group).document

    def encode() -> None:
        for _ in range(TIMES):
            state_codec.encode(group)

    def decode() -> None:
        for _ in range(TIMES):
            state_codec.decode(GROUP_ID, document)

    yield Figure("encode_200_members", cpu_seconds(encode) / TIMES * 1000, "ms", at_most(2))
    yield Figure("decode_200_members", cpu_seconds(decode) / TIMES * 1000, "ms", at_most(2))
    yield Figure("document_per_member", len(document.encode()) / MEMBERS, "bytes")
