"""Which topic a fetch by id is of, from the same client's requests with topic names.

A client fetches the topics that it subscribes to, so an id is one of the names that all clients which fetch it
subscribe to or commit. A name that another id has is left out, unless none is left then. If several names are left, the
one whose committed offsets the fetches begin at is used; otherwise the id is the name. A client is its client id and
its address, since a Fetch names neither group nor member.

Knows names, ids and offsets; knows no group.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from rollcall.inputs.request_log.following.topic_names import names_described
from rollcall.inputs.request_log.recorded import LoggedRequest
from rollcall.schemas.consumer_protocol import decode_subscription
from rollcall.schemas.layout import LayoutError
from rollcall.schemas.messages import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupHeartbeatRequest,
    JoinGroupRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
    OffsetFetchResponse,
)
from rollcall.tables.lag.rows import Fetched

Client = tuple[str, str]
_CLIENTS_KEPT = 100_000


class TopicIds:
    """What was seen so far of clients, names and ids."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        """By topic id."""
        self._of_client: dict[Client, set[str]] = {}
        self._committed: dict[tuple[Client, str, int], int] = {}
        self._fetching: dict[str, set[Client]] = {}
        self._matches: dict[str, Counter[str]] = {}

    def read(self, entry: LoggedRequest) -> None:
        """Takes in a client's request with topic names."""
        request = entry.request
        client = (request.client_id, request.client_host)
        match request:
            case JoinGroupRequest():
                for protocol in request.protocols:
                    self._note(client, _subscribed(protocol.metadata))
            case ConsumerGroupHeartbeatRequest():
                self._note(client, request.subscribed_topic_names or ())
            case ConsumerGroupDescribeRequest():
                self.names.update(names_described(entry))
            case OffsetCommitRequest():
                for topic in request.topics:
                    for one in topic.partitions:
                        self._note_offset(client, topic.name, one.partition_index, one.committed_offset)
            case OffsetFetchRequest():
                response = entry.recorded.response
                assert isinstance(response, OffsetFetchResponse)
                for fetched in (topic for group in response.groups for topic in group.topics):
                    for part in fetched.partitions:
                        self._note_offset(client, fetched.name, part.partition_index, part.committed_offset)

    def saw(self, fetched: Fetched) -> None:
        """A client fetches a topic that is named by id."""
        client = (fetched.client_id, fetched.client_host)
        self._fetching.setdefault(fetched.topic, set()).add(client)
        for name in self._of_client.get(client, ()) if fetched.fetched_offset > 0 else ():
            if self._committed.get((client, name, fetched.partition)) == fetched.fetched_offset:
                self._matches.setdefault(fetched.topic, Counter())[name] += 1

    def infer(self) -> None:
        """Infers what can be inferred by now."""
        is_new = True
        while is_new:
            left = [topic_id for topic_id in self._fetching if topic_id not in self.names]
            found = {topic_id: name for topic_id in left if (name := self._only_name(topic_id)) is not None}
            self.names.update(found)
            is_new = bool(found)

    def _only_name(self, topic_id: str) -> str | None:
        clients = [self._of_client[client] for client in self._fetching[topic_id] if client in self._of_client]
        candidates = set[str].intersection(*clients) if clients else set()
        # A topic that was made again has another id and its name.
        candidates = (candidates - set(self.names.values())) or candidates
        if len(candidates) == 1:
            return candidates.pop()
        matches = self._matches.get(topic_id, Counter())
        ranked = sorted(((matches[name], name) for name in candidates), reverse=True)
        # Two topics may have the same offset by chance, but not repeatedly.
        return ranked[0][1] if len(ranked) > 1 and ranked[0][0] > 2 * ranked[1][0] else None

    def _note(self, client: Client, names: Iterable[str]) -> None:
        if len(self._of_client) >= _CLIENTS_KEPT:
            self._of_client.clear()
        self._of_client.setdefault(client, set()).update(name for name in names if name)

    def _note_offset(self, client: Client, name: str, partition: int, offset: int) -> None:
        if not name:
            return
        self._note(client, (name,))
        if len(self._committed) >= _CLIENTS_KEPT:
            self._committed.clear()
        self._committed[(client, name, partition)] = offset


def _subscribed(metadata: bytes) -> tuple[str, ...]:
    try:
        return tuple(decode_subscription(metadata).topics)
    except LayoutError:
        return ()
