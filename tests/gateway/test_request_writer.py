"""How often the gateway appends to the request table."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa

from rollcall.serve.gateway.tables.request_writer import AT_ONCE_MAX, RequestWriter
from rollcall.tables.request_rows import row_of
from tests.gateway.running import asynchronous
from tests.gateway.test_tables import Taking, numbered
from tests.waiting import until_true

A_DAY_MS = 86_400_000


class Accepting(Taking):
    def append(self, rows: pa.Table) -> None:
        self.taken += rows["group_id"].to_pylist()


@asynchronous
async def test_few_appends_go_at_once_and_more_gather_until_their_interval_is_over() -> None:
    table = Accepting()
    with ThreadPoolExecutor(1) as threads:
        writer = RequestWriter(table, threads, A_DAY_MS, lambda *_: None)
        writing = asyncio.create_task(writer.write())
        groups = [f"g{number}" for number in range(AT_ONCE_MAX + 1)]
        for number, group_id in enumerate(groups):
            await until_true(lambda number=number: table.taken == groups[:number])
            writer.put(row_of(numbered(number), group_id))
        await asyncio.sleep(0.1)
        assert table.taken == groups[:-1]
        await writer.flush()
        assert table.taken == groups
        writing.cancel()
