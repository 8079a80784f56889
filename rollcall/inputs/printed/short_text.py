"""How long a sentence may be that people read: long ids are cut in the middle, long lists at their end.

Knows only lengths. JSON has ids whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from rollcall.history.words import some

LONGEST = 300
"""Characters of a sentence."""
_LIST = 200
"""Characters of a list within one."""
_WORD = 100
"""Characters of a word, as a client id of 63 with the UUID of a member."""
_BEGIN, _END = 56, 41
"""What stays of a longer word: the end has a whole UUID and punctuation."""
_LONG_WORD = re.compile(rf"\S{{{_WORD + 1},}}")


def with_short_ids(text: str) -> str:
    """Return a text in which the middle of each long word is `...`."""
    return _LONG_WORD.sub(lambda word: f"{word[0][:_BEGIN]}...{word[0][-_END:]}", text)


def short(sentence: str, longest: int = LONGEST) -> str:
    """Return a sentence of at most this length; `...` stands where something is left out."""
    text = with_short_ids(sentence)
    return text if len(text) <= longest else f"{text[: longest - 3].rpartition(' ')[0] or text[: longest - 3]}..."


def some_that_fit(names: Iterable[str]) -> str:
    """Return `a, b and 3 more`: as many names as a sentence has room for, at least one."""
    listed = list(names)
    shown, length = 0, 0
    for name in listed:
        length += len(with_short_ids(name)) + 2
        if shown and length > _LIST:
            break
        shown += 1
    return some(listed, shown)
