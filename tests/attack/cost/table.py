"""What was found as tables for SECURITY.md, and whether the goals are met. Knows goals and words; must not search."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tests.attack.cost.commands import CommandCost
from tests.attack.cost.pages import ROOT, PageCost
from tests.attack.cost.search import Found

PAGE = ROOT / "SECURITY.md"
BEGIN, END = "<!-- costs: written by make costs -->", "<!-- end of costs -->"
HEARTBEAT_S, COMMIT_S, PAGE_S = 0.1, 2.0, 1.0
"""How long honest clients may wait: for a heartbeat, a commit, a page."""
MEMORY = 2.0
"""As a multiple of that at rest."""
WRITTEN_PER_BYTE = 20.0
FAR = 5.0
"""What misses a goal by this factor is not the noise of a machine."""
LARGEST_WRITTEN_BYTES = 12_000_000
"""What one request may write where it names a group that holds as much as groups may."""

_MS = 1000


def written(apis: Mapping[str, Found], pages: Sequence[PageCost], commands: Sequence[CommandCost]) -> str:
    """The tables as Markdown."""
    return "\n".join(
        [
            *_table(
                "API | worst request found | bytes | gateway | a heartbeat waits | a commit waits | memory | written",
                (_api(name, found) for name, found in apis.items()),
            ),
            "",
            *_table(
                "page | bytes | takes at most | another page waits | memory",
                (
                    f"`{one.address}` | {one.sent_bytes} | {one.longest_s:.1f} s | {_seconds(one.honest_s, PAGE_S)} | "
                    f"{_times(one.most_memory, MEMORY)}"
                    for one in pages
                ),
            ),
            "",
            *_table(
                "command or reader | bytes read | takes at most | memory",
                (
                    f"{one.name} | {one.read_bytes:,} | {one.longest_s:.2f} s | {_times(one.most_memory, MEMORY)}"
                    for one in commands
                ),
            ),
        ]
    )


def far_off(apis: Mapping[str, Found]) -> list[str]:
    """What misses its goal by far on every machine, in sentences."""
    found = []
    for name, one in apis.items():
        if one.most_memory > FAR * MEMORY:
            found.append(f"{name}: the gateway takes {one.most_memory:.1f} times its memory at rest")
        if one.most_written_bytes > max(LARGEST_WRITTEN_BYTES, FAR * WRITTEN_PER_BYTE * one.slowest.sent_bytes):
            found.append(f"{name}: one request writes {one.most_written_bytes} bytes")
    return found


def far_too_slow(apis: Mapping[str, Found], pages: Iterable[PageCost]) -> list[str]:
    """What makes others wait for far longer than its goal on this machine, in sentences."""
    found = []
    for name, one in apis.items():
        if one.longest_round_s > FAR * HEARTBEAT_S:
            found.append(f"{name}: others wait {one.longest_round_s:.2f} s for a heartbeat")
        if one.longest_core_s > FAR * COMMIT_S:
            found.append(f"{name}: others wait {one.longest_core_s:.2f} s for a commit")
    return found + [
        f"{one.address}: others wait {one.honest_s:.1f} s for a page" for one in pages if one.honest_s > FAR * PAGE_S
    ]


def keep(tables: str, page: Path = PAGE) -> None:
    """Puts the tables into their place."""
    before, _, rest = page.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{BEGIN}\n\n{tables}\n\n{END}{after}")


def kept_names(page: Path = PAGE) -> list[str]:
    """What the rows that stand there are about."""
    _, _, rest = page.read_text().partition(BEGIN)
    rows = [line for line in rest.partition(END)[0].splitlines() if line.startswith("| ")]
    names = [row.split("|")[1].strip().strip("`") for row in rows]
    return [name for name in names if name not in ("API", "page", "command or reader")]


def _table(head: str, rows: Iterable[str]) -> list[str]:
    return [f"| {head} |", "|" + "---|" * (head.count("|") + 1), *(f"| {row} |" for row in rows)]


def _api(name: str, found: Found) -> str:
    outer, inner = found.shape.counts
    per_byte = found.most_written_per_byte
    much = f"{found.most_written_bytes / 1e6:.1f} MB" if found.most_written_bytes else "nothing"
    if per_byte > WRITTEN_PER_BYTE:
        much += f", **{per_byte:,.0f} times what was sent**"
    return (
        f"{name} | v{found.version}: {outer:,} by {inner:,} elements, texts of {found.shape.text:,} | "
        f"{found.slowest.sent_bytes:,} | {found.slowest.gateway_s * _MS:.0f} ms | "
        f"{_seconds(found.longest_round_s, HEARTBEAT_S)} | {_seconds(found.longest_core_s, COMMIT_S)} | "
        f"{_times(found.most_memory, MEMORY)} | {much}"
    )


def _seconds(took_s: float, goal_s: float) -> str:
    shown = f"{took_s * _MS:.0f} ms" if took_s < 1 else f"{took_s:.1f} s"
    return shown if took_s <= goal_s else f"**{shown}**"


def _times(times: float, goal: float) -> str:
    shown = f"{times:.1f} times"
    return shown if times <= goal else f"**{shown}**"
