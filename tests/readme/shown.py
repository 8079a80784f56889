"""The fenced blocks of the README. Knows its text; must not know what runs a block."""

from __future__ import annotations

import re
from typing import NamedTuple

from tests.source_tree import ROOT

README = (ROOT / "README.md").read_text()


class Block(NamedTuple):
    """A fenced block and what follows it up to the next heading."""

    language: str
    text: str


def blocks() -> list[Block]:
    return [Block(*found) for found in re.findall(r"^```(\w+)\n(.*?)^```", README, re.MULTILINE | re.DOTALL)]


def block_with(language: str, words: str) -> str:
    found = [block.text for block in blocks() if block.language == language and words in block.text]
    assert len(found) == 1, f"{len(found)} {language} blocks with {words!r}"
    return found[0]
