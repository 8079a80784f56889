"""A query of Spark's SQL as DuckDB's text: unions, parentheses, WITH, and SELECT by `duck_sql.selects`.

Knows that DuckDB is to be left nothing to resolve: every column gets a name of its own. Must not know where a table's
rows are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from duck_sql.expressions import Node
from duck_sql.relations import Column, Relation, Tables, has_more, limits, order_text, ordered_items, place_of
from duck_sql.scope import Scope
from duck_sql.selects import Select
from duck_sql.terms import NotProven, Term
from duck_sql.types import in_common, quoted
from duck_sql.values import become

_SETS: dict[type[exp.Expression], str] = {exp.Union: "UNION", exp.Except: "EXCEPT", exp.Intersect: "INTERSECT"}


class Queries:
    """Makes queries. is_inner: for a view's own text, whose data are known."""

    def __init__(self, is_inner: bool = False) -> None:
        self.is_inner = is_inner
        self._count = 0

    def own_name(self, letter: str) -> str:
        """A name that nothing else in the statement has."""
        self._count += 1
        return f"{letter}{self._count}"

    def query(self, node: Node, tables: Tables, outer: Scope | None = None, is_exists: bool = False) -> Relation:
        """The whole text of a query, not in parentheses. Raises NotProven, NoSuchName."""
        if isinstance(node, exp.Select):
            return Select(self, tables, outer, is_exists).relation(node)
        if type(node) in _SETS:
            return self._of_two(node, tables)
        if isinstance(node, exp.Subquery) and not has_more(node, "this", "alias"):
            return self.query(node.this, tables, outer, is_exists)
        raise NotProven(type(node).__name__.upper())

    def with_names(self, node: Node, tables: Tables) -> tuple[str, Tables]:
        """WITH as DuckDB's text, and the tables with its names. Raises NotProven."""
        clause = node.args.get("with_")
        if clause is None:
            return "", tables
        if clause.args.get("recursive"):
            raise NotProven("WITH RECURSIVE")
        texts = []
        for one in clause.expressions:
            found = self.query(one.this, tables)
            names = [name.name for name in one.args["alias"].columns]
            own = quoted(self.own_name("q"))
            texts.append(f"{own} AS ({found.sql})")
            relation = replace(found, sql=own)
            tables = {**tables, one.alias.lower(): relation.renamed(names) if names else relation}
        return f"WITH {', '.join(texts)} ", tables

    def _of_two(self, node: Node, tables: Tables) -> Relation:
        if has_more(node, "this", "expression", "distinct", "with_", "order", "limit", "offset"):
            raise NotProven("this form of a union")
        for side in (node.this, node.expression):
            if type(side) in _SETS and type(side) is not type(node):
                raise NotProven("a union beside an intersection without parentheses")
        clause, tables = self.with_names(node, tables)
        left, right = self.query(node.this, tables), self.query(node.expression, tables)
        if len(left.columns) != len(right.columns):
            raise NotProven("a union of other columns")
        kinds = []
        for one, other in zip(left.columns, right.columns, strict=True):
            kind = in_common(one.type, other.type)
            if kind is None:
                raise NotProven(f"a union of a {one.type.shown} and a {other.type.shown}")
            kinds.append(kind)
        columns = tuple(
            Column(one.name, self.own_name("c"), kind, one.is_chosen or other.is_chosen)
            for one, other, kind in zip(left.columns, right.columns, kinds, strict=True)
        )
        word = _SETS[type(node)] + ("" if node.args.get("distinct") else " ALL")
        sides = f" {word} ".join(f"({self._as(side, columns)})" for side in (left, right))
        own = self.own_name("t")
        names = ", ".join(f"{own}.{quoted(column.own)}" for column in columns)
        sql = f"{clause}SELECT {names} FROM ({sides}) AS {own}"
        return replace(Relation(sql, columns), sql=sql + self._ending(node, columns))

    def _as(self, side: Relation, columns: Sequence[Column]) -> str:
        own = self.own_name("t")
        texts = [
            f"{become(Term(f'{own}.{quoted(was.own)}', was.type), column.type).sql} AS {quoted(column.own)}"
            for was, column in zip(side.columns, columns, strict=True)
        ]
        return f"SELECT {', '.join(texts)} FROM ({side.sql}) AS {own}"

    def _ending(self, node: Node, columns: Sequence[Column]) -> str:
        """ORDER BY, by the columns' names or places, LIMIT and OFFSET."""
        texts = []
        for item in ordered_items(node):
            if isinstance(item.this, exp.Var):
                texts += [order_text(str(place), column.type, item) for place, column in enumerate(columns, 1)]
                continue
            place = place_of(item.this, [column.name for column in columns])
            if place is None:
                raise NotProven("ORDER BY of other than a column of the union")
            texts.append(order_text(str(place), columns[place - 1].type, item))
        return (f" ORDER BY {', '.join(texts)}" if texts else "") + limits(node)
