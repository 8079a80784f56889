"""A real consumer of either group protocol that says when it was given partitions and when it gave them up.

    python -m tests.peers_kafka.reporting_consumer SETTINGS TOPIC      SETTINGS: the client's, as JSON

Each line on standard output is {"at_ms", "event": "assigned" | "revoked", "partitions"}. It closes at the end of its
input. Knows the client library; must not know what is made of its lines.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from typing import Any

from confluent_kafka import Consumer


def main(settings: str, topic: str) -> None:
    consumer = Consumer(json.loads(settings))
    consumer.subscribe([topic], on_assign=_say_assigned, on_revoke=_say_revoked, on_lost=_say_revoked)
    is_over = threading.Event()
    threading.Thread(target=_await_end, args=(is_over,), daemon=True).start()
    while not is_over.is_set():
        consumer.poll(0.05)
    consumer.close()


def _await_end(is_over: threading.Event) -> None:
    sys.stdin.read()
    is_over.set()


def _say_assigned(_: Any, partitions: list[Any]) -> None:
    _say("assigned", partitions)


def _say_revoked(_: Any, partitions: list[Any]) -> None:
    _say("revoked", partitions)


def _say(event: str, partitions: list[Any]) -> None:
    numbers = [one.partition for one in partitions]
    print(json.dumps({"at_ms": int(time.time() * 1000), "event": event, "partitions": numbers}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
