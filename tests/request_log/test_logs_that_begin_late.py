"""Logs that begin with groups already formed, or in the middle of a rebalance, or that have lost lines on their way.

Knows the recorded incidents; cuts their beginnings off and takes lines out.
"""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import pytest

from rollcall.history.holdings import holdings_of
from rollcall.schemas.consumer_effects import GroupTypeChanged
from rollcall.schemas.effects import GroupObserved, MemberJoined, MemberRemoved, RebalanceEnded, RebalanceStarted
from rollcall.schemas.messages import GroupObservedRequest
from tests.nightly import nightly_but
from tests.request_log.broker import START_MS, Broker
from tests.request_log.fleet import MemberOf
from tests.request_log.imported import Imported, imported, rebalances_in
from tests.request_log.recordings import INCIDENTS, capture, incident
from tests.request_log.truth import FOLDER as CAPTURES
from tests.request_log.truth import OF_LAG, certain_and_wrong

OF_CONSUMER_GROUPS = ("o-consumer-protocol", "q-consumer-slow")
"""Their members' assignments are nowhere in what follows; see below. The capture of lag has such groups too: of one
that is killed the later lines do not show since when it was silent.
"""
WITH_CONSUMER_GROUPS = ("conversions", "libraries", "night", "dusk", "dawn")
"""Members of either kind in one group, and static ones that are away, are not found again by the next answers alone."""
LOGS = {
    path.parent.name: path
    for path in CAPTURES.glob("*/requests.log.gz")
    if path.parent.name not in ("j-busy-1", "raw-sample", OF_LAG, *OF_CONSUMER_GROUPS)
}
LOGS |= {
    name: path
    for path in INCIDENTS.glob("*.log.gz")
    if not (name := path.name.partition(".")[0]).startswith(("sessions", *WITH_CONSUMER_GROUPS))
}
SHARES = (0.1, 0.25, 0.4, 0.55, 0.7, 0.85)
A_FEW = 5
"""How many answers of a log of a few hundred lines may differ that begins in the middle of a first rebalance."""
SETTLED_MS = 20_000
"""How long after the beginning of a log everybody has been heard of and has joined once."""


def lines_of(name: str) -> list[bytes]:
    path = LOGS.get(name) or next(
        path for path in (CAPTURES / name / "requests.log.gz", INCIDENTS / f"{name}.log.gz") if path.exists()
    )
    return gzip.decompress(path.read_bytes()).splitlines(keepends=True)


def whole(name: str) -> Imported:
    return capture(name) if (CAPTURES / name).exists() else incident(name)


def cut(name: str, share: float, folder: Path) -> Imported:
    lines = lines_of(name)
    return read(lines[int(len(lines) * share) :], folder)


def read(lines: Iterable[bytes], folder: Path) -> Imported:
    path = folder / "requests.log"
    path.write_bytes(b"".join(lines))
    return imported(path)


@pytest.mark.parametrize("share", nightly_but({0.4}, SHARES))
@pytest.mark.parametrize("name", sorted(LOGS))
def test_a_log_that_begins_anywhere_still_gives_the_recorded_answers(name: str, share: float, tmp_path: Path) -> None:
    found = cut(name, share, tmp_path)
    different = found.parity.different.total()
    assert different <= max(A_FEW, 0.005 * found.parity.compared), found.parity.first


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
def test_a_log_that_lost_one_line_in_a_hundred_is_still_reported(name: str, tmp_path: Path) -> None:
    lost = random.Random(name)
    found = read((line for line in lines_of(name) if lost.random() > 0.01), tmp_path)
    assert found.parity.share >= 0.97
    tally = found.tally
    assert tally.read == tally.used + tally.skipped.total() + tally.quarantined.total()


@pytest.mark.parametrize("name", sorted(LOGS))
def test_a_log_whose_lines_are_cut_off_here_and_there_is_still_reported(name: str, tmp_path: Path) -> None:
    cuts = random.Random(name)
    lines = [line[: cuts.randrange(25, len(line))] + b"\n" if cuts.random() < 0.01 else line for line in lines_of(name)]
    found = read(lines, tmp_path)
    assert found.parity.share >= 0.97
    assert found.tally.quarantined.total() == len(found.quarantined)


@pytest.mark.parametrize("name", OF_CONSUMER_GROUPS)
def test_a_consumer_group_that_is_older_than_the_log_is_brought_to_what_its_members_are_answered(
    name: str, tmp_path: Path
) -> None:
    for share in SHARES:
        found = cut(name, share, tmp_path)
        assert found.parity.share >= 0.85, (share, found.parity.first)
        assert {group.group_type for group in found.groups.values() if group.is_known and not group.is_empty} == {
            "consumer"
        }


def test_what_is_inferred_of_an_older_consumer_group_is_said_to_be(tmp_path: Path) -> None:
    found = cut("o-consumer-protocol", 0.7, tmp_path)
    changes = found.of_group("seats-svc", GroupTypeChanged)
    assert [(change.from_type, change.to_type, change.why) for change in changes] == [(None, "consumer", "observed")]
    observed = [row for row in found.rows if isinstance(row.request, GroupObservedRequest)]
    assert observed
    assert all(row.recorded is None for row in observed)
    assert found.tally.inferred.total() == len(observed)


def test_a_member_whose_lines_are_lost_goes_on_while_another_is_answered(tmp_path: Path) -> None:
    """Of the group no line is left for most of a minute, of one member none at all after that: its sessions are over
    by our clock one after the other, and a heartbeat of the other, whose session is longer, shows that none has ended.
    """
    broker = Broker()
    patient, hasty = MemberOf(broker, "lost", "patient"), MemberOf(broker, "lost", "hasty")
    patient.session_ms, hasty.session_ms = 60_000, 6_000
    for place, member in enumerate((patient, hasty, MemberOf(broker, "other", "witness"))):
        broker.at(START_MS + 100 * place, member.start)
    broker.run(START_MS + 120_000)
    lines = broker.log()
    lost = range(int(len(lines) * 0.4), int(len(lines) * 0.8))
    left = (
        f"{line}\n".encode()
        for place, line in enumerate(lines)
        if "witness" in line or place < lost.start or (place >= lost.stop and "hasty" not in line)
    )
    found = read(left, tmp_path)
    assert not found.tally.given_up
    assert found.rebalances("lost") == rebalances_in(broker.effects, "lost")
    assert len(found.of_group("lost", GroupObserved)) < 30


def test_a_log_that_begins_in_a_group_of_both_kinds_is_followed_to_its_end(tmp_path: Path) -> None:
    """Its classic members were found first; what then shows a consumer group takes them over as the upgrade did."""
    for share in SHARES:
        found = cut("conversions", share, tmp_path)
        assert found.parity.share > 0.9, (share, found.parity.first)


@pytest.mark.parametrize(
    "name", ["conversions", "libraries", "night", "sessions", "sessions-changed", "sessions-unseen"]
)
@pytest.mark.parametrize("share", nightly_but({0.4}, (0.2, 0.4, 0.6)))
def test_what_a_log_reports_as_certain_of_older_consumer_groups_is_true(
    name: str, share: float, tmp_path: Path
) -> None:
    found = cut(name, share, tmp_path)
    certain = 0
    for group, true in json.loads((INCIDENTS / f"{name}.json").read_text()).items():
        started = found.of_group(group, RebalanceStarted)
        assert certain_and_wrong(started, true) == [], group
        certain += sum(not effect.cause.is_inferred for effect in started)
    assert certain >= 2


def test_a_refused_join_makes_no_member_though_nothing_in_the_rest_of_the_log_explains_it(tmp_path: Path) -> None:
    """Who else has its instance id said so before the log begins."""
    found = read(lines_of("dusk")[266:], tmp_path)
    true = json.loads((INCIDENTS / "dusk.json").read_text())["mint"]
    assert [list(row) for row in found.rebalances("mint")] == true[3:]
    assert "mint-3" not in {effect.client_id for effect in found.of_group("mint", MemberJoined)}


def test_who_was_silent_when_the_epoch_of_an_older_group_rose_is_inferred_and_what_answers_prove_certain(
    tmp_path: Path,
) -> None:
    found = cut("sessions", 0.2, tmp_path)
    true = json.loads((INCIDENTS / "sessions.json").read_text())["orders"]
    assert [list(row) for row in found.rebalances("orders")] == true[3:]
    started = found.of_group("orders", RebalanceStarted)
    assert [effect.cause.is_inferred for effect in started] == [True, *[False] * 4]
    # An end is as certain as what it set off.
    certain = {effect.cause.member_id: not effect.cause.is_inferred for effect in started}
    ends = [e for e in found.of_group("orders", MemberRemoved) if e.member_id in certain]
    assert len(ends) > 1
    assert [not e.is_inferred for e in ends] == [certain[e.member_id] for e in ends]


def test_a_member_that_nobody_saw_join_and_that_comes_back_under_its_id_is_inferred_to_have_polled_too_late(
    tmp_path: Path,
) -> None:
    found = cut("night", 0.4, tmp_path)
    left = [e.cause for e in found.of_group("amber", RebalanceStarted) if e.from_generation_id == 7]
    assert [(str(cause.kind), cause.client_id, cause.is_inferred) for cause in left] == [
        ("poll_timeout", "amber-0", True)
    ]


def test_who_joined_a_group_first_is_inferred_where_it_was_given_no_partitions(tmp_path: Path) -> None:
    """The line of the first to join, which was given all partitions, is cut off."""
    first = read(lines_of("dawn")[12:], tmp_path).of_group("fir", RebalanceStarted)[0]
    assert (first.cause.kind, first.cause.is_inferred) == ("member_joined", True)
    assert not incident("dawn").of_group("fir", RebalanceStarted)[0].cause.is_inferred


@pytest.mark.parametrize("leaves_are_reported", [True, False])
def test_a_rebalance_of_an_older_group_ends_once_all_members_name_its_epoch(
    leaves_are_reported: bool, tmp_path: Path
) -> None:
    """A static member says only as it leaves that it is one; another takes its place without a new epoch."""
    lines = lines_of("conversions")
    rest = lines[len(lines) // 5 :]
    found = read((line for line in rest if leaves_are_reported or b'"memberEpoch":-2' not in line), tmp_path)
    group = found.groups["still"]
    assert (group.generation_id, group.rebalance) == (8, None)
    completed = [e.to_generation_id for e in found.of_group("still", RebalanceEnded) if e.outcome == "completed"]
    assert len(completed) == len(set(completed))
    if leaves_are_reported:
        assert completed == [5, 6, 7, 8]


@pytest.mark.parametrize(("name", "share"), [("conversions", 0.25), ("night", 0.25), ("dusk", 0.1)])
def test_no_partition_has_two_owners_at_once_however_late_a_log_begins(name: str, share: float, tmp_path: Path) -> None:
    """What a member is given has been given up by whoever had it."""
    effects = cut(name, share, tmp_path).effects
    for group in dict(effects):
        held = holdings_of(effect for of, effect in effects if of == group)
        held.sort(key=lambda one: (one.partition, one.from_ms))
        twice = [two for one, two in pairwise(held) if one.partition == two.partition and one.is_held_at(two.from_ms)]
        assert twice == [], group
