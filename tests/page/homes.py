"""Homes for the page's tests: a recorded incident's, one with hostile names, one that grows.

Knows how a history is written without Spark. Must not know the page.
"""

from __future__ import annotations

from pathlib import Path

from tests.views.story import Story, write_effects
from tests.why.reading import capture

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "a\u202egnp.exe",
    "line\nforged \x1b[31mred",
    "=cmd|' /C calc'!A0",
    "[/x] {{ 7 * 191 }} {% raw %}",
    "x" * 32_000,
)
LONGEST_CLIENT_ID = 220


def recorded(home: Path, name: str) -> Path:
    """A recorded incident's home."""
    write_effects(home, dict(capture(name)))
    return home


def hostile(home: Path) -> Path:
    """A group for each hostile name, whose client, and whose reason for leaving, are called so too."""
    for place, name in enumerate(HOSTILE):
        story, client = Story("g"), name[:LONGEST_CLIENT_ID]
        story.join(1000, client)
        story.sync(1100, client, {client: [f"t{place}-0"]})
        story.join(2000, "other")
        story.join(2100, client)
        story.sync(2200, client, {client: [f"t{place}-0"], "other": []})
        story.sync(2300, "other")
        story.leave(3000, "other", reason=client)
        story.join(3100, client)
        story.sync(3200, client, {client: [f"t{place}-0"]})
        write_effects(home, {name: story.rows})
    return home
