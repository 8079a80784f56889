"""Commits of the member's own: at every interval, before a join and at close.

Knows what a commit waits for, how often it is tried and how it fails. Source:
ConsumerCoordinator.maybeAutoCommitOffsetsAsync, commitOffsetsSync, OffsetCommitResponseHandler.
"""

from __future__ import annotations

from collections.abc import Mapping

from rollcall.answers.clients.events import CommitFailed, CommitFailure, CommitKind, FatalError, OffsetsCommitted
from rollcall.answers.clients.lookup import maybe_look
from rollcall.answers.clients.membership import REBALANCING, Commit, InFlight, Membership, MemberState, Turn
from rollcall.answers.clients.reactions import COMMIT_DURING_REBALANCE, OFFSET_COMMIT, Reaction, encountered, fenced
from rollcall.answers.clients.requests import send_offset_commit
from rollcall.schemas.consumer_protocol import TopicPartition
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import OffsetCommitResponse


def start_commit(
    member: Membership,
    offsets: Mapping[TopicPartition, int],
    kind: CommitKind,
    turn: Turn,
    deadline_ms: int | None = None,
) -> Commit:
    """Commits these offsets as soon as there is a coordinator."""
    member.commits_made += 1
    commit = Commit(member.commits_made, kind, dict(offsets), deadline_ms)
    member.commits[commit.commit_id] = commit
    _try(member, commit, turn)
    return commit


def start_auto_commit(
    member: Membership, kind: CommitKind, turn: Turn, deadline_ms: int | None = None
) -> Commit | None:
    """Commits the positions of all owned partitions. None if auto-commit is off or no position is known."""
    wanted = member.subscription
    positions = {each: wanted.positions[each] for each in sorted(wanted.owned) if each in wanted.positions}
    if not member.config.enable_auto_commit or not positions:
        return None
    return start_commit(member, positions, kind, turn, deadline_ms)


def maybe_commit_interval(member: Membership, turn: Turn) -> None:
    """The auto-commit of the foreground: once an interval, when the application polls."""
    interval_ms = member.config.auto_commit_interval_ms
    if member.auto_commit_due_ms is None:
        member.auto_commit_due_ms = turn.now_ms + interval_ms
    if turn.now_ms < member.auto_commit_due_ms:
        return
    member.auto_commit_due_ms = turn.now_ms + interval_ms
    start_auto_commit(member, CommitKind.INTERVAL, turn)


def _try(member: Membership, commit: Commit, turn: Turn) -> None:
    """Sends the commit if there are a coordinator and a generation; looks for a missing coordinator, fails without a
    generation.
    """
    commit.retry_at_ms = None
    if member.lookup.node is None:
        return maybe_look(member, turn)
    if member.state is not MemberState.STABLE:
        is_rebalancing = member.state in REBALANCING
        failure = CommitFailure.REBALANCE_IN_PROGRESS if is_rebalancing else CommitFailure.COMMIT_FAILED
        return _fail(member, commit, failure, None, turn)
    commit.is_in_flight = True
    send_offset_commit(member, commit, turn)


def awaiting_coordinator(member: Membership) -> list[Commit]:
    """The commits that wait for a coordinator only."""
    return [each for each in member.commits.values() if not each.is_in_flight and each.retry_at_ms is None]


def on_looked(member: Membership, turn: Turn) -> None:
    """Sends the commits if the coordinator was found. Otherwise fails them; one at close waits for the next look."""
    is_found = member.lookup.node is not None
    for commit in awaiting_coordinator(member):
        if is_found:
            _try(member, commit, turn)
        elif commit.kind is not CommitKind.AT_CLOSE:
            _fail(member, commit, CommitFailure.RETRIABLE, None, turn)


def expire_commits(member: Membership, turn: Turn) -> None:
    """Fails commits whose time is up, and sends those that are due."""
    for commit in list(member.commits.values()):
        if commit.deadline_ms is not None and commit.deadline_ms <= turn.now_ms:
            _fail(member, commit, CommitFailure.TIMED_OUT, None, turn)
        elif commit.retry_at_ms is not None and commit.retry_at_ms <= turn.now_ms:
            _try(member, commit, turn)


def next_commit_ms(member: Membership) -> int | None:
    """The earliest time when a commit must be given up or tried again, or its coordinator looked for."""
    moments = [each.deadline_ms for each in member.commits.values()]
    moments += [each.retry_at_ms for each in member.commits.values()]
    if member.lookup.node is None and not member.is_looking and awaiting_coordinator(member):
        moments.append(member.lookup.retry_at_ms)
    return min((each for each in moments if each is not None), default=None)


def on_disconnect(member: Membership, sent: InFlight, turn: Turn) -> None:
    """Note that the connection broke, or time ran out, while the commit was in flight."""
    _fail(member, _commit_of(member, sent), CommitFailure.RETRIABLE, None, turn)


def on_offset_commit(member: Membership, sent: InFlight, response: OffsetCommitResponse, turn: Turn) -> None:
    """Takes a commit's answer; the first partition's error, if there is one, is the commit's."""
    commit = _commit_of(member, sent)
    errors = (each.error_code for topic in response.topics for each in topic.partitions)
    error = next((each for each in errors if each is not Error.NONE), Error.NONE)
    if error is Error.NONE:
        if commit is not None:
            del member.commits[commit.commit_id]
            commit.is_done, commit.is_in_flight = True, False
            turn.emit(OffsetsCommitted(commit.commit_id, commit.kind, commit.offsets))
        return
    is_unchanged = sent.sent_generation == member.generation
    is_preparing = member.state is MemberState.PREPARING_REBALANCE
    outdated = CommitFailure.REBALANCE_IN_PROGRESS if is_preparing and not is_unchanged else CommitFailure.COMMIT_FAILED
    reaction = OFFSET_COMMIT.get(error, Reaction.FATAL)
    match reaction:
        case Reaction.RETRY:
            _fail(member, commit, CommitFailure.RETRIABLE, error, turn)
        case Reaction.REJOIN:
            member.request_rejoin(COMMIT_DURING_REBALANCE)
            _fail(member, commit, CommitFailure.REBALANCE_IN_PROGRESS, error, turn)
        case Reaction.RESET_GENERATION | Reaction.RESET_MEMBER:
            if is_unchanged:
                forgets = reaction is Reaction.RESET_MEMBER
                member.reset(encountered(error, "OFFSET_COMMIT"), forgets_member_id=forgets)
            _fail(member, commit, outdated, error, turn)
        case Reaction.FENCED if is_unchanged:
            member.failures.append(FatalError("OffsetCommit", error, fenced(member.config.group_instance_id)))
            _fail(member, commit, CommitFailure.FATAL, error, turn)
        case Reaction.FENCED:
            _fail(member, commit, outdated, error, turn)
        case _:
            _fail(member, commit, CommitFailure.FATAL, error, turn)


def _commit_of(member: Membership, sent: InFlight) -> Commit | None:
    """The commit of a request; None if it was given up in the meantime."""
    return member.commits.get(sent.commit_id or 0)


def _fail(member: Membership, commit: Commit | None, failure: CommitFailure, error: Error | None, turn: Turn) -> None:
    """Fails the commit, or plans the next attempt of one at close, which is tried until its deadline."""
    if commit is None:
        return
    commit.is_in_flight = False
    if failure is CommitFailure.RETRIABLE and commit.kind is CommitKind.AT_CLOSE:
        commit.retry_at_ms = turn.now_ms + member.config.backoff_ms(commit.attempts)
        commit.attempts += 1
        return
    del member.commits[commit.commit_id]
    commit.is_done, commit.failure = True, failure
    if failure is CommitFailure.RETRIABLE and commit.kind is CommitKind.INTERVAL:
        member.auto_commit_due_ms = turn.now_ms + member.config.retry_backoff_ms
    turn.emit(CommitFailed(commit.commit_id, commit.kind, failure, error, commit.offsets))
