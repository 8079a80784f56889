"""Checks before a query: it must not write, and the home must exist.

Must not know an engine; asking in SQL must stay quick, so nothing heavy is loaded here.
"""

from __future__ import annotations

import re

from rollcall.answers.sql.statements import READS, WRITES, first_word_of
from rollcall.answers.views.tables import TABLE_VIEWS, TableView
from rollcall.programs.errors import UserError
from rollcall.programs.typed import as_typed
from rollcall.tables.home import Home, HomeError
from rollcall.tables.versions import is_table

ROWS_SHOWN = 1000
"""Maximum number of rows in a table for people."""
_INSERTS = re.compile(r"\binsert\s+(into|overwrite)\b", re.IGNORECASE)


class QueryError(UserError):
    """A query that cannot be answered; the text is the sentence for the user."""


def check_query(query: str) -> None:
    """Raises QueryError: there is none, or it would write."""
    word = first_word_of(query)
    if not word:
        asks = as_typed('make sql Q="select * from groups"', 'rollcall sql "select * from groups"')
        raise QueryError(f"there is no query: {asks}.")
    if word in WRITES or _INSERTS.search(query):
        refused = word if word in WRITES else "insert"
        raise QueryError(f"query: only queries that read are allowed, not {refused} (allowed: {', '.join(READS)}).")


def check_home(home: Home) -> None:
    """Raises HomeError: the home is not a folder, or holds no table. One in a store is checked by reading it."""
    if not home.is_local:
        return
    if not home.path.is_dir():
        raise HomeError(f"{home.shown} does not exist. `rollcall replay` and `rollcall run` make a home.")
    if not any(is_there(home, table) for table in TABLE_VIEWS):
        makers = as_typed("`make run` or `make replay`", "`rollcall run` or `rollcall replay`")
        raise HomeError(f"{home.shown} holds no tables yet: {makers} makes them.")


def is_there(home: Home, table: TableView) -> bool:
    """Whether a table of a home on this machine exists."""
    return is_table(home.path / table.folder)
