"""The topic partitions that a line names, whoever printed it.

Knows how clients print partitions. Must not know what a line says about them.
"""

from __future__ import annotations

import json
import re

from rollcall.inputs.printed.logged_facts import BROKER, FactKind, LoggedFact

_NAMED = re.compile(r"(?<![A-Za-z0-9._-])(?P<topic>[A-Za-z0-9._-]{1,249})[-/](?P<partition>\d{1,9})(?![\w.-])")
_NAMED_BY_TOPIC = re.compile(
    r"(?<![A-Za-z0-9._-])(?P<topic>[A-Za-z0-9._-]{1,249})=?\[(?P<partitions>\d{1,9}(?:,? \d{1,9})*)\]"
)
_NAMED_BY_PYTHON = re.compile(r"topic=u?'(?P<topic>[A-Za-z0-9._-]{1,249})', partition=(?P<partition>\d{1,9})")
NONE_NAMED = "{}"
_NONE = ("", "0", "[]", NONE_NAMED, "()", "set()", "set([])", "frozenset()")

_NONE_OF_TOPICS = re.compile(r'\{"[^"]{1,249}": \[\](?:, "[^"]{1,249}": \[\])*\}')


def names_no_partition(fact: LoggedFact) -> bool:
    """Whether a line about partitions is about none."""
    named = fact.partitions.strip()
    return named in _NONE or _NONE_OF_TOPICS.fullmatch(named) is not None


def partitions_said(fact: LoggedFact) -> frozenset[tuple[str, int]] | None:
    """The partitions that a line names, maybe none; None: it does not say which, or in a way that is not known."""
    named = partitions_in(fact)
    return named if named or names_no_partition(fact) else None


def partitions_in(fact: LoggedFact) -> frozenset[tuple[str, int]]:
    """As `orders-0, orders-1`, `orders/0`, `orders[0 1]`, `{orders=[0]}`, `{"orders": [0]}`, or as by Python."""
    if fact.partitions.startswith("{"):
        try:
            return frozenset((topic, int(one)) for topic, given in json.loads(fact.partitions).items() for one in given)
        except (ArithmeticError, ValueError, TypeError, AttributeError, RecursionError):
            pass
    by_topic = [
        (one["topic"], one["partitions"].replace(",", "").split()) for one in _NAMED_BY_TOPIC.finditer(fact.partitions)
    ]
    if by_topic:
        return frozenset((topic, int(one)) for topic, partitions in by_topic for one in partitions)
    form = _NAMED_BY_PYTHON if "partition=" in fact.partitions else _NAMED
    return frozenset((one["topic"], int(one["partition"])) for one in form.finditer(fact.partitions))


def says_owner(fact: LoggedFact) -> bool:
    """Return True for a coordinator's line that has the partitions of a member."""
    is_state = fact.kind is FactKind.MEMBER_PROGRESSED and fact.dialect == BROKER and fact.group_type != "streams"
    return is_state and bool(fact.partitions) and partitions_said(fact) is not None
