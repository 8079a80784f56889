"""Text of others, such as a client's name, made safe to show: what would act on a terminal is written out instead.

A name may hold a newline, which forges a line, an escape sequence, which moves the cursor or hides text, or a mark that
turns the direction of writing round. Knows characters alone. Standard library only, and it must parse on Python 3.6.
"""

import re

# Controls (C0, DEL, C1), marks of direction, what has no width, separators of lines, lone surrogates.
UNSAFE = (
    "\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f"
)
_UNSAFE = re.compile(f"[{UNSAFE}]")
# What a spreadsheet treats as a formula when it opens a CSV file: full-width signs as well.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def visible(text: str) -> str:
    r"""The text with each such character as Python writes it: `\n`, `\x1b`, `\u202e`. The rest stays as it is."""
    if text.isprintable():
        return text
    return _UNSAFE.sub(lambda found: found.group().encode("unicode_escape").decode("ascii"), text)


def spreadsheet_text(text: str) -> str:
    """Return the text of a CSV cell with an apostrophe before what a spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def visible_json(text: str) -> str:
    r"""JSON on one line with each such character as JSON writes it, `\u202e`: the same data."""
    return _UNSAFE.sub(lambda found: _as_json(found.group()), text)


def _as_json(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[place : place + 2].hex()}" for place in range(0, len(units), 2))
