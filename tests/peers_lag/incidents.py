"""What is done to the groups of a play while they work: members are killed, slow, stuck, away, and logs change.

Knows fleets; must not know what Rollcall reports of it.
"""

from __future__ import annotations

from confluent_kafka import TopicPartition
from confluent_kafka.admin import NewPartitions  # type: ignore[attr-defined]

from tests.peers_lag.play import RECORDS_PER_S, Play, go_on_for
from tests.waiting import until

AWAY_S = 6
SLOW_FOR_S = 12
REMOVED_BELOW = 100


def kill_a_member(play: Play, group: str) -> None:
    """Kills the first right after a commit, so that all that it committed is in its own records."""
    (killed, other) = play.fleets[group].workers
    before = len(killed.progress)
    until(lambda: len(killed.progress) > before, f"a commit of {killed.client_id}")
    killed.kill()
    play.fleets[group].await_shares([other], len(play.places[group]))


def deploy(play: Play, group: str) -> None:
    """Each member in turn leaves, and a new one takes its place."""
    for worker in list(play.fleets[group].workers):
        worker.close()
        play.start(group)
        play.await_shared(group)


def stop_and_return(play: Play, group: str) -> None:
    """Nobody works for some seconds."""
    for worker in play.living(group):
        worker.close()
    go_on_for(AWAY_S)
    play.start(group)
    play.start(group)
    play.await_shared(group)


def add_a_partition(play: Play, group: str) -> None:
    play.admin.create_partitions([NewPartitions(group, len(play.places[group]) + 1)])[group].result(30)
    play.places[group].append((group, len(play.places[group])))
    play.produce(group)
    play.await_shared(group)


def be_slow_and_stuck(play: Play, group: str) -> None:
    """Of partition 0 half of what comes is committed, of 1 soon nothing; of 2 records are removed unread.

    Of 0 it begins where the log ends now: where it ended before the shadow looked, no lag in time is known. In the end
    of no partition anything is committed.
    """
    half = RECORDS_PER_S // len(play.places[group]) // 2
    end = play.samples.samples[-1].ends[group, 0]
    play.commit(group, 3, 1)
    for second in range(1, SLOW_FOR_S + 1):
        play.commit(group, 0, end + second * half)
        if second <= SLOW_FOR_S // 2:
            play.commit(group, 1, second * half)
            play.commit(group, 2, second)
        if second == SLOW_FOR_S // 2:
            removed = TopicPartition(group, 2, REMOVED_BELOW)
            play.admin.delete_records([removed])[removed].result(30)
        go_on_for(1)
