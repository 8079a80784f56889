"""A file is of the same kind for every command, whatever stands above the lines that show it."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from rollcall.__main__ import main
from rollcall.answers.sql.engine import ask
from rollcall.inputs.explained_files import DUMP, REQUEST_LOG, answer_of
from tests.offsets_topic.folded import CAPTURES
from tests.printed.recorded import BROKERS

OTHER = b"[2026-11-21 05:30:00,000] DEBUG Accepted a connection (kafka.network.Acceptor)\n"
OF_THE_CONSUMER = (
    "[2026-11-21 05:30:00,000] INFO [Consumer clientId=console-consumer, groupId=console-consumer-1] "
    "(Re-)joining group (org.apache.kafka.clients.consumer.internals.ConsumerCoordinator)\n"
)
BROKER = "a broker's log"


def requests_below_much_else() -> bytes:
    return OTHER * (3 * (1 << 20) // len(OTHER)) + gzip.decompress(
        (CAPTURES / "n-classic-mixed" / "requests.log.gz").read_bytes()
    )


def records_below_the_consumers_own_lines() -> bytes:
    return OF_THE_CONSUMER.encode() + gzip.decompress(
        (CAPTURES / "n-classic-mixed" / "offsets-topic.jsonl.gz").read_bytes()
    )


def brokers_lines_as_json_with_timestamps() -> bytes:
    lines = gzip.decompress((BROKERS / "d-kill.log.gz").read_bytes()).decode().splitlines()
    return "".join(json.dumps({"timestamp_ms": at, "message": line}) + "\n" for at, line in enumerate(lines)).encode()


def brokers_lines_with_one_that_a_client_forged() -> bytes:
    lines = gzip.decompress((BROKERS / "d-kill.log.gz").read_bytes()).splitlines(keepends=True)
    forged = b'{"partition":0,"offset":1,"timestamp_ms":1,"key":"AAA=","value":null}\n'
    return b"".join([lines[0], forged, *lines[1:]])


@pytest.mark.parametrize(
    ("content", "title"),
    [
        (requests_below_much_else, REQUEST_LOG),
        (records_below_the_consumers_own_lines, DUMP),
        (brokers_lines_as_json_with_timestamps, BROKER),
        (brokers_lines_with_one_that_a_client_forged, BROKER),
    ],
)
def test_what_explain_reads_replay_reads_as_the_same(content: Callable[[], bytes], title: str, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(content())
    answer = answer_of([str(file)], None)
    assert answer.reads[0].titles[0] == title
    explained = {group.group_id for group in answer.groups if group.rebalances}
    assert main(["replay", str(file), "--home", str(tmp_path / "home"), "--processes", "1"]) == 0
    replayed = {row[0] for row in ask(tmp_path / "home", "select distinct group_id from rebalances").rows}
    assert explained == replayed != set()
