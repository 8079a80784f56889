"""What is set for a single group: as Kafka 4.3.1 takes and describes it, and as a group goes by it."""

from __future__ import annotations

from typing import Any

import pytest

from rollcall.coordinator_udfs.protocol.group_configs import GROUP_KEYS, consumer_config_of
from rollcall.coordinator_udfs.protocol.no_single_group import list_config_resources
from rollcall.coordinator_udfs.protocol.step import step
from rollcall.coordinator_udfs.state_codec import decode, encode
from rollcall.schemas.causes import EndCause
from rollcall.schemas.consumer_effects import ChangedConfig, GroupConfigsChanged
from rollcall.schemas.effects import MemberRemoved, MemberUpdated
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import (
    APPEND,
    DELETE_CONFIG,
    SET,
    SUBTRACT,
    AlterConfigsRequest,
    AlterConfigsResource,
    AlteredConfig,
    DeleteGroupsRequest,
    DescribeConfigsRequest,
    DescribeConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResource,
    IncrementallyAlteredConfig,
    ListConfigResourcesRequest,
)
from tests.protocol.bench import Call
from tests.protocol.consumer_bench import ConsumerBench
from tests.protocol.play import compared
from tests.protocol.rules import rule

SESSION, INTERVAL = "consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"
REPLICAS, RENEW = "streams.num.standby.replicas", "share.renew.acknowledge.enable"
BROKER: dict[str, Any] = {
    "session_timeout_ms": 3000,
    "heartbeat_interval_ms": 500,
    "min_session_timeout_ms": 500,
    "min_heartbeat_interval_ms": 100,
}
"""The settings of the broker that gave the answers below."""


def alter(bench: ConsumerBench, *altered: tuple[str, int, str | None], group: str = "g", only: bool = False) -> Call:
    configs = [IncrementallyAlteredConfig(name=n, config_operation=o, value=v) for n, o, v in altered]
    resource = IncrementalAlterConfigsResource(resource_name=group, configs=configs)
    bench.group.group_id = group
    return bench.send(IncrementalAlterConfigsRequest, 1, "admin", resources=[resource], validate_only=only)


def outcome(call: Call) -> tuple[Error, str | None]:
    (answer,) = call.response.responses
    return answer.error_code, answer.error_message


def set_to(bench: ConsumerBench, name: str, value: str) -> tuple[Error, str | None]:
    return outcome(alter(bench, (name, SET, value)))


def described(bench: ConsumerBench, *keys: str, v: int = 4, synonyms: bool = False) -> dict[str, Any]:
    asked = DescribeConfigsResource(resource_name="g", configuration_keys=list(keys) or None)
    call = bench.send(DescribeConfigsRequest, v, "admin", resources=[asked], include_synonyms=synonyms)
    (answer,) = call.response.results
    return {config.name: config for config in answer.configs}


INVALID_VALUE = f"for configuration {SESSION}:"
UNFIT: dict[str, list[tuple[str, int, str | None]]] = {
    "Unknown group config name: foo": [(SESSION, SET, "8000"), ("foo", SET, "1")],
    f"{SESSION} must be greater than or equal to group.consumer.min.session.timeout.ms": [(SESSION, SET, "80")],
    f"{SESSION} must be less than or equal to group.consumer.max.session.timeout.ms": [(SESSION, SET, "99999999")],
    f"{REPLICAS} must be less than or equal to group.streams.max.standby.replicas": [(REPLICAS, SET, "5")],
    f"Invalid value abc {INVALID_VALUE} Not a number of type INT": [(SESSION, SET, "abc")],
    f"Invalid value 2147483648 {INVALID_VALUE} Not a number of type INT": [(SESSION, SET, "2147483648")],
    f"Invalid value -1 {INVALID_VALUE} Value must be at least 1": [(SESSION, SET, "-1")],
    f"Invalid value no for configuration {RENEW}: Expected value to be either true or false": [(RENEW, SET, "no")],
    f"Can't APPEND to key {SESSION} because its type is not LIST.": [(SESSION, APPEND, "8000")],
    f"Can't SUBTRACT to key {SESSION} because its type is not LIST.": [(SESSION, SUBTRACT, "8000")],
    f"{SESSION} must be greater than {INTERVAL}": [(SESSION, SET, "8000"), (INTERVAL, SET, "8000")],
    f"Null value not supported for : {SESSION}": [(SESSION, SET, None)],
    "Error due to duplicate config keys": [(SESSION, SET, "8000"), (SESSION, SET, "9000")],
}


@rule("Group configs: what does not fit is INVALID_CONFIG or INVALID_REQUEST, named, and nothing of its request is set")
@pytest.mark.parametrize("why", UNFIT)
def test_what_does_not_fit_is_refused(why: str) -> None:
    bench = ConsumerBench(**BROKER)
    is_request = why.startswith(("Null", "Error"))
    assert outcome(alter(bench, *UNFIT[why])) == (Error.INVALID_REQUEST if is_request else Error.INVALID_CONFIG, why)
    assert bench.group.configs == {}
    assert not bench.of(GroupConfigsChanged)


@rule("Group configs: no name is INVALID_REQUEST, an unknown operation too")
def test_a_request_that_makes_no_sense_is_refused() -> None:
    bench = ConsumerBench(**BROKER)
    assert outcome(alter(bench, (SESSION, 9, "8000")))[0] is Error.INVALID_REQUEST
    assert outcome(alter(bench, (SESSION, SET, "8000"), group="")) == (
        Error.INVALID_REQUEST,
        "Default group resources are not allowed.",
    )


@rule("Group configs: blanks and a sign around a number are taken; what is not set may be removed, known or not")
def test_what_fits_is_taken() -> None:
    bench = ConsumerBench(**BROKER)
    for value in (" 8000 ", "+8000", "٨٠٠٠"):
        assert set_to(bench, SESSION, value) == (Error.NONE, None)
        assert bench.group.configs == {SESSION: "8000"}
    assert outcome(alter(bench, ("foo", DELETE_CONFIG, None), (INTERVAL, DELETE_CONFIG, None))) == (Error.NONE, None)
    assert outcome(alter(bench)) == (Error.NONE, None)
    for value in ("earliest", "by_duration:PT1H", "by_duration:P1DT2.5S"):
        assert set_to(bench, "share.auto.offset.reset", value)[0] is Error.NONE
    for value in ("never", "by_duration:", "by_duration:P", "by_duration:PT"):
        assert set_to(bench, "share.auto.offset.reset", value)[0] is Error.INVALID_CONFIG


@rule("Group configs: a session and a heartbeat interval are held against each other, set or the broker's")
def test_a_heartbeat_is_shorter_than_a_session() -> None:
    bench = ConsumerBench(**BROKER)
    assert set_to(bench, SESSION, "600")[0] is Error.NONE
    assert set_to(bench, INTERVAL, "700") == (Error.INVALID_CONFIG, f"{SESSION} must be greater than {INTERVAL}")


@rule("Group configs: only validated, nothing is set")
def test_validating_sets_nothing() -> None:
    bench = ConsumerBench(**BROKER)
    assert outcome(alter(bench, (SESSION, SET, "8000"), only=True)) == (Error.NONE, None)
    assert bench.group.configs == {}


@rule("Group configs: AlterConfigs removes what it does not name")
def test_alter_configs_replaces_all() -> None:
    bench = ConsumerBench(**BROKER)
    set_to(bench, SESSION, "8000")

    def replace(*configs: tuple[str, str | None]) -> tuple[Error, str | None]:
        altered = [AlteredConfig(name=name, value=value) for name, value in configs]
        resource = AlterConfigsResource(resource_name="g", configs=altered)
        return outcome(bench.send(AlterConfigsRequest, 2, "admin", resources=[resource]))

    assert replace((INTERVAL, "1000")) == (Error.NONE, None)
    assert bench.group.configs == {INTERVAL: "1000"}
    assert replace((INTERVAL, None)) == (Error.INVALID_REQUEST, f"Null value not supported for : {INTERVAL}")
    assert replace((INTERVAL, "1"), (INTERVAL, "2")) == (Error.INVALID_REQUEST, "Error due to duplicate config keys")
    assert replace() == (Error.NONE, None)
    assert bench.group.configs == {}
    assert not bench.group.is_kept


@rule("DescribeConfigs: what is set comes first, then the broker's, then Kafka's default; a group need not exist")
def test_values_are_described_with_where_they_come_from() -> None:
    bench = ConsumerBench(**BROKER)
    assert described(bench).keys() == GROUP_KEYS.keys()
    set_to(bench, SESSION, "8000")
    found = described(bench, SESSION, INTERVAL, "foo", "share.isolation.level", synonyms=True)
    synonyms = {name: [(s.name, s.value, int(s.source)) for s in found[name].synonyms] for name in found}
    assert synonyms == {
        SESSION: [(SESSION, "8000", 8), (f"group.{SESSION}", "3000", 4), (f"group.{SESSION}", "45000", 5)],
        INTERVAL: [(f"group.{INTERVAL}", "500", 4), (f"group.{INTERVAL}", "5000", 5)],
        "share.isolation.level": [("share.isolation.level", "read_uncommitted", 5)],
    }
    assert [(c.value, int(c.config_source), int(c.config_type)) for c in found.values()] == [
        ("8000", 8, 3),
        ("500", 4, 3),
        ("read_uncommitted", 5, 2),
    ]
    assert not bench.group.is_known


@rule("DescribeConfigs: no name is INVALID_REQUEST")
def test_a_group_without_a_name_is_not_described() -> None:
    bench = ConsumerBench()
    bench.group.group_id = ""
    asked = [DescribeConfigsResource(resource_name="")]
    (answer,) = bench.send(DescribeConfigsRequest, 4, "admin", resources=asked).response.results
    assert (answer.error_code, answer.error_message) == (Error.INVALID_REQUEST, "Group name must not be empty")


@rule(
    "Group configs: in force from a member's next heartbeat, whose answer has the interval; the next silence shows it"
)
def test_a_session_holds_from_the_next_heartbeat() -> None:
    bench = ConsumerBench(**BROKER).with_members("m1", "m2")
    bench.at(1000)
    alter(bench, (SESSION, SET, "8000"), (INTERVAL, SET, "1000"))
    bench.at(2000)
    assert bench.beat("m1").response.heartbeat_interval_ms == 1000
    (updated,) = bench.of(MemberUpdated)
    assert (updated.member_id, updated.session_timeout_ms, updated.at_ms) == ("m1", 8000, 2000)
    bench.tick(3001)
    assert [(gone.member_id, gone.at_ms) for gone in bench.of(MemberRemoved)] == [("m2", 3000)]
    bench.beat("m1")
    assert len(bench.of(MemberUpdated)) == 1
    bench.tick(11_001)
    assert [(gone.member_id, gone.end_cause) for gone in bench.of(MemberRemoved)][1:] == [
        ("m1", EndCause.SESSION_EXPIRED)
    ]


@rule("Group configs: who changed what is reported, and the group's removal changes none of it")
def test_a_change_is_reported_and_outlives_the_group() -> None:
    bench = ConsumerBench(**BROKER)
    bench.at(5)
    set_to(bench, SESSION, "8000")
    set_to(bench, SESSION, "8000")
    bench.at(7)
    alter(bench, (SESSION, SET, "9000"), (INTERVAL, SET, "1000"))
    bench.at(9)
    alter(bench, (SESSION, DELETE_CONFIG, None))
    reported = bench.of(GroupConfigsChanged)
    assert [(each.at_ms, each.client_id, each.client_host, each.is_inferred) for each in reported] == [
        (at_ms, "admin", "/admin", False) for at_ms in (5, 7, 9)
    ]
    assert reported[1].changed == [
        ChangedConfig(name=INTERVAL, value="1000", was=None),
        ChangedConfig(name=SESSION, value="9000", was="8000"),
    ]
    assert reported[2].configs == {INTERVAL: "1000"}
    bench.join("m1", "t1")
    bench.leave("m1")
    bench.send(DeleteGroupsRequest, 2, "admin", groups_names=["g"])
    assert not bench.group.is_known
    assert bench.group.configs == {INTERVAL: "1000"}
    assert bench.group.is_kept


@rule("Group configs: they are stored with the group, also of one that does not exist")
def test_what_is_set_is_stored() -> None:
    bench = ConsumerBench(**BROKER)
    set_to(bench, SESSION, "8000")
    again = decode("g", encode(bench.group).document)
    assert compared(again) == compared(bench.group)
    assert again.configs == {SESSION: "8000"}
    assert not again.is_known


@rule("Group configs: a value that was taken under other bounds is held to those of now, and described as it is set")
def test_values_are_held_to_the_bounds_of_now() -> None:
    bench = ConsumerBench(**BROKER)
    alter(bench, (SESSION, SET, "600"), (INTERVAL, SET, "200"))
    now = ConsumerBench(
        session_timeout_ms=3000, heartbeat_interval_ms=2000, min_session_timeout_ms=2500
    ).config.consumer
    in_force = consumer_config_of(bench.group.configs, now)
    assert (in_force.session_timeout_ms, in_force.heartbeat_interval_ms) == (2500, 2000)
    assert described(bench, SESSION)[SESSION].value == "600"


@rule("Group configs: what the broker gives every group may be set for one, whatever the bounds")
def test_the_brokers_own_value_is_within_the_bounds() -> None:
    bench = ConsumerBench(session_timeout_ms=3000, heartbeat_interval_ms=500)
    assert set_to(bench, SESSION, "3000")[0] is Error.NONE
    assert set_to(bench, SESSION, "2999")[0] is Error.INVALID_CONFIG


@rule("Group configs: what a recording shows is never refused")
def test_what_a_recording_shows_is_never_refused() -> None:
    bench = ConsumerBench(**BROKER)
    resource = IncrementalAlterConfigsResource(
        resource_name="g", configs=[IncrementallyAlteredConfig(name=SESSION, value="80")]
    )
    request = IncrementalAlterConfigsRequest(request_id="r", api_version=1, resources=[resource])
    step(bench.group, request, 1, bench.config.of_a_recording())
    assert bench.group.configs == {SESSION: "80"}


@rule("ListConfigResources: v1 lists groups where no type or theirs is named, v0 knows none; another type is refused")
@pytest.mark.parametrize(
    ("v", "types", "error", "names"),
    [
        (1, [32], Error.NONE, ["g", "h"]),
        (1, [], Error.NONE, ["g", "h"]),
        (1, [2], Error.NONE, []),
        (1, [99], Error.UNSUPPORTED_VERSION, []),
        (0, [], Error.NONE, []),
    ],
)
def test_groups_with_configs_are_listed(v: int, types: list[int], error: Error, names: list[str]) -> None:
    request = ListConfigResourcesRequest(request_id="r", api_version=v, resource_types=types)
    answer = list_config_resources(["g", "h"], request)
    assert (answer.error_code, [each.resource_name for each in answer.config_resources]) == (error, names)
