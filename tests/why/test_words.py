"""Figures in sentences."""

from __future__ import annotations

import pytest

from rollcall.history.words import duration


@pytest.mark.parametrize(
    ("length_ms", "said"),
    [
        (419_940, "6 min 59.9 s"),
        (419_959, "7 min"),
        (420_100, "7 min 0.1 s"),
        (3_599_999, "60 min"),
    ],
)
def test_no_duration_has_sixty_seconds(length_ms: int, said: str) -> None:
    assert duration(length_ms) == said
