"""Expressions of Spark's SQL as terms: which nodes of sqlglot's tree are proven, and the names among them.

A node goes to the handler that is entered for its class, by this module or by `duck_sql.operators` or `duck_sql.calls`;
one without a handler is not proven. Must not know how a query is put together: a subquery is handed to whoever makes
the queries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from sqlglot import exp

from duck_sql import arrays, literals
from duck_sql.scope import Scope
from duck_sql.terms import NULL, NotProven, Term, truth
from duck_sql.types import BOOLEAN

Node = Any
"""A node of sqlglot's tree, whose own types are loose."""
Handler = Callable[["Expressions", Node, Scope], Term]
_H = TypeVar("_H", bound=Handler)
NODES: dict[type, Handler] = {}


class Queried(Protocol):
    """The query that an expression stands in, as far as the expression asks it."""

    def within(self, term: Term, node: Node, scope: Scope) -> Term:
        """term IN (a query)."""

    def exists(self, node: Node, scope: Scope) -> Term:
        """EXISTS (a query)."""

    def only_value(self, node: Node, scope: Scope) -> Term:
        """A query that gives one value."""

    def over(self, node: Node, scope: Scope) -> str:
        """What stands in OVER (...)."""


class Expressions:
    """Makes the terms of one SELECT. is_inner: it is a view's own, whose data are known."""

    def __init__(self, select: Queried, is_inner: bool) -> None:
        self.select = select
        self.is_inner = is_inner
        self._variables = 0

    def term(self, node: Node, scope: Scope) -> Term:
        """Raises NotProven, NoSuchName."""
        handler = NODES.get(type(node))
        if handler is None:
            raise NotProven(shown_node(node))
        return handler(self, node, scope)

    def terms(self, nodes: Sequence[Node], scope: Scope) -> list[Term]:
        return [self.term(node, scope) for node in nodes]

    def condition(self, node: Node, scope: Scope) -> Term:
        return truth(self.term(node, scope))

    def variable(self) -> str:
        """A name for a lambda's variable that no other has."""
        self._variables += 1
        return f"x{self._variables}"


def node_of(*kinds: type) -> Callable[[_H], _H]:
    """Enters a handler for classes of nodes."""

    def entered(handler: _H) -> _H:
        NODES.update(dict.fromkeys(kinds, handler))
        return handler

    return entered


def place(node: Node) -> str:
    """Where in the query a name stands, as Spark says it."""
    meta = node.meta
    if "line" not in meta:
        return ""
    return f" (line {meta['line']}, position {meta['col'] - len(node.name) + 1})"


def shown_node(node: Node) -> str:
    return node.key.upper() if isinstance(node, exp.Expression) else str(node)


@node_of(exp.Column, exp.Dot, exp.Identifier)
def _column(expressions: Expressions, node: Node, scope: Scope) -> Term:
    if isinstance(node, exp.Dot):
        return _field(expressions, expressions.term(node.this, scope), node.expression)
    parts = [node] if isinstance(node, exp.Identifier) else node.parts
    names = [part.name for part in parts]
    found = scope.found(names)
    if found is None and scope.outer is not None:
        found = scope.outer.found(names)
        if found is not None and not scope.is_exists:
            raise NotProven("a subquery that names a column of the query around it")
    if found is None:
        raise scope.missing(".".join(names), place(parts[0]))
    term, fields = found
    for part in parts[len(parts) - len(fields) :]:
        term = _field(expressions, term, part)
    return replace(term, title=names[-1]) if fields else term


def _field(expressions: Expressions, term: Term, part: Node) -> Term:
    if not isinstance(part, exp.Identifier):
        raise NotProven(shown_node(part))
    found = arrays.field_of(term, part.name)
    if found is None:
        raise NotProven(f"the field {part.name} of a {term.type.shown}")
    return found


@node_of(exp.Literal)
def _literal(expressions: Expressions, node: Node, scope: Scope) -> Term:
    return literals.string(node.this) if node.is_string else literals.number(node.this)


@node_of(exp.RawString)
def _raw_string(expressions: Expressions, node: Node, scope: Scope) -> Term:
    return literals.string(node.this)


@node_of(exp.Boolean)
def _boolean(expressions: Expressions, node: Node, scope: Scope) -> Term:
    value = "true" if node.this else "false"
    return Term(value, BOOLEAN, name=value, value=bool(node.this), is_literal=True)


@node_of(exp.Null)
def _null(expressions: Expressions, node: Node, scope: Scope) -> Term:
    return NULL


@node_of(exp.Interval)
def _interval(expressions: Expressions, node: Node, scope: Scope) -> Term:
    amount, unit = node.this, node.args.get("unit")
    if isinstance(amount, exp.Neg):
        amount, sign = amount.this, -1
    else:
        sign = 1
    if not isinstance(amount, exp.Literal) or not isinstance(unit, exp.Var):
        raise NotProven("an interval that is not written out")
    written = str(amount.this).strip()
    if written.startswith("-"):
        written, sign = written[1:], -sign
    if not written.isdecimal():
        raise NotProven(f"the interval {written}")
    return literals.interval(sign * int(written), unit.name)


@node_of(exp.Paren)
def _paren(expressions: Expressions, node: Node, scope: Scope) -> Term:
    return expressions.term(node.this, scope)


@node_of(exp.Exists)
def _exists(expressions: Expressions, node: Node, scope: Scope) -> Term:
    return expressions.select.exists(node.this, scope)


@node_of(exp.Subquery)
def _subquery(expressions: Expressions, node: Node, scope: Scope) -> Term:
    return expressions.select.only_value(node, scope)
