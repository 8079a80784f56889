"""A Kafka consumer's membership in a group, as a state machine without a clock, a socket or a thread.

    UNJOINED -> PREPARING_REBALANCE -> COMPLETING_REBALANCE -> STABLE, and back to UNJOINED by any reset

Every input takes the time in ms and returns what comes of it, in order (`rollcall.answers.clients.events`). Who calls
it:
- the application: `subscribe`, `poll`, `advance`, `close`. Partitions are given, revoked and lost, and errors raised,
  only in these calls; a poll is what moves a rebalance on. While an application waits inside a poll, call `poll` again
  after every other input and at `next_poll_ms()`.
- the network: `response`, `request_failed`, `disconnected`; and what a metadata update shows: `metadata_changed`.
- the clock: `expire` at `next_deadline_ms()`. It runs while the application does not poll, as a heartbeat thread.

Like the Java client's socket, a member that `has_joined` is False for reads answers only while the application polls:
whoever stands between the two holds them back until then.

Knows which part takes which input; the rules are in the modules beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rollcall.answers.clients import assigning, committing, heartbeats, joining, leaving, lookup
from rollcall.answers.clients.assignors import ASSIGNORS, Assignor
from rollcall.answers.clients.config import ConsumerConfig
from rollcall.answers.clients.events import Output
from rollcall.answers.clients.membership import InFlight, Membership, MemberState, Turn
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


class GroupMember:
    """One consumer in one group.

    assignors: every assignor that partition.assignment.strategy may name. request_id_prefix: makes its request ids
    unique among all members; client.id by default.
    """

    def __init__(
        self,
        config: ConsumerConfig,
        *,
        assignors: Mapping[str, Assignor] = ASSIGNORS,
        request_id_prefix: str | None = None,
    ) -> None:
        chosen = {name: assignors[name] for name in config.partition_assignment_strategy}
        self.membership = Membership(
            config=config,
            assignors=chosen,
            # The highest that all share: EAGER if one of them only knows that.
            rebalance_protocol=max(frozenset.intersection(*(each.rebalance_protocols for each in chosen.values()))),
            request_id_prefix=config.client_id if request_id_prefix is None else request_id_prefix,
        )

    # ------------------------------------------------------------ questions

    @property
    def config(self) -> ConsumerConfig:
        return self.membership.config

    @property
    def state(self) -> MemberState:
        return self.membership.state

    @property
    def member_id(self) -> str:
        """Empty without one."""
        return self.membership.generation.member_id

    @property
    def has_joined(self) -> bool:
        """Whether heartbeats are sent, so that answers are read even while the application does not poll."""
        return self.membership.has_joined

    @property
    def owned_partitions(self) -> frozenset[TopicPartition]:
        """What the application believes is its own."""
        return self.membership.subscription.owned

    @property
    def is_rebalancing(self) -> bool:
        """Whether the application must go through a rebalance, or is in one."""
        member = self.membership
        return member.subscription.topics is not None and joining.is_rejoin_needed(member)

    @property
    def waits_for_poll(self) -> bool:
        """Whether it is settled but for a rebalance that its application's next poll is to join."""
        return self.state is MemberState.STABLE and self.is_rebalancing

    def next_deadline_ms(self) -> int | None:
        """The earliest time when `expire` has something to do; None if it waits for an answer or has nothing to do."""
        member = self.membership
        if member.is_closed:
            return None
        due = [heartbeats.next_beat_ms(member), committing.next_commit_ms(member)]
        due += [each.deadline_ms for each in member.in_flight.values()]
        if member.closing is not None:
            due.append(member.closing.deadline_ms)
        return min((each for each in due if each is not None), default=None)

    def next_poll_ms(self) -> int | None:
        """When a poll has something to do without another input; None if it waits for one. May be in the past."""
        member = self.membership
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
        turn = Turn(now_ms)
        wanted = frozenset(topics)
        if not wanted:
            leaving.unsubscribe(self.membership, turn)
        else:
            self.membership.subscription.topics = wanted
        return self._done(turn)

    def poll(self, now_ms: int) -> list[Output]:
        """Takes a poll of the application: raises one error, or advances the rebalance as far as it can, or commits
        offsets.

        It also counts for max.poll.interval.ms as a sign that the application is alive.
        """
        turn = Turn(now_ms)
        member = self.membership
        if not member.failures and self._go_on(turn):
            committing.maybe_commit_interval(member, turn)
        if member.failures:
            turn.emit(member.failures.pop(0))
        return self._done(turn)

    def advance(self, positions: Mapping[TopicPartition, int]) -> None:
        """Notes the positions of the application: the next offsets to consume, as auto-commit commits them.

        A partition that it does not own is ignored: it was revoked while its records were processed.
        """
        subscription = self.membership.subscription
        subscription.positions.update(
            {partition: offset for partition, offset in positions.items() if partition in subscription.owned}
        )

    def close(self, now_ms: int, timeout_ms: int = DEFAULT_CLOSE_TIMEOUT_MS) -> list[Output]:
        """Commits, gives all partitions up and leaves. Answers and `expire` continue it until Closed."""
        turn = Turn(now_ms)
        leaving.start_close(self.membership, timeout_ms, turn)
        return self._done(turn)

    # ------------------------------------------------------------ the network and the clock

    def metadata_changed(self, partition_counts: Mapping[str, int]) -> None:
        """Takes all topics of the cluster with their partition counts; a leader that sees a change joins again."""
        self.membership.subscription.partition_counts = dict(partition_counts)

    def response(self, request_id: str, response: Response, now_ms: int) -> list[Output]:
        """Takes an answer. One that is not awaited (too late, or its connection was given up) is ignored."""
        turn = Turn(now_ms)
        sent = self.membership.in_flight.pop(request_id, None)
        if sent is not None:
            self._answered(sent, response, turn)
        return self._done(turn)

    def request_failed(self, request_id: str, now_ms: int) -> list[Output]:
        """Takes note that a request timed out or its connection broke: all requests to the coordinator fail with it."""
        turn = Turn(now_ms)
        sent = self.membership.in_flight.get(request_id)
        if sent is not None:
            self._gave_up(sent, turn)
        return self._done(turn)

    def disconnected(self, now_ms: int) -> list[Output]:
        """Takes note that the connection to the coordinator broke."""
        turn = Turn(now_ms)
        lookup.mark_coordinator_unknown(self.membership, "the connection was closed", turn)
        return self._done(turn)

    def expire(self, now_ms: int) -> list[Output]:
        """Does what is due at or before now_ms in the background: timeouts, retries, heartbeats, the poll check."""
        turn = Turn(now_ms)
        due_ms = self.next_deadline_ms()
        while due_ms is not None and due_ms <= now_ms:
            late = next((each for each in self.membership.in_flight.values() if each.deadline_ms <= now_ms), None)
            if late is not None:
                self._gave_up(late, turn)
            committing.expire_commits(self.membership, turn)
            if committing.awaiting_coordinator(self.membership):
                lookup.maybe_look(self.membership, turn)
            heartbeats.beat(self.membership, turn)
            self._settle(turn)
            due_ms = self.next_deadline_ms()
        return turn.outputs

    # ------------------------------------------------------------ inside

    def _done(self, turn: Turn) -> list[Output]:
        self._settle(turn)
        return turn.outputs

    def _settle(self, turn: Turn) -> None:
        """Fails each request whose connection was closed, then continues a close as far as it can."""
        while turn.disconnected:
            self._lost(turn.disconnected.pop(0), turn)
        leaving.maybe_finish_close(self.membership, turn)

    def _go_on(self, turn: Turn) -> bool:
        """Continues the rebalance as far as it can. False if it waits or has failed."""
        member = self.membership
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
        member = self.membership
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
                lookup.on_find_coordinator(member, response, turn)
                committing.on_looked(member, turn)
            case LeaveGroupResponse():
                pass
            case _:
                raise TypeError(f"{type(response).__name__} answers no request of a member")

    def _gave_up(self, sent: InFlight, turn: Turn) -> None:
        """Gives up on a request: closes the connection on which it was sent."""
        if sent.is_to_coordinator:
            lookup.mark_coordinator_unknown(self.membership, "a request was not answered in time", turn)
            return
        del self.membership.in_flight[sent.request.request_id]
        lookup.find_failed(self.membership, turn)
        committing.on_looked(self.membership, turn)

    def _lost(self, sent: InFlight, turn: Turn) -> None:
        """Takes note that a request to the coordinator will not be answered; for a LeaveGroup that changes nothing."""
        match sent.request:
            case JoinGroupRequest() | SyncGroupRequest():
                joining.on_disconnect(self.membership, turn)
            case HeartbeatRequest():
                heartbeats.heartbeat_failed(self.membership, turn)
            case OffsetCommitRequest():
                committing.on_disconnect(self.membership, sent, turn)
