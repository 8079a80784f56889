"""A printed message as a template: fixed text with fields, matched in time linear in the line.

`Stabilized group {group_id} generation {generation_id} with {members} members.` names the fields of a fact. What stands
in a field is chosen by whoever sends it, and may look like the fixed text around it. So a message is read twice, from
its left end and from its right one: each finds the fixed texts in turn, without going back. If both find the same, that
is what the line says. If they differ, it can be read in two ways, which is said. Where each fixed text stands but once,
both find the same, and the second reading is left out.

A client's own log holds its errors, and nobody else's text. So what an error adds to a reading makes no doubt there,
and neither does what an application or a reporter puts behind a message. Knows no library's wording.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from operator import call
from typing import Any

from rollcall.inputs.printed.logged_facts import IS_CERTAIN, PLACES, FactKind

_FIELD = re.compile(r"\{(\w*)\}")
_UUID_END = re.compile(r"(?<=[0-9a-f]{12}), ?")
_STATES = frozenset(
    ("Empty", "PreparingRebalance", "CompletingRebalance", "AwaitingSync", "Stable", "Dead")
)  # AwaitingSync: CompletingRebalance before Kafka 2.0.

_MOST = (1 << 31) - 1
KEPT = 256
"""Size of the caches of numbers and ids, which neighbouring lines repeat."""


@lru_cache(maxsize=KEPT)
def _number(text: str) -> int | None:
    """Any number of four bytes that has a next one, which is what Kafka and our tables have for it."""
    found = int(text) if len(text) <= 11 and text.isascii() and text.removeprefix("-").isdigit() else None
    return found if found is None or abs(found) < _MOST else None


def counted(text: str) -> int | None:
    """A number of things, a partition or a length: not below zero."""
    found = _number(text)
    return None if found is None or found < 0 else found


def _member_ids(text: str) -> tuple[str, ...] | None:
    """Ids between commas. An id may hold a comma itself, so a list of ids that end in a UUID is split after these."""
    if not text:
        return ()
    pieces = _UUID_END.split(text)
    return tuple(pieces if len(pieces) > 1 else text.split(", "))


def _optional(text: str) -> str:
    """What Java prints of a null or an Optional, and Scala of an Option, as plain text."""
    if text in ("null", "None", "Some(null)", "Some(None)", "Optional.empty"):
        return ""
    form = next((form for form in ("Some(", "Optional[") if text.startswith(form)), "")
    return text[len(form) : -1] if form and text[-1] in ")]" else text


@lru_cache(maxsize=KEPT)
def _member_id(text: str) -> str:
    """An id, without the dots that stand for words left out; empty if a reporter blanked it."""
    text = text.removesuffix("...").strip()
    return text if text.strip("*<>.… ") else ""


_READERS: Mapping[str, Callable[[str], Any]] = {
    "number": lambda text: text if text.isascii() and text.removeprefix("-").isdigit() else None,
    "generation_id": _number,
    **dict.fromkeys(("members", "length_ms", "partition"), counted),
    "old_state": lambda text: text if text in _STATES else None,
    "member_id": _member_id,
    "instance_id": _optional,
    "client_host": lambda text: text.removeprefix("/"),
    "member_ids": _member_ids,
}
"""What a field must hold, where that is not any text. None: it does not hold it."""


def field_of(name: str, text: str) -> Any:
    """Return what a field of a fact holds, or None if the text is not a value of it."""
    return _READERS.get(name, str)(text)


def name_alone(text: str) -> str:
    """A name or a number at the end of a client's message, without what an application puts behind it."""
    behind = _BEHIND_A_NAME.search(text)
    return text if behind is None else text[: behind.start()]


IGNORED = frozenset(("", "number", "old_state"))
"""Fields that tell one reading from another by no more than that they hold what they must."""
_PLACE_OF = {**PLACES, **dict.fromkeys(IGNORED, PLACES[IS_CERTAIN]), "old_state": PLACES["state"]}
"""Where in a fact a field belongs; what it has no place for is laid where another is laid over it."""


_FREE = frozenset(("error", "reason", "client_reason"))
"""Fields whose text names nobody."""

_KEY = r"[\"']?(?!(?i:err|why|reason|cause|exception))[A-Za-z_][\w.-]{0,60}[\"']?"
_FIELDS_BEHIND = rf"(?: ?[,;|{{(\[] ?{{?{_KEY} ?[=:]|\s{_KEY} ?=)"
_TAIL = rf"[\"'`*.!,;)\]]{{0,4}}(?:\s?\Z|{_FIELDS_BEHIND})"
"""What stands behind a whole message: marks, and fields that tell no error, which might turn its sense."""
_BEHIND_A_NAME = re.compile(rf"(?:(?<=[^*])\*\*)?[\"'.,;]{{0,3}}(?:\s?\Z|{_FIELDS_BEHIND})")
_BOLD = re.compile(r"\*\*(\w[\w.:-]{0,400})\*\*")
_LINK = re.compile(r"\[([\w.:-]{1,400})\]\(https?://[^\s()]{1,400}\)")
"""What Markdown makes of a host's name."""


class Template:
    """One wording of one message. `{}` is a field whose content does not matter."""

    def __init__(
        self, kind: FactKind, text: str, *, since: str = "", is_its_own: bool = False, **constants: Any
    ) -> None:
        """`since` says where the wording is found, for the docs; `constants` are fields that the wording implies.

        is_its_own: no other program prints it.
        """
        self.kind = kind
        self.text = text
        self.since = since
        self.is_its_own = is_its_own
        self.constants = constants
        pieces = _FIELD.split(text)
        self.literals = pieces[::2]
        self.names = pieces[1::2]
        self.sign = max(self.literals, key=len)
        """The longest fixed text: what lacks it is another message."""
        self._all_names = [*self.names, *constants]
        self._constants = [*constants.values()]
        self._readers = [_READERS.get(name, str) for name in self.names]
        self._first, self._last = self.literals[0], self.literals[-1]
        self._free = [place for place, name in enumerate(self.names) if name in _FREE]
        self._ends_in_a_name = not self._last and self.names[-1] not in _FREE | {"", "partitions"}

    @cached_property
    def _between(self) -> list[tuple[str, str]]:
        """The fixed texts between the first and the last, each with its overlap."""
        return [(literal, _overlap(literal)) for literal in self.literals[1:-1]]

    @cached_property
    def places(self) -> list[int]:
        """Where in a fact each value belongs."""
        return [_PLACE_OF[name] for name in self._all_names]

    def read(self, text: str, *, by_client: bool = False) -> tuple[list[Any], bool] | None:
        """What the message holds, in the order of `places`, and whether that is certain; None if it is another one.

        It is not certain where the message can be read in two ways. by_client: it stands in a client's own log, so
        that only its program or a reporter puts more behind it.
        """
        if by_client and not text.endswith(self._last):
            text = self._whole(text)
        if not self.names:
            return (self._constants, True) if text == self._first else None
        begin, end = len(self._first), len(text) - len(self._last)
        if end < begin or not text.startswith(self._first) or not text.endswith(self._last):
            return None
        body = rest = text[begin:end]
        texts, is_once = [], True
        for literal, overlap in self._between:
            value, found, rest = rest.partition(literal)
            if not found:
                return None
            texts.append(value)
            if literal in overlap + rest:
                is_once = False
        if by_client and self._ends_in_a_name:
            name = name_alone(rest)
            body, rest = body[: len(body) - len(rest) + len(name)], name
        texts.append(rest)
        left = self._values(texts)
        right = left if is_once else self._values(self._from_right(body))
        if is_once or left is None or right is None:
            only = left if right is None else right
            return None if only is None else (only, True)
        return self._surer(left, right, by_client)

    def _whole(self, text: str) -> str:
        """The message alone, up to its last fixed text, if what stands behind that is not a part of it."""
        begin = len(self._first) if self.names else 0
        found = self._end.search(text, begin) if text.startswith(self._first) else None
        return text if found is None else text[: found.end("end")]

    @cached_property
    def _end(self) -> re.Pattern[str]:
        return re.compile(f"(?P<end>{re.escape(self._last)}){_TAIL}")

    def _surer(self, left: list[Any], right: list[Any], by_client: bool) -> tuple[list[Any], bool]:
        """The reading with the longest free text, which is certain if nothing but that text makes the difference."""
        differing = {name for name, *both in zip(self.names, left, right, strict=False) if both[0] != both[1]}
        is_free = not differing - _FREE - IGNORED
        if not is_free and not (by_client and differing & _FREE and not differing & IGNORED):
            return right, False
        return max(right, left, key=lambda values: sum(len(values[place]) for place in self._free)), True

    def _from_right(self, body: str) -> list[str]:
        texts = []
        for literal, _ in reversed(self._between):
            body, _, text = body.rpartition(literal)
            texts.append(text)
        return [body, *reversed(texts)]

    def _values(self, texts: Iterable[str]) -> list[Any] | None:
        values = list(map(call, self._readers, texts))
        return None if None in values else values + self._constants

    def named(self, values: Sequence[Any]) -> dict[str, Any]:
        """Values by the names of their fields."""
        named = zip(self._all_names, values, strict=True)
        return {name: value for name, value in named if name not in IGNORED}


def _overlap(literal: str) -> str:
    """With what a text may end and begin again, as ` in ` does with its blank: it may stand twice within itself."""
    return next((literal[place:] for place in range(1, len(literal)) if literal.startswith(literal[place:])), "")


class Templates:
    """A dialect's templates, found by the first word of a message."""

    def __init__(self, templates: Iterable[Template]) -> None:
        self.all = tuple(templates)
        self._by_word: dict[str, list[tuple[str, Template]]] = {}
        for template in self.all:
            head, blank, _ = template.literals[0].partition(" ")
            is_word = blank or len(template.literals) == 1  # Otherwise a field or a part of a word stands first.
            self._by_word.setdefault(head if is_word else "", []).append((template.sign, template))
        self._any = self._by_word.pop("", [])
        for begins in self._by_word.values():
            begins += self._any

    def match(self, text: str, *, by_client: bool = False) -> tuple[Template, list[Any], bool] | None:
        """The first template that fits, in the order given; those that begin with a field come last."""
        if by_client and ("**" in text or "](http" in text):
            text = _BOLD.sub(r"\1", _LINK.sub(r"\1", text))
        for sign, template in self._by_word.get(text.partition(" ")[0], self._any):
            if sign in text:
                found = template.read(text, by_client=by_client)
                if found is not None:
                    return template, *found
        return None
