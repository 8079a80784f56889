"""What a finished log's history is, and how it differs from a shadow's rows: each heartbeat of a run counts.

Knows facts as tables hold them. Must not know how a shadow is run.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.programs.settings import from_texts
from rollcall.schemas.effects import Reply
from tests.request_log.core_replay import Replay
from tests.whole_log import WholeLog

Answers = Counter[tuple[str, str, int, str]]
"""Group, request, time and error; a heartbeat, which may have come in a run, goes by its member."""


def expected(path: Path) -> tuple[Answers, int]:
    """Every answer of the finished log, and how many facts there are in all."""
    log = WholeLog(path, ZoneInfo("UTC"))
    log.config = from_texts(GroupConfig, log.look_over().seen.shown())
    effects = list(Replay(log.config).run(list(log), log.tally.last_at_ms))
    answers = Counter(
        (group_id, _named(e.api, e.request_id, e.member_id), e.at_ms, str(e.error_code))
        for group_id, e in effects
        if isinstance(e, Reply)
    )
    return answers, len(effects)


def _named(api: object, request_id: object, member_id: object) -> str:
    return str(member_id) if api == "Heartbeat" else str(request_id).rpartition(":")[2]


def each_heartbeat(fact: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The fact; of a run that was taken, the answer to each heartbeat."""
    if fact["effect"] != "heartbeats_taken":
        yield fact
        return
    reported = json.loads(fact["detail"])
    for member in reported["taken"]:
        for beat in member["beats"]:
            answer = {"effect": "reply", "api": "Heartbeat", "error_code": "NONE", "cause": None}
            yield fact | answer | {"member_id": member["member_id"], "at_ms": reported["from_ms"] + beat}


def answers_in(facts: Iterable[dict[str, Any]]) -> Answers:
    """The answers among facts in which runs are taken apart (`each_heartbeat`)."""
    return Counter(
        (e["group_id"], _named(e["api"], e["request_id"], e["member_id"]), e["at_ms"], e["error_code"])
        for e in facts
        if e["effect"] == "reply"
    )
