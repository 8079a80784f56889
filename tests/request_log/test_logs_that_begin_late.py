"""Logs that begin with groups already formed, or in the middle of a rebalance, or that have lost lines on their way.

Knows the recorded incidents; cuts their beginnings off and takes lines out.
"""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import pytest

from schemas.consumer_effects import GroupTypeChanged
from schemas.effects import MemberJoined, RebalanceStarted
from schemas.messages import GroupObservedRequest
from tests.request_log.imported import Imported, imported
from tests.request_log.recordings import INCIDENTS, capture, incident
from tests.request_log.truth import FOLDER as CAPTURES

OF_CONSUMER_GROUPS = ("o-consumer-protocol", "q-consumer-slow")
"""Their members' assignments are nowhere in what follows; see below."""
LOGS = {
    path.parent.name: path
    for path in CAPTURES.glob("*/requests.log.gz")
    if path.parent.name not in ("j-busy-1", "raw-sample", *OF_CONSUMER_GROUPS)
}
LOGS |= {path.name.partition(".")[0]: path for path in INCIDENTS.glob("*.log.gz")}
SHARES = (0.1, 0.25, 0.4, 0.55, 0.7, 0.85)
A_FEW = 5
"""How many answers of a log of a few hundred lines may differ that begins in the middle of a first rebalance."""
SETTLED_MS = 20_000
"""How long after the beginning of a log everybody has been heard of and has joined once."""


def lines_of(name: str) -> list[bytes]:
    path = LOGS.get(name, CAPTURES / name / "requests.log.gz")
    return gzip.decompress(path.read_bytes()).splitlines(keepends=True)


def whole(name: str) -> Imported:
    return capture(name) if (CAPTURES / name).exists() else incident(name)


def cut(name: str, share: float, folder: Path) -> Imported:
    lines = lines_of(name)
    path = folder / "requests.log"
    path.write_bytes(b"".join(lines[int(len(lines) * share) :]))
    return imported(path)


@pytest.mark.parametrize("name", sorted(LOGS))
def test_a_log_that_begins_anywhere_still_gives_the_recorded_answers(name: str, tmp_path: Path) -> None:
    for share in SHARES:
        found = cut(name, share, tmp_path)
        different = found.parity.different.total()
        assert different <= max(A_FEW, 0.005 * found.parity.compared), (share, found.parity.first)


@pytest.mark.parametrize("name", sorted(LOGS))
def test_once_everybody_was_heard_of_the_rebalances_are_the_same(name: str, tmp_path: Path) -> None:
    # Of the member that is killed in d-kill nothing is heard later than that.
    found = cut(name, 0.16 if name == "d-kill" else 0.4, tmp_path)
    assert found.tally.first_at_ms is not None
    from_ms = found.tally.first_at_ms + SETTLED_MS
    for group in {row.group_id for row in found.rows}:
        ours, theirs = (
            [
                (effect.from_generation_id, effect.cause.kind, effect.cause.member_id)
                for effect in log.of_group(group, RebalanceStarted)
                if effect.at_ms >= from_ms
            ]
            for log in (found, whole(name))
        )
        assert ours == theirs, group


def test_what_is_seen_of_a_formed_group_is_marked_as_inferred(tmp_path: Path) -> None:
    found = cut("d-kill", 0.25, tmp_path)
    observed = [row for row in found.rows if isinstance(row.request, GroupObservedRequest)]
    assert observed
    assert all(row.recorded is None for row in observed)
    for group in ("views-agg", "clicks-agg", "audit-trail"):
        joined = found.of_group(group, MemberJoined)
        assert joined[0].is_inferred, group
        assert not joined[-1].is_inferred, group


def test_a_session_whose_length_was_never_seen_is_known_to_have_ended_by_who_is_missing(tmp_path: Path) -> None:
    found = cut("d-kill", 0.16, tmp_path)
    [expired] = [e for e in found.of_group("views-agg", RebalanceStarted) if e.cause.kind == "session_expired"]
    assert expired.cause.client_id == "views-agg-1"
    assert expired.cause.is_inferred


def test_where_nothing_was_heard_of_a_member_nobody_is_blamed_for_its_end(tmp_path: Path) -> None:
    found = cut("d-kill", 0.4, tmp_path)
    first = found.of_group("audit-trail", RebalanceStarted)[0]
    assert (first.cause.kind, first.cause.member_id, first.cause.is_inferred) == ("unknown", "", True)


@pytest.mark.parametrize("name", sorted(LOGS))
def test_a_log_that_lost_one_line_in_a_hundred_is_still_told(name: str, tmp_path: Path) -> None:
    lost = random.Random(name)
    kept = [line for line in lines_of(name) if lost.random() > 0.01]
    path = tmp_path / "requests.log"
    path.write_bytes(b"".join(kept))
    found = imported(path)
    assert found.parity.share >= 0.97
    tally = found.tally
    assert tally.read == tally.used + tally.skipped.total() + tally.quarantined.total()


@pytest.mark.parametrize("name", sorted(LOGS))
def test_a_log_whose_lines_are_cut_off_here_and_there_is_still_told(name: str, tmp_path: Path) -> None:
    cuts = random.Random(name)
    lines = [line[: cuts.randrange(25, len(line))] + b"\n" if cuts.random() < 0.01 else line for line in lines_of(name)]
    path = tmp_path / "requests.log"
    path.write_bytes(b"".join(lines))
    found = imported(path)
    assert found.parity.share >= 0.97
    assert found.tally.quarantined.total() == len(found.quarantined)


@pytest.mark.parametrize("name", OF_CONSUMER_GROUPS)
def test_a_consumer_group_that_is_older_than_the_log_is_brought_to_what_its_members_are_told(
    name: str, tmp_path: Path
) -> None:
    for share in SHARES:
        found = cut(name, share, tmp_path)
        assert found.parity.share >= 0.85, (share, found.parity.first)
        assert {group.group_type for group in found.groups.values() if group.is_known and not group.is_empty} == {
            "consumer"
        }


def test_what_is_concluded_of_an_older_consumer_group_is_said_to_be(tmp_path: Path) -> None:
    found = cut("o-consumer-protocol", 0.7, tmp_path)
    changes = found.of_group("seats-svc", GroupTypeChanged)
    assert [(change.from_type, change.to_type, change.why) for change in changes] == [(None, "consumer", "observed")]
    observed = [row for row in found.rows if isinstance(row.request, GroupObservedRequest)]
    assert observed
    assert all(row.recorded is None for row in observed)
    assert found.tally.inferred.total() == len(observed)
