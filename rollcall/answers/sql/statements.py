"""The words that a statement begins with, and the sentences for syntax errors. Must not load a parser."""

from __future__ import annotations

import re
from difflib import get_close_matches

READS = ("select", "with", "values", "table", "from", "show", "describe", "desc", "explain")
WRITES = ("insert", "update", "delete", "merge", "create", "replace", "drop", "alter", "truncate", "optimize", "vacuum")
_FIRST_WORD = re.compile(r"(?:[\s(;]|--[^\n]*+|(?>/\*.*?\*/))*+([^\s(;]+)", re.DOTALL)


def first_word_of(query: str) -> str:
    """Return the word that a query begins with, in lower case; empty without one."""
    found = _FIRST_WORD.match(query)
    return found[1].lower() if found else ""


def unknown_statement(query: str) -> str:
    """Return the sentence for a query whose first word begins no statement; empty otherwise."""
    first = _FIRST_WORD.match(query)
    if first is None or first[1].lower() in READS + WRITES:
        return ""
    word = first[1]
    meant = get_close_matches(word.lower(), READS, 1)
    hint = f"Did you mean {meant[0].upper()}?" if meant else f"Expected {', '.join(READS).upper()}."
    return f"{syntax_error_at(query, first.start(1), word)} {hint}"


def syntax_error_at(query: str, place: int, word: str) -> str:
    """Return the sentence for a query that a parser stopped at. place: characters before the word."""
    before = query[:place]
    return syntax_error(before.count("\n") + 1, place - before.rfind("\n"), word)


def syntax_error(line: int, column: int, word: str) -> str:
    """Return the sentence for a query that a parser stopped at. line, column: from 1."""
    return f'syntax error at "{word}" (line {line}, column {column}).'
