"""Heartbeat (key 12, v0-4): a member says that it is alive and learns whether it must join again.

v3 adds the instance id (KIP-345). The hot path of the coordinator: nothing here may look at other members.
Source: GroupMetadataManager.classicGroupHeartbeat; NONE in CompletingRebalance since KAFKA-10134.

A run of heartbeats is answered by the same rule for each, with one effect for all that are taken. Nothing but a
deadline can change a group between two heartbeats of a run. So a run is cut where a deadline passes, and within a piece
all heartbeats of one member with the same fields have the same answer. A heartbeat that arrives after later facts keeps
its own moment. Must not know who packs runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter
from typing import NamedTuple

from rollcall.coordinator_udfs.protocol.answers import answer
from rollcall.coordinator_udfs.protocol.consumer.classic_members import heartbeat_to_consumer_group
from rollcall.coordinator_udfs.protocol.deadlines import exact_next_deadline_ms
from rollcall.coordinator_udfs.protocol.expiry import fire_due
from rollcall.coordinator_udfs.protocol.group import Group, GroupView
from rollcall.coordinator_udfs.protocol.membership import keep_alive, refusal_of_member
from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.coordinator_udfs.protocol.turn import Turn
from rollcall.schemas.effects import Effect, HeartbeatsTaken, Reply
from rollcall.schemas.errors import Error
from rollcall.schemas.heartbeat_runs import cut, with_beats
from rollcall.schemas.membership_messages import beat_id
from rollcall.schemas.messages import HeartbeatRequest, HeartbeatResponse, HeartbeatRunRequest, MemberBeats

_in_time = attrgetter("at_ms")


def heartbeat(group: Group, request: HeartbeatRequest, turn: Turn) -> None:
    """Answers NONE, or REBALANCE_IN_PROGRESS while members are awaited; either keeps the session alive.

    Errors in the order checked: INVALID_GROUP_ID, UNKNOWN_MEMBER_ID (unknown group), COORDINATOR_NOT_AVAILABLE (Dead),
    UNKNOWN_MEMBER_ID or FENCED_INSTANCE_ID, ILLEGAL_GENERATION.
    """
    error = error_of_heartbeat(group, request)
    if error is Error.NONE or error is Error.REBALANCE_IN_PROGRESS:
        keep_alive(group, group.members[request.member_id], turn)
    response = HeartbeatResponse(error_code=error)
    answer(request, "Heartbeat", error, response, turn, request.member_id, request.generation_id)


def error_of_heartbeat(group: GroupView, request: HeartbeatRequest) -> Error:
    """The error that a heartbeat is answered with; changes nothing."""
    if not request.group_id:
        return Error.INVALID_GROUP_ID
    if not group.is_known:
        return Error.UNKNOWN_MEMBER_ID
    if group.state == GroupState.DEAD:
        return Error.COORDINATOR_NOT_AVAILABLE
    refusal = refusal_of_member(group, request.member_id, request.group_instance_id)
    if refusal is not None:
        return refusal
    if request.generation_id != group.generation_id:
        return Error.ILLEGAL_GENERATION
    return Error.REBALANCE_IN_PROGRESS if group.state == GroupState.PREPARING_REBALANCE else Error.NONE


class Beat(NamedTuple):
    """One heartbeat of a run; beats compare in the order in which they are taken."""

    moment_ms: int
    place: int
    """The place of its MemberBeats in the run."""


def beats_of(run: HeartbeatRunRequest) -> list[Beat]:
    """Every heartbeat of a run, in order."""
    return sorted(Beat(run.from_ms + beat, place) for place, one in enumerate(run.members) for beat in one.beats)


def request_of(run: HeartbeatRunRequest, beat: Beat) -> HeartbeatRequest:
    """One heartbeat of a run as the request that its client sent."""
    member = run.members[beat.place]
    return HeartbeatRequest(
        request_id=beat_id(run.request_id, beat.place, beat.moment_ms - run.from_ms),
        api_version=member.api_version,
        client_id=member.client_id,
        client_host=run.client_host,
        received_at_ms=beat.moment_ms,
        group_id=run.group_id,
        generation_id=run.generation_id,
        member_id=member.member_id,
        group_instance_id=member.group_instance_id,
    )


def heartbeat_run(group: Group, run: HeartbeatRunRequest, turn: Turn) -> None:
    """Takes every heartbeat of a run at its own moment, none later than the turn's, after what falls due before it.

    A session counts from its heartbeat's moment, even if the run was held in the gateway. But no heartbeat shortens a
    session: lost time may have been given back since. Errors: see `heartbeat`.
    """
    rest: HeartbeatRunRequest | None = run
    while rest is not None:
        first_ms = rest.from_ms + min(one.beats[0] for one in rest.members if one.beats)
        begin_ms = max(min(first_ms, turn.now_ms), group.updated_at_ms)
        if group.next_due_ms is not None and group.next_due_ms < begin_ms:
            turn.effects += fire_due(group, begin_ms - 1, turn.config, turn.armed_from_ms if turn.is_live else None)
        part, later = _up_to_a_deadline(group, rest, turn.now_ms)
        taking = _Taking(group, part, turn)
        if group.consumer is None:
            found = taking.together()
        else:
            found, last_ms = taking.one_by_one()
            if last_ms < _last_ms(part):
                part, later = cut(rest, last_ms)
        rest = later
        turn.effects += sorted(found, key=_in_time)
        group.updated_at_ms = max(group.updated_at_ms, min(_last_ms(part), turn.now_ms))


def _up_to_a_deadline(
    group: Group, run: HeartbeatRunRequest, now_ms: int
) -> tuple[HeartbeatRunRequest, HeartbeatRunRequest | None]:
    """The heartbeats up to and at the next deadline, and those after it; None: there are none."""
    due_ms, last_ms = group.next_due_ms, min(_last_ms(run), now_ms)
    if due_ms is not None and due_ms < last_ms:
        due_ms = exact_next_deadline_ms(group)
    if due_ms is None or due_ms >= last_ms:
        return run, None
    return cut(run, due_ms)


def _last_ms(run: HeartbeatRunRequest) -> int:
    return run.from_ms + max(one.beats[-1] for one in run.members if one.beats)


def _session_from_ms(group: Group, member_id: str) -> int | None:
    """From when a member's session counts; None: it has none, or is not in its first generation yet."""
    if group.consumer is not None:
        member = group.consumer.members.get(member_id)
        ends_ms = None if member is None else member.session_deadline_ms
        return None if member is None or ends_ms is None else ends_ms - member.session_length_ms
    classic = group.members.get(member_id)
    if classic is None or classic.is_new or classic.session_deadline_ms is None:
        return None
    return classic.session_deadline_ms - classic.session_timeout_ms


class _Taking:
    """Takes a piece of a run in which no deadline passes."""

    def __init__(self, group: Group, run: HeartbeatRunRequest, turn: Turn) -> None:
        self._group, self._run = group, run
        self._now_ms, self._config = turn.now_ms, turn.config
        self._topics = turn.topics, turn.topics_version
        # A session counts from its heartbeat's moment. Live, the batch's time is the moment of handing on.
        until_ms = run.received_at_ms
        if turn.is_live and run.handed_on_ms is not None:
            until_ms = max(run.handed_on_ms, until_ms)
        self._later_ms = turn.armed_from_ms - until_ms
        self._is_live = turn.is_live

    def _turn(self, moment_ms: int, member_id: str = "") -> Turn:
        at_ms = max(min(moment_ms, self._now_ms), self._group.updated_at_ms)
        return Turn(at_ms, self._config, self._armed_from_ms(moment_ms, member_id))

    def _armed_from_ms(self, moment_ms: int, member_id: str) -> int:
        """From when the session of a heartbeat's member counts."""
        from_ms = moment_ms + self._later_ms
        known_ms = _session_from_ms(self._group, member_id) if self._is_live else None
        return from_ms if known_ms is None else max(from_ms, known_ms)

    def _is_taken(self, error: Error) -> bool:
        """Whether a heartbeat is reported among those that were answered NONE."""
        return error is Error.NONE or (error is Error.REBALANCE_IN_PROGRESS and self._run.is_answered)

    def together(self) -> list[Effect]:
        """In a classic group: one check for all of a member's heartbeats, and its session begins anew once."""
        group, run = self._group, self._run
        effects: list[Effect] = []
        alive: list[Beat] = []
        taken: list[MemberBeats] = []
        for place, one in enumerate(run.members):
            if not one.beats:
                taken.append(one)
                continue
            last = Beat(run.from_ms + one.beats[-1], place)
            error = error_of_heartbeat(group, request_of(run, last))
            if error is Error.NONE or error is Error.REBALANCE_IN_PROGRESS:
                alive.append(last)
            if self._is_taken(error):
                taken.append(one)
            else:
                taken.append(with_beats(one, []))
                effects += self._refused(place, one, error)
        for last in sorted(alive):
            member = group.members[run.members[last.place].member_id]
            if last.moment_ms >= member.last_seen_at_ms:
                armed_from_ms = self._armed_from_ms(last.moment_ms, member.member_id)
                keep_alive(group, member, Turn(min(last.moment_ms, self._now_ms), self._config, armed_from_ms))
        return [*effects, *self._reported(taken)]

    def _refused(self, place: int, one: MemberBeats, error: Error) -> Iterator[Effect]:
        for beat in one.beats:
            moment_ms = self._run.from_ms + beat
            request, turn = request_of(self._run, Beat(moment_ms, place)), self._turn(moment_ms)
            response = HeartbeatResponse(error_code=error)
            answer(request, "Heartbeat", error, response, turn, request.member_id, request.generation_id)
            yield from turn.effects

    def one_by_one(self) -> tuple[list[Effect], int]:
        """In a group under the newer protocol, where a heartbeat may do more than keep its member alive. A member that
        must rejoin gets a deadline, which may pass before its next heartbeat: that one and those after it are not
        taken. Also returns the moment of the last one that is.
        """
        effects: list[Effect] = []
        taken = [with_beats(one, []) for one in self._run.members]
        last_ms: int | None = None
        for beat in beats_of(self._run):
            turn = self._turn(beat.moment_ms, self._run.members[beat.place].member_id)
            due_ms = self._group.next_due_ms
            if last_ms is not None and due_ms is not None and due_ms < turn.now_ms:
                break
            last_ms = beat.moment_ms
            turn.topics, turn.topics_version = self._topics
            heartbeat_to_consumer_group(self._group, request_of(self._run, beat), turn)
            for effect in turn.effects:
                if isinstance(effect, Reply) and self._is_taken(effect.error_code):
                    one = taken[beat.place]
                    taken[beat.place] = with_beats(one, [*one.beats, beat.moment_ms - self._run.from_ms])
                else:
                    effects.append(effect)
        assert last_ms is not None
        return [*effects, *self._reported(taken)], last_ms

    def _reported(self, taken: list[MemberBeats]) -> Iterator[Effect]:
        run = self._run
        last = max((one.beats[-1] for one in taken if one.beats), default=None)
        if last is not None:
            yield HeartbeatsTaken(
                at_ms=self._turn(run.from_ms + last).now_ms,
                request_id=run.request_id,
                generation_id=run.generation_id,
                from_ms=run.from_ms,
                taken=taken,
            )
