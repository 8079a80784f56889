"""Groups behind the tables: requests go out in few appends, answers come in as the coordinator commits them.

For a group at rest, heartbeats (`early_answers`) and first JoinGroups (`at_rest`) are answered at once, a commit once
it is in the table (`early_commits`). While the coordinator is away, mostly because it restarts, heartbeats are answered
as by a broker that is loading the group (`under_way`).

Knows who waits for which answer, and no rule of the protocol. The disk is read and written in threads, one for each
direction.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from rollcall.coordinator_udfs.protocol.at_rest import first_join_answer
from rollcall.coordinator_udfs.protocol.known_groups import KnownGroups
from rollcall.programs.steady_clock import now_ms
from rollcall.schemas.effect_names import EffectName
from rollcall.schemas.errors import Error
from rollcall.schemas.fan_out import group_id_of
from rollcall.schemas.messages import (
    GroupRequest,
    HeartbeatRequest,
    HeartbeatResponse,
    HeartbeatRunRequest,
    JoinGroupRequest,
    OffsetCommitRequest,
    Response,
)
from rollcall.schemas.tables import EFFECTS
from rollcall.serve.gateway.backend import BackendError, Figures, Known, Outcome
from rollcall.serve.gateway.settings import Settings
from rollcall.serve.gateway.tables.early_answers import EarlyAnswers
from rollcall.serve.gateway.tables.early_commits import EarlyCommits
from rollcall.serve.gateway.tables.effects_table import EffectsTable, News, Reply
from rollcall.serve.gateway.tables.request_sink import RequestSink, RequestWriter
from rollcall.serve.gateway.tables.under_way import FORGOTTEN_AFTER_MS, Pending, UnderWay, is_away, unseen_answer
from rollcall.tables.job_status import read_status
from rollcall.tables.lasting_facts import Fact
from rollcall.tables.request_table import RequestRow, row_of
from rollcall.tables.unread import left_out, row_named

log = logging.getLogger("gateway")

_ANSWERS_A_TURN = 200
_LOOK_EVERY_S = 0.5
_IDLE_PAUSES = 10
"""With nothing pending the effects table is read this many times less often."""
_AWAY_AFTER_S = 3.0
_YOUNG_S = 3.0
"""The last commit says how a group is while the coordinator's last batch, or its last look, is younger than this."""
SLOWER_IN_A_STORE = 4.0
"""How many times longer both are if each batch's commits go to an object store."""
_BEHIND_AFTER_MS = 1500
"""A coordinator that has not taken a request after this time may end sessions before it takes later requests."""
_NONE = HeartbeatResponse()
AGAIN_AFTER_S = 1.0
SHOWN_FOR_S = 60.0
"""How long /health reports a task that ended by an error."""


class TablesBackend:
    """The backend over the tables of a home, or of its copy, on this machine. requests: where they are appended."""

    def __init__(
        self, home: Path, settings: Settings, requests: RequestSink, gateway_id: str, slower: float = 1.0
    ) -> None:
        self.gateway_id = gateway_id
        self.known = KnownGroups()
        self.rebalances: Counter[str] = Counter()
        self._home, self._settings = home, settings
        self._requests, self._slower = requests, slower
        self._effects = EffectsTable(home / EFFECTS.name, self.gateway_id)
        self._is_away = False
        self._last_news_at = time.monotonic()
        self._looked_at = 0.0
        self._young_until = 0.0
        self._under_way = UnderWay(self.known, settings.new_groups_max_bytes)
        self._early = EarlyAnswers(self.known, self._under_way)
        self._commits = EarlyCommits(self.known, self._under_way, settings.group)
        self._is_behind = False
        self._tasks = KeptTasks()
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="tables")
        self._writer = RequestWriter(requests, self._threads, settings.flush_interval_ms, self._not_appended)

    async def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        await self._loop.run_in_executor(self._threads, self._requests.open)
        await self._loop.run_in_executor(self._threads, self._learn_history)
        self._tasks.start("requests", self._writer.write)
        self._tasks.start("effects", self._follow)

    def _learn_history(self) -> None:
        for fact in self._effects.history():
            self._learn_group(fact)

    async def close(self) -> None:
        await self._tasks.close()
        self._append(self._early.rest(now_ms()))
        await self._writer.flush()
        await self._loop.run_in_executor(self._threads, self._requests.close)
        self._threads.shutdown()

    def groups(self) -> asyncio.Future[Iterable[Known]]:
        # Another gateway may have sent its client an answer that this one has not read yet.
        listing: asyncio.Future[Iterable[Known]] = self._loop.create_future()
        self._under_way.list_after_these(listing)
        return listing

    def configured_groups(self) -> Iterable[str]:
        return self.known.configured()

    def figures(self) -> Figures:
        awaited = self._under_way.awaited()
        backlog = [one for one in awaited if not one.is_parked]
        return Figures(
            backlog=len(backlog),
            backlog_age_s=max(0.0, (now_ms() - backlog[0].received_at_ms) / 1000) if backlog else None,
            parked=len(awaited) - len(backlog),
            batch_age_s=self._batch_age_s(),
            groups_by_state=Counter(group.state for group in self.known),
            rebalances_by_cause=dict(self.rebalances),
            is_failing=self._writer.is_failing,
            task_failures=dict(self._tasks.failures),
            failing_tasks=self._tasks.failing(),
            refused_groups=self._under_way.new_groups.refused,
        )

    def _batch_age_s(self) -> float | None:
        """Since the coordinator's last batch, or since it last found that it needs none."""
        status = read_status(self._home)
        if status is None or status.looked_at_ms is None:
            return None
        return max(0.0, time.time() - status.looked_at_ms / 1000)

    # ------------------------------------------------------------ out

    def submit(self, request: GroupRequest) -> Outcome | asyncio.Future[Response]:
        is_young = time.monotonic() < self._young_until
        if is_young and type(request) is HeartbeatRequest:
            may_be_early = self._settings.early_heartbeats and not self._writer.is_failing
            runs = self._early.take(request) if may_be_early else None
            if runs is not None:
                self._append(runs)
                return _NONE
        self._append(self._early.run_before(request))
        row = row_of(request, group_id_of(request))
        unseen = unseen_answer(request) if self._is_away else None
        waiting: asyncio.Future[Response] = self._loop.create_future()
        try:
            self._check_length(row)
            if unseen is not None and self._under_way.has_heartbeat_of(request):
                return unseen
            answer = (self._first_join_answer(request) if is_young else None) or unseen
            one = self._under_way.begin(request, waiting if answer is None else None)
        except BackendError as refused:
            return refused.with_traceback(None)
        self._early.note(request)
        if is_young and isinstance(request, OffsetCommitRequest) and answer is None:
            self._put_commit(request, row, one)
        else:
            self._writer.put(row)
        return waiting if answer is None else answer

    def _put_commit(self, request: OffsetCommitRequest, row: RequestRow, one: Pending) -> None:
        answer = self._commits.answer(request, row.size_bytes) if self._may_acknowledge else None
        if answer is None:
            self._writer.put(row)
            return
        known_good = msgspec.structs.replace(request, is_acknowledged=True)

        def acknowledge() -> None:
            if self._may_acknowledge and one.is_awaited and self._commits.is_sure(known_good, now_ms()):
                self._commits.acknowledged(known_good)
                one.give(answer)

        self._writer.put(row_of(known_good, known_good.group_id), acknowledge)

    @property
    def _may_acknowledge(self) -> bool:
        """Whether a commit may be answered once it is in the table, by all conditions but those of its group."""
        is_in_time = time.monotonic() < self._young_until and not self._is_behind and not self._writer.is_failing
        return is_in_time and self._settings.early_commits and self._slower == 1.0 and self._requests.is_alone()

    def _check_length(self, row: RequestRow) -> None:
        if len(row.group_id.encode()) > self._settings.group_id_max_bytes:
            raise BackendError("the group id is too long", Error.INVALID_GROUP_ID)
        size_bytes = row.size_bytes
        if size_bytes > self._settings.request_max_bytes:
            raise BackendError("the request is too long", Error.INVALID_REQUEST)
        if not self._writer.has_room_for(size_bytes):
            raise BackendError("requests come faster than they can be appended")

    def _first_join_answer(self, request: GroupRequest) -> Response | None:
        if not isinstance(request, JoinGroupRequest):
            return None
        offers = self._under_way.offers(request.group_id)
        return first_join_answer(self.known.get(request.group_id), request, offers, self._settings.group)

    def _append(self, runs: Iterable[HeartbeatRunRequest]) -> None:
        for run in runs:
            self._writer.put(row_of(run, run.group_id), lambda run=run: self._commits.appended(run, now_ms()))  # type: ignore[misc]

    def _not_appended(self, request_id: str, error: Exception) -> None:
        one = self._under_way.drop(request_id)
        if one is not None:
            one.give(BackendError(str(error)))

    # ------------------------------------------------------------ in

    async def _follow(self) -> None:
        """Learns the news of each version of the effects table as it comes."""
        while True:
            try:
                while self._effects.has_news():
                    await self._learn(await self._loop.run_in_executor(self._threads, self._effects.news))
                    self._last_news_at = time.monotonic()
            except Exception:
                log.exception("effects: a version cannot be read just now")
            self._append(self._early.due(now_ms()))
            self._under_way.answer_listings(self._listed, now_ms())
            if self._last_news_at > self._looked_at or time.monotonic() - self._looked_at > _LOOK_EVERY_S:
                self._look_whether_away()
            pauses = 1 if self._under_way.has_any else _IDLE_PAUSES
            await asyncio.sleep(pauses * self._settings.poll_interval_ms / 1000)

    def _listed(self) -> list[Known]:
        return [(one.group_id, one.protocol_type or "", one.state, one.group_type or "") for one in self.known]

    def _look_whether_away(self) -> None:
        """Finds out whether the coordinator is away; if so, answers the heartbeats that wait, as the module says."""
        self._looked_at = time.monotonic()
        self._under_way.forget_lost(now_ms() - FORGOTTEN_AFTER_MS)
        age_s = self._batch_age_s()
        if age_s is not None:
            self._young_until = time.monotonic() + _YOUNG_S * self._slower - age_s
        oldest = next((one for one in self._under_way.awaited() if not one.is_parked), None)
        oldest_ms = 0 if oldest is None else now_ms() - oldest.received_at_ms
        self._is_behind = oldest_ms > _BEHIND_AFTER_MS
        was_away = self._is_away
        self._is_away = is_away(
            _AWAY_AFTER_S * self._slower,
            was_away=was_away,
            silent_s=time.monotonic() - self._last_news_at,
            oldest_s=oldest_ms / 1000,
            batch_age_s=age_s,
        )
        if self._is_away and not was_away:
            log.warning("the coordinator is away: heartbeats are answered unseen until it is back")
            for one in self._under_way.awaited():
                if one.unseen is not None:
                    one.give(one.unseen)
        if was_away and not self._is_away:
            log.warning("the coordinator is back")

    async def _learn(self, news: News) -> None:
        for fact in news.facts:
            self._learn_fact(fact)
        for start in range(0, len(news.replies), _ANSWERS_A_TURN):
            for reply in news.replies[start : start + _ANSWERS_A_TURN]:
                self._learn_reply(reply)
            await asyncio.sleep(0)

    def _learn_reply(self, reply: Reply) -> None:
        one = self._under_way.settle(reply)
        if one is not None and reply.response is not None:
            if isinstance(reply.response, HeartbeatResponse):
                self._early.forget_those_elsewhere(reply.group_id, one.received_at_ms)
            self._commits.taken(reply.group_id, one, reply.response)

    def _learn_fact(self, fact: Fact) -> None:
        match fact.effect:
            case EffectName.REQUEST_PARKED:
                self._under_way.park(fact.request_id or "")
            case EffectName.REQUEST_DROPPED:
                self._under_way.drop(fact.request_id or "")
            case _:
                self._learn_group(fact)

    def _learn_group(self, fact: Fact) -> None:
        try:
            self.known.apply(fact.group_id, fact.effect, fact.detail)
        except (ValueError, RecursionError) as error:
            left_out("effects", row_named(fact.group_id, fact.seq), error)
            return
        match fact.effect:
            case EffectName.REBALANCE_STARTED:
                self.rebalances[fact.cause or "unknown"] += 1
            case EffectName.MEMBER_UPDATED:
                self._commits.forget(fact.group_id, fact.member_id or "")
            case EffectName.MEMBER_REMOVED | EffectName.GROUP_REMOVED:
                member_id = None if fact.effect is EffectName.GROUP_REMOVED else fact.member_id or ""
                for each in (self._early, self._commits, self._under_way):
                    each.forget(fact.group_id, member_id)


class KeptTasks:
    """Tasks that run as long as the gateway does: a failure is logged and counted, and the task starts again."""

    def __init__(self) -> None:
        self.failures: Counter[str] = Counter()
        """How often each task ended by an error."""
        self._failed_at: dict[str, float] = {}
        self._tasks: list[asyncio.Task[None]] = []

    def start(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        """Does the work from now on, until `close`. name: as log, metric and /health call it."""
        self._tasks.append(asyncio.create_task(self._keep(name, work), name=name))

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def failing(self) -> list[str]:
        return [name for name, at_s in self._failed_at.items() if time.monotonic() - at_s < SHOWN_FOR_S]

    async def _keep(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await work()
                return
            except Exception:
                log.exception("%s: ended by an error; it begins again in %g s", name, AGAIN_AFTER_S)
                self.failures[name] += 1
                self._failed_at[name] = time.monotonic()
            await asyncio.sleep(AGAIN_AFTER_S)
