"""Settings from texts: a field's type and bounds say what fits, and what does not is named with its key and value."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Literal

import pytest

from rollcall.programs.errors import ConfigError
from rollcall.programs.settings import Key, from_texts, keys_of, names_of, parse_topics, read_pairs, setting


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True)
class Paint:
    """Something with a setting of each type."""

    litres: int = setting("paint.litres", 5, "how much of it", most=100)
    colour: Colour = setting("paint.colour", Colour.RED)
    finish: Literal["matt", "silk", "gloss"] = setting("paint.finish", "matt")
    is_thin: bool = setting("paint.thin", False)
    file: Path | None = setting("paint.file", None)
    walls: tuple[Literal["north", "south"], ...] = setting("paint.walls", ("north",))
    topics: Mapping[str, int] | None = setting("topics", None)
    name: str = ""

    def __post_init__(self) -> None:
        if self.is_thin and self.finish == "gloss":
            raise ValueError("paint.thin=true: is never gloss")


def test_a_field_declares_its_key_its_meaning_and_its_bounds() -> None:
    assert keys_of(Paint)["litres"] == Key("paint.litres", "how much of it", 0, 100)
    assert "name" not in keys_of(Paint)


def test_texts_become_the_types_of_the_fields() -> None:
    texts = {
        "paint.litres": " 7 ",
        "paint.colour": "blue",
        "paint.finish": "silk",
        "paint.thin": "true",
        "paint.file": "/p",
        "paint.walls": "north, south",
        "topics": "t1:4",
    }
    found = from_texts(Paint, texts, name="x")
    assert found == Paint(7, Colour.BLUE, "silk", True, Path("/p"), ("north", "south"), {"t1": 4}, "x")


def test_an_empty_text_is_none_where_there_may_be_none_and_no_topics_where_there_are_topics() -> None:
    assert from_texts(Paint, {"paint.file": "", "topics": ""}) == Paint(topics={})


@pytest.mark.parametrize(
    ("key", "text", "says"),
    [
        ("paint.litre", "7", "paint.litre: is not a setting; did you mean paint.litres?"),
        ("brush", "7", "brush: is not a setting; known are paint.colour, paint.file, "),
        ("paint.litres", "few", "paint.litres=few: is not a whole number"),
        ("paint.litres", "-1", "paint.litres=-1: must be at least 0"),
        ("paint.litres", "101", "paint.litres=101: must be at most 100"),
        ("paint.colour", "green", "paint.colour=green: is neither red nor blue"),
        ("paint.finish", "rough", "paint.finish=rough: is not one of matt, silk, gloss"),
        ("paint.thin", "yes", "paint.thin=yes: is neither true nor false"),
        ("paint.walls", "north,up", "paint.walls=north,up: 'up' is neither north nor south"),
        ("topics", "t1", "topics=t1: 't1' is not of the form topic:partitions"),
    ],
)
def test_what_does_not_fit_is_named(key: str, text: str, says: str) -> None:
    with pytest.raises(ConfigError, match=f"^{re.escape(says)}"):
        from_texts(Paint, {key: text})


def test_a_contradiction_that_the_class_refuses_is_a_users_error() -> None:
    with pytest.raises(ConfigError, match=r"^paint\.thin=true: is never gloss$"):
        from_texts(Paint, {"paint.thin": "true", "paint.finish": "gloss"})


def test_words_are_read_in_order_and_the_last_one_of_a_key_counts() -> None:
    assert read_pairs(["a=1", " b = x=y ", "a=2"], "--set ") == {"a": "2", "b": "x=y"}


@pytest.mark.parametrize("word", ["a", "=1", " =1", ""])
def test_a_word_without_a_key_or_an_equals_sign_is_refused(word: str) -> None:
    with pytest.raises(ConfigError, match=f"^--set {word}: is not of the form key=value$"):
        read_pairs([word], "--set ")


def test_topics_are_names_and_partition_counts() -> None:
    assert parse_topics("t1:4, a:b:2,") == {"t1": 4, "a:b": 2}


@dataclass(frozen=True)
class House:
    """Something that has a part with settings of its own."""

    rooms: int = setting("house.rooms", 3)
    paint: Paint = field(default_factory=Paint)


def test_a_part_takes_its_own_keys() -> None:
    assert names_of(House) == names_of(Paint) | {"house.rooms"}
    found = from_texts(House, {"paint.litres": "7", "house.rooms": "2"})
    assert found == House(2, Paint(litres=7))
    with pytest.raises(ConfigError, match=r"^paint\.litres=-1: must be at least 0$"):
        from_texts(House, {"paint.litres": "-1"})
    with pytest.raises(ConfigError, match=r"did you mean paint\.litres"):
        from_texts(House, {"paint.liters": "1"})
