"""Who may do what with which group: rules a principal, allowed or denied, by literal name or prefix.

    allow User:alice prefix  team-a-  READ,DESCRIBE
    deny  User:*     literal payments DELETE
    allow "User:CN=Alice Liddell,O=Rabbit Hole" literal "tea party" ALL

As with Kafka: a denial beats every allowance; once there are rules, what no rule allows is denied; who may READ or
DELETE may DESCRIBE; the literal name `*` stands for every group, the principal `User:*` for everybody.

Knows rules and names; knows no request and no socket.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from programs.errors import ConfigError
from schemas.messages import Operation

_ANYBODY = "User:*"
_ANY_GROUP = "*"
_REMEMBERED = 4096
_REMEMBERED_CHARACTERS = 256
"""Answers about longer names are not remembered, so that clients cannot fill the memory with names."""
_WORD = re.compile(r"""(?P<quote>["'])(?P<quoted>.+?)(?P=quote)(?=\s|$)|(?P<bare>[^\s"']\S*)""")
"""A word of a rule; between quotes it may hold blanks."""


ALL_OPERATIONS = frozenset(Operation)
_BITS = {Operation.READ: 1 << 3, Operation.DELETE: 1 << 6, Operation.DESCRIBE: 1 << 8}
"""By the codes of Kafka's AclOperation."""


class Access(Protocol):
    """Says what a principal may do with a group."""

    def allows(self, principal: str, operation: Operation, group_id: str) -> bool: ...

    def operations(self, principal: str, group_id: str) -> int | None:
        """Everything it may do as Kafka's bit field, None where there are no rules."""


class Everybody:
    """No rules: everybody may do everything."""

    def allows(self, principal: str, operation: Operation, group_id: str) -> bool:
        return True

    def operations(self, principal: str, group_id: str) -> int | None:
        return None


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of the rules."""

    is_allowed: bool
    principal: str
    is_prefix: bool
    """Whether the pattern is the beginning of groups' names, and not a whole name."""
    pattern: str
    operations: frozenset[Operation]

    def is_about(self, principal: str, group_id: str) -> bool:
        """Whether the rule speaks of this principal and this group."""
        if self.principal not in (principal, _ANYBODY):
            return False
        if self.is_prefix:
            return group_id.startswith(self.pattern)
        return self.pattern in (group_id, _ANY_GROUP)

    @property
    def covered(self) -> frozenset[Operation]:
        """The operations it decides; an allowance to READ or DELETE is one to DESCRIBE."""
        if self.is_allowed and self.operations:
            return self.operations | {Operation.DESCRIBE}
        return self.operations


class Rules:
    """Access by rules, whose order does not matter."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._rules = tuple(rules)
        self._decide = lru_cache(_REMEMBERED)(self._decide_anew)

    def allows(self, principal: str, operation: Operation, group_id: str) -> bool:
        if len(principal) + len(group_id) > _REMEMBERED_CHARACTERS:
            return self._decide_anew(principal, operation, group_id)
        return self._decide(principal, operation, group_id)

    def operations(self, principal: str, group_id: str) -> int | None:
        return sum(bit for operation, bit in _BITS.items() if self.allows(principal, operation, group_id))

    def _decide_anew(self, principal: str, operation: Operation, group_id: str) -> bool:
        verdicts = {
            rule.is_allowed for rule in self._rules if operation in rule.covered and rule.is_about(principal, group_id)
        }
        return verdicts == {True}


def read_rules(path: Path) -> Rules:
    """The rules of a file; # begins a comment line. Raises ConfigError, naming the line."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    return Rules(
        _rule(f"{path} line {number}", line)
        for number, line in enumerate(lines, 1)
        if line.strip() and not line.lstrip().startswith("#")
    )


def _rule(where: str, line: str) -> Rule:
    words = _words(line)
    if len(words) != 5:
        raise ConfigError(f"{where}: {line.strip()!r} is not of the form allow|deny PRINCIPAL literal|prefix GROUP OPS")
    effect, principal, kind, pattern, operations = words
    if effect not in ("allow", "deny"):
        raise ConfigError(f"{where}: {effect!r} is neither allow nor deny")
    if not principal.startswith("User:") or principal == "User:":
        raise ConfigError(f"{where}: principal {principal!r} is not of the form User:name")
    if kind not in ("literal", "prefix"):
        raise ConfigError(f"{where}: {kind!r} is neither literal nor prefix")
    return Rule(effect == "allow", principal, kind == "prefix", pattern, _operations(where, operations))


def _words(line: str) -> list[str]:
    """The words of a line; none if its quotes do not fit."""
    words, rest = [], line.strip()
    while rest:
        word = _WORD.match(rest)
        if word is None:
            return []
        words.append(word["quoted"] or word["bare"])
        rest = rest[word.end() :].lstrip()
    return words


def _operations(where: str, text: str) -> frozenset[Operation]:
    if text == "ALL":
        return ALL_OPERATIONS
    try:
        return frozenset(Operation(name) for name in text.split(","))
    except ValueError:
        raise ConfigError(f"{where}: {text!r} is not ALL or a list of {', '.join(Operation)}") from None
