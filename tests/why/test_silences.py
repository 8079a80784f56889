"""No member outlives its session, in a recorded incident or in any life of a group of either protocol or both, whose
coordinator loads it anew in between.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollcall.answers.why.slack import gaps_of, is_expiry
from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.history.facts import Fact, effects_in, facts_of
from rollcall.history.holdings import holdings_of
from rollcall.history.members import memberships_of
from rollcall.schemas.effect_rows import row_of
from rollcall.schemas.effects import Effect
from tests.protocol.consumer_moves import configs, consumer_play, plays
from tests.protocol.play import Move
from tests.request_log.recordings import incident
from tests.why.reading import as_columns


def read_back(effects: Iterable[Effect]) -> list[Fact]:
    return facts_of(as_columns(row_of(effect, seq)) for seq, effect in enumerate(effects))


def outlived(facts: list[Fact]) -> list[tuple[str, int, int]]:
    """Member, silence and session of each silence that is longer than its member's session was then, though that went
    on.
    """
    expired = {(fact.member_id, fact.at_ms) for fact in facts if is_expiry(fact)}
    memberships = memberships_of(effects_in(facts))
    return [
        (gap.member_id, gap.length_ms, session_ms)
        for gap in gaps_of(facts)
        for one in memberships
        if one.member_id == gap.member_id and one.is_member_in(gap.from_ms + 1, gap.to_ms - 1)
        if (session_ms := one.session_until(gap.to_ms)) is not None
        if (gap.member_id, gap.to_ms) not in expired and gap.length_ms > session_ms
    ]


@pytest.mark.parametrize("name", ["failover", "night", "dawn", "conversions", "sessions-changed"])
def test_no_member_of_a_recorded_incident_outlives_its_session(name: str) -> None:
    effects = incident(name).effects
    for group_id in dict(effects):
        assert outlived(read_back(effect for of, effect in effects if of == group_id)) == [], group_id


@given(config=configs, before=plays, away_ms=st.sampled_from((0, 1000, 60_000)), after=plays)
def test_no_member_outlives_its_session_and_no_partition_has_two_owners(
    config: GroupConfig, before: list[Move], away_ms: int, after: list[Move]
) -> None:
    play = consumer_play(config).make(before)
    play.now_ms += away_ms
    play.load()
    facts = read_back(play.make(after).effects)
    assert outlived(facts) == []
    held = sorted(holdings_of(effects_in(facts)), key=lambda one: (one.partition, one.from_ms))
    assert not [
        (one, two)
        for one, two in pairwise(held)
        if one.partition == two.partition and one.member_id != two.member_id and (one.to_ms or 2**60) > two.from_ms
    ]
