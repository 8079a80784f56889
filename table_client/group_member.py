"""GroupMember: a Python program's membership in a group, with no broker in between.

A program polls; the member joins, keeps its session alive between polls, shares partitions out when it leads, commits.
The pure member of `clients` decides; the tables of a home are its network. Thread-safe, but only one thread may poll.

Knows the pure member and the connection; must not know a rule of the protocol.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Self, assert_never

from clients.config import ConsumerConfig
from clients.events import (
    Closed,
    CommitFailed,
    CommitKind,
    CoordinatorFound,
    CoordinatorLost,
    FatalError,
    LeftGroup,
    MemberRequest,
    OffsetsCommitted,
    Output,
    PartitionsAssigned,
    PartitionsLost,
    PartitionsRevoked,
    Send,
)
from clients.member import GroupMember as PureMember
from schemas.consumer_protocol import TopicPartition
from schemas.messages import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
    Response,
)
from table_client.home_connection import connect, disconnect

Offsets = Mapping[tuple[str, int], int] | Mapping[TopicPartition, int]
Change = PartitionsAssigned | PartitionsRevoked | PartitionsLost

_OFFSET_FETCH_VERSION = 8
_CLOSE_PATIENCE_S = 30.0
_numbers = itertools.count()


class GroupError(RuntimeError):
    """The coordinator refused the member, and trying again does not help; the text names the API and the error."""


class CommitError(RuntimeError):
    """A commit failed; the text names the failure and the coordinator's answer."""


class GroupMember:
    """A member of `group_id` that shares the partitions of `topics` (name to partition count) with the others.

    home: the home that a coordinator job works in. settings: Kafka's consumer settings by name, e.g.
    session_timeout_ms=10_000, group_instance_id="w-1", partition_assignment_strategy=("cooperative-sticky",).
    on_change: called inside poll with each assignment, revocation or loss, before the rebalance goes on.
    Raises ConsumerConfigError, and FileNotFoundError if there is no such home.
    """

    def __init__(
        self,
        home: str | Path,
        group_id: str,
        topics: Mapping[str, int],
        *,
        client_id: str = "rollcall",
        on_change: Callable[[Change], None] | None = None,
        **settings: object,
    ) -> None:
        self._home = Path(home).absolute()
        if not self._home.is_dir():
            raise FileNotFoundError(f"{home}: there is no such home; a coordinator job makes it")
        config = ConsumerConfig(group_id=group_id, client_id=client_id, **settings)  # type: ignore[arg-type]
        self._pure = PureMember(config, request_id_prefix=f"m{next(_numbers)}")
        self._on_change = on_change
        self._changed = threading.Condition(threading.RLock())
        self._own_id_of: dict[str, str] = {}
        self._unread: deque[tuple[str, Response]] = deque()
        self._fetched: dict[str, OffsetFetchResponse | None] = {}
        self._outcomes: dict[int, OffsetsCommitted | CommitFailed] = {}
        self._changes: list[Change] = []
        self._fatal: FatalError | None = None
        self._is_polling = False
        self._is_gone = False
        self._pure.metadata_changed(topics)
        self._connection = connect(self._home)
        self._connection.add(self)
        with self._changed:
            self._do(self._pure.subscribe(topics, _now_ms()))

    # ------------------------------------------------------------ the program

    @property
    def assignment(self) -> list[TopicPartition]:
        """The partitions that this member owns now, in order."""
        with self._changed:
            return sorted(self._pure.owned_partitions)

    @property
    def generation_id(self) -> int:
        """-1 while it is in no generation."""
        with self._changed:
            return self._pure.generation_id

    @property
    def member_id(self) -> str:
        """Empty until it was given one."""
        with self._changed:
            return self._pure.member_id

    def poll(self, timeout_s: float = 1.0) -> list[Change]:
        """Takes part in whatever goes on in the group, for at most timeout_s; returns what changed, in order.

        Returns early when the assignment has changed. To be called more often than max_poll_interval_ms, else the
        member leaves. Raises GroupError if the coordinator refuses the member for good.
        """
        until = time.monotonic() + timeout_s
        with self._changed:
            self._is_polling = True
            try:
                while True:
                    self._read()
                    self._do(self._pure.poll(_now_ms()))
                    self._raise_fatal()
                    left_s = until - time.monotonic()
                    if self._changes or left_s <= 0:
                        break
                    self._changed.wait(self._patience_s(left_s))
            finally:
                self._is_polling = False
            changes, self._changes = self._changes, []
            return changes

    def commit(self, offsets: Offsets) -> None:
        """Stores the next offset to be worked on, by (topic, partition), and waits until it is stored.

        Raises CommitError: the partitions may belong to another member by now.
        """
        by_partition = {TopicPartition(*key): offset for key, offset in offsets.items()}
        with self._changed:
            commit_id, outputs = self._pure.commit(by_partition, _now_ms(), is_sync=True)
            self._do(outputs)
            while commit_id not in self._outcomes:
                self._changed.wait(self._patience_s(1.0))
                self._read()
            outcome = self._outcomes.pop(commit_id)
        if isinstance(outcome, CommitFailed):
            raise CommitError(f"offsets were not committed: {outcome.failure}, {outcome.error or 'no answer'}")

    def committed(self, partitions: Iterable[tuple[str, int]], timeout_s: float = 30.0) -> dict[TopicPartition, int]:
        """The group's committed offsets of these partitions; those without one are left out. Raises TimeoutError."""
        topics: dict[str, list[int]] = {}
        for topic, partition in partitions:
            topics.setdefault(topic, []).append(partition)
        asked = [OffsetFetchRequestTopic(name=name, partition_indexes=numbers) for name, numbers in topics.items()]
        group = OffsetFetchRequestGroup(group_id=self._pure.config.group_id, topics=asked)
        request = OffsetFetchRequest(
            request_id="", api_version=_OFFSET_FETCH_VERSION, client_id=self._pure.config.client_id, groups=[group]
        )
        with self._changed:
            request_id = self._connection.send(self, request)
            self._fetched[request_id] = None
            try:
                self._changed.wait_for(lambda: self._fetched[request_id] is not None, timeout_s)
            finally:
                response = self._fetched.pop(request_id)
                self._connection.forget(request_id)
        if response is None:
            raise TimeoutError(f"the coordinator has not answered within {timeout_s} s")
        return {
            TopicPartition(topic.name, p.partition_index): p.committed_offset
            for topic in response.groups[0].topics
            for p in topic.partitions
            if p.committed_offset >= 0
        }

    def close(self) -> None:
        """Commits what auto-commit would, gives the partitions up and leaves (a static member stays a member)."""
        with self._changed:
            if self._is_gone:
                return
            self._is_polling = True
            self._read()
            self._do(self._pure.close(_now_ms(), int(_CLOSE_PATIENCE_S * 1000)))
            while not self._pure.is_closed:
                self._changed.wait(self._patience_s(1.0))
                self._read()
            self._is_gone = True
        self._connection.remove(self)
        disconnect(self._home)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ------------------------------------------------------------ the connection's thread

    def answered(self, request_id: str, response: Response) -> None:
        """Takes an answer: reads it at once if the member is in the group, else keeps it for the next poll."""
        with self._changed:
            if isinstance(response, OffsetFetchResponse):
                if request_id in self._fetched:
                    self._fetched[request_id] = response
            else:
                self._unread.append((self._own_id_of.pop(request_id, ""), response))
                if self._pure.has_joined:
                    self._read()
            self._changed.notify_all()

    def look_at_the_clock(self) -> None:
        """Does what is due between polls: heartbeats, retries, and leaving where the program polls too seldom."""
        now_ms = _now_ms()
        with self._changed:
            due_ms = self._pure.next_deadline_ms()
            if due_ms is not None and due_ms <= now_ms:
                self._do(self._pure.expire(now_ms))
                self._changed.notify_all()

    # ------------------------------------------------------------ inside, under the lock

    def _read(self) -> None:
        while self._unread:
            own_id, response = self._unread.popleft()
            self._do(self._pure.response(own_id, response, _now_ms()))

    def _patience_s(self, left_s: float) -> float:
        next_ms = self._pure.next_poll_ms()
        if next_ms is None:
            return left_s
        return min(left_s, max((next_ms - _now_ms()) / 1000, 0.001))

    def _raise_fatal(self) -> None:
        fatal, self._fatal = self._fatal, None
        if fatal is not None:
            raise GroupError(f"{fatal.api}: {fatal.error or fatal.message}")

    def _do(self, outputs: list[Output]) -> None:
        for output in outputs:
            match output:
                case Send(request):
                    self._send(request)
                case PartitionsAssigned() | PartitionsRevoked() | PartitionsLost():
                    self._changes.append(output)
                    if self._on_change is not None:
                        self._on_change(output)
                case OffsetsCommitted() | CommitFailed():
                    if output.kind is CommitKind.SYNC:
                        self._outcomes[output.commit_id] = output
                case FatalError():
                    self._fatal = output
                case Closed():
                    self._changed.notify_all()
                case CoordinatorFound() | CoordinatorLost() | LeftGroup():
                    # The tables are the network: there is no connection to make, and `close` waits for Closed.
                    pass
                case _:
                    assert_never(output)
        if outputs and self._unread and (self._is_polling or self._pure.has_joined):
            self._read()

    def _send(self, request: MemberRequest) -> None:
        if isinstance(request, FindCoordinatorRequest):
            self._unread.append((request.request_id, _this_home(request)))
        else:
            self._own_id_of[self._connection.send(self, request)] = request.request_id


def _this_home(request: FindCoordinatorRequest) -> FindCoordinatorResponse:
    """Answers FindCoordinator: a home's job coordinates every group of the home, and has no address."""
    return FindCoordinatorResponse(
        coordinators=[Coordinator(key=key, node_id=0, host="home", port=0) for key in request.coordinator_keys]
    )


def _now_ms() -> int:
    return int(time.time() * 1000)
