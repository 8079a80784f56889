"""What holds of every group whatever its clients do, in whatever order and at whatever times."""

from __future__ import annotations

from hypothesis import given

from coordinator_udfs.protocol.config import GroupConfig
from tests.protocol.invariants_moves import Move, configs, plays
from tests.protocol.invariants_play import Play
from tests.protocol.invariants_watch import Watch


@given(config=configs, moves=plays)
def test_every_invariant_holds_after_every_request_and_every_deadline(config: GroupConfig, moves: list[Move]) -> None:
    Play(config, Watch()).make(moves)
