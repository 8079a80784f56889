"""Patterns that Java and DuckDB read alike: of LIKE, of regular expressions, of dates and times.

Knows the part of each language that means the same in both. What is outside it is not proven.
"""

from __future__ import annotations

import re

from duck_sql.terms import NotProven

_CLASS = r"\[\^?(?:[A-Za-z0-9 _:;,.@%#=~!/]|[a-z]-[a-z]|[A-Z]-[A-Z]|[0-9]-[0-9]|\\[dw.\-])+-?\]"
_ATOM = rf"(?:[A-Za-z0-9 _:;,@%#=~!<>&'\"/-]|\\[.dw\\/\-\[\]()+*?|^$]|\.|{_CLASS})"
_TIMES = r"(?:[*+?]|\{\d{1,2}(?:,\d{0,2})?\})?"
_FLAT = rf"(?:{_ATOM}{_TIMES}|[|^$])*"
# Groups are taken once each, and one within another is not known: which repetition a group holds differs.
_SAFE = re.compile(rf"(?:{_ATOM}{_TIMES}|[|^$]|\((?:\?:)?{_FLAT}\)|\(\?:{_FLAT}\)[*+?])*")

_TIME_PARTS = {
    "yyyy": "%Y",
    "MM": "%m",
    "dd": "%d",
    "HH": "%H",
    "mm": "%M",
    "ss": "%S",
    "SSS": "%g",
    "EEE": "%a",
    "E": "%a",
    "MMM": "%b",
    "hh": "%I",
    "a": "%p",
}


def regex(pattern: str) -> str:
    """A regular expression that finds the same in printable ASCII by either engine. Raises NotProven."""
    if not _SAFE.fullmatch(pattern):
        raise NotProven(f"the pattern '{pattern}'")
    return pattern


def like(pattern: str) -> str:
    """A pattern of LIKE without an escape. Raises NotProven."""
    if "\\" in pattern:
        raise NotProven("an escape in LIKE")
    return pattern


def plain_separator(pattern: str) -> str:
    """A regular expression that stands for itself. Raises NotProven."""
    found = re.fullmatch(r"\\([.|$^*+?()\[\]{}])|[A-Za-z0-9 _:;,@%#=~!<>&/-]+", pattern)
    if not found:
        raise NotProven(f"split by the pattern '{pattern}'")
    return found[1] or pattern


def time_format(pattern: str) -> str:
    """Java's pattern of a date or time as strftime's. Raises NotProven."""
    out = []
    for part in re.findall(r"'[^']*'|([A-Za-z])(\1*)|[^A-Za-z']", pattern) and re.finditer(
        r"'(?P<quoted>[^']*)'|(?P<letters>([A-Za-z])\3*)|(?P<other>[^A-Za-z'])|(?P<lone>')", pattern
    ):
        if part["lone"]:
            raise NotProven(f"the format '{pattern}'")
        if part["letters"]:
            if part["letters"] not in _TIME_PARTS:
                raise NotProven(f"the format '{pattern}'")
            out.append(_TIME_PARTS[part["letters"]])
            continue
        plain = part["quoted"] if part["quoted"] is not None else part["other"]
        if part["quoted"] == "" or any(sign in plain for sign in "%[]{}#"):
            raise NotProven(f"the format '{pattern}'")
        out.append(plain)
    return "".join(out)
