"""Brokers' and clients' logs that grow: what is read and given is what reading the whole log gives, once."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
import pytest

from rollcall.inputs.printed.groups.live_groups import (
    AT_REST_MS,
    FACTS_KEPT,
    LONGEST_MS,
    PAUSED_MS,
    Given,
    LiveGroups,
    NewEffects,
    continued,
)
from rollcall.inputs.printed.groups.logged_effects import effects_of
from rollcall.inputs.printed.growing_log import GrowingLog
from rollcall.inputs.printed.lines.files import open_blocks
from rollcall.inputs.printed.logged_facts import FactKind, LoggedFact
from rollcall.inputs.printed.logged_rebalances import LoggedGroup
from rollcall.inputs.printed.reading import read_files, read_lines
from rollcall.inputs.printed.story import groups_in
from rollcall.inputs.tolerances import BACK_AFTER_LEAVE_MS
from rollcall.schemas.causes import Cause, CauseKind
from rollcall.schemas.effects import (
    Effect,
    GroupNotCovered,
    JoinPhaseEnded,
    MemberJoined,
    MemberRemoved,
    RebalanceEnded,
)
from rollcall.schemas.shown_effects import ShownEffect
from tests.printed.coordinator import formed, given_an_id, joining, preparing
from tests.source_tree import ROOT
from tests.written_effects import effect

BROKERS = sorted((ROOT / "tests" / "printed" / "brokers").glob("*.log.gz"))
UTC = ZoneInfo("UTC")
LOOKS_AFTER_MS = (0, 250, AT_REST_MS, BACK_AFTER_LEAVE_MS + 1, PAUSED_MS, LONGEST_MS, LONGEST_MS + 1)
LATER_LINES_SHOW_MORE = {
    "j-busy-1.log.gz": {"grp-09", "grp-20", "grp-28", "grp-34"},  # A static member first named when it is replaced.
    "t-lag.log.gz": {"emails-send"},  # A member that left is back long after.
    "w-streams.log.gz": {"fare-audit"},  # A classic group becomes a streams group.
}


@cache
def facts_of(path: Path) -> list[LoggedFact]:
    return read_files([str(path)], UTC)[0].facts


def effects_in(facts: Iterable[LoggedFact], read_until_ms: float) -> dict[str, list[Effect]]:
    found = {
        group.group_id: effects_of(group, is_ongoing=True) for group in groups_in([*facts], read_until_ms=read_until_ms)
    }
    return {group_id: effects for group_id, effects in found.items() if effects}


def times_of(facts: list[LoggedFact]) -> list[int]:
    """When a log is looked at: as each line comes, and whenever something may be due after it."""
    return sorted({(fact.at_ms or 0) + after_ms for fact in facts for after_ms in LOOKS_AFTER_MS})


def given_over_time(facts: list[LoggedFact], restart_every: int = 0) -> dict[str, list[Effect]]:
    """What is given of a log that is looked at all the time. restart_every: after this many looks, from its state."""
    live, given, place = LiveGroups(), defaultdict[str, list[Effect]](list), 0
    for look, now_ms in enumerate(times_of(facts), 1):
        end = place
        while end < len(facts) and (facts[end].at_ms or 0) <= now_ms:
            end += 1
        live.take(facts[place:end])
        place = end
        for due in live.due(now_ms):
            assert due.first_seq == len(given[due.group_id]) + 1
            given[due.group_id] += due.effects
            assert all(one.shown_by for one in due.shown)
        if restart_every and look % restart_every == 0:
            live = LiveGroups(live.facts, live.given)
    return given


@pytest.mark.parametrize("path", BROKERS, ids=lambda path: path.name)
def test_what_is_given_over_time_is_what_the_whole_log_gives(path: Path) -> None:
    given, whole = given_over_time(facts_of(path)), effects_in(facts_of(path), times_of(facts_of(path))[-1])
    late = LATER_LINES_SHOW_MORE.get(path.name, set())
    assert {group_id for group_id, effects in whole.items() if given.get(group_id, []) != effects} == late
    for group_id in late:
        if isinstance(whole[group_id][-1], GroupNotCovered):
            assert isinstance(given[group_id][-1], GroupNotCovered)
        else:
            assert generations(given[group_id]) == generations(whole[group_id])


def generations(effects: Iterable[Effect]) -> list[tuple[int, str, int | None]]:
    return [(effect.to_generation_id, effect.outcome, effect.members_after) for effect in ends(effects)]


def ends(effects: Iterable[Effect]) -> list[RebalanceEnded]:
    return [effect for effect in effects if isinstance(effect, RebalanceEnded)]


def test_a_program_that_starts_again_gives_nothing_twice_and_leaves_nothing_out() -> None:
    facts = facts_of(ROOT / "tests" / "printed" / "brokers" / "d-kill.log.gz")
    assert given_over_time(facts, restart_every=3) == given_over_time(facts)


def test_a_rebalance_that_runs_is_shown_when_its_lines_pause() -> None:
    facts = lines([preparing(4, joining("a-1"))])
    live = LiveGroups()
    live.take(facts)
    began_ms = facts[0].at_ms or 0
    assert not [*live.due(began_ms + 5_000)]
    assert [type(effect).__name__ for due in live.due(began_ms + 10_000) for effect in due.effects][-2:] == [
        "RebalanceStarted",
        "StateChanged",
    ]
    assert not [*live.due(math.inf)]


def test_lines_before_a_pause_do_not_hurry_those_behind_it() -> None:
    """As where a log is caught up with: else a group that was at rest before is given in the midst of a rebalance."""
    before = lines([given_an_id("a-1"), preparing(0, joining("a-1")), *formed(1, 1, "a-1"), preparing(1, "a reason")])
    facts = [fact._replace(at_ms=(fact.at_ms or 0) + (place == 4) * LONGEST_MS) for place, fact in enumerate(before)]
    live, last_ms = LiveGroups(), facts[-1].at_ms or 0
    live.take(facts)
    assert not [*live.due(last_ms + PAUSED_MS - 1)]
    assert [*live.due(last_ms + PAUSED_MS)]


def test_a_line_of_a_time_to_come_holds_nothing_back() -> None:
    facts = lines([given_an_id("a-1"), preparing(0, joining("a-1"))])
    facts[-1] = facts[-1]._replace(at_ms=(facts[0].at_ms or 0) + 1_000 * LONGEST_MS)
    live, first_ms = LiveGroups(), facts[0].at_ms or 0
    live.take(facts)
    assert not [*live.due(first_ms + LONGEST_MS - 1)]
    assert [*live.due(first_ms + LONGEST_MS)]


def certain(given: Iterable[NewEffects]) -> list[bool]:
    return [not effect.cause.is_inferred for one in given for effect in ends(one.effects)]


def with_new_ids(*after_ms: int) -> list[LoggedFact]:
    """A group that has formed, and after so long each a member id for another one that is never heard of again."""
    formed_group = lines([given_an_id("a-1"), preparing(0, joining("a-1")), *formed(1, 1, "a-1")])
    last = formed_group[-1]
    lost = [given_an_id(f"b-{place}", group="other") for place in range(len(after_ms))]
    return formed_group + [
        fact._replace(at_ms=(last.at_ms or 0) + ms, line_number=last.line_number + place)
        for place, (fact, ms) in enumerate(zip(lines(lost), after_ms, strict=True), 1)
    ]


def test_a_new_member_id_that_the_next_line_proves_leaves_nothing_inferred() -> None:
    """Else a shadow that catches up at such a line would write all paused groups as what a client may have written."""
    facts = facts_of(ROOT / "tests" / "printed" / "brokers" / "j-busy-1.log.gz")
    read, live = 679, LiveGroups()
    assert (facts[read - 1].kind, facts[read].kind) == (FactKind.MEMBER_ID_GIVEN, FactKind.MEMBER_ADDED)
    live.take(facts[:read])
    given = [*live.due(facts[read - 1].at_ms or 0)]
    live.take(facts[read : read + 1])
    given += live.due((facts[read].at_ms or 0) + LONGEST_MS)
    whole = [*chain.from_iterable(effects_in(facts[: read + 1], math.inf).values())]
    assert sum(certain(given)) == sum(not one.cause.is_inferred for one in ends(whole)) > 0


def test_a_group_waits_for_the_proof_of_lines_long_after_its_own() -> None:
    facts, late_ms = with_new_ids(PAUSED_MS), PAUSED_MS
    last_ms, live = facts[-1].at_ms or 0, LiveGroups()
    live.take(facts)
    assert not certain(live.due(last_ms + late_ms - 1))
    assert certain(live.due(last_ms + late_ms)) == [False]


def test_a_group_does_not_wait_without_end_for_proofs() -> None:
    facts = with_new_ids(*range(PAUSED_MS, 4 * LONGEST_MS, PAUSED_MS // 2))
    live, given = LiveGroups(), list[bool]()
    first_ms = facts[4].at_ms or 0
    for place, fact in enumerate(facts[4:], 5):
        live.take(facts[:place] if place == 5 else [fact])
        given += certain(live.due(fact.at_ms or 0))
        assert bool(given) == ((fact.at_ms or 0) >= first_ms + LONGEST_MS)
    assert given == [False]


def test_a_group_whose_lines_never_pause_is_shown_after_a_while() -> None:
    facts = storm(rounds=40, ended=False)
    given = given_over_time(facts)
    first_ms = facts[0].at_ms or 0
    live = LiveGroups()
    live.take([fact for fact in facts if (fact.at_ms or 0) <= first_ms + LONGEST_MS])
    assert [*live.due(first_ms + LONGEST_MS)]
    assert given["g"] == effects_in(facts, times_of(facts)[-1])["g"]


def test_a_group_with_many_lines_keeps_a_bounded_number_and_its_members() -> None:
    facts, at_once = storm(rounds=FACTS_KEPT, ended=True), 45
    live, given = LiveGroups(), list[Effect]()
    for start in range(0, len(facts), at_once):
        live.take(facts[start : start + at_once])
        given += [effect for due in live.due((live.facts[-1].at_ms or 0) + LONGEST_MS) for effect in due.effects]
        assert len(live.facts) <= FACTS_KEPT
    whole = effects_in(facts, math.inf)["g"]
    assert generations(given) == generations(whole)
    assert [effect for effect in given if isinstance(effect, MemberJoined)] == [
        effect for effect in whole if isinstance(effect, MemberJoined)
    ]


def storm(rounds: int, *, ended: bool) -> list[LoggedFact]:
    """A new group of one member, which rejoins without end."""
    found = [given_an_id("a-1")]
    for generation in range(rounds):
        rejoins = "Updating metadata for member a-1 during Stable; client reason: not provided"
        found.append(preparing(generation, rejoins if generation else joining("a-1")))
        if ended or generation == rounds - 1:
            found += formed(generation + 1, 1, "a-1")
    return lines(found)


def lines(texts: list[str]) -> list[LoggedFact]:
    """A broker's lines, a second apart."""
    printed = (
        f"[2026-03-01 {3 + at // 3600:02}:{at // 60 % 60:02}:{at % 60:02},000] INFO [GroupCoordinator id=1] {text} "
        "(org.apache.kafka.coordinator.group.GroupMetadataManager)"
        for at, text in enumerate(texts)
    )
    return [fact._replace(clock=facts_of(BROKERS[0])[0].clock) for fact in read_lines("server.log", printed).facts]


def joined(member_id: str, at_ms: int = 1_000) -> MemberJoined:
    return effect(MemberJoined, at_ms, member_id=member_id)


def over(generation_id: int, at_ms: int, kind: CauseKind = CauseKind.UNKNOWN) -> RebalanceEnded:
    generations = {"from_generation_id": generation_id - 1, "to_generation_id": generation_id}
    return effect(RebalanceEnded, at_ms, **generations, started_at_ms=at_ms, cause=Cause(kind=kind))


def phase(generation_id: int, at_ms: int, *members: str) -> JoinPhaseEnded:
    return effect(JoinPhaseEnded, at_ms, generation_id=generation_id, member_ids=[*members])


GIVEN = Given(line=2, seq=2, at_ms=2_000, members={"a"})


def given_of(before: list[Effect], now: list[Effect]) -> list[Effect]:
    return [one.effect for one in continued(before, [ShownEffect(one, "") for one in now], GIVEN)]


def test_what_was_given_stays_and_only_what_follows_is_given() -> None:
    before, new = [joined("a"), phase(1, 2_000, "a")], [over(1, 3_000), phase(2, 4_000, "a")]
    assert given_of(before, [*before, *new]) == new
    changed = [joined("a"), phase(1, 2_000, "a", "b")]
    assert given_of(before, [*changed, *new]) == new


def test_a_member_and_an_end_that_later_lines_show_are_given_late() -> None:
    before = [joined("a"), phase(1, 2_000, "a")]
    now = [joined("a"), joined("b"), over(1, 1_500), phase(1, 2_000, "a"), phase(2, 4_000, "a", "b")]
    given = given_of(before, now)
    assert [(one.at_ms, type(one)) for one in given] == [
        (2_000, MemberJoined),
        (2_000, RebalanceEnded),
        (4_000, JoinPhaseEnded),
    ]


def test_nobody_joins_twice_and_nobody_goes_who_is_not_there() -> None:
    """As where a coordinator that failed had lost what it printed: the lines mean another thing by what comes after."""
    before = [joined("a"), phase(1, 2_000, "a")]
    now = [
        joined("a", at_ms=3_000),
        effect(MemberRemoved, 3_500, member_id="b"),
        effect(MemberRemoved, 4_000, member_id="a"),
        joined("a", at_ms=5_000),
    ]
    assert given_of(before, now) == now[2:]


def test_an_end_that_was_given_is_not_given_again_with_another_cause() -> None:
    before = [joined("a"), over(1, 2_000)]
    now = [joined("a"), over(1, 2_000, CauseKind.MEMBER_JOINED), phase(2, 4_000, "a")]
    assert given_of(before, now) == [phase(2, 4_000, "a")]


def test_the_state_of_a_log_survives_being_written_down() -> None:
    facts = facts_of(BROKERS[0])
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(facts), type=list[LoggedFact]) == facts


def numbered(path: Path) -> list[tuple[int, str]]:
    text = b"".join(open_blocks(str(path))).decode("utf-8", "replace")
    return [*enumerate(text.splitlines(), 1)]


@pytest.mark.parametrize("at_once", [1, 2, 7])
def test_lines_that_come_in_pieces_have_the_facts_of_the_whole(at_once: int) -> None:
    path = ROOT / "tests" / "printed" / "brokers" / "o-consumer-protocol.log.gz"
    log, found, all_lines = GrowingLog(str(path), UTC), list[LoggedFact](), numbered(path)
    for start in range(0, len(all_lines), at_once):
        found += log.read(all_lines[start : start + at_once], is_pause=False).facts
    found += log.read([], is_pause=True).facts
    assert found == facts_of(path)
    assert not log.unread


def test_many_large_groups_are_thinned_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else each group whose lines are left out would cost a look at all groups."""
    looks: list[int] = []
    one = storm(rounds=FACTS_KEPT // 3 + 1, ended=True)
    step = len(one)
    facts = [
        fact._replace(group_id=f"g{number}", line_number=number * step + fact.line_number)
        for number in range(5)
        for fact in one
    ]
    live = LiveGroups()
    live.take(facts)

    def counted(*arguments: Any, is_marked: bool) -> list[LoggedGroup]:
        looks.append(1)
        return groups_in(*arguments, is_marked=is_marked)

    monkeypatch.setattr("rollcall.inputs.printed.groups.live_groups.groups_in", counted)
    assert len([*live.due((one[-1].at_ms or 0) + LONGEST_MS)]) == 5
    assert len(looks) == 2
    assert len(live.facts) < len(facts)


# ---------------------------------------------------------------- clients' logs that grow

JOINS = "[Consumer clientId=a, groupId=orders] {}"
MEMBER = "Generation{{generationId={}, memberId='a-1', protocol='range'}}"
MOVED = [
    *("(Re-)joining group", f"Successfully joined group with generation {MEMBER}"),
    *(f"Successfully synced group in generation {MEMBER}", "Adding newly assigned partitions: orders-0"),
]
TEXTS = [JOINS.format(text.format(generation)) for generation in range(1, 4) for text in MOVED]
DATED = [f"2026-03-01T03:12:00.{place:03}Z" for place in range(len(TEXTS))]
FIELDS = [{"@timestamp": at, "message": text, "level": "INFO"} for at, text in zip(DATED, TEXTS, strict=True)]
CLIENTS = {
    "text": [f"{at} INFO {text}" for at, text in zip(DATED, TEXTS, strict=True)],
    "without a time": TEXTS,
    "in a container": [f"app-1  | {at} INFO {text}" for at, text in zip(DATED, TEXTS, strict=True)],
    "JSON": [json.dumps(fields) for fields in FIELDS],
    "JSON over lines": [line for fields in FIELDS for line in json.dumps(fields, indent=2).split("\n")],
    "under headings": [
        *("consumer 1:", *(f"{at} INFO {text}" for at, text in zip(DATED, TEXTS, strict=True))),
        *("consumer 2:", *(f"{at} INFO {text}" for at, text in zip(DATED, TEXTS, strict=True))),
    ],
    "an export": [
        "@timestamp,pod,@message",
        *(f'{at},{pod},"{text}"' for pod in ("p1", "p2") for at, text in zip(DATED, TEXTS, strict=True)),
    ],
}


@pytest.mark.parametrize("name", CLIENTS)
@pytest.mark.parametrize("at_once", [1, 2, 3, 1_000])
def test_a_log_that_never_pauses_says_what_it_says_at_once(name: str, at_once: int) -> None:
    lines, log = [*enumerate(CLIENTS[name], 1)], GrowingLog("app.log", None)
    pieces = (lines[start : start + at_once] for start in range(0, len(lines), at_once))
    grown = [*chain.from_iterable(log.read(piece, is_pause=False).facts for piece in pieces)]
    waiting = log.read([], is_pause=True).facts
    assert grown + waiting == read_lines("app.log", CLIENTS[name]).facts
    assert 1 <= len(waiting) <= 2
