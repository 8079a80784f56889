"""What stands before the messages of Java's clients, whose layouts differ from application to application.

The prefix `[Consumer clientId=.., groupId=..]` is looked for wherever it stands. Before 1.0 there is none: the class
that prints tells such a line. Words of this library only, and exceptions, need neither.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import re2

from rollcall.inputs.printed.dialects.dialect import Heading
from rollcall.inputs.printed.lines.entries import Entry
from rollcall.inputs.printed.templates import Templates

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
"""Words of this library only, in a line without its prefix, or in an application's own."""
_THROWN = re.compile(
    r"(?:CommitFailed|RebalanceInProgress)Exception: (?:Offset c|C)ommit cannot be completed since [^\"\\\n]{1,2000}"
)
"""An exception in another field than the message: a quotation mark or a line break ends it."""
_STREAM_THREAD = re2.compile(r"stream-thread \[(?P<name>[^\]]+)\] ")
_HANDLER_CHOSE = "Encountered the following exception during processing and the registered exception handler opted to "
_ALL_DIED = "All stream threads have died"
_STREAMS_STOPS = re2.compile(rf"stream-client \[[^\]]+\] (?P<message>{_HANDLER_CHOSE}SHUTDOWN_[A-Z]+|{_ALL_DIED})\.")
_COORDINATOR = re.compile(r"\(id: (\d{1,10}) ")
_RECONCILING = "Reconciling assignment with local epoch "
_LAST_ID = 2_147_483_647
"""A coordinator's connection has this id less its broker's."""
_NOT_COMMITTED = ("CommitFailedException", "RetriableCommitFailedException")
_COMMIT = re.compile(
    rf"org\.apache\.kafka\.clients\.consumer\.(?P<name>{'|'.join(_NOT_COMMITTED)})(?:: (?P<words>.*))?\Z"
)
_BEGINS = (
    r"(?:Caused by: |Wrapped by: |Suppressed: |Exception in thread \"[^\"]{1,200}\" "
    r"|[a-z][\w$]{0,60}(?:\.[\w$]{1,80}){1,12}: ){0,4}"
)
_AN_ANSWER = re.compile(r"(?P<name>\w+)Exception: \{\}")
"""The wording of an exception that may answer a member's request."""
_BY_A_BROKER = ("at kafka.", "at org.apache.kafka.coordinator.", "at org.apache.kafka.server.")


def heading_of(templates: Templates) -> Callable[[Entry], Heading | None]:
    """The reader of its lines."""
    thrown_in = _exception_reader(templates)
    return lambda entry: _heading(entry, thrown_in)


def _heading(entry: Entry, thrown_in: Callable[[Entry], str | None]) -> Heading | None:
    """The prefix's fields and the message behind it, without a final dot."""
    found = _PREFIX.search(entry.printed)
    fields: dict[str, object] = {}
    if found is not None:
        fields = {name: value for name, value in found.groupdict().items() if value}
        message = entry.printed[found.end() :].rstrip(". ")
    elif not set(_CLASSES).isdisjoint(entry.logger.split(".")[-2:]):
        message = _BEHIND_LOGGER.sub("", entry.printed).rstrip(". ")
    elif (by_class := _BY_CLASS.search(entry.printed)) is not None:
        message = entry.printed[by_class.end() :].rstrip(". ")
    elif (words := _ITS_OWN.search(entry.printed)) is not None:
        message = entry.printed[words.start() :].partition("\n")[0].rstrip(". ")
    elif entry.message and (thrown := _THROWN.search(entry.text)):
        message = thrown[0].rstrip(". ")
    else:
        streams, exception = _streams(entry), thrown_in(entry)
        return Heading({}, exception) if streams is None and exception is not None else streams
    if fields.pop("is_share", None):
        fields["group_type"] = "share"
    if message.startswith(_RECONCILING):
        message = " ".join(" ".join((message, *entry.tail)).split())
    coordinator = _COORDINATOR.search(message)
    if coordinator is not None and message.startswith(("Discovered", "Group coordinator", "Marking", "Requesting")):
        fields["broker_id"] = str(_LAST_ID - int(coordinator[1]))
    return Heading(fields, message)


def _streams(entry: Entry) -> Heading | None:
    """A Streams thread: its consumer has its name, and says the group. Of a whole instance, that it stops."""
    found = _STREAM_THREAD.search(entry.printed)
    if found is None:
        stops = _STREAMS_STOPS.search(entry.printed)
        return None if stops is None else Heading({}, stops["message"])
    return Heading({"client_id": f"{found['name']}-consumer"}, entry.printed[found.end() :].rstrip(". "))


def _exception_reader(templates: Templates) -> Callable[[Entry], str | None]:
    """Return a reader of the exceptions that the wordings name: an application prints them without a logger of Kafka's.

    Only consumers throw a failed commit, so it is read wherever it stands. The answers of coordinators reach other
    clients and brokers too. Such an answer is read where a stack trace begins with it, unless a broker's code threw it.
    """
    names = (found["name"] for template in templates.all if (found := _AN_ANSWER.fullmatch(template.text)))
    answer = re.compile(
        rf"{_BEGINS}org\.apache\.kafka\.common\.errors\."
        rf"(?P<name>(?:{'|'.join(names)})Exception)(?:: (?P<words>.*))?\Z"
    )
    return lambda entry: _thrown_in(entry, answer)


def _thrown_in(entry: Entry, answer: re.Pattern[str]) -> str | None:
    """An exception without its package, and its words; None: the entry has none, or a broker threw it.

    What has no words has its name once more.
    """
    causes = (line.strip() for line in entry.tail if line.lstrip().startswith("Caused by: "))
    for line in (entry.printed.partition("\n")[0].rstrip(". "), *causes):
        found = _COMMIT.search(line) or answer.match(line)
        if found is not None:
            is_of_broker = any(frame.lstrip().startswith(_BY_A_BROKER) for frame in entry.tail)
            return None if is_of_broker else f"{found['name']}: {found['words'] or found['name']}".rstrip(". ")
    return None
