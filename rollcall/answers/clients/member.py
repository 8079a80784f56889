"""A Kafka consumer's membership in a group, as a state machine without a clock, a socket or a thread.

    UNJOINED -> PREPARING_REBALANCE -> COMPLETING_REBALANCE -> STABLE, and back to UNJOINED by any reset

Every input takes the time in ms and returns what comes of it, in order (`rollcall.answers.clients.events`). Who calls
it:
- the application: `subscribe`, `poll`, `commit`, `enforce_rebalance`, `unsubscribe`, `close`. Partitions are given,
  revoked and lost, and errors raised, only in these calls; a poll is what moves a rebalance on. While an application
  waits inside a poll, call `poll` again after every other input and at `next_poll_ms()`.
- the network: `response`, `request_failed`, `disconnected`; and what a metadata update shows: `metadata_changed`.
- the clock: `expire` at `next_deadline_ms()`. It goes on while the application does not poll, as a heartbeat thread.

Like the Java client's socket, a member that `has_joined` is False for reads answers only while the application polls:
whoever stands between the two holds them back until then.

Knows which part takes which input; the rules are in the modules beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rollcall.answers.clients import assigning, committing, heartbeats, joining, leaving, lookup
from rollcall.answers.clients.assignors import ASSIGNORS, Assignor, RebalanceProtocol
from rollcall.answers.clients.config import ConsumerConfig, ConsumerConfigError
from rollcall.answers.clients.events import CommitKind, Output
from rollcall.answers.clients.membership import InFlight, Membership, MemberState, Turn
from rollcall.answers.clients.reactions import ENFORCED
from rollcall.schemas.consumer_protocol import TopicPartition
from rollcall.schemas.messages import (
    FindCoordinatorResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    Response,
    SyncGroupRequest,
    SyncGroupResponse,
)

DEFAULT_CLOSE_TIMEOUT_MS = 30_000


class MemberClosedError(RuntimeError):
    """The application used a member that it has closed."""


class GroupMember:
    """One consumer in one group.

    assignors: every assignor that partition.assignment.strategy may name. request_id_prefix: makes its request ids
    unique among all members; client.id by default. Raises ConsumerConfigError: an unknown assignor, or assignors
    without a common rebalance protocol.
    """

    def __init__(
        self,
        config: ConsumerConfig,
        *,
        assignors: Mapping[str, Assignor] = ASSIGNORS,
        request_id_prefix: str | None = None,
    ) -> None:
        names = config.partition_assignment_strategy
        for name in names:
            if name not in assignors:
                known = ", ".join(sorted(assignors))
                raise ConsumerConfigError(
                    f"partition.assignment.strategy={name}: is not an assignor; known are {known}"
                )
        chosen = {name: assignors[name] for name in names}
        self._member = Membership(
            config=config,
            assignors=chosen,
            rebalance_protocol=_common_protocol(chosen),
            request_id_prefix=config.client_id if request_id_prefix is None else request_id_prefix,
        )

    # ------------------------------------------------------------ questions

    @property
    def config(self) -> ConsumerConfig:
        return self._member.config

    @property
    def state(self) -> MemberState:
        return self._member.state

    @property
    def generation_id(self) -> int:
        """-1 without a generation."""
        return self._member.generation.generation_id

    @property
    def member_id(self) -> str:
        """Empty without one."""
        return self._member.generation.member_id

    @property
    def is_leader(self) -> bool:
        return self._member.is_leader

    @property
    def has_joined(self) -> bool:
        """Whether heartbeats are sent, so that answers are read even while the application does not poll."""
        return self._member.has_joined

    @property
    def rebalance_protocol(self) -> RebalanceProtocol:
        return self._member.rebalance_protocol

    @property
    def owned_partitions(self) -> frozenset[TopicPartition]:
        """What the application believes is its own."""
        return self._member.subscription.owned

    @property
    def is_rebalancing(self) -> bool:
        """Whether the application must go through a rebalance, or is in one."""
        member = self._member
        return member.subscription.topics is not None and joining.is_rejoin_needed(member)

    @property
    def waits_for_poll(self) -> bool:
        """Whether it is settled but for a rebalance that its application's next poll is to join."""
        return self.state is MemberState.STABLE and self.is_rebalancing

    @property
    def is_at_work(self) -> bool:
        """Whether its application has something to work on."""
        return self.state is MemberState.STABLE and bool(self.owned_partitions) and not self.is_rebalancing

    @property
    def session_ends_at_ms(self) -> int:
        """When a member that has joined looks for its coordinator anew, unless a good answer comes before."""
        return self._member.pulse.session_deadline_ms

    @property
    def awaited_request_ids(self) -> frozenset[str]:
        """The ids of the requests whose answers are awaited."""
        return frozenset(self._member.in_flight)

    @property
    def is_closed(self) -> bool:
        return self._member.is_closed

    def next_deadline_ms(self) -> int | None:
        """The earliest time when `expire` has something to do; None if it waits for an answer or has nothing to do."""
        member = self._member
        if member.is_closed:
            return None
        due_ms = heartbeats.next_beat_ms(member)
        for each in member.in_flight.values():
            due_ms = _earlier(due_ms, each.deadline_ms)
        if member.commits:
            due_ms = _earlier(due_ms, committing.next_commit_ms(member))
        if member.closing is not None:
            due_ms = _earlier(due_ms, member.closing.deadline_ms)
        return due_ms

    def next_poll_ms(self) -> int | None:
        """When a poll has something to do without another input; None if it waits for one. May be in the past."""
        member = self._member
        if member.is_closed or member.closing is not None:
            return None
        if member.failures:
            return 0
        if member.subscription.topics is None:
            return None
        if member.lookup.node is None:
            return None if member.is_looking else member.lookup.retry_at_ms
        if joining.is_rejoin_needed(member):
            return joining.next_join_ms(member)
        return member.auto_commit_due_ms if member.config.enable_auto_commit else None

    # ------------------------------------------------------------ the application

    def subscribe(self, topics: Iterable[str], now_ms: int) -> list[Output]:
        """Subscribes to these topics, as of the next poll; no topic at all means unsubscribe."""
        turn = self._turn(now_ms)
        wanted = frozenset(topics)
        if not wanted:
            leaving.unsubscribe(self._member, turn)
        else:
            self._member.subscription.topics = wanted
        return self._done(turn)

    def unsubscribe(self, now_ms: int) -> list[Output]:
        """Gives all partitions up and leaves the group."""
        return self.subscribe((), now_ms)

    def poll(self, now_ms: int) -> list[Output]:
        """Takes a poll of the application: raises one error, or lets the rebalance go on as far as it can, or commits
        offsets.

        It also counts for max.poll.interval.ms as a sign that the application is alive.
        """
        turn = self._turn(now_ms)
        member = self._member
        if not member.failures and self._go_on(turn):
            committing.maybe_commit_interval(member, turn)
        if member.failures:
            turn.emit(member.failures.pop(0))
        return self._done(turn)

    def enforce_rebalance(self, reason: str | None = None) -> None:
        """Makes the next poll join again, with this reason (KIP-568)."""
        self._refuse_if_closed()
        self._member.request_rejoin(reason or ENFORCED)

    def advance(self, positions: Mapping[TopicPartition, int]) -> None:
        """Notes the positions of the application: the next offsets to consume, as auto-commit commits them.

        A partition that it does not own is ignored: it was revoked while its records were processed.
        """
        self._refuse_if_closed()
        subscription = self._member.subscription
        subscription.positions.update(
            {partition: offset for partition, offset in positions.items() if partition in subscription.owned}
        )

    def commit(
        self, offsets: Mapping[TopicPartition, int], now_ms: int, *, is_sync: bool = False
    ) -> tuple[int, list[Output]]:
        """Commits offsets. Returns the commit's id and outputs; the outcome, which has the id, is among these or later
        outputs.

        is_sync: retries until default.api.timeout.ms, for an application that waits for it.
        """
        turn = self._turn(now_ms)
        kind = CommitKind.SYNC if is_sync else CommitKind.ASYNC
        deadline_ms = now_ms + self._member.config.default_api_timeout_ms if is_sync else None
        commit = committing.start_commit(self._member, offsets, kind, turn, deadline_ms)
        return commit.commit_id, self._done(turn)

    def close(self, now_ms: int, timeout_ms: int = DEFAULT_CLOSE_TIMEOUT_MS) -> list[Output]:
        """Commits, gives all partitions up and leaves. Answers and `expire` continue it until Closed."""
        turn = self._turn(now_ms)
        leaving.start_close(self._member, timeout_ms, turn)
        return self._done(turn)

    # ------------------------------------------------------------ the network and the clock

    def metadata_changed(self, partition_counts: Mapping[str, int]) -> None:
        """Takes all topics of the cluster with their partition counts; a leader that sees a change joins again."""
        self._member.subscription.partition_counts = dict(partition_counts)

    def response(self, request_id: str, response: Response, now_ms: int) -> list[Output]:
        """Takes an answer. One that is not awaited (too late, or its connection was given up) is ignored."""
        turn = Turn(now_ms)
        sent = self._member.in_flight.pop(request_id, None)
        if sent is not None:
            self._answered(sent, response, turn)
        return self._done(turn)

    def request_failed(self, request_id: str, now_ms: int) -> list[Output]:
        """Takes note that a request timed out or its connection broke: all requests to the coordinator fail with it."""
        turn = Turn(now_ms)
        sent = self._member.in_flight.get(request_id)
        if sent is not None:
            self._gave_up(sent, turn)
        return self._done(turn)

    def disconnected(self, now_ms: int) -> list[Output]:
        """Takes note that the connection to the coordinator broke."""
        turn = Turn(now_ms)
        lookup.mark_coordinator_unknown(self._member, "the connection was closed", turn)
        return self._done(turn)

    def expire(self, now_ms: int) -> list[Output]:
        """Does what is due at or before now_ms in the background: timeouts, retries, heartbeats, the poll check."""
        turn = Turn(now_ms)
        due_ms = self.next_deadline_ms()
        while due_ms is not None and due_ms <= now_ms:
            late = next((each for each in self._member.in_flight.values() if each.deadline_ms <= now_ms), None)
            if late is not None:
                self._gave_up(late, turn)
            committing.expire_commits(self._member, turn)
            if committing.awaiting_coordinator(self._member):
                lookup.maybe_look(self._member, turn)
            heartbeats.beat(self._member, turn)
            self._settle(turn)
            due_ms = self.next_deadline_ms()
        return turn.outputs

    # ------------------------------------------------------------ inside

    def _turn(self, now_ms: int) -> Turn:
        self._refuse_if_closed()
        return Turn(now_ms)

    def _refuse_if_closed(self) -> None:
        if self._member.closing is not None:
            raise MemberClosedError(f"member {self.member_id!r} of group {self.config.group_id!r} is closed")

    def _done(self, turn: Turn) -> list[Output]:
        self._settle(turn)
        return turn.outputs

    def _settle(self, turn: Turn) -> None:
        """Fails each request whose connection was closed, then continues a close as far as it can."""
        while turn.disconnected:
            self._lost(turn.disconnected.pop(0), turn)
        leaving.maybe_finish_close(self._member, turn)

    def _go_on(self, turn: Turn) -> bool:
        """Continues the rebalance as far as it can. False if it waits or has failed."""
        member = self._member
        if member.subscription.topics is None:
            return False
        member.pulse.poll_deadline_ms = turn.now_ms + member.config.max_poll_interval_ms
        while True:
            if member.lookup.node is None:
                lookup.maybe_look(member, turn)
                return False
            assignment = member.rejoin.assignment
            if assignment is None:
                break
            if not assigning.complete_rebalance(member, assignment, turn):
                return False
        if not joining.is_rejoin_needed(member):
            return True
        joining.maybe_join(member, turn)
        return False

    def _answered(self, sent: InFlight, response: Response, turn: Turn) -> None:
        member = self._member
        match response:
            case HeartbeatResponse():
                heartbeats.on_heartbeat(member, sent, response, turn)
            case JoinGroupResponse():
                joining.on_join_group(member, sent, response, turn)
            case SyncGroupResponse():
                joining.on_sync_group(member, sent, response, turn)
            case OffsetCommitResponse():
                committing.on_offset_commit(member, sent, response, turn)
            case FindCoordinatorResponse():
                lookup.on_find_coordinator(member, response, sent.request.api_version, turn)
                self._looked(turn)
            case LeaveGroupResponse():
                pass
            case _:
                raise TypeError(f"{type(response).__name__} answers no request of a member")

    def _looked(self, turn: Turn) -> None:
        """Tells commits that wait for a coordinator whether it was found."""
        if self._member.lookup.node is not None:
            committing.on_coordinator_found(self._member, turn)
        else:
            committing.on_coordinator_not_found(self._member, turn)

    def _gave_up(self, sent: InFlight, turn: Turn) -> None:
        """Gives up on a request: closes the connection on which it was sent."""
        if sent.is_to_coordinator:
            lookup.mark_coordinator_unknown(self._member, "a request was not answered in time", turn)
            return
        del self._member.in_flight[sent.request.request_id]
        lookup.find_failed(self._member, turn)
        self._looked(turn)

    def _lost(self, sent: InFlight, turn: Turn) -> None:
        """Takes note that a request to the coordinator will not be answered; for a LeaveGroup that changes nothing."""
        match sent.request:
            case JoinGroupRequest() | SyncGroupRequest():
                joining.on_disconnect(self._member, turn)
            case HeartbeatRequest():
                heartbeats.heartbeat_failed(self._member, turn)
            case OffsetCommitRequest():
                committing.on_disconnect(self._member, sent, turn)


def _earlier(one_ms: int | None, other_ms: int | None) -> int | None:
    if one_ms is None or other_ms is None:
        return one_ms if other_ms is None else other_ms
    return min(one_ms, other_ms)


def _common_protocol(assignors: Mapping[str, Assignor]) -> RebalanceProtocol:
    """The highest rebalance protocol that all assignors share: EAGER if one of them knows nothing else."""
    shared = frozenset.intersection(*(assignor.rebalance_protocols for assignor in assignors.values()))
    if not shared:
        names = ",".join(assignors)
        raise ConsumerConfigError(f"partition.assignment.strategy={names}: they share no rebalance protocol")
    return max(shared)
