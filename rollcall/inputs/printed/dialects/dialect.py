"""What a dialect is: who prints its lines, how they differ from others, and what they say.

Knows only the shapes; knows no library's wording.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from rollcall.inputs.printed.lines.entries import Entry, Level, level_of, reason_of
from rollcall.inputs.printed.logged_facts import BROKER, IS_CERTAIN, PLACES, FactKind, LoggedFact
from rollcall.inputs.printed.templates import Template, Templates

_IS_CERTAIN, _IS_ESCAPED, _MAY_BE_FORGED, _LEVEL = (
    PLACES[name] for name in (IS_CERTAIN, "is_escaped", "may_be_forged", "level")
)
_UNSAID = [LoggedFact._field_defaults[name] for name in LoggedFact._fields[8:]]
"""What a fact has behind `source` where nothing is said of it."""

_WARNINGS = frozenset(
    (
        *(FactKind.POLL_TIMEOUT, FactKind.SESSION_GIVEN_UP, FactKind.HEARTBEATS_UNANSWERED, FactKind.CONNECTION_FAILED),
        *(FactKind.COMMIT_REFUSED, FactKind.JOIN_REFUSED, FactKind.JOIN_FAILED, FactKind.SYNC_REFUSED),
        *(FactKind.INSTANCE_FENCED, FactKind.NOT_AUTHORIZED, FactKind.CLIENT_CRASHED, FactKind.OFFSETS_REFUSED),
        FactKind.REQUEST_REFUSED,
    )
)
"""What nearly all libraries print as a warning or an error, or an application does that gets the exception."""


def unreadable(entry: Entry, error: str) -> LoggedFact:
    """Return the fact of a line that a reader failed at."""
    return LoggedFact(
        FactKind.UNREADABLE, entry.file, entry.line_number, entry.at_ms, entry.clock, error=error, is_certain=False
    )


class Heading(NamedTuple):
    """What a line says before its message: who prints it, and of what."""

    fields: dict[str, Any]
    """Fields of the fact: broker_id, partition, group_id, client_id, ..."""
    message: str


class Dialect(NamedTuple):
    """The lines of one program."""

    name: str
    """As `broker` or `librdkafka`."""
    title: str
    """Who prints them, for people: `a broker's log`, `librdkafka's log (C, Python, Go, .NET)`."""
    marks: tuple[str, ...]
    """A line without any of these texts is not of this dialect: a cheap first test."""
    example: str
    """A line of it, as it stands in a file, with `{}` for the message."""
    heading: Callable[[Entry], Heading | None]
    """What stands before the message; None: no line of this dialect."""
    templates: Templates
    among_its_own: Callable[[Entry], Heading | None] | None = None
    """The same for a line that no heading tells, in a file that has other lines of this dialect."""
    opening: str = ""
    """A message that begins with this is of this dialect, and need not be shown to others."""
    is_known_by_heading: bool = True
    """False: other programs' lines may have its heading. Unread lines are its own only in a file where others are."""
    level: Level | None = None
    """At which its library prints what it does not warn of, whatever a line says; None: as the line says, or INFO."""
    warns_of: tuple[FactKind, ...] = ()
    """What its library warns of, beside what all do."""

    def level_of(self, kind: FactKind, printed: str = "") -> Level:
        """The level of a line at its library's own logger. printed: as an application's logger has it."""
        if kind in _WARNINGS or kind in self.warns_of:
            return Level.WARN
        return self.level or level_of(printed) or Level.INFO

    def has_mark(self, entry: Entry) -> bool:
        """Whether a line may be one of this dialect's."""
        return any(mark in f"{entry.text} {entry.logger}" for mark in self.marks)

    def read(self, entry: Entry) -> tuple[Heading | None, LoggedFact | None]:
        """Return its heading, None if the line is not of this dialect, and what it says, None if no template fits."""
        return self._read(entry, self.heading)

    def fact_among_its_own(self, entry: Entry) -> LoggedFact | None:
        """The same of a line that its heading does not tell, in a file of this dialect."""
        return None if self.among_its_own is None else self._read(entry, self.among_its_own)[1]

    def _read(
        self, entry: Entry, heading_of: Callable[[Entry], Heading | None]
    ) -> tuple[Heading | None, LoggedFact | None]:
        try:
            heading = heading_of(entry)
            return heading, None if heading is None else self._stated(entry, heading)
        except Exception as error:
            # A line is input: whatever it makes a reader raise, the others are read.
            return None, unreadable(entry, reason_of(error))

    def matched(self, heading: Heading) -> tuple[Template, list[Any], bool] | None:
        """The wording of a message, with the values of its fields, and whether they are certain."""
        return self.templates.match(heading.message, by_client=self.name != BROKER)

    def _stated(self, entry: Entry, heading: Heading) -> LoggedFact | None:
        found = self.matched(heading)
        if found is None:
            return None
        template, values, is_certain = found
        file, line_number, _, at_ms, clock, is_whole_seconds, level, _, source = entry[:9]
        row = [template.kind, file, line_number, at_ms, clock, is_whole_seconds, self.name, source, *_UNSAID]
        for place, value in zip(template.places, values, strict=True):
            row[place] = value
        for name, value in heading.fields.items():  # Surer than a message, behind which a layout may print more.
            row[PLACES[name]] = value
        row[_IS_CERTAIN] = is_certain and not entry.is_suspect
        row[_IS_ESCAPED] = bool(entry.message)
        row[_MAY_BE_FORGED] = entry.may_be_forged
        row[_LEVEL] = self.level_of(template.kind, level)
        return tuple.__new__(LoggedFact, row)
