"""What may be asked of a home: which queries are refused before any engine sees them, and what is no home.

Knows the words that write. Must not know an engine; asking in SQL must stay quick, so nothing heavy is loaded here.
"""

from __future__ import annotations

import re

from jobs.home import Home, HomeError
from programs.errors import UserError
from views.tables import TABLE_VIEWS, TableView

READS = ("select", "with", "values", "table", "show", "describe", "desc", "explain")
WRITES = ("insert", "update", "delete", "merge", "create", "replace", "drop", "alter", "truncate", "optimize", "vacuum")

_COMMENTS = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
_INSERTS = re.compile(r"\binsert\s+(into|overwrite)\b", re.IGNORECASE)


class QueryError(UserError):
    """A query that cannot be answered; the text is the sentence for the person in front of it."""


def check_query(query: str) -> None:
    """Raises QueryError: there is none, or it would write."""
    words = _COMMENTS.sub(" ", query).lower().strip(" \n\t(;").split(None, 1)
    if not words:
        raise QueryError('there is no query: make sql Q="select * from groups".')
    if words[0] in WRITES or _INSERTS.search(query):
        raise QueryError(f"query: {words[0]} is refused, for only the job writes; it may be {', '.join(READS)}.")


def check_home(home: Home) -> None:
    """Raises HomeError: the home is no folder, or holds no table. One in an object store is found out by reading it."""
    if not home.is_local:
        return
    if not home.path.is_dir():
        raise HomeError(f"{home.shown} is no home: there is no such folder; ROLLCALL_HOME names another.")
    if not any(is_there(home, table) for table in TABLE_VIEWS):
        raise HomeError(f"{home.shown} holds no tables yet: `make run` or `make replay` makes them.")


def is_there(home: Home, table: TableView) -> bool:
    """Whether a table of a home on this machine has been made."""
    return (home.path / table.folder / "_delta_log").is_dir()
