"""The values of labels. Names are those of strangers, so what would break a line of the text is written out.

Knows characters. Must not know which groups have names of their own.
"""

from __future__ import annotations

import re

from rollcall.programs.visible import visible

OTHERS = "(others)"
"""The label of the sum of all groups that are not exported by name."""
_SO_NAMED = r"\x28others)"
"""The label of a group that has that name."""
_WRITTEN_OUT = re.compile(r"\\(?:[nrt]|x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})")

Labels = tuple[str | None, ...]
"""The labels of a sample as names; None is the sum of groups."""


def label_values(labels: Labels) -> tuple[str, ...]:
    """Return the labels as they are exported."""
    return tuple(OTHERS if name is None else label_value(name) for name in labels)


def label_value(name: str) -> str:
    r"""Return a name with its control characters written out: `\n`, `\x85`, `\u2028`. Names that differ stay different.

    So a name that has such characters, or what looks like one written out, has its backslashes doubled.
    """
    if name == OTHERS:
        return _SO_NAMED
    if name.isprintable() and "\\" not in name:
        return name
    shown = visible(name)
    is_itself = shown == name and _WRITTEN_OUT.search(name) is None
    return name if is_itself else visible(name.replace("\\", r"\\"))
