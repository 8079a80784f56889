"""A log that is still being written, as ordered requests and effects: those of a replay, as soon as they are known.

Lines go in as they are read. The requests of each group come out in its order, those of different groups in any order.
The requests of a group at rest come out within a second, or as soon as a heartbeat shows its rest (see `rest_proofs`).
From the first sign of a rebalance the lines of its group are held until the rebalance has ended, or its timeout has
passed. What changes a group waits a few seconds more, for what is inferred from later lines.

Time is the log's: no session ends while a log has no new lines. now_ms is the log's last timestamp, plus the time
passed while nothing is written, so that the last lines come out as well. Knows how the parts fit together; knows no
file and no wall clock.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable
from dataclasses import dataclass, field
from operator import attrgetter

from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.coordinator_udfs.protocol.consumer.refusals import JOIN
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.inputs.request_log.broker_settings import SettingsSeen
from rollcall.inputs.request_log.following.follower import Follower
from rollcall.inputs.request_log.following.group_model import GroupModel, Listener, Numbered
from rollcall.inputs.request_log.following.rest_proofs import RestProofs
from rollcall.inputs.request_log.following.topic_names import TopicNames
from rollcall.inputs.request_log.lines.files import LogLine
from rollcall.inputs.request_log.lines.line import LineReader
from rollcall.inputs.request_log.lines.reading import Reading, WorkTimes
from rollcall.inputs.request_log.lines.silences import LiveSilences
from rollcall.inputs.request_log.recorded import LoggedRequest, Quarantined, Tally
from rollcall.inputs.request_log.survey import CameBack, Survey
from rollcall.inputs.tolerances import BACK_SHOWN_WITHIN_MS, BROKER_SILENT_MS, LINE_LATE_MS, RETURN_WITHIN_MS
from rollcall.schemas.messages import (
    AlterConfigsRequest,
    ConsumerGroupHeartbeatRequest,
    DescribeConfigsRequest,
    IncrementalAlterConfigsRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
)

LOOK_AHEAD_MS = 5_000
"""How much of the log is read beyond a request that changes its group, or whose time is not proven to be at rest."""
FIRST_LOOK_AHEAD_MS = 10_000
"""How much is read beyond the first request of a group that is older than the log: heartbeats name its members."""
FORGOTTEN_AFTER_MS = 3_600_000
"""How long a group that is gone stays in memory, because some of its members may not know it yet."""
_began = attrgetter("began_ms")


@dataclass(slots=True)
class Held:
    """One group: its requests that are read and not taken, and its model."""

    follower: Follower
    numbered: Numbered
    rest_proofs: RestProofs = field(default_factory=RestProofs)
    entries: list[LoggedRequest] = field(default_factory=list)
    """Requests that are read and not taken, in order of time."""
    changes: int = 0
    """Grows whenever its requests change; all other changes are calls of its listener."""


class LiveImport:
    """One log: `read` takes lines, `release` gives requests and effects, `snapshot` keeps its state."""

    def __init__(
        self,
        config: GroupConfig,
        listener_of: Callable[[str], Listener],
        quarantine: Callable[[Quarantined], None] = lambda line: None,
    ) -> None:
        """listener_of: makes the listener of a group."""
        self.config = config
        self._listener_of = listener_of
        self.tally = Tally()
        self.names = TopicNames()
        self.came_back = CameBack()
        self.seen = SettingsSeen()
        """The broker's settings that the log shows; no part of a snapshot."""
        self.work_times = WorkTimes()
        self.groups: dict[str, Held] = {}
        self.reader = LineReader()
        self.silences = LiveSilences()
        self.survey = Survey(came_back=self.came_back.leaves, topics=self.reader.topics)
        self.names.names = self.reader.topics.names
        self._reading = Reading(self.reader, self.tally, quarantine)

    def read(self, line: LogLine) -> None:
        """Takes in a line. Lines come in the order they were written."""
        logged = self._reading.read(line)
        self.silences.note(line.file, line.at_ms, logged)
        for part, entry in enumerate(logged):
            entry.line, entry.part = line, part
        for entry in self.work_times.read(line.at_ms, logged):
            self.hold(entry)

    def release(self, now_ms: float) -> None:
        """Gives the listeners all that is known by now."""
        last_ms = self.tally.last_at_ms
        if last_ms is None:
            return
        if now_ms > last_ms:
            for entry in self.work_times.rest():
                self.hold(entry)
        for group_id, held in list(self.groups.items()):
            self._take(held, now_ms)
            if not held.entries:
                self._let_time_pass(held, self._silent_until_ms(held, last_ms, now_ms))
                if not held.follower.model.group.is_kept and now_ms > held.numbered.at_ms + FORGOTTEN_AFTER_MS:
                    del self.groups[group_id]

    def reconfigure(self, config: GroupConfig) -> None:
        """From now on the broker is taken to have these settings."""
        self.config = config
        for held in self.groups.values():
            held.follower.model.reconfigure(config)

    def group(self, group_id: str) -> Held:
        """A group's share, made where it is new."""
        held = self.groups.get(group_id)
        if held is None:
            numbered = Numbered(self._listener_of(group_id))
            model = GroupModel(Group(group_id), self.config, self.tally, numbered)
            follower = Follower(model, self.survey, self.names, self.silences)
            held = self.groups[group_id] = Held(follower, numbered)
        return held

    def hold(self, entry: LoggedRequest) -> None:
        """Takes in a request whose time is decided."""
        self.came_back.note(entry)
        self.seen.note(entry)
        self.seen.kafka_version = self.reader.topics.kafka_version or self.seen.kafka_version
        held = self.group(entry.group_id)
        held.changes += 1
        held.rest_proofs.note(entry)
        held.follower.read(entry)
        insort(held.entries, entry, key=_began)

    # ------------------------------------------------------------ one group

    def _take(self, held: Held, now_ms: float) -> None:
        written_ms = now_ms - LINE_LATE_MS
        rested_ms = held.rest_proofs.rested_ms(written_ms)
        taken = 0
        for entry in held.entries:
            if not entry.is_taken:
                if entry.until_ms > written_ms or not self._may_go(held, entry, now_ms, rested_ms):
                    break
                held.follower.take(entry)
                self.came_back.leaves.discard(entry.request.request_id)
            taken += 1
        held.changes += taken
        del held.entries[:taken]

    def _may_go(self, held: Held, entry: LoggedRequest, now_ms: float, rested_ms: float) -> bool:
        """Whether all is read that may come before a request, and that is inferred from."""
        if entry.was_refused:
            return True
        if entry.until_ms > self.silences.decided_until_ms(entry.broker, now_ms):
            return False
        known_ms = max(held.rest_proofs.awaited_until_ms, entry.until_ms) + LOOK_AHEAD_MS
        if entry.began_ms > rested_ms and now_ms < known_ms:
            return False
        if held.follower.can_skip_trial(entry):
            return True
        return now_ms >= entry.until_ms + self._looked_ahead_ms(held, entry)

    def _looked_ahead_ms(self, held: Held, entry: LoggedRequest) -> int:
        request = entry.request
        is_consumer = isinstance(request, ConsumerGroupHeartbeatRequest)
        if isinstance(request, DescribeConfigsRequest | AlterConfigsRequest | IncrementalAlterConfigsRequest):
            return LOOK_AHEAD_MS
        is_join = isinstance(request, JoinGroupRequest) or getattr(request, "member_epoch", None) == JOIN
        if not held.follower.model.group.is_known and not is_join:
            return FIRST_LOOK_AHEAD_MS
        if is_consumer:
            return BACK_SHOWN_WITHIN_MS
        if not isinstance(request, LeaveGroupRequest) or request.request_id in self.came_back.leaves:
            return LOOK_AHEAD_MS
        has_reason = any(member.reason for member in request.members)
        return LOOK_AHEAD_MS if has_reason else BACK_SHOWN_WITHIN_MS

    def _silent_until_ms(self, held: Held, last_ms: int, now_ms: float) -> float:
        """How far an idle group's clock may advance, ms since the epoch. It stops while the log is silent."""
        broker = held.follower.clock.broker
        decided_ms = self.silences.decided_until_ms(broker, now_ms)
        until_ms = min(self.silences.alive_ms(broker, last_ms), now_ms - LOOK_AHEAD_MS, decided_ms)
        silence = self.silences.last(broker)
        if silence is None or held.numbered.at_ms >= silence.until_ms or now_ms >= silence.until_ms + RETURN_WITHIN_MS:
            return until_ms
        has_ended = now_ms - last_ms > BROKER_SILENT_MS
        return until_ms if has_ended else min(silence.from_ms, until_ms)

    @staticmethod
    def _let_time_pass(held: Held, until_ms: float) -> None:
        """Decides what is due or unanswered up to a time since which the group is silent.

        A member may be silent because its JoinGroup waits for another member, so all sessions must have ended.
        """
        model = held.follower.model
        if model.owed_ms < until_ms:
            held.follower.answer_overdue(until_ms)
            held.changes += 1
        deadlines_ms = [member.session_deadline_ms or 0 for member in model.group.members.values()]
        if not model.parked and max(deadlines_ms, default=0) <= until_ms:
            held.follower.pass_silence(int(until_ms))
