"""A log that still grows: each rebalance once, when its last line is there.

Knows the latest lines alone. What they say is found anew each time, so a line that comes late may still change it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from datetime import tzinfo

from rollcall.inputs.printed.lines.entries import Entry
from rollcall.inputs.printed.lines.files import ends_cut
from rollcall.inputs.printed.lines.forged_lines import marked
from rollcall.inputs.printed.lines.wrappings import entries_in
from rollcall.inputs.printed.logged_facts import LoggedFact
from rollcall.inputs.printed.logged_rebalances import LoggedGroup, LoggedRebalance, evidence_of
from rollcall.inputs.printed.reading import fact_of, in_zone, may_matter
from rollcall.inputs.printed.story import groups_in
from rollcall.inputs.printed.unread import Recognized, UnreadLines

KEPT = 5_000
"""Lines about groups that are kept."""


class Following:
    """The latest lines of one log, and which of their rebalances were given out."""

    def __init__(self, file: str, zone: tzinfo | None = None, on_cut: Callable[[int], None] = lambda _: None) -> None:
        """`zone`: of times that are printed without one. `on_cut` gets the number of each line that was cut."""
        self._file = file
        self._zone = zone
        self._on_cut = on_cut
        self._kept: deque[tuple[Entry, LoggedFact | None]] = deque(maxlen=KEPT)
        self.has_facts = False
        """Whether any line said something about a group."""
        self.unread = UnreadLines()
        """What all lines up to now leave unread."""
        self._is_new = False
        self._asked_line = 0
        """The last one when ended() was asked: what comes next may still be a part of it."""
        self._known: set[tuple[str, tuple[str, int]]] = set()

    def read(self, lines: Iterable[str | None], at_pause: Callable[[], None]) -> None:
        """Takes all lines until there are no more; None stands for a pause, at which the caller may ask for ended()."""
        for entry in entries_in(self._file, self._numbered(lines, at_pause), may_matter, self._on_cut):
            recognized: list[Recognized] = []
            fact = fact_of(entry, recognized)
            self.unread.take(entry, fact, recognized)
            self._kept.append((entry, fact))
            self.has_facts |= fact is not None
            self._is_new = True
        at_pause()

    def ended(self) -> Iterator[tuple[LoggedGroup, LoggedRebalance]]:
        """The rebalances that ended since this was asked last. An epoch of the newer protocols has no last line."""
        if not self._is_new:
            return
        self._is_new = False
        from_line, self._asked_line = self._asked_line, self._kept[-1][0].line_number
        for group in groups_in(in_zone(self._facts(), self._zone), from_line, goes_on=True):
            for one in group.rebalances:
                is_classic = group.group_type == "classic"
                known = (group.group_id, evidence_of(one.facts)[-1 if is_classic else 0])
                if (one.outcome or not is_classic) and known not in self._known:
                    self._known.add(known)
                    yield group, one

    def _facts(self) -> list[LoggedFact]:
        """What the kept lines say, without those that may be forged. A line that stays as it was is not read again."""
        known = {id(entry): fact for entry, fact in self._kept}
        entries = marked([entry for entry, _ in self._kept])
        found = (known[id(entry)] if id(entry) in known else fact_of(entry) for entry in entries)
        return [fact for fact in found if fact is not None and fact.is_certain]

    def _numbered(self, lines: Iterable[str | None], at_pause: Callable[[], None]) -> Iterator[tuple[int, str]]:
        number = 0
        for line in lines:
            if line is None:
                at_pause()
                yield number, ""  # The line before it has no more lines.
            else:
                number += 1
                if ends_cut(line):
                    self._on_cut(number)
                yield number, line
