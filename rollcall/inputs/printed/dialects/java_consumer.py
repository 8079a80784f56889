"""What the Java consumer prints of the classic protocol, with Connect's worker, Streams and Spring around it.

Sources: `ConsumerCoordinator`, `AbstractCoordinator` and `ConsumerRebalanceListenerInvoker` of Kafka 1.0 to 4.3,
`WorkerCoordinator`, `StreamThread`. Layouts differ from application to application, so the prefix
`[Consumer clientId=.., groupId=..]` is looked for wherever it stands. Before 1.0 there is none: the class that prints
tells such a line, and `java_consumer_older.py` has what only such versions print.
"""

from __future__ import annotations

import re

import re2

from rollcall.inputs.printed.dialects.dialect import Dialect, Heading, wherever
from rollcall.inputs.printed.dialects.java_consumer_newer import OF_THE_NEWER_PROTOCOL, RECONCILING
from rollcall.inputs.printed.dialects.java_consumer_older import BEFORE_1_0
from rollcall.inputs.printed.dialects.java_exceptions import OF_EXCEPTIONS, thrown_in
from rollcall.inputs.printed.error_names import CONFIG_MISMATCH
from rollcall.inputs.printed.lines.entries import Entry
from rollcall.inputs.printed.logged_facts import (
    FATAL,
    INCREMENTAL,
    LEAVE_REFUSED,
    OFFSETS_NOT_COMMITTED,
    PRODUCER_FENCED,
    TASKS_MIGRATED,
)
from rollcall.inputs.printed.logged_facts import FactKind as F
from rollcall.inputs.printed.templates import Template, Templates

_PREFIX = re2.compile(
    r"\[(?:Consumer|Worker|Schema registry|(?P<is_share>ShareConsumer)) (?:instanceId=(?P<instance_id>[^,\]]*), )?"
    r"clientId=(?P<client_id>[^,\]]*), groupId=(?P<group_id>[^\]]*)\] "
)
_CLASSES = ("AbstractCoordinator", "ConsumerCoordinator", "WorkerCoordinator")
_BY_CLASS = re.compile(
    rf"(?<!\w)(?:{'|'.join(_CLASSES)})(?:\.\w{{1,40}})?(?:[: ]\d{{1,6}})?\s*(?:\[[^\]]{{1,100}}\]\s*)?[:\]-] "
)
"""A method, a line or a thread may stand behind the class."""
_BEHIND_LOGGER = re.compile(r"\A(?:\[[^\]]{1,100}\]: |\d{1,6} - )")
_ITS_OWN = re.compile(
    r"Successfully (?:joined group with|synced group in) generation Generation\{|Request joining group due to: |"
    r"Finished assignment for group at generation \d{1,10}: \{|"
    r"GroupAuthorizationException: Not authorized to access group: |"
    r"KafkaException: Unexpected error in join group response: |FencedInstanceIdException: The broker rejected |"
    r"(?:CommitFailed|RebalanceInProgress)Exception: (?:Offset c|C)ommit cannot be completed since "
)
"""Words that no other library has, of a line without its prefix, or of an application's own."""
_THROWN = re.compile(
    r"(?:CommitFailed|RebalanceInProgress)Exception: (?:Offset c|C)ommit cannot be completed since [^\"\\\n]{1,2000}"
)
"""An exception in another field than the message: a quotation mark or a line break ends it."""
_BESIDE_ITS_OWN = re.compile(
    r"\(Re-\)joining group$|(?:Adding|Setting) newly assigned partitions: |"
    r"(?:Revoke|Lost|Giving away all) (?:previously )?assigned partitions |Attempt to heartbeat failed "
)
_STREAM_THREAD = re2.compile(r"stream-thread \[(?P<name>[^\]]+)\] ")
_HANDLER_CHOSE = "Encountered the following exception during processing and the registered exception handler opted to "
_ALL_DIED = "All stream threads have died"
_STREAMS_STOPS = re2.compile(rf"stream-client \[[^\]]+\] (?P<message>{_HANDLER_CHOSE}SHUTDOWN_[A-Z]+|{_ALL_DIED})\.")
_COORDINATOR = re.compile(r"\(id: (\d{1,10}) ")
_LAST_ID = 2_147_483_647
"""A coordinator's connection has this id less its broker's."""


def java_heading(entry: Entry) -> Heading | None:
    """The prefix's fields and the message behind it, without a final dot."""
    found = _PREFIX.search(entry.printed)
    fields: dict[str, object] = {}
    if found is not None:
        fields = {name: value for name, value in found.groupdict().items() if value}
        message = entry.printed[found.end() :].rstrip(". ")
    elif (bare := _by_class(entry)) is not None:
        message = bare
    elif (words := _ITS_OWN.search(entry.printed)) is not None:
        message = entry.printed[words.start() :].partition("\n")[0].rstrip(". ")
    elif entry.message and (thrown := _THROWN.search(entry.text)):
        message = thrown[0].rstrip(". ")
    else:
        streams, exception = _streams(entry), thrown_in(entry)
        return Heading({}, exception) if streams is None and exception is not None else streams
    if fields.pop("is_share", None):
        fields["group_type"] = "share"
    if message.startswith(RECONCILING):
        message = " ".join(" ".join((message, *entry.tail)).split())
    coordinator = _COORDINATOR.search(message)
    if coordinator is not None and message.startswith(("Discovered", "Group coordinator", "Marking", "Requesting")):
        fields["broker_id"] = str(_LAST_ID - int(coordinator[1]))
    return Heading(fields, message)


def _by_class(entry: Entry) -> str | None:
    """The message of a client before 1.0: its class stands before it, or is the logger."""
    if not set(_CLASSES).isdisjoint(entry.logger.split(".")[-2:]):
        return _BEHIND_LOGGER.sub("", entry.printed).rstrip(". ")
    found = _BY_CLASS.search(entry.printed)
    return None if found is None else entry.printed[found.end() :].rstrip(". ")


def _streams(entry: Entry) -> Heading | None:
    """A Streams thread: its consumer has its name, and says the group. Of a whole instance, that it stops."""
    found = _STREAM_THREAD.search(entry.printed)
    if found is None:
        stops = _STREAMS_STOPS.search(entry.printed)
        return None if stops is None else Heading({}, stops["message"])
    return Heading({"client_id": f"{found['name']}-consumer"}, entry.printed[found.end() :].rstrip(". "))


_GENERATION = "Generation{generationId={generation_id}, memberId='{member_id}', protocol={}"
_NOT_AUTHORIZED = "GroupAuthorizationException: Not authorized to access group: "
_FAILED = "Rebalance failed"
_UNKNOWN_NOW, _JOINS_AGAIN = "Marking coordinator unknown", "Need to re-join the group"
_LEAVE_FAILED = "LeaveGroup request with {} failed with error: "
_JOIN_FAILED = "KafkaException: Unexpected error in join group response: "

_JOINS = (
    Template(F.JOIN_SENT, "(Re-)joining group", since="1.0"),
    Template(F.JOIN_SENT, "Rebalance started", since="2.3"),
    Template(F.GROUP_IS_REBALANCING, "Request joining group due to: group is already rebalancing", since="3.0"),
    Template(F.GROUP_IS_REBALANCING, "Attempt to heartbeat failed since group is rebalancing", since="0.11"),
    Template(F.GROUP_IS_REBALANCING, "Attempt to heartbeat failed for since group is rebalancing", since="0.11"),
    Template(F.REJOIN_WANTED, "Request joining group due to: {reason}", since="3.0"),
    Template(
        F.CONFIGS_BEHIND,
        "Current config state offset {number} does not match group assignment {number}. Forcing rebalance",
        since="2.3",
    ),
    Template(
        F.CONFIG_LOG_EMPTY,
        "Finished reading to end of log and updated config snapshot, new config log offset: -1",
        since="2.3",
    ),
    Template(F.JOINED, "Successfully joined group with generation " + _GENERATION, since="2.7"),
    Template(F.JOINED, "Successfully joined group with generation {generation_id}", since="1.0"),
    Template(F.SYNCED, "Successfully synced group in generation " + _GENERATION, since="2.7"),
    Template(
        F.LEADER_CONFIGS_BEHIND,
        "Was selected to perform assignments, but do not have latest config found in sync request. Returning an empty "
        "configuration to trigger re-sync",
        since="2.3",
    ),
    *(
        Template(
            F.SYNC_REFUSED,
            "Joined group at generation {generation_id} with protocol version {number} and got assignment: "
            f"Assignment{{error=1, {which}",
            since="2.3",
            error=f"{CONFIG_MISMATCH}: the workers do not have the same configs, and the leader could not resolve it",
        )
        for which in ("leader='{other_member_id}', leaderUrl={partitions}", "{partitions}")
    ),
    Template(
        F.SYNCED,
        "Joined group at generation {generation_id} with protocol version {number} and got assignment: {partitions} "
        "with rebalance delay: {length_ms}",
        since="2.4",
    ),
    Template(
        F.SYNCED,
        "Joined group at generation {generation_id} with protocol version {number} and got assignment: {partitions}",
        since="2.4",
    ),
    Template(F.ASSIGNED_ALL, "Finished assignment for group at generation {generation_id}: {partitions}", since="2.4"),
    *(
        Template(
            F.INSTANCE_FENCED,
            f"{kind} failed: The group instance id {{instance_id}} has been fenced by another instance. {{}}",
            since="2.7",
        )
        for kind in ("JoinGroup", "SyncGroup")
    ),
    *(
        Template(F.JOIN_REFUSED, f"{request} failed due to {kind} error: {{error}}", since=since, state=FATAL)
        for request, since in (("JoinGroup", "2.7"), ("Attempt to join group", "1.0"))
        for kind in ("fatal", "unexpected")
    ),
    *(
        Template(kind, f"{request} failed: {{error}}{then}", since=since)
        for kind, request, since in ((F.JOIN_REFUSED, "JoinGroup", "2.7"), (F.SYNC_REFUSED, "SyncGroup", "2.7"))
        for then in (f" {_UNKNOWN_NOW}. Sent generation was {{}}", f" {_JOINS_AGAIN}. Sent generation was {{}}", "")
    ),
    Template(F.NOT_AUTHORIZED, _NOT_AUTHORIZED + "{group_id}", since="0.9"),
    Template(F.JOIN_FAILED, f"{_FAILED}. org.apache.kafka.common.errors.{{error}}", since="2.7"),
    Template(F.JOIN_FAILED, f"{_FAILED}. {{error}}", since="2.7"),
)
_PARTITIONS = (
    Template(F.PARTITIONS_ADDED, "Adding newly assigned partitions: {partitions}", since="2.4", operation=INCREMENTAL),
    Template(F.PARTITIONS_ADDED, "Adding newly assigned partitions:", since="2.4", operation=INCREMENTAL),
    Template(F.PARTITIONS_ADDED, "Setting newly assigned partitions: {partitions}", since="2.4", operation=INCREMENTAL),
    Template(F.PARTITIONS_ADDED, "Setting newly assigned partitions {partitions}", since="1.0"),
    Template(F.PARTITIONS_REVOKED, "Revoke previously assigned partitions {partitions}", since="2.4"),
    Template(F.PARTITIONS_REVOKED, "Revoke previously assigned partitions", since="2.4"),
    Template(F.PARTITIONS_REVOKED, "Revoking previously assigned partitions {partitions}", since="1.0"),
    Template(F.PARTITIONS_LOST, "Lost previously assigned partitions {partitions}", since="2.4"),
    Template(F.PARTITIONS_LOST, "Giving away all assigned partitions as lost since {reason}", since="2.4"),
)
_ENDS = (
    Template(F.POLL_TIMEOUT, "consumer poll timeout has expired. This means {}", since="3.0"),
    Template(F.POLL_TIMEOUT, "worker poll timeout has expired. {}", since="3.9"),
    Template(
        F.POLL_TIMEOUT, "This member will leave the group because consumer poll timeout has expired. {}", since="2.1"
    ),
    Template(
        F.LEAVE_SENT,
        "Member {member_id} sending LeaveGroup request to coordinator {} due to {reason}",
        since="2.4",
    ),
    Template(F.LEAVE_SENT, "Member {member_id} sending LeaveGroup request to coordinator {}", since="2.2"),
    Template(F.LEAVE_SENT, "Sending LeaveGroup request to coordinator {}", since="0.11"),
    Template(
        F.INSTANCE_FENCED,
        "Attempt to heartbeat with {} and group instance id {instance_id} failed due to FENCED_INSTANCE_ID, resetting "
        "generation",
        since="2.6",
    ),
    Template(
        F.MEMBERSHIP_LOST, "Attempt to heartbeat with {} failed due to {error}, resetting generation", since="2.6"
    ),
    Template(
        F.MEMBERSHIP_LOST, "Attempt to heartbeat failed for since member id {member_id} is not valid", since="0.11"
    ),
    Template(F.MEMBERSHIP_LOST, "Attempt to heartbeat failed since member id {member_id} is not valid", since="0.11"),
    Template(
        F.MEMBERSHIP_LOST, "Attempt to heartbeat failed since generation {generation_id} is not current", since="0.11"
    ),
    Template(
        F.MEMBERSHIP_LOST,
        f"{_LEAVE_FAILED}The coordinator is not aware of this member",
        since="2.6",
        state=LEAVE_REFUSED,
        error="The coordinator is not aware of this member",
    ),
    Template(F.CLIENT_STATE, _LEAVE_FAILED + "{error}", since="2.6", state=LEAVE_REFUSED),
    Template(F.INSTANCE_FENCED, "Received fatal exception: group.instance.id gets fenced", since="2.3"),
    Template(F.INSTANCE_FENCED, "Caught fenced group.instance.id {instance_id} error in heartbeat thread", since="2.3"),
    Template(F.INSTANCE_FENCED, "{} has been fenced by another instance. {}", since="2.3"),
    Template(
        F.INSTANCE_FENCED,
        "Offset commit failed on partition {} at offset {number}: The broker rejected this static consumer since "
        "another consumer with the same group.instance.id has registered with a different member.id",
        since="2.3",
    ),
    Template(
        F.COMMIT_REFUSED, "Offset commit failed on partition {partitions} at offset {number}: {error}", since="0.11"
    ),
    Template(F.COMMIT_REFUSED, "Failing OffsetCommit request since {error}", since="2.6"),
    *(
        Template(F.JOIN_REFUSED, _JOIN_FAILED + error, since="0.9", state=FATAL)
        for error in ("{error}, :backtrace=>{}", "{error}")  # Logstash prints the stack behind it.
    ),
    Template(
        F.INSTANCE_FENCED, "FencedInstanceIdException: The broker rejected this static consumer since {}", since="2.3"
    ),
    Template(F.COMMIT_REFUSED, "Synchronous auto-commit of offsets {} failed: {error}", since="1.0"),
    Template(F.COMMIT_REFUSED, "Asynchronous auto-commit of offsets {} failed: {error}", since="1.0"),
)
_COORDINATORS = (
    Template(F.COORDINATOR_FOUND, "Discovered group coordinator {}", since="1.1"),
    Template(F.COORDINATOR_FOUND, "Discovered coordinator {}", since="1.0"),
    Template(
        F.COORDINATOR_LOST,
        "Group coordinator {} is unavailable or invalid due to cause: {reason}.isDisconnected: {}",
        since="2.7",
    ),
    Template(
        F.COORDINATOR_LOST,
        "Group coordinator {} is unavailable or invalid due to cause: {reason}. isDisconnected: {}",
        since="3.3",
    ),
    Template(
        F.COORDINATOR_LOST,
        "Group coordinator {} is unavailable or invalid due to cause: {reason}. Rediscovery will be attempted",
        since="3.9",
    ),
    Template(
        F.COORDINATOR_LOST, "Group coordinator {} is unavailable or invalid, will attempt rediscovery", since="1.1"
    ),
    Template(F.COORDINATOR_LOST, "Marking the coordinator {} dead", since="0.11"),
)
_MIGRATED = "Detected that the thread is being fenced. "
_STREAMS = (
    *(
        Template(
            F.CLIENT_CRASHED,
            f"{_HANDLER_CHOSE}SHUTDOWN_{whom.upper()}",
            since="2.8",
            error=f"its processing threw an exception, and its handler chose to stop the {whom}",
        )
        for whom in ("client", "application")
    ),
    Template(F.CLIENT_CRASHED, _ALL_DIED, since="1.0", error="all of its stream threads have died"),
    Template(F.CLIENT_STATE, "State transition from {state} to {to_state}", since="0.11"),
    *(
        Template(F.MEMBERSHIP_LOST, _MIGRATED + exception, since="2.4", state=TASKS_MIGRATED, reason=reason)
        for exception, reason in (
            ("{}TaskMigratedException: Consumer committing offsets failed{}", OFFSETS_NOT_COMMITTED),
            ("{}TaskMigratedException: Producer {}", PRODUCER_FENCED),
            ("{}TaskMigratedException: {}since the producer is fenced{}", PRODUCER_FENCED),
            ("{}", ""),
        )
    ),
)

DIALECT = Dialect(
    name="java",
    title="a Java client's log",
    marks=(
        "roupId=",
        "stream-thread [",
        "stream-client [",
        "joining group",
        "Generation{",
        " assigned partitions",
        "ommit cannot be completed since ",
        "CommitFailedException",
        _JOIN_FAILED,
        _NOT_AUTHORIZED,
        "FencedInstanceIdException: The ",
        "org.apache.kafka.common.errors.",
        "TaskMigratedException: ",
        *_CLASSES,
    ),
    example="2026-03-01 03:12:00,417 INFO [Consumer clientId=orders-1, groupId=orders] {}",
    heading=java_heading,
    templates=Templates(
        (*BEFORE_1_0, *_JOINS, *_PARTITIONS, *_ENDS, *_COORDINATORS, *_STREAMS, *OF_THE_NEWER_PROTOCOL, *OF_EXCEPTIONS)
    ),
    among_its_own=wherever(_BESIDE_ITS_OWN),
    warns_of=(F.CLIENT_STATE,),  # Of Streams, whose own loggers may show more than the consumer's.
)
