"""What a query is once it is DuckDB's text, and the pieces that every kind of query has: ORDER BY, LIMIT, places.

Knows columns by Spark's names and by DuckDB's. Must not know how a SELECT is made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

from sqlglot import exp

from duck_sql.expressions import Node
from duck_sql.scope import Held, Scope
from duck_sql.terms import NotProven
from duck_sql.types import Type, quoted


class Column(NamedTuple):
    """A column of a query: Spark's name for it, DuckDB's, its type, whether an array's order is left to chance."""

    name: str
    own: str
    type: Type
    is_chosen: bool = False


@dataclass(frozen=True)
class Relation:
    """Something that can stand in FROM, by DuckDB's text of it."""

    sql: str
    columns: tuple[Column, ...]

    def held(self, alias: str) -> tuple[Held, ...]:
        return tuple(Held(c.name, f"{alias}.{quoted(c.own)}", c.type, c.is_chosen) for c in self.columns)

    def renamed(self, names: Sequence[str]) -> Relation:
        """Raises NotProven: there are more or fewer names than columns."""
        if len(names) != len(self.columns):
            raise NotProven("names for some of the columns")
        return replace(self, columns=tuple(c._replace(name=name) for c, name in zip(self.columns, names, strict=True)))


Tables = Mapping[str, Relation]
"""Tables, views and the names of WITH, in lower case."""


class Maker(Protocol):
    """What makes the queries within a query."""

    is_inner: bool
    """For a view's own text, whose data are known."""

    def own_name(self, letter: str) -> str:
        """A name that nothing else in the statement has."""

    def query(self, node: Node, tables: Tables, outer: Scope | None = None, is_exists: bool = False) -> Relation:
        """The whole text of a query, not in parentheses. Raises NotProven, NoSuchName."""

    def with_names(self, node: Node, tables: Tables) -> tuple[str, Tables]:
        """WITH as DuckDB's text, and the tables with its names. Raises NotProven."""


def has_more(node: Node, *known: str) -> bool:
    """Whether a node has parts that are not known."""
    return any(value for key, value in node.args.items() if key not in known)


def ordered_items(node: Node) -> list[Node]:
    order = node.args.get("order")
    if order is None:
        return []
    for item in order.expressions:
        if not isinstance(item, exp.Ordered) or item.args.get("with_fill") is not None:
            raise NotProven("this form of ORDER BY")
    return list(order.expressions)


def order_text(sql: str, kind: Type, item: Node) -> str:
    """An item of ORDER BY. Raises NotProven: values that the engines order differently."""
    if not kind.is_plain:
        raise NotProven(f"ORDER BY of {kind.shown}")
    way = "DESC" if item.args.get("desc") else "ASC"
    return f"{sql} {way} NULLS {'FIRST' if item.args.get('nulls_first') else 'LAST'}"


def place_of(node: Node, names: Sequence[str]) -> int | None:
    """The column, from 1, that a place or a name of the SELECT list means; None: neither. Raises NotProven."""
    if isinstance(node, exp.Literal) and not node.is_string:
        if not (str(node.this).isdecimal() and 1 <= int(node.this) <= len(names)):
            raise NotProven(f"the column {node.this}")
        return int(node.this)
    if isinstance(node, exp.Column) and len(node.parts) == 1:
        found = [place for place, name in enumerate(names, 1) if name.lower() == node.name.lower()]
        if len(found) > 1:
            raise NotProven(f"several columns {node.name}")
        return found[0] if found else None
    return None


def limits(node: Node) -> str:
    """LIMIT and OFFSET. Raises NotProven: they are not written out."""
    text = ""
    for key, word in (("limit", "LIMIT"), ("offset", "OFFSET")):
        part = node.args.get(key)
        if part is None or (isinstance(part.expression, exp.Var) and part.expression.name.upper() == "ALL"):
            continue
        if not isinstance(part.expression, exp.Literal) or not str(part.expression.this).isdecimal():
            raise NotProven(f"{word} of other than a number")
        text += f" {word} {part.expression.this}"
    return text
