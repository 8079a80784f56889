"""A cause in a clause, by what is known of it."""

from __future__ import annotations

import pytest

from rollcall.history.sentences import Terms, cause_clause, fitting
from rollcall.schemas.causes import Cause, CauseCandidate, CauseKind


def fits(*pairs: tuple[CauseKind, str]) -> tuple[CauseCandidate, ...]:
    return tuple(CauseCandidate(kind=kind, member_id=who, client_id=who) for kind, who in pairs)


LEFT, LATE, EXPIRED = CauseKind.MEMBER_LEFT, CauseKind.POLL_TIMEOUT, CauseKind.SESSION_EXPIRED
OPEN = Cause(kind=CauseKind.UNKNOWN, candidates=fits((LEFT, "a"), (LATE, "a"), (EXPIRED, "a")))
OF_BOTH = Cause(kind=CauseKind.UNKNOWN, candidates=fits((LEFT, "a"), (EXPIRED, "b")))
AGAIN = CauseKind.MEMBER_REJOINED
REJOINED = Cause(kind=AGAIN, is_inferred=True, candidates=fits((CauseKind.METADATA_CHANGED, "a"), (AGAIN, "a")))
FORGEABLE = Cause(kind=LEFT, is_inferred=True, candidates=fits((LEFT, "a")))
OF_EITHER = Cause(kind=EXPIRED, is_inferred=True, candidates=fits((EXPIRED, "a"), (EXPIRED, "b")))


@pytest.mark.parametrize(
    ("cause", "terms", "doubt", "clause"),
    [
        (Cause(kind=LEFT), Terms("a"), "", "a left the group"),
        (
            Cause(kind=LATE),
            Terms("a"),
            "",
            "a did not poll within its max.poll.interval.ms, so its client left the group",
        ),
        (
            Cause(kind=EXPIRED),
            Terms("a", 10_000),
            "",
            "a sent no heartbeat within its session timeout (10 s) and was removed",
        ),
        (OPEN, Terms("a"), "", "a set it off (left, polled too late or session expired)"),
        (OPEN, Terms("a"), "inferred; ", "a set it off (inferred; left, polled too late or session expired)"),
        (REJOINED, Terms("a"), "", "a, a member already, joined again (possible: topics changed or joined again)"),
        (
            REJOINED,
            Terms("a"),
            "inferred; ",
            "a, a member already, joined again (inferred; possible: topics changed or joined again)",
        ),
        (FORGEABLE, Terms(), "inferred; ", "a member left the group (inferred)"),
        (Cause(kind=LEFT, client_host="/10.0.0.7"), Terms("a@10.0.0.7"), "", "a on 10.0.0.7 left the group"),
        (OF_BOTH, Terms(), "", "it was set off (left by a or session expired by b)"),
        (
            OF_EITHER,
            Terms(),
            "",
            "a member sent no heartbeat within its session timeout and was removed (inferred; possible: a or b)",
        ),
    ],
)
def test_what_is_open_is_reported_and_what_is_unknown_is_left_out(
    cause: Cause, terms: Terms, doubt: str, clause: str
) -> None:
    assert cause_clause(cause, terms, fitting(cause, lambda member_id, _: member_id), doubt=doubt) == clause
