"""Stories in which every client has the same name, one that may hold anything."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from tests.views.histories import one_leaves
from tests.views.story import Story


def story_of(name: str, story: Story | None = None) -> Story:
    """A group of this name whose members are all clients of this name."""
    story = story or one_leaves()
    for row in story.rows:
        row.client_id = name if row.client_id else row.client_id
        row.detail = msgspec.json.encode(renamed(json.loads(row.detail), name)).decode() if row.detail else None
    return story


def renamed(value: Any, name: str) -> Any:
    if isinstance(value, dict):
        named = ("client_id", "slowest_client_id", "client_reason")
        return {key: name if key in named and each else renamed(each, name) for key, each in value.items()}
    return [renamed(each, name) for each in value] if isinstance(value, list) else value
