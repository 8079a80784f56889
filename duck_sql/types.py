"""Spark's types, as far as DuckDB has their equals, and the type that two of them have in common.

Knows how both engines spell a type. A TIMESTAMP is DuckDB's without a zone, in UTC; an interval of days to seconds is a
whole number of microseconds. Must not know any expression.
"""

from __future__ import annotations

from typing import NamedTuple


class Type(NamedTuple):
    """A type of Spark's SQL."""

    name: str
    """As Spark's."""
    parts: tuple[object, ...] = ()
    """An array's element type; a struct's pairs of name and type; a decimal's precision and scale."""

    @property
    def shown(self) -> str:
        """As Spark shows it: `array<string>`."""
        match self.name:
            case "array":
                return f"array<{self.item.shown}>"
            case "struct":
                return f"struct<{','.join(f'{name}:{kind.shown}' for name, kind in self.fields)}>"
            case "decimal":
                return "decimal({},{})".format(*self.parts)
            case name:
                return name

    @property
    def duck(self) -> str:
        """As DuckDB spells the type that holds its values."""
        match self.name:
            case "array":
                return f"{self.item.duck}[]"
            case "struct":
                return f"STRUCT({', '.join(f'{quoted(name)} {kind.duck}' for name, kind in self.fields)})"
            case "decimal":
                return "DECIMAL({}, {})".format(*self.parts)
            case name:
                return _DUCK[name]

    @property
    def item(self) -> Type:
        """An array's element type."""
        (item,) = self.parts
        assert isinstance(item, Type)
        return item

    @property
    def fields(self) -> tuple[tuple[str, Type], ...]:
        """A struct's fields."""
        return self.parts  # type: ignore[return-value]

    @property
    def digits(self) -> tuple[int, int]:
        """Precision and scale of a decimal, or of the decimal that holds a whole number."""
        if self in _DIGITS:
            return _DIGITS[self]
        precision, scale = self.parts
        assert isinstance(precision, int)
        assert isinstance(scale, int)
        return precision, scale

    @property
    def is_whole(self) -> bool:
        return self in (INT, BIGINT)

    @property
    def is_number(self) -> bool:
        return self in (INT, BIGINT, DOUBLE) or self.name == "decimal"

    @property
    def is_plain(self) -> bool:
        """Whether both engines compare and sort its values alike."""
        return self.name not in ("array", "struct")


STRING, BOOLEAN, DATE, TIMESTAMP = Type("string"), Type("boolean"), Type("date"), Type("timestamp")
INT, BIGINT, DOUBLE = Type("int"), Type("bigint"), Type("double")
INTERVAL, VOID = Type("interval day to second"), Type("void")
SPAN, DAYS, MONTHS = Type("interval span"), Type("interval day"), Type("interval month")
"""Literals that a moment is moved by: of a fixed length; of whole days, by which a date stays one; of months."""

_DUCK = {
    "string": "VARCHAR",
    "boolean": "BOOLEAN",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "int": "INTEGER",
    "bigint": "BIGINT",
    "double": "DOUBLE",
    "interval day to second": "BIGINT",
    "interval span": "BIGINT",
    "interval day": "BIGINT",
    "interval month": "INTEGER",
    "void": "INTEGER",
}
_DIGITS = {INT: (10, 0), BIGINT: (20, 0)}
_NAMED = {
    **{name: Type(name) for name in ("string", "boolean", "date", "timestamp", "int", "bigint", "double")},
    "long": BIGINT,
    "integer": INT,
    "text": STRING,
    "varchar": STRING,
    "timestamptz": TIMESTAMP,
    "timestampltz": TIMESTAMP,
}
MAX_PRECISION = 38


def array(item: Type) -> Type:
    return Type("array", (item,))


def struct(*fields: tuple[str, Type]) -> Type:
    return Type("struct", fields)


def decimal(precision: int, scale: int) -> Type:
    return Type("decimal", (precision, scale))


def named(text: str) -> Type | None:
    """The type of a column of `schemas.tables.Column`, `array<...>` included; None: none that is known here."""
    if text.startswith("array<"):
        item = named(text[6:-1])
        return None if item is None else array(item)
    return _NAMED.get(text.lower())


def in_common(left: Type, right: Type) -> Type | None:
    """The type that both become without a loss, None if they have none that both engines agree on."""
    if left == right or right == VOID:
        return left
    if left == VOID:
        return right
    if left.is_number and right.is_number:
        return _wider_number(left, right)
    if {left, right} == {DATE, TIMESTAMP}:
        return TIMESTAMP
    if left.name == right.name == "array":
        item = in_common(left.item, right.item)
        return None if item is None else array(item)
    if left.name == right.name == "struct" and [name for name, _ in left.fields] == [name for name, _ in right.fields]:
        kinds = [in_common(one, other) for (_, one), (_, other) in zip(left.fields, right.fields, strict=True)]
        if any(kind is None for kind in kinds):
            return None
        return struct(*((name, kind) for (name, _), kind in zip(left.fields, kinds, strict=True) if kind is not None))
    return None


def _wider_number(left: Type, right: Type) -> Type | None:
    if DOUBLE in (left, right):
        return DOUBLE
    if left.is_whole and right.is_whole:
        return BIGINT
    (p1, s1), (p2, s2) = left.digits, right.digits
    scale = max(s1, s2)
    precision = scale + max(p1 - s1, p2 - s2)
    return decimal(precision, scale) if precision <= MAX_PRECISION else None


def quoted(name: str) -> str:
    """A name as DuckDB reads it."""
    return '"' + name.replace('"', '""') + '"'
