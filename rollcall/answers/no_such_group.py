"""The error of a group id that nobody knows: it names the groups there are.

Knows only ids. Must not know where groups come from.
"""

from __future__ import annotations

from collections.abc import Collection

from rollcall.programs.errors import UserError

SHOWN_GROUPS = 10


class NoSuchGroup(UserError):
    """The group is unknown; the text is the sentence for the user."""


def no_such_group(group_id: str, known: Collection[str], where: str) -> NoSuchGroup:
    """Return the error that names a group of nearly this id, or the first groups. where: such as `the home`."""
    import difflib  # Takes time, and seldom is needed.

    near = difflib.get_close_matches(group_id, known, n=1)
    listed = ", ".join(sorted(known)[:SHOWN_GROUPS]) + (" and others" if len(known) > SHOWN_GROUPS else "")
    others = f"did you mean {near[0]}?" if near else f"known groups: {listed}." if known else "it has no groups yet."
    return NoSuchGroup(f"{group_id}: no such group in {where}; {others}")
