"""GroupMember over the tables of a home: joining, sharing, committing, leaving, being expired, errors."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from clients.config import ConsumerConfigError
from clients.events import PartitionsAssigned, PartitionsLost, PartitionsRevoked
from table_client import CommitError, GroupError, GroupMember
from tests.table_client.small_coordinator import SmallCoordinator
from tests.waiting import until


@pytest.fixture
def coordinator(tmp_path: Path) -> Iterator[SmallCoordinator]:
    with SmallCoordinator(tmp_path) as running:
        yield running


@pytest.fixture
def home(coordinator: SmallCoordinator) -> Path:
    return coordinator.home


@pytest.fixture
def pass_ms(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """The clock of members and coordinator, to be named before them: it goes on when the test says so."""
    now_s = [time.time()]
    monkeypatch.setattr(time, "time", lambda: now_s[0])

    def go_on(ms: int) -> None:
        now_s[0] += ms / 1000

    return go_on


def poll_until(done: Callable[[], bool], *members: GroupMember) -> None:
    """Lets the members poll, each a moment at a time, until it is so."""

    def is_done_now() -> bool:
        for member in members:
            member.poll(0.02)
        return done()

    until(is_done_now, lambda: str([member.assignment for member in members]), every_s=0)


def owned(*members: GroupMember) -> list[int]:
    return sorted(tp.partition for member in members for tp in member.assignment)


def test_one_member_owns_everything(home: Path) -> None:
    with GroupMember(home, "orders", {"payments": 4}) as member:
        poll_until(lambda: len(member.assignment) == 4, member)
        assert member.generation_id == 1
        assert member.member_id.startswith("rollcall-")


def test_three_members_share_twelve_partitions_and_take_over_from_one_that_leaves(home: Path) -> None:
    with ExitStack() as stack:
        members = [
            stack.enter_context(
                GroupMember(home, "orders", {"payments": 12}, client_id=f"w-{n}", heartbeat_interval_ms=100)
            )
            for n in range(3)
        ]
        poll_until(lambda: [len(m.assignment) for m in members] == [4, 4, 4], *members)
        assert owned(*members) == list(range(12))
        members[1].close()
        stayed = [members[0], members[2]]
        poll_until(lambda: [len(m.assignment) for m in stayed] == [6, 6], *stayed)
        assert owned(*stayed) == list(range(12))


def test_commits_are_kept_for_the_next_member(home: Path) -> None:
    with GroupMember(home, "orders", {"payments": 2}) as member:
        poll_until(lambda: len(member.assignment) == 2, member)
        member.commit({("payments", 0): 41, ("payments", 1): 7})
    with GroupMember(home, "orders", {"payments": 2}) as member:
        poll_until(lambda: len(member.assignment) == 2, member)
        assert member.committed([("payments", 0), ("payments", 1)]) == {("payments", 0): 41, ("payments", 1): 7}


def test_changes_are_told_in_the_poll_and_to_the_callback(home: Path) -> None:
    reported: list[object] = []
    with (
        GroupMember(
            home, "orders", {"payments": 2}, client_id="a", heartbeat_interval_ms=100, on_change=reported.append
        ) as first,
    ):
        poll_until(lambda: len(first.assignment) == 2, first)
        with GroupMember(home, "orders", {"payments": 2}, client_id="b", heartbeat_interval_ms=100) as second:
            poll_until(lambda: len(first.assignment) == len(second.assignment) == 1, first, second)
    kinds = [type(change) for change in reported]
    assert kinds[:3] == [PartitionsAssigned, PartitionsRevoked, PartitionsAssigned]
    assert PartitionsLost not in kinds


def test_a_member_that_does_not_poll_keeps_its_session_by_heartbeats(
    pass_ms: Callable[[int], None], coordinator: SmallCoordinator
) -> None:
    def beats() -> int:
        return sum('"api":"Heartbeat"' in request for request in coordinator.answered)

    with GroupMember(
        coordinator.home, "orders", {"payments": 1}, session_timeout_ms=600, heartbeat_interval_ms=150
    ) as member:
        poll_until(lambda: bool(member.assignment), member)
        for _ in range(10):
            had = beats()
            pass_ms(151)
            until(lambda had=had: beats() > had, "a heartbeat")  # type: ignore[misc]
        assert member.poll(0.3) == []
        assert member.generation_id == 1
        assert len(member.assignment) == 1


def test_a_static_member_that_comes_back_keeps_generation_and_partitions(home: Path) -> None:
    def start() -> GroupMember:
        return GroupMember(home, "orders", {"payments": 2}, group_instance_id="w-1")

    with start() as member:
        poll_until(lambda: len(member.assignment) == 2, member)
        first_id = member.member_id
    with start() as member:
        poll_until(lambda: len(member.assignment) == 2, member)
        assert member.generation_id == 1
        assert member.member_id != first_id


def test_a_commit_after_the_group_was_lost_is_refused(pass_ms: Callable[[int], None], home: Path) -> None:
    with GroupMember(home, "orders", {"payments": 1}, max_poll_interval_ms=300, session_timeout_ms=5000) as member:
        poll_until(lambda: bool(member.assignment), member)
        pass_ms(301)
        until(lambda: not member.member_id, "the member leaves")
        with pytest.raises(CommitError, match="not committed"):
            member.commit({("payments", 0): 1})


def test_a_refusal_for_good_is_raised_by_poll(home: Path) -> None:
    with (
        GroupMember(home, "orders", {"payments": 1}, session_timeout_ms=50, heartbeat_interval_ms=10) as member,
        pytest.raises(GroupError, match="JoinGroup: INVALID_SESSION_TIMEOUT"),
    ):
        poll_until(lambda: bool(member.assignment), member)


def test_a_home_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere: there is no such home"):
        GroupMember(tmp_path / "nowhere", "orders", {"payments": 1})


def test_a_setting_that_contradicts_another_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConsumerConfigError, match=r"heartbeat\.interval\.ms=50000"):
        GroupMember(tmp_path, "orders", {"payments": 1}, heartbeat_interval_ms=50_000)


def test_offsets_that_nobody_tells_in_time_leave_nothing_behind(home: Path) -> None:
    with GroupMember(home, "orders", {"payments": 1}) as member:
        poll_until(lambda: len(member.assignment) == 1, member)
        member.commit({("payments", 0): 41})
        with pytest.raises(TimeoutError, match="has not answered within 0 s"):
            member.committed([("payments", 0)], timeout_s=0)
        assert member._fetched == {}
        assert member._connection._askers == {}
        # The late answer reaches nobody, and the next question has its own.
        assert member.committed([("payments", 0)]) == {("payments", 0): 41}
        assert member._fetched == {}


def test_a_member_that_breaks_ends_no_other_members_thread(
    home: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with GroupMember(home, "orders", {"payments": 1}) as broken, GroupMember(home, "bills", {"payments": 1}) as other:

        def breaks() -> None:
            raise ZeroDivisionError("not foreseen")

        with monkeypatch.context() as patched:
            patched.setattr(broken, "look_at_the_clock", breaks)
            poll_until(lambda: len(other.assignment) == 1, other)
            until(lambda: "a member could not do what is due" in caplog.text, caplog.text)
        poll_until(lambda: len(broken.assignment) == 1, broken)
