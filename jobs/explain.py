"""`rollcall explain`: what files that brokers and clients printed say about groups. Writes nothing, starts no JVM.

Knows how the answer is laid out, as text and as JSON. What it says is made in `app_logs`.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Sequence
from datetime import tzinfo
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from rich.console import Console

from app_logs.files import STANDARD_INPUT, files_of
from app_logs.following import Following
from app_logs.logged_facts import LoggedFact
from app_logs.logged_rebalances import Finding, LoggedGroup, LoggedRebalance, evidence_of
from app_logs.reading import FileRead, align, merged, read_files
from app_logs.story import groups_in
from app_logs.wording import (
    TROUBLES,
    cause_sentence,
    holder_sentence,
    left_open,
    outcome_words,
    trouble_of,
    who_of,
)
from jobs.shown.terminal import say
from programs.timestamps import Moment
from schemas.causes import name_of
from why.words import count, some

LONGEST_SHOWN = 160
"""Characters of a first line."""
REQUEST_LINE = "Completed request:"
_DUMP = "a dump of __consumer_offsets"
WHAT_WAS_LOOKED_FOR = (
    "no line about a consumer group was found in it: looked for lines of a broker's group coordinator and of clients"
)


class Asked(NamedTuple):
    """What of the answer is wanted."""

    group_id: str = ""
    since: Moment | None = None
    until: Moment | None = None
    shows_evidence: bool = False
    zone: tzinfo | None = None
    """Of times that are printed without one."""


def explain(paths: Sequence[str], asked: Asked, form: str, console: Console) -> None:
    """Reads the files and prints the answer."""
    gc.disable()  # A line more makes no ring of references: to look for them takes a third of the time.
    try:
        reads = read_files(files_of(paths), asked.zone)
        align(reads)
        groups = sorted(groups_in(merged(reads)), key=lambda group: (-trouble_of(group), group.group_id))
    finally:
        gc.enable()
    chosen = [part for group in groups if asked.group_id in ("", group.group_id) for part in (_within(group, asked),)]
    if form == "json":
        print(msgspec.json.encode(as_json(reads, chosen)).decode())
    else:
        _show(reads, chosen, asked, console)


def explain_as_they_come(lines: Iterable[str | None], asked: Asked, form: str, console: Console) -> None:
    """Prints each rebalance as it ends."""
    following = Following(STANDARD_INPUT, asked.zone)

    def show() -> None:
        for group, one in following.ended():
            if asked.group_id not in ("", group.group_id) or not _is_within(one.facts, asked):
                continue
            if form == "json":
                print(msgspec.json.encode({"group_id": group.group_id, **_rebalance_json(one)}).decode(), flush=True)
            else:
                say(console, group.group_id, style="bold")
                _show_rebalance(one, group, asked, console)

    following.read(lines, show)


def _within(group: LoggedGroup, asked: Asked) -> LoggedGroup:
    """The part of a group's story that lies within a time."""
    rebalances = [one for one in group.rebalances if _is_within(one.facts, asked)]
    findings = [one for one in group.findings if _is_within(one.facts, asked)]
    return LoggedGroup(group.group_id, group.group_type, group.facts, rebalances, findings)


def _is_within(facts: Sequence[LoggedFact], asked: Asked) -> bool:
    times = [fact.at_ms for fact in facts if fact.at_ms is not None]
    if not times:
        return asked.since is None and asked.until is None
    return (asked.since is None or max(times) >= asked.since.from_ms) and (
        asked.until is None or min(times) <= asked.until.to_ms
    )


def as_json(reads: Sequence[FileRead], groups: Sequence[LoggedGroup]) -> dict[str, Any]:
    """The whole answer, for programs."""
    return {
        "files": [
            {
                "file": read.file,
                "kinds": list(read.titles or filter(None, [_kind_for_replay(read.file, read.first_line)])),
                "lines": read.lines,
                "lines_about_groups": len(read.facts),
                "notes": [*read.notes, *_not_understood(read)],
            }
            for read in reads
        ],
        "groups": [
            {
                "group_id": group.group_id,
                "group_type": group.group_type,
                "rebalances": [_rebalance_json(one) for one in group.rebalances],
                "findings": [_finding_json(one) for one in group.findings],
            }
            for group in groups
        ],
        "unknown": left_open([*groups]),
    }


def _rebalance_json(one: LoggedRebalance) -> dict[str, Any]:
    cause, held = one.cause, one.held_by
    return {
        "generation_id": one.generation_id,
        "began_at": one.moment(one.began_at_ms),
        "joined_at": one.moment(one.joined_at_ms),
        "ended_at": one.moment(one.ended_at_ms),
        "outcome": one.outcome or None,
        "members": one.members,
        "cause": cause.kind,
        "is_inferred": cause.is_inferred,
        "cause_candidates": [candidate.kind for candidate in cause.candidates],
        "cause_member_id": cause.member_id or None,
        "cause_client_id": cause.client_id or None,
        "cause_group_instance_id": cause.group_instance_id,
        "client_reason": cause.client_reason,
        "held_by": None
        if held is None
        else {
            "member_id": held.member_id or None,
            "ms": held.length_ms,
            "is_inferred": held.is_inferred,
            "candidates": list(held.candidates),
            "sentence": holder_sentence(held),
        },
        "sentence": cause_sentence(one),
        "evidence": _evidence(one.facts),
    }


def _finding_json(one: Finding) -> dict[str, Any]:
    return {
        "finding": one.finding,
        "sentence": one.sentence,
        "is_inferred": one.is_inferred,
        "candidates": list(one.candidates),
        "evidence": _evidence(one.facts),
    }


def _evidence(facts: Iterable[LoggedFact]) -> list[dict[str, Any]]:
    return [{"file": file, "line": line} for file, line in evidence_of(facts)]


def _not_understood(read: FileRead) -> list[str]:
    if read.facts:
        return []
    if not read.lines:
        return ["it is empty"]
    kind = _kind_for_replay(read.file, read.first_line)
    if kind:
        beside = ", alone or beside a broker's log" if kind == _DUMP else ""
        home = f"`rollcall replay {read.file}` makes a home of it{beside}"
        return [f"it is {kind}: {home}, which `why`, SQL and the page ask"]
    return [f'{WHAT_WAS_LOOKED_FOR}. Its first line: "{read.first_line[:LONGEST_SHOWN]}"']


@cache
def _kind_for_replay(file: str, first_line: str) -> str:
    """What a file is that no broker printed as its log; empty: that is not known either."""
    if REQUEST_LINE in first_line:
        return "a broker's request log"
    from offsets_topic.dumps.reading import DumpError, is_dump  # Takes time, and seldom is needed.

    try:
        is_topic = file != STANDARD_INPUT and is_dump(Path(file))
    except DumpError:
        is_topic = True
    return _DUMP if is_topic else ""


def _show(reads: Sequence[FileRead], groups: Sequence[LoggedGroup], asked: Asked, console: Console) -> None:
    for read in reads:
        say(console, f"{read.file}: {_summary(read)}")
        for note in (*read.notes, *_not_understood(read)):
            say(console, f"  {note}")
    for group in groups:
        _show_group(group, asked, console)
    unknown = left_open([*groups])
    if unknown:
        console.print()
        say(console, "WHAT THESE LINES CANNOT TELL", style="bold")
        for sentence in unknown:
            say(console, f"  {sentence}")


def _summary(read: FileRead) -> str:
    kinds = some(read.titles) or _kind_for_replay(read.file, read.first_line) or "not understood"
    return f"{kinds}, {count(read.lines, 'line')}, {len(read.facts)} about groups"


def _show_group(group: LoggedGroup, asked: Asked, console: Console) -> None:
    console.print()
    kind = "" if group.group_type == "classic" else f" ({group.group_type} group)"
    say(console, f"{group.group_id}{kind}: {count(len(group.rebalances), 'rebalance')}", style="bold")
    for finding in group.findings:
        if finding.finding in TROUBLES:
            _show_finding(finding, asked, console)
    for one in group.rebalances:
        _show_rebalance(one, group, asked, console)
    for finding in group.findings:
        if finding.finding not in TROUBLES:
            _show_finding(finding, asked, console)


def _show_finding(finding: Finding, asked: Asked, console: Console) -> None:
    say(console, f"  - {finding.sentence}{' (concluded)' if finding.is_inferred else ''}")
    if finding.candidates:
        say(console, f"    What fits: {'; '.join(finding.candidates)}.")
    _show_evidence(finding.facts, asked, console)


def _show_rebalance(one: LoggedRebalance, group: LoggedGroup, asked: Asked, console: Console) -> None:
    step = "generation" if group.group_type == "classic" else "epoch"
    before = "?" if one.from_generation_id is None else one.from_generation_id
    after = "?" if one.generation_id is None else one.generation_id
    at = one.moment(one.began_at_ms or one.joined_at_ms or one.ended_at_ms) or "no time"
    how = f", {outcome_words(one)}" if group.group_type == "classic" else ""
    say(console, f"  {at.replace('T', ' ')}  {step} {before} -> {after}: {name_of(one.cause.kind)}{how}")
    say(console, f"    {cause_sentence(one)}")
    if one.cause.member_id and one.cause.member_id != who_of(one.cause):
        say(console, f"    Its member id: {one.cause.member_id}")
    if one.held_by is not None:
        say(console, f"    {holder_sentence(one.held_by)}")
    _show_evidence(one.facts, asked, console)


def _show_evidence(facts: Iterable[LoggedFact], asked: Asked, console: Console) -> None:
    if asked.shows_evidence:
        for file, line in evidence_of(facts):
            say(console, f"      {file}:{line}")
