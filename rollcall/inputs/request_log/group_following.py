"""One group followed: a survey's findings and the group's requests go in, requests and effects come out to a listener.

Requests come in the order of their lines, and are brought into that of their arrival: a line is held back for a few
seconds, and longer if the survey announces a request that arrived about now and was answered late. So memory depends on
how long requests wait, not on the log's length. Each goes through the core once, and the core's effects then are the
group's effects.

Knows how the parts go together; knows no rule of any of them, no file and no other group.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from math import inf
from operator import attrgetter
from typing import Generic, TypeVar

from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.step import expire_due
from rollcall.inputs.request_log.following.follower import Follower
from rollcall.inputs.request_log.following.group_model import GroupModel, Listener, Numbered
from rollcall.inputs.request_log.following.topic_names import TopicNames
from rollcall.inputs.request_log.lines.line import UNSEEN_PROTOCOL
from rollcall.inputs.request_log.recorded import LoggedRequest, Tally
from rollcall.inputs.request_log.survey import Survey, WaitsToCome
from rollcall.schemas.messages import ConsumerGroupHeartbeatRequest

T = TypeVar("T")
LOOK_AHEAD_MS = 10_000
"""How much of the log is read beyond the request being taken: inferences from later lines need no more."""
LOOK_AHEAD_REQUESTS = 500
"""And at least this many of the group's requests, for groups with few requests."""
BEFORE_A_WAIT_MS = 5_000
"""A long wait has its reason a little earlier: requests are held back from this long before it."""
_AT_ONCE = 64
_READ_AT_ONCE = 1_000
_NO_WAITS: array[float] = array("d")


class GroupFollowing:
    """A group while its requests are read."""

    def __init__(self, group_id: str, found: Survey, config: GroupConfig, tally: Tally, listener: Listener) -> None:
        """config: the broker's settings. tally: takes what was inferred and given up, beside what reading counted."""
        self._tally, self._end_ms = tally, found.end_ms
        names = TopicNames()
        names.names.update(found.topic_names)
        names.ids_for_names = found.ids_for_names
        model = GroupModel(Group(group_id), config, tally, Numbered(listener))
        self._follower = Follower(model, found, names, found.silences)
        self._waits = WaitsToCome(found.waits.get(group_id, _NO_WAITS))
        self._pending: InOrder[LoggedRequest] = InOrder(attrgetter("began_ms"))
        self._held = 0
        self._read_ms = 0
        self._is_newer = False

    def read(self, entry: LoggedRequest) -> None:
        """Takes in a request, in order of the lines."""
        if isinstance(entry.request, ConsumerGroupHeartbeatRequest):
            self._is_newer = True
        elif entry.needs_newer_group and not self._is_newer:
            if entry.part == 0 and not entry.was_refused:
                self._tally.used -= 1
                self._tally.skip(UNSEEN_PROTOCOL)
            return
        self._waits.note(entry)
        self._read_ms = max(self._read_ms, entry.recorded.answered_at_ms)
        self._follower.read(entry)
        self._pending.add(entry)
        self._held += 1
        if self._held >= LOOK_AHEAD_REQUESTS + _AT_ONCE:
            self._take_before(min(self._read_ms - LOOK_AHEAD_MS, self._waits.first_ms - BEFORE_A_WAIT_MS), _AT_ONCE)

    def finish(self) -> None:
        """Takes the rest once all requests are read, and lets time pass up to the end of the log."""
        self._take_before(inf, None)
        self._follower.finish(self._end_ms)
        model = self._follower.model
        while (due_ms := model.next_due_ms(self._end_ms)) is not None:
            model.listener.take_effects(expire_due(model.group, due_ms, model.config))

    def _take_before(self, until_ms: float, at_most: int | None) -> None:
        for entry in self._pending.take_before(until_ms, at_most):
            self._held -= 1
            self._follower.take(entry)


def follow(
    entries: Iterable[LoggedRequest],
    found: Survey,
    config: GroupConfig,
    tally: Tally,
    listener_of: Callable[[str], Listener],
) -> Iterator[int]:
    """Follows the groups of requests, in order of their lines; yields at times how many more were read."""
    groups: dict[str, GroupFollowing] = {}
    read = 0
    for entry in entries:
        group = groups.get(entry.group_id)
        if group is None:
            listener = listener_of(entry.group_id)
            group = groups[entry.group_id] = GroupFollowing(entry.group_id, found, config, tally, listener)
        group.read(entry)
        read += 1
        if read == _READ_AT_ONCE:
            yield read
            read = 0
    for group in groups.values():
        group.finish()
    yield read


class InOrder(Generic[T]):
    """Things in the order of a number each; equal ones in the order in which they were added."""

    def __init__(self, key: Callable[[T], float]) -> None:
        self._key = key
        self._held: list[T] = []
        self._added: list[T] = []

    def add(self, item: T) -> None:
        """Adds one, nearly always behind those that are held."""
        self._added.append(item)

    def take_before(self, bound: float, at_most: int | None = None) -> list[T]:
        """Takes all that are below the bound, in order, or the first of them."""
        held, added, key = self._held, self._added, self._key
        if added:
            added.sort(key=key)
            tail = bisect_right(held, key(added[0]), key=key)
            held[tail:] = sorted(held[tail:] + added, key=key)
            added.clear()
        count = bisect_left(held, bound, key=key)
        if at_most is not None:
            count = min(count, at_most)
        taken = held[:count]
        del held[:count]
        return taken
