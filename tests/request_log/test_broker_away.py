"""A broker that goes down hard writes no line for any group until it is back: nobody's session ended by that.

Knows the broker of these tests, and both importers.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.inputs.request_log.lines.connections import NOT_YET_MS, Connections, Open, Restart
from rollcall.schemas.effects import MemberRemoved, RebalanceStarted
from tests.request_log.broker import START_MS, Broker
from tests.request_log.fleet import MemberOf
from tests.request_log.imported import Imported, imported, rebalances_in
from tests.shadow.fed import Feed, effects_of, lines_of

CRASH_MS, DOWN_MS = 20_000, 25_000
BACK_MS = START_MS + CRASH_MS + DOWN_MS
END_MS = 70_000


def stage(groups: int, members: int = 3, seed: int = 0) -> tuple[Broker, dict[str, list[MemberOf]]]:
    """A broker that is down for four sessions, and members that come back to it."""
    broker = Broker(seed=seed)
    fleet = {f"g{n}": [MemberOf(broker, f"g{n}", f"g{n}-m{i}") for i in range(members)] for n in range(groups)}
    for place, member in enumerate(member for group in fleet.values() for member in group):
        broker.at(START_MS + 100 * place, member.start)
    broker.at(START_MS + CRASH_MS, lambda: broker.crash(DOWN_MS))
    return broker, fleet


def rebalances(found: Imported | Feed, group_id: str) -> list[tuple[int, str, str]]:
    if isinstance(found, Imported):
        return found.rebalances(group_id)
    effects = effects_of(found.rows, GroupConfig(), found.live.tally.last_at_ms)
    return rebalances_in([(group_id, effect) for effect in effects[group_id]], group_id)


def read(broker: Broker, folder: Path) -> list[Imported | Feed]:
    broker.run(START_MS + END_MS)
    path = broker.write(folder / "requests.log")
    return [imported(path), Feed(GroupConfig()).feed(lines_of(path)).end()]


@pytest.mark.parametrize("groups", [1, 4])
@pytest.mark.parametrize("seed", range(4))
def test_groups_that_come_back_go_on_as_they_were(groups: int, seed: int, tmp_path: Path) -> None:
    broker, fleet = stage(groups, seed=seed)
    for found in read(broker, tmp_path):
        for group_id in fleet:
            assert rebalances(found, group_id) == rebalances_in(broker.effects, group_id)
    assert imported(tmp_path / "requests.log").parity.share == 1.0


@pytest.mark.parametrize("groups", [1, 4])
@pytest.mark.parametrize("seed", range(4))
def test_who_died_meanwhile_expires_a_session_after_the_broker_is_back(groups: int, seed: int, tmp_path: Path) -> None:
    broker, fleet = stage(groups, seed=seed)
    broker.at(START_MS + CRASH_MS + 5_000, fleet["g0"][1].kill)
    for found in read(broker, tmp_path):
        reported = rebalances(found, "g0")
        assert reported == rebalances_in(broker.effects, "g0")
        assert reported[-1][1:] == ("session_expired", fleet["g0"][1].member_id)
    whole = imported(tmp_path / "requests.log")
    (gone,) = whole.of_group("g0", MemberRemoved)
    (*_, started) = whole.of_group("g0", RebalanceStarted)
    assert gone.at_ms == started.at_ms
    assert BACK_MS + 5_000 < started.at_ms < BACK_MS + 8_000


@pytest.mark.parametrize("seed", range(4))
def test_a_group_that_never_comes_back_expires_after_the_broker_is_back(seed: int, tmp_path: Path) -> None:
    broker, fleet = stage(4, seed=seed)
    for member in fleet["g3"]:
        broker.at(START_MS + CRASH_MS + 1_000, member.kill)
    for found in read(broker, tmp_path):
        rows = found.rows
        effects = effects_of(rows, GroupConfig(), START_MS + END_MS)["g3"]
        removed = [effect.at_ms for effect in effects if isinstance(effect, MemberRemoved)]
        assert len(removed) == 3
        assert all(BACK_MS + 5_000 < at_ms < BACK_MS + 8_000 for at_ms in removed)


def test_members_that_stood_still_together_and_are_reported_that_they_expired_did_expire(tmp_path: Path) -> None:
    """Their broker was there all the while: it answers UNKNOWN_MEMBER_ID."""
    broker = Broker()
    fleet = {f"g{n}": [MemberOf(broker, f"g{n}", f"g{n}-m{i}") for i in range(2)] for n in range(2)}
    for place, member in enumerate(member for group in fleet.values() for member in group):
        broker.at(START_MS + 100 * place, member.start)
        broker.at(START_MS + CRASH_MS, partial(member.stall, DOWN_MS))
    for found in read(broker, tmp_path):
        for group_id in fleet:
            assert rebalances(found, group_id) == rebalances_in(broker.effects, group_id)
            assert "session_expired" in [cause for _, cause, _ in rebalances(found, group_id)]


def test_members_whose_timeouts_no_line_shows_come_back_as_well(tmp_path: Path) -> None:
    """The log begins after they joined: how long their sessions are is not known, so none ends."""
    broker, fleet = stage(2)
    broker.run(START_MS + END_MS)
    lines = [text for at_ms, text in sorted(broker.lines) if at_ms > START_MS + 10_000]
    path = tmp_path / "late.log"
    path.write_text("".join(f"{text}\n" for text in lines))
    found = imported(path)
    for group_id in fleet:
        assert found.of_group(group_id, MemberRemoved) == []
        assert len(found.groups[group_id].members) == 3
    assert found.parity.share == 1.0


# ---------------------------------------------------------------- connections that show that a process began anew


def connections(*requests: tuple[str, int, int]) -> Connections:
    """Requests of clients: `port-thread-number`, when they arrived and when they were answered."""
    made = Connections()
    for name, arrived_ms, answered_ms in requests:
        made.note(f"10.0.0.1:9092-10.0.1.7:{name}", Open(arrived_ms, answered_ms))
    return made


def test_a_number_that_is_given_again_shows_a_restart() -> None:
    made = connections(("1-0-0", 0, 1), ("2-0-1", 500, 1_000), ("3-0-0", 3_000, 3_001), ("4-1-0", 3_500, 4_000))
    assert made.restarts() == [Restart(1_000, 3_000, NOT_YET_MS)]
    assert made.restarts()[0].until_ms == 3_000


def test_it_lasts_until_a_group_is_loaded() -> None:
    made = connections(("1-0-0", 0, 1), ("3-0-0", 3_000, 3_001))
    made.note("10.0.0.1:9092-10.0.1.7:3-0-0", Open(3_900, 3_901, 3_900))
    assert made.restarts()[0].until_ms == 3_900


def test_a_connection_that_was_open_meanwhile_disproves_it() -> None:
    made = connections(("1-0-0", 0, 1), ("2-0-1", 0, 5_000), ("3-0-0", 3_000, 3_001))
    assert made.restarts() == []


def test_of_several_times_none_is_shown() -> None:
    made = connections(("1-0-0", 0, 1), ("2-0-1", 1_000, 1_001), ("3-0-0", 3_000, 3_001))
    assert made.restarts() == []


def test_a_number_without_a_thread_is_given_by_several() -> None:
    """Before Kafka 1.0 a line names no thread, and each counts by itself."""
    made = connections(("1-0", 0, 1), ("2-0", 3_000, 3_001))
    assert made.restarts() == []


def test_parts_of_a_log_together_show_what_the_whole_shows() -> None:
    requests = [("1-0-0", 0, 1), ("2-0-1", 500, 1_000), ("3-0-0", 3_000, 3_001), ("2-0-1", 999, 1_200)]
    for cut in range(len(requests) + 1):
        made = connections(*requests[:cut])
        made.add(connections(*requests[cut:]))
        assert made.restarts() == [Restart(1_200, 3_000, NOT_YET_MS)]
