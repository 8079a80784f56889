"""Clients' logs that grow: what is read of them is what is read of the whole, and it is read while they grow."""

from __future__ import annotations

import json
from itertools import chain

import pytest

from rollcall.inputs.printed.growing_log import GrowingLog
from rollcall.inputs.printed.reading import read_lines

JOINS = "[Consumer clientId=a, groupId=orders] {}"
MEMBER = "Generation{{generationId={}, memberId='a-1', protocol='range'}}"
MOVED = [
    *("(Re-)joining group", f"Successfully joined group with generation {MEMBER}"),
    *(f"Successfully synced group in generation {MEMBER}", "Adding newly assigned partitions: orders-0"),
]
TEXTS = [JOINS.format(text.format(generation)) for generation in range(1, 4) for text in MOVED]
DATED = [f"2026-03-01T03:12:00.{place:03}Z" for place in range(len(TEXTS))]
FIELDS = [{"@timestamp": at, "message": text, "level": "INFO"} for at, text in zip(DATED, TEXTS, strict=True)]
CLIENTS = {
    "text": [f"{at} INFO {text}" for at, text in zip(DATED, TEXTS, strict=True)],
    "without a time": TEXTS,
    "in a container": [f"app-1  | {at} INFO {text}" for at, text in zip(DATED, TEXTS, strict=True)],
    "JSON": [json.dumps(fields) for fields in FIELDS],
    "JSON over lines": [line for fields in FIELDS for line in json.dumps(fields, indent=2).split("\n")],
    "under headings": [
        *("consumer 1:", *(f"{at} INFO {text}" for at, text in zip(DATED, TEXTS, strict=True))),
        *("consumer 2:", *(f"{at} INFO {text}" for at, text in zip(DATED, TEXTS, strict=True))),
    ],
    "an export": [
        "@timestamp,pod,@message",
        *(f'{at},{pod},"{text}"' for pod in ("p1", "p2") for at, text in zip(DATED, TEXTS, strict=True)),
    ],
}


@pytest.mark.parametrize("name", CLIENTS)
@pytest.mark.parametrize("at_once", [1, 2, 3, 1_000])
def test_a_log_that_never_pauses_says_what_it_says_at_once(name: str, at_once: int) -> None:
    lines, log = [*enumerate(CLIENTS[name], 1)], GrowingLog("app.log", None)
    pieces = (lines[start : start + at_once] for start in range(0, len(lines), at_once))
    grown = [*chain.from_iterable(log.read(piece, is_pause=False).facts for piece in pieces)]
    waiting = log.read([], is_pause=True).facts
    assert grown + waiting == read_lines("app.log", CLIENTS[name]).facts
    assert 1 <= len(waiting) <= 2
