"""Offsets committed in transactions, as a consumer does that processes exactly once.

Knows the client library; must not know what is made of the records.
"""

from __future__ import annotations

from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition


class Transactions:
    """Commits of one group, which nobody is a member of, each in a transaction of its own. client: the settings."""

    def __init__(self, client: dict[str, Any], group: str) -> None:
        self.group = group
        self._consumer = Consumer({**client, "group.id": group})
        self._producer = Producer({**client, "transactional.id": f"{group}-transactions"})
        self._producer.init_transactions(30)

    def commit(self, topic: str, offset: int, *, is_aborted: bool = False) -> None:
        """Commits an offset of the topic's first partition; aborted, it never counts."""
        self._producer.begin_transaction()
        offsets = [TopicPartition(topic, 0, offset)]
        self._producer.send_offsets_to_transaction(offsets, self._consumer.consumer_group_metadata(), 30)
        if is_aborted:
            self._producer.abort_transaction(30)
        else:
            self._producer.commit_transaction(30)

    def close(self) -> None:
        self._consumer.close()
