"""Spark's SQL as DuckDB's: sqlglot's own translation, and the few rules beside it.

A rule stands here where sqlglot lacks a translation, or DuckDB's function gives another answer. What is known to be
equal stands in `known_equal`. Knows both dialects; must not know a home.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache

from sqlglot import exp

from rollcall.answers.sql import functions
from rollcall.answers.sql.kinds import (
    first_select,
    has_boolean_beside_number,
    is_condition,
    is_date,
    kinds_put_together,
)
from rollcall.answers.sql.known_equal import (
    OTHER_NAMES,
    Dialect,
    Node,
    NotEqual,
    NotSelect,
    T,
    TypedDialect,
    check,
    outermost,
    parsed,
    time_format,
    unit_of,
    words_of,
)

_NAMED_AS_TYPED = words_of(
    "count sum avg min max min_by max_by count_if median bool_or bool_and size hour year month day"
)
_SIGNS = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.EQ: "=", exp.GT: ">", exp.LT: "<"}


@dataclass(frozen=True)
class Translated:
    """DuckDB's text of a query, and what makes the macros that it calls."""

    sql: str
    macros: Sequence[str]


def translated(query: str, columns: Mapping[str, Mapping[str, str]]) -> Translated:
    """A query in Spark's SQL, translated to DuckDB's. columns: those of each table and view, name to Spark's type.

    Raises NotEqual, NoSuchName.
    """
    if "\\" in query or "/*+" in query:
        raise NotEqual("a backslash or a hint")
    tree = parsed(query)
    if not isinstance(tree, exp.Query):
        raise NotSelect("a statement that is not a SELECT")
    try:
        check(tree, columns)
        for one, other in kinds_put_together(tree, columns):
            raise NotEqual(f"rows of {one} beside rows of {other}")
        if has_boolean_beside_number(tree, columns):
            raise NotEqual("a boolean beside a number")
        _name_columns(tree, query)
        for node in reversed(list(tree.bfs())):
            if is_condition(node):
                node.replace(_call("own_condition", node.copy()))
        for node in tree.find_all(exp.IntDiv):
            node.set("this", _call("own_whole", node.this))
        for node in list(tree.find_all(exp.ArgMax, exp.ArgMin)):
            _refuse_ties(node)
        return _written(tree)
    except RecursionError:
        raise NotEqual("deep nesting") from None


def _name_columns(tree: Node, query: str) -> None:
    """Names the columns as Spark does, where the query does not. Raises NotEqual: how Spark does is not known."""
    first = first_select(tree)
    if all(isinstance(item, exp.Alias | exp.Aliases | exp.Column) or item.is_star for item in first.expressions):
        typed = first
    else:
        typed = first_select(parsed(query, TypedDialect))
    for item, as_typed in zip(list(first.expressions), typed.expressions, strict=True):
        if not (isinstance(item, exp.Alias | exp.Aliases) or item.is_star):
            item.replace(exp.alias_(item.copy(), _name_of(as_typed), quoted=True))


def _name_of(node: Node) -> str:
    """How Spark names an expression within a column's name. Raises NotEqual: it is not known."""
    match node:
        case exp.Column():
            return str(node.name)
        case exp.Literal() if node.is_string or node.name.isdecimal():
            return str(node.name)
        case exp.Star():
            return "1"
        case exp.Paren():
            return _name_of(node.this)
        case exp.Anonymous() if node.name.lower() in _NAMED_AS_TYPED:
            return f"{node.name.lower()}({', '.join(map(_name_of, node.expressions))})"
        case exp.Distinct():
            return f"DISTINCT {', '.join(map(_name_of, node.expressions))}"
        case exp.Binary() if type(node) in _SIGNS:
            return f"({_name_of(node.this)} {_SIGNS[type(node)]} {_name_of(node.expression)})"
    raise NotEqual("a column without a name (AS names it)")


def of_view(sql: str, columns: Mapping[str, str]) -> Translated:
    """A view's own SQL, its columns named and typed as it declares. columns: name to Spark's type."""
    found = _written(parsed(sql))
    names = ", ".join(f'"{name}"' for name in columns)
    typed = ", ".join(f'CAST("{name}" AS {duck_type(kind)}) AS "{name}"' for name, kind in columns.items())
    return Translated(f"SELECT {typed} FROM ({found.sql}) AS v({names})", found.macros)


@cache
def duck_type(kind: str) -> str:
    """A type of Spark's as DuckDB calls it."""
    tree = exp.DataType.build(kind, dialect=Dialect)
    return str(tree.transform(_rewritten).sql("duckdb"))


def _written(tree: Node) -> Translated:
    nodes = list(tree.bfs())
    has_dates = any(map(is_date, nodes))
    for node in reversed(nodes):
        is_sum = isinstance(node, exp.Add | exp.Sub)
        new = _sum_or_difference(node, has_dates) if is_sum else _rewritten(node)
        if new is not node:
            node.replace(new)
    sql = tree.sql("duckdb")
    return Translated(sql, list(functions.macros_in(sql)))


def _number(value: int) -> Node:
    return exp.Literal.number(value)


def _call(name: str, *of: Node) -> Node:
    return exp.Anonymous(this=name, expressions=list(of))


def _named(name: str, value: Node) -> Node:
    return exp.PropertyEQ(this=exp.to_identifier(name), expression=value)


def _as(node: Node, kind: Node) -> Node:
    return exp.Cast(this=node, to=exp.DataType(this=kind))


def _replaced(node: Node, by: Node) -> Node:
    node.replace(by)
    return by


def _around(aggregate: Node, name: str, *more: Node) -> None:
    """Puts a call around an aggregate with its FILTER and OVER."""
    top, call = outermost(aggregate), _call(name)
    top.replace(call)
    call.set("expressions", [top, *more])


def _within(node: Node, name: str) -> None:
    """Puts a call around what an aggregate takes."""
    if isinstance(node.this, exp.Distinct):
        node.this.set("expressions", [_call(name, *node.this.expressions)])
    else:
        node.set("this", _call(name, node.this))


def _refuse_ties(node: Node) -> None:
    """max_by and min_by as the two extreme pairs: where only their values differ, engines do."""
    by, value = node.expression, node.this
    pair = _call("struct_pack", _named("k", by), _named("v", value))
    known = exp.Case(ifs=[exp.If(this=exp.Not(this=exp.Is(this=by.copy(), expression=exp.Null())), true=pair)])
    two = _call("max" if isinstance(node, exp.ArgMax) else "min", exp.Distinct(expressions=[known]), _number(2))
    _around(_replaced(node, two), "own_only")


def _percentile(node: Node, of: Node, share: Node) -> None:
    """By Spark's own formula: DuckDB's quantile_cont differs from it in the last digit."""
    _around(_replaced(node, _call("list", _call("own_double", of))), "own_percentile", share)


_WRAPPED = {
    exp.Div: "own_quotient",
    exp.Bracket: "own_item",
    exp.RegexpLike: "spark_rlike",
    exp.Flatten: "own_flat",
    exp.ArrayDistinct: "own_distinct",
}
"""What becomes a call of this macro."""


def _rewritten(node: Node) -> Node:
    """A node of Spark's tree as sqlglot is to write it; itself where sqlglot knows what to do."""
    match node:
        case exp.Anonymous():
            return _called(node)
        case exp.DataType(this=T.TIMESTAMPTZ | T.TIMESTAMPLTZ):
            return exp.DataType(this=T.TIMESTAMP)
        case exp.Cast():
            return _cast(node)
        case exp.DPipe():
            return exp.DPipe(this=_call("own_string", node.this), expression=_call("own_string", node.expression))
        case exp.AggFunc():
            return _aggregate(node)
        case exp.ILike():
            return exp.Like(this=_call("spark_lower", node.this), expression=_call("spark_lower", node.expression))
        case _ if type(node) in _WRAPPED:
            return _call(_WRAPPED[type(node)], *node.iter_expressions())
        case exp.Func():
            return _function(node)
    return node


def _function(node: Node) -> Node:
    """As _rewritten, of a function that sqlglot has a node for."""
    match node:
        case exp.Concat():
            return exp.Concat(**{**node.args, "expressions": [_call("own_string", one) for one in node.expressions]})
        case exp.CurrentTimestamp() | exp.CurrentDate():
            return _now(node)
        case exp.Substring() | exp.Left() | exp.Right() | exp.Pad():
            for key, least in (("start", 1), ("length", 0), ("expression", 0)):
                if isinstance(number := node.args.get(key), exp.Expr) and not isinstance(number, exp.Literal):
                    node.set(key, _call("own_place", number, _number(least)))
        case exp.Round():
            digits = node.args.get("decimals")
            kind = exp.DataType.build(f"DECIMAL(38, {digits.name if digits is not None else 0})")
            return _as(exp.Cast(this=_call("own_written", node.this), to=kind), T.DOUBLE)
        case exp.Inline():
            return _call("unnest", node.this, _named("max_depth", _number(2)))
        case exp.FromJson():
            struct = exp.DataType.build(f"STRUCT<{node.expression.name}>", dialect=Dialect)
            return _call("from_json", node.this, exp.Literal.string(_shape(struct)))
    return node


def _aggregate(node: Node) -> Node:
    """As _rewritten, of an aggregate, which may have a FILTER and an OVER around it."""
    match node:
        case exp.Sum():
            _within(node, "own_whole")
            _around(node, "own_bigint")
        case exp.Avg():
            _within(node, "own_whole")
            total, count = exp.Sum(this=node.this), exp.Count(this=node.this.copy())
            top = outermost(node)
            node.replace(count)
            counted = count if top is node else top.copy()
            count.replace(total)
            _around(total, "own_mean", counted)
        case exp.ArgMax() | exp.ArgMin():
            return _call(f"arg_{'max' if isinstance(node, exp.ArgMax) else 'min'}_null", node.this, node.expression)
        case exp.Median():
            _percentile(node, node.this, exp.Literal.number("0.5"))
        case exp.ArrayAgg() | exp.ArrayUniqueAgg():
            of = exp.Distinct(expressions=[node.this]) if isinstance(node, exp.ArrayUniqueAgg) else node.this
            _around(_replaced(node, _call("list", of)), "own_collected")
        case exp.CountIf():
            return exp.Count(this=exp.Case(ifs=[exp.If(this=node.this, true=_number(1))]))
    return node


def _called(node: Node) -> Node:
    """A call of a function that keeps its name, as that of its macro."""
    name, of = node.name.lower(), list(node.expressions)
    match name:
        case "timestampdiff" | "datediff" | "date_diff" if len(of) == 3:
            return _call("spark_timestampdiff", exp.Literal.string(of[0].name.lower()), *of[1:])
        case "percentile" if len(of) == 2:
            _percentile(node, *of)
            return node
        case "date_format":
            return _call("strftime", _call("spark_to_timestamp", of[0]), exp.Literal.string(time_format(of[1].name)))
        case "date_trunc" | "trunc":
            unit = 0 if name == "date_trunc" else 1
            of[unit] = exp.Literal.string({"mm": "month", "mon": "month"}.get(of[unit].name.lower(), of[unit].name))
    name = OTHER_NAMES.get(name, name)
    return _call(f"spark_{name}", *of) if name in functions.NAMES else node


def _cast(node: Node) -> Node:
    """A cast that refuses what Spark refuses, and cuts what it cuts."""
    kind, of = node.to.this, node.this
    if kind in (T.INT, T.BIGINT, T.SMALLINT):
        of = _call("own_digits" if _is_text(of) else "own_cut", of)
    if kind == T.DOUBLE:
        of = _call("own_double", of)
    if kind in (T.TEXT, T.VARCHAR):
        return _call("own_string", of)
    if kind not in (T.INT, T.BIGINT, T.SMALLINT, T.DOUBLE) and not isinstance(of, exp.Literal | exp.Null):
        of = _call("own_moment", of)
    return exp.Cast(this=of, to=node.to)


_TEXTS = {"get_json_object", "regexp_extract", "substring_index", "split_part", "own_item", "own_string"}


def _is_text(node: Node) -> bool:
    """Whether an expression is known to be a string's."""
    if isinstance(node, exp.Anonymous):
        return node.name.lower().removeprefix("spark_") in _TEXTS
    return isinstance(node, exp.Literal) and bool(node.is_string)


def _sum_or_difference(node: Node, has_dates: bool) -> Node:
    """A date is a timestamp beside hours, minutes or seconds, and stays a date beside days.

    has_dates: the query has dates, so that this may be one's.
    """
    of = [node.this, node.expression]
    units = {unit_of(one) for one in of if isinstance(one, exp.Interval)}
    if units & {"HOUR", "MINUTE", "SECOND"}:
        of = [one if isinstance(one, exp.Interval) else _as(one, T.TIMESTAMP) for one in of]
    elif units and isinstance(node.this, exp.Cast) and node.this.to.this == T.DATE:
        return _as(type(node)(this=of[0], expression=of[1]), T.DATE)
    if not has_dates:
        return type(node)(this=of[0], expression=of[1])
    return _call("own_plus" if isinstance(node, exp.Add) else "own_minus", *of)


def _now(node: Node) -> Node:
    now = datetime.now(UTC).replace(tzinfo=None)
    is_day = isinstance(node, exp.CurrentDate)
    return _as(exp.Literal.string(str(now.date() if is_day else now)), T.DATE if is_day else T.TIMESTAMP)


def _shape(kind: Node) -> str:
    if kind.this == T.ARRAY:
        return f"[{_shape(kind.expressions[0])}]"
    if kind.this == T.STRUCT:
        return "{" + ", ".join(f'"{one.name}": {_shape(one.args["kind"])}' for one in kind.expressions) + "}"
    return f'"{kind.sql("duckdb")}"'
