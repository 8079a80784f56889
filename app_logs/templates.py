"""A printed message as a template: fixed text with fields, matched in time linear in the line.

`Stabilized group {group_id} generation {generation_id} with {members} members.` names the fields of a fact. What stands
in a field is chosen by whoever sends it, and may look like the fixed text around it. So a message is read twice, from
its left end and from its right one: each finds the fixed texts in turn, without going back. If both find the same, that
is what the line says. If they differ, it can be read in two ways, which is said. Knows no library's wording.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from app_logs.logged_facts import FactKind

_FIELD = re.compile(r"\{(\w*)\}")
_UUID_END = re.compile(r"(?<=[0-9a-f]{12}), ?")
_STATES = frozenset(
    ("Empty", "PreparingRebalance", "CompletingRebalance", "AwaitingSync", "Stable", "Dead")
)  # AwaitingSync: CompletingRebalance before Kafka 2.0.


def _number(text: str) -> int | None:
    return int(text) if len(text) <= 19 and text.isascii() and text.removeprefix("-").isdigit() else None


def _state(text: str) -> str | None:
    return text if text in _STATES else None


def _member_ids(text: str) -> tuple[str, ...] | None:
    """Ids between commas. An id may hold a comma itself, so a list of ids that end in a UUID is split after these."""
    if not text:
        return ()
    pieces = _UUID_END.split(text)
    return tuple(pieces if len(pieces) > 1 else text.split(", "))


def _optional(text: str) -> str:
    """What Java prints of a null, and Scala of an Option, as plain text."""
    if text in ("null", "None", "Some(null)", "Some(None)"):
        return ""
    return text[5:-1] if text.startswith("Some(") and text.endswith(")") else text


def _member_id(text: str) -> str:
    """An id, without the dots that stand for words left out; empty if a reporter blanked it."""
    text = text.removesuffix("...").strip()
    return text if text.strip("*<>.… ") else ""


_READERS: Mapping[str, Callable[[str], Any]] = {
    **dict.fromkeys(("generation_id", "members", "length_ms", "partition", "number"), _number),
    "old_state": _state,
    "member_id": _member_id,
    "instance_id": _optional,
    "client_host": lambda text: text.removeprefix("/"),
    "member_ids": _member_ids,
}
"""What a field must hold, where that is not any text. None: it does not hold it."""
IGNORED = frozenset(("", "number", "old_state"))
"""Fields that a fact has no place for: they are checked, and dropped."""


class Match(NamedTuple):
    fields: dict[str, Any]
    is_certain: bool
    """False: the message can be read in two ways."""


class Template:
    """One wording of one message. `{}` is a field whose content does not matter."""

    def __init__(self, kind: FactKind, text: str, *, since: str = "", **constants: Any) -> None:
        """`since` says where the wording is found, for the docs; `constants` are fields that the wording implies."""
        self.kind = kind
        self.text = text
        self.since = since
        self.constants = constants
        pieces = _FIELD.split(text)
        self.literals = pieces[::2]
        self.names = pieces[1::2]

    @property
    def first_word(self) -> str:
        """The first word of its fixed text; empty if a field or a part of a word stands first."""
        head, blank, _ = self.literals[0].partition(" ")
        return head if blank or len(self.literals) == 1 else ""

    def match(self, text: str) -> Match | None:
        """What the message holds; None if it is another one."""
        first, last = self.literals[0], self.literals[-1]
        if not text.startswith(first):
            return None
        if not self.names:
            return Match(dict(self.constants), True) if text == first else None
        if not text.endswith(last) or len(text) < len(first) + len(last):
            return None
        body = text[len(first) : len(text) - len(last)]
        left = self._read(self._from_left(body))
        if len(self.names) == 1:
            return None if left is None else Match(left, True)
        right = self._read(self._from_right(body))
        if left is None or right is None:
            only = left if right is None else right
            return None if only is None else Match(only, True)
        return Match(right, left == right)

    def _from_left(self, body: str) -> list[str] | None:
        values = []
        for literal in self.literals[1:-1]:
            value, found, body = body.partition(literal)
            if not found:
                return None
            values.append(value)
        return [*values, body]

    def _from_right(self, body: str) -> list[str] | None:
        values = []
        for literal in reversed(self.literals[1:-1]):
            body, found, value = body.rpartition(literal)
            if not found:
                return None
            values.append(value)
        return [body, *reversed(values)] if len(values) == len(self.names) - 1 else None

    def _read(self, values: list[str] | None) -> dict[str, Any] | None:
        if values is None:
            return None
        fields = dict(self.constants)
        for name, text in zip(self.names, values, strict=True):
            reader = _READERS.get(name)
            value = text if reader is None else reader(text)
            if value is None:
                return None
            if name not in IGNORED:
                fields[name] = value
        return fields


class Templates:
    """A dialect's templates, found by the first word of a message."""

    def __init__(self, templates: Iterable[Template]) -> None:
        self.all = tuple(templates)
        self._by_word: dict[str, list[Template]] = {}
        for template in self.all:
            self._by_word.setdefault(template.first_word, []).append(template)
        self._any = self._by_word.pop("", [])

    def match(self, text: str) -> tuple[Template, Match] | None:
        """The first template that fits, in the order given; those that begin with a field come last."""
        word = text.partition(" ")[0]
        for template in (*self._by_word.get(word, ()), *self._any):
            match = template.match(text)
            if match is not None:
                return template, match
        return None
