"""A group that is written to its state document and read back is the same group, at any moment of its life."""

from __future__ import annotations

from hypothesis import given

from coordinator_udfs import state_codec
from coordinator_udfs.protocol.config import GroupConfig
from coordinator_udfs.protocol.group import Group
from tests.protocol.invariants_moves import Move, configs, plays
from tests.protocol.invariants_play import GROUP_ID, Play, apply
from tests.protocol.invariants_watch import assert_sound, deadlines


@given(config=configs, moves=plays)
def test_a_group_written_and_read_between_any_two_calls_behaves_as_if_it_had_stayed_in_memory(
    config: GroupConfig, moves: list[Move]
) -> None:
    stays, stored = Group(GROUP_ID), Group(GROUP_ID)
    for call in Play(config).make(moves).calls:
        assert apply(stored, call, config) == apply(stays, call, config)
        if not stored.is_known:
            stored = Group(GROUP_ID)
            continue
        row = state_codec.encode(stored)
        assert row.next_deadline_ms == min(deadlines(stored))
        assert (row.state, row.generation_id, row.leader_id) == (stays.state, stays.generation_id, stays.leader_id)
        assert row.member_count == len(stays.members)
        stored = state_codec.decode(GROUP_ID, row.document)
        assert_sound(stored)
        assert state_codec.encode(stored) == row
