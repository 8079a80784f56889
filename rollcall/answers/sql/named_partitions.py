"""The partitions that a home's groups commit to or are assigned."""

from __future__ import annotations

from pathlib import Path

_NAMED = """select topic, partition from offsets
union select topic, partition from assignments where partition >= 0"""


def named_partitions(home: Path) -> set[tuple[str, int]]:
    """Topics and numbers, as the home's tables have them now."""
    # Imported here: a home that is new need not be asked.
    from rollcall.answers.sql.engine import ask

    return {(topic, number) for topic, number in ask(home, _NAMED).rows}
