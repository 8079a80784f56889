"""What `rollcall explain` says as JSON, for programs.

Knows the names of its fields. Must not know how the answer is laid out as text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rollcall.inputs.explained_files import Answer
from rollcall.inputs.not_understood import notes_of
from rollcall.inputs.printed.logged_facts import LoggedFact
from rollcall.inputs.printed.logged_rebalances import Finding, LoggedGroup, LoggedRebalance, evidence_of
from rollcall.inputs.printed.unread import Unread
from rollcall.inputs.printed.wording import cause_sentence, holder_sentence, left_open, own_part


def as_json(answer: Answer, groups: Sequence[LoggedGroup]) -> dict[str, Any]:
    """The whole answer, for programs."""
    return {
        "files": [
            {
                "file": read.file,
                "kinds": list(read.titles),
                "lines": read.lines,
                "lines_about_groups": len(read.facts) + read.recorded,
                "notes": notes_of(read),
                "unread": [unread_json(one) for one in read.unread],
            }
            for read in answer.reads
        ],
        "groups": [
            {
                "group_id": group.group_id,
                "group_type": group.group_type,
                "rebalances": [rebalance_json(one) for one in group.rebalances],
                "findings": [_finding_json(one) for one in group.findings],
            }
            for group in groups
        ],
        "unknown": [*left_open([*groups]), *answer.left_out],
    }


def rebalance_json(one: LoggedRebalance) -> dict[str, Any]:
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
        "cause_client_host": cause.client_host or None,
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
        "own_part": own_part(one) or None,
        "evidence": _evidence(one.facts),
        "records": one.records,
    }


def _finding_json(one: Finding) -> dict[str, Any]:
    return {
        "finding": one.finding,
        "at": one.moment,
        "sentence": one.sentence,
        "group_ids": list(one.group_ids),
        "is_inferred": one.is_inferred,
        "candidates": list(one.candidates),
        "evidence": _evidence(one.facts),
    }


def _evidence(facts: Iterable[LoggedFact]) -> list[dict[str, Any]]:
    return [{"file": file, "line": line} for file, line in evidence_of(facts)]


def unread_json(one: Unread) -> dict[str, Any]:
    """For a program that is not known, `printed_by` is its logger."""
    wordings = [{"wording": wording, "lines": lines} for wording, lines in one.wordings]
    shown = {name: value for name, value in one._asdict().items() if name != "every"}
    return {**shown, "wordings": wordings}
