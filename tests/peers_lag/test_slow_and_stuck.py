"""What is reported of a group that is slow, of a partition that stands still, and of records removed unread."""

from __future__ import annotations

from tests.peers_lag.conftest import SLOW, Played
from tests.peers_lag.incidents import REMOVED_BELOW, SLOW_FOR_S


def test_only_the_partitions_whose_commits_stand_are_held_and_not_moving(played: Played) -> None:
    """Partition 3 was committed once: of it nobody knows how often it usually is."""
    held = {(row.group_id, row.partition) for row in played.views.rows("held_not_moving")}
    assert held == {(SLOW, 0), (SLOW, 1), (SLOW, 2)}


def test_records_removed_unread_are_lost(played: Played) -> None:
    lost = {(row.group_id, row.partition): row.records_lost for row in played.views.rows("records_lost")}
    assert lost == {(SLOW, 2): REMOVED_BELOW - SLOW_FOR_S // 2}
