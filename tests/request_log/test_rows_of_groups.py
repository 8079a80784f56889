"""The rows that a replay writes are the facts that the stream reports of the same requests, however they come to it.

So what a replay leaves is what a coordinator would have left that was asked all this at the time.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.coordinator_udfs.settings import Clock, StreamSettings
from rollcall.inputs.request_log.group_rows import LONGEST_MS, ComparedRows
from rollcall.inputs.request_log.lines.clock import zone_of
from rollcall.inputs.request_log.parity import Parity
from rollcall.programs.settings import from_texts
from rollcall.schemas.effect_names import EffectName
from rollcall.schemas.effect_rows import EffectRow
from rollcall.schemas.messages import HeartbeatRequest, HeartbeatRunRequest, StreamRequest
from tests.examples import examples
from tests.nightly import nightly_but
from tests.request_log.fleet import Action, live
from tests.request_log.imported import Imported
from tests.request_log.played import actions, play
from tests.request_log.recordings import INCIDENTS, capture, incident
from tests.request_log.truth import BOTH_PROTOCOLS, NAMES
from tests.request_log.truth import FOLDER as CAPTURES
from tests.udf.stream import Stream, arrived
from tests.whole_log import WholeLog

OWN = sorted(path.name.partition(".")[0] for path in INCIDENTS.glob("*.log.gz"))
LOGS = [*NAMES, *BOTH_PROTOCOLS, *OWN]
SIZES = (7, 400, 20_000)
"""Requests a commit."""


@dataclass
class Written:
    """What a replay writes of a log."""

    requests: dict[str, list[StreamRequest]]
    facts: dict[str, list[EffectRow]]
    parity: Parity
    config: GroupConfig
    end_ms: int

    def assert_is_what_the_stream_reports(self, size: int) -> None:
        for group_id, facts in self.facts.items():
            reported = streamed(self.requests[group_id], self.config, self.end_ms, size)[group_id]
            assert taken_beats(reported) == taken_beats(facts), group_id
            assert list(others(reported)) == list(others(facts)), group_id


def taken_beats(rows: Iterable[EffectRow]) -> Counter[tuple[object, ...]]:
    """Every heartbeat that was answered NONE, alone or in a run: a stream cuts runs at timers."""
    found: Counter[tuple[object, ...]] = Counter()
    for row in rows:
        if row.effect == EffectName.HEARTBEATS_TAKEN:
            detail = json.loads(row.detail or "")
            for one in detail["taken"]:
                who = (one["member_id"], one["client_id"], row.generation_id, one["api_version"])
                found.update((detail["from_ms"] + beat, *who) for beat in one["beats"])
        elif is_taken_beat(row):
            found[row.at_ms, row.member_id, row.client_id, row.generation_id, row.api_version] += 1
    return found


def others(rows: Iterable[EffectRow]) -> Iterator[tuple[object, ...]]:
    """All other facts in order, but for their numbers, and what a heartbeat in a run is called.

    A stream that has forgotten a group numbers by requests.
    """
    for row in rows:
        if row.effect != EffectName.HEARTBEATS_TAKEN and not is_taken_beat(row):
            left_out = ("seq", "group_id", "request_id" if row.api == "Heartbeat" else "")
            yield tuple(getattr(row, name) for name in EffectRow.__struct_fields__ if name not in left_out)


def is_taken_beat(row: EffectRow) -> bool:
    return row.effect == EffectName.REPLY and row.api == "Heartbeat" and row.error_code == "NONE"


def written(path: Path) -> Written:
    log, parity = WholeLog(path, zone_of("UTC")), Parity()
    log.config = from_texts(GroupConfig, log.look_over().seen.shown())
    groups: defaultdict[str, ComparedRows] = defaultdict(lambda: ComparedRows(parity))
    log.follow(groups.__getitem__)
    for group in groups.values():
        group.close()
    requests = {group_id: group.requests for group_id, group in groups.items()}
    facts = {group_id: group.facts for group_id, group in groups.items()}
    return Written(requests, facts, parity, log.config, log.tally.last_at_ms or 0)


def path_of(name: str) -> Path:
    return INCIDENTS / f"{name}.log.gz" if name in OWN else CAPTURES / name


def log_of(name: str) -> Imported:
    return incident(name) if name in OWN else capture(name)


@cache
def of_log(name: str) -> Written:
    return written(path_of(name))


@pytest.mark.parametrize("size", nightly_but({400}, SIZES))
@pytest.mark.parametrize("name", LOGS)
def test_the_stream_reports_the_facts_that_are_written(name: str, size: int) -> None:
    of_log(name).assert_is_what_the_stream_reports(size)


@pytest.mark.parametrize("name", LOGS)
def test_every_answer_is_counted_as_if_it_stood_alone(name: str) -> None:
    ours, theirs = of_log(name).parity, log_of(name).parity
    assert (ours.equal, ours.different) == (theirs.equal, theirs.different)
    assert ours.compared == sum(request.recorded is not None for request in log_of(name).rows)


@settings(examples(15, 40), derandomize=True)
@given(
    plan=actions,
    has_static=st.booleans(),
    seed=st.integers(0, 99),
    late_ms=st.sampled_from([0.5, 5.0, 40.0]),
    size=st.integers(1, 300),
)
def test_whatever_members_do_the_stream_reports_what_is_written(
    plan: list[Action],
    has_static: bool,
    seed: int,
    late_ms: float,
    size: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    opening = [("start", i, 50 * i) for i in range(3)]
    folder = tmp_path_factory.mktemp("log")
    script = partial(live, plan=[*opening, *plan], has_static=has_static)
    play(script, folder, seed=seed, late_ms=late_ms)
    written(folder / "requests.log").assert_is_what_the_stream_reports(size)


@pytest.mark.parametrize("name", LOGS)
def test_rows_rise_and_stand_for_every_request_once(name: str) -> None:
    found = of_log(name)
    for group_id, facts in found.facts.items():
        keys = [(row.at_ms or 0, row.seq) for row in facts]
        assert keys == sorted(set(keys)), group_id
    held = sum(
        sum(len(one.beats) for one in request.members) if isinstance(request, HeartbeatRunRequest) else 1
        for request in chain.from_iterable(found.requests.values())
    )
    assert held == len(log_of(name).rows)


@pytest.mark.parametrize("name", LOGS)
def test_a_run_is_short_and_has_more_than_one_heartbeat(name: str) -> None:
    requests = chain.from_iterable(of_log(name).requests.values())
    runs = [request for request in requests if isinstance(request, HeartbeatRunRequest)]
    assert all(run.received_at_ms - run.from_ms <= LONGEST_MS for run in runs)
    assert all(sum(len(one.beats) for one in run.members) > 1 for run in runs)


def test_a_log_at_rest_needs_far_fewer_rows() -> None:
    beats = sum(isinstance(row.request, HeartbeatRequest) for row in capture("a-scale").rows)
    assert sum(map(len, of_log("a-scale").requests.values())) < len(capture("a-scale").rows) - beats * 0.4


def streamed(
    requests: Sequence[StreamRequest], config: GroupConfig, end_ms: int, requests_a_commit: int
) -> dict[str, list[EffectRow]]:
    """Facts by group that the stream reports of a log's requests, which are in order of time."""
    stream = Stream(StreamSettings(clock=Clock.EVENT, group=config.of_a_recording()))
    starts = range(0, len(requests), requests_a_commit)
    stream.events(arrived(*requests[start : start + requests_a_commit]) for start in starts)
    stream.watermark_ms = max(stream.watermark_ms, end_ms + 1)
    stream.batch(0)
    facts: dict[str, list[EffectRow]] = defaultdict(list)
    for effect in stream.effects:
        facts[effect["group_id"]].append(msgspec.convert(effect, EffectRow))
    return facts
