"""One SELECT as DuckDB's text: its list, WHERE, GROUP BY, HAVING, windows and ORDER BY.

Knows where Spark looks a name up first: a column before the alias of an item, an item before a column in ORDER BY. Must
not know where a table's rows are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

# Their handlers are entered as they load.
from duck_sql import calls, operators  # noqa: F401
from duck_sql.expressions import Expressions, Node
from duck_sql.relations import Column, Maker, Relation, Tables, has_more, limits, order_text, ordered_items, place_of
from duck_sql.scope import Scope
from duck_sql.sources import GENERATORS, From
from duck_sql.terms import NotProven, Term, made, truth
from duck_sql.types import BOOLEAN, DAYS, MONTHS, SPAN, TIMESTAMP, quoted
from duck_sql.values import comparable

_PARTS = (
    *("expressions", "from_", "joins", "laterals", "where", "group", "having", "windows", "distinct"),
    *("order", "limit", "offset", "with_"),
)
_HIDDEN = (SPAN, DAYS, MONTHS)


UNNAMED = ""
"""The name of a column whose name for Spark is not known."""


@dataclass(frozen=True)
class _Item:
    """An item of the SELECT list: Spark's name of its column, and its value."""

    name: str
    term: Term


class Select:
    """Makes one SELECT. tables: what FROM may name. outer: the scope of the query around it."""

    def __init__(self, queries: Maker, tables: Tables, outer: Scope | None, is_exists: bool) -> None:
        self.queries, self.tables, self.outer, self.is_exists = queries, tables, outer, is_exists
        self.expressions = Expressions(self, queries.is_inner)
        self._windows: dict[str, Node] = {}

    def relation(self, node: Node) -> Relation:
        """Raises NotProven, NoSuchName."""
        if has_more(node, *_PARTS):
            raise NotProven(", ".join(key.upper() for key, value in node.args.items() if value and key not in _PARTS))
        clause, self.tables = self.queries.with_names(node, self.tables)
        self._windows = {one.name.lower(): one for one in node.args.get("windows") or ()}
        source = From(self.queries, self.expressions, self.tables, Scope(outer=self.outer, is_exists=self.is_exists))
        source.take(node)
        where = None
        if node.args.get("where") is not None:
            where = self._where(node.args["where"].this, source.scope)
        items, is_wrapped = self._items(node, source, where)
        scope = source.scope
        groups = self._groups(node, items, scope)
        text = f"{clause}SELECT {'DISTINCT ' if self._is_distinct(node) else ''}"
        columns = tuple(
            Column(one.name, self.queries.own_name("c"), one.term.type, one.term.is_chosen) for one in items
        )
        text += ", ".join(f"{one.term.sql} AS {quoted(c.own)}" for one, c in zip(items, columns, strict=True))
        text += f" FROM {source.sql}" if source.sql else ""
        text += f" WHERE {where}" if where is not None and not is_wrapped else ""
        text += f" GROUP BY {', '.join(groups)}" if groups else ""
        text += self._having(node, items, scope)
        return Relation(text + self._order(node, items, scope) + limits(node), columns)

    # ------------------------------------------------------------ the list

    def _where(self, node: Node, scope: Scope) -> str:
        term = self.expressions.condition(node, scope)
        if term.has_aggregate or term.has_window:
            raise NotProven("an aggregate in WHERE")
        return term.sql

    def _items(self, node: Node, source: From, where: str | None) -> tuple[list[_Item], bool]:
        generators = [one for one in node.expressions if _generator(one) is not None]
        if len(generators) > 1:
            raise NotProven("several arrays opened in one SELECT")
        if generators and (node.args.get("group") is not None or node.args.get("having") is not None):
            raise NotProven("an array opened beside GROUP BY")
        # What a generator brings is no part of what the others can name.
        before = len(source.scope.columns)
        opened: list[_Item] = []
        if generators:
            opened = self._opened(generators[0], source, where)
            source.scope.columns = source.scope.columns[:before]
            source.scope.sources.pop()
        items: list[_Item] = []
        for one in node.expressions:
            if generators and one is generators[0]:
                items += opened
                continue
            added = self._item(one, source.scope)
            items += added
            if isinstance(one, exp.Alias):
                aliases = {one.alias.lower(): added[0].term.named(added[0].name), **source.scope.aliases}
                source.scope = replace(source.scope, aliases=aliases)
        return items, bool(generators)

    def _opened(self, node: Node, source: From, where: str | None) -> list[_Item]:
        call = _generator(node)
        assert call is not None
        names = (
            [node.alias] if isinstance(node, exp.Alias) else [name.name for name in node.args.get("expressions", ())]
        )
        if not isinstance(node, exp.Alias | exp.Aliases):
            names = []
        held = source.open(call, str(call.this).lower(), names, None, where)
        return [_Item(one.name, one.term(one.name)) for one in held]

    def _item(self, node: Node, scope: Scope) -> list[_Item]:
        if isinstance(node, exp.Star):
            return self._star(node, scope, None)
        if isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
            return self._star(node.this, scope, node.table)
        if isinstance(node, exp.Alias):
            return [_Item(node.alias, self.expressions.term(node.this, scope))]
        term = self.expressions.term(node, scope)
        return [_Item(term.title or term.name or UNNAMED, term)]

    def _star(self, node: Node, scope: Scope, name: str | None) -> list[_Item]:
        if has_more(node, "except_"):
            raise NotProven("* REPLACE")
        columns = scope.columns
        if name is not None:
            source = scope.source(name)
            if source is None:
                raise NotProven(f"{name}.*")
            columns = list(source.columns)
            is_whole = [held for held in scope.columns if held in columns] == columns
            if not is_whole and not self.expressions.is_inner:
                raise NotProven(f"{name}.* of a join with USING")
        left_out = {one.name.lower() for one in node.args.get("except_") or ()}
        if not left_out <= {held.name.lower() for held in columns}:
            raise NotProven("* EXCEPT of a column that is not there")
        return [_Item(held.name, held.term(held.name)) for held in columns if held.name.lower() not in left_out]

    def _is_distinct(self, node: Node) -> bool:
        distinct = node.args.get("distinct")
        if distinct is not None and distinct.args.get("on") is not None:
            raise NotProven("DISTINCT ON")
        return distinct is not None

    # ------------------------------------------------------------ groups and order

    def _groups(self, node: Node, items: Sequence[_Item], scope: Scope) -> list[str]:
        group = node.args.get("group")
        if group is None:
            return []
        if has_more(group, "expressions", "all"):
            raise NotProven("this form of GROUP BY")
        if group.args.get("all"):
            if any(one.term.has_aggregate and one.term.has_column for one in items):
                raise NotProven("GROUP BY ALL beside more than an aggregate")
            chosen = [one.term for one in items if not one.term.has_aggregate]
        else:
            chosen = [self._group(one, items, scope) for one in group.expressions]
        if any(term.has_aggregate or term.has_window for term in chosen):
            raise NotProven("GROUP BY of an aggregate")
        if any((not term.type.is_plain and not self.queries.is_inner) or term.is_chosen for term in chosen):
            raise NotProven("GROUP BY of an array or struct")
        return [term.sql for term in chosen]

    def _group(self, node: Node, items: Sequence[_Item], scope: Scope) -> Term:
        if isinstance(node, exp.Rollup | exp.Cube | exp.GroupingSets | exp.Tuple):
            raise NotProven(f"GROUP BY {type(node).__name__.upper()}")
        if isinstance(node, exp.Literal) and not node.is_string:
            found = place_of(node, [one.name for one in items])
            assert found is not None
            return items[found - 1].term
        return self.expressions.term(node, scope)

    def _having(self, node: Node, items: Sequence[_Item], scope: Scope) -> str:
        having = node.args.get("having")
        if having is None:
            return ""
        self._refuse_two_meanings(having.this, items, scope)
        return f" HAVING {truth(self.expressions.term(having.this, scope)).sql}"

    def _refuse_two_meanings(self, node: Node, items: Sequence[_Item], scope: Scope) -> None:
        """A name that means a column and, differently, an item: the engines need not choose alike."""
        for column in node.find_all(exp.Column):
            if len(column.parts) != 1:
                continue
            held = scope.column(column.name)
            others = [one for one in items if one.name.lower() == column.name.lower()]
            if held is not None and any(one.term.sql != held.sql for one in others):
                raise NotProven(f"{column.name}, which is a column and another item")

    def _order(self, node: Node, items: Sequence[_Item], scope: Scope) -> str:
        texts = []
        for one in ordered_items(node):
            if isinstance(one.this, exp.Var):
                texts += [order_text(str(at), item.term.type, one) for at, item in enumerate(items, 1)]
                continue
            at = place_of(one.this, [item.name for item in items])
            if at is not None:
                texts.append(order_text(str(at), items[at - 1].term.type, one))
                continue
            self._refuse_two_meanings(one.this, items, scope)
            term = self.expressions.term(one.this, scope)
            if term.is_literal:
                raise NotProven("ORDER BY of a literal")
            texts.append(order_text(term.sql, term.type, one))
        return f" ORDER BY {', '.join(texts)}" if texts else ""

    # ------------------------------------------------------------ what expressions ask for

    def within(self, term: Term, node: Node, scope: Scope) -> Term:
        """term IN (a query)."""
        found = self.queries.query(node, self.tables, scope)
        if len(found.columns) != 1:
            raise NotProven("IN of several columns")
        column = found.columns[0]
        left, right = comparable(term, Term(quoted(column.own), column.type))
        own = self.queries.own_name("t")
        return made(f"({left.sql} IN (SELECT {right.sql} FROM ({found.sql}) AS {own}))", BOOLEAN, term)

    def exists(self, node: Node, scope: Scope) -> Term:
        found = self.queries.query(node, self.tables, scope, is_exists=True)
        return Term(f"EXISTS ({found.sql})", BOOLEAN)

    def only_value(self, node: Node, scope: Scope) -> Term:
        """A query that gives one value, NULL for no row; of several DuckDB makes an error, as Spark does."""
        found = self.queries.query(node, self.tables, scope)
        if len(found.columns) != 1 or found.columns[0].is_chosen:
            raise NotProven("a subquery of several columns")
        return Term(f"({found.sql})", found.columns[0].type)

    def over(self, node: Node, scope: Scope) -> str:
        """What stands in OVER (...). Raises NotProven."""
        if node.args.get("alias") is not None:
            named = self._windows.get(node.alias.lower())
            if named is None or node.args.get("partition_by") or node.args.get("order") or node.args.get("spec"):
                raise NotProven("this form of a window")
            node = named
            if has_more(node, "this", "partition_by", "order", "spec"):
                raise NotProven("this form of a window")
        elif has_more(node, "this", "partition_by", "order", "spec", "over"):
            raise NotProven("this form of a window")
        by = self.expressions.terms(node.args.get("partition_by") or [], scope)
        if any(not term.type.is_plain for term in by):
            raise NotProven("PARTITION BY of an array or struct")
        parts = [f"PARTITION BY {', '.join(term.sql for term in by)}"] if by else []
        order = [(self.expressions.term(one.this, scope), one) for one in ordered_items(node)]
        if order:
            parts.append(f"ORDER BY {', '.join(order_text(term.sql, term.type, one) for term, one in order)}")
        spec = node.args.get("spec")
        if spec is not None:
            parts.append(_frame(spec, [term for term, _ in order], self, scope))
        return " ".join(parts)


def _frame(spec: Node, order: Sequence[Term], select: Select, scope: Scope) -> str:
    if has_more(spec, "kind", "start", "start_side", "end", "end_side"):
        raise NotProven("this form of a frame")
    if not order and not select.expressions.is_inner:
        raise NotProven("a frame without ORDER BY, whose rows are left to chance")
    kind = str(spec.args["kind"]).upper()

    def bound(at: Any, side: Any) -> str:
        if isinstance(at, str):
            return f"{at.upper()} {side or ''}".upper().strip()
        if isinstance(at, exp.Literal) and kind == "ROWS" and str(at.this).isdecimal():
            return f"{at.this} {side}".upper()
        if isinstance(at, exp.Interval) and kind == "RANGE" and [term.type for term in order] == [TIMESTAMP]:
            length = select.expressions.term(at, scope)
            if length.type in (SPAN, DAYS):
                return f"INTERVAL {length.value} MICROSECONDS {side}".upper()
        raise NotProven("this form of a frame")

    start = bound(spec.args.get("start"), spec.args.get("start_side"))
    end = bound(spec.args.get("end") or "CURRENT ROW", spec.args.get("end_side"))
    return f"{kind} BETWEEN {start} AND {end}"


def _generator(node: Node) -> Node | None:
    """The call that opens an array in an item of the SELECT list."""
    call = node.this if isinstance(node, exp.Alias | exp.Aliases) else node
    return call if isinstance(call, exp.Anonymous) and str(call.this).lower() in GENERATORS else None


def shown(relation: Relation) -> Relation:
    """A query whose columns can be shown. Raises NotProven."""
    for column in relation.columns:
        if column.type in _HIDDEN:
            raise NotProven("an interval as a column")
        if column.name == UNNAMED:
            raise NotProven("a column without a name (AS gives it one)")
        if column.is_chosen:
            raise NotProven("an array in an order that is left to chance")
    return relation
