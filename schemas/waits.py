"""Until when a group waits, as a text beside the texts of its effects: `@UNTIL_MS GROUP`; `@ GROUP`: for nothing.

Texts of effects begin with a brace, so neither kind can be taken for the other. Must not know what a group waits for.
"""

from __future__ import annotations

from collections.abc import Sequence

Wait = tuple[str, int | None]
"""A group, and when it must be called without a request, ms since the epoch; None: never."""

_MARK = "@"


def wait_text(group_id: str, until_ms: int | None) -> str:
    """A group's wait as a text."""
    return f"{_MARK}{'' if until_ms is None else until_ms} {group_id}"


def apart(texts: Sequence[str]) -> tuple[list[str], list[Wait]]:
    """The texts of effects and the waits, each in order."""
    effects: list[str] = []
    waits: list[Wait] = []
    for text in texts:
        if text.startswith(_MARK):
            until, _, group_id = text[1:].partition(" ")
            waits.append((group_id, int(until) if until else None))
        else:
            effects.append(text)
    return effects, waits
