"""Each library's lines in each usual layout: what they say, and their time, do not depend on it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import NamedTuple

import pytest

from rollcall.inputs.printed.dialects.catalog import DIALECTS
from rollcall.inputs.printed.dialects.dialect import Dialect
from rollcall.inputs.printed.lines.entries import Clock
from rollcall.inputs.printed.lines.entry_order import DAYS_FIRST, MONTHS_FIRST
from rollcall.inputs.printed.reading import read_lines
from rollcall.inputs.printed.templates import Template
from tests.printed.layouts import CARRIED, OBJECTS, OF_GO, OF_JAVA, OF_OTHERS, Layout, Said
from tests.printed.printed import FILLED, UNCHECKED, line_of

LAYOUTS = OF_JAVA | OF_OTHERS | OF_GO | CARRIED | OBJECTS
EVERY = 7
"""Of a library's templates, one in so many is printed in a layout, and others in the next one."""


def _semicolons(fields: Mapping[str, str]) -> str:
    return "".join(f"; {key}: {value}" for key, value in fields.items())


def _an_object(fields: Mapping[str, str]) -> str:
    return f" {json.dumps(fields)}" if fields else ""


class _Library(NamedTuple):
    """What a library hands to a logger, with `{}` for the message."""

    message: str = "{}"
    logger: str = "main"
    fields: Mapping[str, str] = {}
    behind: Callable[[Mapping[str, str]], str] = _an_object

    def said(self, text: str) -> Said:
        fields = dict(self.fields)
        if self.behind is _semicolons:
            text, *more = text.split("; ")
            named = [one.partition(": ") for one in more]
            text += "".join(f"; {key}" for key, colon, _ in named if not colon)
            fields = {key: value for key, colon, value in named if colon} | fields
        return Said(self.message.replace("{}", text), self.logger, fields, self.behind(fields))


_LIBRARIES = {
    "aiokafka": _Library(logger="aiokafka.consumer.group_coordinator"),
    "brod": _Library("Group member (orders,coor=<0.412.0>,cb=<0.410.0>,generation=12): {}"),
    "broker": _Library("[GroupCoordinator 1]: {}", "kafka.coordinator.group.GroupCoordinator"),
    "franz-go": _Library(fields={"group": "orders"}, behind=_semicolons),
    "java": _Library(
        "[Consumer clientId=orders-1, groupId=orders] {}",
        "org.apache.kafka.clients.consumer.internals.ConsumerCoordinator",
    ),
    "kafka-go": _Library(),
    "kafka-python": _Library(logger="kafka.coordinator"),
    "kafka-node": _Library("kafka-node:ConsumerGroup {}"),
    "kafkajs": _Library(logger="kafkajs", fields={"groupId": "orders"}),
    "librdkafka": _Library("MAXPOLL|orders-1#consumer-1| [thrd:main]: {}"),
    "ruby-kafka": _Library("[orders] {topics}: {}"),
    "sarama": _Library(),
}


def _cannot(name: str, layout: str) -> str:
    """Return why a library's lines have no such layout; empty: they may have it."""
    if layout.startswith("log4j, Spark's") and name not in ("broker", "java"):
        return "a class of Java's tells its time from another order of two digits each"
    if name == "broker" and layout not in OF_JAVA | CARRIED | OBJECTS:
        return "a broker prints by log4j"
    if name == "franz-go" and layout == "log4j, the month's name between hyphens":
        return "no mark ends what stands before its message"
    if name in ("aiokafka", "kafka-python") and _LIBRARIES[name].logger not in LAYOUTS[layout].line(
        _LIBRARIES[name].said("")
    ):
        return "both print the same, so that a line without its logger is not believed"
    return ""


TABLE = [(dialect, name) for dialect in DIALECTS for name in LAYOUTS if not _cannot(dialect.name, name)]


@pytest.mark.parametrize(("dialect", "name"), TABLE, ids=[f"{dialect.name} in {name}" for dialect, name in TABLE])
def test_a_line_says_the_same_in_each_layout(dialect: Dialect, name: str) -> None:
    layout, first = LAYOUTS[name], list(LAYOUTS).index(name) % EVERY
    for template in dialect.templates.all[first::EVERY] or dialect.templates.all[:1]:
        _read_back(dialect, template, layout)


def _read_back(dialect: Dialect, template: Template, layout: Layout) -> None:
    line = layout.line(_LIBRARIES[dialect.name].said(line_of(template)))
    (fact,) = read_lines("app.log", [line]).facts
    assert (fact.dialect, fact.kind, fact.at_ms) == (dialect.name, template.kind, layout.at_ms), line
    for field in template.names:
        if field not in UNCHECKED:
            assert getattr(fact, field) == FILLED[field][1], line


ASKS = "[Consumer clientId=orders-1, groupId=orders] (Re-)joining group"


@pytest.mark.parametrize(
    ("dates", "days", "note"),
    [
        (("19/09/2022", "20/09/2022"), (19_254, 19_255), ""),
        (("09/19/2022", "09/20/2022"), (19_254, 19_255), ""),
        (("12/09/2022", "13/09/2022"), (19_247, 19_248), ""),
        (("09/12/2022", "09/13/2022"), (19_247, 19_248), ""),
        (("11/09/2022", "12/09/2022"), (19_246, 19_247), DAYS_FIRST),
        (("09/11/2022", "09/12/2022"), (19_246, 19_247), MONTHS_FIRST),
        (("11/09/2022", "11/09/2022"), (19_246, 19_246), DAYS_FIRST),
        (("11.09.2022", "12.09.2022"), (19_246, 19_247), ""),
        (("09/09/2022", "09/09/2022"), (19_244, 19_244), ""),
    ],
)
def test_a_file_s_dates_say_which_of_day_and_month_comes_first(
    dates: tuple[str, str], days: tuple[int, int], note: str
) -> None:
    read = read_lines("app.log", [f"{date} 00:00:0{place} INFO {ASKS}" for place, date in enumerate(dates)])
    assert [fact.at_ms for fact in read.facts] == [day * 86_400_000 + 1_000 * place for place, day in enumerate(days)]
    assert [one for one in read.notes if one in (DAYS_FIRST, MONTHS_FIRST)] == [note] * bool(note)


@pytest.mark.parametrize("zone", ["BST", "CET", "PDT"])
def test_a_zone_that_has_a_name_alone_leaves_a_time_local(zone: str) -> None:
    (fact,) = read_lines("app.log", [f"[20/06/23 04:18:27:216 {zone}] 0000002a Coordinator I {ASKS}"]).facts
    assert (fact.at_ms, fact.clock) == (1_687_234_707_216, Clock.LOCAL)


@pytest.mark.parametrize("printed", ["32/01/2022", "13/13/2022", "00/00/2022", "31.02.2022"])
def test_a_date_that_no_calendar_has_is_no_time(printed: str) -> None:
    (fact,) = read_lines("app.log", [f"{printed} 00:00:00 INFO {ASKS}"]).facts
    assert fact.at_ms is None
