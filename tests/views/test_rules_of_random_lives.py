"""Random lives of both protocols break no rule of rows, whatever reports them: the core, a log, a topic, or both.

A group that breaks one is named by its kind and seed: `random_lives.KINDS[kind](seed, folder)` plays it alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from rollcall.cli.check import broken_rules
from rollcall.tables.home import Home
from tests.views.random_homes import random_histories
from tests.views.random_lives import KINDS, Rows
from tests.views.story import write_effects

PLAYS, FLEETS = 20, 10
BEGUN_LATE = (40, 82, 86)
"""Logs that begin within a group of both protocols, of which a JoinGroup's answer shows that it is one already."""
CONVERTED = (17, 22, 35, 43)
"""Topics beside logs that begin late, or that have a downgrade's rebalance before its records came."""
UNHEARD = (52, 60, 113, 114, 117, 119, 159, 197)
"""Logs that begin within a group of both protocols whose classic members were found before a consumer showed what kind
of group it is: their heartbeats, which the broker answered NONE, are answered UNKNOWN_MEMBER_ID until they join again.
By the topic they were members, so that their sessions have gaps."""
INFERRED_LATE = (53, 93)
"""Downgrades by an expiry that the log infers from the next line: its epoch ends then, and the topic's conversion is
earlier."""

LOADED = (3, 10, 15)
"""Classic members of a consumer group whose coordinator was loaded: until their next request they have the group's
session timeout instead of their own, shorter one, which the views do not know."""


def of(kind: str, seeds: Iterable[int], folder: Path) -> Rows:
    return {name: rows for seed in seeds for name, rows in KINDS[kind](seed, folder).items()}


def plays_and_fleets(plays: int, fleets: int) -> Rows:
    return {name: history.rows for name, history in random_histories(plays, fleets).items()}


def broken(lives: Rows, home: Path) -> list[tuple[str, str]]:
    """Each rule that lives break, with rows that name their groups. They are written into one home."""
    write_effects(home, lives)
    return [(rule.name, str(row)) for rule, rows in broken_rules(Home(home), "duckdb") for row in rows[:5]]


def test_lives_that_a_log_a_topic_or_both_tell_break_no_rule(tmp_path: Path) -> None:
    lives = of("log", (*range(10), *BEGUN_LATE), tmp_path) | of("topic", range(10), tmp_path)
    lives |= of("mixed topic", (*range(15), *CONVERTED), tmp_path)
    assert broken(lives, tmp_path / "home") == []


def test_lives_of_the_core_break_no_rule(tmp_path: Path) -> None:
    lives = of("core", range(2), tmp_path) | plays_and_fleets(PLAYS, FLEETS)
    assert broken(lives, tmp_path / "home") == []


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["log", "topic", "mixed topic"])
def test_many_lives_that_a_log_a_topic_or_both_tell_break_no_rule(kind: str, tmp_path: Path) -> None:
    left_out = (*UNHEARD, *INFERRED_LATE) if kind == "mixed topic" else ()
    seeds = [seed for seed in range(10, 200) if seed not in left_out]
    assert broken(of(kind, seeds, tmp_path), tmp_path / "home") == []


@pytest.mark.nightly
def test_many_lives_of_the_core_break_no_rule(tmp_path: Path) -> None:
    lives = of("core", (seed for seed in range(2, 40) if seed not in LOADED), tmp_path) | plays_and_fleets(
        10 * PLAYS, 10 * FLEETS
    )
    assert broken(lives, tmp_path / "home") == []
