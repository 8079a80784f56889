"""Which functions are proven: each name's rule, entered by the modules that hold the rules.

A rule takes the call's arguments as terms and gives the term of the call. Only what is entered here goes to DuckDB, and
each name has its test on both engines (tests/duck_sql). A rule that is `inner` is proven only for the views' own texts,
whose data keep it from differing. Must not know any rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from duck_sql.terms import NotProven, Term

Rule = Callable[[str, Sequence[Term]], Term]
"""Takes the name as it was typed, in lower case, and the arguments."""


@dataclass(frozen=True)
class Function:
    """A function of Spark's that DuckDB is trusted with."""

    rule: Rule
    least: int
    """So many arguments it has at least."""
    most: int
    """So many it may have."""
    is_inner: bool = False
    """Whether it is proven for the views alone."""

    def call(self, name: str, arguments: Sequence[Term], is_inner: bool) -> Term:
        """Raises NotProven."""
        if self.is_inner and not is_inner:
            raise NotProven(f"{name}()")
        if not self.least <= len(arguments) <= self.most:
            raise NotProven(f"{name}() of {len(arguments)} arguments")
        return self.rule(name, arguments)


SCALARS: dict[str, Function] = {}
AGGREGATES: dict[str, Function] = {}
WINDOWS: dict[str, Function] = {}
MANY = 1000


def enter(
    table: dict[str, Function], names: str, least: int, most: int | None = None, is_inner: bool = False
) -> Callable[[Rule], Rule]:
    """Enters a rule under names; most: as many as least, unless given."""

    def entered(rule: Rule) -> Rule:
        for name in names.split():
            table[name] = Function(rule, least, least if most is None else most, is_inner)
        return rule

    return entered


def literal_string(name: str, term: Term) -> str:
    """The text of a literal. Raises NotProven: the argument is none."""
    if not isinstance(term.value, str) or term.type.name != "string":
        raise NotProven(f"{name}() of a text that is not written out")
    return term.value


def literal_whole(name: str, term: Term) -> int:
    """A literal's whole number. Raises NotProven: the argument is none."""
    if not isinstance(term.value, int) or not term.type.is_whole:
        raise NotProven(f"{name}() of a number that is not written out")
    return term.value
