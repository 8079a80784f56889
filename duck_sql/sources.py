"""FROM: tables, subqueries, joins, and the arrays that LATERAL VIEW opens.

Knows which columns each brings, and which of them `*` means. Must not know the SELECT list.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from duck_sql import arrays
from duck_sql.expressions import Expressions, Node, place
from duck_sql.relations import Maker, Tables, has_more
from duck_sql.scope import Held, Scope, Source
from duck_sql.terms import NoSuchName, NotProven, Term, truth
from duck_sql.types import quoted
from duck_sql.values import comparable

GENERATORS = ("explode", "explode_outer", "posexplode", "inline")
_JOINS = {
    ("", ""): "INNER",
    ("", "INNER"): "INNER",
    ("", "CROSS"): "CROSS",
    **{(side, kind): side for side in ("LEFT", "RIGHT", "FULL") for kind in ("", "OUTER")},
    **{(side, kind): kind for side in ("", "LEFT") for kind in ("SEMI", "ANTI")},
}


class From:
    """What stands in FROM so far. sql: DuckDB's text of it, empty: nothing. scope: what may be named by it."""

    def __init__(self, queries: Maker, expressions: Expressions, tables: Tables, scope: Scope) -> None:
        self._queries, self._expressions, self._tables = queries, expressions, tables
        self.sql = ""
        self.scope = scope

    def take(self, node: Node) -> None:
        """Takes in FROM, the joins and the lateral views of a SELECT. Raises NotProven, NoSuchName."""
        begin = node.args.get("from_")
        if begin is None:
            return
        self.sql, source = self._relation(begin.this)
        self.scope = replace(self.scope, sources=[source], columns=list(source.columns))
        for join in node.args.get("joins") or ():
            self._join(join)
        for lateral in node.args.get("laterals") or ():
            self._lateral(lateral)

    # ------------------------------------------------------------ what is read

    def _relation(self, node: Node) -> tuple[str, Source]:
        if isinstance(node, exp.Table):
            return self._table(node)
        if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Query):
            if has_more(node, "this", "alias"):
                raise NotProven("this form of a subquery")
            found = self._queries.query(node.this, self._tables)
            own = self._queries.own_name("t")
            names = [name.name for name in node.args["alias"].columns] if node.args.get("alias") else []
            relation = found.renamed(names) if names else found
            return f"({found.sql}) AS {own}", Source(node.alias or None, relation.held(own))
        raise NotProven(f"{type(node).__name__} in FROM")

    def _table(self, node: Node) -> tuple[str, Source]:
        if not isinstance(node.this, exp.Identifier) or has_more(node, "this", "alias"):
            raise NotProven("this form of a table")
        relation = self._tables.get(node.name.lower())
        if relation is None:
            raise NoSuchName(
                f"The table or view `{node.name}` cannot be found; there are {', '.join(sorted(self._tables))}"
                f"{place(node.this)}."
            )
        own = self._queries.own_name("t")
        alias = node.args.get("alias")
        names = [name.name for name in alias.columns] if alias else []
        held = (relation.renamed(names) if names else relation).held(own)
        return f"{relation.sql} AS {own}", Source(node.alias or node.name, held)

    # ------------------------------------------------------------ joins

    def _join(self, node: Node) -> None:
        if has_more(node, "this", "side", "kind", "on", "using"):
            raise NotProven("this form of a join")
        word = _JOINS.get((str(node.side).upper(), str(node.kind).upper()))
        if word is None:
            raise NotProven(f"{node.side} {node.kind} JOIN".strip())
        sql, source = self._relation(node.this)
        before, shared = self.scope, [name.name for name in node.args.get("using") or ()]
        both = replace(before, sources=[*before.sources, source], columns=[*before.columns, *source.columns])
        if shared:
            condition, columns = self._using(word, shared, source)
        else:
            condition, columns = self._on(node, both), both.columns
        if condition is None:
            if word not in ("INNER", "CROSS"):
                raise NotProven(f"{word} JOIN without a condition")
            self.sql = f"{self.sql} CROSS JOIN {sql}"
        elif word == "CROSS":
            raise NotProven("CROSS JOIN with a condition")
        else:
            self.sql = f"{self.sql} {word} JOIN {sql} ON {condition}"
        self.scope = before if word in ("SEMI", "ANTI") else replace(both, columns=columns)

    def _on(self, node: Node, both: Scope) -> str | None:
        on = node.args.get("on")
        return None if on is None else truth(self._expressions.term(on, both)).sql

    def _using(self, word: str, names: Sequence[str], source: Source) -> tuple[str | None, list[Held]]:
        """The condition of USING, and the columns with the shared ones once, in front."""
        conditions, shared, left_out = [], [], []
        for name in names:
            left = self.scope.column(name)
            right = next((held for held in source.columns if held.name.lower() == name.lower()), None)
            if left is None or right is None:
                raise NotProven(f"USING ({name}), which one side lacks")
            if left.type != right.type:
                raise NotProven(f"USING ({name}) of two types")
            one, other = comparable(left.term(name), right.term(name))
            conditions.append(f"{one.sql} = {other.sql}")
            left_out += [left, right]
            both = Held(left.name, f"coalesce({left.sql}, {right.sql})", left.type)
            shared.append({"RIGHT": right, "FULL": both}.get(word, left))
        rest = [held for held in (*self.scope.columns, *source.columns) if held not in left_out]
        return " AND ".join(conditions), [*shared, *rest]

    # ------------------------------------------------------------ arrays

    def _lateral(self, node: Node) -> None:
        if has_more(node, "this", "view", "outer", "alias") or not node.args.get("view"):
            raise NotProven("LATERAL other than LATERAL VIEW")
        alias = node.args.get("alias")
        names = [name.name for name in alias.columns] if alias else []
        generator = f"{node.this.name}_outer" if node.args.get("outer") else node.this.name
        self.open(node.this, generator.lower(), names, alias.name if alias and alias.this else None, None)

    def open(
        self, call: Node, generator: str, names: Sequence[str], alias: str | None, where: str | None
    ) -> list[Held]:
        """Opens an array into rows, of the rows that a condition holds for; the columns that it brings."""
        if generator not in GENERATORS or len(call.expressions) != 1:
            raise NotProven(f"{generator}()")
        term = self._expressions.term(call.expressions[0], self.scope)
        if term.has_aggregate or term.has_window:
            raise NotProven(f"{generator}() of an aggregate")
        if term.is_chosen:
            raise NotProven("an array in an order that is left to chance")
        kind, is_outer = generator.removesuffix("_outer"), generator.endswith("_outer")
        if is_outer:
            if kind != "explode":
                raise NotProven(f"{generator}()")
            empty = f"CASE WHEN len({term.sql}) > 0 THEN {term.sql} ELSE [NULL] END"
            term = Term(empty, term.type)
        made = arrays.generated(kind, term)
        own = self._wrap([sql for _, sql, _ in made], where)
        held = [Held(name, sql, type_) for (name, _, type_), sql in zip(made, own, strict=True)]
        if kind == "inline":
            held = _fields(held[0])
        if names:
            if len(names) != len(held):
                raise NotProven(f"{len(names)} names for what {generator}() brings")
            held = [one._replace(name=name) for one, name in zip(held, names, strict=True)]
        self.scope.sources.append(Source(alias, tuple(held)))
        self.scope.columns.extend(held)
        return held

    def _wrap(self, more: Sequence[str], where: str | None) -> list[str]:
        """Makes a subquery of all so far with more columns; DuckDB's texts of those from then on."""
        queries = self._queries
        own = queries.own_name("t")
        texts: dict[str, str] = {}
        for held in (held for source in self.scope.sources for held in source.columns):
            texts.setdefault(held.sql, queries.own_name("c"))
        for held in self.scope.columns:
            texts.setdefault(held.sql, queries.own_name("c"))
        names = [queries.own_name("c") for _ in more]
        columns = [f"{sql} AS {quoted(name)}" for sql, name in (*texts.items(), *zip(more, names, strict=True))]
        condition = "" if where is None else f" WHERE {where}"
        self.sql = f"(SELECT {', '.join(columns)} FROM {self.sql or '(SELECT 1)'}{condition}) AS {own}"

        def moved(held: Held) -> Held:
            return held._replace(sql=f"{own}.{quoted(texts[held.sql])}")

        sources = [Source(source.name, tuple(map(moved, source.columns))) for source in self.scope.sources]
        self.scope = replace(self.scope, sources=sources, columns=list(map(moved, self.scope.columns)))
        return [f"{own}.{quoted(name)}" for name in names]


def _fields(held: Held) -> list[Held]:
    """The columns that inline makes of a struct."""
    found = []
    for name, kind in held.type.fields:
        term = arrays.field_of(Term(held.sql, held.type), name)
        assert term is not None
        found.append(Held(name, term.sql, kind))
    return found
