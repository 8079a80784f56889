"""Groups behind the tables: requests go out in few appends, answers come in as the coordinator commits them.

Of a group at rest heartbeats are answered at the door (`heartbeat_door`), and handed over in runs. While the
coordinator is away, which as a rule means that it is being started again, heartbeats are answered here as a broker
answers those of groups that it is still loading (`unseen_answers`).

Knows who waits for which answer, and no other rule of the protocol. The disk is read and written in threads, one for
each direction.
"""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple, assert_never

import msgspec

from coordinator_udfs.protocol.config import GroupConfig
from gateway.backend import BackendError, Figures, Known
from gateway.kept_tasks import KeptTasks
from gateway.settings import Settings
from gateway.tables.directory import Directory
from gateway.tables.effects_table import EffectsTable, Fact, News
from gateway.tables.first_joins import first_answer
from gateway.tables.handing_over import NotTaken, Requests
from gateway.tables.heartbeat_door import FORGOTTEN_AFTER_MS, HeartbeatDoor
from gateway.tables.listings import Listings
from gateway.tables.membership import Memberships, lasting
from gateway.tables.new_groups import NewGroups
from gateway.tables.unseen_answers import ConsumerBeats, unseen_answer
from programs.steady_clock import now_ms
from schemas.effect_names import EffectName
from schemas.errors import Error
from schemas.fan_out import group_id_of
from schemas.messages import (
    GroupRequest,
    HeartbeatRequest,
    HeartbeatResponse,
    HeartbeatRunRequest,
    JoinGroupRequest,
    Response,
    StreamRequest,
)
from schemas.tables import EFFECTS_FOLDER
from tables.job_status import read_status
from tables.request_rows import RequestRow
from tables.unread import left_out, row_named

log = logging.getLogger("gateway")

_LINGER_S = 0.002
"""How long a flush waits for more requests after its first."""
_QUEUED_MAX_BYTES = 67_108_864
"""So much waits to be handed over at the most: a disk or a topic may be slower than clients."""
_ANSWERS_A_TURN = 200
_LOOK_EVERY_S = 0.5
_AWAY_AFTER_S = 3.0
"""A coordinator is away if it has requests, but neither answers nor ends a batch for so long."""
_YOUNG_S = 3.0
"""The last commit says how a group is while the coordinator's last batch is younger than this."""
SLOWER_IN_A_STORE = 4.0
"""By how much both are longer where each batch's commits go to an object store."""


class _Waiting(NamedTuple):
    answer: asyncio.Future[Response]
    request: GroupRequest


def new_gateway_id() -> str:
    """What the ids of one gateway's requests begin with, unlike any other's."""
    return uuid.uuid4().hex[:12]


class TablesBackend:
    """The backend over the tables of a home, or of its copy, on this machine. requests: where they are handed over."""

    def __init__(
        self, home: Path, settings: Settings, requests: Requests, gateway_id: str, slower: float = 1.0
    ) -> None:
        self.gateway_id = gateway_id
        self.directory = Directory()
        self.rebalances: Counter[str] = Counter()
        self._settings = settings
        self._requests, self._slower = requests, slower
        self._effects = EffectsTable(home / EFFECTS_FOLDER, self.gateway_id)
        self._home = home
        self._is_failing = False
        self._is_away = False
        self._heard_at = time.monotonic()
        self._looked_at = 0.0
        self._young_until = 0.0
        self._memberships = Memberships()
        self._door = HeartbeatDoor(self._memberships)
        self._beats = ConsumerBeats()
        self._group_config = GroupConfig(
            group_min_session_timeout_ms=settings.group_min_session_timeout_ms,
            group_max_session_timeout_ms=settings.group_max_session_timeout_ms,
            group_max_size=settings.group_max_size,
        )
        self._waiting: dict[str, _Waiting] = {}
        self._parked: set[str] = set()
        self._listings = Listings()
        self._new_groups = NewGroups(self._is_there, settings.new_groups_max_bytes)
        self._queue: list[RequestRow] = []
        self._queued_bytes = 0
        """Of all that is not handed over yet."""
        self._encoder = msgspec.json.Encoder()
        self._wake = asyncio.Event()
        self._appending = asyncio.Lock()
        self._tasks = KeptTasks()
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="tables")

    async def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        await self._loop.run_in_executor(self._threads, self._requests.open)
        await self._loop.run_in_executor(self._threads, self._learn_history)
        self._tasks.start("requests", self._write)
        self._tasks.start("effects", self._follow)

    def _learn_history(self) -> None:
        for fact in lasting(self._effects.history()):
            self._learn_group(fact)

    async def close(self) -> None:
        await self._tasks.close()
        self._hand_on(self._door.rest(now_ms()))
        await self._flush()
        self._threads.shutdown()

    def groups(self) -> asyncio.Future[Iterable[Known]]:
        # Another gateway may have sent its client an answer that this one has not read yet.
        listing: asyncio.Future[Iterable[Known]] = self._loop.create_future()
        self._listings.ask(listing, self._loop.time())
        return listing

    def figures(self) -> Figures:
        waiting = self._oldest_waiting()
        return Figures(
            backlog=len(self._waiting) - len(self._parked),
            backlog_age_s=None if waiting is None else max(0.0, (now_ms() - waiting) / 1000),
            parked=len(self._parked),
            batch_age_s=self._batch_age_s(),
            groups_by_state=self.directory.by_state(),
            rebalances_by_cause=dict(self.rebalances),
            is_failing=self._is_failing,
            task_failures=dict(self._tasks.failures),
            failing_tasks=self._tasks.failing(),
            refused_groups=self._new_groups.refused,
        )

    def _oldest_waiting(self) -> int | None:
        """When the first request came that is neither answered nor parked, ms since the epoch."""
        for request_id, waiting in list(self._waiting.items()):
            if request_id not in self._parked:
                return waiting.request.received_at_ms
        return None

    def _batch_age_s(self) -> float | None:
        status = read_status(self._home)
        if status is None or status.batch_at_ms is None:
            return None
        return max(0.0, time.time() - status.batch_at_ms / 1000)

    # ------------------------------------------------------------ out

    def submit(self, request: GroupRequest) -> asyncio.Future[Response]:
        answer: asyncio.Future[Response] = self._loop.create_future()
        if self._is_answered_at_the_door(request):
            answer.set_result(HeartbeatResponse())
            return answer
        group_id, packed = group_id_of(request), self._encoder.encode(request)
        if len(group_id.encode()) > self._settings.group_id_max_bytes:
            answer.set_exception(BackendError("the group id is too long", Error.INVALID_GROUP_ID))
        elif len(packed) > self._settings.packed_max_bytes:
            answer.set_exception(BackendError("the request is too long", Error.INVALID_REQUEST))
        elif self._queued_bytes + len(packed) > _QUEUED_MAX_BYTES:
            answer.set_exception(BackendError("requests come faster than they can be handed over"))
        elif (refused := self._new_groups.refusal(request)) is not None:
            log.warning("%s %s: no more groups may be made", request.client_host, request.principal or "")
            answer.set_exception(BackendError("the groups of its maker take too much", refused))
        else:
            self._send(request, packed.decode(), answer)
        return answer

    def _is_answered_at_the_door(self, request: GroupRequest) -> bool:
        """Takes in a heartbeat that may be; what is held of a group goes before any other request of it."""
        is_open = self._settings.heartbeats_at_the_door and self._is_young and not self._is_failing
        if is_open and isinstance(request, HeartbeatRequest) and self._door.is_open_for(request):
            self._hand_on(self._door.take(request))
            return True
        run = self._door.run_before(request)
        self._hand_on(() if run is None else (run,))
        return False

    def _send(self, request: GroupRequest, packed: str, answer: asyncio.Future[Response]) -> None:
        first = self._first_answer(request)
        if first is not None:
            answer.set_result(first)
        elif self._is_away and (unseen := unseen_answer(request)) is not None:
            answer.set_result(unseen)
            if self._beats.has_asked(request):
                return
        else:
            self._waiting[request.request_id] = _Waiting(answer, request)
            answer.add_done_callback(partial(self._forget, request.request_id))
        self._door.begin(request)
        self._beats.begin(request)
        self._listings.begin(request, self._loop.time())
        self._queue_row(request, packed)

    def _first_answer(self, request: GroupRequest) -> Response | None:
        """What a new member is told at once: see `first_joins`."""
        if not isinstance(request, JoinGroupRequest) or not self._is_young:
            return None
        group = self._memberships.of(request.group_id)
        return first_answer(request, group, self._door.offers_under_way(request.group_id), self._group_config)

    @property
    def _away_after_s(self) -> float:
        return _AWAY_AFTER_S * self._slower

    @property
    def _is_young(self) -> bool:
        """Whether the last commit is young enough to be gone by."""
        return self._loop.time() < self._young_until

    def _is_there(self, group_id: str) -> bool:
        return self._memberships.of(group_id) is not None

    def _hand_on(self, runs: Iterable[HeartbeatRunRequest]) -> None:
        for run in runs:
            self._queue_row(run, self._encoder.encode(run).decode())

    def _queue_row(self, request: StreamRequest, packed: str) -> None:
        row = RequestRow(group_id_of(request), request.request_id, request.received_at_ms, request.request_seq, packed)
        self._queue.append(row)
        self._queued_bytes += len(packed)
        self._wake.set()

    def _forget(self, request_id: str, _: asyncio.Future[Response] | None = None) -> None:
        self._waiting.pop(request_id, None)
        self._parked.discard(request_id)

    async def _write(self) -> None:
        """Appends the queued rows: at once after a pause, else once an interval."""
        while True:
            await self._wake.wait()
            await asyncio.sleep(_LINGER_S)
            self._wake.clear()
            began = self._loop.time()
            # Whoever stops this task stops no append: its rows are in the queue no more.
            await asyncio.shield(self._flush())
            rest_s = self._settings.flush_interval_ms / 1000 - (self._loop.time() - began)
            await asyncio.sleep(max(0.0, rest_s))

    async def _flush(self) -> None:
        async with self._appending:
            rows, self._queue = self._queue, []
            if rows:
                await self._append(rows)
                self._queued_bytes -= sum(len(row.request) for row in rows)

    async def _append(self, rows: list[RequestRow]) -> None:
        try:
            await self._loop.run_in_executor(self._threads, self._requests.append, rows)
            self._is_failing = False
        except Exception as error:
            if isinstance(error, NotTaken):
                rows = [row for row in rows if row.request_id in error.request_ids]
            # One that the topic has no room for says nothing of the others.
            self._is_failing = not (isinstance(error, NotTaken) and error.are_too_long)
            log.error("requests: %d could not be appended: %s", len(rows), error)
            for row in rows:
                self._settle(row.request_id)
                waiting = self._waiting.get(row.request_id)
                if waiting is not None and not waiting.answer.done():
                    waiting.answer.set_exception(BackendError(str(error)))

    # ------------------------------------------------------------ in

    async def _follow(self) -> None:
        """Learns the news of each version of the effects table as it comes."""
        while True:
            try:
                while self._effects.has_news():
                    await self._learn(await self._loop.run_in_executor(self._threads, self._effects.news))
                    self._heard_at = time.monotonic()
            except Exception:
                log.exception("effects: a version cannot be read just now")
            self._hand_on(self._door.due(now_ms()))
            self._listings.tell(self.directory, self._loop.time())
            if self._heard_at > self._looked_at or time.monotonic() - self._looked_at > _LOOK_EVERY_S:
                self._look_whether_away()
            await asyncio.sleep(self._settings.poll_interval_ms / 1000)

    def _look_whether_away(self) -> None:
        """Finds out whether the coordinator is away; if so, answers the heartbeats that wait, as the module says."""
        self._looked_at = time.monotonic()
        self._door.forget_lost(now_ms())
        self._beats.forget_lost(now_ms() - FORGOTTEN_AFTER_MS)
        self._beats.forget_gone(self._memberships)
        self._new_groups.forget_lost(now_ms() - FORGOTTEN_AFTER_MS)
        age_s = self._batch_age_s()
        if age_s is not None:
            self._young_until = self._loop.time() + _YOUNG_S * self._slower - age_s
        was_away, self._is_away = self._is_away, self._is_coordinator_away()
        if self._is_away and not was_away:
            log.warning("the coordinator is away: heartbeats are answered unseen until it is back")
            for waiting in list(self._waiting.values()):
                unseen = unseen_answer(waiting.request)
                if unseen is not None and not waiting.answer.done():
                    waiting.answer.set_result(unseen)
        if was_away and not self._is_away:
            log.warning("the coordinator is back")

    def _is_coordinator_away(self) -> bool:
        if time.monotonic() - self._heard_at < self._away_after_s:
            return False
        waiting = self._oldest_waiting()
        if not self._is_away and (waiting is None or now_ms() - waiting < self._away_after_s * 1000):
            return False
        age_s = self._batch_age_s()
        return age_s is None or age_s > self._away_after_s

    async def _learn(self, news: News) -> None:
        for fact in news.facts:
            self._learn_fact(fact)
        for start in range(0, len(news.replies), _ANSWERS_A_TURN):
            for request_id, response in news.replies[start : start + _ANSWERS_A_TURN]:
                waiting = self._waiting.get(request_id)
                is_awaited = waiting is not None and not waiting.answer.done()
                if response is None:
                    self._settle(request_id)
                    if waiting is not None and is_awaited:
                        waiting.answer.set_exception(BackendError("its answer cannot be read"))
                    continue
                told = self._beats.answered(request_id, response, is_awaited=is_awaited)
                self._settle(request_id)
                if waiting is not None and is_awaited:
                    self._forget(request_id)
                    waiting.answer.set_result(told)
            await asyncio.sleep(0)

    def _learn_fact(self, fact: Fact) -> None:
        match fact.effect:
            case EffectName.REQUEST_PARKED:
                self._door.park(fact.request_id or "")
                self._listings.settle(fact.request_id or "")
                if fact.request_id in self._waiting:
                    self._parked.add(fact.request_id)
            case EffectName.REQUEST_DROPPED:
                self._settle(fact.request_id or "")
                self._forget(fact.request_id or "")
            case EffectName.REBALANCE_STARTED:
                self.rebalances[fact.cause or "unknown"] += 1
            case (
                EffectName.GROUP_CREATED
                | EffectName.GROUP_TYPE_CHANGED
                | EffectName.STATE_CHANGED
                | EffectName.GROUP_REMOVED
            ):
                self._learn_group(fact)
            case EffectName.MEMBER_JOINED | EffectName.MEMBER_UPDATED | EffectName.MEMBER_REMOVED:
                self._learn_group(fact)
            case _:
                assert_never(fact.effect)

    def _learn_group(self, fact: Fact) -> None:
        try:
            self.directory.learn(fact)
            self._memberships.learn(fact)
        except (ValueError, TypeError, RecursionError) as error:
            left_out("effects", row_named(fact.group_id, fact.seq), error)
            self.directory.doubt(fact.group_id)
            self._memberships.doubt(fact.group_id)
            return
        if fact.effect == EffectName.MEMBER_REMOVED:
            self._door.forget(fact.group_id, fact.member_id or "")
            self._beats.forget(fact.group_id, fact.member_id or "")
        elif fact.effect == EffectName.GROUP_REMOVED:
            self._door.forget(fact.group_id)
            self._new_groups.forget(fact.group_id)

    def _settle(self, request_id: str) -> None:
        """A commit that has been read has taken a request."""
        self._door.settle(request_id)
        self._beats.settle(request_id)
        self._listings.settle(request_id)
        self._new_groups.settle(request_id)
