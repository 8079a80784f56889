"""A broker's line that begins as one message and ends as another one: line breaks of a client's divided it.

Knows how a broker's messages begin and end. Must not know what they say.
"""

from __future__ import annotations

from rollcall.inputs.printed.dialects.catalog import BROKERS
from rollcall.inputs.printed.dialects.headings.broker import broker_heading
from rollcall.inputs.printed.lines.entries import Clock, Entry
from rollcall.inputs.printed.logged_facts import BROKER, FactKind, LoggedFact

_CLIENTS_OWN = {"group_id", "member_id", "other_member_id", "member_ids", "reason", "client_reason"}
"""Fields that hold what a client chose."""
_LONG_BEGINNING, _LONG_END = 12, 20
"""Characters by which a message is known: shorter ones are also those of messages without a template."""
_ENDS: dict[str, set[str]] = {}
_BEGINNINGS: dict[str, set[str]] = {}
_WITHOUT_FIELDS = {one.text for one in BROKERS.templates.all if not one.names}
for _one in BROKERS.templates.all:
    if _CLIENTS_OWN.intersection(_one.names):
        _ENDS.setdefault(_one.literals[0], set()).add(_one.literals[-1])
        _BEGINNINGS.setdefault(_one.literals[-1], set()).add(_one.literals[0])
_LONG_BEGINNINGS = tuple(text for text in _ENDS if len(text) >= _LONG_BEGINNING)
_LONG_ENDS = tuple(text for text in _BEGINNINGS if len(text) >= _LONG_END)


def of_two_messages(entry: Entry) -> LoggedFact | None:
    """Return a fact for a line that begins as one message and ends as another; None for one that does not.

    A client's line breaks divide a message so. A layout that escapes them cannot be divided.
    """
    heading = None if entry.message or entry.clock is Clock.NONE or entry.is_suspect else broker_heading(entry)
    if heading is None or heading.message in _WITHOUT_FIELDS:
        return None
    text = heading.message
    if text.startswith(_LONG_BEGINNINGS):
        ends = [_ENDS[begins] for begins in _LONG_BEGINNINGS if text.startswith(begins)]
        is_whole = text.endswith(tuple(set().union(*ends)))
    else:
        begins = [_BEGINNINGS[ends] for ends in _LONG_ENDS if text.endswith(ends)]
        is_whole = not begins or text.startswith(tuple(set().union(*begins)))
    if is_whole:
        return None
    return LoggedFact(FactKind.TWO_MESSAGES, entry.file, entry.line_number, entry.at_ms, entry.clock, dialect=BROKER)
