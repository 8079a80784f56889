"""Incidents of our own against a real broker, with what its server log says of each rebalance.

`clients`: static members that restart, processes that are stopped and go on, instance ids that clash, no protocol in
common, partitions added, slow applications, resubscribing, of three libraries. `java`: the same of the Java client.
`conversions`: groups that go over to the newer protocol and back, static members of either. `libraries`: members of
five libraries that close, are killed, stopped or too slow. `night`: all of these, partitions added, a broker that is
stopped and started. `dusk` and `dawn`: the same once more in other orders, with clients of no protocol in common,
static members that clash and a broker that is killed. `dying`, `unanswered`: members that die at every step of a
rebalance. `failover`: the broker stopped and started, then killed and started. `full-group`: group.max.size 3 and an
initial delay of 1 s, which the importer does not know. `k44-*`: a broker 4.4.0, the others are of 4.3.1. Members join,
leave and are killed, the broker restarts, a subscription and an assignor change, a group goes over and back.
"""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

import pytest

from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.inputs.request_log.broker_settings import SettingsSeen
from rollcall.inputs.request_log.lines.clock import zone_of
from rollcall.inputs.request_log.survey import settings_shown
from rollcall.schemas.causes import CauseKind
from rollcall.schemas.effects import MemberRemoved, RebalanceStarted
from tests.request_log.broker import Broker
from tests.request_log.fleet import live
from tests.request_log.imported import Imported, imported, rebalances_in
from tests.request_log.played import LENGTH_MS, read
from tests.request_log.recordings import INCIDENTS, incident

NAMES = sorted(path.name.partition(".")[0] for path in INCIDENTS.glob("*.json"))


@pytest.mark.parametrize("name", NAMES)
def test_every_answer_is_the_recorded_one(name: str) -> None:
    found = incident(name)
    assert found.parity.first == []
    # A line that names two groups is two answers.
    assert found.parity.compared >= found.tally.used
    assert found.tally.unsettled == {}


@pytest.mark.parametrize("name", NAMES)
def test_every_rebalance_its_cause_and_its_culprit_are_those_of_the_servers_own_log(name: str) -> None:
    expected = json.loads((INCIDENTS / f"{name}.json").read_text())
    assert {group: [list(row) for row in incident(name).rebalances(group)] for group in expected} == expected


def test_a_log_shows_the_settings_of_its_broker() -> None:
    """With Kafka's defaults instead the same log cannot be followed."""
    path = INCIDENTS / "full-group.log.gz"
    defaults = {"group.initial.rebalance.delay.ms": "3000", "group.max.size": "2147483647"}
    assert imported(path, settings=defaults).parity.share < 0.95
    assert incident("full-group").parity.share == 1.0


def test_of_joins_in_flight_together_the_first_is_the_one_that_was_given_partitions() -> None:
    """Members of teal join while one another's answers are on their way; the first is answered second."""
    asked = [row.request.request_id for row in incident("dusk").rows if row.group_id == "teal"]
    assert asked[1:4] == ["dusk.log.gz:26", "dusk.log.gz:25", "dusk.log.gz:29"]


def test_the_first_wait_at_a_busy_broker_is_not_taken_for_its_initial_delay() -> None:
    """The shortest is of 3.2 s; another one shows twice the default."""
    shown = settings_shown(INCIDENTS / "dusk.log.gz", zone_of("UTC"))
    assert shown.shortest_wait_ms is not None
    assert shown.shortest_wait_ms > 3_200
    assert "group.initial.rebalance.delay.ms" not in shown.shown()


@pytest.mark.parametrize("wait_ms", [3_004.0, 6_001.287])
def test_a_wait_that_an_earlier_version_kept_shows_the_default_delay_by_itself(wait_ms: float) -> None:
    assert "group.initial.rebalance.delay.ms" not in SettingsSeen(shortest_wait_ms=wait_ms).shown()
    assert SettingsSeen(shortest_wait_ms=4_001.0).shown()["group.initial.rebalance.delay.ms"] == "4000"


def test_a_coordinator_that_was_away_lets_no_session_end_meanwhile() -> None:
    """The broker was down longer than the members' sessions; all of them came back as what they were."""
    found = incident("failover")
    away = {row.group_id for row in found.rows if getattr(row.request, "is_away", False)}
    loaded = {row.group_id for row in found.rows if getattr(row.request, "is_loaded", False)}
    assert away == loaded >= {"fo-a", "fo-k"}


def test_the_same_log_with_windows_line_ends_in_two_files_is_the_same(tmp_path: Path) -> None:
    lines = gzip.decompress((INCIDENTS / "java.log.gz").read_bytes()).splitlines()
    half = len(lines) // 2
    (tmp_path / "kafka-request.log").write_bytes(b"\r\n".join(lines[half:]) + b"\r\n")
    (tmp_path / "kafka-request.log.2026-11-21-09").write_bytes(gzip.compress(b"\r\n".join(lines[:half]) + b"\r\n"))
    found, whole = imported(tmp_path), incident("java")
    assert found.parity.equal == whole.parity.equal
    assert [row.request.received_at_ms for row in found.rows] == [row.request.received_at_ms for row in whole.rows]


def test_who_leaves_without_a_reason_polled_too_late_only_if_its_process_comes_back() -> None:
    """librdkafka, aiokafka, kafkajs and kafka-python give no reason, nor does Java's client in a consumer group."""
    left = [
        (effect.cause.client_id, str(effect.cause.kind), effect.cause.is_inferred)
        for _, effect in incident("libraries").effects
        if isinstance(effect, RebalanceStarted) and effect.cause.kind in ("poll_timeout", "member_left")
    ]
    late = ["aio-0", "jay-0", "kpy-0", "rd-0"]
    closed = ["aio-1", "jay-3", "kjs-1", "kpy-1", "long-1", "long-2", "rd-1"]
    assert sorted(left) == sorted(
        [*((who, "poll_timeout", True) for who in late), *((who, "member_left", False) for who in closed)]
    )


# ---------------------------------------------------------------- groups at their maximum size
# Those who are refused show that others, who left no line, had joined before them. The log is of a broker in virtual
# time, whose maximum size the importer does not know.

ACTIONS = ("start", "start", "close", "kill", "stall", "commit")
LIVES = (112, *range(200, 230), 293, 359, 361, 1123, 1190, 1214, 1305)


def lives(seed: int) -> Broker:
    """Clients come and go at a broker, more of them than its groups take."""
    chance = random.Random(seed)
    size = chance.choice([1, 2, 3, 4])
    plan = [("start", who, 50 * who + chance.randint(0, 3000)) for who in range(4)]
    for _ in range(chance.randint(3, 14)):
        what, who = chance.choice(ACTIONS), chance.randint(0, 6)
        plan.append((what, who, chance.randint(0, LENGTH_MS)))
    broker = Broker(seed=seed, late_ms=0.5, config=GroupConfig(group_max_size=size))
    live(broker, plan, has_static=chance.random() < 0.3)
    return broker


@pytest.mark.parametrize("seed", LIVES)
def test_whoever_set_a_rebalance_off_is_named_where_others_are_refused(seed: int, tmp_path: Path) -> None:
    played = read(lives(seed), tmp_path)
    found, real = played.found, rebalances_in(played.effects_shown(), "g")
    assert found.rebalances("g")[: len(real)] == real
    assert found.parity.first == []


@pytest.mark.parametrize("seed", [153, 1240, 1300, 2271, 2661, 2381])
def test_what_a_log_cannot_tell_apart_is_not_reported_as_certain(seed: int, tmp_path: Path) -> None:
    """Sessions that end within milliseconds, newcomers that left no line: who was first is in no line."""
    played = read(lives(seed), tmp_path)
    real = {
        effect.from_generation_id: (effect.cause.kind, effect.cause.member_id)
        for _, effect in played.effects_shown()
        if isinstance(effect, RebalanceStarted)
    }
    for started in played.found.of_group("g", RebalanceStarted):
        kind, member_id = real.get(started.from_generation_id, (started.cause.kind, started.cause.member_id))
        if (started.cause.kind, started.cause.member_id) != (kind, member_id):
            assert started.cause.is_inferred
            named = {(one.kind, one.member_id) for one in started.cause.candidates}
            assert (kind, member_id) in named or started.cause.kind in ("unknown", "member_joined")


# ---------------------------------------------------------------- causes beside an epoch that no answer proves
# Groups of storms on a real broker 4.3.1 (tests/peers_kafka), each with what its server log says of every epoch.
# Members are killed, stopped and closed, a topic grows, the broker is stopped and started: a log of `-restart` has
# lines of other groups around that, whose connections show it. No line says how long sessions are, and a newcomer's
# answer may name an epoch below the group's.

GROUPS = {
    "storm-1": "newer-1",
    "storm-3": "newer-1",
    "storm-13": "newer-0",
    "storm-41": "newer-0",
    "storm-51": "newer-0",
    "storm-55": "static-newer",
    "storm-55-restart": "newer-1",
}
RIGHT = {
    "storm-1": 21,
    "storm-3": 17,
    "storm-13": 37,
    "storm-41": 13,
    "storm-51": 29,
    "storm-55": 17,
    "storm-55-restart": 36,
}
"""How many causes each log tells as certain: a lower number is a loss, not a mistake."""


@pytest.fixture(scope="module", params=sorted(GROUPS))
def storm(request: pytest.FixtureRequest) -> tuple[str, Imported]:
    return request.param, imported(INCIDENTS / "storms" / f"{request.param}.log.gz")


def true_causes(name: str) -> dict[int, str]:
    """By the epoch or generation before it."""
    return {
        int(epoch): cause for epoch, cause in json.loads((INCIDENTS / "storms" / f"{name}.json").read_text()).items()
    }


def test_a_certain_cause_is_that_of_its_epoch(storm: tuple[str, Imported]) -> None:
    name, found = storm
    true = true_causes(name)
    begun = found.of_group(GROUPS[name], RebalanceStarted)
    certain = [each for each in begun if not each.cause.is_inferred and each.cause.kind != CauseKind.UNKNOWN]
    reported = [(each.from_generation_id, str(each.cause.kind)) for each in certain if each.from_generation_id in true]
    assert [row for row in reported if row not in true.items()] == []
    assert len(reported) == RIGHT[name]


def test_that_a_member_left_its_line_says_whatever_the_epoch_was(storm: tuple[str, Imported]) -> None:
    name, found = storm
    left = [each for each in found.of_group(GROUPS[name], MemberRemoved) if each.end_cause == "member_left"]
    assert bool(left) == ("member_left" in true_causes(name).values())
    assert not any(each.is_inferred for each in left)
