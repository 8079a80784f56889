"""A real cluster whose groups are followed: a producer of known rate, consumers that say what they commit, an admin
client.

Knows how to start and end them; must not know what Rollcall reports of them.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from tests.peers_clients.fleet import Fleet, Worker
from tests.peers_clients.workers.lines import place
from tests.peers_lag.admin_samples import AdminSamples, now_ms
from tests.peers_lag.own_records import OwnRecords, Place
from tests.source_tree import ROOT

PARTITIONS = 4
RECORDS_PER_S = 100
COMMIT_MS = 500
SESSION_MS = 6_000
HEARTBEAT_MS = 500


class Kind(NamedTuple):
    """A group of two members on a topic of its own, which has the group's name."""

    incident: Callable[[Play, str], None]
    """What is done to it."""
    library: str
    options: Mapping[str, str] = {}


class Play:
    """The cluster at an address. kinds: its groups, by name."""

    def __init__(self, address: str, folder: Path, kinds: Mapping[str, Kind], stack: ExitStack) -> None:
        self.address, self.kinds = address, kinds
        self.admin = AdminClient({"bootstrap.servers": address, "log_level": 3})
        config = {"message.timestamp.type": "LogAppendTime"}
        for made in self.admin.create_topics([NewTopic(name, PARTITIONS, 1, config=config) for name in kinds]).values():
            made.result(30)
        self._appends = folder / "appends"
        self._producer = _paced_producer(address, self._appends)
        stack.callback(self._end_producer)
        self.places = {name: [(name, partition) for partition in range(PARTITIONS)] for name in kinds}
        """The partitions of each topic."""
        self.fleets: dict[str, Fleet] = {}
        self._commits: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for name, kind in kinds.items():
            options = {"session_ms": str(SESSION_MS), "heartbeat_ms": str(HEARTBEAT_MS), "commit_ms": str(COMMIT_MS)}
            self.fleets[name] = stack.enter_context(Fleet(address, name, name, **{**options, **kind.options}))
        self.samples = AdminSamples(address, self.places)
        stack.callback(self.samples.stop)

    def start(self, group: str) -> Worker:
        return self.fleets[group].start(self.kinds[group].library, f"{group}-{len(self.fleets[group].workers)}")

    def owners(self, group: str) -> dict[Place, str]:
        """The client id that has each partition, as the clients said."""
        return {place(name): worker.client_id for worker in self.living(group) for name in worker.partitions}

    def commit(self, group: str, partition: int, offset: int) -> None:
        """Commits by the member that has the partition, and keeps the record of it."""
        name, sent_ms = f"{group}/{partition}", now_ms()
        (owner,) = (worker for worker in self.living(group) if name in worker.partitions)
        assert owner.ask("commit", name, offset) == offset
        self._commits[group].append({"sent_ms": sent_ms, "at_ms": now_ms(), "offsets": {name: offset}})

    def produce(self, topic: str, records_per_s: float = RECORDS_PER_S) -> None:
        """From now on at this rate to all partitions together, 0: no more."""
        assert self._producer.stdin is not None
        self._producer.stdin.write(f"{topic} {len(self.places[topic])} {records_per_s}\n")
        self._producer.stdin.flush()

    def await_shared(self, group: str) -> None:
        self.fleets[group].await_shares(self.living(group), len(self.places[group]))

    def living(self, group: str) -> list[Worker]:
        return [worker for worker in self.fleets[group].workers if worker.process.poll() is None]

    def act(self) -> None:
        """Does to all groups at once what is to be done to each."""
        with ThreadPoolExecutor(len(self.kinds)) as pool:
            for done in [pool.submit(kind.incident, self, group) for group, kind in self.kinds.items()]:
                done.result()

    def own_records(self) -> OwnRecords:
        """All that the producer and the consumers recorded; nothing is produced any more."""
        self._end_producer()
        found = OwnRecords()
        found.add_appends(self._appends.read_text().splitlines())
        for group, fleet in self.fleets.items():
            found.add_progress(group, (one for worker in fleet.workers for one in worker.progress))
            found.add_progress(group, self._commits[group])
        return found

    def _end_producer(self) -> None:
        assert self._producer.stdin is not None
        self._producer.stdin.close()
        assert self._producer.wait(40) == 0


def _paced_producer(address: str, appends: Path) -> subprocess.Popen[str]:
    with appends.open("w") as out:
        command = [sys.executable, "-m", "tests.peers_lag.paced_producer", address]
        return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=out, text=True)


@contextmanager
def playing(address: str, folder: Path, kinds: Mapping[str, Kind]) -> Iterator[Play]:
    with ExitStack() as stack:
        yield Play(address, folder, kinds, stack)


def go_on_for(seconds: float) -> None:
    """Lets everything go on as it does."""
    threading.Event().wait(seconds)
