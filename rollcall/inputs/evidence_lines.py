"""The text of the lines that an answer of `rollcall explain` rests on.

Knows files and numbers of lines. Must not know what a line says.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import chain

from rollcall.inputs.printed.lines.files import open_blocks, text_of
from rollcall.inputs.printed.logged_rebalances import LoggedGroup, evidence_of

Texts = Mapping[tuple[str, int], str]
"""Lines by file and number."""


def texts_of(groups: Iterable[LoggedGroup]) -> Texts:
    """Return the lines that rebalances and findings rest on."""
    wanted: defaultdict[str, set[int]] = defaultdict(set)
    for group in groups:
        stories = [*(one.facts for one in group.rebalances), *(one.facts for one in group.findings)]
        for file, number in chain.from_iterable(map(evidence_of, stories)):
            wanted[file].add(number)
    return {(file, number): text for file in wanted for number, text in _lines_of(file, wanted[file])}


def _lines_of(file: str, numbers: set[int]) -> Iterable[tuple[int, str]]:
    before, last = 0, max(numbers)
    for block in open_blocks(file):
        lines = block.removesuffix(b"\n").split(b"\n")
        for number in numbers & set(range(before + 1, before + len(lines) + 1)):
            yield number, text_of(lines[number - before - 1])
        before += len(lines)
        if before >= last:
            break
