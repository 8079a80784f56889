"""One line of the log: requests for groups, a reason to pass it over, or an error that says what cannot be read.

A line is used if it has a request that a group answers, of either protocol. The API is found before any JSON is
decoded, because a broker that logs everything writes far more lines of other APIs.

Knows the layout of a line; knows no rule of the protocol and no order of lines.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Any, NamedTuple

import msgspec

from rollcall.inputs.request_log.fetches import KEYS, ends_of
from rollcall.inputs.request_log.lines.clock import TIMESTAMP_LENGTH
from rollcall.inputs.request_log.lines.files import LINE_MAX_BYTES, LogLine
from rollcall.inputs.request_log.lines.wire import Message, code_of, error_of, message_of
from rollcall.inputs.request_log.recorded import BLANK, OF_LAG, OTHER_LINE, LoggedRequest, Recorded
from rollcall.inputs.request_log.topic_metadata import KEY, SKIPPED, SKIPPED_VERSIONS, VERSIONS_KEY, TopicMetadata
from rollcall.inputs.tolerances import PARKED_WITHIN_MS
from rollcall.schemas.errors import Error
from rollcall.schemas.fan_out import group_id_of, groups_named, listed_in, split
from rollcall.schemas.limits import holds_no_long_string, unfit_id_prefix, unfit_string
from rollcall.schemas.messages import (
    API_OF,
    APIS,
    CHANGE_MEMBERS,
    GROUP_RESOURCE,
    AlterConfigsRequest,
    ConfigsRequest,
    ConsumerGroupHeartbeatRequest,
    DescribeConfigsRequest,
    GroupRequest,
    HeartbeatRequest,
    IncrementalAlterConfigsRequest,
    JoinGroupRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
    SyncGroupRequest,
)
from rollcall.schemas.wire_fields import first_version

COMPLETED = b"Completed request:"
LOGGER = b"(kafka.request.logger)"
INSTANCE_ID_SINCE = first_version(HeartbeatRequest, "group_instance_id")
UNSEEN_PROTOCOL = "a member of the newer group protocol (KIP-848), of whose group no heartbeat was seen"
NO_GROUP = "{} concerns no single group"
REFUSED = frozenset(
    {
        Error.COORDINATOR_LOAD_IN_PROGRESS,
        Error.COORDINATOR_NOT_AVAILABLE,
        Error.NOT_COORDINATOR,
        Error.GROUP_AUTHORIZATION_FAILED,
        Error.UNSUPPORTED_VERSION,
    }
)
"""Errors that are given before a request reaches its group."""

_KEY = b'"requestApiKey":'
_FORWARDED = b'"isForwarded":true'
"""In the controller's line; the line of the broker that forwarded the request has its outcome."""
_VERSION = b'"requestApiVersion":'
_NAME = b'"requestApiKeyName":"'
_IS_NAME = re.compile(rb"[A-Z][A-Z_]{0,60}|-?\d{1,5}")
_API_BY_KEY = {str(api.key).encode(): name for name, api in APIS.items()}
_READ_AS = {("DeleteGroups", 3): 2}
"""Versions with the same request, whose answer has only a text beside: v3 is Kafka 4.4's."""
_UNGROUPED = frozenset({"FindCoordinator", "ListGroups", "ListConfigResources"})
PASSED_ON = "a broker's line and the controller's tell of one request"
OF_NO_GROUP = "configs of no group"
_HEAD = b"] DEBUG " + COMPLETED
_CONNECTIONS_KEPT = 100_000
_GROUPS_KEPT = 100_000
_HEADS_KEPT = 1000
_HEAD_BYTES = 200
_NAME_LENGTH = 60
_ROUNDED_MS = 1.0
"""By how much the times of a line may disagree, as each is rounded."""


class Kind(StrEnum):
    """Why a line goes to quarantine, as a short reason that many lines share."""

    FIELD = "a field is missing, or has a wrong type or value"
    TIME = "the times are impossible"
    ANSWER = "the answer does not fit the request"
    VERSION = "the API version is not known"
    NO_JSON = "the line holds no JSON"
    NESTED = "the JSON is nested too deeply"
    CUT_OFF = "the line is cut off"
    NO_BEGINNING = "the line's beginning is missing"
    NO_TIMESTAMP = "the line has no timestamp, nor has any line above it"
    TOO_LONG = "the line is too long"
    AS_TEXT = "no JSON: brokers before Kafka 2.8 log requests as text"
    FILE = "the file cannot be read from here on"


class Unreadable(ValueError):
    """A line that should be used and cannot be read; the text says why."""

    def __init__(self, kind: Kind, detail: str = "") -> None:
        super().__init__(f"{kind}: {detail}" if detail else str(kind))
        self.kind = kind


class LineReader:
    """Reads lines one by one; what repeats (a header, the two ends of a connection) is read once."""

    def __init__(self, *, is_of_a_section: bool = False) -> None:
        """is_of_a_section: what stands above was not read, so a group may be of the newer protocol without a sign."""
        self._is_of_a_section = is_of_a_section
        self._heads: dict[bytes, Message | str] = {}
        self._connections: dict[str, _Connection] = {}
        self.topics = TopicMetadata()
        """What the lines so far show of topics."""
        self.consumer_groups: set[str] = set()
        """Groups with a heartbeat of the newer protocol."""

    def read(self, line: LogLine) -> list[LoggedRequest] | str:
        """The requests in a line, one for each group it names; or why it is skipped. Raises Unreadable."""
        if line.broken:
            raise Unreadable(Kind.FILE, line.broken)
        text = line.text
        if len(text) > LINE_MAX_BYTES:
            raise Unreadable(Kind.TOO_LONG, f"more than {LINE_MAX_BYTES} bytes")
        at = text.find(_KEY)
        if at < 0:
            return _without_api(text)
        head = text[at : text.find(b",", text.find(b",", at) + 1)]
        message = self._heads.get(head)
        if message is None:
            message = _message_of(text, at)
            if len(self._heads) < _HEADS_KEPT and len(head) <= _HEAD_BYTES:
                self._heads[head] = message
        if isinstance(message, str):
            if message is SKIPPED:
                self.topics.read(text, line.at_ms)
            elif message is SKIPPED_VERSIONS:
                self.topics.read_versions(text)
            return message
        if line.at_ms is None:
            raise Unreadable(Kind.NO_TIMESTAMP)
        return self._requests(line, line.at_ms, message)

    def _requests(self, line: LogLine, at_ms: int, message: Message) -> list[LoggedRequest] | str:
        completed = _decoded(line.text, message)
        if message.api == "Heartbeat":
            return [self._heartbeat(line, at_ms, message, completed)]
        connection = self._connections.get(completed.connection) or self._connected(completed.connection)
        header, version = completed.request_header, message.version
        total_ms = completed.total_time_ms
        envelope: dict[str, Any] = {
            "request_id": f"{line.file}:{line.number}",
            "api_version": version,
            "client_id": header.client_id or "",
            "client_host": connection.host,
            "received_at_ms": round(at_ms - total_ms),
            "principal": completed.principal,
            "connection": connection.text,
        }
        request: GroupRequest = message.request(completed.request, envelope)
        if isinstance(request, DescribeConfigsRequest | AlterConfigsRequest | IncrementalAlterConfigsRequest):
            is_again = _FORWARDED in line.text
            return PASSED_ON if is_again else _of_configs(request, at_ms, completed, message, connection)
        if isinstance(request, ConsumerGroupHeartbeatRequest):
            if len(self.consumer_groups) >= _GROUPS_KEPT:
                self.consumer_groups.clear()
            self.consumer_groups.add(request.group_id)
        is_unseen = _is_of_newer_protocol(request) and not self.consumer_groups.issuperset(groups_named(request))
        if is_unseen and not self._is_of_a_section:
            return UNSEEN_PROTOCOL
        response = completed.response
        _refuse_other_groups(request, response)
        if isinstance(request, JoinGroupRequest):
            _note_choices(request, response)
        error = error_of(code_of(request, response))
        recorded = _recorded(error, at_ms, completed, message)
        began_ms = at_ms - total_ms + completed.request_queue_time_ms
        if isinstance(request, JoinGroupRequest | SyncGroupRequest):
            until_ms = began_ms + completed.local_time_ms + min(completed.remote_time_ms, PARKED_WITHIN_MS)
        else:
            until_ms = max(began_ms, float(at_ms))
        parts: list[GroupRequest] = [*split(request)]
        if len(parts) == 1:
            # No group gives such a request an UNKNOWN_SERVER_ERROR: the broker failed, and changed nothing.
            has_failed = error is Error.UNKNOWN_SERVER_ERROR and isinstance(request, CHANGE_MEMBERS)
            refused = error in REFUSED or has_failed
            logged = LoggedRequest(
                group_id_of(request), request, recorded, began_ms, until_ms, connection.broker, refused
            )
            logged.needs_newer_group = is_unseen
            return [logged]
        fanned_out = _fanned_out(parts, recorded, began_ms, until_ms, connection.broker)
        if is_unseen and not isinstance(fanned_out, str):
            for each in fanned_out:
                each.needs_newer_group = True
        return fanned_out

    def _heartbeat(self, line: LogLine, at_ms: int, message: Message, completed: Any) -> LoggedRequest:
        """The same as `_requests` for a heartbeat, faster: most lines are heartbeats."""
        connection = self._connections.get(completed.connection) or self._connected(completed.connection)
        sent, total_ms = completed.request, completed.total_time_ms
        request = HeartbeatRequest(
            request_id=f"{line.file}:{line.number}",
            api_version=message.version,
            client_id=completed.request_header.client_id or "",
            client_host=connection.host,
            received_at_ms=round(at_ms - total_ms),
            principal=completed.principal,
            connection=connection.text,
            group_id=sent.group_id,
            generation_id=sent.generation_id,
            member_id=sent.member_id,
            group_instance_id=sent.group_instance_id if message.version >= INSTANCE_ID_SINCE else None,
        )
        error = error_of(completed.response.error_code)
        began_ms = at_ms - total_ms + completed.request_queue_time_ms
        return LoggedRequest(
            sent.group_id,
            request,
            _recorded(error, at_ms, completed, message),
            began_ms,
            max(began_ms, float(at_ms)),
            connection.broker,
            error in REFUSED,
        )

    def _connected(self, text: str) -> _Connection:
        """The two ends of a connection, read once."""
        if len(self._connections) >= _CONNECTIONS_KEPT:
            self._connections.clear()
        broker, host = ends_of(text)
        connection = self._connections[text] = _Connection(text, host, broker)
        return connection


class _Connection(NamedTuple):
    """One TCP connection: its name in the log, the client's address and the broker's end."""

    text: str
    host: str
    broker: str


def _of_configs(
    request: ConfigsRequest, at_ms: int, completed: Any, message: Message, connection: _Connection
) -> list[LoggedRequest] | str:
    """One request for each group whose configs are described or altered; what was refused has changed nothing.

    Raises Unreadable: a group that is named is not answered.
    """
    recorded = _recorded(Error.NONE, at_ms, completed, message)
    began_ms = at_ms - completed.total_time_ms + completed.request_queue_time_ms
    logged: list[LoggedRequest] = []
    of_groups: list[Any] = [one for one in request.resources if one.resource_type == GROUP_RESOURCE]
    for part in split(msgspec.structs.replace(request, resources=of_groups)):
        answer = msgspec.structs.replace(recorded, group_id=group_id_of(part))
        answers = getattr(answer.response, API_OF[type(part)].answers)
        if len(answers) != 1 or answers[0].resource_type != GROUP_RESOURCE:
            raise Unreadable(Kind.ANSWER, f"group {group_id_of(part)[:_NAME_LENGTH]!r} is not answered")
        answer.error = answers[0].error_code
        was_refused = answer.error is not Error.NONE
        part.request_id = f"{part.request_id}/{len(logged)}"
        until_ms = max(began_ms, float(at_ms))
        logged.append(
            LoggedRequest(group_id_of(part), part, answer, began_ms, until_ms, connection.broker, was_refused)
        )
        logged[-1].part = len(logged) - 1
    return logged or OF_NO_GROUP


def _decoded(text: bytes, message: Message) -> Any:
    name = f"{message.api} v{message.version}"
    try:
        completed = message.decoder.decode(text[text.find(b"{") : text.rfind(b"}") + 1])
    except msgspec.ValidationError as error:
        raise Unreadable(Kind.TIME if "TimeMs`" in str(error) else Kind.FIELD, f"{name}: {error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Unreadable(Kind.NO_JSON if text.endswith(LOGGER) else Kind.CUT_OFF, f"{name}: {error}") from None
    except RecursionError:
        raise Unreadable(Kind.NESTED, name) from None
    if completed.request_queue_time_ms > completed.total_time_ms + _ROUNDED_MS:
        waited = f"requestQueueTimeMs {completed.request_queue_time_ms} of totalTimeMs {completed.total_time_ms}"
        raise Unreadable(Kind.TIME, f"{name}: {waited}")
    if not holds_no_long_string(text) and (unfit := unfit_string(completed)):
        raise Unreadable(Kind.FIELD, f"{name}: {unfit}")
    return completed


def _recorded(error: Error, at_ms: int, completed: Any, message: Message) -> Recorded:
    sending_ms = completed.response_queue_time_ms + completed.send_time_ms
    remote_ms = completed.remote_time_ms
    return Recorded(error, at_ms, completed.total_time_ms, remote_ms, sending_ms, completed.response, message)


def _refuse_other_groups(request: GroupRequest, response: Any) -> None:
    """Raises Unreadable: an answer that lists groups lacks one that the request names."""
    if not listed_in(request):
        return
    answered = {answer.group_id for answer in getattr(response, API_OF[type(request)].answers)}
    lacking = next((group_id for group_id in groups_named(request) if group_id not in answered), None)
    if lacking is not None:
        raise Unreadable(Kind.ANSWER, f"group {lacking[:_NAME_LENGTH]!r} is not answered")


def _note_choices(request: JoinGroupRequest, response: Any) -> None:
    """Keeps what the broker chose by chance: a new member's id, a generation's leader.

    Raises Unreadable: an id that no member id can begin with.
    """
    if unfit := unfit_id_prefix(request):
        raise Unreadable(Kind.FIELD, f"JoinGroup v{request.api_version}: {unfit}")
    if not request.member_id:
        request.recorded_member_id = response.member_id or None
    if response.error_code == 0:
        request.recorded_leader_id = response.leader or None


def _fanned_out(
    parts: list[GroupRequest], recorded: Recorded, began_ms: float, until_ms: float, broker: str
) -> list[LoggedRequest] | str:
    """One request for each group that the request named."""
    if not parts:
        return "it names no group"
    logged = []
    for i, part in enumerate(parts):
        part.request_id = f"{part.request_id}/{i}"
        answer = msgspec.structs.replace(recorded, group_id=group_id_of(part))
        answer.error = getattr(answer.response, API_OF[type(part)].answers)[0].error_code
        refused = answer.error in REFUSED
        logged.append(LoggedRequest(group_id_of(part), part, answer, began_ms, until_ms, broker, refused, part=i))
    return logged


def _without_api(text: bytes) -> str:
    """Why a line that names no API is passed over. Raises Unreadable if it is a request line that is cut off."""
    if not text.strip():
        return BLANK
    if COMPLETED in text:
        if text.find(b"{") < 0 and text.endswith(LOGGER):
            raise Unreadable(Kind.AS_TEXT)
        raise Unreadable(Kind.CUT_OFF, "before it names its API")
    if text.endswith(LOGGER):
        if text[:1] == b"[" and text[20:21] in (b",", b"."):
            return "another message of the request logger"
        raise Unreadable(Kind.NO_BEGINNING)
    tail = text[TIMESTAMP_LENGTH:]
    if text[:1] == b"[" and text[1:5].isdigit() and _HEAD.startswith(tail):
        raise Unreadable(Kind.CUT_OFF, "before it names its API")
    return OTHER_LINE


def _message_of(text: bytes, at: int) -> Message | str:
    """The reader for the API and version that a line's header names, or why such a line is passed over."""
    key = text[at + len(_KEY) : text.find(b",", at)]
    api = _API_BY_KEY.get(key)
    if key in KEYS:
        return f"{OF_LAG}{KEYS[key]}"
    if key == KEY:
        return SKIPPED
    if key == VERSIONS_KEY:
        return SKIPPED_VERSIONS
    if api is None:
        start = text.find(_NAME, at)
        name = text[start + len(_NAME) : text.find(b'"', start + len(_NAME))] if start >= 0 else key
        return f"another API: {name.decode('ascii')}" if _IS_NAME.fullmatch(name) else "another API"
    start = text.find(_VERSION, at)
    digits = text[start + len(_VERSION) : text.find(b",", start)] if start >= 0 else b""
    if not digits.isdigit() or len(digits) > 5:
        raise Unreadable(Kind.VERSION, f"{api}: requestApiVersion is missing or no number")
    version, known = int(digits), APIS[api].versions
    version = _READ_AS.get((api, version), version)
    if not known.has(version):
        raise Unreadable(Kind.VERSION, f"{api}: requestApiVersion {version}; {known.first} to {known.last} are known")
    return NO_GROUP.format(api) if api in _UNGROUPED else message_of(api, version)


def is_classic_member_id(member_id: str) -> bool:
    """Whether a coordinator gave this id out: `<client or instance id>-<UUID>`. Newer members bring a bare UUID."""
    return len(member_id) > 36 and member_id[-37] == "-" and member_id[-28] == "-" and member_id[-13] == "-"


def _is_of_newer_protocol(request: GroupRequest) -> bool:
    """Whether a commit or a fetch is one of a member whose id no classic coordinator gave out."""
    match request:
        case OffsetCommitRequest(member_id=member_id) if request.generation_id_or_member_epoch >= 0:
            return bool(member_id) and not is_classic_member_id(member_id)
        case OffsetFetchRequest(groups=groups):
            return any(not is_classic_member_id(group.member_id) for group in groups if group.member_id)
        case _:
            return False
