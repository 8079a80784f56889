"""A process's requests -> its schedule: the interval of its heartbeats, stalls, late polls, its end.

    silent for more than two heartbeats and back    it was stalled meanwhile
    left because it did not poll, and back          its application was busy, since max.poll.interval.ms before it left
    notified of a rebalance, joined much later      its application was busy until then
    left and did not come back                      closed
    silent up to the end of the recording           killed, half a heartbeat after its last request

max.poll.interval.ms is taken for its rebalance timeout, as in the Java client. Knows what was seen; knows no setting
that is tried and no rule of the coordinator's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean, median_low
from typing import assert_never

from rollcall.answers.clients.config import ApiVersions, ConsumerConfig, ConsumerConfigError
from rollcall.answers.simulation.plan import Span, Subscribed
from rollcall.answers.whatif.observed_processes import FATAL, Act, GroupObserver, ObservedRequest, Process
from rollcall.answers.whatif.schedules import GroupSchedules, ProcessSchedule, Terms, classic_terms, newer_terms
from rollcall.coordinator_udfs.protocol.config import CONSUMER_KEYS, GroupConfig
from rollcall.coordinator_udfs.protocol.leave_group import MEMBERS_SINCE
from rollcall.programs.settings import from_texts
from rollcall.schemas.errors import Error

STALL_BEATS = 2
STALL_MARGIN_MS = 500
"""A process that is silent for more than these heartbeats and this time was stalled, or is gone."""
LATE_POLL_MS = 1000
"""A process that joins later than this after REBALANCE_IN_PROGRESS was busy; a shorter delay is its usual one."""
LATE_ACKNOWLEDGEMENT_MS = 250
"""A member of the newer protocol acknowledges its new assignment sooner than this, unless it is busy."""
STEADY_WITHIN = 0.05
"""A rhythm is steady if the middle half of its gaps differs by at most this share of their median."""
LEAST_PACE_MS = 100
"""A shorter gap is not a part of a rhythm: a retry, or one of many requests at once."""
DEFAULT_BEAT_MS = ConsumerConfig().heartbeat_interval_ms
LATENCY_AT_MOST_MS = 500
CONSUMER = "consumer"


@dataclass(slots=True)
class _Gaps:
    """The gaps between one process's requests, ms."""

    beats: list[int] = field(default_factory=list)
    """From heartbeat to heartbeat."""
    commits: list[int] = field(default_factory=list)
    """From commit to commit."""
    rejoins: list[int] = field(default_factory=list)
    """From REBALANCE_IN_PROGRESS to its JoinGroup."""


def why_left_out(observer: GroupObserver) -> str | None:
    """Why a group's schedules cannot be played; None: they can."""
    has_newer = any(process.subscriptions for process in observer.processes)
    kinds = ", ".join(sorted(observer.protocol_types - {CONSUMER}))
    if kinds:
        return f"its protocol type is {kinds}"
    if has_newer and observer.protocol_types:
        return "its members speak both group protocols"
    if all(process.join is None and process.heartbeat is None for process in observer.processes):
        return "nobody was seen to join it"
    return None


def schedules_of(observer: GroupObserver, from_ms: int, until_ms: int, broker: dict[str, str]) -> GroupSchedules | None:
    """How a group lived in from_ms..until_ms; None where `why_left_out` says why."""
    if why_left_out(observer) is not None:
        return None
    config = from_texts(GroupConfig, broker)
    terms = {id(process): found for process in observer.processes if (found := _terms_of(process, config))}
    any_terms = next(iter(terms.values()))
    names: dict[str, int] = {}
    schedules = []
    for process in observer.processes:
        if not process.member_ids:
            continue
        client = process.group_instance_id or process.client_id or "consumer"
        names[client] = names.get(client, 0) + 1
        name = client if names[client] == 1 else f"{client}#{names[client]}"
        schedules.append(schedule_of(process, terms.get(id(process), any_terms), name, until_ms, observer.aways))
    if not schedules:
        return None
    named = {topic for schedule in schedules for topic in schedule.terms.topics}
    named |= {topic for schedule in schedules for later in schedule.subscribed for topic in later.topics}
    topics = dict.fromkeys(sorted(named), 0) | observer.topics
    latency_ms = _latency_ms(observer.processes)
    growths = tuple(observer.growths)
    intervals = [one.heartbeat_interval_ms for one in observer.processes if one.heartbeat_interval_ms is not None]
    known = ({CONSUMER_KEYS["heartbeat_interval_ms"]: str(intervals[-1])} if intervals else {}) | broker
    return GroupSchedules(observer.group_id, from_ms, until_ms, tuple(schedules), topics, growths, latency_ms, known)


def _terms_of(process: Process, config: GroupConfig) -> Terms | None:
    if process.join is not None:
        return classic_terms(process.join)
    return None if process.heartbeat is None else newer_terms(process.heartbeat, config)


def schedule_of(
    process: Process, terms: Terms, name: str, until_ms: int, aways: Sequence[tuple[int, int]]
) -> ProcessSchedule:
    """One process.

    terms: its own, or another member's if it was there before the recording and never joined. aways: when its group had
    no coordinator, so that its silence shows nothing.
    """
    pace = _pace_of(process.seen)
    beat_ms = process.heartbeat_interval_ms or min(_beat_ms(pace.beats), max(1, terms.session_timeout_ms // 2))
    first = process.subscriptions[0] if process.subscriptions else Subscribed(0, terms.topics)
    close_ms, kill_ms = _end_of(process, terms, beat_ms, until_ms)
    delays = [lag for lag in pace.rejoins if lag <= LATE_POLL_MS]
    return ProcessSchedule(
        name=name,
        member_ids=tuple(process.member_ids),
        client_id=process.client_id,
        client_host=process.client_host,
        group_instance_id=process.group_instance_id,
        terms=replace(terms, topics=first.topics),
        pattern=first.pattern,
        heartbeat_interval_ms=beat_ms,
        api_versions=_versions_of(process, terms.join_version),
        start_ms=process.seen[0].at_ms,
        was_there=process.was_there,
        first_beat_ms=_first_beat_ms(process) if process.was_there else None,
        close_ms=close_ms,
        kill_ms=kill_ms,
        pauses=tuple(_without(_pauses(process.seen, beat_ms), aways)),
        slow=(
            *_slow(process.seen, beat_ms, terms.rebalance_timeout_ms, until_ms),
            *_unacknowledged(process.seen, beat_ms),
        ),
        rejoin_delay_ms=median_low(delays) if delays else 0,
        restart_after_ms=_restart_after_ms(process.seen),
        auto_commit_interval_ms=_commit_interval_ms(pace.commits, process),
        subscribed=tuple(process.subscriptions[1:]),
    )


# ---------------------------------------------------------------- rhythms


def _pace_of(seen: Sequence[ObservedRequest]) -> _Gaps:
    pace = _Gaps()
    last_beat_ms = last_commit_ms = asked_ms = None
    joined_ms = 0
    for each in seen:
        match each.act:
            case Act.BEAT:
                if last_beat_ms is not None:
                    pace.beats.append(each.at_ms - last_beat_ms)
                last_beat_ms = each.at_ms
                if _asks_to_rejoin(each, joined_ms) and asked_ms is None:
                    asked_ms = each.answered_ms
            case Act.COMMIT:
                if last_commit_ms is not None:
                    pace.commits.append(each.at_ms - last_commit_ms)
                last_commit_ms = each.at_ms
            case Act.JOIN:
                if asked_ms is not None:
                    pace.rejoins.append(max(0, each.at_ms - asked_ms))
                last_beat_ms = last_commit_ms = asked_ms = None
                joined_ms = each.answered_ms or each.at_ms
            case Act.SYNC | Act.LEAVE | Act.LEAVE_UNPOLLED:
                last_beat_ms = asked_ms = None
            case _:
                assert_never(each.act)
    pace.beats = [gap for gap in pace.beats if gap >= LEAST_PACE_MS]
    pace.commits = [gap for gap in pace.commits if gap >= LEAST_PACE_MS]
    return pace


def _first_beat_ms(process: Process) -> int | None:
    """Its first heartbeat; None if it joins again before that, which begins another rhythm."""
    for each in process.seen:
        if each.act is Act.BEAT:
            return each.at_ms
        if each.act is Act.JOIN:
            break
    return None


def _beat_ms(gaps: Sequence[int]) -> int:
    """The median of a steady rhythm; the mean of another one, as of libraries that beat when a fetch returns."""
    if not gaps:
        return DEFAULT_BEAT_MS
    middle_ms = median_low(gaps)
    regular = sorted(gap for gap in gaps if not _is_stall(gap, middle_ms))
    spread_ms = regular[len(regular) * 3 // 4] - regular[len(regular) // 4]
    return round(fmean(regular)) if spread_ms > middle_ms * STEADY_WITHIN else middle_ms


def _commit_interval_ms(gaps: Sequence[int], process: Process) -> int | None:
    if Act.COMMIT not in process.versions:
        return None
    return median_low(gaps) if gaps else ConsumerConfig().auto_commit_interval_ms


def _latency_ms(processes: Sequence[Process]) -> tuple[int, int]:
    """One way: half of what passes from the answer to a JoinGroup to the SyncGroup that follows."""
    lags = []
    for process in processes:
        for before, after in zip(process.seen, process.seen[1:], strict=False):
            is_pair = before.act is Act.JOIN and after.act is Act.SYNC
            if is_pair and before.answered_ms is not None:
                lags.append(max(0, after.at_ms - before.answered_ms))
    round_trip_ms = min(median_low(lags), LATENCY_AT_MOST_MS) if lags else 1
    return round_trip_ms // 2, round_trip_ms - round_trip_ms // 2


def _asks_to_rejoin(seen: ObservedRequest, joined_ms: int) -> bool:
    """Whether this answer asks it to rejoin, and it has not done so meanwhile on another connection."""
    must_rejoin = seen.act is Act.BEAT and seen.error is Error.REBALANCE_IN_PROGRESS
    return must_rejoin and seen.at_ms > joined_ms


# ---------------------------------------------------------------- stalls


def _is_stall(silent_ms: int, beat_ms: int) -> bool:
    return silent_ms > STALL_BEATS * beat_ms + STALL_MARGIN_MS


def _pauses(seen: Sequence[ObservedRequest], beat_ms: int) -> list[Span]:
    """The stalls: times without a request while it is a member and waits for no answer."""
    pauses: list[Span] = []
    free_ms = owed_ms = None
    for each in seen:
        if free_ms is not None and _is_stall(each.at_ms - free_ms, beat_ms):
            from_ms = free_ms + beat_ms // 2 if owed_ms is None else owed_ms
            pauses.append(Span(from_ms, each.at_ms - from_ms))
        if each.act is not Act.COMMIT:
            owed_ms = each.answered_ms if each.owes_acknowledgement else None
        free_ms = max(free_ms or 0, each.answered_ms) if _is_member_after(each) and each.answered_ms else None
    return pauses


def _without(spans: Sequence[Span], others: Sequence[tuple[int, int]]) -> list[Span]:
    """The spans that do not overlap any other."""
    return [span for span in spans if not any(a <= span.to_ms and b >= span.from_ms for a, b in others)]


def _is_member_after(seen: ObservedRequest) -> bool:
    """Whether heartbeats are due once this is answered."""
    return seen.act not in (Act.LEAVE, Act.LEAVE_UNPOLLED) and seen.error in (Error.NONE, Error.REBALANCE_IN_PROGRESS)


def _unacknowledged(seen: Sequence[ObservedRequest], beat_ms: int) -> list[Span]:
    """Where a member of the newer protocol took long to acknowledge a new assignment."""
    spans: list[Span] = []
    owed: ObservedRequest | None = None
    for each in seen:
        if each.act is Act.COMMIT:
            continue
        if owed is not None and each.at_ms - owed.at_ms >= LATE_ACKNOWLEDGEMENT_MS:
            # The process knew of the rebalance, but its application had not polled.
            early_ms = beat_ms // 2 if _is_stall(each.at_ms - owed.at_ms, beat_ms) else 0
            spans.append(Span(owed.at_ms - early_ms, each.at_ms - owed.at_ms + early_ms))
        owed = each if each.owes_acknowledgement else None
    return spans


def _slow(seen: Sequence[ObservedRequest], beat_ms: int, poll_interval_ms: int, until_ms: int) -> list[Span]:
    """Where its application did not poll: for so long that it left, or that others waited for its JoinGroup."""
    slow: list[Span] = []
    left_ms = asked_ms = answered_ms = None
    joined_ms = 0
    for each in seen:
        if each.act is Act.LEAVE_UNPOLLED:
            left_ms, asked_ms = each.at_ms, None
        elif _asks_to_rejoin(each, joined_ms) and asked_ms is None:
            asked_ms, answered_ms = each.at_ms, each.answered_ms
        elif each.act is Act.JOIN:
            if left_ms is not None:
                slow.append(Span(left_ms - poll_interval_ms, each.at_ms - left_ms + poll_interval_ms))
            elif asked_ms is not None and answered_ms is not None and each.at_ms - answered_ms > LATE_POLL_MS:
                slow.append(Span(asked_ms - beat_ms, each.at_ms - asked_ms + beat_ms))
            left_ms = asked_ms = None
            joined_ms = each.answered_ms or each.at_ms
    if seen[-1].act is Act.LEAVE_UNPOLLED:
        begun_ms = seen[-1].at_ms - poll_interval_ms
        slow.append(Span(begun_ms, until_ms - begun_ms))
    return slow


# ---------------------------------------------------------------- its end


def _end_of(process: Process, terms: Terms, beat_ms: int, until_ms: int) -> tuple[int | None, int | None]:
    """(when it closed, when it was killed): one of the two, or neither."""
    last = process.seen[-1]
    if last.act is Act.LEAVE:
        return last.at_ms, None
    if last.answered_ms is None:
        return None, last.at_ms + 1
    is_out = last.act is Act.LEAVE_UNPOLLED or last.error in FATAL
    if is_out or not _is_stall(until_ms - last.answered_ms, beat_ms):
        return None, None
    must_rejoin = last.act is Act.BEAT and last.error is Error.REBALANCE_IN_PROGRESS
    if must_rejoin and until_ms - last.answered_ms <= max(terms.rebalance_timeout_ms, terms.session_timeout_ms):
        return None, None
    if last.act is Act.COMMIT and process.group_instance_id is not None:
        return last.at_ms, None
    return None, last.answered_ms + beat_ms // 2


def _restart_after_ms(seen: Sequence[ObservedRequest]) -> int | None:
    """How long after a fatal error the same process asked for an id as a new one."""
    lags = []
    refused_ms: int | None = None
    for each in seen:
        if each.act is Act.JOIN and refused_ms is not None:
            lags.append(each.at_ms - refused_ms)
            refused_ms = None
        if each.error in FATAL and refused_ms is None:
            refused_ms = each.answered_ms
    return median_low(lags) if lags else None


# ---------------------------------------------------------------- its versions


def _versions_of(process: Process, join: int | None) -> ApiVersions:
    """The versions that were seen, and for other APIs those that match its JoinGroup; OffsetCommit v10 is played as v9.
    A member of the newer protocol heartbeats and leaves by an API of its own, whose versions show nothing of the
    others.
    """
    known = ApiVersions()
    commit = min(process.versions.get(Act.COMMIT, known.offset_commit), known.offset_commit)
    if process.subscriptions:
        return replace(known, offset_commit=commit)
    spoken = process.versions
    leave = spoken.get(Act.LEAVE, spoken.get(Act.LEAVE_UNPOLLED, MEMBERS_SINCE))
    try:
        return ApiVersions(
            join_group=known.join_group if join is None else join,
            sync_group=min(spoken.get(Act.SYNC, known.sync_group), known.sync_group),
            heartbeat=min(spoken.get(Act.BEAT, known.heartbeat), known.heartbeat),
            leave_group=leave,
            offset_commit=commit,
        )
    except ConsumerConfigError:
        return ApiVersions()
