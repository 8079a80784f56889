"""Which version of Kafka a broker prints of itself, and that nobody takes a client's for it."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from rollcall.inputs.printed.broker_version import broker_version_in
from rollcall.inputs.printed.lines.files import BLOCK_BYTES
from tests.printed.recorded import KAFKA_4_4

AT = "[2026-11-29 04:40:00,944] INFO "
OF_4_4 = f"""{AT}Kafka version: 4.4.0 (org.apache.kafka.common.utils.internals.AppInfoParser)
{AT}Kafka commitId: 1156b2752aaa28ea (org.apache.kafka.common.utils.internals.AppInfoParser)
{AT}Kafka startTimeMs: 1795927200943 (org.apache.kafka.common.utils.internals.AppInfoParser)
{AT}[KafkaRaftServer nodeId=1] Kafka Server started (kafka.server.KafkaRaftServer)
"""
OF_2_8 = f"""{AT}Kafka version: 2.8.1 (org.apache.kafka.common.utils.AppInfoParser)
{AT}Kafka commitId: 839b886f9b732b15 (org.apache.kafka.common.utils.AppInfoParser)
{AT}Kafka startTimeMs: 1 (org.apache.kafka.common.utils.AppInfoParser)
{AT}[KafkaServer id=0] started (kafka.server.KafkaServer)
"""
OF_A_CLIENT = f"{AT}Kafka version: 3.9.2 (org.apache.kafka.common.utils.AppInfoParser)\n"
OTHER = f"{AT}[BrokerServer id=1] Waiting for all of the authorizer futures (kafka.server.BrokerServer)\n"


@pytest.mark.parametrize(
    ("text", "version"),
    [
        (OF_4_4, (4, 4)),
        (OF_2_8, (2, 8)),
        (OF_A_CLIENT + OTHER * 9 + OF_4_4, (4, 4)),
        (OF_4_4.replace("4.4.0", "4.3.1") + OTHER + OF_4_4, (4, 3)),
        (OF_A_CLIENT + OTHER * 9, None),
        (OTHER * 9 + "Kafka Server started\n", None),
        ("", None),
    ],
)
def test_it_is_that_of_the_first_start(text: str, version: tuple[int, int] | None, tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text(text)
    assert broker_version_in([str(log)]) == version


def test_its_lines_may_lie_in_two_blocks(tmp_path: Path) -> None:
    log = tmp_path / "server.log.gz"
    near = BLOCK_BYTES // len(OTHER)
    for lines in range(near - 4, near + 2):
        log.write_bytes(gzip.compress((OTHER * lines + OF_4_4).encode()))
        assert broker_version_in([str(log)]) == (4, 4), lines


@pytest.mark.parametrize("log", sorted(KAFKA_4_4.iterdir()), ids=lambda log: log.name)
def test_a_recorded_broker_says_it(log: Path) -> None:
    assert broker_version_in([str(log)]) == (4, 4)
