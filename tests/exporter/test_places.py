"""Where groups are more than places, those that are in trouble or busy have a name, and no counter falls."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rollcall.serve.exporter.labels import OTHERS
from rollcall.serve.exporter.serving import Exporter
from rollcall.serve.exporter.settings import ExportSettings
from tests.exporter.scraped import Scraped, scraped
from tests.lag.homes import write_home
from tests.views.story import Story

BUSY_MS = 20_000
LATE_MS = 100_000
"""When what was done before is no longer of late."""


class Watched:
    """A home that grows, and its exporter."""

    def __init__(self, home: Path, groups_max: int) -> None:
        self._home = home
        self._exporter = Exporter(home, ExportSettings(groups_max=groups_max))
        self._stories: dict[str, Story] = {}

    def story(self, name: str) -> Story:
        """What is to be written of a group the next time."""
        return self._stories.setdefault(name, Story(name))

    def came(self, at_ms: int, *names: str) -> None:
        """Each group gets a member, a millisecond after the one before."""
        for name in names:
            at_ms += 1
            self.story(name).join(at_ms, "a", session_timeout_ms=1_000_000)
            self.story(name).sync(at_ms, "a", {"a": [f"{name}-0"]})

    def left(self, at_ms: int, *names: str) -> None:
        for name in names:
            self.story(name).leave(at_ms, "a")
            self.story(name).member_ids.clear()

    def look(self) -> dict[str, Scraped]:
        """What is exported once all of it is taken in."""
        written = {name: len(story.rows) for name, story in self._stories.items()}
        write_home(self._home, [story for story in self._stories.values() if story.rows], [])
        for name, story in self._stories.items():
            del story.rows[: written[name]]
        for kept in self._exporter.history._kept:
            kept.rests_until = 0.0
        self._exporter.history.costs_rest_until = 0.0
        self._exporter.step()
        return scraped(self._exporter.text(is_openmetrics=False))

    def named(self) -> set[str]:
        return {name for (name,) in self.look()["kafka_consumergroup_members"]} - {OTHERS}

    def close(self) -> None:
        self._exporter.stop()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Watched]:
    monkeypatch.setattr("rollcall.serve.exporter.places.BUSY_MS", BUSY_MS)
    watched = Watched(tmp_path, 3)
    yield watched
    watched.close()


def test_many_idle_groups_leave_the_places_to_later_busy_ones(home: Watched) -> None:
    idle = [f"idle-{number}" for number in range(20)]
    home.came(1_000, *idle)
    home.left(2_000, *idle)
    assert home.named() == set(idle[:3])
    home.came(LATE_MS, "orders", "payments")
    assert home.named() == {idle[0], "orders", "payments"}


def test_a_group_keeps_its_place_as_long_as_it_has_members_or_is_busy(home: Watched) -> None:
    home.came(1_000, "a", "b", "c")
    assert home.named() == {"a", "b", "c"}
    home.came(2_000, "0", "z")
    assert home.named() == {"a", "b", "c"}
    home.left(3_000, "a")
    assert home.named() == {"a", "b", "c"}
    home.story("z").commit(3_000 + BUSY_MS, "a", {"z-0": 1})
    assert home.named() == {"a", "b", "c"}
    home.story("z").commit(3_001 + BUSY_MS, "a", {"z-0": 1})
    assert home.named() == {"0", "b", "c"}
    home.came(4_000 + BUSY_MS, "y")
    assert home.named() == {"0", "b", "c"}


def test_a_commit_makes_a_group_without_members_busy(home: Watched) -> None:
    home.came(1_000, "a", "b", "c", "d")
    home.left(2_000, "a", "b", "c", "d")
    assert home.named() == {"a", "b", "c"}
    home.story("d").commit(LATE_MS, "", {"t-0": 10}, generation_id=-1)
    assert home.named() == {"a", "b", "d"}


def test_a_free_place_goes_to_a_group_in_trouble_before_an_older_one(home: Watched) -> None:
    home.came(1_000, "a", "b", "c", "older", "ill")
    assert home.named() == {"a", "b", "c"}
    home.story("ill").let_time_pass(1_001_100)
    home.left(9_000, "a")
    home.story("a").delete(9_001)
    assert home.named() == {"b", "c", "ill"}


def test_a_group_in_trouble_takes_the_place_of_one_that_is_only_busy(home: Watched) -> None:
    home.came(1_000, "a", "b", "c", "ill")
    assert home.named() == {"a", "b", "c"}
    home.story("ill").let_time_pass(1_001_100)
    assert home.named() == {"a", "b", "ill"}


def test_a_group_that_is_called_as_the_sum_is_not_taken_for_it(home: Watched) -> None:
    home.came(1_000, OTHERS, "a", "b", "c", "d")
    found = home.look()["kafka_consumergroup_members"]
    assert found == {(r"\x28others)",): 1, ("a",): 1, ("b",): 1, (OTHERS,): 2}


def test_no_counter_falls_or_jumps_when_groups_change_places(home: Watched) -> None:
    """Each rebalance of a group that is summed is counted there once, and none that happened under its own name."""

    def sums() -> float:
        return home.look()["rollcall_group_rebalances_total"].get(("member_joined", OTHERS), 0.0)

    home.came(1_000, "a", "b", "c", "d", "e")
    assert sums() == 2
    # Place of a: to d, whose rebalance stays in the sum.
    home.left(2_000, "a")
    home.story("a").delete(2_001)
    assert sums() == 2
    # A group that had its rebalances under its name brings none of them; a new one brings its first.
    home.came(3_000, "a")
    assert sums() == 2
    home.came(4_000, "f")
    assert sums() == 3
    home.left(5_000, "e")
    home.story("e").delete(5_001)
    assert sums() == 3
    home.came(6_000, "e")
    assert sums() == 3
    home.story("f").join(7_000, "b")
    assert sums() == 4
