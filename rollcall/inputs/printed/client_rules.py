"""What a rule about one client's lines is, and the form that most of them have: all lines of a kind, in one sentence.

Must not know how lines are worded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from rollcall.inputs.printed.logged_facts import LoggedFact
from rollcall.inputs.printed.logged_rebalances import Finding

Rule = Callable[[str, Sequence[LoggedFact]], Iterator[Finding]]
"""Gets a client's name and its facts in order."""


def one_finding(
    finding: str,
    is_one: Callable[[LoggedFact], bool],
    sentence: Callable[[str, Sequence[LoggedFact]], str],
    *,
    is_trouble: bool = False,
) -> Rule:
    """Return the rule that finds all lines of a kind at once. sentence: of the client's name and these lines."""

    def rule(who: str, facts: Sequence[LoggedFact]) -> Iterator[Finding]:
        found = [fact for fact in facts if is_one(fact)]
        if found:
            yield Finding(finding, sentence(who, found), tuple(found), is_trouble=is_trouble)

    return rule


one_trouble = partial(one_finding, is_trouble=True)
"""Of what nobody wants."""
