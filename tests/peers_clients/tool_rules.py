"""Administrators' tools, unmodified: kafka-consumer-groups.sh, kafka-python's and confluent-kafka's admin clients.

The tests, for whatever coordinator a folder's `coordinator` is: tests of each folder import them.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import ConsumerGroupState, ConsumerGroupTopicPartitions, ConsumerGroupType, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin import ConfigResource as Confluents  # type: ignore[attr-defined]
from kafka import KafkaAdminClient
from kafka.admin import ConfigResource as KafkaPythons
from kafka.admin import ConfigResourceType
from kafka.structs import TopicPartition as Place

from tests.peers_clients.conftest import PARTITIONS, Coordinator
from tests.peers_clients.fleet import Fleet, Worker
from tests.peers_clients.java_clients import configs, consumer_groups

Group = tuple[Fleet, Worker]


@pytest.fixture
def group(coordinator: Coordinator) -> Iterator[Group]:
    """A group of one consumer that committed offset 42 of partition 3."""
    with coordinator.fleet() as fleet:
        worker = fleet.start("confluent", "worker-7")
        fleet.await_shares([worker], PARTITIONS)
        worker.ask("commit", "work/3", 42)
        yield fleet, worker


def rows(text: str) -> list[list[str]]:
    """The lines of a tool's table, head included, as words."""
    return [line.split() for line in text.splitlines() if line.strip()]


def test_kafka_consumer_groups_lists_and_describes(group: Group, coordinator: Coordinator) -> None:
    fleet, _ = group
    name, boot = fleet.group, coordinator.bootstrap
    assert [name] in rows(consumer_groups(boot, "--list"))
    assert [name, "Stable"] in rows(consumer_groups(boot, "--list", "--state"))
    (_, *offsets) = rows(consumer_groups(boot, "--describe", "--group", name))
    assert sorted(int(row[2]) for row in offsets) == list(range(PARTITIONS))
    assert {row[8] for row in offsets} == {"worker-7"}
    assert {row[7] for row in offsets} == {"/127.0.0.1"}
    assert [row[3] for row in offsets if row[2] == "3"] == ["42"]
    (_, state) = rows(consumer_groups(boot, "--describe", "--group", name, "--state"))
    assert state == [name, boot, "(0)", "range", "Stable", "1"]
    (_, member) = rows(consumer_groups(boot, "--describe", "--group", name, "--members"))
    assert member[2:5] == ["/127.0.0.1", "worker-7", "12"]


def test_kafka_consumer_groups_resets_offsets_and_deletes(group: Group, coordinator: Coordinator) -> None:
    fleet, worker = group
    name, boot = fleet.group, coordinator.bootstrap
    assert "The group is not empty" in consumer_groups(boot, "--delete", "--group", name)
    worker.close()
    reset = ["--reset-offsets", "--group", name, "--topic", "work", "--to-earliest", "--execute"]
    (_, *moved) = rows(consumer_groups(boot, *reset))
    assert sorted(int(row[2]) for row in moved) == list(range(PARTITIONS))
    assert {row[3] for row in moved} == {"0"}
    deleted = consumer_groups(boot, "--delete-offsets", "--group", name, "--topic", "work:3")
    assert ["work", "3", "Successful"] in rows(deleted)
    assert "was successful" in consumer_groups(boot, "--delete", "--group", name)
    assert f"Group {name} not found" in consumer_groups(boot, "--describe", "--group", name)
    assert [name] not in rows(consumer_groups(boot, "--list"))


def test_kafka_pythons_admin_client_knows_groups(group: Group, coordinator: Coordinator) -> None:
    fleet, worker = group
    admin = KafkaAdminClient(bootstrap_servers=coordinator.bootstrap)
    try:
        assert fleet.group in {listed["group_id"] for listed in admin.list_groups()}
        described = admin.describe_groups([fleet.group])[fleet.group]
        assert described["group_state"] == "Stable"
        assert [member["client_id"] for member in described["members"]] == ["worker-7"]
        offsets = admin.list_group_offsets(fleet.group)
        assert offsets[fleet.group][Place("work", 3)].offset == 42
        worker.close()
        admin.delete_groups([fleet.group])
        assert fleet.group not in {listed["group_id"] for listed in admin.list_groups()}
    finally:
        admin.close()


def test_confluents_admin_client_knows_groups(group: Group, coordinator: Coordinator) -> None:
    fleet, worker = group
    admin = AdminClient({"bootstrap.servers": coordinator.bootstrap})
    listed = admin.list_consumer_groups().result()
    assert fleet.group in {found.group_id for found in listed.valid}
    described = admin.describe_consumer_groups([fleet.group])[fleet.group].result()
    assert described.state.name == "STABLE"
    assert [(member.client_id, member.host) for member in described.members] == [("worker-7", "/127.0.0.1")]
    asked = [ConsumerGroupTopicPartitions(fleet.group, [TopicPartition("work", 3)])]
    (found,) = admin.list_consumer_group_offsets(asked)[fleet.group].result().topic_partitions
    assert found.offset == 42
    worker.close()
    moved = [ConsumerGroupTopicPartitions(fleet.group, [TopicPartition("work", 3, 7)])]
    admin.alter_consumer_group_offsets(moved)[fleet.group].result()
    (found,) = admin.list_consumer_group_offsets(asked)[fleet.group].result().topic_partitions
    assert found.offset == 7
    admin.delete_consumer_groups([fleet.group])[fleet.group].result()
    assert fleet.group not in {group.group_id for group in admin.list_consumer_groups().result().valid}


def test_tools_know_groups_of_the_newer_protocol_by_their_type(coordinator: Coordinator) -> None:
    with (
        coordinator.fleet(protocol="consumer") as fleet,
        coordinator.fleet(protocol="consumer") as empty,
        coordinator.fleet() as classic,
    ):
        name, boot = fleet.group, coordinator.bootstrap
        worker, gone, other = (each.start("confluent", "worker-8") for each in (fleet, empty, classic))
        fleet.await_shares([worker], PARTITIONS)
        empty.await_shares([gone], PARTITIONS)
        classic.await_shares([other], PARTITIONS)
        gone.close()
        worker.ask("commit", "work/3", 42)
        coordinator.await_stable(name, 1)
        listed = rows(consumer_groups(boot, "--list", "--type", "consumer", "--state", "stable"))
        assert [name, "Consumer", "Stable"] in listed
        assert classic.group not in {row[0] for row in listed}
        (_, *offsets) = rows(consumer_groups(boot, "--describe", "--group", name))
        assert sorted(int(row[2]) for row in offsets) == list(range(PARTITIONS))
        assert {(row[7], row[8]) for row in offsets} == {("/127.0.0.1", "worker-8")}
        assert [row[3] for row in offsets if row[2] == "3"] == ["42"]
        (_, state) = rows(consumer_groups(boot, "--describe", "--group", name, "--state"))
        assert state == [name, boot, "(0)", "uniform", "Stable", "1"]
        (_, member) = rows(consumer_groups(boot, "--describe", "--group", name, "--members"))
        assert member[2:5] == ["/127.0.0.1", "worker-8", "12"]
        assert "The group is not empty" in consumer_groups(boot, "--delete", "--group", name)
        assert "was successful" in consumer_groups(boot, "--delete", "--group", empty.group)
        admin = AdminClient({"bootstrap.servers": boot})
        assert_confluents_admin_client_knows(admin, name, classic.group)
        worker.close()
        admin.delete_consumer_groups([name])[name].result()
        left = {row[0] for row in rows(consumer_groups(boot, "--list", "--type", "consumer"))}
        assert not {name, empty.group} & left


def assert_confluents_admin_client_knows(admin: AdminClient, name: str, other: str) -> None:
    """It lists a group of the newer protocol by its type, and describes it."""
    of_type = admin.list_consumer_groups(
        types={ConsumerGroupType.CONSUMER}, states={ConsumerGroupState.STABLE}
    ).result()
    found = {group.group_id: (group.type.name, group.state.name) for group in of_type.valid}
    assert found[name] == ("CONSUMER", "STABLE")
    assert other not in found
    described = admin.describe_consumer_groups([name])[name].result()
    assert (described.state.name, described.type.name, described.partition_assignor) == (
        "STABLE",
        "CONSUMER",
        "uniform",
    )
    (member,) = described.members
    assert (member.client_id, member.host) == ("worker-8", "/127.0.0.1")
    assert len(member.assignment.topic_partitions) == PARTITIONS


SESSION = "consumer.session.timeout.ms"


def test_tools_set_and_describe_what_holds_for_one_group(coordinator: Coordinator) -> None:
    boot = coordinator.bootstrap
    of_orders = ("--entity-type", "groups", "--entity-name", "orders-set")
    assert "Completed updating" in configs(boot, *of_orders, "--alter", "--add-config", f"{SESSION}=50000")
    assert f"{SESSION}=50000" in configs(boot, *of_orders, "--describe")
    assert "for group orders-set are" in configs(boot, "--entity-type", "groups", "--describe")
    assert f"less than or equal to group.{SESSION.replace('.session', '.max.session')}" in configs(
        boot, *of_orders, "--alter", "--add-config", f"{SESSION}=99999999"
    )
    confluents = AdminClient({"bootstrap.servers": boot})
    (reported,) = confluents.describe_configs([Confluents(Confluents.Type.GROUP, "orders-set")]).values()
    assert reported.result()[SESSION].value == "50000"
    admin = KafkaAdminClient(bootstrap_servers=boot)
    try:
        admin.alter_configs([KafkaPythons(ConfigResourceType.GROUP, "orders-set", {SESSION: "55000"})])
        found = admin.describe_configs([KafkaPythons(ConfigResourceType.GROUP, "orders-set")])
        assert found["group"]["orders-set"][SESSION]["value"] == "55000"
    finally:
        admin.close()
    assert "Completed updating" in configs(boot, *of_orders, "--alter", "--delete-config", SESSION)
    assert "orders-set" not in configs(boot, "--entity-type", "groups", "--describe")
