"""A job and a gateway with a crowd of real consumers of both protocols, and one kill after another.

Knows what must be the same after a kill as before it. Must not know why a moment is chosen, but for the dice.
"""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from deltalake import DeltaTable

from rollcall.tables.home import Home
from tests.kills.moments import MOMENTS, Moment
from tests.peers_clients.conftest import Coordinator
from tests.peers_clients.fleet import AS_SHIPPED, Fleet, Worker
from tests.peers_job.crowds import AT_A_TIME, gather
from tests.peers_job.job import Job
from tests.peers_job.reported import assert_no_gap, assert_reported_once, await_heartbeats, story
from tests.source_tree import ROOT
from tests.waiting import until

TOPIC, PARTITIONS = "wide", 60
SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "group.max.session.timeout.ms": "300000",
    "group.consumer.session.timeout.ms": "45000",
    "group.consumer.assignment.interval.ms": "0",
    "spark.coordinator.upkeep.interval.ms": "2000",
}
TIMES = {**AS_SHIPPED, "max_poll_ms": "600000"}
SHARES = {
    "classic": {"confluent": 18, "aiokafka": 9, "java": 3},
    "consumer": {"confluent": 26, "java": 4},
}
"""By protocol, how many of thirty are of which kind; kafka-python may lock itself up when its connection is lost."""
THIRTY = 30
COMMITS_A_KILL = 3
COMMITTING = {"classic": ("confluent", "java"), "consumer": ("java",)}
"""librdkafka may lose a commit's answer with its connection under the newer protocol."""
LOOK_AFTER = 5
"""Each time after this many kills, each member must have had a heartbeat answered."""
PATIENCE_S = 240.0


class World:
    """Ends all it started when it is left."""

    def __init__(self, home: Path, consumers: int, dice: random.Random) -> None:
        self.home = Home(home)
        self.settings = {"topics": f"{TOPIC}:{PARTITIONS}", **SETTINGS}
        self._consumers, self._dice, self._stack = consumers, dice, ExitStack()
        self._job = Job(home, {TOPIC: PARTITIONS}, SETTINGS)
        self._fleets: list[Fleet] = []
        self._before: dict[str, dict[str, str]] = {}
        self._committed: dict[tuple[str, str], int] = {}
        self._asked = self._kills = 0

    def __enter__(self) -> World:
        with ExitStack() as stack:
            stack.enter_context(self._job)
            self._job.start_coordinator()
            self._job.start_page()
            self._address = self._job.start_gateway()
            self._coordinator = Coordinator(self._address, 3.0)
            log = stack.enter_context((self.home.path / "logs" / "consumers.log").open("w"))
            for protocol, share in SHARES.items():
                count = self._consumers // 2
                kinds = [kind for kind, of in share.items() for _ in range(max(1, of * count // THIRTY))]
                fleet = Fleet(str(self._address), f"crowd-{protocol}", TOPIC, protocol=protocol, **TIMES)
                fleet.log = log
                self._fleets.append(stack.enter_context(fleet))
                gather(self._coordinator, fleet, kinds, AT_A_TIME[protocol], PARTITIONS, PATIENCE_S)
            self._before = {fleet.group: self._coordinator.member_ids(fleet.group) for fleet in self._fleets}
            self._reported = {fleet.group: story(self._job, fleet.group) for fleet in self._fleets}
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def kill(self) -> Moment:
        """Kills at a moment of the dice's choice, just after some commits were acknowledged, and starts again."""
        moment = self._dice.choice(MOMENTS)
        self._commit_somewhere()
        match moment.victim:
            case "gateway":
                moment.wait(self.home.path, self._dice)
                self._job.kill_gateway(self._address)
                self._job.start_gateway(self._address)
            case "page":
                moment.wait(self.home.path, self._dice)
                self._job.kill_page()
                self._job.start_page()
            case "maintenance":
                self._job.kill_coordinator()
                self._kill_maintenance(moment)
                self._job.start_coordinator()
            case _:
                moment.wait(self.home.path, self._dice)
                self._job.kill_coordinator()
                self._job.start_coordinator()
        self._kills += 1
        if self._kills % LOOK_AFTER == 0:
            self._look_after_members()
        return moment

    def check(self) -> dict[str, int]:
        """Raises AssertionError: something was lost or reported twice; how much there was of what."""
        self._look_after_members()
        assert_reported_once(self._job)
        assert_no_gap(self._job)
        for (group, place), offset in self._committed.items():
            assert self._offset(group, place) == offset, f"{group} {place} lost its commit of {offset}"
        assert not DeltaTable(self.home.quarantine).to_pyarrow_table().num_rows
        counts = {
            "requests, each answered once": len(self._job.request_ids()),
            "facts, each reported once, numbered without a gap": len(self._job.effects()),
            "heartbeats answered": len(self._job.heartbeats()),
            "commits acknowledged, the last of each partition found again": self._asked,
        }
        return counts | {"members, each with the id that it began with": sum(map(len, self._before.values()))}

    def _commit_somewhere(self) -> None:
        for fleet in self._fleets:
            kinds = COMMITTING[fleet.options["protocol"]]
            able = [worker for worker in fleet.workers if worker.kind in kinds]
            for worker in self._dice.sample(able, min(COMMITS_A_KILL, len(able))):
                assert worker.partitions, self._account_of(fleet, worker)
                self._asked += 1
                place = min(worker.partitions)
                assert worker.ask("commit", place, self._asked) == self._asked
                self._committed[fleet.group, place] = self._asked

    def _account_of(self, fleet: Fleet, worker: Worker) -> str:
        """What is known of a consumer that has lost its partitions, and of its group since the crowd was complete."""
        before = len(self._reported[fleet.group])
        lines = [
            f"{worker.client_id} of {fleet.group} has no partition",
            f"its assignments: {[sorted(one) for one in worker.assignments]}",
            f"all without a partition: {[one.client_id for one in fleet.workers if not one.partitions]}",
            *(f"fact since: {one}" for one in story(self._job, fleet.group)[before:]),
        ]
        return "\n".join(lines)

    def _offset(self, group: str, place: str) -> int | None:
        fleet = next(fleet for fleet in self._fleets if fleet.group == group)
        worker = next(w for w in fleet.workers if place in w.partitions)
        found = worker.ask("committed", place)
        return found if isinstance(found, int) else None

    def _kill_maintenance(self, moment: Moment) -> None:
        command = [sys.executable, "-m", "rollcall", "maintain", "--home", self.home.location]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                # Where the job has compacted everything itself, nothing new comes.
                moment.wait(self.home.path, self._dice, lambda: process.poll() is not None)
                assert not process.returncode, "maintenance failed"
            finally:
                process.kill()

    def _look_after_members(self) -> None:
        for fleet in self._fleets:
            assert all(worker.process.poll() is None for worker in fleet.workers), "a consumer ended"
            await_heartbeats(self._job, self._before[fleet.group], PATIENCE_S)
            now = self._coordinator.member_ids(fleet.group)
            assert now == self._before[fleet.group], f"{fleet.group}: other members than before"
            assert story(self._job, fleet.group) == self._reported[fleet.group], f"{fleet.group}: its members changed"
            until(partial(self._is_on_page, fleet.group), f"{fleet.group} as it is on the page", PATIENCE_S)

    def _is_on_page(self, group: str) -> bool:
        """Whether the page shows the group's members and their story as the history has them."""
        where = f"where group_id = '{group}'"
        members = {row["member_id"] for row in self._job.on_page(f"select member_id from members {where}")}
        facts = self._job.on_page(f"select effect, count(*) as times from effects {where} group by effect")
        shown, reported = (
            {row["effect"]: row["times"] for row in facts},
            Counter(row["effect"] for row in self._reported[group]),
        )
        return members == set(self._before[group].values()) and reported.items() <= shown.items()
