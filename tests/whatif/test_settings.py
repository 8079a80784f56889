"""--set of a what-if: what it means, and what is refused by name."""

from __future__ import annotations

import pytest

from rollcall.answers.simulation.plan import GroupProtocol
from rollcall.answers.whatif.changes import SettingError, trial_of


def test_keys_are_distinguished_into_the_brokers_and_the_clients() -> None:
    (found,) = trial_of(["session.timeout.ms=30000 max.size=5", "static=true assignor=range+sticky"]).settings
    assert found.client == {"session.timeout.ms": "30000", "partition.assignment.strategy": "range+sticky"}
    assert found.broker == {"group.max.size": "5"}
    assert found.is_static is True
    assert found.text == (
        "session.timeout.ms=30000 partition.assignment.strategy=range+sticky group.max.size=5 static=true"
    )


def test_the_group_protocol_is_a_setting_and_may_be_swept() -> None:
    (found,) = trial_of(["group.protocol=consumer group.consumer.session.timeout.ms=30000"]).settings
    assert (found.protocol, found.text) == (
        GroupProtocol.CONSUMER,
        "group.protocol=consumer group.consumer.session.timeout.ms=30000",
    )
    swept = trial_of(["group.protocol=classic,consumer"])
    assert [each.protocol for each in swept.settings] == list(GroupProtocol)


def test_the_kafka_version_is_a_setting_of_the_broker_and_may_be_swept() -> None:
    trial = trial_of(["kafka.version=4.3,4.4"])
    assert [each.broker for each in trial.settings] == [{"kafka.version": "4.3"}, {"kafka.version": "4.4"}]


def test_what_is_set_for_a_single_group_may_be_swept() -> None:
    key = "groups.my.orders.consumer.session.timeout.ms"
    trial = trial_of([f"{key}=8000,20000"])
    assert (trial.swept, [each.text for each in trial.settings]) == (key, [f"{key}=8000", f"{key}=20000"])
    assert trial.settings[1].of_groups == {"my.orders": {"consumer.session.timeout.ms": "20000"}}


def test_a_range_is_swept_in_even_steps_from_end_to_end() -> None:
    trial = trial_of(["session.timeout.ms=6000..60000/4 static=false"])
    assert trial.swept == "session.timeout.ms"
    assert [each.value for each in trial.settings] == ["6000", "24000", "42000", "60000"]
    assert [each.client["session.timeout.ms"] for each in trial.settings] == ["6000", "24000", "42000", "60000"]
    assert {each.is_static for each in trial.settings} == {False}


def test_a_list_is_swept_in_its_own_order() -> None:
    trial = trial_of(["assignor=sticky,range,sticky"])
    assert [each.value for each in trial.settings] == ["sticky", "range"]
    assert trial_of(["static=true,false"]).swept == "static"


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("", "--set names nothing to try"),
        ("session.timeout.ms", "--set session.timeout.ms: is not of the form key=value"),
        ("sesion.timeout.ms=6000", "sesion.timeout.ms=6000: is not a setting that can be tried; known are assignor, "),
        ("group.id=x", "group.id=x: is not a setting that can be tried"),
        ("topics=t:3", "topics=t:3: is not a setting that can be tried"),
        ("session.timeout.ms=long", "session.timeout.ms=long: is not a whole number"),
        ("session.timeout.ms=5000", "session.timeout.ms=5000: a broker takes 6000 to 1800000"),
        ("session.timeout.ms=6000..9000", "session.timeout.ms=6000..9000: a range is of the form"),
        ("session.timeout.ms=9000..6000/3", "session.timeout.ms=9000..6000/3: must rise, in 2 to 200 values"),
        ("session.timeout.ms=6000..9000/1", "session.timeout.ms=6000..9000/1: must rise, in 2 to 200 values"),
        ("session.timeout.ms=6000 session.timeout.ms=7000", "session.timeout.ms=7000: is given twice"),
        ("max.size=1 group.max.size=2", "group.max.size=2: is given twice"),
        ("max.size=1,2 static=true,false", "static=true,false: group.max.size is swept already, one key may be"),
        ("static=yes", "static=yes: is neither true nor false"),
        ("assignor=stiky", "assignor=stiky: is not an assignor that can be played; known are cooperative-sticky"),
        ("max.size=0", "group.max.size=0: must be at least 1"),
        ("session.timeout.ms=,", "session.timeout.ms=,: names no value"),
        ("enable.auto.commit=maybe", "enable.auto.commit=maybe: is neither true nor false"),
        ("kafka.version=4.2", "kafka.version=4.2: is neither 4.3 nor 4.4"),
        ("group.protocol=newer", "group.protocol=newer: is neither classic nor consumer"),
        ("group.protocol=classic,other", "group.protocol=other: is neither classic nor consumer"),
        (
            "group.protocol=consumer session.timeout.ms=10000",
            "session.timeout.ms=10000: cannot be set with group.protocol=consumer, where the broker decides it",
        ),
        (
            "assignor=range group.protocol=consumer",
            "partition.assignment.strategy=range: cannot be set with group.protocol=consumer",
        ),
        (
            "group.remote.assignor=sticky",
            "group.remote.assignor=sticky: is not an assignor of a coordinator; known are uniform",
        ),
        (
            "group.protocol=classic group.remote.assignor=range",
            "group.remote.assignor=range: cannot be set with group.protocol=classic",
        ),
        ("group.consumer.max.size=0", "group.consumer.max.size=0: must be at least 1"),
        (
            "group.consumer.heartbeat.interval.ms=50000",
            "group.consumer.heartbeat.interval.ms=50000: is not below group.consumer.session.timeout.ms=45000",
        ),
        (
            "groups.orders.session.timeout.ms=9000",
            "groups.orders.session.timeout.ms=9000: is not of the form groups.GROUP",
        ),
        ("groups.a.consumer.session.timeout.ms=long", "groups.a.consumer.session.timeout.ms=long: Invalid value long"),
        ("groups.a.share.session.timeout.ms=45000", "groups.a.share.session.timeout.ms=45000: is of no group that can"),
        ("heartbeat.interval.ms=50000", "heartbeat.interval.ms=50000: must be below session.timeout.ms=45000"),
    ],
)
def test_what_cannot_be_tried_is_refused_by_name(text: str, refusal: str) -> None:
    with pytest.raises(SettingError) as refused:
        trial_of([text])
    assert str(refused.value).startswith(refusal)
