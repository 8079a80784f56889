"""What Rollcall says of a storm on a real Kafka, from each recording of it: held to the others and to what was done.

STORM_SEED names another storm. A cause is certain if it is not unknown, not inferred and not one of several.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import NamedTuple
from zoneinfo import ZoneInfo

import pytest

from rollcall.answers.sql.engine import ask
from rollcall.cli.check import broken_rules
from rollcall.cli.replay import make_history
from rollcall.inputs.replay.inputs import input_of
from rollcall.tables.home import Home
from tests.peers_kafka.storm import SESSIONS_MS, Member, Recorded, Span, Storm
from tests.replayed import QUIET

SEED = int(os.environ.get("STORM_SEED", "1"))
INPUTS = {"log": ("log",), "topic": ("topic",), "server": ("server",), "log and topic": ("log", "topic")}
SLACK_MS = 3_000
"""How much later than an act Kafka may notice it besides a session. A log's times may be 2 s early."""
KNOWN_SHARE = {"log": 0.03, "log and topic": 0.02}
"""Of what an input has as certain, how much another contradicts at most. By a log that does not say how long the
sessions of the newer protocol are, a certain cause may stand one epoch beside its own.
"""
SEEN_SHARE = 0.75
"""Of the changes of a group's type, how many a log shows at least."""
REBALANCES = """
  select group_id, from_generation_id, to_generation_id, cause, coalesce(cause_client_id, '') as client_id, outcome,
    unix_millis(coalesce(started_at, known_from, ended_at)) as from_ms,
    unix_millis(coalesce(ended_at, started_at, known_from)) as to_ms
  from rebalances where to_generation_id is not null and cause <> 'unknown' and not is_inferred
    and size(cause_candidates) = 0
  order by group_id, from_ms, to_generation_id
"""
CONVERSIONS = """
  select group_id, to_type, count(*) as times
  from (
    select group_id, get_json_object(detail, '$.to_type') as to_type from effects
    where effect = 'group_type_changed' and get_json_object(detail, '$.from_type') is not null
  )
  group by group_id, to_type order by group_id, to_type
"""


class Reported(NamedTuple):
    """A rebalance whose cause an input has as certain."""

    group_id: str
    from_generation_id: int
    to_generation_id: int
    cause: str
    client_id: str
    outcome: str | None
    from_ms: int
    to_ms: int

    @property
    def between(self) -> tuple[str, int, int]:
        return self[:3]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return Storm(tmp_path_factory.mktemp("storm"), SEED).play()


@pytest.fixture(scope="module")
def homes(recorded: Recorded, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Home]:
    return homes_of(recorded, tmp_path_factory.mktemp("homes"))


def homes_of(recorded: Recorded, folder: Path) -> dict[str, Home]:
    """A home of each of INPUTS."""
    made = {name: Home(folder / name.replace(" ", "-")) for name in INPUTS}
    for name, files in INPUTS.items():
        made_of = input_of([getattr(recorded, each) for each in files], {}, ZoneInfo("UTC"))
        make_history(made[name], made_of, QUIET, processes=1)
    return made


def causes_of(home: Home) -> list[Reported]:
    return [Reported(*row) for row in ask(home.path, REBALANCES).rows]


def compared(homes: dict[str, Home]) -> Iterator[tuple[str, str, Reported, Reported]]:
    """What two inputs are both certain of: a rebalance between the same generations at about one time. One that a group
    had twice, as one that began anew, is left out.
    """
    by_input: dict[str, dict[tuple[str, int, int], Reported]] = {}
    for name, home in homes.items():
        reported = causes_of(home)
        times = Counter(one.between for one in reported)
        by_input[name] = {one.between: one for one in reported if times[one.between] == 1}
    for first, second in combinations(by_input, 2):
        for between in sorted(by_input[first].keys() & by_input[second].keys()):
            one, other = by_input[first][between], by_input[second][between]
            if abs(one.to_ms - other.to_ms) < SLACK_MS:
                yield first, second, one, other


def contradict(one: Reported, other: Reported, recorded: Recorded) -> bool:
    """Whether the causes differ, or the culprits where both name one: a broker's log may name an instance."""
    members = [recorded.members.get(each.client_id) for each in (one, other) if each.client_id]
    names = {each.client_id for each in (one, other) if each.client_id}
    names = {member.act.instance_id or member.act.client_id for member in members if member} | (
        names - recorded.members.keys()
    )
    return one.cause != other.cause or len(names) > 1


def untrue(reported: Reported, recorded: Recorded) -> str:
    """Why a cause cannot be, by what was done; empty: it may be."""
    if reported.cause == "metadata_changed":
        return "" if any(each.from_ms <= reported.to_ms for each in recorded.grown) else "no topic had grown"
    members = [
        one for one in recorded.members.values() if reported.client_id in (one.act.client_id, one.act.instance_id)
    ]
    if not reported.client_id:
        return ""
    if not any(one.started_ms <= reported.to_ms + SLACK_MS for one in members):
        return "no such member had been started"
    if reported.cause == "member_left" and not any(
        one.closed and one.closed.from_ms <= reported.to_ms for one in members
    ):
        return "its culprit had not been closed"
    if reported.cause in ("session_expired", "rebalance_timeout"):
        return "" if any(_was_silent(reported, one, recorded) for one in members) else "its culprit had not been silent"
    return ""


def _was_silent(reported: Reported, member: Member, recorded: Recorded) -> bool:
    """Whether a member may have sent nothing, or none heard it. A static member that is closed does not leave, nor does
    one that has not been answered yet.
    """
    silences = [*member.stalls, *recorded.restarts]
    if member.killed_ms is not None:
        silences.append(Span(member.killed_ms, reported.to_ms))
    if closed := member.closed:
        does_not_leave = bool(member.act.instance_id) or closed.from_ms < member.started_ms + SLACK_MS
        if does_not_leave or any(closed.touches(each.from_ms, each.to_ms) for each in silences):
            silences.append(Span(closed.from_ms, reported.to_ms))
    return any(each.touches(reported.from_ms - max(SESSIONS_MS) - SLACK_MS, reported.to_ms) for each in silences)


@pytest.mark.nightly
@pytest.mark.parametrize("name", INPUTS)
def test_no_row_is_one_that_cannot_be(homes: dict[str, Home], name: str) -> None:
    broken = {rule.name: rows[:3] for rule, rows in broken_rules(homes[name])}
    assert broken == {}


@pytest.mark.nightly
@pytest.mark.parametrize("name", INPUTS)
def test_no_certain_cause_is_another_than_what_was_done(recorded: Recorded, homes: dict[str, Home], name: str) -> None:
    reported = causes_of(homes[name])
    assert len(reported) > 50
    assert [(one, why) for one in reported if (why := untrue(one, recorded))] == []


@pytest.mark.nightly
@pytest.mark.parametrize("pair", list(combinations(INPUTS, 2)), ids=" - ".join)
def test_two_inputs_are_certain_of_the_same_causes(
    recorded: Recorded, homes: dict[str, Home], pair: tuple[str, str]
) -> None:
    both = list(compared({name: homes[name] for name in pair}))
    wrong = [each for each in both if contradict(*each[2:], recorded)]
    assert len(both) > 30
    assert len(wrong) <= max(KNOWN_SHARE.get(name, 0) for name in pair) * len(both), wrong


@pytest.mark.nightly
def test_each_input_has_the_same_conversions(homes: dict[str, Home]) -> None:
    """A group that becomes classic and back while no classic member sends anything leaves no line of that: a log alone
    may miss such ones.
    """
    found = {name: {row[:2]: row[2] for row in ask(home.path, CONVERSIONS).rows} for name, home in homes.items()}
    assert found["topic"]
    assert found["server"] == found["log and topic"] == found["topic"]
    assert found["log"].keys() <= found["topic"].keys()
    assert sum(found["log"].values()) >= SEEN_SHARE * sum(found["topic"].values())
