"""Cuts a stream of bytes into Kafka's frames: four bytes of length, then as many bytes.

Knows lengths; knows nothing of what a frame holds. The same cutter serves requests and an upstream's responses.
"""

from __future__ import annotations

from struct import Struct

LENGTH_BYTES = 4
_LENGTH = Struct(">i")


class FrameError(ValueError):
    """A length that no frame may have; the rest of the stream cannot be read."""


class FrameCutter:
    """Frames from chunks of any size. Holds what was fed and not yet taken, never more than that."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self._buffer = bytearray()
        self._at = 0

    @property
    def held_bytes(self) -> int:
        return len(self._buffer) - self._at

    def feed(self, chunk: bytes) -> None:
        if self._at:
            del self._buffer[: self._at]
            self._at = 0
        self._buffer += chunk

    def clear(self) -> None:
        self._buffer.clear()
        self._at = 0

    def next_length(self) -> int | None:
        """The length of the frame that comes next, None while it is not there. Raises FrameError."""
        if len(self._buffer) - self._at < LENGTH_BYTES:
            return None
        length: int = _LENGTH.unpack_from(self._buffer, self._at)[0]
        if not 0 <= length <= self.max_bytes:
            raise FrameError(f"frame length {length}: 0 to {self.max_bytes} bytes are read")
        return length

    def next_number(self) -> int | None:
        """The first four bytes of the frame that comes next as a number, None while they are not there."""
        at = self._at + LENGTH_BYTES
        return None if len(self._buffer) < at + 4 else int.from_bytes(self._buffer[at : at + 4], "big", signed=True)

    def take(self) -> bytes | None:
        """The next whole frame without its length, None while it is not all there. Raises FrameError."""
        length = self.next_length()
        start = self._at + LENGTH_BYTES
        if length is None or len(self._buffer) < start + length:
            return None
        self._at = start + length
        return bytes(self._buffer[start : self._at])

    def take_part(self, most: int) -> bytes:
        """The bytes that come next, length or not, as many as there are but no more than `most`."""
        start, self._at = self._at, min(self._at + most, len(self._buffer))
        return bytes(self._buffer[start : self._at])
