"""How a member went, by what it did last: one end where one alone fits, else every one that does."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollcall.inputs.offsets_topic.history.departures import Evidence, Verdict, judge, returning
from rollcall.inputs.offsets_topic.history.state import Commits
from rollcall.schemas.causes import EndCause

S = 1_000
LEFT, POLL, EXPIRED = EndCause.MEMBER_LEFT, EndCause.POLL_TIMEOUT, EndCause.SESSION_EXPIRED


def classic(
    silence_ms: int, *, session_s: int = 45, poll_s: int = 300, commits: int = 9, exact: bool = False
) -> Evidence:
    """A classic member that commits every 5 s, and was gone silence_ms after its last commit at the latest."""
    last_commits = Commits(count=commits, last_ms=0 if commits else None, longest_gap_ms=5 * S if commits > 1 else 0)
    return Evidence(
        gone_by_ms=silence_ms,
        is_exact=exact,
        last_seen_ms=0,
        commits=last_commits,
        session_timeout_ms=session_s * S,
        rebalance_timeout_ms=poll_s * S,
        is_static=False,
    )


def consumer(silence_ms: int, *, poll_s: int = 300, commits: int = 9) -> Evidence:
    """Likewise a member of the newer protocol: it is known when it went, and not its session timeout."""
    return replace(classic(silence_ms, poll_s=poll_s, commits=commits, exact=True), session_timeout_ms=-1)


def known(evidence: Evidence, session_s: int = 45) -> Evidence:
    """Likewise where somebody says the session timeout of its group."""
    return replace(evidence, group_session_ms=session_s * S)


def among(evidence: Evidence) -> Evidence:
    """Likewise where another member committed just before it went."""
    return replace(evidence, others_commit_ms=evidence.gone_by_ms - S)


@pytest.mark.parametrize(
    ("evidence", "end"),
    [
        (classic(900), LEFT),
        (classic(20 * S), LEFT),
        (classic(46 * S), EXPIRED),
        (classic(9 * S, session_s=8), EXPIRED),
        (classic(301 * S), POLL),
        (classic(46 * S, exact=True), EXPIRED),
        (consumer(300), LEFT),
        (consumer(4 * S), LEFT),
        (consumer(47 * S), EXPIRED),
        (known(consumer(13 * S, poll_s=10)), POLL),
        (known(consumer(13 * S, poll_s=15), 10), EXPIRED),
        (among(consumer(7 * S)), EXPIRED),
        (among(consumer(13 * S, poll_s=15)), EXPIRED),
    ],
)
def test_one_end_is_inferred_where_one_alone_fits(evidence: Evidence, end: EndCause) -> None:
    assert judge(evidence) == Verdict(end)
    assert judge(evidence).is_inferred


@pytest.mark.parametrize(
    ("evidence", "fits"),
    [
        (classic(12 * S, session_s=10, poll_s=10), {LEFT, POLL, EXPIRED}),
        (classic(3 * S, session_s=45, poll_s=8), {LEFT, POLL}),
        (classic(60 * S, commits=0), {LEFT, EXPIRED}),
        (classic(200 * S), {LEFT, EXPIRED}),
        (consumer(8 * S), {LEFT, EXPIRED}),
        (consumer(20 * S), {LEFT, EXPIRED}),
        (consumer(13 * S, poll_s=10), {LEFT, POLL, EXPIRED}),
        (among(consumer(13 * S, poll_s=10)), {LEFT, POLL, EXPIRED}),
        (among(consumer(6 * S)), {LEFT, EXPIRED}),
        (among(consumer(20 * S, commits=2)), {LEFT, EXPIRED}),
        (consumer(60 * S, commits=0), {LEFT, EXPIRED}),
        (consumer(301 * S, commits=0), {LEFT, POLL, EXPIRED}),
    ],
)
def test_all_that_fits_is_named_where_more_does(evidence: Evidence, fits: set[EndCause]) -> None:
    verdict = judge(evidence)
    assert verdict.end_cause is EndCause.UNKNOWN
    assert set(verdict.candidates) == fits


def test_a_member_that_kept_partitions_it_was_asked_for_was_fenced_by_its_rebalance_timeout() -> None:
    asked = replace(consumer(10_002, poll_s=10), unrevoked_since_ms=0)
    assert judge(asked) == Verdict(EndCause.REBALANCE_TIMEOUT)
    assert judge(replace(asked, unrevoked_since_ms=5 * S)).end_cause is not EndCause.REBALANCE_TIMEOUT


def test_a_static_member_that_said_it_would_return_expired() -> None:
    assert judge(replace(consumer(300), is_static=True, is_away=True)) == Verdict(EXPIRED)


def test_a_member_that_let_an_epoch_wait_for_its_heartbeat_had_died() -> None:
    """Who is closed, or late to poll, has sent its heartbeats until then."""
    waited = replace(consumer(20 * S, commits=0), unstepped_since_ms=14 * S)
    assert judge(waited) == Verdict(EXPIRED)
    assert judge(replace(waited, is_static=True)) == Verdict(EXPIRED)
    for other in (
        replace(waited, unstepped_since_ms=15 * S),  # Its next heartbeat may not have been due.
        replace(waited, longest_rebalance_ms=7 * S),  # The group's heartbeats are further apart.
    ):
        assert judge(other) == judge(consumer(20 * S, commits=0))


def test_a_record_of_its_own_within_its_session_excludes_that_it_expired() -> None:
    """It is made by a heartbeat. The latest commit may come after the last heartbeat, and excludes nothing."""
    late = known(consumer(13 * S, poll_s=10), 10)
    assert returning(judge(late), late) == (POLL, EXPIRED)
    assert judge(replace(late, last_record_ms=4 * S)) == Verdict(POLL)


def test_members_that_went_in_one_request_were_removed_by_an_administrator() -> None:
    assert judge(replace(consumer(20 * S), went_with_others=True)) == Verdict(EndCause.ADMIN_REMOVED)


def test_a_static_member_does_not_leave_by_itself() -> None:
    assert judge(replace(classic(46 * S), is_static=True)) == Verdict(EXPIRED)
    assert judge(replace(among(consumer(8 * S)), is_static=True)) == Verdict(EXPIRED)
    early = judge(replace(classic(9 * S), is_static=True))
    assert set(early.candidates) == {EndCause.ADMIN_REMOVED, LEFT}


@pytest.mark.parametrize(
    ("evidence", "fits"),
    [
        (consumer(13 * S, poll_s=10), (POLL,)),
        (consumer(13 * S, poll_s=10, commits=0), (POLL,)),
        (consumer(13 * S, poll_s=15, commits=0), (POLL, EXPIRED)),
        (consumer(20 * S), (EXPIRED,)),
        (consumer(300), ()),
    ],
)
def test_a_member_whose_id_comes_back_was_not_closed(evidence: Evidence, fits: tuple[EndCause, ...]) -> None:
    assert returning(judge(evidence), evidence) == fits


@given(
    silence_ms=st.integers(0, 10**7),
    session_ms=st.integers(-1, 10**6),
    poll_ms=st.integers(0, 10**6),
    commits=st.builds(
        Commits,
        count=st.integers(0, 50),
        last_ms=st.one_of(st.none(), st.just(0)),
        longest_gap_ms=st.integers(0, 10**5),
    ),
    is_exact=st.booleans(),
)
def test_a_verdict_never_contradicts_what_is_known(
    silence_ms: int, session_ms: int, poll_ms: int, commits: Commits, is_exact: bool
) -> None:
    """A commit within the session timeout excludes that the session ran out, whatever else is so."""
    verdict = judge(Evidence(silence_ms, is_exact, 0, commits, session_ms, poll_ms, is_static=False))
    ends = {verdict.end_cause, *verdict.candidates}
    assert (verdict.end_cause is EndCause.UNKNOWN) == (len(verdict.candidates) > 1)
    assert verdict.is_inferred
    if 0 <= silence_ms < session_ms:
        assert EXPIRED not in ends
    if silence_ms < poll_ms - 10 * S:
        assert POLL not in ends
