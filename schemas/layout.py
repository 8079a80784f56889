"""Bytes into a declared shape and back, by the layout that Kafka's message definitions have.

A shape is a `LayoutShape` whose fields stand in wire order, each with its wire type: `Versions` say which versions
carry a field, `Tag` that it is a tagged field, `FLEXIBLE_SINCE` from which version on the layout is flexible,
`Converted` that the field holds another value than its bytes.

Knows Kafka's primitive types, classic and flexible. Must not know any shape by name: the coordinator's core imports it
too. kio's reader is not used: it does not have the records, cannot read a nullable struct in a tagged field, and ends
the process at a false count.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, NamedTuple, get_args, get_origin, get_type_hints

import msgspec

from rollcall.schemas.shapes import Versions

_LONGEST_VARINT_BYTES = 5


class LayoutError(ValueError):
    """Bytes that do not follow their layout: which field, why, and at which byte."""

    def __init__(self, field: str, reason: str, position: int | None = None) -> None:
        where = "" if position is None else f" at byte {position}"
        super().__init__(f"{field}{where}: {reason}")


class LayoutShape(msgspec.Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    """Base of every shape. Its JSON names are Kafka's own, so that Kafka's JSON of a record fits it."""

    FLEXIBLE_SINCE: ClassVar[int] = 0
    ALWAYS_WRITTEN: ClassVar[tuple[str, ...]] = ()
    """Tagged fields whose default in Kafka's definition is none that a record ever holds."""


class ClassicShape(LayoutShape, frozen=True):
    """Base of every shape without a flexible version."""

    FLEXIBLE_SINCE: ClassVar[int] = 2**15


class Tag(NamedTuple):
    """The mark of a field that only flexible versions carry, as a tagged field."""

    number: int


class Converted(NamedTuple):
    """The mark of a field that holds another type than its bytes, and how one becomes the other."""

    wire: Any
    take: Callable[[Any], Any]
    give: Callable[[Any], Any] | None = None
    """None: it is read alone."""


Uuid = Annotated[str | None, "uuid"]
"""A topic id as Kafka writes it for people: 22 characters; None where its bytes are all zero."""
Int8 = Annotated[int, struct.Struct(">b")]
Int16 = Annotated[int, struct.Struct(">h")]
Int32 = Annotated[int, struct.Struct(">i")]
Int64 = Annotated[int, struct.Struct(">q")]

Read = Callable[[bytes, int], tuple[Any, int]]
"""(bytes, where a value begins) -> the value, and where it ends."""
Write = Callable[[Any], bytes]


class _Type(NamedTuple):
    """One wire type."""

    read: Read
    write: Write
    least_bytes: int
    """No value is shorter, which bounds a believable count."""
    code: str = ""
    """What stands for it in a struct's format, where its values have one size."""


class _Field(NamedTuple):
    name: str
    type: _Type
    tag: int | None


def read_shape(shape: type[LayoutShape], version: int, data: bytes, start: int = 0) -> Any:
    """A shape of one version from its bytes; what follows them is ignored, as Kafka does. Raises LayoutError."""
    try:
        return _shape_type(shape, version).read(data, start)[0]
    except LayoutError as error:
        raise LayoutError(shape.__name__, str(error)) from None


def read_versioned(shape: type[LayoutShape], newest: int, data: bytes) -> Any:
    """A shape with its version in front; a version newer than the newest known is read as that. Raises LayoutError."""
    try:
        version, start = _INT16.read(data, 0)
        if version < 0:
            raise LayoutError(str(version), "is negative", 0)
    except LayoutError as error:
        raise LayoutError("version", str(error)) from None
    return read_shape(shape, min(version, newest), data, start)


def write_shape(value: LayoutShape, version: int) -> bytes:
    """The bytes of a shape in one version. Raises LayoutError where a value does not fit its field."""
    return _shape_type(type(value), version).write(value)


@cache
def _shape_type(shape: type[LayoutShape], version: int) -> _Type:
    is_flexible = version >= shape.FLEXIBLE_SINCE
    fields = _fields(shape, version, is_flexible)
    plain = [field for field in fields if field.tag is None]
    tagged = {field.tag: field for field in fields if field.tag is not None}
    reads = [(field.name, field.type.read) for field in plain]
    writes = [(field.name, field.type.write) for field in plain]

    def read(data: bytes, at: int) -> tuple[Any, int]:
        values: dict[str, Any] = {}
        name = ""
        try:
            for name, read_value in reads:
                values[name], at = read_value(data, at)
        except LayoutError as error:
            raise LayoutError(name, str(error)) from None
        if is_flexible:
            at = _read_tagged(tagged, values, data, at)
        return shape(**values), at

    def write(value: Any) -> bytes:
        out, name = [], ""
        try:
            for name, write_value in writes:
                out.append(write_value(getattr(value, name)))
        except LayoutError as error:
            raise LayoutError(name, str(error)) from None
        if is_flexible:
            out.append(_write_tagged(tagged, value))
        return b"".join(out)

    return _Type(read, write, sum(field.type.least_bytes for field in plain) + is_flexible)


def _fields(shape: type[LayoutShape], version: int, is_flexible: bool) -> list[_Field]:
    """The fields that a version carries, in wire order."""
    hints = get_type_hints(shape, include_extras=True)
    found = []
    for name in shape.__struct_fields__:
        marks = getattr(hints[name], "__metadata__", ())
        versions = next((mark for mark in marks if isinstance(mark, Versions)), Versions(0))
        tag = next((mark.number for mark in marks if isinstance(mark, Tag)), None)
        if versions.has(version) and (tag is None or is_flexible):
            found.append(_Field(name, _type_of(hints[name], version, is_flexible), tag))
    return found


def _type_of(hint: Any, version: int, is_flexible: bool) -> _Type:
    """The wire type of a field's declaration."""
    marks = getattr(hint, "__metadata__", ())
    if "uuid" in marks:
        return _UUID
    converted = next((mark for mark in marks if isinstance(mark, Converted)), None)
    if converted is not None:
        return _converted(_type_of(converted.wire, version, is_flexible), converted)
    fixed = next((mark for mark in marks if isinstance(mark, struct.Struct)), None)
    if fixed is not None:
        return _fixed(fixed)
    declared = get_args(hint)[0] if marks else hint
    is_nullable = get_origin(declared) is UnionType
    if is_nullable:
        declared = next(part for part in get_args(declared) if part is not NoneType)
    if declared is str:
        return _sized(is_flexible, is_nullable, 2, bytes.decode, _utf8)
    if declared is bytes:
        return _sized(is_flexible, is_nullable, 4, bytes, bytes)
    if get_origin(declared) is list:
        return _array(_type_of(get_args(declared)[0], version, is_flexible), is_flexible, is_nullable)
    if get_origin(declared) is Annotated:
        return _type_of(declared, version, is_flexible)
    return _nullable_shape(_shape_type(declared, version)) if is_nullable else _shape_type(declared, version)


def _fixed(form: struct.Struct) -> _Type:
    unpack, size = form.unpack_from, form.size

    def read(data: bytes, at: int) -> tuple[int, int]:
        if at + size > len(data):
            _within(data, at + size)
        return unpack(data, at)[0], at + size

    def write(value: int) -> bytes:
        try:
            return form.pack(value)
        except struct.error:
            raise LayoutError(str(value), f"does not fit {form.size} bytes") from None

    return _Type(read, write, form.size, form.format[1:])


def _converted(wire: _Type, mark: Converted) -> _Type:
    read_wire, take = wire.read, mark.take

    def read(data: bytes, at: int) -> tuple[Any, int]:
        value, at = read_wire(data, at)
        return take(value), at

    def write(value: Any) -> bytes:
        assert mark.give is not None
        return wire.write(mark.give(value))

    return _Type(read, write, wire.least_bytes)


def _sized(
    is_flexible: bool, is_nullable: bool, width: int, take: Callable[[bytes], Any], give: Callable[[Any], bytes]
) -> _Type:
    """Text or bytes with their length in front."""
    read_length, write_length, least_bytes = _length(is_flexible, width)

    def read(data: bytes, at: int) -> tuple[Any, int]:
        length, start = read_length(data, at)
        if length < 0:
            if length < -1 or not is_nullable:
                raise LayoutError("length", f"{length} is negative", at)
            return None, start
        end = _within(data, start + length)
        try:
            return take(data[start:end]), end
        except UnicodeDecodeError as error:
            raise LayoutError("text", f"{error.object!r} is not UTF-8", start + error.start) from None

    def write(value: Any) -> bytes:
        if value is None:
            return write_length(-1)
        data = give(value)
        return write_length(len(data)) + data

    return _Type(read, write, least_bytes)


def _array(item: _Type, is_flexible: bool, is_nullable: bool) -> _Type:
    read_length, write_length, least_bytes = _length(is_flexible, 4)

    def read(data: bytes, at: int) -> tuple[list[Any] | None, int]:
        start = at
        count, at = read_length(data, at)
        if count < 0:
            if count < -1 or not is_nullable:
                raise LayoutError("count", f"{count} is negative", start)
            return None, at
        # An item may take no byte at all only in a layout without fields, and there is none.
        if count * item.least_bytes > len(data) - at:
            raise LayoutError("count", f"{count} items cannot be in {len(data) - at} bytes", start)
        if item.code:
            return list(struct.unpack_from(f">{count}{item.code}", data, at)), at + count * item.least_bytes
        items = []
        for _ in range(count):
            value, at = item.read(data, at)
            items.append(value)
        return items, at

    def write(value: list[Any] | None) -> bytes:
        return write_length(-1) if value is None else write_length(len(value)) + b"".join(map(item.write, value))

    return _Type(read, write, least_bytes)


def _nullable_shape(inner: _Type) -> _Type:
    def read(data: bytes, at: int) -> tuple[Any, int]:
        end = _within(data, at + 1)
        return inner.read(data, end) if 0 < data[at] < 0x80 else (None, end)

    def write(value: Any) -> bytes:
        return b"\0" if value is None else b"\1" + inner.write(value)

    return _Type(read, write, 1)


def _length(is_flexible: bool, width: int) -> tuple[Callable[[bytes, int], tuple[int, int]], Write, int]:
    """How a length is read and written, and its fewest bytes. -1 stands for null."""
    if is_flexible:

        def read(data: bytes, at: int) -> tuple[int, int]:
            value, at = _read_varint(data, at)
            return value - 1, at

        return read, lambda length: _varint(length + 1), 1
    plain = _fixed(struct.Struct(">h" if width == 2 else ">i"))
    return plain.read, plain.write, width


def _read_field(field: _Field, data: bytes, at: int) -> tuple[Any, int]:
    try:
        return field.type.read(data, at)
    except LayoutError as error:
        raise LayoutError(field.name, str(error)) from None


def _write_field(field: _Field, value: Any) -> bytes:
    try:
        return field.type.write(value)
    except LayoutError as error:
        raise LayoutError(field.name, str(error)) from None


def _read_tagged(known: dict[int, _Field], values: dict[str, Any], data: bytes, at: int) -> int:
    """Reads the tagged fields that are known, passes over the others, and says where they end."""
    count, at = _read_varint(data, at)
    for _ in range(count):
        number, at = _read_varint(data, at)
        size, at = _read_varint(data, at)
        end = _within(data, at + size)
        if number in known:
            field = known[number]
            values[field.name], read_to = _read_field(field, data[:end], at)
            if read_to != end:
                raise LayoutError(field.name, f"takes {read_to - at} bytes of {size}", at)
        at = end
    return at


def _write_tagged(known: dict[int, _Field], value: LayoutShape) -> bytes:
    """The tagged fields with another value than Kafka's default; a nullable shape is always written."""
    out = []
    for number, field in sorted(known.items()):
        held = getattr(value, field.name)
        if field.name in type(value).ALWAYS_WRITTEN or held != _default(value, field.name):
            data = _write_field(field, held)
            out.append(_varint(number) + _varint(len(data)) + data)
    return _varint(len(out)) + b"".join(out)


def _default(value: LayoutShape, name: str) -> Any:
    return next(field.default for field in msgspec.structs.fields(value) if field.name == name)


def _read_uuid(data: bytes, at: int) -> tuple[str | None, int]:
    end = _within(data, at + 16)
    raw = data[at:end]
    return (base64.urlsafe_b64encode(raw)[:22].decode() if any(raw) else None), end


def _write_uuid(value: str | None) -> bytes:
    try:
        raw = bytes(16) if value is None else base64.b64decode(value + "==", altchars=b"-_", validate=True)
    except ValueError:
        raw = b""
    if len(raw) != 16:
        raise LayoutError("uuid", f"{value!r} is none")
    return raw


_INT16 = _fixed(struct.Struct(">h"))
_UUID = _Type(_read_uuid, _write_uuid, 16)


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise LayoutError("text", f"{text!r} cannot be written as UTF-8") from None


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    if at < len(data) and data[at] < 0x80:
        return data[at], at + 1
    value = 0
    for place in range(_LONGEST_VARINT_BYTES):
        _within(data, at + 1)
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return value, at
    raise LayoutError("number", f"has more than {_LONGEST_VARINT_BYTES} bytes", at - _LONGEST_VARINT_BYTES)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _within(data: bytes, end: int) -> int:
    if end > len(data):
        raise LayoutError("bytes", f"{end - len(data)} are missing", len(data))
    return end
