"""What a name means in a query: the columns of its tables, variables of lambdas, names of the SELECT list.

Knows how Spark looks names up, in whatever case. Must not know any expression.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from duck_sql.terms import NoSuchName, NotProven, Term
from duck_sql.types import Type

SHOWN_COLUMNS = 40


class Held(NamedTuple):
    """A column of something in FROM: its name for Spark, DuckDB's text, its type, whether its order is chance."""

    name: str
    sql: str
    type: Type
    is_chosen: bool = False

    def term(self, written: str) -> Term:
        return Term(self.sql, self.type, name=written, has_column=True, is_chosen=self.is_chosen)


@dataclass(frozen=True)
class Source:
    """Something in FROM."""

    name: str | None
    """By which its columns are named, None: by none."""
    columns: tuple[Held, ...]


@dataclass
class Scope:
    """What names mean at one place of a query."""

    sources: list[Source] = field(default_factory=list)
    columns: list[Held] = field(default_factory=list)
    """What `*` means, those of USING once."""
    variables: dict[str, Term] = field(default_factory=dict)
    aliases: dict[str, Term] = field(default_factory=dict)
    """Of the SELECT list so far."""
    outer: Scope | None = None
    """The scope of the query around it."""
    is_exists: bool = False
    """Which may be named, for this query stands within EXISTS."""

    def with_variables(self, variables: dict[str, Term]) -> Scope:
        return replace(self, variables={**self.variables, **variables})

    def column(self, name: str) -> Held | None:
        """The column of an unqualified name, None if there is none. Raises NotProven: there are several."""
        found = [held for held in self.columns if held.name.lower() == name.lower()]
        if len(found) > 1:
            raise NotProven(f"several columns {name}")
        return found[0] if found else None

    def source(self, name: str) -> Source | None:
        found = [source for source in self.sources if source.name is not None and source.name.lower() == name.lower()]
        if len(found) > 1:
            raise NotProven(f"several tables {name}")
        return found[0] if found else None

    def found(self, parts: Sequence[str]) -> tuple[Term, Sequence[str]] | None:
        """What the first part or parts of a name mean, and the parts left, which name fields of it."""
        first = parts[0].lower()
        if first in self.variables:
            return self.variables[first], parts[1:]
        if len(parts) > 1 and (source := self.source(first)) is not None:
            own = [held for held in source.columns if held.name.lower() == parts[1].lower()]
            if len(own) > 1:
                raise NotProven(f"several columns {parts[1]}")
            if own:
                return own[0].term(parts[1]), parts[2:]
        if (held := self.column(first)) is not None:
            return held.term(parts[0]), parts[1:]
        if first in self.aliases:
            return self.aliases[first], parts[1:]
        return None

    def everything(self) -> Iterator[str]:
        yield from (held.name for held in self.columns)

    def missing(self, name: str, where: str) -> NoSuchName:
        """What is said of a column that is not there."""
        names = list(dict.fromkeys(self.everything()))
        shown = ", ".join(names[:SHOWN_COLUMNS]) + (" and others" if len(names) > SHOWN_COLUMNS else "")
        there = f"there are {shown}" if names else "nothing that it could be a column of is named"
        return NoSuchName(f"The column `{name}` cannot be found; {there}{where}.")
