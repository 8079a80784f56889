"""The processes that answer the SQL box: few at a time, each ended with its time or its client.

A query occupies only its own process, not the page. Knows processes and pipes; must not know SQL.
"""

from __future__ import annotations

import asyncio
from asyncio.subprocess import DEVNULL, PIPE, Process
from contextlib import suppress
from pathlib import Path

import msgspec

from rollcall.programs.child_python import module_command, module_environment
from rollcall.programs.errors import UserError
from rollcall.serve.page.queries import MOST_BYTES, QueryRefused, Written
from rollcall.serve.page.sql_worker import AnswerHead, Question

LONGEST_S = 30.0
MOST_RUNNING = 2
MOST_WAITING = 8
IDLE_S = 60.0
"""A process without a query for this long ends."""
RETRY_AFTER_S = 5
_START_S = 30.0
"""A process that is not ready within is broken; what it takes to start counts for no query."""
_LINE_MAX_BYTES = 1_000_000


class Busy(UserError):
    """More queries are under way than the page runs and keeps waiting."""


class SqlProcesses:
    """Answers queries about one home. longest_s: a query that takes longer, once its process is ready, is stopped."""

    def __init__(self, home: Path, longest_s: float = LONGEST_S) -> None:
        self._home = home
        self._longest_s = longest_s
        self._running = asyncio.Semaphore(MOST_RUNNING)
        self._asked = 0
        self._idle: dict[Process, asyncio.TimerHandle] = {}
        self._processes: set[Process] = set()

    async def answer(self, query: str, until_ms: int | None, form: str) -> Written:
        """Answers a query; its process ends if this is cancelled. Raises Busy, QueryRefused."""
        if self._asked >= MOST_RUNNING + MOST_WAITING:
            raise Busy(
                f"{MOST_RUNNING} queries run and {MOST_WAITING} wait, which are the most: ask again in some seconds."
            )
        self._asked += 1
        try:
            async with self._running:
                return await self._answered(Question(query, until_ms, form, 2 * self._longest_s))
        finally:
            self._asked -= 1

    async def warm_up(self) -> None:
        """Starts a process for the next query."""
        if not self._idle and not self._asked:
            self._keep(await self._start())

    async def close(self) -> None:
        """Ends every process."""
        processes = list(self._processes)
        for process in processes:
            self._end(process)
        for process in processes:
            await process.wait()

    async def _answered(self, question: Question) -> Written:
        process = self._take() or await self._start()
        is_well = False
        try:
            await _ready(process)
            async with asyncio.timeout(self._longest_s):
                head, body = await _ask(process, question)
            is_well = not head.is_last
        except TimeoutError:
            raise QueryRefused(
                f"The query was stopped after {self._longest_s:g} s. rollcall sql has no such limit."
            ) from None
        except (asyncio.IncompleteReadError, ConnectionError):
            raise QueryRefused(
                "The query ended its process: it needs more memory than the page gives to one. "
                "rollcall sql has no such limit."
            ) from None
        finally:
            if is_well:
                self._keep(process)
            else:
                self._end(process)
        if head.refused is not None:
            raise QueryRefused(head.refused)
        return Written(body, head.row_count, head.is_cut)

    # ------------------------------------------------------------ processes

    async def _start(self) -> Process:
        process = await asyncio.create_subprocess_exec(
            *module_command("rollcall.serve.page.sql_worker", str(self._home)),
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,
            limit=_LINE_MAX_BYTES,
            env=module_environment(),
        )
        self._processes.add(process)
        return process

    def _take(self) -> Process | None:
        """An idle process, if there is one that still runs."""
        while self._idle:
            process, until = self._idle.popitem()
            until.cancel()
            if process.returncode is None:
                return process
            self._processes.discard(process)
        return None

    def _keep(self, process: Process) -> None:
        self._idle[process] = asyncio.get_running_loop().call_later(IDLE_S, self._end, process)

    def _end(self, process: Process) -> None:
        self._processes.discard(process)
        if (until := self._idle.pop(process, None)) is not None:
            until.cancel()
        with suppress(ProcessLookupError):
            process.kill()


async def _ready(process: Process) -> None:
    """Waits until a process takes a question. Raises QueryRefused, IncompleteReadError: the process has ended."""
    assert process.stdout is not None
    try:
        async with asyncio.timeout(_START_S):
            await process.stdout.readuntil(b"\n")
    except TimeoutError:
        raise QueryRefused(f"No process was ready for the query within {_START_S:g} s: ask again.") from None


async def _ask(process: Process, question: Question) -> tuple[AnswerHead, bytes]:
    """One question, one answer. Raises IncompleteReadError, ConnectionError: the process has ended."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(msgspec.json.encode(question) + b"\n")
    await process.stdin.drain()
    line = await process.stdout.readuntil(b"\n")
    head = msgspec.json.decode(line, type=AnswerHead)
    return head, await process.stdout.readexactly(min(head.body_bytes, 2 * MOST_BYTES))
