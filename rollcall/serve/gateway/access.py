"""Who may do what with which group: rules a principal, allowed or denied, by literal name or prefix.

    allow User:alice prefix  team-a-  READ,DESCRIBE
    deny  User:*     literal payments DELETE
    allow "User:CN=Alice Liddell,O=Rabbit Hole" literal "tea party" ALL

As with Kafka: deny wins over allow; once there are rules, what no rule allows is denied; READ and DELETE imply
DESCRIBE, and ALTER_CONFIGS implies DESCRIBE_CONFIGS; the literal name `*` means every group, the principal `User:*`
everybody.

Knows rules and names; knows no request and no socket.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from rollcall.programs.errors import ConfigError
from rollcall.schemas.messages import Operation

_ANYBODY = "User:*"
_ANY_GROUP = "*"
_REMEMBERED = 4096
_REMEMBERED_CHARACTERS = 256
"""Answers about longer names are not remembered, so that clients cannot fill the memory with names."""
_FIELD = re.compile(r"""(?P<quote>["'])(?P<quoted>.+?)(?P=quote)(?=\s|$)|(?P<bare>[^\s"']\S*)""")
"""A field of a rule; between quotes it may hold blanks."""


ALL_OPERATIONS = frozenset(Operation)
_BITS = {
    Operation.READ: 1 << 3,
    Operation.DELETE: 1 << 6,
    Operation.DESCRIBE: 1 << 8,
    Operation.DESCRIBE_CONFIGS: 1 << 10,
    Operation.ALTER_CONFIGS: 1 << 11,
}
"""By the codes of Kafka's AclOperation."""
_IMPLIED = {
    Operation.READ: {Operation.DESCRIBE},
    Operation.DELETE: {Operation.DESCRIBE},
    Operation.ALTER_CONFIGS: {Operation.DESCRIBE_CONFIGS},
}
"""The operations that an operation implies."""


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
        if self.principal not in (principal, _ANYBODY):
            return False
        if self.is_prefix:
            return group_id.startswith(self.pattern)
        return self.pattern in (group_id, _ANY_GROUP)

    @property
    def covered(self) -> frozenset[Operation]:
        """The operations it decides: an allowance covers what it implies."""
        if not self.is_allowed:
            return self.operations
        return self.operations.union(*(_IMPLIED.get(each, ()) for each in self.operations))


class Access:
    """What a principal may do with a group, by rules whose order does not matter; None: everybody everything."""

    def __init__(self, rules: Iterable[Rule] | None) -> None:
        self._rules = None if rules is None else tuple(rules)
        self._decide = lru_cache(_REMEMBERED)(self._decide_anew)

    def allows(self, principal: str, operation: Operation, group_id: str) -> bool:
        if self._rules is None:
            return True
        if len(principal) + len(group_id) > _REMEMBERED_CHARACTERS:
            return self._decide_anew(principal, operation, group_id)
        return self._decide(principal, operation, group_id)

    def operations(self, principal: str, group_id: str) -> int | None:
        """Everything it may do as Kafka's bit field, None where there are no rules."""
        if self._rules is None:
            return None
        return sum(bit for operation, bit in _BITS.items() if self.allows(principal, operation, group_id))

    def _decide_anew(self, principal: str, operation: Operation, group_id: str) -> bool:
        verdicts = {
            rule.is_allowed
            for rule in self._rules or ()
            if operation in rule.covered and rule.is_about(principal, group_id)
        }
        return verdicts == {True}


def read_rules(path: Path) -> Access:
    """The rules of a file; # begins a comment line. Raises ConfigError, naming the line."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    return Access(
        _rule(f"{path} line {number}", line)
        for number, line in enumerate(lines, 1)
        if line.strip() and not line.lstrip().startswith("#")
    )


def _rule(where: str, line: str) -> Rule:
    fields = _fields(line)
    if len(fields) != 5:
        raise ConfigError(f"{where}: {line.strip()!r} is not of the form allow|deny PRINCIPAL literal|prefix GROUP OPS")
    effect, principal, kind, pattern, operations = fields
    if effect not in ("allow", "deny"):
        raise ConfigError(f"{where}: {effect!r} is neither allow nor deny")
    if not principal.startswith("User:") or principal == "User:":
        raise ConfigError(f"{where}: principal {principal!r} is not of the form User:name")
    if kind not in ("literal", "prefix"):
        raise ConfigError(f"{where}: {kind!r} is neither literal nor prefix")
    return Rule(effect == "allow", principal, kind == "prefix", pattern, _operations(where, operations))


def _fields(line: str) -> list[str]:
    """The fields of a line; empty if its quotes do not match."""
    fields, rest = [], line.strip()
    while rest:
        field = _FIELD.match(rest)
        if field is None:
            return []
        fields.append(field["quoted"] or field["bare"])
        rest = rest[field.end() :].lstrip()
    return fields


def _operations(where: str, text: str) -> frozenset[Operation]:
    if text == "ALL":
        return ALL_OPERATIONS
    try:
        return frozenset(Operation(name) for name in text.split(","))
    except ValueError:
        raise ConfigError(f"{where}: {text!r} is not ALL or a list of {', '.join(Operation)}") from None
