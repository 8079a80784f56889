"""The fenced blocks of the README and of the pages by task. Knows their text; must not know what runs a block."""

from __future__ import annotations

import re
from typing import NamedTuple

from tests.source_tree import ROOT

TASKS = (
    "explain",
    "request-logs",
    "offsets-topic",
    "what-if",
    "sql",
    "page",
    "monitoring",
    "alarms",
    "gateway",
    "before-a-kafka",
    "trace",
    "configuration",
    "cluster",
    "limits",
)
PAGES = (ROOT / "README.md", *(ROOT / "docs" / f"{name}.md" for name in TASKS))


class Block(NamedTuple):
    """A fenced block and what follows it up to the next heading."""

    language: str
    text: str


def blocks() -> list[Block]:
    return [
        Block(*found)
        for page in PAGES
        for found in re.findall(r"^```(\w+)\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    ]


def block_with(language: str, words: str) -> str:
    found = [block.text for block in blocks() if block.language == language and words in block.text]
    assert len(found) == 1, f"{len(found)} {language} blocks with {words!r}"
    return found[0]
