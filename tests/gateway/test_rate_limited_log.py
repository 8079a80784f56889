"""A log line that would come without end comes some times, and then its number does."""

from __future__ import annotations

import logging

import pytest

from rollcall.serve.gateway.server import LOG_KINDS_MAX, LOG_LINES, LOG_PERIOD_S, RateLimitedLog
from tests.gateway.running import asynchronous, gateway
from tests.gateway.wire_client import heartbeat


def record(text: str, *values: object) -> logging.LogRecord:
    return logging.LogRecord("gateway", logging.INFO, "file", 1, text, values, None)


def test_the_lines_of_one_kind_are_limited_and_those_of_another_are_not() -> None:
    sparing = RateLimitedLog(lambda: 0.0)
    let_through = [number for number in range(1000) if sparing.filter(record("%s: closed", number))]
    assert let_through == list(range(LOG_LINES))
    assert sparing.filter(record("something else"))


def test_lines_that_differ_only_further_on_are_of_one_kind() -> None:
    sparing = RateLimitedLog(lambda: 0.0)
    texts = [f"Fatal error on transport\nprotocol: <Protocol {number}>" for number in range(1000)]
    assert sum(sparing.filter(record(text)) for text in texts) == LOG_LINES


def test_kinds_without_end_take_no_room_without_end() -> None:
    sparing = RateLimitedLog(lambda: 0.0)
    for number in range(10 * LOG_KINDS_MAX):
        sparing.filter(record(f"{number} is a kind of its own"))
    assert len(sparing._kinds) <= LOG_KINDS_MAX


def test_after_a_while_their_number_is_logged() -> None:
    now = 0.0
    sparing = RateLimitedLog(lambda: now)
    for number in range(1000):
        sparing.filter(record("%s: closed", number))
    now += LOG_PERIOD_S
    again = record("%s: closed", "x")
    assert sparing.filter(again)
    assert again.getMessage() == f"x: closed (and {1000 - LOG_LINES} more such lines before)"
    now += LOG_PERIOD_S
    last = record("%s: closed", "y")
    assert sparing.filter(last)
    assert last.getMessage() == "y: closed"


@asynchronous
async def test_one_bad_client_after_another_writes_few_lines(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with gateway() as running:
        running.backend.raises = RuntimeError("a bug of ours")
        for _ in range(LOG_LINES * 3):
            client = await running.client()
            client.send("Heartbeat", 4, **heartbeat())
            assert await client.is_closed_by_peer()
    assert sum(record.exc_info is not None for record in caplog.records) == LOG_LINES
    assert len(caplog.records) < LOG_LINES * 3
