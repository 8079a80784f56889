"""DescribeConfigs (key 32, v1-4): what is set for one group, and the defaults that hold otherwise.

v3 adds types and documentation. Source: ConfigHelper.handleDescribeConfigsRequest, createGroupConfigEntry.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum

from rollcall.coordinator_udfs.protocol.answers import answer
from rollcall.coordinator_udfs.protocol.config import ConsumerConfig
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.group_configs import GROUP_KEYS, of_broker
from rollcall.coordinator_udfs.protocol.turn import Turn
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import (
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
    DescribedConfig,
)


class ConfigSource(IntEnum):
    """Where a value comes from (org.apache.kafka.common.requests.DescribeConfigsResponse.ConfigSource)."""

    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    GROUP_CONFIG = 8


def describe_configs(group: Group, request: DescribeConfigsRequest, turn: Turn) -> None:
    """Every key that is asked for, or all of them; an unknown key is left out.

    Error: INVALID_REQUEST (no name). A group need not exist.
    """
    asked = request.resources[0]
    if not group.group_id:
        error, why = Error.INVALID_REQUEST, "Group name must not be empty"
        result = DescribeConfigsResult(resource_name="", error_code=error, error_message=why)
        return answer(request, "DescribeConfigs", error, DescribeConfigsResponse(results=[result]), turn)
    names = asked.configuration_keys or GROUP_KEYS
    configs = []
    for name in (name for name in dict.fromkeys(names) if name in GROUP_KEYS):
        key, values = GROUP_KEYS[name], list(_values(name, group, turn.config.consumer))
        configs.append(
            DescribedConfig(
                name=name,
                value=values[0].value,
                config_source=values[0].source,
                synonyms=values if request.include_synonyms else [],
                config_type=key.type,
                documentation=(key.means or None) if request.include_documentation else None,
            )
        )
    result = DescribeConfigsResult(resource_name=group.group_id, error_message="", configs=configs)
    return answer(request, "DescribeConfigs", Error.NONE, DescribeConfigsResponse(results=[result]), turn)


def _values(name: str, group: Group, broker: ConsumerConfig) -> Iterator[DescribeConfigsSynonym]:
    """The values that are set; the first one holds."""
    broker_key = GROUP_KEYS[name].broker_key
    if name in group.configs:
        yield DescribeConfigsSynonym(name=name, value=group.configs[name], source=ConfigSource.GROUP_CONFIG)
    default, given = GROUP_KEYS[name].default, of_broker(name, broker)
    if given != default:
        yield DescribeConfigsSynonym(name=broker_key, value=given, source=ConfigSource.STATIC_BROKER_CONFIG)
    yield DescribeConfigsSynonym(name=broker_key or name, value=default, source=ConfigSource.DEFAULT_CONFIG)
