"""Replaces topic ids in the facts of a batch by names, if these are known.

Knows how a fact names a topic in its text. Must not know where names come from.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

NamesOf = Callable[[Iterable[str]], Mapping[str, str]]
"""Returns topic names by id, for the ids that it knows."""

_TOPIC = re.compile(r'\\"topic\\":\\"([A-Za-z0-9_-]{22})\\"')
"""A topic in the detail of a fact, which is JSON within a line of JSON. A topic id is 16 bytes in base64."""


class TopicNames:
    """Replaces ids by names. ask: is called for new ids. A topic name that looks like an id stays."""

    def __init__(self, ask: NamesOf) -> None:
        self._ask = ask
        self._names: dict[str, str] = {}

    def named(self, texts: list[str]) -> list[str]:
        """Lines of a batch's effects with names for ids."""
        ids = {found for text in texts for found in _TOPIC.findall(text)}
        unknown = sorted(ids - self._names.keys())
        if unknown:
            self._names.update(self._ask(unknown))
        if ids.isdisjoint(self._names):
            return texts
        return [_TOPIC.sub(self._with_name, text) for text in texts]

    def _with_name(self, found: re.Match[str]) -> str:
        return f'\\"topic\\":\\"{self._names.get(found[1], found[1])}\\"'
