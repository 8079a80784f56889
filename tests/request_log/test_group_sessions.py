"""Consumer groups with sessions of their own, against a real broker 4.3.1 with what its server log says of each epoch.

`sessions`: orders 8 s, mails 6 s, fix 10 s with static members, plain as the broker has it (45 s). Members are killed,
stopped for a while and closed; the last one of a group dies; an administrator looks. The log has the lines by which the
sessions were set; without them only the silences show them.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

from rollcall.inputs.request_log.broker_settings import split_given
from rollcall.inputs.request_log.following.group_sessions import INTERVAL_SHOWN, SESSION_OVER
from rollcall.inputs.request_log.recorded import SessionBounds
from rollcall.programs.errors import ConfigError
from rollcall.schemas.consumer_effects import GroupConfigsChanged
from rollcall.schemas.effects import MemberJoined, MemberRemoved, MemberUpdated, RebalanceStarted
from tests.request_log.imported import Imported, imported
from tests.request_log.recordings import INCIDENTS, incident

SESSION, INTERVAL = "consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"
TRUE_MS = {"orders": 8000, "mails": 6000, "fix": 10_000}
EXPECTED: dict[str, list[list[object]]] = json.loads((INCIDENTS / "sessions.json").read_text())


@pytest.fixture(scope="module")
def unsaid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The log without the lines that say what is set for groups."""
    text = gzip.decompress((INCIDENTS / "sessions.log.gz").read_bytes())
    lines = [line for line in text.splitlines(keepends=True) if b"_CONFIGS" not in line]
    path = tmp_path_factory.mktemp("unsaid") / "requests.log"
    path.write_bytes(b"".join(lines))
    return path


@cache
def read(path: Path) -> Imported:
    return imported(path)


def reported(found: Imported) -> Mapping[str, list[list[object]]]:
    return {group: [list(each) for each in found.rebalances(group)] for group in EXPECTED}


def test_what_lines_say_is_in_force() -> None:
    found = incident("sessions")
    assert (found.parity.share, found.tally.unsettled, found.tally.sessions) == (1.0, {}, {})
    set_by_lines = [e for _, e in found.effects if isinstance(e, GroupConfigsChanged)]
    assert {e.configs[SESSION] for e in set_by_lines} == {str(ms) for ms in TRUE_MS.values()}
    assert {(e.client_id, e.principal, e.is_inferred) for e in set_by_lines} == {("rdkafka", "User:ANONYMOUS", False)}
    assert reported(found) == EXPECTED


def test_silences_bound_what_no_line_says(unsaid: Path) -> None:
    found = read(unsaid)
    assert found.parity.first == []
    assert found.tally.unsettled == {}
    assert reported(found) == EXPECTED
    assert found.tally.inferred[INTERVAL_SHOWN] == len(TRUE_MS)
    for group, true_ms in TRUE_MS.items():
        bounds = found.tally.sessions[group]
        assert bounds.hold(true_ms), (group, bounds)
        assert bounds.hold(bounds.likely_ms)
        set_alone = found.of_group(group, GroupConfigsChanged)[-1]
        assert (set_alone.configs[SESSION], set_alone.is_inferred) == (str(bounds.likely_ms), True)
        assert f"end after {bounds.text}" in set_alone.why
    assert (found.tally.sessions["orders"].likely_ms, found.tally.sessions["fix"].likely_ms) == (8000, 10_000)
    assert "plain" not in found.tally.sessions


def test_what_silences_bound_is_reported_as_inferred_and_holds_from_then_on(unsaid: Path) -> None:
    found = read(unsaid)
    causes = [e.cause for e in found.of_group("orders", RebalanceStarted) if e.cause.kind == "session_expired"]
    # The second end is that of a timer, by the session that the first one showed, and the next answers confirm it.
    assert [cause.is_inferred for cause in causes] == [True, False]
    joined = [e for e in found.of_group("orders", MemberJoined) if e.client_id == "orders-3"]
    assert [e.session_timeout_ms for e in joined] == [8000]


def test_a_user_may_say_it_instead(unsaid: Path) -> None:
    said = {f"groups.{group}.{SESSION}": str(ms) for group, ms in TRUE_MS.items()}
    found = imported(unsaid, settings=said)
    assert (reported(found), found.tally.sessions) == (EXPECTED, {})
    ends = {e.client_id: e.at_ms for _, e in found.effects if isinstance(e, MemberRemoved)}
    by_lines = {e.client_id: e.at_ms for _, e in incident("sessions").effects if isinstance(e, MemberRemoved)}
    assert ends == by_lines
    assert not [e for _, e in found.effects if isinstance(e, MemberUpdated) and e.session_timeout_ms == 45_000]


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        (
            "groups.orders",
            "1",
            "groups.orders=1: is not of the form groups.GROUP.KEY, as groups.orders.consumer",
        ),
        (f"groups.{SESSION}", "1", "is not of the form groups.GROUP.KEY"),
        (f"groups.orders.{SESSION}", "soon", f"Invalid value soon for configuration {SESSION}: Not a number"),
    ],
)
def test_a_bad_setting_of_a_group_is_named(key: str, value: str, says: str) -> None:
    with pytest.raises(ConfigError) as error:
        split_given({key: value})
    assert says in str(error.value)


def test_a_groups_id_may_have_dots() -> None:
    given = {f"groups.eu.shop.{SESSION}": " 8000", f"groups.eu.shop.{INTERVAL}": "900", "group.max.size": "3"}
    assert split_given(given) == ({"group.max.size": "3"}, {"eu.shop": {SESSION: "8000", INTERVAL: "900"}})


@pytest.mark.parametrize(
    ("silences", "likely_ms", "text"),
    [
        ([(7400, 9100)], 8000, "7.4 to 9.1 s"),
        ([(29_000, 46_000)], 30_000, "29.0 to 46.0 s"),
        ([(0, 9100), (7400, 20_000)], 8000, "7.4 to 9.1 s"),
        ([(7400, 9100), (7900, 0)], 8000, "7.9 to 9.1 s"),
        ([(7400, 7450)], 7420, "7.4 to 7.5 s"),
        ([(5000, 6000), (11_000, 13_000)], 12_000, "11.0 to 13.0 s"),
        ([(9000, 0)], 0, "9.0 to 0.0 s"),
    ],
)
def test_the_roundest_session_between_the_bounds_is_the_likeliest(
    silences: list[tuple[int, int]], likely_ms: int, text: str
) -> None:
    bounds = SessionBounds()
    for outlived_ms, ended_ms in silences:
        bounds.narrow(outlived_ms, ended_ms)
    assert (bounds.likely_ms, bounds.text) == (likely_ms, text)


def test_an_end_that_nothing_proves_is_inferred() -> None:
    """The last member of mails dies: by its session, which a line says; that it was gone then no answer shows until
    another joins, to an epoch that is two higher.
    """
    (mails,) = [e for e in incident("sessions").of_group("mails", MemberRemoved) if e.client_id == "mails-0"]
    assert mails.end_cause == "session_expired"
    assert SESSION_OVER not in incident("sessions").tally.inferred
