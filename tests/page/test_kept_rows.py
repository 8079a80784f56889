"""The overview's rows that are kept say what rows written anew would."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from rollcall.history.words import MINUTE_MS, ms_of
from rollcall.serve.page import lists
from rollcall.serve.page.app import templates
from rollcall.serve.page.history import History
from rollcall.serve.page.kept_rows import FRESH_MS, KeptRows
from tests.lag.homes import write_capture

SHARED = {"at": "", "has_span": False, "highest_lag": 1000}


def written_anew(rows: list[dict[str, Any]], now_ms: int, shared: dict[str, Any]) -> str:
    return KeptRows(templates().env).html(rows, now_ms, **shared)


@pytest.fixture(scope="module")
def overviews(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[list[dict[str, Any]], int]]:
    """The rows of a home as it goes on, and after it for a while, each with its moment."""
    history = History(write_capture(tmp_path_factory.mktemp("home")))
    history.refresh()
    history.make_lists()
    first_ms, last_ms = history.span_ms() or (0, 0)
    moments = [*range(first_ms, last_ms, (last_ms - first_ms) // 5), *range(last_ms, last_ms + 3 * MINUTE_MS, 20_000)]
    found = [(lists.overview(history, at_ms, at_ms if at_ms < last_ms else None, None), at_ms) for at_ms in moments]
    history.close()
    return found


def test_a_kept_row_says_what_one_written_anew_does(overviews: list[tuple[list[dict[str, Any]], int]]) -> None:
    kept = KeptRows(templates().env)
    for rows, now_ms in overviews:
        for shared in (SHARED, SHARED | {"at": "2026-03-01"}, SHARED | {"has_span": True}, SHARED | {"highest_lag": 5}):
            for _ in range(2):
                assert kept.html(rows, now_ms, **shared) == written_anew(rows, now_ms, shared)


def test_a_lag_has_its_age_once_it_is_no_longer_fresh(overviews: list[tuple[list[dict[str, Any]], int]]) -> None:
    rows, _ = overviews[-1]
    (row, *_) = (row for row in rows if row["end_known_at"] is not None)
    kept, known_ms = KeptRows(templates().env), ms_of(row["end_known_at"])
    assert " ago</time>)" not in kept.html([row], known_ms + FRESH_MS - 1, **SHARED)
    for age_ms in (FRESH_MS, FRESH_MS + 1000):
        assert f">{age_ms // 1000} s ago</time>)" in kept.html([row], known_ms + age_ms, **SHARED)
    later = row | {"end_known_at": row["end_known_at"] + timedelta(milliseconds=FRESH_MS)}
    assert " ago</time>)" not in kept.html([later], known_ms + FRESH_MS + 1000, **SHARED)


def test_a_row_that_shows_the_same_is_not_written_again(
    overviews: list[tuple[list[dict[str, Any]], int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, now_ms = overviews[-1]
    kept = KeptRows(templates().env)
    before = kept.html(rows, now_ms, **SHARED)
    monkeypatch.setattr(kept, "_template", None)
    assert kept.html([dict(row) for row in rows], now_ms, **SHARED) == before
