"""The verbs of the test bench: one method a request, with what most tests do not care about filled in.

Knows each API's fields by version; must not know a rule of the protocol.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import (
    DeleteGroupsRequest,
    DescribedGroup,
    DescribeGroupsRequest,
    GroupRequest,
    MemberIdentity,
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
)
from tests import requests

if TYPE_CHECKING:
    from tests.protocol.bench import Call

Protocols = Sequence[str] | Mapping[str, bytes]
Kind = type[Any] | Callable[..., GroupRequest]
"""A shape of `rollcall.schemas.messages`, or a builder of `tests.requests`."""
_HABITUAL = "(as the client is used to)"


class Requests:
    """Sends requests as named clients, each with habits of its own: see `client`."""

    group: Group
    ids: dict[str, str]
    habits: dict[str, dict[str, Any]]

    @abstractmethod
    def send(self, kind: Kind, version: int, client: str, *, bind: bool = False, **fields: Any) -> Call:
        """Sends a request now."""

    @abstractmethod
    def id_of(self, client: str) -> str:
        """The member id of a client; of a stranger, its name."""

    def client(self, name: str, **habits: Any) -> None:
        """What every request of a client says unless the request itself says otherwise.

        v (of its JoinGroup), instance_id, session_ms, rebalance_ms, protocol_type, protocols (names, or bytes by name).
        """
        self.habits.setdefault(name, {}).update(habits)

    def _habit(self, client: str, key: str, given: Any, default: Any) -> Any:
        return self.habits.get(client, {}).get(key, default) if given == _HABITUAL else given

    # ------------------------------------------------------------ membership

    def join(
        self,
        client: str,
        member_id: str | None = None,
        *,
        v: Any = _HABITUAL,
        instance_id: str | None = _HABITUAL,
        session_ms: Any = _HABITUAL,
        rebalance_ms: Any = _HABITUAL,
        protocol_type: str = _HABITUAL,
        protocols: Any = _HABITUAL,
        **fields: Any,
    ) -> Call:
        """JoinGroup, v9 by habit; member_id None: the client's own id, or none before it has one."""
        version: int = self._habit(client, "v", v, 9)
        if member_id is None:
            member_id = self.ids.get(client, "")
        named: Protocols = self._habit(client, "protocols", protocols, ["range"])
        if not isinstance(named, Mapping):
            named = {name: requests.subscription("t1") for name in named}
        return self.send(
            requests.join,
            version,
            client,
            bind=True,
            member_id=member_id,
            group_instance_id=self._habit(client, "instance_id", instance_id, None),
            session_timeout_ms=self._habit(client, "session_ms", session_ms, 10_000),
            rebalance_timeout_ms=self._habit(client, "rebalance_ms", rebalance_ms, 60_000),
            protocol_type=self._habit(client, "protocol_type", protocol_type, "consumer"),
            protocols=named,
            **fields,
        )

    def enter(self, client: str, **reported: Any) -> Call:
        """Joins as a new client, with the second step where the version has two."""
        first = self.join(client, "", **reported)
        if first.reply is not None and first.error is Error.MEMBER_ID_REQUIRED:
            return self.join(client, **reported)
        return first

    def sync(
        self,
        client: str,
        generation: int | None = None,
        *,
        plan: Sequence[str] | Mapping[str, bytes] = (),
        v: int = 5,
        member_id: str | None = None,
        instance_id: str | None = _HABITUAL,
        protocol_type: str | None = _HABITUAL,
        protocol_name: str | None = _HABITUAL,
    ) -> Call:
        """SyncGroup; generation None: the current one. plan: a leader's assignments, see `Bench.plan_of`."""
        generation_id = self.group.generation_id if generation is None else generation
        return self.send(
            requests.sync,
            v,
            client,
            generation_id=generation_id,
            member_id=self.id_of(client) if member_id is None else member_id,
            group_instance_id=self._habit(client, "instance_id", instance_id, None),
            protocol_type=self.group.protocol_type if protocol_type == _HABITUAL else protocol_type,
            protocol_name=self.group.protocol_name if protocol_name == _HABITUAL else protocol_name,
            assigned=self.plan_of(plan, generation_id),
        )

    def plan_of(self, plan: Sequence[str] | Mapping[str, bytes], generation_id: int) -> dict[str, bytes]:
        """Assignments by member id; where only names are given each one's bytes are `name-generation`."""
        if isinstance(plan, Mapping):
            return {self.id_of(client): assignment for client, assignment in plan.items()}
        return {self.id_of(client): f"{client}-{generation_id}".encode() for client in plan}

    def heartbeat(
        self,
        client: str,
        generation: int | None = None,
        *,
        v: int = 4,
        member_id: str | None = None,
        instance_id: str | None = _HABITUAL,
    ) -> Call:
        """Heartbeat; generation None: the current one."""
        return self.send(
            requests.heartbeat,
            v,
            client,
            generation_id=self.group.generation_id if generation is None else generation,
            member_id=self.id_of(client) if member_id is None else member_id,
            group_instance_id=self._habit(client, "instance_id", instance_id, None),
        )

    def leave(
        self, *clients: str | tuple[str, str | None], v: int = 5, by: str = "", reason: str | None = None
    ) -> Call:
        """LeaveGroup of clients, or of (member id, instance id) pairs; by: who sends it, the first of them if empty."""
        identities = [
            MemberIdentity(
                member_id=self.id_of(client) if isinstance(client, str) else self.id_of(client[0]),
                group_instance_id=None if isinstance(client, str) else client[1],
                reason=reason,
            )
            for client in clients
        ]
        sender = by or next((client for client in clients if isinstance(client, str)), "admin")
        return self.send(requests.leave, v, sender, members=identities)

    # ------------------------------------------------------------ offsets

    def commit(
        self,
        client: str = "admin",
        generation: int | None = None,
        offsets: Mapping[tuple[str, int], int] | None = None,
        *,
        v: int = 9,
        member_id: str | None = None,
        instance_id: str | None = _HABITUAL,
        metadata: str | None = "",
        leader_epoch: int = -1,
        retention_ms: int = -1,
        topic_id: str = "",
    ) -> Call:
        """OffsetCommit, by default of offset 1 in t1-0; the administrator commits without id and generation."""
        is_simple = client == "admin"
        if generation is None:
            generation = -1 if is_simple else self.group.generation_id
        return self.send(
            requests.commit,
            v,
            client,
            generation_id=generation,
            member_id=("" if is_simple else self.id_of(client)) if member_id is None else member_id,
            group_instance_id=self._habit(client, "instance_id", instance_id, None),
            retention_time_ms=retention_ms,
            offsets=offsets or {("t1", 0): 1},
            metadata=metadata,
            leader_epoch=leader_epoch,
        )

    def fetch(self, partitions: requests.Partitions | None = None, *, v: int = 9, require_stable: bool = False) -> Call:
        """OffsetFetch of these partitions, or of all that is committed."""
        topics = None
        if partitions is not None:
            topics = [
                OffsetFetchRequestTopic(
                    name="" if v >= 10 else topic, topic_id=topic if v >= 10 else "", partition_indexes=list(indexes)
                )
                for topic, indexes in partitions.items()
            ]
        group_id = self.group.group_id
        groups = [OffsetFetchRequestGroup(group_id=group_id, topics=topics)]
        asked: dict[str, Any] = {"group_id": group_id, "topics": topics, "groups": groups}
        return self.send(OffsetFetchRequest, v, "admin", **asked, require_stable=require_stable)

    def delete_offsets(self, partitions: requests.Partitions) -> Call:
        """OffsetDelete."""
        topics = [
            OffsetDeleteRequestTopic(
                name=topic, partitions=[OffsetDeleteRequestPartition(partition_index=index) for index in indexes]
            )
            for topic, indexes in partitions.items()
        ]
        return self.send(OffsetDeleteRequest, 0, "admin", group_id=self.group.group_id, topics=topics)

    # ------------------------------------------------------------ administration

    def describe(self, *, v: int = 5, include_authorized_operations: bool = False) -> DescribedGroup:
        """DescribeGroups: what it says of the group."""
        call = self.send(
            DescribeGroupsRequest,
            v,
            "admin",
            groups=[self.group.group_id],
            include_authorized_operations=include_authorized_operations,
        )
        described: DescribedGroup = call.response.groups[0]
        return described

    def delete_group(self) -> Error:
        """DeleteGroups: its result for the group."""
        call = self.send(DeleteGroupsRequest, 2, "admin", groups_names=[self.group.group_id])
        error: Error = call.response.results[0].error_code
        return error
