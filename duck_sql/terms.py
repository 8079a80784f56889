"""What an expression of Spark's SQL becomes: DuckDB's text for it, its type, and the name that Spark gives its column.

Knows how texts are put together so that values, NULLs and types stay Spark's. Must not know Spark's syntax. Where a
value could differ, the text raises DuckDB's `error`, so that the query goes to Spark.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from duck_sql.types import BOOLEAN, VOID, Type


class NotProven(Exception):
    """The query has something whose answer is not proven to be Spark's; the text names it."""


class NoSuchName(Exception):
    """The query names a table, view or column that is not there; the text is the sentence for the person."""


@dataclass(frozen=True)
class Term:
    """An expression in DuckDB's words."""

    sql: str
    """DuckDB's text, whole in itself."""
    type: Type
    name: str | None = None
    """How Spark names it within another expression, and as a column where it has no alias; None: not known."""
    title: str | None = None
    """How Spark names it as a column, where that differs."""
    value: object = None
    """Of a literal, as Python's."""
    is_literal: bool = False
    has_aggregate: bool = False
    has_window: bool = False
    has_column: bool = False
    is_chosen: bool = False
    """The order of an array is left to chance, as collect_list leaves it."""

    def named(self, name: str | None) -> Term:
        return replace(self, name=name, title=None)


def made(sql: str, kind: Type, *of: Term, name: str | None = None) -> Term:
    """A term that is made of others."""
    return Term(
        sql,
        kind,
        name=name,
        has_aggregate=any(term.has_aggregate for term in of),
        has_window=any(term.has_window for term in of),
        has_column=any(term.has_column for term in of),
    )


def call_name(name: str, *of: Term) -> str | None:
    """`name(a, b)`, as Spark names a function's column."""
    names = [term.name for term in of]
    return None if None in names else f"{name}({', '.join(str(one) for one in names)})"


def operator_name(operator: str, left: Term, right: Term) -> str | None:
    """`(a + b)`."""
    return None if left.name is None or right.name is None else f"({left.name} {operator} {right.name})"


def text(value: str) -> str:
    """A string as DuckDB reads it."""
    return "'" + value.replace("'", "''") + "'"


def cast(term: Term, kind: Type) -> Term:
    """The term as another type's value, by a cast that both engines do alike; its name stays."""
    if term.type == kind:
        return term
    if term.type.name == "decimal" and kind.name == "double":
        # By its digits: a decimal divided as a double would be rounded twice.
        return replace(term, sql=f"CAST(CAST({term.sql} AS VARCHAR) AS DOUBLE)", type=kind, is_literal=False)
    return replace(term, sql=f"CAST({term.sql} AS {kind.duck})", type=kind, is_literal=False)


def null_of(kind: Type) -> Term:
    return Term(f"CAST(NULL AS {kind.duck})", kind, name="NULL", is_literal=True)


NULL = Term("NULL", VOID, name="NULL", is_literal=True)


def truth(term: Term) -> Term:
    """The term as a condition. Raises NotProven."""
    if term.type == VOID:
        return null_of(BOOLEAN)
    if term.type != BOOLEAN:
        raise NotProven(f"a condition of type {term.type.shown}")
    return term


def refused_where(condition: str, otherwise: str, why: str) -> str:
    """The value of `otherwise`, or DuckDB's error where a condition holds: Spark is asked then."""
    return f"CASE WHEN {condition} THEN error({text(why)}) ELSE {otherwise} END"
