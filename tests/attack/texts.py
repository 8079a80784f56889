"""Hostile lines for the trace, and hostile rows of the request table for the coordinator's turns.

Watches that a trace ends with a sentence or an answer, and that no row breaks its group: what cannot be applied goes to
quarantine by its reason. Knows the two entrances, and requests as recorded logs have them.
"""

from __future__ import annotations

from functools import cache
from random import Random
from zoneinfo import ZoneInfo

import msgspec

from rollcall.coordinator_udfs.group_turns import take_turns
from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.coordinator_udfs.request_texts import arrival_of
from rollcall.coordinator_udfs.settings import Clock, StreamSettings
from rollcall.coordinator_udfs.state_codec import StateRow
from rollcall.coordinator_udfs.trace import TraceError, run
from rollcall.schemas.effect_rows import QUARANTINED
from rollcall.schemas.messages import ENVELOPE_FIELDS, GroupObservedRequest, GroupRequest
from rollcall.schemas.wire_fields import REPLAY_FIELDS, carried
from tests.attack.attacked import Attacked, Finding
from tests.attack.recorded_texts import LOGS, changed
from tests.whole_log import WholeLog

AT_MS = 1_772_359_200_000
STREAMS = (StreamSettings(clock=Clock.PROCESSING), StreamSettings(clock=Clock.EVENT))
TICKS = (1, 1000, 60_000, 600_000, 86_400_000, 3 * 10**12)
BROKEN = " broke: "


@cache
def recorded_requests() -> tuple[tuple[str, int, bytes], ...]:
    """(group, arrival, text) of every request in the small recorded logs, in order of time."""
    return tuple(
        (each.group_id, each.request.received_at_ms, _text(each.request))
        for path in LOGS
        for each in WholeLog(path, ZoneInfo("UTC"))
        if not isinstance(each.request, GroupObservedRequest)
    )


def _text(request: GroupRequest) -> bytes:
    """A request with the fields that its version carries, and with the ids that its broker chose."""
    fields = msgspec.to_builtins(request)
    names = ("api", *ENVELOPE_FIELDS, *REPLAY_FIELDS)
    envelope = {name: fields[name] for name in names if fields.get(name) is not None}
    return msgspec.json.encode({**envelope, **carried(request, request.api_version)})


class TraceLines(Attacked):
    """Traces of some recorded requests, a few of them changed, with time that passes in between."""

    name = "trace-lines"
    slow_s = 5.0

    def __init__(self) -> None:
        self._refused = 0
        self._reported = 0

    def case(self, random: Random) -> bytes:
        requests = recorded_requests()
        first = random.randrange(len(requests))
        taken = requests[first : first + random.choice((3, 10, 40))]
        pool = [text for _, _, text in taken]
        lines, at_ms = [], 0
        for text in pool:
            known = msgspec.json.decode(text)
            for name in ("received_at_ms", "request_seq", "principal", "connection"):
                known.pop(name, None)
            at_ms += random.choice((0, 0, 1, 10, 1000, 20_000))
            line = msgspec.json.encode({"at_ms": at_ms, **known})
            lines.append(changed(random, line, pool) if random.random() < 0.1 else line)
            if random.random() < 0.1:
                at_ms += random.choice(TICKS)
                lines.append(msgspec.json.encode({"at_ms": at_ms, "api": "Tick"}))
        return b"\n".join(lines)

    def play(self, case: bytes) -> int:
        lines = case.split(b"\n")
        try:
            for line in run(lines, GroupConfig(), with_effects=True):
                msgspec.json.encode(line)
                self._reported += 1
        except TraceError:
            self._refused += 1
        return len(lines)

    def figures(self) -> str:
        return f"{self._refused} traces refused, {self._reported} lines reported"


class RequestRows(Attacked):
    """Rows of one group after the other, some of them changed, through the turns of both clocks."""

    name = "request-rows"
    slow_s = 2.0

    def __init__(self) -> None:
        self._quarantined = 0
        self.renew()

    def renew(self) -> None:
        self._stored: list[dict[str, StateRow | None]] = [{} for _ in STREAMS]
        self._at_ms = AT_MS

    def case(self, random: Random) -> bytes:
        requests = recorded_requests()
        first = random.randrange(len(requests))
        group_id = requests[first][0]
        texts = [text for of, _, text in requests[first : first + 40] if of == group_id][: random.choice((1, 3, 10))]
        reported = [changed(random, text, texts) if random.random() < 0.3 else text for text in texts]
        return msgspec.json.encode(
            [group_id, random.choice(TICKS[:4]), [text.decode("utf-8", "replace") for text in reported]]
        )

    def play(self, case: bytes) -> int:
        group_id, passes_ms, texts = msgspec.json.decode(case, type=tuple[str, int, list[str]])
        self._at_ms += passes_ms
        for stored, settings in zip(self._stored, STREAMS, strict=True):
            arrivals = [at_ms for text in texts if (at_ms := arrival_of(text)) is not None]
            at_ms = self._at_ms if settings.clock is Clock.PROCESSING else max(arrivals, default=AT_MS)
            outcome = take_turns(group_id, texts, stored.get(group_id), at_ms, settings)
            stored[group_id] = outcome.row
            self._quarantined += sum(row.effect == QUARANTINED for row in outcome.rows)
            broken = next((row.cause for row in outcome.rows if BROKEN in (row.cause or "")), None)
            if broken is not None:
                raise Finding(f"a row breaks its group: {broken.strip().splitlines()[-1]}")
        return len(texts)

    def figures(self) -> str:
        return f"{self._quarantined} in quarantine"
