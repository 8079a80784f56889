"""Calls of functions: scalar ones, those with a lambda, aggregates and windows.

Knows how a call's arguments are read; what each function gives stands with the functions. Must not know any query.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from duck_sql import arrays, moments, scalars
from duck_sql.aggregates import AGGREGATES, OVER, WINDOWS, Call, count_all
from duck_sql.dialect import parsed_type
from duck_sql.expressions import Expressions, Node, node_of, shown_node
from duck_sql.functions import SCALARS
from duck_sql.operators import spark_type
from duck_sql.scope import Scope
from duck_sql.terms import NotProven, Term

KEEP_ORDER = set(
    ["array_sort", "sort_array", "size", "cardinality", "array_size", "array_contains", "array_min", "array_max"]
)
"""Functions whose answer does not depend on the order of an array."""
_WITH_UNITS = {"timestampdiff", "datediff", "date_diff", "timestampadd", "dateadd", "date_add"}


@node_of(exp.Bracket)
def _bracket(expressions: Expressions, node: Node, scope: Scope) -> Term:
    if len(node.expressions) != 1 or node.args.get("offset") not in (None, 0):
        raise NotProven("this index")
    return arrays.indexed(expressions.term(node.this, scope), expressions.term(node.expressions[0], scope))


@node_of(exp.Transform)
def _transform(expressions: Expressions, node: Node, scope: Scope) -> Term:
    return _with_lambda(expressions, "transform", [node.this, node.expression], scope)


@node_of(exp.Anonymous)
def _call(expressions: Expressions, node: Node, scope: Scope) -> Term:
    name, arguments = str(node.this).lower(), node.expressions
    if name in AGGREGATES:
        return _aggregate(expressions, node, scope, None)
    if name in arrays.LAMBDAS:
        return _with_lambda(expressions, name, arguments, scope)
    if name in ("struct", "named_struct"):
        return _struct(expressions, name, arguments, scope)
    if (
        name in ("timestampdiff", "datediff", "date_diff", "timestampadd", "dateadd", "date_add")
        and len(arguments) == 3
    ):
        return _with_unit(expressions, name, arguments, scope)
    if name == "from_json":
        return _from_json(expressions, arguments, scope)
    function = SCALARS.get(name)
    if function is None:
        raise NotProven(f"{name}()")
    terms = expressions.terms(arguments, scope)
    found = function.call(name, terms, expressions.is_inner)
    is_chosen = any(term.is_chosen for term in terms) and name not in KEEP_ORDER
    return replace(found, is_chosen=is_chosen and not expressions.is_inner)


def _with_unit(expressions: Expressions, name: str, arguments: list[Node], scope: Scope) -> Term:
    unit = arguments[0].name
    first, second = expressions.terms(arguments[1:], scope)
    if "diff" in name:
        return moments.difference(name, unit, first, second)
    return moments.shifted(name, unit, first, second)


def _struct(expressions: Expressions, name: str, arguments: list[Node], scope: Scope) -> Term:
    fields: list[tuple[str, Term]] = []
    if name == "named_struct":
        for key, value in zip(arguments[::2], arguments[1::2], strict=True):
            if not (isinstance(key, exp.Literal) and key.is_string):
                raise NotProven("named_struct() of a name that is not written out")
            fields.append((key.this, expressions.term(value, scope)))
    for place_, node in enumerate(arguments if name == "struct" else (), 1):
        is_alias = isinstance(node, exp.Alias)
        term = expressions.term(node.this if is_alias else node, scope)
        fields.append((node.alias if is_alias else _last_name(node) or f"col{place_}", term))
    return arrays.struct_of(fields)


def _from_json(expressions: Expressions, arguments: list[Node], scope: Scope) -> Term:
    if not expressions.is_inner:
        raise NotProven("from_json()")
    ddl = arguments[1].this
    kind = spark_type(parsed_type(f"STRUCT<{', '.join(_fields_of(ddl))}>"))
    return scalars.from_json(expressions.term(arguments[0], scope), kind)


def _with_lambda(expressions: Expressions, name: str, arguments: list[Node], scope: Scope) -> Term:
    if len(arguments) != 2 or not isinstance(arguments[1], exp.Lambda) or len(arguments[1].expressions) != 1:
        raise NotProven(f"this form of {name}()")
    term = arrays.array_of(name, expressions.term(arguments[0], scope))
    (parameter,) = arguments[1].expressions
    variable = expressions.variable()
    bound = Term(variable, term.type.item)
    body = expressions.term(arguments[1].this, scope.with_variables({parameter.name.lower(): bound}))
    found = arrays.with_lambda(name, term, variable, body)
    return replace(found, is_chosen=term.is_chosen and name in ("transform", "filter"))


# ---------------------------------------------------------------- aggregates and windows


@node_of(exp.Filter)
def _filter(expressions: Expressions, node: Node, scope: Scope) -> Term:
    return _aggregate(expressions, node, scope, None)


@node_of(exp.Window)
def _window(expressions: Expressions, node: Node, scope: Scope) -> Term:
    over = expressions.select.over(node, scope)
    return _aggregate(expressions, node.this, scope, over)


def _aggregate(expressions: Expressions, node: Node, scope: Scope, over: str | None) -> Term:
    """An aggregate, or a window function. over: what stands in its OVER, None: it has none."""
    condition = None
    if isinstance(node, exp.Filter):
        condition = expressions.condition(node.expression.this, scope).sql
        node = node.this
    if not isinstance(node, exp.Anonymous):
        raise NotProven(shown_node(node))
    name, arguments, is_distinct = str(node.this).lower(), node.expressions, False
    rule = AGGREGATES.get(name) or (WINDOWS.get(name) if over is not None else None)
    if rule is None:
        raise NotProven(f"{name}() without OVER" if name in WINDOWS else f"{name}()")
    if len(arguments) == 1 and isinstance(arguments[0], exp.Distinct):
        arguments, is_distinct = arguments[0].expressions, True
    if is_distinct and over is not None:
        raise NotProven(f"{name}(DISTINCT) OVER")
    is_all = name == "count" and len(arguments) == 1 and isinstance(arguments[0], exp.Star) and not is_distinct
    terms = () if is_all else tuple(expressions.terms(arguments, scope))
    if any(term.has_window or (term.has_aggregate and over is None) for term in terms):
        raise NotProven("an aggregate within another")
    if any(term.is_chosen for term in terms):
        raise NotProven("an array in an order that is left to chance")
    call = Call(name, terms, is_distinct, condition, expressions.is_inner)
    found = count_all(call) if is_all else rule(call)
    sql = found.sql.replace(OVER, "" if over is None else f" OVER ({over})")
    if over is None:
        return replace(found, sql=sql)
    has_aggregate = any(term.has_aggregate for term in terms)
    return replace(found, sql=sql, has_aggregate=has_aggregate, has_window=True, name=None)


def _last_name(node: Node) -> str | None:
    """The last part of a name, None: the node is none."""
    if isinstance(node, exp.Identifier):
        return str(node.name)
    return str(node.parts[-1].name) if isinstance(node, exp.Column | exp.Dot) else None


def _fields_of(ddl: str) -> list[str]:
    """`a INT, b ARRAY<...>` as `a: INT`, `b: ARRAY<...>`."""
    found, depth, part = [], 0, ""
    for sign in f"{ddl},":
        depth += (sign in "<(") - (sign in ">)")
        if sign == "," and depth == 0:
            name, _, kind = part.strip().partition(" ")
            found.append(f"{name.rstrip(':')}: {kind.strip()}")
            part = ""
        else:
            part += sign
    return found
