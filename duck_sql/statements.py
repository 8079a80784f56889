"""DESCRIBE and SHOW, answered from the views' own definitions, as Spark answers them.

Knows what each view's columns hold. Must not know where a home is.
"""

from __future__ import annotations

import re
from typing import Any

from duck_sql.catalog import declared, type_of
from duck_sql.types import BOOLEAN, STRING, Type
from views.catalog import NAMES, VIEWS

_DESCRIBE = re.compile(r"\s*desc(?:ribe)?\s+(?:table\s+)?(\w+)\s*;?\s*", re.IGNORECASE)
_SHOW = re.compile(r"\s*show\s+(views|tables)\s*;?\s*", re.IGNORECASE)
_COLUMNS = re.compile(r"\s*show\s+columns\s+(?:in|from)\s+(\w+)\s*;?\s*", re.IGNORECASE)

Found = tuple[list[tuple[str, Type]], list[tuple[Any, ...]]]


def answer_to(query: str) -> Found | None:
    """The columns and rows of a statement, None if it is none that is known here."""
    known = declared()
    if (found := _DESCRIBE.fullmatch(query)) and (name := found[1].lower()) in known:
        is_view = any(view.name == name for view in VIEWS)
        rows = [(c.name, type_of(c).shown, c.holds if is_view else None) for c in known[name]]
        return [("col_name", STRING), ("data_type", STRING), ("comment", STRING)], rows
    if found := _COLUMNS.fullmatch(query):
        name = found[1].lower()
        return None if name not in known else ([("col_name", STRING)], [(c.name,) for c in known[name]])
    if found := _SHOW.fullmatch(query):
        what = "viewName" if found[1].lower() == "views" else "tableName"
        columns = [("namespace", STRING), (what, STRING), ("isTemporary", BOOLEAN)]
        return columns, [("", name, True) for name in sorted(NAMES)]
    return None
