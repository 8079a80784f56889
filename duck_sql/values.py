"""How values of two types meet: casts that are asked for, casts that Spark makes by itself, and arithmetic.

Knows Spark's rules (ANSI, as it comes) and where DuckDB's differ: division, remainders, decimals, overflow. Must not
know Spark's syntax. What could differ raises DuckDB's error, or is not proven.
"""

from __future__ import annotations

from duck_sql.literals import as_kind, moment
from duck_sql.terms import NULL, NotProven, Term, call_name, cast, made, null_of, operator_name, refused_where
from duck_sql.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DAYS,
    DOUBLE,
    INT,
    INTERVAL,
    MAX_PRECISION,
    MONTHS,
    SPAN,
    STRING,
    TIMESTAMP,
    VOID,
    Type,
    decimal,
    in_common,
)

_MIN_SCALE = 6
_LENGTHS = {INTERVAL, SPAN, DAYS}
_MOVES = (INTERVAL, SPAN, DAYS, MONTHS)


def become(term: Term, kind: Type) -> Term:
    """The term as a value of another type, as Spark casts by itself. Raises NotProven."""
    if term.type == kind:
        return term
    if term.type == VOID:
        return null_of(kind)
    if term.type == STRING and kind != STRING:
        found = as_kind(term, kind)
        if found is None:
            raise NotProven(f"a text where a {kind.shown} is asked for")
        return cast(found, kind)
    if kind == STRING and (term.type.is_whole or term.type in (BOOLEAN, DATE)):
        return cast(term, kind)
    if kind == DATE and term.type == TIMESTAMP:
        return cast(term, kind)
    if in_common(term.type, kind) == kind:
        return cast(term, kind)
    raise NotProven(f"a {term.type.shown} where a {kind.shown} is asked for")


def alike(terms: list[Term], why: str) -> tuple[list[Term], Type]:
    """Terms as values of the one type that Spark gives them beside each other. Raises NotProven."""
    kind = VOID
    for term in terms:
        found = in_common(kind, term.type)
        if found is None:
            raise NotProven(f"{why} of a {kind.shown} and a {term.type.shown}")
        kind = found
    return [cast(term, kind) if term.type != VOID else null_of(kind) for term in terms], kind


def comparable(left: Term, right: Term, is_free: bool = False) -> tuple[Term, Term]:
    """Two terms that may stand beside a comparison. is_free: arrays and structs may, too. Raises NotProven."""
    for one, other in ((left, right), (right, left)):
        if one.type == STRING and other.type not in (STRING, VOID):
            changed = as_kind(one, other.type)
            if changed is None:
                raise NotProven(f"a text beside a {other.type.shown}")
            left, right = (changed, right) if one is left else (left, changed)
            break
    if {left.type, right.type} <= _LENGTHS:
        return left, right
    (left, right), kind = alike([left, right], "a comparison")
    if not (kind.is_plain or is_free):
        raise NotProven(f"a comparison of {kind.name}s")
    return left, right


def compared(operator: str, left: Term, right: Term, is_free: bool = False) -> Term:
    """operator: as both engines spell it."""
    name = operator_name(operator, left, right)
    left, right = comparable(left, right, is_free)
    return made(f"({left.sql} {operator} {right.sql})", BOOLEAN, left, right, name=name)


def asked_cast(term: Term, kind: Type) -> Term:
    """CAST(term AS kind), as it is typed. Raises NotProven."""
    spelled = kind.shown.upper()
    name = None if term.name is None else f"CAST({term.name} AS {spelled})"
    found = _cast_value(term, kind)
    # The column of a cast is named after what is cast, where that is a column.
    return made(found.sql, kind, term, name=name)


def _cast_value(term: Term, kind: Type) -> Term:
    source = term.type
    if source in (kind, VOID):
        return become(term, kind)
    match source.name, kind.name:
        case "string", "timestamp" | "date" if term.is_literal:
            return become(term, kind)
        case "string", "int" | "bigint":
            is_whole = f"regexp_full_match({term.sql}, '[+-]?[0-9]{{1,18}}')"
            return made(refused_where(f"NOT {is_whole}", f"CAST({term.sql} AS {kind.duck})", "no number"), kind, term)
        case "int" | "bigint", "int" | "bigint" | "double" | "string" | "decimal":
            return _to_decimal(term, kind) if kind.name == "decimal" else cast(term, kind)
        case "decimal", "double":
            return cast(term, kind)
        case "decimal", "decimal":
            return cast(term, kind)
        case "double", "int" | "bigint":
            return made(f"CAST(trunc({term.sql}) AS {kind.duck})", kind, term)
        case "boolean" | "date", "string":
            return cast(term, kind)
        case "boolean", "int" | "bigint":
            return cast(term, kind)
        case ("timestamp", "date") | ("date", "timestamp"):
            return cast(term, kind)
        case "timestamp", "string":
            # Spark leaves out a fraction's last zeros, and a fraction of none; so does DuckDB, up to the year 9999.
            return cast(term, kind)
    raise NotProven(f"a cast of a {source.shown} to {kind.shown}")


def _to_decimal(term: Term, kind: Type) -> Term:
    return cast(term, kind)


def added(operator: str, left: Term, right: Term) -> Term:
    """Plus or minus: numbers, and moments moved by an interval or taken from each other. Raises NotProven."""
    name = operator_name(operator, left, right)
    moments = (DATE, TIMESTAMP)
    if left.type in moments and right.type in _MOVES:
        return moved(left, right, operator)
    if operator == "+" and right.type in moments and left.type in _MOVES:
        return moved(right, left, operator)
    if left.type == DATE and right.type == INT:
        called = call_name("date_add" if operator == "+" else "date_sub", left, right)
        return made(f"CAST(({left.sql} {operator} {right.sql}) AS DATE)", DATE, left, right, name=called)
    if operator == "-" and left.type == TIMESTAMP and right.type == TIMESTAMP:
        return made(f"(epoch_us({left.sql}) - epoch_us({right.sql}))", INTERVAL, left, right, name=name)
    if {left.type, right.type} <= _LENGTHS and INTERVAL in (left.type, right.type):
        return made(f"({left.sql} {operator} {right.sql})", INTERVAL, left, right)
    return _calculated(operator, left, right, name)


def moved(moment_: Term, by: Term, operator: str) -> Term:
    """A date or timestamp moved by an interval."""
    if by.type == MONTHS:
        sql = f"({moment_.sql} {operator} to_months({by.sql}))"
        return made(f"CAST({sql} AS {moment_.type.duck})", moment_.type, moment_, by)
    if moment_.type == DATE and by.type == DAYS:
        return made(f"CAST(({moment_.sql} {operator} to_microseconds({by.sql})) AS DATE)", DATE, moment_, by)
    at = cast(moment_, TIMESTAMP)
    return made(f"({at.sql} {operator} to_microseconds({by.sql}))", TIMESTAMP, moment_, by)


def multiplied(left: Term, right: Term) -> Term:
    return _calculated("*", left, right, operator_name("*", left, right))


def _calculated(operator: str, left: Term, right: Term, name: str | None) -> Term:
    left, right = _numbers(left, right)
    if DOUBLE in (left.type, right.type):
        left, right = cast(left, DOUBLE), cast(right, DOUBLE)
        return made(f"({left.sql} {operator} {right.sql})", DOUBLE, left, right, name=name)
    if left.type.is_whole and right.type.is_whole:
        kind = INT if left.type == right.type == INT else BIGINT
        return made(f"({left.sql} {operator} {right.sql})", kind, left, right, name=name)
    (p1, s1), (p2, s2) = _decimal_digits(left), _decimal_digits(right)
    if operator == "*":
        precision, scale = p1 + p2 + 1, s1 + s2
    else:
        scale = max(s1, s2)
        precision = max(p1 - s1, p2 - s2) + scale + 1
    if precision >= MAX_PRECISION:
        raise NotProven("a decimal of 38 digits")
    kind = decimal(precision, scale)
    # Wide enough on either side that DuckDB's own rule loses nothing.
    first, second = (decimal(p1, s1), decimal(p2, s2)) if operator == "*" else (kind, kind)
    sql = f"({cast(left, first).sql} {operator} {cast(right, second).sql})"
    return made(f"CAST({sql} AS {kind.duck})", kind, left, right, name=name)


def divided(left: Term, right: Term) -> Term:
    """a / b: a DOUBLE, a decimal where one of them is a decimal. By zero it goes to Spark, which refuses it."""
    name = operator_name("/", left, right)
    left, right = _numbers(left, right)
    if left.type.name != "decimal" and right.type.name != "decimal":
        top, bottom = cast(left, DOUBLE), cast(right, DOUBLE)
        return made(f"({top.sql} / {_not_zero(bottom)})", DOUBLE, left, right, name=name)
    if DOUBLE in (left.type, right.type):
        top, bottom = cast(left, DOUBLE), cast(right, DOUBLE)
        return made(f"({top.sql} / {_not_zero(bottom)})", DOUBLE, left, right, name=name)
    (p1, s1), (p2, s2) = _decimal_digits(left), _decimal_digits(right)
    scale = max(_MIN_SCALE, s1 + p2 + 1)
    precision = p1 - s1 + s2 + scale
    if precision > MAX_PRECISION:
        # Digits after the point make way for those before it.
        precision, scale = MAX_PRECISION, max(MAX_PRECISION - (precision - scale), _MIN_SCALE)
    # A number too large for what follows is an error of DuckDB's.
    shift = scale - s1 + s2
    over = _unscaled(left, p1, s1)
    under = _unscaled(right, p2, s2)
    quotient = f"half_up({over} * CAST({10**shift} AS HUGEINT), {under})"
    unit = f"CAST('0.{'1'.zfill(scale)}' AS DECIMAL({scale + 1}, {scale}))"
    sql = f"CAST(CAST({quotient} AS DECIMAL({MAX_PRECISION - scale - 1}, 0)) * {unit} AS DECIMAL({precision}, {scale}))"
    return made(sql, decimal(precision, scale), left, right, name=name)


def _unscaled(term: Term, precision: int, scale: int) -> str:
    """A decimal's digits as a whole number."""
    value = f"{cast(term, decimal(precision, scale)).sql} * {10**scale}" if scale else term.sql
    return f"CAST({value} AS HUGEINT)"


def whole_division(left: Term, right: Term) -> Term:
    """a DIV b: a BIGINT, cut towards zero."""
    name = operator_name("div", left, right)
    left, right = _whole_numbers(left, right)
    return made(f"CAST(({left.sql} // {_not_zero(right)}) AS BIGINT)", BIGINT, left, right, name=name)


def remainder(left: Term, right: Term) -> Term:
    """a % b, with the sign of a."""
    name = operator_name("%", left, right)
    left, right = _whole_numbers(left, right)
    kind = INT if left.type == right.type == INT else BIGINT
    return made(f"CAST(({left.sql} % {_not_zero(right)}) AS {kind.duck})", kind, left, right, name=name)


def negated(term: Term) -> Term:
    if not term.type.is_number and term.type not in (INTERVAL,):
        raise NotProven(f"minus a {term.type.shown}")
    name = None if term.name is None else f"(- {term.name})"
    return made(f"(- {term.sql})", term.type, term, name=name)


def _not_zero(term: Term) -> str:
    if term.is_literal and isinstance(term.value, int | float | str) and float(term.value) != 0:
        return term.sql
    return refused_where(f"{term.sql} = 0", term.sql, "division by zero")


def _numbers(left: Term, right: Term) -> tuple[Term, Term]:
    left = cast(NULL, right.type) if left.type == VOID and right.type.is_number else left
    right = cast(NULL, left.type) if right.type == VOID and left.type.is_number else right
    if not (left.type.is_number and right.type.is_number):
        raise NotProven(f"arithmetic with a {left.type.shown} and a {right.type.shown}")
    return left, right


def _whole_numbers(left: Term, right: Term) -> tuple[Term, Term]:
    left, right = _numbers(left, right)
    if not (left.type.is_whole and right.type.is_whole):
        raise NotProven("a whole division of other than whole numbers")
    return left, right


def _decimal_digits(term: Term) -> tuple[int, int]:
    """Precision and scale beside a decimal; a whole literal has only its own digits."""
    if term.type.is_whole and term.is_literal and isinstance(term.value, int):
        return max(len(str(abs(term.value))), 1), 0
    return term.type.digits


def moment_of(term: Term) -> Term:
    """A term as a TIMESTAMP, where Spark casts it to one by itself."""
    if term.type == STRING and isinstance(term.value, str):
        return moment(term.value).named(term.name)
    return become(term, TIMESTAMP)
