"""The session timeouts of a cluster's consumer groups, which are not in its topic: the cluster is asked for them.

They are configurations of groups (DescribeConfigs of the resource GROUP) and take the right DESCRIBE_CONFIGS. Must not
know what the answers are used for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, ConfigResource  # type: ignore[attr-defined]

from rollcall.coordinator_udfs.protocol.group_configs import GROUP_KEYS, SESSION_TIMEOUT
from rollcall.programs.errors import ConfigError
from rollcall.programs.kafka_options import client_settings

_WITHIN_S = 15.0
_DENIED = (KafkaError.GROUP_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED)
_TAKEN_FOR = f"their members' sessions are taken for {int(GROUP_KEYS[SESSION_TIMEOUT].default) // 1000} s long"


class Sessions(NamedTuple):
    """What a cluster says of its groups' sessions."""

    by_group: dict[str, int]
    """ms, of the groups that may be described."""
    says: str
    """A sentence for the user about the other groups; empty: there are none."""


def ask_sessions(options: Mapping[str, str]) -> Sessions:
    """Asks once. options: settings `kafka.*`."""
    try:
        admin = AdminClient({**client_settings(options), "log_level": "0"})
        listed = admin.list_consumer_groups(request_timeout=_WITHIN_S).result().valid
        asked = [ConfigResource(ConfigResource.Type.GROUP, group.group_id) for group in listed]
        answers = admin.describe_configs(asked, request_timeout=_WITHIN_S) if asked else {}
    except ConfigError as error:
        return Sessions({}, f"{error}; what is set for consumer groups cannot be asked: {_TAKEN_FOR}.")
    except KafkaException as error:
        return Sessions({}, f"what is set for consumer groups is not known ({error.args[0].str()}): {_TAKEN_FOR}.")
    found: dict[str, int] = {}
    denied: list[str] = []
    for resource, answer in answers.items():
        try:
            entry = answer.result().get(SESSION_TIMEOUT)
        except KafkaException as error:
            denied.append(_reason(error))
            continue
        if entry is not None:
            found[resource.name] = int(entry.value)
    if not denied:
        return Sessions(found, "")
    return Sessions(found, f"of {len(denied)} groups it is not known what is set for them ({denied[0]}): {_TAKEN_FOR}.")


def _reason(error: KafkaException) -> str:
    failure = error.args[0]
    return "no right DESCRIBE_CONFIGS on the group" if failure.code() in _DENIED else str(failure.str())
