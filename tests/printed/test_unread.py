"""What is left unread is said: of each program, which wordings, how often; of an unknown one, its name."""

from __future__ import annotations

from collections import Counter

import pytest

from rollcall.inputs.printed import reading
from rollcall.inputs.printed.dialects.catalog import DIALECTS
from rollcall.inputs.printed.dialects.dialect import Dialect, Heading
from rollcall.inputs.printed.lines.entries import Entry
from rollcall.inputs.printed.reading import read_lines
from rollcall.inputs.printed.unread import SHOWN, wording_of
from tests.printed.printed import line_of

TOLD = [dialect for dialect in DIALECTS if dialect.name not in ("kafka-go", "ruby-kafka", "sarama", "franz-go")]
"""Those whose lines have a heading; the others' messages tell them."""


def _printed(dialect: Dialect, message: str) -> str:
    text = dialect.example.replace("{}", message)
    return text if dialect.name != "kafkajs" else text.replace(message, f"[Consumer] {message}")


@pytest.mark.parametrize("dialect", TOLD, ids=[dialect.name for dialect in TOLD])
def test_lines_of_a_known_program_that_no_template_reads_are_counted(dialect: Dialect) -> None:
    lines = [_printed(dialect, f"Something new happened {number} times") for number in (1, 2, 3)]
    (unread,) = read_lines("app.log", lines).unread
    assert (unread.printed_by, unread.is_known, unread.lines) == (dialect.title, True, 3)
    ((wording, times),) = unread.wordings
    assert (wording.removeprefix("[Consumer] "), times) == ("Something new happened ... times", 3)


@pytest.mark.parametrize("dialect", TOLD, ids=[dialect.name for dialect in TOLD])
def test_the_heading_of_an_unread_line_is_computed_once(dialect: Dialect, monkeypatch: pytest.MonkeyPatch) -> None:
    computed: Counter[tuple[str, int]] = Counter()

    def counting(one: Dialect) -> Dialect:
        def heading(entry: Entry) -> Heading | None:
            computed[one.name, entry.line_number] += 1
            return one.heading(entry)

        return one._replace(heading=heading)

    counted = [*map(counting, DIALECTS)]
    monkeypatch.setattr(reading, "DIALECTS", counted)
    monkeypatch.setattr(reading, "_OPENED", [one for one in counted if one.opening])
    assert read_lines("app.log", [_printed(dialect, "Something new happened")] * 3).unread
    assert computed
    assert {*computed.values()} == {1}


def test_franz_go_s_are_counted_beside_those_that_are_read() -> None:
    (unread,) = read_lines("app.log", ["[INFO] joining group; group: a", "[INFO] syncing; group: a"]).unread
    assert unread.wordings == (("syncing", 1),)
    assert read_lines("app.log", ["[INFO] user joined the channel; group: a"]).unread == ()


@pytest.mark.parametrize("dialect", DIALECTS, ids=[dialect.name for dialect in DIALECTS])
def test_what_is_read_is_not_unread(dialect: Dialect) -> None:
    line = dialect.example.replace("{}", line_of(dialect.templates.all[0]))
    assert read_lines("app.log", [line]).unread == ()


def test_the_most_frequent_wordings_stand_first_and_the_rest_is_a_number() -> None:
    words = [word for place, word in enumerate("abcdef") for _ in range(10 - place)]
    line = "%7|1772334720.{:03}|ANY|a#consumer-1| [thrd:main]: Topic {} is"
    (unread,) = read_lines("app.log", [line.format(*one) for one in enumerate(words)]).unread
    assert [times for _, times in unread.wordings] == [10, 9, 8, 7][:SHOWN]
    assert (unread.lines, unread.others) == (45, 11)


def test_producers_are_no_part_of_it() -> None:
    assert read_lines("app.log", ["%7|1.417|ANY|rdkafka#producer-1| [thrd:main]: Topic a is"]).unread == ()


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("2026-03-01 03:12:00,417 INFO [main] pykafka.balancedconsumer - Rebalancing consumer a of group b", ""),
        ("kafka-tool:ConsumerGroup Heartbeat error", "kafka-tool:ConsumerGroup"),
        ("[sarama-cluster] rebalance of the consumer group failed", "sarama-cluster"),
        ("2026-03-01 03:12:00 INFO GET /groups", None),
        ("2026-03-01 03:12:00 INFO com.acme.Login - the user is in group 4", None),
    ],
)
def test_a_program_that_is_not_known_is_named_as_its_lines_name_it(line: str, name: str | None) -> None:
    named = [(one.printed_by, one.is_known) for one in read_lines("app.log", [line]).unread]
    assert named == ([] if name is None else [(name or "pykafka.balancedconsumer", False)])


def test_and_not_beside_lines_that_are_read() -> None:
    lines = ["[Consumer clientId=a, groupId=g] (Re-)joining group", "acme.Kafka: a rebalance of the group began"]
    assert read_lines("app.log", lines).unread == ()


@pytest.mark.parametrize(
    ("message", "wording"),
    [
        ('Group "orders" heartbeat error in state up', "Group ... heartbeat error in state up"),
        ("Member orders-1-6c1d0b29 of [a-0, b-1], {c=[d-1]} failed", "Member ... of ... failed"),
        ("generation=12, member 'a b' at 10.0.0.7:9092", "generation=..., member ... at ..."),
        (f"{'word ' * 40}end", f"{'word ' * 13}word ..."),
        ('"a never closed', "..."),
    ],
)
def test_a_wording_has_no_names_and_numbers(message: str, wording: str) -> None:
    assert wording_of(message) == wording
