"""The overview's rows as HTML: of thousands, each is written again only once something that it shows has changed.

Knows which of a row's values are shown, and when. Must not know how they are found, nor what they look like.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import SimpleNamespace
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

from rollcall.history.words import ms_of
from rollcall.serve.page.shown import age

FRESH_MS = 30_000
"""How old a lag is, is shown from this age on."""
_Row = Mapping[str, Any]


class KeptRows:
    """The rows that were written last."""

    def __init__(self, templates: Environment) -> None:
        self._template = templates.get_template("group_row.html")
        self._shared: dict[str, Any] = {}
        self._kept: dict[str, tuple[_Row, tuple[str, ...], str]] = {}
        """By group: what its row shows, how long ago that was, and its HTML."""

    def html(self, rows: Iterable[_Row], now_ms: int, **shared: Any) -> Markup:
        """The rows of `lists.overview`. shared: what all of them show alike, as the template names it."""
        before = self._kept if shared == self._shared else {}
        self._shared = shared
        self._kept = {row["group_id"]: self._written(row, now_ms, before) for row in rows}
        return Markup("".join([html for _, _, html in self._kept.values()]))

    def _written(
        self, row: _Row, now_ms: int, before: Mapping[str, tuple[_Row, tuple[str, ...], str]]
    ) -> tuple[_Row, tuple[str, ...], str]:
        end_known_at = row["end_known_at"]
        if end_known_at is not None and now_ms - ms_of(end_known_at) < FRESH_MS:
            end_known_at = None
        shown = {**row, "harm": row["harm"] is not None, "end_known_at": end_known_at}
        ages = tuple(age(ms_of(at), now_ms) for at in (row["latest_at"], end_known_at) if at is not None)
        kept = before.get(row["group_id"])
        if kept is not None and kept[:2] == (shown, ages):
            return kept
        html: str = self._template.module.group_row(SimpleNamespace(**shown), now_ms, **self._shared)  # type: ignore[attr-defined]
        return shown, ages, html
