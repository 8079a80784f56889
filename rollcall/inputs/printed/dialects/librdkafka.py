"""What librdkafka prints, under Python, Go, .NET, Node and ClickHouse too: by default little, with `debug=cgrp` all.

Sources: `rdkafka_cgrp.c`, `rdkafka_request.c` and `rdkafka_broker.c` of librdkafka 0.9 to 2.15. Each wrapper puts name,
facility and level in another order; `[thrd:..]: ` stands before the message in all of them, but for 0.9. The lines of
one rebalance repeat each other, so of those that only follow from another line none is here. A reason is read where it
is the client's own: `Unassignment done` is none.
"""

from __future__ import annotations

import re

import re2

from rollcall.inputs.printed.dialects.dialect import Dialect, Heading
from rollcall.inputs.printed.lines.entries import Entry
from rollcall.inputs.printed.lines.levels import Level
from rollcall.inputs.printed.logged_facts import COMMITS, INCREMENTAL
from rollcall.inputs.printed.logged_facts import FactKind as F
from rollcall.inputs.printed.templates import Template, Templates

_THREAD = "[thrd:"
_PRODUCER = "#producer-"
_LONGEST_HEAD = 400
"""Characters before the thread in which a name is looked for."""
_NAME = re2.compile(r"(?P<client_id>[^|\[\]]{0,255}#consumer-\d{1,9})[|:\]]")
_NAME_ALONE = re.compile(
    r"(?:^|(?<=\s))(?:(?i:client[._]?id|client|name|handle)[:=][\"']?)?"
    r"(?P<client_id>[^|\[\]\s]{0,255}#consumer-\d{1,9})[\s,;\"']"
)
"""As a log handler of .NET's prints it: blanks stand between name, facility and message, and labels before them."""
_BEFORE_THREADS = re.compile(
    r"(?:(?:RDKAFKA-\d-[A-Z]{2,20}: |(?:\A|\|)[A-Z]{2,20}\|)(?P<head>[^|\[\]:]{0,255}#consumer-\d{1,9}[:|])"
    r"|(?:\A|\|)(?P<handle>[^|\[\]:]{0,255}#consumer-\d{1,9}\|)[A-Z]{2,20}\|) "
)
"""What 0.9 has before its message; rdkafka-dotnet prints the name first."""
_TABLE = re.compile(r"\((?P<table>[^()]{1,200})\): (?:\[client\.id:(?P<client_id>[^\]]{1,255})\] )?\[rdk:\w+\] *\Z")
"""ClickHouse's: of its table's engine."""
_ASKED = re.compile(r"(?:GroupCoordinator/(?P<broker_id>\d{1,10})|\S+/(?:\d{1,10}|bootstrap|learned)): ")
"""The connection that a line is about, by its broker; that to the coordinator has a name of its own."""
_NAMED = re.compile(r" broker \S+/(?P<broker_id>\d{1,10})(?: is no longer coordinator)?(?=\Z|[\s,;])")

_OUTDATED = re.compile(
    r'" heartbeat error response in state \S+ \(join.state (?:init|wait-join|wait-metadata|wait-sync),'
)
"""The answer to a heartbeat that it sent before it asked to join: it passes it over, and so do we."""


def librdkafka_heading(entry: Entry) -> Heading | None:
    """The client's name, the broker that the line is about, and the message behind both."""
    head, _, rest = entry.printed.partition(_THREAD)
    _, closed, message = rest.partition("]: ")
    before = None if closed else _BEFORE_THREADS.search(entry.printed)
    if before is not None:
        head, closed, message = before["head"] or before["handle"], " ", entry.printed[before.end() :]
    if not closed or _PRODUCER in head or _OUTDATED.search(message):
        return None
    head = head[-_LONGEST_HEAD:]
    if head.count('"') % 2:
        message = message.removesuffix('"').replace('""', '"')  # A cell of CSV.
    elif message.count('"') % 2:
        message = message.removesuffix('"')
    found = _TABLE.search(head) or _NAME.search(head) or _NAME_ALONE.search(head)
    if found is None:
        names = (_NAME.fullmatch(f"{one}:") for one in (*entry.fields.values(), entry.logger) if isinstance(one, str))
        found = next(filter(None, names), None)
    fields: dict[str, object] = {} if found is None else {key: one for key, one in found.groupdict().items() if one}
    asked = _ASKED.match(message)
    if asked is not None:
        message = message[asked.end() :]
    named = _NAMED.search(message) or asked
    if named is not None and named["broker_id"]:
        fields["broker_id"] = named["broker_id"]
    return Heading(fields, message.strip().replace('"(not-set)"', '""'))


_GROUP = 'Group "{group_id}"'
_BEAT = _GROUP + " heartbeat error response in state {} ({}state {state}, {number} partition(s) assigned): Broker: "
_JOIN_ANSWER = "JoinGroup response: GenerationId {}, Protocol {}, LeaderId {}, my MemberId {}, "
_JOINED = (
    "JoinGroup response: GenerationId {generation_id}, Protocol {}, LeaderId {other_member_id}, "
    "my MemberId {member_id}, "
)
_ID_GIVEN = _JOIN_ANSWER.replace("my MemberId {}", "my MemberId {member_id}")
_ID_NEEDED = "Broker: Group member needs a valid member ID"
_INITIATES = (
    _GROUP + " initiating rebalance ({}) in state {} (join-state {state}) with {number} assigned partition(s){}: "
)
_FENCED = "Static consumer fenced by other consumer with same group.instance.id"

_AT_ANY_LEVEL = (
    Template(
        F.POLL_TIMEOUT,
        "Application maximum poll interval ({number}ms) exceeded by {length_ms}ms (adjust max.poll.interval.ms for "
        "long-running message processing): leaving group",
        since="1.0",
    ),
    Template(
        F.SESSION_GIVEN_UP,
        "Consumer group session timed out (in join-state {state}) after {length_ms} ms without a successful response "
        "from the group coordinator (broker {broker_id}, last error was {error}): revoking assignment and rejoining "
        "group",
        since="1.4",
    ),
    Template(
        F.COMMIT_REFUSED, "Offset commit ({reason}) failed for {} partition(s) in {}state {}: {error}", since="1.6"
    ),
    Template(F.COMMIT_REFUSED, "Offset commit ({reason}) failed for {} partition(s): {error}", since="0.11"),
    Template(F.INSTANCE_FENCED, f"Fatal error: Broker: {_FENCED}: {{}}", since="1.4"),
    Template(F.CONNECTION_FAILED, "GroupCoordinator: {error} (after {length_ms}ms in state {state}, {})", since="1.4"),
    Template(F.CONNECTION_FAILED, "GroupCoordinator: {error} (after {length_ms}ms in state {state})", since="1.4"),
)
_JOINS = (
    Template(
        F.JOIN_SENT,
        'Joining group "{group_id}" with {number} subscribed topic(s) and member id "{member_id}"',
        since="1.8",
    ),
    Template(F.JOIN_SENT, 'Joining group "{group_id}" with {number} subscribed topic(s)', since="1.0"),
    Template(F.JOIN_SENT, _GROUP + " changed join state {} -> wait-join ({})", since="1.0"),
    Template(F.CLIENT_STATE, _GROUP + " changed join state {} -> {state} ({})", since="1.0"),
    Template(F.JOIN_SENT, _GROUP + " changed join state {} -> wait-join", since="0.9"),
    Template(F.CLIENT_STATE, _GROUP + " changed join state {} -> {state}", since="0.9"),
    Template(F.CLIENT_STATE, _GROUP + " received op {} in state {} (join-state {state})", since="1.6"),
    Template(F.CLIENT_STATE, _GROUP + " received op {} in state {} (join state {state}, v{})", since="1.0"),
    Template(F.MEMBER_ID_SET, _GROUP + ': updating member id "{other_member_id}" -> "{member_id}"', since="1.0"),
    Template(F.MEMBER_ID_SET, _ID_GIVEN + "member metadata count {number}: " + _ID_NEEDED, since="1.6"),
    Template(F.MEMBER_ID_SET, _ID_GIVEN + "{number} members in group: " + _ID_NEEDED, since="1.4"),
    *(
        Template(F.JOINED, leader + members, since=since)
        for members, since in (
            ("member metadata count {members}: (no error)", "1.6"),
            ("{members} members in group: (no error)", "1.0"),
        )
        for leader in (_JOINED.replace("{other_member_id}", "{other_member_id} (me)"), _JOINED)
    ),
    Template(F.JOIN_REFUSED, _JOIN_ANSWER + "member metadata count {number}: Broker: {error}", since="1.6"),
    Template(F.JOIN_REFUSED, _JOIN_ANSWER + "{number} members in group: Broker: {error}", since="1.0"),
    Template(F.SYNCED, "SyncGroup response: Success ({number} bytes of MemberState data)", since="1.8"),
    Template(F.SYNC_REFUSED, "SyncGroup response: Broker: {error} ({number} bytes of MemberState data)", since="1.8"),
    Template(F.SYNC_REFUSED, "SyncGroup response: {error} ({number} bytes of MemberState data)", since="0.9"),
    Template(
        F.REJOIN_WANTED,
        _GROUP + ": Rejoining group {}: rejoining group to redistribute previously owned partitions to other group "
        "members",
        since="1.6",
        reason="rejoining group to redistribute previously owned partitions to other group members",
    ),
    Template(
        F.REJOIN_WANTED,
        _INITIATES + "Metadata for subscribed topic(s) has changed",
        since="1.6",
        reason="Metadata for subscribed topic(s) has changed",
    ),
    *(
        Template(F.MEMBERSHIP_LOST, f"{_INITIATES}OffsetCommit error: {error}", since="1.6", error=error)
        for error in ("Unknown member", "Illegal generation")
    ),
    *(
        Template(F.REJOIN_WANTED, _GROUP + f": Rejoining group {{}}: {reason}", since="1.6", reason=reason)
        for reason in (
            "Subscription modified",
            "Applying next subscription",
            "Metadata for subscribed topic(s) has changed",
        )
    ),
    Template(
        F.REJOIN_WANTED, _GROUP + ": Rejoining group {} assignor failed: {}", since="1.6", reason="assignor failed"
    ),
    Template(
        F.REJOIN_WANTED,
        _GROUP + ": subscription updated from metadata change: rejoining group in state steady",
        since="1.8",
        reason="subscription updated from metadata change",
    ),
)
_TOPICS = (
    Template(F.TOPIC_SEEN, "Topic {partitions} with {to_state} partitions: Broker: {error}", since="0.9"),
    Template(F.TOPIC_SEEN, "Topic {partitions} with {to_state} partitions", since="0.9"),
    Template(F.TOPIC_SEEN, "Topic {partitions} partition count changed from {state} to {to_state}", since="0.9"),
)
_WITHOUT_A_QUEUE = tuple(
    Template(
        kind,
        f"{_GROUP}: delegating {what} of {{partitions}} partition(s) to application rebalance callback",
        since="0.9",
    )
    for kind, what in ((F.PARTITIONS_ADDED, "assign"), (F.PARTITIONS_REVOKED, "revoke"))
)
_PARTITIONS = tuple(
    Template(
        kind,
        f"{_GROUP}: delegating {what} of {{partitions}} partition(s) to application {way} queue {{}}: {{}}",
        since=since,
        operation=INCREMENTAL if what == "incremental assign" else "",
    )
    for way, since in (("on", "1.6"), ("rebalance callback on", "1.0"))
    for kind, whats in (
        (F.PARTITIONS_ADDED, ("assign", "incremental assign")),
        (F.PARTITIONS_REVOKED, ("revoke", "incremental revoke")),
    )
    for what in whats
)
_WHILE_IT_JOINS = (
    Template(F.NO_TOPIC, _GROUP + ": no topics in metadata matched subscription", since="1.0"),
    *(
        Template(
            F.CLIENT_STATE,
            "Committing offsets for {number} partition(s) with generation-id {generation_id} in join-state "
            f"{state}: {{}}",
            since="1.6",
            state=state,
            operation=COMMITS,
        )
        for state in ("wait-join", "wait-sync")
    ),
)
_HEARTBEATS = (
    Template(F.HEARTBEAT, 'Heartbeat for group "{group_id}" generation id {generation_id}', since="1.0"),
    Template(
        F.HEARTBEAT,
        'ConsumerGroupHeartbeat response received for member id "{member_id}" with epoch {generation_id}',
        since="2.4",
    ),
    Template(F.GROUP_IS_REBALANCING, _BEAT + "Group rebalance in progress", since="1.0"),
    Template(F.COORDINATOR_LOST, _BEAT + "Not coordinator", since="1.4", reason="Not coordinator"),
    Template(F.COORDINATOR_LOST, _BEAT + "Not coordinator for group", since="1.0", reason="Not coordinator for group"),
    Template(F.MEMBERSHIP_LOST, _BEAT + "Unknown member", since="1.0", error="Unknown member"),
    Template(
        F.MEMBERSHIP_LOST,
        _BEAT + "Specified group generation id is not valid",
        since="1.0",
        error="Specified group generation id is not valid",
    ),
    Template(F.INSTANCE_FENCED, _BEAT + _FENCED, since="1.4"),
    Template(
        F.MEMBERSHIP_LOST, "ConsumerGroupHeartbeat failed due to: Broker: {error}: will rejoin the group", since="2.4"
    ),
    Template(
        F.COORDINATOR_LOST,
        "ConsumerGroupHeartbeat failed due to coordinator ({}) no longer available: {reason}: re-querying for "
        "coordinator",
        since="2.4",
    ),
)
_COORDINATORS = (
    Template(F.COORDINATOR_FOUND, _GROUP + " coordinator set to broker {}", since="1.0"),
    Template(F.COORDINATOR_LOST, _GROUP + " broker {} is no longer coordinator", since="1.0"),
    *(
        Template(F.COORDINATOR_LOST, f"{_GROUP} {request} response error: Broker: {{reason}}", since=since)
        for request, since in (("FindCoordinator", "1.4"), ("GroupCoordinator", "0.9"))
    ),
    Template(F.COORDINATOR_LOST, _GROUP + ": marking the coordinator ({broker_id}) dead: {reason}", since="1.0"),
)
_ENDS = (
    Template(
        F.LEAVE_WANTED,
        _GROUP + ": unsubscribe from current subscription of {} (leave group=true, {})",
        since="1.6",
        reason="unsubscribe from current subscription",
    ),
    Template(
        F.LEAVE_WANTED,
        _GROUP + ": unsubscribe from current subscription of {} (leave group=yes, {})",
        since="1.0",
        reason="unsubscribe from current subscription",
    ),
    Template(F.LEAVE_SENT, _GROUP + ": leave (in state {})", since="1.0"),
)

DIALECT = Dialect(
    name="librdkafka",
    title="librdkafka's log (C, Python, Go, .NET)",
    marks=(_THREAD, "#consumer-"),
    example="%4|1772334720.417|MAXPOLL|orders-1#consumer-1| [thrd:main]: {}",
    heading=librdkafka_heading,
    templates=Templates(
        (
            *_AT_ANY_LEVEL,
            *_JOINS,
            *_WHILE_IT_JOINS,
            *_PARTITIONS,
            *_WITHOUT_A_QUEUE,
            *_HEARTBEATS,
            *_COORDINATORS,
            *_ENDS,
            *_TOPICS,
        )
    ),
    level=Level.DEBUG,
)
