"""One process with one consumer in it: an application that polls, works, stalls, closes or is killed.

Knows when the application is inside a poll, when the process stands still, and what of its socket is read meanwhile;
knows no rule of the protocol: that is the member's.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from enum import StrEnum
from typing import assert_never

from rollcall.answers.clients.consumer_group_member import LEAVE_EPOCH, ConsumerGroupMember
from rollcall.answers.clients.events import (
    Closed,
    CommitFailed,
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
from rollcall.answers.clients.member import GroupMember
from rollcall.answers.simulation.network import Connection, Network
from rollcall.answers.simulation.plan import ConsumerPlan, GroupProtocol, Span, Subscribed
from rollcall.answers.simulation.record import ConsumerEvent, Record
from rollcall.answers.simulation.virtual_time import VirtualTime
from rollcall.coordinator_udfs.protocol.consumer.patterns import matching
from rollcall.schemas.causes import why_left
from rollcall.schemas.consumer_protocol import TopicPartition
from rollcall.schemas.messages import ConsumerGroupHeartbeatRequest, FindCoordinatorRequest, Response


class Mode(StrEnum):
    """What its application does."""

    ABSENT = "absent"
    """There is no process."""
    POLLING = "polling"
    """It is inside a poll."""
    WORKING = "working"
    """It is between two polls."""
    CLOSING = "closing"
    """It is inside close."""


Member = GroupMember | ConsumerGroupMember
"""A member's side of either protocol."""


class SimulatedConsumer:
    """One consumer of the plan, through all its restarts."""

    def __init__(self, plan: ConsumerPlan, time: VirtualTime, network: Network, record: Record) -> None:
        self.plan = plan
        self.mode = Mode.ABSENT
        self.member: Member | None = None
        """The present or the last member; None before the first."""
        self.is_paused = False
        self._time = time
        self._network = network
        self._record = record
        self._bootstrap = Connection(self)
        self._connection: Connection | None = None
        self._unread: deque[tuple[str, Response]] = deque()
        self._partition_counts: Mapping[str, int] = {}
        self._busy_until_ms = 0
        self._has_waited_to_rejoin = False
        self._woken_at_ms: int | None = None
        self._schedules = 0
        self._is_close_wanted = False
        self._wanted = Subscribed(plan.schedule.start_ms, plan.topics, plan.pattern)

    @property
    def name(self) -> str:
        return self.plan.name

    @property
    def host(self) -> str:
        return self.plan.host

    @property
    def is_present(self) -> bool:
        """Whether its process is there, paused or not."""
        return self.mode is not Mode.ABSENT

    @property
    def owned_partitions(self) -> frozenset[TopicPartition]:
        """What its application believes it owns; nothing without a process."""
        return self.member.owned_partitions if self.member is not None and self.is_present else frozenset()

    # ------------------------------------------------------------ its schedule

    def schedule(self) -> None:
        """Plans the whole schedule in virtual time."""
        schedule, at = self.plan.schedule, self._time.at
        at(schedule.start_ms, self._start)
        for pause in schedule.pauses:
            at(pause.from_ms, self._pause)
            at(pause.to_ms, self._resume)
        for slow in schedule.slow:
            at(slow.from_ms, self._slow, slow)
        for each in schedule.subscribed:
            at(each.at_ms, self._subscribe, each)
        if schedule.close_ms is not None:
            at(schedule.close_ms, self._want_close)
        if schedule.kill_ms is not None:
            at(schedule.kill_ms, self._end)

    def _start(self) -> None:
        schedule, now_ms = self.plan.schedule, self._time.now_ms
        is_over = any(end_ms is not None and end_ms <= now_ms for end_ms in (schedule.close_ms, schedule.kill_ms))
        if self.is_present or (is_over and self._schedules > 0):
            return
        self._schedules += 1
        plan, id_prefix = self.plan, f"{self.name}.{self._schedules}"
        if plan.protocol is GroupProtocol.CONSUMER:
            self.member = ConsumerGroupMember(plan.config, id_prefix)
        else:
            self.member = GroupMember(plan.config, assignors=plan.assignors, request_id_prefix=id_prefix)
        self.member.metadata_changed(self._partition_counts)
        self.mode = Mode.POLLING
        self._is_close_wanted = False
        self._busy_until_ms = now_ms
        self._wanted = Subscribed(now_ms, self.plan.topics, self.plan.pattern)
        self._say_what_is_wanted()
        self._go_on()

    def _pause(self) -> None:
        self.is_paused = self.is_present

    def _resume(self) -> None:
        if not self.is_paused:
            return
        self.is_paused = False
        self._read()
        self._go_on()

    def _slow(self, span: Span) -> None:
        """The application is busy until the span ends, or until its present work ends."""
        if self.mode is Mode.POLLING and not self.is_paused and self.member is not None:
            self._poll(self.member, self._time.now_ms)
        if self.mode not in (Mode.POLLING, Mode.WORKING):
            return
        self.mode = Mode.WORKING
        self._busy_until_ms = max(self._busy_until_ms, span.to_ms)
        self._go_on()

    def _subscribe(self, to: Subscribed) -> None:
        if self.member is not None and self.is_present and self.mode is not Mode.CLOSING:
            self._wanted = to
            self._say_what_is_wanted()
            self._go_on()

    def _say_what_is_wanted(self) -> None:
        """Subscribe; a client of the older protocol matches topics itself, and does not join if it sees none."""
        wanted, now_ms = self._wanted, self._time.now_ms
        match self.member:
            case ConsumerGroupMember():
                self._do(self.member.subscribe(wanted.topics, now_ms, wanted.pattern))
            case GroupMember():
                found = matching(wanted.pattern, self._partition_counts) if wanted.pattern else ()
                self._do(self.member.subscribe((*wanted.topics, *found), now_ms))
            case None:
                pass

    def _want_close(self) -> None:
        self._is_close_wanted = True
        self._go_on()

    def _end(self) -> None:
        """The process is gone; nobody owns its partitions."""
        self.mode = Mode.ABSENT
        self.is_paused = False
        self._unread.clear()
        self._disconnect()

    # ------------------------------------------------------------ what reaches it

    def topics_changed(self, partition_counts: Mapping[str, int]) -> None:
        """Its metadata shows these topics from now on."""
        self._partition_counts = partition_counts
        if self.member is None or not self.is_present:
            return
        self.member.metadata_changed(partition_counts)
        if isinstance(self.member, GroupMember) and self._wanted.pattern and self.mode is not Mode.CLOSING:
            self._say_what_is_wanted()
        self._go_on()

    def receive(self, request_id: str, response: Response) -> None:
        """An answer is in its socket; it is read once the process reads."""
        if not self.is_present:
            return
        self._unread.append((request_id, response))
        self._read()
        self._go_on()

    def connection_broke(self, connection: Connection) -> None:
        if connection is not self._connection or self.member is None or not self.is_present:
            return
        self._do(self.member.disconnected(self._time.now_ms))
        self._go_on()

    def request_failed(self, request_id: str) -> None:
        if self.member is None or not self.is_present:
            return
        self._do(self.member.request_failed(request_id, self._time.now_ms))
        self._go_on()

    def _read(self) -> None:
        """Reads what may be read: nothing while paused; between two polls only if its heartbeat thread is at work."""
        while self._unread and self.member is not None and self.is_present and not self.is_paused:
            if self.mode is Mode.WORKING and not self.member.has_joined:
                return
            request_id, response = self._unread.popleft()
            self._do(self.member.response(request_id, response, self._time.now_ms))

    # ------------------------------------------------------------ going on

    def _go_on(self) -> None:
        """After anything: does what is due, lets the application poll or close, and comes back at the next deadline."""
        member, now_ms = self.member, self._time.now_ms
        if member is None or not self.is_present or self.is_paused:
            return
        if self.mode is Mode.WORKING and self._busy_until_ms <= now_ms:
            self.mode = Mode.POLLING
            self._read()
        if self.mode is Mode.POLLING and not self._waits_to_rejoin(member, now_ms):
            self._poll(member, now_ms)
        if self.is_present:
            self._do(member.expire(now_ms))
        if self.is_present:
            self._come_back(member)

    def _waits_to_rejoin(self, member: Member, now_ms: int) -> bool:
        """A settled member has just learnt of a rebalance: its application comes to poll a little later."""
        delay_ms = self.plan.schedule.rejoin_delay_ms
        is_asked = member.waits_for_poll
        if not delay_ms or not is_asked or self._has_waited_to_rejoin:
            self._has_waited_to_rejoin = is_asked
            return False
        self._has_waited_to_rejoin = True
        self.mode = Mode.WORKING
        self._busy_until_ms = now_ms + delay_ms
        return True

    def _poll(self, member: Member, now_ms: int) -> None:
        if self._is_close_wanted:
            return self._close(member, now_ms)
        if member.config.enable_auto_commit:
            member.advance(dict.fromkeys(member.owned_partitions, now_ms))
        self._do(member.poll(now_ms))

    def _close(self, member: Member, now_ms: int) -> None:
        self.mode = Mode.CLOSING
        self._do(member.close(now_ms))

    def _come_back(self, member: Member) -> None:
        wake_ups = [member.next_deadline_ms()]
        if self.mode is Mode.POLLING:
            wake_ups.append(member.next_poll_ms())
        elif self.mode is Mode.WORKING:
            wake_ups.append(self._busy_until_ms)
        at_ms = min((each for each in wake_ups if each is not None), default=None)
        if at_ms is None or (self._woken_at_ms is not None and self._woken_at_ms <= at_ms):
            return
        self._woken_at_ms = max(at_ms, self._time.now_ms)
        self._time.at(self._woken_at_ms, self._wake, self._woken_at_ms)

    def _wake(self, at_ms: int) -> None:
        if self._woken_at_ms != at_ms:
            return
        self._woken_at_ms = None
        self._go_on()

    # ------------------------------------------------------------ what the member says

    def _do(self, outputs: list[Output]) -> None:
        now_ms = self._time.now_ms
        for output in outputs:
            if not isinstance(output, Send):
                self._record.events.append(ConsumerEvent(now_ms, self.name, output))
            match output:
                case Send(request):
                    _note_why(request, outputs)
                    connection = self._bootstrap if isinstance(request, FindCoordinatorRequest) else self._connection
                    assert connection is not None
                    self._network.send(connection, request)
                case CoordinatorFound():
                    self._connection = Connection(self)
                case CoordinatorLost():
                    self._disconnect()
                case FatalError():
                    self._on_fatal_error(now_ms)
                case Closed():
                    self._end()
                case PartitionsAssigned() | PartitionsRevoked() | PartitionsLost():
                    pass
                case OffsetsCommitted() | CommitFailed() | LeftGroup():
                    pass
                case _:
                    assert_never(output)

    def _on_fatal_error(self, now_ms: int) -> None:
        """The error ends the application's loop, which closes the consumer; a supervisor may start it anew."""
        restart_after_ms = self.plan.schedule.restart_after_ms
        if restart_after_ms is not None:
            self._time.at(now_ms + restart_after_ms, self._start)
        if self.member is not None:
            self._close(self.member, now_ms)

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._network.close(self._connection)
        self._connection = None


def _note_why(request: MemberRequest, outputs: list[Output]) -> None:
    """Notes on a leaving member's heartbeat that its application had not polled: the protocol has no word for that."""
    if isinstance(request, ConsumerGroupHeartbeatRequest) and request.member_epoch <= LEAVE_EPOCH:
        reasons = [output.reason for output in outputs if isinstance(output, LeftGroup)]
        request.inferred_cause = why_left(reasons[0]) if len(reasons) == 1 else None
