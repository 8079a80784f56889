"""Exceptions of Java's clients, which an application prints with no logger of Kafka's before them.

Only consumers throw a failed commit, so it is read wherever it stands. The answers of coordinators reach other clients
and brokers too. Such an answer is read where a stack trace begins with it, unless a broker's code threw it.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from rollcall.inputs.printed.lines.entries import Entry
from rollcall.inputs.printed.templates import Templates

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


def exception_reader(templates: Templates) -> Callable[[Entry], str | None]:
    """Return a reader of those exceptions that the wordings name."""
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
