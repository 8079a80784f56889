"""Splits a request that names many groups into requests that name one each, and joins their answers.

Kafka's DescribeGroups, ConsumerGroupDescribe, DeleteGroups and OffsetFetch (v8+) name several groups in one message;
each group answers for itself, so a gateway (or the trace) splits the request and joins the responses in the order
asked.

Knows the messages; knows no rule of the protocol.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import msgspec

from rollcall.schemas.messages import (
    API_OF,
    AlterConfigsRequest,
    DescribeConfigsRequest,
    IncrementalAlterConfigsRequest,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    Response,
    StreamRequest,
)
from rollcall.schemas.wire_fields import first_version

AGroupRequest = TypeVar("AGroupRequest", bound=StreamRequest)

_encoder = msgspec.msgpack.Encoder()
_GROUPS_SINCE = first_version(OffsetFetchRequest, "groups")


def names_many_groups(request: OffsetFetchRequest) -> bool:
    """Whether an OffsetFetch is of a version that lists groups; an older one names one group, beside its topics."""
    return request.api_version >= _GROUPS_SINCE


def listed_in(request: StreamRequest) -> str:
    """The field in which a request of this version lists groups; empty: it names one group only."""
    if isinstance(request, OffsetFetchRequest) and not names_many_groups(request):
        return ""
    return API_OF[type(request)].groups


def group_id_of(request: StreamRequest) -> str:
    """The group a request that names exactly one group is for."""
    return groups_named(request)[0]


def groups_named(request: StreamRequest) -> list[str]:
    """Every group that the request names, as often as it lists it."""
    field = listed_in(request)
    if not field:
        return [request.group_id]  # type: ignore[union-attr]
    return [one if isinstance(one, str) else one.group_id for one in getattr(request, field)]


def each_once(request: AGroupRequest) -> AGroupRequest:
    """The request with each group that it describes, fetches or deletes listed once, where it is first mentioned.

    An OffsetFetch that lists a group several times asks it for everything together, each partition once; who asks is
    what the first mention says.
    """
    field = listed_in(request)
    if isinstance(request, OffsetFetchRequest) and field:
        mentions: dict[str, list[OffsetFetchRequestGroup]] = {}
        for group in request.groups:
            mentions.setdefault(group.group_id, []).append(group)
        return msgspec.structs.replace(request, groups=[_together(groups) for groups in mentions.values()])
    if isinstance(request, OffsetFetchRequest) and request.topics is not None:
        return msgspec.structs.replace(request, topics=_topics_once(request.topics))
    if isinstance(request, DescribeConfigsRequest | AlterConfigsRequest | IncrementalAlterConfigsRequest):
        first = {one.group_id: one for one in reversed(request.resources)}
        return msgspec.structs.replace(
            request, resources=[first[each] for each in dict.fromkeys(groups_named(request))]
        )
    return msgspec.structs.replace(request, **{field: list(dict.fromkeys(groups_named(request)))}) if field else request


def _together(mentions: list[OffsetFetchRequestGroup]) -> OffsetFetchRequestGroup:
    asked = [group.topics for group in mentions]
    listed = [topics for topics in asked if topics is not None]
    # One mention that asks for all topics asks for the others' as well.
    together = None if len(listed) < len(asked) else _topics_once(topic for topics in listed for topic in topics)
    return msgspec.structs.replace(mentions[0], topics=together)


def _topics_once(topics: Iterable[OffsetFetchRequestTopic]) -> list[OffsetFetchRequestTopic]:
    once: dict[tuple[str, str], dict[int, None]] = {}
    for topic in topics:
        once.setdefault((topic.name, topic.topic_id), {}).update(dict.fromkeys(topic.partition_indexes))
    return [
        OffsetFetchRequestTopic(name=name, topic_id=topic_id, partition_indexes=list(partitions))
        for (name, topic_id), partitions in once.items()
    ]


def split(request: AGroupRequest) -> list[AGroupRequest]:
    """A request for each group that it names, in order, however often a group is listed.

    An OffsetFetch may ask one group twice for different topics, and is then split into both.
    """
    field = listed_in(request)
    if not field:
        return [request]
    listed = getattr(request, field)
    once = dict(zip(_keys(listed), listed, strict=True))
    return [msgspec.structs.replace(request, **{field: [one]}) for one in once.values()]


def _keys(listed: Sequence[Any]) -> list[Any]:
    """What each of the listed groups is asked, as something to compare."""
    return [one if isinstance(one, str) else _encoder.encode(one) for one in listed]


def join(request: StreamRequest, responses: list[Response]) -> Response:
    """The responses to `split(request)`, in its order, as the one response the client asked for.

    As with Kafka, a group that a request describes or fetches twice is answered twice; by DeleteGroups once. The
    client waits as long as the group that tells it to wait longest.
    """
    field = listed_in(request)
    if not field:
        return responses[0]
    api, mentions = API_OF[type(request)], _keys(getattr(request, field))
    by_mention = dict(zip(dict.fromkeys(mentions), responses, strict=True))
    wait_ms = max((response.wait_ms for response in responses), default=0)
    asked = mentions if api.answers_each_mention else by_mention
    answers = [one for mention in asked for one in getattr(by_mention[mention], api.answers)]
    return api.response(throttle_time_ms=wait_ms, **{api.answers: answers})
