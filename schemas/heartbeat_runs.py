"""Heartbeats as a run, one request for many heartbeats of one group and generation: packed and cut.

Knows the shapes; knows no rule of the protocol, no clock and nobody who packs.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from rollcall.schemas.membership_messages import LONGEST_RUN_MS
from rollcall.schemas.messages import HeartbeatRequest, HeartbeatRunRequest, MemberBeats

_Words = tuple[str, str | None, str, int]


class RunPacker:
    """Heartbeats of one group and generation while they are packed. They come in order of time."""

    def __init__(self, first: HeartbeatRequest) -> None:
        self.group_id = first.group_id
        self.generation_id = first.generation_id
        self.from_ms = self.last_ms = first.received_at_ms
        self.count = 0
        self._members: list[MemberBeats] = []
        self._of_words: dict[_Words, int] = {}
        self._last_place = -1
        self.add(first)

    def takes(self, beat: HeartbeatRequest) -> bool:
        """Whether a heartbeat fits in: of the same generation, not before the last one, and not too late."""
        since_ms = beat.received_at_ms - self.from_ms
        is_next = beat.received_at_ms >= self.last_ms and since_ms <= LONGEST_RUN_MS
        return is_next and beat.generation_id == self.generation_id and beat.group_id == self.group_id

    def add(self, beat: HeartbeatRequest) -> tuple[int, int]:
        """Packs a heartbeat that fits in; returns its two numbers for `beat_id`."""
        since_ms = beat.received_at_ms - self.from_ms
        words = (beat.member_id, beat.group_instance_id, beat.client_id, beat.api_version)
        place = self._of_words.get(words)
        # In one millisecond heartbeats stand in the order in which they came; two of one member stand in two places.
        is_same_ms = beat.received_at_ms == self.last_ms
        if place is None or (is_same_ms and place <= self._last_place):
            place = self._of_words[words] = len(self._members)
            self._members.append(
                MemberBeats(
                    member_id=beat.member_id,
                    group_instance_id=beat.group_instance_id,
                    client_id=beat.client_id,
                    api_version=beat.api_version,
                    beats=[since_ms],
                )
            )
        else:
            self._members[place].beats.append(since_ms)
        self.last_ms, self._last_place = beat.received_at_ms, place
        self.count += 1
        return place, since_ms

    def run(
        self, request_id: str, *, request_seq: int = 0, handed_on_ms: int | None = None, is_answered: bool = False
    ) -> HeartbeatRunRequest:
        """The run of all that was packed."""
        return HeartbeatRunRequest(
            request_id=request_id,
            api_version=0,
            received_at_ms=self.last_ms,
            request_seq=request_seq,
            group_id=self.group_id,
            generation_id=self.generation_id,
            from_ms=self.from_ms,
            handed_on_ms=handed_on_ms,
            is_answered=is_answered,
            members=self._members,
        )


def with_beats(one: MemberBeats, beats: Sequence[int]) -> MemberBeats:
    """Only some of a member's heartbeats, or none."""
    return one if len(beats) == len(one.beats) else msgspec.structs.replace(one, beats=list(beats))


def cut(run: HeartbeatRunRequest, at_ms: int) -> tuple[HeartbeatRunRequest, HeartbeatRunRequest]:
    """The heartbeats up to and at a moment, and those after it. Every member keeps its place, some without beats."""
    last = at_ms - run.from_ms
    early = [with_beats(one, [beat for beat in one.beats if beat <= last]) for one in run.members]
    late = [with_beats(one, [beat for beat in one.beats if beat > last]) for one in run.members]
    return msgspec.structs.replace(run, members=early), msgspec.structs.replace(run, members=late)
