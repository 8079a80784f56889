"""Every effect of printed lines names the line that shows it."""

from __future__ import annotations

import pytest

from rollcall.inputs.printed.groups.logged_effects import place_of, shown_effects_of
from rollcall.inputs.printed.logged_rebalances import LoggedGroup
from rollcall.inputs.printed.reading import merged, read_files
from rollcall.inputs.printed.story import groups_in
from rollcall.schemas.effects import UNKNOWN_END, MemberJoined, RebalanceEnded
from tests.printed.recorded import INCIDENTS, NAMES, groups_of

CLIENTS = sorted(folder.name for folder in INCIDENTS.iterdir() if [*folder.glob("clients/*.gz")])[:3]


@pytest.mark.parametrize("name", NAMES)
def test_each_effect_of_a_broker_log_has_a_line_of_its_moment(name: str) -> None:
    assert sum(_shown(group, is_of_clocks=False) for group in groups_of(name).values())


@pytest.mark.parametrize("name", CLIENTS)
def test_each_effect_of_client_logs_has_a_line(name: str) -> None:
    groups = groups_in(merged(read_files(sorted(map(str, (INCIDENTS / name).glob("clients/*.gz"))))))
    assert sum(_shown(group, is_of_clocks=True) for group in groups)


def _shown(group: LoggedGroup, *, is_of_clocks: bool) -> int:
    """Check the lines of a group's effects; returns how many there are. is_of_clocks: each client has its own."""
    lines = {place_of(line): line for line in group.facts}
    shown = shown_effects_of(group)
    for effect, shown_by in shown:
        line = lines[shown_by]
        is_at_its_line = not isinstance(effect, MemberJoined) or not effect.is_inferred
        is_at_its_line &= not isinstance(effect, RebalanceEnded) or effect.outcome != UNKNOWN_END
        assert is_of_clocks or not is_at_its_line or effect.at_ms == line.at_ms
    return len(shown)
