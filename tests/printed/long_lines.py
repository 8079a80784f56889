"""Lines, and files of many lines, on which a reader may take more than its time: text of a length for each shape.

Knows what layouts and wordings look for. Must not know how they are read.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

STAMP = "[2026-03-01 03:12:00,000] INFO "
BROKER = f"{STAMP}[GroupCoordinator 1]: "
CLASS = " (kafka.coordinator.group.GroupCoordinator)"
JAVA = f"{STAMP}[Consumer clientId=c, groupId=g] "
ABOUT_A_GROUP = " roup Preparing to rebalance group "
"""A line with it is read: it has a mark."""
UUID = "6c1d0b29-57f7-4e52-9ffb-38d5ad112b53"

Lines = Callable[[int], list[str]]
"""Lines of about so many characters in all."""


def repeated(before: str, unit: str, after: str = ABOUT_A_GROUP) -> Lines:
    """Return one line in which a unit stands again and again."""
    return lambda length: [before + unit * (length // len(unit)) + after]


def many(first: Sequence[str], *units: str, last: Sequence[str] = ()) -> Lines:
    """Return lines that come again and again; `{}` is their number."""

    def lines(length: int) -> list[str]:
        count = length // sum(len(unit) + 10 for unit in units)
        return [*first, *(unit.replace("{}", str(place)) for place in range(count) for unit in units), *last]

    return lines


_UNITS_BEHIND_A_STAMP = (
    *(
        "a",
        "[",
        "[a] ",
        "(",
        "_",
        "=",
        ":",
        "/",
        "\0",
        "\u202e",
        "ab ",
        "1",
        "-- ",
        "a.",
        "a$",
        "a:b:",
        "a - ",
        "a.b - ",
    ),
    *("[t] a", '{a="b"}', '{a="b",', "a\t", "\t{", "; group: x, ", "group: x, ", "kafka.coordinator ", "group-1/2 "),
    *("<MemberAssignment(", "[thrd:main]: ", "consumer/broker/1 ", "client/metadata ", "Group member (g,", "[[g] {"),
    *("[Consumer clientId=c, groupId=g", "[Consumer clientId=", "[Consumer instanceId=a, clientId=", "(id: 1"),
    *(
        "stream-thread [",
        "stream-client [",
        "AbstractCoordinator ",
        "AbstractCoordinator [a",
        "Generation{",
        "#consumer-",
    ),
    *("a#consumer-1", "group coordinator (", "[ConsumerGroup] ", "assigned partitions ", "topic=u'a', partition="),
)
_UNITS_AT_ONCE = (
    *(
        "1",
        "{",
        '{"a":',
        '{"a":[',
        '"',
        '"",',
        '"a b",',
        "a | ",
        "> ",
        "`",
        "**",
        "| ",
        "[pod/a] ",
        "a-b c 2026-03-01 ",
    ),
    *("<1>1 2026-03-01T", "Warning|", "a/", "a.b:1:", "2026-03-01 03:12:00,000 ", "03:12:00 ", "\x1b[0;", "\x1b[0m"),
    *("INFO ", "INFO: ", "-", "group coordinator (", "Mar 1 03:12:00 a b: ", "time=", "a=b ", "stdout F ", "[INFO] "),
    *(
        "[2026-03-01 03:12:00,000: INFO/MainProcess] ",
        "2026-03-01T03:12:00Z ",
        "[2026-03-01 03:12:00,000] ",
        "%7|1612345678.123|",
    ),
)
_UNITS_AT_THE_END = (
    *(" (", " (a.b", " (a.b) [", " (a.b)", " (a.b:1", "   [a.b.c", "\r", " (kafka.a", " [a]", "a.", " Exception"),
    *(" group instance id ", ", client reason: ", "; client reason: ", " in group ", " on LeaveGroup; client reason: "),
)
LONG_LINES: dict[str, Lines] = {
    **{f"behind a stamp {unit!r}": repeated(STAMP, unit) for unit in _UNITS_BEHIND_A_STAMP},
    **{f"at once {unit!r}": repeated("", unit) for unit in _UNITS_AT_ONCE},
    **{f"at the end {unit!r}": repeated(STAMP + ABOUT_A_GROUP, unit, "") for unit in _UNITS_AT_THE_END},
    "blanks": repeated(STAMP, " ", "x" + ABOUT_A_GROUP),
    "an open thread": repeated(f"{STAMP}{ABOUT_A_GROUP} (a.b) [", "x", ""),
    "an open class": repeated(f"{STAMP}{ABOUT_A_GROUP}  [", "a.", "!]"),
    "a class that does not end": repeated(f"{STAMP}{ABOUT_A_GROUP}", " (a.b:1", ")x"),
    "csv": repeated('"2026-03-01 03:12:00,000",', '"",'),
    "csv of quotes": repeated("2026-03-01 03:12:00,", '"a ""b",'),
    "ansi": repeated("\x1b[", "0;"),
    "journal": repeated("2026-03-01T03:12:00Z ", "a."),
    "stream": repeated("2026-03-01T03:12:00Z ", "a/"),
    "streams": repeated("2026-03-01T03:12:00Z ", "a/b "),
    "logfmt": repeated("time=", "a=b "),
    "logfmt of quotes": repeated('msg="', '\\"'),
    "logfmt of fields": repeated('time="x" ', 'a="b" '),
    "bare logfmt": repeated("msg=", "a"),
    "a level behind": repeated("INFO:", "a."),
    "loguru": repeated("2026-03-01 03:12:00.000 | INFO     | ", "a.b:"),
    "ruby": repeated("I, [2026-03-01T03:12:00.000000 #1]  INFO -- : ", "[[g] {"),
    "kafkajs": repeated('{"level":"INFO","message":"[ConsumerGroup] ', "a", f'{ABOUT_A_GROUP}"}}'),
    "numbers of json": repeated('{"message":"roup","a":', "1", "}"),
    "franz-go": repeated(f"{STAMP}joined; ", "group: g, member_id: x, "),
    "librdkafka's quotes": repeated('%7|1612345678.123|CGRP|rdkafka#consumer-1| [thrd:main]: Group "', '"'),
    "librdkafka's groups": repeated("%7|1612345678.123|CGRP|rdkafka#consumer-1| [thrd:main]: ", 'Group "g" '),
    "librdkafka's names": repeated("%7|1612345678.123|CGRP|", "a", "#consumer-1| [thrd:main]: Group"),
    "a field of an export": repeated('{"field": "', '\\"', f'", "value": "x{ABOUT_A_GROUP}'),
    "a value of an export": repeated('{"field": "a", "value": "', "a", f'{ABOUT_A_GROUP}"}} x'),
    "behind an export": repeated('{"field": "a", "value": "x"}', ", ", f"x{ABOUT_A_GROUP}"),
    "in groups": repeated(f"{BROKER}Member ", " in group ", " has left, removing it from the group"),
    "reasons": repeated(
        f"{BROKER}Preparing to rebalance group ", " in state Stable with old generation 5 (reason: ", ")"
    ),
    "a member's metadata": repeated(
        f"{BROKER}Member MemberMetadata(", "memberId=a, groupInstanceId=b, clientId=c, ", ""
    ),
    "members": repeated(f"{BROKER}Group x removed dynamic members who haven't joined: [", "abcdefabcdef, ", "]"),
    "a cut class": repeated(f"{BROKER}Group x", " (kafka.a", " "),
    "cut classes": repeated(f"{BROKER}Group x ", " (", ""),
    "assignments": repeated(
        f"{JAVA}Finished assignment for group at generation 1: {{", "m=Assignment(partitions=[t-0, t-1]), ", "}"
    ),
    "open assignments": repeated(
        f"{JAVA}Finished assignment for group at generation 1: ", "{m=Assignment(partitions=[", ""
    ),
    "assignments within each other": repeated(
        f"{JAVA}Finished assignment for group at generation 1: {{", "m=Assignment(partitions=[, ", ""
    ),
    "commas of assignments": repeated(f"{JAVA}Finished assignment for group at generation 1: {{", ", ", ""),
    "topics": repeated(f"{JAVA}Adding newly assigned partitions: ", "t-0, ", ""),
    "a topic": repeated(f"{JAVA}Adding newly assigned partitions: ", "t", ""),
    "topics of python": repeated(f"{JAVA}Adding newly assigned partitions: ", "topic='t', partition=0, ", ""),
    "an assignor's": repeated(f"{JAVA}Notifying assignor about the new Assignment(partitions=[", "t-0, ", "])"),
    "a client's id": repeated(f"{STAMP}[Consumer clientId=", "a, groupId="),
}
"""Each has its mark, so that it is read."""

_STABILIZED = f"{BROKER}Stabilized group x generation 1 with 1 members."
MANY_LINES: dict[str, Lines] = {
    "stack": many([_STABILIZED], "\tat a.b"),
    "stack of several files": many([], _STABILIZED, "\tat a.b", "\tat a.b"),
    "indented lines": many([_STABILIZED], " x"),
    "blank lines behind an exception": many([f"{JAVA}Rebalance failed."], ""),
    "broken in parts": many([], f"{BROKER}roup x-", *["-" + "a" * 80 + "-"] * 198, f"x{CLASS}"),
    "parts of a record": many(['{"roup":'], '"a": {},'),
    "ends of records": many(['{"roup":{{{{{{{{'], '{"a":{}}'),
    "rows of an export": many([], '{"field": "f{}", "value": "roup"}'),
    "rows that go on": many([], '"a","roup', "a: b", "c: d"),
    "a row that goes on": many(['"a","roup'], "a: b"),
    "topics that come and go": many(
        [],
        "%7|1772334720.417|X|c#consumer-1| [thrd:main]: Topic t{} with 0 partitions: Broker: x",
        '%7|1772334720.417|X|c#consumer-1| [thrd:main]: Group "g": Rejoining group : Metadata for subscribed topic(s) '
        "has changed",
        "%7|1772334720.417|X|c#consumer-1| [thrd:main]: Topic t with {} partitions",
    ),
    "wordings": many([], '%7|1772334720.417|X|c#consumer-1| [thrd:main]: a b{} c" d'),
    "headings of brod": many([], "generation=1 roup):"),
    "open lines": many([], f"{STAMP}roup"),
    "lines and rests": many([], f"{STAMP}roup", f"roup{CLASS}"),
    "records of java.util.logging": many([], "Mar 02, 2026 4:05:11 PM some.Class method", "INFO: roup"),
    "labels": many([], "consumer 2:", f"{STAMP}roup"),
    "expired members": many(
        [], f"{BROKER}Member m{{}}-{UUID} in group g has failed, removing it from the group{CLASS}"
    ),
    "groups": many([], f"{BROKER}Stabilized group g{{}} generation 1 with 1 members{CLASS}"),
    "leaves of a client": many(
        [],
        f"{JAVA}Member m-{UUID} sending LeaveGroup request to coordinator b{{}}:9092 (id: 2147483646 rack: null) "
        "due to x",
    ),
    "java clients": many(
        [], f"{STAMP}[Consumer clientId=c{{}}, groupId=g] (Re-)joining group (org.apache.kafka.ConsumerCoordinator)"
    ),
}
_WRAPPINGS = ("a | ", "[pod/a] ", "> ", STAMP, "2026-03-01T03:12:00Z ", '{"message":"', "time=", "<1>1 ", "INFO ", " ")


def nested(seed: int) -> Lines:
    """Return one line of random wrappings around random units."""
    chosen = random.Random(seed)
    units = [*_UNITS_BEHIND_A_STAMP, *_UNITS_AT_ONCE, *_UNITS_AT_THE_END]
    before = "".join(chosen.choices(_WRAPPINGS, k=3))
    parts = [(chosen.choice(units), chosen.randint(1, 9)) for _ in range(3)]
    unit = "".join(part * times for part, times in parts)
    return repeated(before, unit, chosen.choice((ABOUT_A_GROUP, CLASS, ABOUT_A_GROUP + '"}')))
