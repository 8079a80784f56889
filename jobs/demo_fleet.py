"""The demo fleet: three groups of table clients that show what a coordinator sees in a day, in half a minute.

    python -m jobs.demo_fleet --home HOME --group GROUP [--only CLIENT_ID]

| group | members | what happens |
|---|---|---|
| payments | two, a third one some seconds after they share the work | one joins late |
| orders | three, cooperative-sticky; one closes after a while | one leaves |
| audit | three, one of them a process of its own, killed by whoever started it | one dies |

What happens counts from when the group is at work, so that the story is the same on a slow machine.

Knows the plan of each member; must not know how members talk to the coordinator (`table_client` does).
"""

from __future__ import annotations

import argparse
import signal
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from table_client import CommitError, GroupMember

SESSION_TIMEOUT_MS = 6000
HEARTBEAT_INTERVAL_MS = 2000
WORK_EVERY_S = 1.0


@dataclass(frozen=True)
class DemoMember:
    """One member's plan.

    joins_after_s: how long after others of its group are at work, None for at once. leaves_after_s: how long after it
    was first given partitions, None for never. is_alone: it is a process of its own, to be killed.
    """

    client_id: str
    joins_after_s: float | None = None
    leaves_after_s: float | None = None
    is_alone: bool = False


@dataclass(frozen=True)
class DemoGroup:
    """One group's plan."""

    group_id: str
    topics: dict[str, int]
    strategy: str
    members: tuple[DemoMember, ...]


FLEET = (
    DemoGroup(
        "payments",
        {"payments": 6},
        "range",
        (DemoMember("payments-0"), DemoMember("payments-1"), DemoMember("payments-2", joins_after_s=4.0)),
    ),
    DemoGroup(
        "orders",
        {"orders": 8, "returns": 4},
        "cooperative-sticky",
        (DemoMember("orders-0"), DemoMember("orders-1", leaves_after_s=6.0), DemoMember("orders-2")),
    ),
    DemoGroup(
        "audit",
        {"audit": 4},
        "roundrobin",
        (DemoMember("audit-0"), DemoMember("audit-1"), DemoMember("audit-2", is_alone=True)),
    ),
)
KILL_AFTER_S = 5.0
"""How long after its group is at work audit's lone member is killed."""


@dataclass(frozen=True)
class Signals:
    """What the threads of one group tell each other. at_work: a member has been given partitions."""

    stop: threading.Event
    at_work: threading.Event


def take_part(home: Path, group: DemoGroup, plan: DemoMember, signals: Signals) -> None:
    """One member's life: joins, works through its partitions, commits, leaves when it is time or the fleet stops."""
    stop = signals.stop
    if plan.joins_after_s is not None:
        while not signals.at_work.wait(WORK_EVERY_S) and not stop.is_set():
            pass
        stop.wait(plan.joins_after_s)
    if stop.is_set():
        return
    leaves_at: float | None = None
    done: dict[tuple[str, int], int] = {}
    with GroupMember(
        home,
        group.group_id,
        group.topics,
        client_id=plan.client_id,
        session_timeout_ms=SESSION_TIMEOUT_MS,
        heartbeat_interval_ms=HEARTBEAT_INTERVAL_MS,
        partition_assignment_strategy=(group.strategy,),
    ) as member:
        while not stop.is_set() and (leaves_at is None or time.monotonic() < leaves_at):
            member.poll(WORK_EVERY_S)
            if member.assignment and not signals.at_work.is_set():
                signals.at_work.set()
            if member.assignment and leaves_at is None and plan.leaves_after_s is not None:
                leaves_at = time.monotonic() + plan.leaves_after_s
            for key in member.assignment:
                done[key] = done.get(key, 0) + 1
            mine = {(tp.topic, tp.partition): done[tp] for tp in member.assignment}
            try:
                member.commit(mine)
            except CommitError as error:
                print(f"{plan.client_id}: {error}", flush=True)


def main(arguments: list[str] | None = None) -> int:
    """Runs one group's members, or one of them alone, until SIGTERM."""
    parser = argparse.ArgumentParser(prog="demo_fleet", description="Runs one group of the demo fleet.")
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--group", required=True, choices=[group.group_id for group in FLEET])
    parser.add_argument("--only", metavar="CLIENT_ID", help="this member alone")
    parsed = parser.parse_args(arguments)
    group = next(group for group in FLEET if group.group_id == parsed.group)
    plans = [plan for plan in group.members if (plan.client_id == parsed.only if parsed.only else not plan.is_alone)]
    signals = Signals(stop=threading.Event(), at_work=threading.Event())
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: signals.stop.set())
    threads = [
        threading.Thread(target=take_part, args=(parsed.home, group, plan, signals), name=plan.client_id)
        for plan in plans
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return 0


if __name__ == "__main__":
    sys.exit(main())
