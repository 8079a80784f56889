"""No alarm blames a client by lines that another client may have written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rollcall.answers.views.members_removed import MEMBERS_REMOVED
from rollcall.inputs.printed.groups.logged_effects import effects_of
from rollcall.schemas.effect_rows import row_of
from tests.alerts.watched import alarms_in
from tests.printed.forged import AFTER, BEFORE, FAKE, VICTIM, groups_of, left_with_reason, perfect, story

BLAMED = "victim"


@pytest.mark.parametrize(("attack", "victim"), [(perfect, VICTIM), (perfect, FAKE), (left_with_reason, FAKE)])
def test_no_alarm_names_a_client_that_a_client_may_have_named(
    tmp_path: Path, attack: Callable[[str], str], victim: str
) -> None:
    texts = texts_of_alarms(tmp_path, [*BEFORE, *attack(victim).split("\n"), *AFTER])
    assert not any(BLAMED in text for text in texts)


def test_an_alarm_names_a_client_that_the_broker_named(tmp_path: Path) -> None:
    texts = texts_of_alarms(tmp_path, [*BEFORE, *story(VICTIM).split("\n"), *AFTER])
    assert any(BLAMED in text for text in texts)


def texts_of_alarms(home: Path, lines: list[str]) -> list[str]:
    groups = groups_of(lines).values()
    rows = {group.group_id: [row_of(one, seq) for seq, one in enumerate(effects_of(group))] for group in groups}
    alarms = alarms_in(home, {group_id: of_group for group_id, of_group in rows.items() if of_group})
    assert MEMBERS_REMOVED.name in {alarm.kind for alarm in alarms}
    return [f"{alarm.text} {alarm.who}" for alarm in alarms]
