"""Checks before a query: it must not write, and the home must exist.

Must not know an engine; asking in SQL must stay quick, so nothing heavy is loaded here.
"""

from __future__ import annotations

import re

from rollcall.answers.sql.statements import READS, WRITES, first_word_of
from rollcall.programs.errors import UserError

ROWS_SHOWN = 1000
"""Maximum number of rows in a table for people."""
_INSERTS = re.compile(r"\binsert\s+(into|overwrite)\b", re.IGNORECASE)


class QueryError(UserError):
    """A query that cannot be answered; the text is the sentence for the user."""


def check_query(query: str) -> None:
    """Raises QueryError: there is none, or it would write."""
    word = first_word_of(query)
    if not word:
        raise QueryError('there is no query, such as "select * from groups".')
    if word in WRITES or _INSERTS.search(query):
        refused = word if word in WRITES else "insert"
        raise QueryError(f"query: only queries that read are allowed, not {refused} (allowed: {', '.join(READS)}).")
