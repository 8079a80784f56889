"""Reads the bytes that members of a classic group send each other through the coordinator, field after field.

What it knows: Kafka's big-endian primitives, and which field failed where. What it must not know: any layout, or
anything beyond the standard library: the coordinator's core imports it too.
"""

from __future__ import annotations

import struct

_INT16 = struct.Struct(">h")
_INT32 = struct.Struct(">i")
_INT64 = struct.Struct(">q")
_NULL_ARRAY = _INT32.pack(-1)
# The shortest a string, an int32 and a {name, numbers} entry can be: what bounds a believable count.
_STRING_MIN_BYTES = _INT16.size
_ENTRY_MIN_BYTES = _INT16.size + _INT32.size


class MemberBytesError(ValueError):
    """A value that a layout cannot carry, or bytes that do not follow it: which field, and where.

    `position` is the offset in bytes of the field that failed; None when encoding.
    """

    def __init__(self, field: str, reason: str, position: int | None = None) -> None:
        where = "" if position is None else f" at byte {position}"
        super().__init__(f"{field}{where}: {reason}")
        self.field = field
        self.position = position


class Reader:
    """Reads a layout's primitives one after another and knows the field and the byte at which reading failed.

    error: what it raises.
    """

    def __init__(self, data: bytes, error: type[MemberBytesError]) -> None:
        self._data = data
        self._position = 0
        self._error = error

    def remaining(self) -> int:
        return len(self._data) - self._position

    def version(self) -> int:
        version = self.int16("version")
        if version < 0:
            raise self._error("version", f"{version} is negative", 0)
        return version

    def int16(self, field: str) -> int:
        value: int = _INT16.unpack_from(self._data, self._pass(field, 2))[0]
        return value

    def int32(self, field: str) -> int:
        value: int = _INT32.unpack_from(self._data, self._pass(field, 4))[0]
        return value

    def int64(self, field: str) -> int:
        value: int = _INT64.unpack_from(self._data, self._pass(field, 8))[0]
        return value

    def string(self, field: str) -> str:
        start = self._position
        text = self.nullable_string(field)
        if text is None:
            raise self._error(field, "the text is null", start)
        return text

    def nullable_string(self, field: str) -> str | None:
        start = self._position
        length = self._nullable_length(field, start, self.int16(field))
        if length is None:
            return None
        data = self._take(field, length)
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise self._error(field, f"{data!r} is not UTF-8", start + _INT16.size + error.start) from None

    def nullable_bytes(self, field: str) -> bytes | None:
        start = self._position
        length = self._nullable_length(field, start, self.int32(field))
        return None if length is None else self._take(field, length)

    def strings(self, field: str) -> tuple[str, ...]:
        return tuple([self.string(field) for _ in range(self._array_count(field, _STRING_MIN_BYTES))])

    def numbers_by_name(self, field: str, name: str, numbers: str) -> list[tuple[str, tuple[int, ...]]]:
        """An array of {name, int32 numbers}."""
        return [self._entry(field, name, numbers) for _ in range(self._array_count(field, _ENTRY_MIN_BYTES))]

    def nullable_numbers_by_name(self, field: str, name: str, numbers: str) -> list[tuple[str, tuple[int, ...]]]:
        """The same; an array that is null is empty."""
        if self._data[self._position : self._position + _INT32.size] == _NULL_ARRAY:
            self._position += _INT32.size
            return []
        return self.numbers_by_name(field, name, numbers)

    def _entry(self, field: str, name: str, numbers: str) -> tuple[str, tuple[int, ...]]:
        text = self.string(f"{field}.{name}")
        count = self._array_count(f"{field}.{numbers}", _INT32.size)
        return text, struct.unpack(f">{count}i", self._take(f"{field}.{numbers}", count * _INT32.size))

    def _array_count(self, field: str, item_min_bytes: int) -> int:
        start = self._position
        count = self.int32(field)
        if count < 0:
            raise self._error(field, f"the count {count} is negative", start)
        if count * item_min_bytes > self.remaining():
            raise self._error(field, f"{count} items cannot be in {self.remaining()} bytes", start)
        return count

    def _nullable_length(self, field: str, start: int, length: int) -> int | None:
        if length < -1:
            raise self._error(field, f"the length {length} is negative", start)
        return None if length == -1 else length

    def _take(self, field: str, size: int) -> bytes:
        start = self._pass(field, size)
        return self._data[start : self._position]

    def _pass(self, field: str, size: int) -> int:
        """Where a field of this size begins; reading goes on behind it."""
        start = self._position
        end = start + size
        if end > len(self._data):
            raise self._error(field, f"needs {size} bytes, {self.remaining()} are left", start)
        self._position = end
        return start
