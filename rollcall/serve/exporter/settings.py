"""The settings of the exporter: which groups and labels, and how many. Must not know a metric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import re2

from rollcall.programs.settings import setting

PREFIX = "rollcall.export."


class Pattern(str):
    """A regular expression in RE2's syntax that a whole group id has to match."""

    __slots__ = ()

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Raises ValueError: it is none."""
        options = re2.Options()
        options.log_errors = False
        try:
            re2.compile(text, options)
        except re2.error as error:
            reason = error.args[0]
            shown = reason.decode(errors="replace") if isinstance(reason, bytes) else reason
            raise ValueError(f"is not a regular expression: {shown}") from None
        return cls(text)


_NOTHING = r"[^\x00-\x{10FFFF}]"


def chosen_groups(groups: Pattern, excluded: Pattern) -> tuple[str, list[str]]:
    """The condition, in DuckDB's SQL, for a group id that one pattern matches and the other does not; its values."""
    condition = "regexp_full_match(group_id, ?, 's') AND NOT regexp_full_match(group_id, ?, 's')"
    return condition, [str(groups), str(excluded) or _NOTHING]


@dataclass(frozen=True, slots=True)
class ExportSettings:
    """Which groups and labels are exported, and how often the figures are made."""

    interval_ms: int = setting(
        PREFIX + "interval.ms", 10_000, "how often the figures of groups are made, at most", least=100
    )
    groups: Pattern = setting(PREFIX + "groups", Pattern(".*"), "the groups that are exported: a regular expression")
    groups_excluded: Pattern = setting(
        PREFIX + "groups.excluded", Pattern(""), "the groups that are not exported though they match; empty: none"
    )
    groups_max: int = setting(
        PREFIX + "groups.max",
        10_000,
        "maximum number of groups by name, the others are summed as (others); 0: no groups",
    )
    has_partitions: bool = setting(PREFIX + "partitions", True, "false: no series per partition, only sums")
    has_members: bool = setting(
        PREFIX + "members", False, "true: the lag in seconds is labelled with its owner, who changes"
    )
    cluster_name: str = setting(PREFIX + "cluster.name", "", "the label cluster_name of klag-exporter's metrics")
