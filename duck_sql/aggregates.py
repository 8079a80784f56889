"""Aggregates and window functions.

Knows, for each, how Spark's answer comes out of DuckDB's aggregates. What depends on the order of rows (the first of
several, the sum of doubles) is not proven, or goes to Spark where it would show.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from duck_sql.functions import literal_whole
from duck_sql.terms import NotProven, Term, call_name, made, refused_where, truth
from duck_sql.types import BIGINT, BOOLEAN, DOUBLE, INT, MAX_PRECISION, Type, array, decimal
from duck_sql.values import alike, become

OVER = "\x01"
"""Where in an aggregate's text its window belongs."""
_EXACT = 2**53


@dataclass(frozen=True)
class Call:
    """An aggregate as it is called."""

    name: str
    arguments: tuple[Term, ...]
    is_distinct: bool = False
    condition: str | None = None
    """DuckDB's text of its FILTER, None: it has none."""
    is_inner: bool = False

    def of(self, function: str, values: str, *, only: str | None = None) -> str:
        """DuckDB's text of an aggregate over the rows that are asked for. only: another condition of theirs."""
        conditions = " AND ".join(f"({one})" for one in (self.condition, only) if one is not None)
        distinct = "DISTINCT " if self.is_distinct else ""
        return f"{function}({distinct}{values}){f' FILTER (WHERE {conditions})' if conditions else ''}{OVER}"

    @property
    def one(self) -> Term:
        """Its only argument. Raises NotProven."""
        if len(self.arguments) != 1:
            raise NotProven(f"{self.name}() of {len(self.arguments)} arguments")
        return self.arguments[0]

    def gives(self, sql: str, kind: Type) -> Term:
        term = made(sql, kind, *self.arguments, name=self._spark_name())
        return replace(term, has_aggregate=True, has_column=False)

    def _spark_name(self) -> str | None:
        name = call_name(self.name, *self.arguments)
        if name is not None and self.is_distinct:
            name = name.replace("(", "(DISTINCT ", 1)
        return name if self.condition is None else None


Rule = Callable[[Call], Term]
AGGREGATES: dict[str, Rule] = {}
WINDOWS: dict[str, Rule] = {}


def _enter(table: dict[str, Rule], names: str) -> Callable[[Rule], Rule]:
    def entered(rule: Rule) -> Rule:
        table.update(dict.fromkeys(names.split(), rule))
        return rule

    return entered


@_enter(AGGREGATES, "count")
def _count(call: Call) -> Term:
    if len(call.arguments) == 1 or not call.is_distinct:
        terms = call.arguments
        if len(terms) != 1:
            raise NotProven("count() of several")
        return call.gives(call.of("count", terms[0].sql), BIGINT)
    # A row with a NULL in it is not counted.
    row = ", ".join(term.sql for term in call.arguments)
    present = " AND ".join(f"{term.sql} IS NOT NULL" for term in call.arguments)
    return call.gives(call.of("count", f"row({row})", only=present), BIGINT)


def count_all(call: Call) -> Term:
    """count(*), which Spark names count(1)."""
    return call.gives(call.of("count", "*"), BIGINT).named("count(1)" if call.condition is None else None)


@_enter(AGGREGATES, "count_if")
def _count_if(call: Call) -> Term:
    if call.is_distinct:
        raise NotProven("count_if(DISTINCT)")
    return call.gives(call.of("count", "*", only=truth(call.one).sql), BIGINT)


@_enter(AGGREGATES, "sum")
def _sum(call: Call) -> Term:
    term = call.one
    if term.type.is_whole:
        return call.gives(f"CAST({call.of('sum', term.sql)} AS BIGINT)", BIGINT)
    if term.type.name == "decimal" and term.type.digits[0] + 10 <= MAX_PRECISION:
        precision, scale = term.type.digits
        kind = decimal(precision + 10, scale)
        return call.gives(f"CAST({call.of('sum', term.sql)} AS {kind.duck})", kind)
    raise NotProven(f"a sum of {term.type.shown}, whose last digit is left to chance")


@_enter(AGGREGATES, "avg mean")
def _avg(call: Call) -> Term:
    term = call.one
    if not term.type.is_whole:
        raise NotProven(f"a mean of {term.type.shown}, whose last digit is left to chance")
    total, count = call.of("sum", term.sql), call.of("count", term.sql)
    mean = f"CAST({total} AS DOUBLE) / CAST({count} AS DOUBLE)"
    exact = refused_where(f"abs({total}) >= {_EXACT}", mean, "a sum that a double does not hold")
    return call.gives(f"CASE WHEN {count} > 0 THEN {exact} END", DOUBLE)


@_enter(AGGREGATES, "min max")
def _extreme(call: Call) -> Term:
    term = call.one
    if not (term.type.is_plain or (call.is_inner and term.type.name == "struct")):
        raise NotProven(f"{call.name}() of {term.type.shown}")
    return call.gives(call.of(call.name, term.sql), term.type)


@_enter(AGGREGATES, "min_by max_by")
def _extreme_by(call: Call) -> Term:
    """Where two rows share the extreme, and not the value, Spark is asked: it is left to chance."""
    if len(call.arguments) != 2 or call.is_distinct:
        raise NotProven(f"{call.name}() of {len(call.arguments)} arguments")
    value, by = call.arguments
    if call.is_inner:
        function = "arg_max_null" if call.name == "max_by" else "arg_min_null"
        return call.gives(call.of(function, f"{value.sql}, {by.sql}", only=f"{by.sql} IS NOT NULL"), value.type)
    if not (value.type.is_plain and by.type.is_plain):
        raise NotProven(f"{call.name}() of {value.type.shown} by {by.type.shown}")
    pair = f"struct_pack(k := {by.sql}, v := {value.sql})"
    two = replace(call, is_distinct=True).of(call.name[:3], f"{pair}, 2", only=f"{by.sql} IS NOT NULL")
    tied = f"len({two}) = 2 AND list_extract({two}, 1).k = list_extract({two}, 2).k"
    return call.gives(refused_where(tied, f"list_extract({two}, 1).v", "a tie"), value.type)


@_enter(AGGREGATES, "any_value first last")
def _any_value(call: Call) -> Term:
    """Where its rows differ, which one it is, is left to chance: Spark is asked."""
    term = call.one
    if not term.type.is_plain or call.is_distinct:
        raise NotProven(f"{call.name}() of {term.type.shown}")
    least, most = call.of("min", term.sql), call.of("max", term.sql)
    present, all_ = call.of("count", term.sql), call.of("count", "*")
    mixed = f"{least} <> {most} OR ({present} > 0 AND {present} < {all_})"
    return call.gives(refused_where(mixed, least, "any of several"), term.type)


@_enter(AGGREGATES, "bool_and every bool_or some any")
def _bool(call: Call) -> Term:
    function = "bool_and" if call.name in ("bool_and", "every") else "bool_or"
    return call.gives(call.of(function, truth(call.one).sql), BOOLEAN)


@_enter(AGGREGATES, "collect_list array_agg collect_set")
def _collect(call: Call) -> Term:
    """In an order that is left to chance."""
    term = call.one
    asked = replace(call, is_distinct=call.is_distinct or call.name == "collect_set")
    collected = asked.of("list", term.sql, only=f"{term.sql} IS NOT NULL")
    kind = array(term.type)
    return replace(call.gives(f"coalesce({collected}, CAST([] AS {kind.duck}))", kind), is_chosen=not call.is_inner)


@_enter(AGGREGATES, "percentile")
def _percentile(call: Call) -> Term:
    if len(call.arguments) != 2 or call.is_distinct:
        raise NotProven("percentile() of other than a column and a share")
    term, share = call.arguments
    if not isinstance(share.value, int | str) or not share.type.is_number or not 0 <= float(share.value) <= 1:
        raise NotProven("percentile() of a share that is not written out")
    name = None if term.name is None or call.condition else f"percentile({term.name}, {share.name}, 1)"
    return _quantile(call, term, str(share.value)).named(name)


@_enter(AGGREGATES, "median")
def _median(call: Call) -> Term:
    if call.is_distinct:
        raise NotProven("median(DISTINCT)")
    return _quantile(call, call.one, "0.5")


def _quantile(call: Call, term: Term, share: str) -> Term:
    if not (term.type.is_whole or term.type == DOUBLE):
        raise NotProven(f"{call.name}() of {term.type.shown}")
    values = call.of("list", f"CAST({term.sql} AS DOUBLE)", only=f"{term.sql} IS NOT NULL")
    # By Spark's own formula: DuckDB's quantile_cont differs from it in the last digit.
    return call.gives(f"interpolated(list_sort({values}), {float(share)!r}::DOUBLE)", DOUBLE)


# ---------------------------------------------------------------- windows


@_enter(WINDOWS, "row_number rank dense_rank")
def _place(call: Call) -> Term:
    if call.arguments or call.condition:
        raise NotProven(f"{call.name}() of arguments")
    return call.gives(f"CAST({call.name}(){OVER} AS INTEGER)", INT)


@_enter(WINDOWS, "ntile")
def _ntile(call: Call) -> Term:
    count = literal_whole(call.name, call.one)
    return call.gives(f"CAST(ntile({count}){OVER} AS INTEGER)", INT)


@_enter(WINDOWS, "lag lead")
def _neighbour(call: Call) -> Term:
    if not 1 <= len(call.arguments) <= 3 or call.condition:
        raise NotProven(f"{call.name}() of {len(call.arguments)} arguments")
    term, rest = call.arguments[0], call.arguments[1:]
    given = [str(literal_whole(call.name, rest[0]))] if rest else []
    if len(rest) == 2:
        (term, default), _ = alike([term, become(rest[1], term.type)], call.name)
        given.append(default.sql)
    return call.gives(f"{call.name}({', '.join([term.sql, *given])}){OVER}", term.type)


@_enter(WINDOWS, "first_value last_value")
def _end_value(call: Call) -> Term:
    term = call.one
    return call.gives(f"{call.name}({term.sql}){OVER}", term.type)
