"""Rows that cannot be: no recorded incident has one, from its log or its topic, and each rule finds what breaks it."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest
from deltalake import DeltaTable, write_deltalake

from rollcall.__main__ import main
from rollcall.answers.queries import QueryError
from rollcall.answers.sql.engine import ask_each, columns
from rollcall.answers.sql.spark_sql import duck_type, translated
from rollcall.answers.views.catalog import names_in
from rollcall.answers.views.row_rules import ROW_RULES, RowRule
from rollcall.cli.check import answer_check, broken_rules
from rollcall.schemas.tables import EFFECTS
from rollcall.tables.home import Home
from tests.engines.recorded import write_home

EARLY, LATE = "timestamp'2026-03-01 03:12:00'", "timestamp'2026-03-01 03:12:09'"

CREATED = f"""'g' group_id, {EARLY} AS "at", 0 seq, 'group_created' effect"""
DOWNGRADED = '{"from_type": "consumer", "to_type": "classic", "generation_id": 8}'


def _moved(from_state: str, to_state: str) -> str:
    return f"""'{{"from_state": "{from_state}", "to_state": "{to_state}"}}' detail"""


BREAKS = {
    "near_miss_within_session": {"near_misses": ["'g' group_id, 7000 gap_ms, 6000 session_timeout_ms, -1000 slack_ms"]},
    "slack_of_the_living": {"heartbeat_slack": ["'g' group_id, -4400 slack_ms, 'member_left' end_cause"]},
    "rebalance_ends_after_it_begins": {"rebalances": [f"{LATE} started_at, {EARLY} ended_at"]},
    "membership_ends_after_it_begins": {"sessions": [f"{LATE} joined_at, {EARLY} ended_at"]},
    "ownership_ends_after_it_begins": {"assignments": [f"{LATE} from_at, {EARLY} to_at"]},
    "standstill_ends_after_it_begins": {"standstills": ["-1 duration_ms"]},
    "one_membership_at_once": {
        "sessions": [
            f"'g' group_id, 'm' member_id, {EARLY} joined_at, NULL ended_at",
            f"'g' group_id, 'm' member_id, {LATE} joined_at, NULL ended_at",
        ]
    },
    "one_owner_at_once": {
        "assignments": [
            f"'g' group_id, 't' topic, 0 partition, 'a' member_id, {EARLY} from_at, NULL to_at",
            f"'g' group_id, 't' topic, 0 partition, 'b' member_id, {LATE} from_at, NULL to_at",
        ]
    },
    "one_classic_rebalance_at_once": {
        "groups": ["'g' group_id, 'classic' group_type"],
        "rebalances": [
            f"'g' group_id, 1 from_generation_id, {EARLY} started_at, timestamp'2026-03-01 03:12:20' ended_at",
            f"'g' group_id, 2 from_generation_id, {LATE} started_at, timestamp'2026-03-01 03:12:20' ended_at",
        ],
    },
    "conversion_ends_rebalances": {
        "effects": [f"""'g' group_id, {LATE} AS "at", 'group_type_changed' effect, '{DOWNGRADED}' detail"""],
        "rebalances": [f"'g' group_id, 7 from_generation_id, {EARLY} started_at"],
    },
    "no_members_when_empty": {"groups": ["'g' group_id, 'Empty' state, 1 member_count"]},
    "members_are_counted": {"groups": ["'g' group_id, 2 member_count"], "members": ["'g' group_id, 'm' member_id"]},
    "members_have_a_membership": {"members": ["'g' group_id, 'm' member_id"]},
    "memberships_have_a_member": {"sessions": [f"'g' group_id, 'm' member_id, {EARLY} joined_at"]},
    "owners_are_members": {
        "effects": [CREATED],
        "assignments": [f"'g' group_id, 't' topic, 0 partition, 'm' member_id, {EARLY} from_at"],
    },
    "one_row_an_epoch": {
        "rebalances": [
            f"'g' group_id, 1 from_generation_id, 2 to_generation_id, {EARLY} started_at, 'completed' outcome",
            f"'g' group_id, 1 from_generation_id, 2 to_generation_id, {LATE} started_at, 'completed' outcome",
        ]
    },
    "rebalances_end": {
        "sessions": ["'g' group_id, 1000 rebalance_timeout_ms"],
        "effects": ["'g' group_id, timestamp'2026-03-01 04:00:00' AS \"at\""],
        "rebalances": [f"'g' group_id, {EARLY} started_at"],
    },
    "holding_takes_time": {"join_waits": ["'g' group_id, -1 held_others_ms"]},
    "certain_causes_are_one": {
        "rebalances": [
            "'g' group_id, false is_inferred, 'member_left' cause, ['member_left', 'poll_timeout'] cause_candidates"
        ]
    },
    "generations_rise": {"rebalances": ["'g' group_id, 'completed' outcome, 4 from_generation_id, 4 to_generation_id"]},
    "owners_were_members": {
        "effects": [CREATED],
        "sessions": [f"'g' group_id, 'm' member_id, {LATE} joined_at"],
        "assignments": [f"'g' group_id, 't' topic, 0 partition, 'm' member_id, {EARLY} from_at"],
    },
    "members_add_up": {
        "groups": ["'g' group_id, 'classic' group_type"],
        "rebalances": [
            "'g' group_id, 'completed' outcome, 2 members_before, 2 members_after, "
            "['m'] joined, [] AS \"left\", [] expired, [] gone"
        ],
    },
    "states_follow_kafka": {
        "effects": [
            CREATED,
            f"""'g' group_id, {LATE} AS "at", 0 seq, 'state_changed' effect, {_moved("Empty", "Stable")}""",
        ]
    },
    "committers_are_members": {
        "effects": [
            CREATED,
            f"""'g' group_id, {EARLY} AS "at", 0 seq, 'member_removed' effect, 'm' member_id""",
            f"""'g' group_id, {LATE} AS "at", 0 seq, 'offsets_committed' effect, 'm' member_id, 1 generation_id""",
        ]
    },
}
"""For each rule rows of views that break it; a column that is not named is null."""


HOLDS = {
    # The rebalance that a downgrade begins, by the other input's clock.
    "conversion_ends_rebalances": {
        "effects": [f"""'g' group_id, {LATE} AS "at", 'group_type_changed' effect, '{DOWNGRADED}' detail"""],
        "rebalances": [f"'g' group_id, 8 from_generation_id, {EARLY} started_at"],
    },
    "one_membership_at_once": {
        "sessions": [
            f"'g' group_id, 'm' member_id, 'c' client_id, {EARLY} joined_at, {LATE} ended_at",
            f"'g' group_id, 'm' member_id, 'c' client_id, {EARLY} joined_at, {EARLY} ended_at",
        ]
    },
    "one_owner_at_once": {
        "assignments": [
            f"'g' group_id, 't' topic, 0 partition, 'a' member_id, 1 generation_id, {EARLY} from_at, NULL to_at",
            f"'g' group_id, 't' topic, 0 partition, 'b' member_id, 2 generation_id, {LATE} from_at, NULL to_at",
        ],
        "effects": [
            f"""'g' group_id, {LATE} AS "at", 'join_phase_ended' effect, 2 generation_id""",
            f"""'g' group_id, {EARLY} AS "at", 'assigned' effect, 'a' member_id, 2 generation_id""",
        ],
    },
    "one_row_an_epoch": {
        "rebalances": [
            f"""'g' group_id, 1 from_generation_id, 2 to_generation_id, {EARLY} started_at, {EARLY} ended_at,
              'completed' outcome""",
            f"'g' group_id, 1 from_generation_id, 2 to_generation_id, {LATE} started_at, 'completed' outcome",
        ],
        "effects": [f"""'g' group_id, {LATE} AS "at", 'group_created' effect"""],
    },
}
"""Rows that look alike and hold: a member that came and went within a millisecond and came again; a partition that a
leader gave to two members; an epoch of a group that was begun anew.
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_home(tmp_path_factory.mktemp("home"))


def test_no_recorded_incident_holds_a_row_that_cannot_be(home: Path) -> None:
    assert [(rule.name, rows[:3]) for rule, rows in broken_rules(Home(home))] == []


@pytest.mark.parametrize("share", [0.25, 0.5, 0.75])
def test_none_is_there_either_once_old_effects_are_removed(home: Path, tmp_path: Path, share: float) -> None:
    effects = DeltaTable(home / "effects").to_pyarrow_table()
    late = """--sql
    SELECT effects.* FROM effects
    JOIN (SELECT group_id, quantile_disc(at_ms, ?) AS from_ms FROM effects GROUP BY group_id) USING (group_id)
    WHERE at_ms >= from_ms
    """
    kept = duckdb.connect().register("effects", effects).sql(late, params=[share]).to_arrow_table()
    write_deltalake(tmp_path / "effects", kept.cast(effects.schema), partition_by=list(EFFECTS.partition_by))
    assert [(rule.name, rows[:3]) for rule, rows in broken_rules(Home(tmp_path), "duckdb")] == []


def test_every_rule_has_rows_that_break_it() -> None:
    assert BREAKS.keys() == {rule.name for rule in ROW_RULES}


def _breaking(rule: RowRule, views: dict[str, list[str]]) -> list[object]:
    """Its query's rows, where the views hold these rows and no others."""
    connection = duckdb.connect()
    for name in names_in(rule.query):
        kinds = ", ".join(f'"{column}" {duck_type(kind)}' for column, kind in columns()[name].items())
        connection.execute(f"CREATE TABLE {name} ({kinds})")
        for row in views.get(name, []):
            connection.execute(f"INSERT INTO {name} BY NAME SELECT {row}")
    found = translated(rule.query, columns())
    for statement in found.macros:
        connection.execute(statement)
    return list(connection.execute(found.sql).fetchall())


@pytest.mark.parametrize("rule", ROW_RULES, ids=lambda rule: rule.name)
def test_a_rule_finds_rows_that_break_it(rule: RowRule) -> None:
    assert len(_breaking(rule, BREAKS[rule.name])) == 1


@pytest.mark.parametrize("rule", [rule for rule in ROW_RULES if rule.name in HOLDS], ids=lambda rule: rule.name)
def test_a_rule_finds_nothing_in_rows_that_may_be(rule: RowRule) -> None:
    assert _breaking(rule, HOLDS[rule.name]) == []


def test_what_is_broken_is_printed_with_its_first_rows(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(home)]) == 0
    assert f"all {len(ROW_RULES)} consistency checks passed" in capsys.readouterr().out
    broken = RowRule("no_group", "There is no group.", "SELECT group_id FROM groups ORDER BY group_id")
    assert answer_check(Home(home), "text", rules=[broken]) == 1
    first, *rows = capsys.readouterr().out.splitlines()
    assert first.startswith("no_group: There is no group. ")
    assert rows[0].startswith('  {"group_id": "a-scale/')
    assert len(rows) == 3
    assert answer_check(Home(home), "json", rules=[broken]) == 1
    assert json.loads(capsys.readouterr().out)["rule"] == "no_group"


def test_an_engine_that_cannot_answer_is_a_sentence(home: Path) -> None:
    rule = RowRule("unknown", "It asks what DuckDB does not.", "SELECT raise_error('no') AS x FROM groups")
    with pytest.raises(QueryError, match=r"this needs Spark, because of raise_error\(\): use --engine spark"):
        answer_check(Home(home), "text", "duckdb", [rule])


def test_queries_asked_together_answer_as_alone(home: Path) -> None:
    queries = ["SELECT count(*) AS n FROM groups", "SELECT count(*) AS n FROM sessions"]
    together = [list(answer.rows) for answer in ask_each(home, queries, 5)]
    alone = [list(answer.rows) for query in queries for answer in ask_each(home, [query], 5)]
    assert together == alone
