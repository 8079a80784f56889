"""What stands before librdkafka's messages: each wrapper puts name, facility and level in another order.

`[thrd:..]: ` stands before the message in all of them, but for 0.9.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import re2

from rollcall.inputs.printed.dialects.dialect import Heading
from rollcall.inputs.printed.lines.entries import Entry
from rollcall.inputs.printed.templates import Templates

_THREAD = "[thrd:"
_PRODUCER = "#producer-"
_LONGEST_HEAD = 400
"""Characters before the thread in which a name is looked for."""
_NAME = re2.compile(r"(?P<client_id>[^|\[\]]{0,255}#consumer-\d{1,9})[|:\]]")
_NAME_ALONE = re.compile(
    r"(?:^|(?<=\s))(?:(?i:client[._]?id|client|name|handle)[:=][\"']?)?"
    r"(?P<client_id>[^|\[\]\s]{0,255}#consumer-\d{1,9})[\s,;\"']"
)
"""As a log handler of .NET's prints it: blanks stand between name, facility and message, and labels before them."""
_BEFORE_THREADS = re.compile(
    r"(?:(?:RDKAFKA-\d-[A-Z]{2,20}: |(?:\A|\|)[A-Z]{2,20}\|)(?P<head>[^|\[\]:]{0,255}#consumer-\d{1,9}[:|])"
    r"|(?:\A|\|)(?P<handle>[^|\[\]:]{0,255}#consumer-\d{1,9}\|)[A-Z]{2,20}\|) "
)
"""What 0.9 has before its message; rdkafka-dotnet prints the name first."""
_TABLE = re.compile(r"\((?P<table>[^()]{1,200})\): (?:\[client\.id:(?P<client_id>[^\]]{1,255})\] )?\[rdk:\w+\] *\Z")
"""ClickHouse's: of its table's engine."""
_ASKED = re.compile(r"(?:GroupCoordinator/(?P<broker_id>\d{1,10})|\S+/(?:\d{1,10}|bootstrap|learned)): ")
"""The connection that a line is about, by its broker; that to the coordinator has a name of its own."""
_NAMED = re.compile(r" broker \S+/(?P<broker_id>\d{1,10})(?: is no longer coordinator)?(?=\Z|[\s,;])")

_OUTDATED = re.compile(
    r'" heartbeat error response in state \S+ \(join.state (?:init|wait-join|wait-metadata|wait-sync),'
)
"""The answer to a heartbeat that it sent before it asked to join: it passes it over, and so do we."""


def heading_of(_: Templates) -> Callable[[Entry], Heading | None]:
    """The reader of its lines."""
    return _heading


def _heading(entry: Entry) -> Heading | None:
    """The client's name, the broker that the line is about, and the message behind both."""
    head, _, rest = entry.printed.partition(_THREAD)
    _, closed, message = rest.partition("]: ")
    before = None if closed else _BEFORE_THREADS.search(entry.printed)
    if before is not None:
        head, closed, message = before["head"] or before["handle"], " ", entry.printed[before.end() :]
    if not closed or _PRODUCER in head or _OUTDATED.search(message):
        return None
    head = head[-_LONGEST_HEAD:]
    if head.count('"') % 2:
        message = message.removesuffix('"').replace('""', '"')  # A cell of CSV.
    elif message.count('"') % 2:
        message = message.removesuffix('"')
    found = _TABLE.search(head) or _NAME.search(head) or _NAME_ALONE.search(head)
    if found is None:
        names = (_NAME.fullmatch(f"{one}:") for one in (*entry.fields.values(), entry.logger) if isinstance(one, str))
        found = next(filter(None, names), None)
    fields: dict[str, object] = {} if found is None else {key: one for key, one in found.groupdict().items() if one}
    asked = _ASKED.match(message)
    if asked is not None:
        message = message[asked.end() :]
    named = _NAMED.search(message) or asked
    if named is not None and named["broker_id"]:
        fields["broker_id"] = named["broker_id"]
    return Heading(fields, message.strip().replace('"(not-set)"', '""'))
