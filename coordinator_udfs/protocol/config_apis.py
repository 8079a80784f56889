"""DescribeConfigs (key 32, v1-4), AlterConfigs (key 33, v0-2) and IncrementalAlterConfigs (key 44, v0-1) of one group.

DescribeConfigs v3 adds types and documentation. What is set holds from each member's next heartbeat. It may be set
before the group exists, and stays when the group is deleted. Source: ConfigHelper.handleDescribeConfigsRequest,
createGroupConfigEntry, ConfigurationControlManager.incrementalAlterConfigs, GroupConfig.validate.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum

from rollcall.coordinator_udfs.protocol.answers import answer
from rollcall.coordinator_udfs.protocol.config import ConsumerConfig
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.group_configs import GROUP_KEYS, UnfitConfig, check_bounds, of_broker, value_of
from rollcall.coordinator_udfs.protocol.turn import Turn
from rollcall.schemas.consumer_effects import ChangedConfig, GroupConfigsChanged
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import (
    APIS,
    APPEND,
    DELETE_CONFIG,
    SET,
    SUBTRACT,
    AlterConfigsRequest,
    AlterConfigsResult,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
    DescribedConfig,
    IncrementalAlterConfigsRequest,
)

_LIST_OPERATIONS = {APPEND: "APPEND", SUBTRACT: "SUBTRACT"}


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


class _InvalidRequest(Exception):
    """The text says why."""


def alter_configs(group: Group, request: AlterConfigsRequest | IncrementalAlterConfigsRequest, turn: Turn) -> None:
    """Sets all that one request names, or nothing. AlterConfigs removes what it does not name.

    Errors in the order checked: INVALID_REQUEST (no name; a key named twice, null), INVALID_CONFIG (an operation on
    lists, an unknown key, a value that does not fit or is out of bounds). A key that is not set may be removed, also
    one that nobody knows.
    """
    result = AlterConfigsResult(resource_name=group.group_id)
    try:
        configs = _replaced(request) if isinstance(request, AlterConfigsRequest) else _incremented(group, request)
        if not turn.config.is_of_a_recording:
            check_bounds(configs, turn.config.consumer)
        if not request.validate_only:
            set_configs(group, configs, turn, request=request)
    except _InvalidRequest as invalid:
        result.error_code, result.error_message = Error.INVALID_REQUEST, str(invalid)
    except UnfitConfig as unfit:
        result.error_code, result.error_message = Error.INVALID_CONFIG, str(unfit)
    api = "AlterConfigs" if isinstance(request, AlterConfigsRequest) else "IncrementalAlterConfigs"
    answer(request, api, result.error_code, APIS[api].response(responses=[result]), turn)


def set_configs(
    group: Group,
    configs: dict[str, str],
    turn: Turn,
    *,
    request: AlterConfigsRequest | IncrementalAlterConfigsRequest | None = None,
    why: str = "",
) -> None:
    """Sets exactly these keys for the group; emits it if that is a change.

    request: whose it is; None: a recording proves it by `why`.
    """
    before = group.configs
    names = sorted(name for name in before | configs if before.get(name) != configs.get(name))
    if not names:
        return
    group.configs = dict(sorted(configs.items()))
    turn.emit(
        GroupConfigsChanged(
            at_ms=turn.now_ms,
            configs=group.configs,
            changed=[ChangedConfig(name=name, value=configs.get(name), was=before.get(name)) for name in names],
            request_id="" if request is None else request.request_id,
            client_id="" if request is None else request.client_id,
            client_host="" if request is None else request.client_host,
            principal=None if request is None else request.principal,
            why=why,
            is_inferred=request is None,
        )
    )


def _incremented(group: Group, request: IncrementalAlterConfigsRequest) -> dict[str, str]:
    """The group's configs after the request. Raises _InvalidRequest, UnfitConfig."""
    altered = request.resources[0].configs
    _check_names(group.group_id, [one.name for one in altered])
    for one in altered:
        if one.config_operation != DELETE_CONFIG and one.value is None:
            raise _InvalidRequest(f"Null value not supported for : {one.name}")
        if one.config_operation in _LIST_OPERATIONS and one.name in GROUP_KEYS:
            operation = _LIST_OPERATIONS[one.config_operation]
            raise UnfitConfig(f"Can't {operation} to key {one.name} because its type is not LIST.")
        if one.config_operation not in (SET, DELETE_CONFIG, *_LIST_OPERATIONS):
            raise _InvalidRequest(f"Unknown operation {one.config_operation} for : {one.name}")
    gone = {one.name for one in altered if one.config_operation == DELETE_CONFIG}
    kept = {name: value for name, value in group.configs.items() if name not in gone}
    return kept | {one.name: value_of(one.name, one.value or "") for one in altered if one.name not in gone}


def _replaced(request: AlterConfigsRequest) -> dict[str, str]:
    """The group's configs after a request that names all of them."""
    altered = request.resources[0].configs
    _check_names(request.resources[0].resource_name, [one.name for one in altered])
    for one in altered:
        if one.value is None:
            raise _InvalidRequest(f"Null value not supported for : {one.name}")
    return {one.name: value_of(one.name, one.value or "") for one in altered}


def _check_names(group_id: str, names: list[str]) -> None:
    if not group_id:
        raise _InvalidRequest("Default group resources are not allowed.")
    if len(set(names)) < len(names):
        raise _InvalidRequest("Error due to duplicate config keys")
