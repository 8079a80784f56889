"""Spark's SQL as a tree: sqlglot's parser, kept from knowing any function, so that each stays what it was typed as.

Knows what of the text sqlglot reads differently than Spark does. Must not know any table, nor DuckDB.
"""

from __future__ import annotations

import logging
import re
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import SqlglotError

from duck_sql.terms import NotProven

_UNSAFE_BACKSLASH = re.compile(r"\\(?![\\'\"])")
_STRINGS = re.compile(r"--[^\n]*|/\*.*?\*/|'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`", re.DOTALL)
_INDEXED_ARRAY = re.compile(r"\barray\s*\([^()]*\)\s*\[", re.IGNORECASE)


class _Dialect(Spark):
    class Parser(Spark.Parser):  # type: ignore[misc, valid-type]
        # A function that sqlglot knows becomes its own idea of it, and its name and arguments are lost.
        FUNCTIONS: ClassVar[dict[str, object]] = {}
        FUNCTION_PARSERS: ClassVar[dict[str, object]] = {
            name: Spark.Parser.FUNCTION_PARSERS[name] for name in ("CAST", "TRY_CAST", "EXTRACT", "TRIM")
        }


_dialect = _Dialect()
# What it does not understand goes to Spark, and the person hears so once.
logging.getLogger("sqlglot").setLevel(logging.CRITICAL)


def parsed(query: str) -> Any:
    """The one statement of a query as a tree. Raises NotProven."""
    _check_text(query)
    try:
        trees = [tree for tree in _dialect.parse(query) if tree is not None]
    except SqlglotError:
        raise NotProven("its syntax is not understood") from None
    except RecursionError:
        raise NotProven("it is nested too deeply") from None
    if len(trees) != 1:
        raise NotProven("it is not one statement")
    return trees[0]


def parsed_type(text: str) -> exp.DataType:
    """A type as Spark spells it. Raises NotProven."""
    try:
        return exp.DataType.build(text, dialect=_dialect)
    except SqlglotError:
        raise NotProven(f"the type {text}") from None


def without_strings(query: str) -> str:
    """The query with its comments, strings and quoted names blanked out, each character in its place."""
    return _STRINGS.sub(lambda found: " " * len(found[0]), query)


def _check_text(query: str) -> None:
    for found in _STRINGS.finditer(query):
        if found[0][0] in "'\"" and _UNSAFE_BACKSLASH.search(found[0].replace("\\\\", "")):
            raise NotProven("a backslash in a string")
    bare = without_strings(query)
    if _INDEXED_ARRAY.search(bare):
        raise NotProven("an index right behind array(...)")
    if "/*+" in query or "$" in bare or "?" in bare or "{" in bare:
        raise NotProven("a hint, variable or parameter")
