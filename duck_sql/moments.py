"""Functions of dates and timestamps, in UTC.

Knows, for each, how Spark's answer comes out of DuckDB's functions. A difference is counted in whole units, cut towards
zero, as Spark does; DuckDB's own counts the boundaries between.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from duck_sql import patterns
from duck_sql.functions import SCALARS, enter, literal_string
from duck_sql.literals import day, timestamp_at, unit_us
from duck_sql.terms import NotProven, Term, call_name, cast, made, text
from duck_sql.types import BIGINT, DATE, INT, STRING, TIMESTAMP
from duck_sql.values import become, moment_of

_TRUNCATED = {
    **{name: "year" for name in ("YEAR", "YYYY", "YY")},
    "QUARTER": "quarter",
    **{name: "month" for name in ("MONTH", "MON", "MM")},
    "WEEK": "week",
    "DAY": "day",
    "DD": "day",
    "HOUR": "hour",
    "MINUTE": "minute",
    "SECOND": "second",
    "MILLISECOND": "milliseconds",
}
_DATE_UNITS = {"year", "quarter", "month", "week"}
_FIELDS = {
    "year": "year({})",
    "quarter": "quarter({})",
    "month": "month({})",
    "day": "day({})",
    "dayofmonth": "day({})",
    "dayofweek": "(dayofweek({}) + 1)",
    "weekday": "(isodow({}) - 1)",
    "dayofyear": "dayofyear({})",
    "weekofyear": "weekofyear({})",
}
_CLOCK_FIELDS = ("hour", "minute", "second")


def date_of(term: Term) -> Term:
    """An argument that Spark takes as a DATE. Raises NotProven."""
    if term.type == STRING and isinstance(term.value, str):
        return day(term.value).named(term.name)
    return become(term, DATE)


@enter(SCALARS, " ".join(_FIELDS), 1)
def _field(name: str, of: Sequence[Term]) -> Term:
    at = date_of(of[0])
    return made(f"CAST({_FIELDS[name].format(at.sql)} AS INTEGER)", INT, at, name=call_name(name, *of))


@enter(SCALARS, " ".join(_CLOCK_FIELDS), 1)
def _clock_field(name: str, of: Sequence[Term]) -> Term:
    at = moment_of(of[0])
    return made(f"CAST({name}({at.sql}) AS INTEGER)", INT, at, name=call_name(name, *of))


def extracted(field: str, term: Term) -> Term:
    """EXTRACT(field FROM term), but for seconds, which have a fraction there."""
    name = {"DOW": "dayofweek", "DOY": "dayofyear", "WEEK": "weekofyear"}.get(field.upper(), field.lower())
    if name in _FIELDS and name not in ("dayofmonth", "weekofyear"):
        return _field(name, [term]).named(None)
    if name in ("hour", "minute"):
        return _clock_field(name, [term]).named(None)
    if name == "weekofyear":
        return _field(name, [term]).named(None)
    raise NotProven(f"extract({field})")


@enter(SCALARS, "date_trunc", 2)
def _date_trunc(name: str, of: Sequence[Term]) -> Term:
    unit, at = literal_string(name, of[0]).upper(), moment_of(of[1])
    if unit not in _TRUNCATED:
        raise NotProven(f"date_trunc() to {unit}")
    sql = f"CAST(date_trunc('{_TRUNCATED[unit]}', {at.sql}) AS TIMESTAMP)"
    return made(sql, TIMESTAMP, at, name=call_name(name, *of))


@enter(SCALARS, "trunc", 2)
def _trunc(name: str, of: Sequence[Term]) -> Term:
    unit, at = literal_string(name, of[1]).upper(), date_of(of[0])
    if _TRUNCATED.get(unit) not in _DATE_UNITS:
        raise NotProven(f"trunc() to {unit}")
    return made(f"CAST(date_trunc('{_TRUNCATED[unit]}', {at.sql}) AS DATE)", DATE, at, name=call_name(name, *of))


@enter(SCALARS, "date to_date", 1)
def _to_date(name: str, of: Sequence[Term]) -> Term:
    at = date_of(of[0])
    return made(at.sql, DATE, at, name=call_name(name, *of) if name == "to_date" else None)


@enter(SCALARS, "timestamp to_timestamp", 1)
def _to_timestamp(name: str, of: Sequence[Term]) -> Term:
    if of[0].type.is_number:
        raise NotProven(f"{name}() of a number")
    at = moment_of(of[0])
    return made(at.sql, TIMESTAMP, at, name=call_name(name, *of) if name == "to_timestamp" else None)


@enter(SCALARS, "timestamp_millis timestamp_seconds timestamp_micros", 1)
def _from_epoch(name: str, of: Sequence[Term]) -> Term:
    term = become(of[0], BIGINT)
    factor = {"timestamp_millis": "* 1000", "timestamp_seconds": "* 1000000", "timestamp_micros": ""}[name]
    return made(f"make_timestamp(({term.sql}{factor}))", TIMESTAMP, term, name=call_name(name, *of))


@enter(SCALARS, "unix_millis unix_seconds unix_micros", 1)
def _to_epoch(name: str, of: Sequence[Term]) -> Term:
    at = moment_of(of[0])
    per = {"unix_millis": 1000, "unix_seconds": 1_000_000, "unix_micros": 1}[name]
    return made(f"floored(epoch_us({at.sql}), {per})", BIGINT, at, name=call_name(name, *of))


@enter(SCALARS, "unix_timestamp to_unix_timestamp", 1)
def _unix_timestamp(name: str, of: Sequence[Term]) -> Term:
    if of[0].type not in (TIMESTAMP, DATE):
        raise NotProven(f"{name}() of a {of[0].type.shown}")
    return made(f"floored(epoch_us({cast(of[0], TIMESTAMP).sql}), 1000000)", BIGINT, *of)


@enter(SCALARS, "from_unixtime", 1)
def _from_unixtime(name: str, of: Sequence[Term]) -> Term:
    term = become(of[0], BIGINT)
    return made(f"strftime(make_timestamp({term.sql} * 1000000), '%Y-%m-%d %H:%M:%S')", STRING, term)


@enter(SCALARS, "date_format", 2)
def _date_format(name: str, of: Sequence[Term]) -> Term:
    at, pattern = moment_of(of[0]), patterns.time_format(literal_string(name, of[1]))
    return made(f"strftime({at.sql}, {text(pattern)})", STRING, at, name=call_name(name, *of))


@enter(SCALARS, "date_add dateadd date_sub", 2)
def _date_add(name: str, of: Sequence[Term]) -> Term:
    at, days = date_of(of[0]), of[1]
    if days.type != INT:
        raise NotProven(f"{name}() of a {days.type.shown}")
    sign = "-" if name == "date_sub" else "+"
    called = call_name("date_add" if name == "dateadd" else name, *of)
    return made(f"CAST(({at.sql} {sign} {days.sql}) AS DATE)", DATE, at, days, name=called)


@enter(SCALARS, "datediff date_diff", 2)
def _datediff(name: str, of: Sequence[Term]) -> Term:
    end, start = date_of(of[0]), date_of(of[1])
    return made(f"CAST(({end.sql} - {start.sql}) AS INTEGER)", INT, end, start, name=call_name(name, *of))


@enter(SCALARS, "add_months", 2)
def _add_months(name: str, of: Sequence[Term]) -> Term:
    at, months = date_of(of[0]), become(of[1], INT)
    return made(f"CAST(({at.sql} + to_months({months.sql})) AS DATE)", DATE, at, months, name=call_name(name, *of))


@enter(SCALARS, "last_day", 1)
def _last_day(name: str, of: Sequence[Term]) -> Term:
    at = date_of(of[0])
    return made(f"CAST(last_day({at.sql}) AS DATE)", DATE, at, name=call_name(name, *of))


@enter(SCALARS, "now current_timestamp", 0)
def _now(name: str, of: Sequence[Term]) -> Term:
    return timestamp_at(datetime.now(UTC).replace(tzinfo=None)).named(f"{name}()")


@enter(SCALARS, "current_date curdate", 0)
def _today(name: str, of: Sequence[Term]) -> Term:
    return day(datetime.now(UTC).date().isoformat()).named("current_date()")


def difference(name: str, unit: str, start: Term, end: Term) -> Term:
    """TIMESTAMPDIFF(unit, start, end): whole units, a BIGINT. Raises NotProven: a unit of no fixed length."""
    start, end, per = moment_of(start), moment_of(end), unit_us(unit)
    if per is None:
        raise NotProven(f"{name}() in {unit}")
    return made(f"((epoch_us({end.sql}) - epoch_us({start.sql})) // {per})", BIGINT, start, end)


def shifted(name: str, unit: str, count: Term, at: Term) -> Term:
    """TIMESTAMPADD(unit, count, at). Raises NotProven: a unit of no fixed length."""
    per = unit_us(unit)
    if per is None or not count.type.is_whole or at.type not in (TIMESTAMP, DATE):
        raise NotProven(f"{name}() in {unit}")
    at = cast(at, TIMESTAMP)
    return made(f"({at.sql} + to_microseconds(CAST({count.sql} AS BIGINT) * {per}))", TIMESTAMP, count, at)
