"""Literals: numbers, strings, moments and intervals as they are typed, and strings that stand for a moment or a number.

Knows how Spark reads them in a session in UTC. Must not know any table. A form that is not known here is not proven.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta

from duck_sql.terms import NotProven, Term, text
from duck_sql.types import BIGINT, DATE, DAYS, DOUBLE, INT, MONTHS, SPAN, STRING, TIMESTAMP, Type, decimal

_MOMENT = re.compile(
    r"(?P<date>\d{4}-\d{2}-\d{2})"
    r"(?:[ T](?P<hour>\d{2}):(?P<minute>\d{2})"
    # Spark takes a zone behind seconds alone.
    r"(?::(?P<second>\d{2})(?P<fraction>\.\d{1,6})?(?P<zone>Z|[+-]\d{2}:\d{2})?)?)?"
)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_WHOLE = re.compile(r"-?\d{1,18}")
_EPOCH = datetime(1970, 1, 1)
_UNITS_US = {
    "MICROSECOND": 1,
    "MILLISECOND": 1000,
    "SECOND": 1_000_000,
    "MINUTE": 60_000_000,
    "HOUR": 3_600_000_000,
    "DAY": 86_400_000_000,
    "WEEK": 604_800_000_000,
}
_UNITS_MONTHS = {"MONTH": 1, "YEAR": 12}
_INT_MAX, _BIGINT_MAX = 2**31 - 1, 2**63 - 1


def literal(sql: str, kind: Type, value: object, name: str | None) -> Term:
    return Term(sql, kind, name=name, value=value, is_literal=True)


def string(value: str) -> Term:
    if "\0" in value:
        raise NotProven("a character 0")
    return literal(text(value), STRING, value, value)


def whole(value: int) -> Term:
    """A whole number: an INT where it fits, else a BIGINT. Raises NotProven: it is neither."""
    if -_INT_MAX - 1 <= value <= _INT_MAX:
        return literal(_signed(value, "INTEGER"), INT, value, str(value))
    if -_BIGINT_MAX <= value <= _BIGINT_MAX:
        return literal(_signed(value, "BIGINT"), BIGINT, value, str(value))
    raise NotProven(f"the number {value}")


def number(written: str) -> Term:
    """A number as it is typed, with a minus or without. Raises NotProven."""
    if written.removeprefix("-").isdecimal():
        return whole(int(written))
    found = re.fullmatch(r"-?(\d*)\.(\d+)", written)
    if found is None:
        raise NotProven(f"the number {written}")
    before, after = found[1].lstrip("0"), found[2]
    precision = max(len(before) + len(after), 1)
    if precision > 30:
        raise NotProven(f"the number {written}")
    kind = decimal(max(precision, len(after)), len(after))
    shown = f"{'-' if written.startswith('-') else ''}{before or '0'}.{after}"
    return literal(f"CAST('{shown}' AS {kind.duck})", kind, shown, shown)


def moment(value: str) -> Term:
    """A TIMESTAMP that a string names, in UTC unless it names a zone. Raises NotProven."""
    found = _MOMENT.fullmatch(value)
    if found is None:
        raise NotProven(f"the moment '{value}'")
    zone = (found["zone"] or "").replace("Z", "")
    clock = f"{found['hour'] or '00'}:{found['minute'] or '00'}:{found['second'] or '00'}{found['fraction'] or ''}"
    try:
        at = datetime.fromisoformat(f"{found['date']}T{clock}{zone}")
        at = at.astimezone(UTC).replace(tzinfo=None) if at.tzinfo else at
    except (ValueError, OverflowError):
        raise NotProven(f"the moment '{value}'") from None
    return timestamp_at(at)


def timestamp_at(at: datetime) -> Term:
    shown = at.isoformat(sep=" ", timespec="microseconds")
    return literal(f"TIMESTAMP '{shown}'", TIMESTAMP, at, None)


def day(value: str) -> Term:
    """A DATE that a string names. Raises NotProven."""
    try:
        if not _DAY.fullmatch(value):
            raise ValueError
        at = date.fromisoformat(value)
    except ValueError:
        raise NotProven(f"the date '{value}'") from None
    return literal(f"DATE '{at.isoformat()}'", DATE, at, f"DATE '{at.isoformat()}'")


def interval(amount: int, unit: str) -> Term:
    """So many units, which may be spelled in the plural. Raises NotProven."""
    singular = unit.upper().removesuffix("S")
    if singular in _UNITS_US:
        length = amount * _UNITS_US[singular]
        kind = DAYS if singular in ("DAY", "WEEK") else SPAN
        return literal(str(length) if length >= 0 else f"({length})", kind, length, None)
    if singular in _UNITS_MONTHS:
        months = amount * _UNITS_MONTHS[singular]
        return literal(str(months) if months >= 0 else f"({months})", MONTHS, months, None)
    raise NotProven(f"an interval of {unit.lower()}")


def unit_us(unit: str) -> int | None:
    """How many microseconds a unit of fixed length has, None if it is none."""
    return _UNITS_US.get(unit.upper())


def as_kind(term: Term, kind: Type) -> Term | None:
    """A string literal as the value that Spark makes of it beside a value of another type; None: it is no such literal.

    Raises NotProven: it is in a form that is not known here.
    """
    if not (term.is_literal and term.type == STRING and isinstance(term.value, str)):
        return None
    if kind == TIMESTAMP:
        return moment(term.value).named(term.name)
    if kind == DATE:
        return day(term.value).named(term.name)
    if kind.is_whole and _WHOLE.fullmatch(term.value):
        return literal(_signed(int(term.value), "BIGINT"), BIGINT, int(term.value), term.name)
    if kind == DOUBLE and re.fullmatch(r"-?\d{1,15}(\.\d{1,15})?", term.value):
        return literal(f"CAST('{term.value}' AS DOUBLE)", DOUBLE, float(term.value), term.name)
    raise NotProven(f"the text '{term.value}' beside a {kind.shown}")


def _signed(value: int, kind: str) -> str:
    return f"CAST({value} AS {kind})"


def shown_interval(length_us: int) -> str:
    """As Spark prints an interval of days to seconds."""
    sign, length = ("-" if length_us < 0 else ""), timedelta(microseconds=abs(length_us))
    hours, rest = divmod(length.seconds, 3600)
    seconds = f"{rest % 60:02}" + (f".{length.microseconds:06}".rstrip("0") if length.microseconds else "")
    return f"INTERVAL '{sign}{length.days} {hours:02}:{rest // 60:02}:{seconds}' DAY TO SECOND"
