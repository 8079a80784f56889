"""Which of the upstream's APIs are passed on, and up to which version.

APIs that would create groups in the upstream are not passed on: the newer group protocols, and commits of offsets in a
transaction. Consumer groups are answered here. Two APIs end earlier than the upstream's: in later versions
answers that are too long to be rewritten name brokers' addresses.

Knows API keys; knows no bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rollcall.serve.gateway.exchange import Endpoint

API_VERSIONS, METADATA, FIND_COORDINATOR, DESCRIBE_CLUSTER, PRODUCE = 18, 3, 10, 60, 0
_SASL = frozenset({17, 36})
_GROUPS_OF_OTHER_PROTOCOLS = frozenset({68, 69, *range(76, 80), *range(83, 93)})
_TRANSACTIONAL_OFFSETS = frozenset({25, 28})

NOT_PASSED_ON = _SASL | _GROUPS_OF_OTHER_PROTOCOLS | _TRANSACTIONAL_OFFSETS
LAST_VERSIONS = {PRODUCE: 9, 1: 15, API_VERSIONS: 4, METADATA: 13, DESCRIBE_CLUSTER: 2, FIND_COORDINATOR: 6}
"""From Produce v10 and Fetch v16 on, answers name addresses; the others end where kio does."""
_FIRST_PRODUCE = 3
"""Kafka lists v0 to v2 for an old client, but does not answer them."""
LAST_OF_OURS = {"OffsetCommit": 9, "OffsetFetch": 9}
"""v10 names topics by id, and the id of a topic that was just created is not known here yet."""
_NEED_TOPICS = frozenset({68, 69})
"""Our group APIs that need to know the upstream's topics, their ids and their sizes."""
FEATURES_LEFT_OUT = frozenset({"group.version", "share.version", "streams.version", "transaction.version"})
"""Features whose APIs or versions are not passed on."""

Range = tuple[int, int]


def is_passed_on(api_key: int, version: int) -> bool:
    first = _FIRST_PRODUCE if api_key == PRODUCE else 0
    return api_key not in NOT_PASSED_ON and first <= version <= LAST_VERSIONS.get(api_key, version)


def offered(upstream: Mapping[int, Range], own: Iterable[Endpoint], has_topics: bool) -> dict[int, Range]:
    """The versions that a client is offered, from those that the upstream offers, and those that are answered here.

    has_topics: the upstream's topics are known.
    """
    passed = {
        key: (first, min(last, LAST_VERSIONS.get(key, last)))
        for key, (first, last) in upstream.items()
        if key not in NOT_PASSED_ON
    }
    ours = {
        api.key: (api.first, api.last)
        for api in own
        if api.key != API_VERSIONS and (has_topics or api.key not in _NEED_TOPICS)
    }
    return passed | ours
