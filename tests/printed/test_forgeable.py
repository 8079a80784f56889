"""What one client's text can write into a broker's log is never certain, though every line is whole; nor blamed on."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from rollcall.inputs.printed.groups.forgeable import MOST_FORGED, forgeable_places
from rollcall.inputs.printed.groups.live_groups import LiveGroups
from rollcall.inputs.printed.groups.logged_effects import effects_of
from rollcall.inputs.printed.growing_log import GrowingLog
from rollcall.inputs.printed.wording import left_open
from rollcall.inputs.request_log.lines.clock import zone_of
from rollcall.schemas.effects import Effect, MemberRemoved, RebalanceEnded, RebalanceStarted
from tests.printed.coordinator import PREPARES
from tests.printed.forged import (
    AFTER,
    ATTACKS,
    BEFORE,
    END,
    LEADER,
    UUID,
    VICTIM,
    groups_of,
    joined,
    line,
    perfect,
)
from tests.printed.recorded import NAMES, read_of


def certain_effects(effects: list[Effect]) -> list[Effect]:
    """Those that blame somebody as certain, or name the cause so."""
    return [
        one
        for one in effects
        if (isinstance(one, MemberRemoved) and not one.is_inferred)
        or (
            isinstance(one, RebalanceStarted | RebalanceEnded)
            and one.cause.kind == "session_expired"
            and not (one.cause.is_inferred and not one.cause.member_id)
        )
    ]


@pytest.mark.parametrize(("attack", "victim"), ATTACKS)
def test_what_a_client_wrote_is_not_certain(attack: Callable[[str], str], victim: str) -> None:
    orders = groups_of([*BEFORE, *attack(victim).split("\n"), *AFTER])["orders"]
    blamed = [one.cause for one in orders.rebalances if one.cause.kind == "session_expired"]
    assert all(cause.is_inferred and not cause.member_id for cause in blamed)
    assert all(one.is_inferred for one in orders.findings if victim in str(one.facts))
    assert certain_effects(effects_of(orders)) == []
    assert any("inferred" in sentence for sentence in left_open([orders])) or not blamed


@pytest.mark.parametrize("at_once", [1, 3, 1_000_000])
@pytest.mark.parametrize(("attack", "victim"), ATTACKS)
def test_nor_is_it_where_a_log_grows(attack: Callable[[str], str], victim: str, at_once: int) -> None:
    lines = [*enumerate([*BEFORE, *attack(victim).split("\n")], 1)]
    at_once = max(at_once, len(lines) // 100)
    log, groups, effects = GrowingLog("server.log", zone_of("UTC")), LiveGroups(), list[Effect]()
    for start in range(0, len(lines), at_once):
        groups.take(log.read(lines[start : start + at_once], is_pause=False).facts)
    groups.take(log.read([], is_pause=True).facts)
    for due in groups.due((log.at_ms or 0) + 60_000):
        effects += due.effects if due.group_id == "orders" else []
    assert certain_effects(effects) == []
    assert effects


@pytest.mark.parametrize(("attack", "victim"), ATTACKS)
def test_a_layout_that_escapes_line_breaks_proves_what_it_says(attack: Callable[[str], str], victim: str) -> None:
    printed = "\n".join([*BEFORE, "", attack(victim), "", *AFTER]).split("\n\n")
    texts = [*printed[0].split("\n"), printed[1], *printed[-1].split("\n")]
    lines = [
        json.dumps(
            {"timestamp": text[1:24].replace(",", "."), "message": text[26:].removeprefix("INFO ").removesuffix(END)}
        )
        for text in texts
    ]
    groups = groups_of(lines)
    assert [one.generation_id for one in groups["orders"].rebalances] == [1]
    assert not groups["payments"].rebalances[0].cause.is_inferred


def test_other_groups_stay_certain() -> None:
    honest = [*BEFORE, *AFTER, *joined(15_000, "late", f"late-{UUID.format(3)}")]
    assert not any(one.cause.is_inferred for group in groups_of(honest).values() for one in group.rebalances)
    far = [text.replace("payments", f"p{n}").replace("payer", f"p{n}") for n in range(MOST_FORGED) for text in AFTER]
    groups = groups_of([*BEFORE, *perfect(VICTIM).split("\n"), *far])
    assert not groups[f"p{MOST_FORGED - 1}"].rebalances[0].cause.is_inferred


@pytest.mark.parametrize("name", NAMES)
def test_what_real_brokers_printed_is_certain(name: str) -> None:
    assert forgeable_places(read_of(name).facts) == set()


def test_a_reason_is_not_taken_for_the_name_of_who_gave_it() -> None:
    words = f"x on LeaveGroup; client reason: {VICTIM} did not poll"
    reason = f"Removing member {LEADER} on LeaveGroup; client reason: {words}"
    began = line(5_000, PREPARES.format("orders", 1) + f"{reason}).")
    cause = groups_of([*BEFORE, began])["orders"].rebalances[-1].cause
    assert (cause.member_id, cause.client_id, cause.client_reason) == ("", "", None)
    honest = line(5_000, PREPARES.format("orders", 1) + f"Removing member {LEADER} on LeaveGroup; client reason: bye).")
    assert groups_of([*BEFORE, honest])["orders"].rebalances[-1].cause.member_id == LEADER
