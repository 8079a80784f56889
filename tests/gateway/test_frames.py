"""The cutter gives the frames that were sent, however they are cut into chunks, and refuses what is not a length."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollcall.serve.gateway.wire.codec import FrameCutter, FrameError

MAX_BYTES = 300


def framed(payloads: list[bytes]) -> bytes:
    return b"".join(struct.pack(">i", len(payload)) + payload for payload in payloads)


def taken(cutter: FrameCutter) -> list[bytes]:
    frames = []
    while (frame := cutter.take()) is not None:
        frames.append(frame)
    return frames


@given(st.lists(st.binary(max_size=MAX_BYTES)), st.lists(st.integers(1, 50)))
def test_frames_come_out_whole_and_in_order_however_the_stream_is_cut(payloads: list[bytes], cuts: list[int]) -> None:
    cutter, stream, frames, at = FrameCutter(MAX_BYTES), framed(payloads), [], 0
    for size in cuts:
        cutter.feed(stream[at : at + size])
        at += size
        frames += taken(cutter)
    cutter.feed(stream[at:])
    assert frames + taken(cutter) == payloads
    assert cutter.held_bytes == 0


@pytest.mark.parametrize("length", [-1, -(2**31), MAX_BYTES + 1, 2**31 - 1])
def test_a_length_that_no_frame_may_have_is_refused_before_its_bytes_come(length: int) -> None:
    cutter = FrameCutter(MAX_BYTES)
    cutter.feed(struct.pack(">i", length))
    with pytest.raises(FrameError, match=f"{length}: 0 to {MAX_BYTES}"):
        cutter.take()


@pytest.mark.parametrize("held", [b"", b"\0", b"\0\0\0", b"\0\0\0\5", b"\0\0\0\5half"])
def test_half_a_frame_is_no_frame(held: bytes) -> None:
    cutter = FrameCutter(MAX_BYTES)
    cutter.feed(held)
    assert cutter.take() is None
    assert cutter.held_bytes == len(held)


@given(st.binary(max_size=2000), st.lists(st.integers(1, 64)))
def test_whatever_is_fed_ends_in_frames_or_in_a_refusal(data: bytes, cuts: list[int]) -> None:
    cutter, at = FrameCutter(MAX_BYTES), 0
    try:
        for size in [*cuts, len(data)]:
            cutter.feed(data[at : at + size])
            at += size
            assert all(len(frame) <= MAX_BYTES for frame in taken(cutter))
    except FrameError:
        return
    assert cutter.held_bytes < MAX_BYTES + 4
