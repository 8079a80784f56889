"""The demo fleet: four groups of Kafka consumers that show what a coordinator sees in a day, in a minute.

    python -m rollcall.cli.run.demo_fleet --bootstrap HOST:PORT --group GROUP [--only CLIENT_ID]

| group | members | what happens |
|---|---|---|
| payments | two, a third one some seconds after they share the work | one joins late; a partition is stuck |
| orders | three, cooperative-sticky, restarted one after the other | a deploy |
| audit | three, one of them a process of its own, killed by whoever started it | one dies |
| reports | two that are slower than their topic grows | the group falls behind |

Times count from when the group is at work, so that the story is the same on a slow machine.

The members are kafka-python's own consumers; the gateway makes the records of their topics.

Knows how a member carries out its plan (`rollcall.cli.run.demo_plan`); must not know who coordinates it.
"""

from __future__ import annotations

import math
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import ParamSpec, TypeVar

import click
from kafka import KafkaConsumer
from kafka.coordinator.assignors.abstract import AbstractPartitionAssignor
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.errors import KafkaError
from kafka.protocol.schemas.fields import StructField
from kafka.structs import OffsetAndMetadata

from rollcall.cli.run.demo_plan import FLEET, DemoGroup, DemoMember
from rollcall.programs.command_line import run_command

_Asked = ParamSpec("_Asked")
_Answer = TypeVar("_Answer")
SESSION_TIMEOUT_MS = 10_000
HEARTBEAT_INTERVAL_MS = 3000
WORK_EVERY_S = 1.0
ASSIGNORS: dict[str, type[AbstractPartitionAssignor]] = {
    assignor.name: assignor
    for assignor in (RangePartitionAssignor, CooperativeStickyAssignor, RoundRobinPartitionAssignor)
}


@dataclass(frozen=True)
class Signals:
    """Events that the threads of one group share."""

    stop: threading.Event
    at_work: threading.Event
    """A member has been given partitions."""


def compile_one_at_a_time() -> None:
    """Lets one thread at a time compile how a message is read and written, which kafka-python does at its first use.

    Two threads at once leave code that fails for ever, so that a member never sees an answer and joins no group.
    """
    lock = threading.RLock()

    def alone(compiled: Callable[_Asked, _Answer]) -> Callable[_Asked, _Answer]:
        @wraps(compiled)
        def locked(*args: _Asked.args, **named: _Asked.kwargs) -> _Answer:
            with lock:
                return compiled(*args, **named)

        return locked

    StructField.compiled_decode_from = alone(StructField.compiled_decode_from)
    StructField.compiled_encode_into = alone(StructField.compiled_encode_into)


def take_part(bootstrap: str, group: DemoGroup, plan: DemoMember, signals: Signals) -> None:
    """Runs one member: it joins, polls, commits, and leaves when it is to restart or the fleet stops."""
    stop = signals.stop
    if plan.joins_after_s is not None:
        while not signals.at_work.wait(WORK_EVERY_S) and not stop.is_set():
            pass
        stop.wait(plan.joins_after_s)
    restarts_after_s = plan.restarts_after_s or math.inf
    while not stop.is_set():
        consumer = KafkaConsumer(
            *group.topics,
            bootstrap_servers=bootstrap,
            group_id=group.group_id,
            client_id=plan.client_id,
            session_timeout_ms=SESSION_TIMEOUT_MS,
            heartbeat_interval_ms=HEARTBEAT_INTERVAL_MS,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            partition_assignment_strategy=[ASSIGNORS[group.assignor]],
        )
        try:
            _work(consumer, plan, signals, restarts_after_s)
        finally:
            consumer.close()
        restarts_after_s = math.inf
        stop.wait(WORK_EVERY_S)


def _work(consumer: KafkaConsumer, plan: DemoMember, signals: Signals, until_s: float) -> None:
    """Works until so long after the member first got partitions, or until the fleet stops."""
    began_s, commits = math.inf, 0
    while not signals.stop.is_set() and time.monotonic() - began_s < until_s:
        consumer.poll(timeout_ms=int(WORK_EVERY_S * 1000), max_records=plan.records_per_s)
        mine = sorted(consumer.assignment())
        if not mine:
            continue
        signals.at_work.set()
        began_s = min(began_s, time.monotonic())
        is_stuck = commits >= (plan.sticks_after_commits or math.inf)
        try:
            done = mine[1:] if is_stuck else mine
            consumer.commit({each: OffsetAndMetadata(consumer.position(each), "", -1) for each in done})
            commits += 1
        except KafkaError as error:
            print(f"{plan.client_id}: {error}", flush=True)
        if plan.records_per_s is not None:
            signals.stop.wait(WORK_EVERY_S)


@click.command()
@click.option("--bootstrap", metavar="HOST:PORT", required=True, help="Where the members join.")
@click.option("--group", "group_id", required=True, type=click.Choice([group.group_id for group in FLEET]))
@click.option("--only", metavar="CLIENT_ID", help="Only this member.")
def command(bootstrap: str, group_id: str, only: str | None) -> None:
    """Run one group's members, or one of them alone, until SIGTERM."""
    group = next(group for group in FLEET if group.group_id == group_id)
    plans = [plan for plan in group.members if (plan.client_id == only if only else not plan.is_alone)]
    signals = Signals(stop=threading.Event(), at_work=threading.Event())
    compile_one_at_a_time()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: signals.stop.set())
    threads = [
        threading.Thread(target=take_part, args=(bootstrap, group, plan, signals), name=plan.client_id)
        for plan in plans
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    sys.exit(run_command(command, "python -m rollcall.cli.run.demo_fleet"))
