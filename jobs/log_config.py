"""The settings of jobs whose input is a broker's request log, replayed or followed.

Their clock is the log's, and their broker's settings are those that the user gives or the log shows. Must not know how
a log is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.coordinator_udfs.settings import Clock
from rollcall.inputs.request_log.broker_settings import split_given
from rollcall.jobs.config import JobConfig, Writer
from rollcall.programs.settings import from_texts

WRITER: Writer = "driver"
OUT_OF_ORDER_MS = 86_400_000
"""How far rows of different groups may be apart in time, since rows of one group may be held back."""


def replay_config(settings: Mapping[str, str]) -> JobConfig:
    """A replay's. settings: the broker's; those of single groups are ignored. Raises ConfigError."""
    return _config(settings, upkeep_interval_ms=0)


def shadow_config(settings: Mapping[str, str]) -> JobConfig:
    """A shadow's, whose groups may be at different times; otherwise as replay_config."""
    return _config(settings, watermark_delay_ms=OUT_OF_ORDER_MS)


def _config(settings: Mapping[str, str], **more: Any) -> JobConfig:
    broker, _ = split_given(settings)
    return JobConfig(
        group=from_texts(GroupConfig, broker),
        clock=Clock.EVENT,
        source="request-log",
        source_tick_ms=0,
        effects_writer=WRITER,
        **more,
    )
