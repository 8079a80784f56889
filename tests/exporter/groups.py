"""Groups for homes of exporters. Must not know what is exported."""

from __future__ import annotations

from collections.abc import Iterable

from tests.views.story import Story


def stories(names: Iterable[str] | str) -> list[Story]:
    """A group each, in the order in which they began, that has a member and two commits."""
    reported = []
    for place, name in enumerate(names.split() if isinstance(names, str) else names):
        story, at_ms = Story(name), 1_000 * (place + 1)
        story.join(at_ms, "a")
        story.sync(at_ms + 1, "a", {"a": ["t-0", "t-1"]})
        story.commit(at_ms + 2, "a", {"t-0": 10})
        story.commit(at_ms + 3, "a", {"t-1": 20})
        reported.append(story)
    return reported
